"""The colours of reports: those of Okabe and Ito (2008), which the colour-blind can tell apart, in a light and a dark variant.

They are the colours of the peer's page (``web/src/style.css``) under the same names; a test compares the two. A plot is drawn in
the light ones, which is what stands in a file of its own; inside a page :func:`themed` hands them over to the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour by its name in style sheets, as it is on light and on dark paper."""

    name: str
    light: str
    dark: str

    @property
    def declared(self) -> str:
        """As a custom property that follows the reader's scheme."""
        return f"--{self.name}: light-dark({self.light}, {self.dark});"


PAPER = Colour("paper", "#ffffff", "#0d1117")
INK = Colour("ink", "#1b1f24", "#e6edf3")
QUIET = Colour("quiet", "#59636e", "#9aa7b4")
RULE = Colour("line", "#d1d9e0", "#30363d")
FIELD = Colour("field", "#f6f8fa", "#161b22")
BLUE = Colour("blue", "#0072b2", "#56b4e9")
ORANGE = Colour("orange", "#b25000", "#e69f00")
GREEN = Colour("green", "#00704f", "#35c49a")
PURPLE = Colour("purple", "#8f4673", "#e094c2")
YELLOW = Colour("yellow", "#948600", "#f0e442")
"""Okabe and Ito's yellow; as it is, it has no contrast on light paper."""
LINES = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, INK)
"""Those of lines and points, in the order in which they are given out."""
ALL = (PAPER, QUIET, RULE, FIELD, *LINES)
LEAST_CONTRAST = 3.0
"""Of what is drawn against paper and field (WCAG 2.2, 1.4.11)."""
TEXT_CONTRAST = 4.5
"""Of text (WCAG 2.2, 1.4.3)."""

_VARIABLES = {colour.light: f"var(--{colour.name})" for colour in ALL}


def themed(svg: str) -> str:
    """A plot whose colours are those of the page that it stands in."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _VARIABLES.get(found[0], found[0]), svg)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted(map(_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
