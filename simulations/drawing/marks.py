"""The small parts of a picture as SVG: swatches, texts, leaders and legends; and which look has which colour, dashes and shape."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from .palette import INK, LINES, QUIET, themed

LETTER, LINE, GAP = 6.2, 13.0, 3.0
"""How wide a letter of a label is in the mean, how high a line, and what is between labels."""
WIDTH = 1.8
"""How broad a line is."""
COLOURS = len(LINES)
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2), (1, 1.5), (6, 2, 1, 2))
"""What is drawn and left out in turn, in times of the width; nothing for a whole line."""
DASHED, DOTTED, DASH_DOTTED = COLOURS, 2 * COLOURS, 3 * COLOURS
"""Added to the number of a line's looks: the same colour and marker, with other dashes, which are those of a group of lines."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""A colour has a shape of its own, for those who cannot tell the colours."""
FILLS: tuple[Literal["full", "none", "left", "bottom"], ...] = ("full", "none", "left", "bottom")
"""What is filled of a point that stands alone, where a line has its dashes."""
_SHAPES = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z",
    "M-2.7 -2.7H2.7V2.7H-2.7Z",
    "M0 -3.4L3.4 2.7H-3.4Z",
    "M0 -3.6L3.6 0L0 3.6L-3.6 0Z",
    "M0 3.4L3.4 -2.7H-3.4Z",
    "M-1.2 -3.4H1.2V-1.2H3.4V1.2H1.2V3.4H-1.2V1.2H-3.4V-1.2H-1.2Z",
)
"""How a label shows these markers, around its middle."""


def dashes_of(look: int) -> tuple[float, ...]:
    """The dashes of a look, in times of the width."""
    return _DASHES[look // COLOURS % len(_DASHES)]


def colour_of(look: int) -> str:
    """The colour of a look, on light paper."""
    return LINES[look % COLOURS].light


def swatch(look: int, left: float, right: float, middle: float) -> str:
    """A short piece of a line with its marker in the middle."""
    colour, dashes = colour_of(look), dashes_of(look)
    dashed = f' stroke-dasharray="{" ".join(f"{WIDTH * part:g}" for part in dashes)}"' if dashes else ""
    line = f'<path d="M{left:g} {middle:.1f}H{right:g}" stroke="{colour}" stroke-width="{WIDTH:g}"{dashed}/>'
    marker = f'<path d="{_SHAPES[look % COLOURS]}" transform="translate({(left + right) / 2:g} {middle:.1f})" fill="{colour}"/>'
    return line + marker


def leader(from_x: float, from_y: float, to_x: float, to_y: float) -> str:
    """A thin line from what is named to its label."""
    return f'<path d="M{from_x:.1f} {from_y:.1f}L{to_x:.1f} {to_y:.1f}" fill="none" stroke="{QUIET.light}" stroke-width="0.6"/>'


def text_of(x: float, middle: float, lines: Sequence[str], anchor: str = "start") -> str:
    """Lines of text around a middle; ``x`` is where they begin, or where they end with the anchor ``end``."""
    # A letter's foot is so much below its middle.
    first = middle - LINE * (len(lines) - 1) / 2 + 3.5
    spans = (f'<tspan x="{x:.1f}" y="{first + LINE * row:.1f}">{escape(line)}</tspan>' for row, line in enumerate(lines))
    return f'<text style="font-size: 10px; fill: {INK.light}; text-anchor: {anchor}">{"".join(spans)}</text>'


def height_of(text: Sequence[str]) -> float:
    """What a label of so many lines takes."""
    return LINE * len(text) + GAP


def legend(entries: Sequence[tuple[str, int]]) -> str:
    """Names in their order, each with the number of its looks: its colour, its dashes and its marker."""
    return "".join(f"<li>{legend_swatch(look)} {escape(name)}</li>" for name, look in entries)


def legend_swatch(look: int) -> str:
    """How a line looks, as a picture of its own in a page."""
    drawn = themed(swatch(look, 0, 30, 6))
    return f'<svg class="swatch" width="30" height="12" viewBox="0 0 30 12" aria-hidden="true">{drawn}</svg>'
