"""Plots as SVG, to stand inside an HTML page or in a file of their own: one look for all of them.

matplotlib draws axes and lines. What a reader of a page needs besides is written here: labels at the ends of lines, the values of
points as titles, which browsers show under the pointer, and what the plot shows in words. Where labels go is decided in labels.py.
matplotlib is imported when the first one is drawn: it takes a second, and most of what imports this only says what is to be drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .labels import Box, Course, beside_points, coinciding, moved_apart, together, wrapped
from .marks import (
    COLOURS,
    FILLS,
    LETTER,
    LINE,
    MARKERS,
    WIDTH,
    colour_of,
    dashes_of,
    height_of,
    leader,
    legend,
    swatch,
    text_of,
)
from .palette import INK, QUIET, RULE, themed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANEL_INCHES = (4.0, 3.4)
_UNITS = 72
"""Of a picture, in an inch."""
_PLOT = Box(64.0, 12.0, 392.0, 250.0)
"""Where the axes are in a plot of lines; labels are to the right of it, and it grows downwards where they need more room."""
_LABELS = (408.0, 576.0)
"""From where to where labels reach across; without them a plot ends where they begin."""
_POINTS = Box(64.0, 12.0, 424.0, 300.0)
_BELOW = 44.0
"""What the numbers and the name of an axis take below the axes."""
_SWATCH = 22.0
_MARKED = 8
"""So many points of a line have their marker, or one less, spread along it."""
_TITLED = 16
"""So many points of a line say their values, its ends among them."""
_STYLE: dict[Any, Any] = {  # Any: matplotlib's names of settings are a type of three hundred literals, and values of any kind
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.color": INK.light,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET.light,
    "axes.labelcolor": INK.light,
    "xtick.color": QUIET.light,
    "ytick.color": QUIET.light,
    "svg.fonttype": "none",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its name and its points.

    ``look`` is the number of its looks, by default its own place: six colours, each with its marker, then the same ones dashed,
    dotted, and both.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    look: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot as SVG for a page; the same names as HTML, for where the picture is too narrow for them; and what it cannot show."""

    svg: str
    legend: str
    remark: str = ""
    looks: Mapping[str, int] = field(default_factory=dict)
    """The number of the looks of each line, by its name."""


def lines_plot(
    identity: str,
    lines: Sequence[Line],
    *,
    title: str,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    diagonal: bool = False,
) -> Drawn:
    """Lines with their names at their ends. ``identity`` tells this plot from others on the same page."""
    from matplotlib import rc_context

    lines, looks = _with_looks(lines)
    can_x, can_y = _may_be_logarithmic(lines)
    room = sum(height_of(wrapped(line.name)) for line in lines)
    area = _PLOT._replace(bottom=max(_PLOT.bottom, _PLOT.top + room))
    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        figure, axes = _axes(area, _LABELS[1], x, y, log_x=log_x and can_x, log_y=log_y and can_y)
        if diagonal:
            axes.plot([0, 1], [0, 1], color=QUIET.light, linewidth=1, linestyle=(0, (1, 3)))
        artists = _draw(axes, lines)
        _choose_ticks(axes, lines)
        courses = [_course(axes, line) for line in lines]
        groups = coinciding(courses)
        _show_first(artists, groups)
        names = [together([lines[number].name for number in group], "line") for group in groups]
        shown = [(name, lines[group[0]], courses[group[0]]) for name, group in zip(names, groups, strict=True)]
        svg = _svg(figure, title, _said([(name, line) for name, line, _ in shown], x, y))
    spots = [_spots(name, line, x, y, axes) for name, line, _ in shown]
    return Drawn(
        _with(svg, [_ends(shown, area), *spots]),
        legend([(name, line.look or 0) for name, line, _ in shown]),
        _not_drawn(lines, groups),
        looks,
    )


def _with_looks(lines: Sequence[Line]) -> tuple[list[Line], dict[str, int]]:
    """Lines that all say their looks, and these by name."""
    told = [line if line.look is not None else replace(line, look=place) for place, line in enumerate(lines)]
    return told, {line.name: line.look or 0 for line in told}


def _may_be_logarithmic(lines: Sequence[Line]) -> tuple[bool, bool]:
    """Whether each axis may be: it has no place for 0, so such points are left out, but not where there are no others."""
    return any((line.x > 0).any() for line in lines), any((line.y > 0).any() for line in lines)


def _not_drawn(lines: Sequence[Line], groups: Sequence[Sequence[int]]) -> str:
    drawn = {number for group in groups for number in group}
    missing = ", ".join(line.name for number, line in enumerate(lines) if number not in drawn)
    return f"Not drawn, having no point above 0: {missing}." if missing else ""


def points_plot(identity: str, points: Sequence[Line], *, title: str, x: str, y: str) -> Drawn:
    """Lines of one point each on logarithmic axes, with their names beside them."""
    from matplotlib import rc_context

    points, looks = _with_looks(points)
    can_x, can_y = _may_be_logarithmic(points)
    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        figure, axes = _axes(_POINTS, _POINTS.right + 16, x, y, log_x=can_x, log_y=can_y)
        artists = []
        for point in points:
            number = point.look or 0
            artists += axes.plot(
                point.x,
                point.y,
                color=colour_of(number),
                linestyle="",
                marker=MARKERS[number % COLOURS],
                fillstyle=FILLS[number // COLOURS % len(FILLS)],
                markerfacecoloralt="none",
                markersize=7,
            )
        axes.margins(0.12)
        _choose_ticks(axes, points)
        courses = [_course(axes, point) for point in points]
        groups = coinciding(courses)
        _show_first(artists, groups)
        names = [together([points[number].name for number in group], "point") for group in groups]
        shown = [(name, points[group[0]]) for name, group in zip(names, groups, strict=True)]
        svg = _svg(figure, title, _said(shown, x, y))
    texts = [wrapped(name) for name in names]
    places = [(float(courses[group[0]][0, 0]), float(courses[group[0]][0, 1])) for group in groups]
    boxes = beside_points(places, [(LETTER * max(map(len, text)), LINE * len(text)) for text in texts], _POINTS)
    spots = [_spots(name, point, x, y, axes) for name, point in shown]
    labels = [_beside(place, box, text) for place, box, text in zip(places, boxes, texts, strict=True)]
    return Drawn(_with(svg, [f"<g>{''.join(labels)}</g>", *spots]), "", _not_drawn(points, groups), looks)


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several plots in a picture."""

    title: str
    lines: Sequence[Line]
    x: str
    y: str


def panels_picture(identity: str, panels: Sequence[Panel], *, columns: int) -> str:
    """Plots beside and below each other over one legend, on white paper; lines of the same name look the same in all of them."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE | {"svg.hashsalt": identity}):
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows), layout="constrained")
        for number, panel in enumerate(panels, 1):
            axes = figure.add_subplot(rows, columns, number)
            _label(axes, panel.x, panel.y)
            axes.set_title(panel.title, fontsize=10.0, loc="left")
            _draw(axes, panel.lines)
        lines = {line.get_label(): line for axes in figure.axes for line in reversed(axes.get_lines())}
        ordered = dict.fromkeys(line.name for panel in panels for line in panel.lines)
        figure.legend([lines[name] for name in ordered], list(ordered), loc="outside lower center", ncols=columns, frameon=False)
        return _written(figure, "tight")


def plain(value: float) -> str:
    """A number with the digits that a reader needs, and no exponent."""
    if not np.isfinite(value):
        return str(value)
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return np.format_float_positional(float(f"{value:.3g}"), trim="-")


def _draw(axes: Axes, lines: Sequence[Line]) -> list[Line2D]:
    artists = []
    for place, line in enumerate(lines):
        number = place if line.look is None else line.look
        dashes = dashes_of(number)
        artists += axes.plot(
            line.x,
            line.y,
            linestyle=(0, dashes) if dashes else "solid",
            color=colour_of(number),
            label=line.name,
            linewidth=WIDTH,
            dash_capstyle="butt",
            marker=MARKERS[number % COLOURS],
            markevery=max(1, -(-len(line.x) // _MARKED)),
            markersize=4.5,
        )
    return artists


def _show_first(artists: Sequence[Line2D], groups: Sequence[Sequence[int]]) -> None:
    """Hide lines that lie on another one, which looks as its label says."""
    for group in groups:
        for number in group[1:]:
            artists[number].set_visible(False)


def _axes(area: Box, width: float, x: str, y: str, *, log_x: bool, log_y: bool) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    height = area.bottom + _BELOW
    figure = Figure(figsize=(width / _UNITS, height / _UNITS), dpi=_UNITS, facecolor="none")
    across, down = (area.right - area.left) / width, (area.bottom - area.top) / height
    axes = figure.add_axes((area.left / width, _BELOW / height, across, down), facecolor="none")
    _label(axes, x, y)
    for axis, set_scale, log in ((axes.xaxis, axes.set_xscale, log_x), (axes.yaxis, axes.set_yscale, log_y)):
        if log:
            set_scale("log", nonpositive="mask")
        _number_plainly(axis, log=log)
    return figure, axes


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, color=RULE.light, linewidth=0.7)
    axes.set_axisbelow(True)


def _number_plainly(axis: Axis, *, log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    # Numbers as text: to set 10 with its exponent as a formula takes nearly half of the time of a picture.
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    if log:
        axis.set_minor_formatter(NullFormatter())


def _choose_ticks(axes: Axes, lines: Sequence[Line]) -> None:
    """Number logarithmic axes at powers of ten, and between them where there are few; and by whole numbers what is counted."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "log":
            decades = np.log10(high / low)
            axis.set_major_locator(MaxNLocator(5) if decades < 1 else LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    if axes.get_xscale() == "linear" and all((line.x == np.rint(line.x)).all() for line in lines):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))


def _short(value: float) -> str:
    """A number beside an axis."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{plain(value / (1e3 if unit == 'k' else size))}{unit}"
    return plain(value)


def _course(axes: Axes, line: Line) -> Course:
    """Where the points of a line are in the picture; those that its axes have no place for are left out."""
    no_x = (line.x <= 0) & (axes.get_xscale() == "log")
    no_y = (line.y <= 0) & (axes.get_yscale() == "log")
    seen = np.isfinite(line.x) & np.isfinite(line.y) & ~no_x & ~no_y
    found: Course = axes.transData.transform(np.column_stack((line.x[seen], line.y[seen])).reshape(-1, 2))
    figure = axes.get_figure()
    assert figure is not None
    return found * (1, -1) + (0, figure.bbox.height)


def _ends(shown: Sequence[tuple[str, Line, Course]], area: Box) -> str:
    """The labels at the ends of lines, moved apart, with a leader from those ends that are near."""
    # Of lines that end at one height the one that ends further right has the upper label, and else the one that is higher before.
    ordered = sorted(shown, key=lambda each: (round(each[2][-1, 1]), -round(each[2][-1, 0]), float(each[2][:, 1].mean())))
    texts = [wrapped(name) for name, _, _ in ordered]
    wanted = [float(round(course[-1, 1])) for _, _, course in ordered]
    middles = moved_apart(wanted, [height_of(text) for text in texts], area.top - LINE / 2, area.bottom + LINE)
    drawn = []
    for (_, line, course), text, middle in zip(ordered, texts, middles, strict=True):
        (end_x, end_y), left = course[-1], _LABELS[0]
        if end_x > area.right - 40:
            drawn.append(leader(end_x + 4, end_y, left - 2, middle))
        drawn.append(swatch(line.look or 0, left, left + _SWATCH, middle) + text_of(left + _SWATCH + 4, middle, text))
    return f'<g class="ends">{"".join(drawn)}</g>'


def _beside(place: tuple[float, float], box: Box, text: Sequence[str]) -> str:
    """The label of a point, with a leader where it is not next to it."""
    x, y = place
    near_x, near_y = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
    is_far = abs(near_x - x) + abs(near_y - y) > 2 * LINE
    line = leader(x, y, near_x, near_y) if is_far else ""
    # How broad a text is can but be guessed: it begins, or ends, where it is near its point.
    is_left = box.right <= x
    return line + text_of(box.right if is_left else box.left, (box.top + box.bottom) / 2, text, "end" if is_left else "start")


def _spots(name: str, line: Line, x: str, y: str, axes: Axes) -> str:
    """Places in the picture that say the values of the points there."""
    spots = []
    for number in np.unique(np.linspace(0, len(line.x) - 1, min(len(line.x), _TITLED)).round().astype(int)):
        point = Line(name, line.x[number : number + 1], line.y[number : number + 1])
        for at_x, at_y in _course(axes, point):
            values = f"{name}\n{x}: {plain(float(point.x[0]))}\n{y}: {plain(float(point.y[0]))}"
            spots.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="6"><title>{escape(values)}</title></circle>')
    return f'<g fill="none" pointer-events="all">{"".join(spots)}</g>'


def _said(shown: Sequence[tuple[str, Line]], x: str, y: str) -> str:
    """What a plot shows, for those who do not see it: where each line begins and ends."""
    sentences = [f"{y} against {x}."]
    for name, line in shown:
        first, last = (f"{plain(float(line.y[at]))} at {plain(float(line.x[at]))}" for at in (0, -1))
        sentences.append(f"{name}: {first}." if len(line.x) == 1 else f"{name}: from {first} to {last}.")
    return " ".join(sentences)


def _svg(figure: Figure, title: str, description: str) -> str:
    """The picture for a page, in the page's colours and its fonts, with what it is called and what it shows."""
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|<defs>\s*</defs>", "", _written(figure), flags=re.DOTALL)
    # Ids are for what refers to them, which are hashes; the others would be there once for each plot of a page.
    drawn = re.sub(r' id="[a-z.0-9]+_\d+"', "", drawn)
    drawn = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", re.sub(r" ?font-family: [^;\"]*;?", "", drawn))
    drawn = re.sub(r"\n\s*", "\n", re.sub(r"<defs>\s*</defs>", "", drawn))
    opening, _, rest = drawn.partition(">")
    view = re.search(r'viewBox="[^"]+"', opening)
    assert view is not None
    named = f'<svg role="img" {view[0]} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return f"{named}<title>{escape(title)}</title><desc>{escape(description)}</desc>{rest}"


def _with(svg: str, parts: Sequence[str]) -> str:
    return themed(svg.removesuffix("</svg>") + "".join(parts) + "</svg>")


def _written(figure: Figure, bbox: Literal["tight"] | None = None) -> str:
    """The picture from its first tag on, without a date: the same run makes the same page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches=bbox, metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :].strip()
