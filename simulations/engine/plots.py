"""Plots as SVG, to stand inside an HTML page: one look for all of them.

matplotlib is imported when the first one is drawn: it takes a second, and most of what imports this only says what is to be drawn.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SIZE_INCHES = (6.0, 4.0)
PANEL_INCHES = (4.0, 3.4)
_COLOURS = ("#0b6e99", "#d1495b", "#3c8c40", "#e08d00", "#7a4fb5", "#11a3a3", "#8a5a2b", "#5c6670")
_WIDTH = 1.5
"""How broad a line is, in points; a legend's lines are as many pixels."""
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2), (1, 2))
"""What is drawn and left out in turn, in times of the width; nothing for a whole line."""
_MARKERS = ("o", "s", "^")
"""A line is told from others by its colour, and from the ninth on by its dashes and the shape of its points."""
_SHAPES = (
    '<circle cx="15" cy="6" r="3"/>',
    '<rect x="12" y="3" width="6" height="6"/>',
    '<path d="M15 2.5 L18.5 9.5 L11.5 9.5 Z"/>',
)
"""How the legend shows these markers."""
MARKED = 12
"""A line of fewer points shows them."""
_STYLE: dict[Any, Any] = {  # Any: matplotlib's names of settings are a type of three hundred literals, and values of any kind
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8794a1",
    "axes.labelcolor": "#1c2733",
    "xtick.color": "#51606f",
    "ytick.color": "#51606f",
    "svg.fonttype": "none",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its name and its points.

    ``look`` is the number of its looks, by default its own place: eight colours, then the same ones dashed, then dotted.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    look: int | None = None


def lines_plot(
    identity: str, lines: Sequence[Line], *, x: str, y: str, log_x: bool = False, log_y: bool = False, diagonal: bool = False
) -> str:
    """Lines, which :func:`legend` names. ``identity`` tells this plot from others on the same page."""
    from matplotlib import rc_context

    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        # A logarithmic axis has no place for 0: such points are left out, and where there are no others, the axis is linear.
        positive = any((line.y > 0).any() for line in lines)
        figure, axes = _axes(x, y, log_x=log_x, log_y=log_y and positive)
        if diagonal:
            axes.plot([0, 1], [0, 1], color="#b6c0ca", linewidth=1)
        _draw(axes, lines)
        return _svg(figure)


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several plots in a picture."""

    title: str
    lines: Sequence[Line]
    x: str
    y: str


def panels_picture(identity: str, panels: Sequence[Panel], *, columns: int) -> str:
    """Plots beside and below each other over one legend; lines of the same name look the same in all of them."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows), layout="constrained")
        for number, panel in enumerate(panels, 1):
            axes = figure.add_subplot(rows, columns, number)
            _label(axes, panel.x, panel.y)
            axes.set_title(panel.title, fontsize=9.0, loc="left")
            _draw(axes, panel.lines)
        lines = {line.get_label(): line for axes in figure.axes for line in reversed(axes.get_lines())}
        ordered = dict.fromkeys(line.name for panel in panels for line in panel.lines)
        figure.legend([lines[name] for name in ordered], list(ordered), loc="outside lower center", ncols=columns, frameon=False)
        return _svg(figure)


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    for place, line in enumerate(lines):
        number = place if line.look is None else line.look
        style = _style(number)
        axes.plot(
            line.x,
            line.y,
            linestyle=(0, _DASHES[style]) if _DASHES[style] else "solid",
            color=_colour(number),
            label=line.name,
            linewidth=_WIDTH,
            dash_capstyle="butt",
            marker=_MARKERS[style] if is_marked(line) else None,
            markersize=3.5,
        )


def points_plot(identity: str, points: Sequence[Line], *, x: str, y: str) -> str:
    """Lines of one point each on logarithmic axes, which :func:`legend` names."""
    from matplotlib import rc_context

    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        figure, axes = _axes(x, y, log_x=True, log_y=True)
        for number, point in enumerate(points):
            marker = _MARKERS[_style(number)]
            axes.plot(point.x, point.y, marker, color=_colour(number), label=point.name, markersize=7, alpha=0.85)
        axes.margins(0.12)
        return _svg(figure)


def legend(lines: Sequence[Line]) -> str:
    """The names of lines in their order, each with its colour and dashes, and its marker where its points are drawn."""
    entries = []
    for place, line in enumerate(lines):
        number = place if line.look is None else line.look
        colour, style = _colour(number), _style(number)
        dashes = f' stroke-dasharray="{" ".join(f"{_WIDTH * part:g}" for part in _DASHES[style])}"' if _DASHES[style] else ""
        drawn = f'<line x1="0" y1="6" x2="30" y2="6" stroke="{colour}" stroke-width="{_WIDTH:g}"{dashes}/>'
        marker = _SHAPES[style] if is_marked(line) else ""
        entries.append(f'<span><svg width="30" height="12" fill="{colour}">{drawn}{marker}</svg> {escape(line.name)}</span>')
    return "".join(entries)


def is_marked(line: Line) -> bool:
    """Whether a line's points are drawn as such."""
    return len(line.x) < MARKED


def _axes(x: str, y: str, *, log_x: bool, log_y: bool) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.add_subplot()
    _label(axes, x, y)
    if log_x:
        axes.set_xscale("log")
        _number_plainly(axes.xaxis)
    if log_y:
        axes.set_yscale("log", nonpositive="mask")
        _number_plainly(axes.yaxis)
    return figure, axes


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, color="#e3e8ee", linewidth=0.7)
    axes.set_axisbelow(True)


def _number_plainly(axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, LogFormatter

    # Numbers as text: to set 10 with its exponent as a formula takes nearly half of the time of a picture.
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(LogFormatter(labelOnlyBase=False))


def _style(number: int) -> int:
    return number // len(_COLOURS) % len(_DASHES)


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _svg(figure: Figure) -> str:
    """The picture from its first tag on, without a date: the same run makes the same page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :].strip()
