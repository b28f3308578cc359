"""A legend shows each line and point as its plot does, at the size that is meant."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulations.engine.html_page import Figure, page
from simulations.engine.plots import MARKED, Line, Panel, legend, lines_plot, panels_picture, points_plot
from simulations.engine.results import line_figure

SHAPES = {"circle": "o", "rect": "s", "path": "^"}


def line(points: int, look: int) -> Line:
    return Line(f"line {look}", np.arange(1.0, points + 1), np.arange(1.0, points + 1), look)


def swatches(text: str) -> list[tuple[str, tuple[float, ...], str]]:
    """The colour, the dashes and the marker of each entry of a legend."""
    found = []
    for entry in re.findall(r"<svg.*?</svg>", text):
        dashes = re.search(r'stroke-dasharray="([\d. ]+)"', entry)
        marker = re.search(r"<(circle|rect|path) ", entry)
        colour = re.search(r'stroke="(#\w+)"', entry)
        assert colour is not None
        found.append((colour[1], tuple(map(float, dashes[1].split())) if dashes else (), SHAPES[marker[1]] if marker else ""))
    return found


def plotted(svg: str) -> list[tuple[str, tuple[float, ...], int]]:
    """The colour, the dashes and how many markers each line of a plot has."""
    found = []
    for group in re.findall(
        r'<g id="line2d_\d+">\s*<path [^>]*clip-path[^>]*>.*?(?=<g id="(?:line2d|patch|text)_)', svg, re.DOTALL
    ):
        style = re.search(r'style="fill: none; (?:stroke-dasharray: ([\d.,]+); [^"]*?)?stroke: (#\w+)', group)
        if style is not None:
            dashes = tuple(map(float, style[1].split(","))) if style[1] else ()
            found.append((style[2], dashes, len(re.findall(r"<use ", group))))
    return found


@pytest.mark.parametrize("points", [1, MARKED - 1, MARKED, 40])
def test_a_legend_has_the_colours_dashes_and_markers_of_its_plot(points: int) -> None:
    lines = [line(points, look) for look in (0, 1, 8, 9, 16, 17)]

    svg, shown = lines_plot("here", lines, x="x", y="y"), swatches(legend(lines))

    colours = {colour for colour, _, _ in shown}
    drawn_lines = [(colour, dashes, bool(markers)) for colour, dashes, markers in plotted(svg) if colour in colours]
    assert drawn_lines == [(colour, dashes, bool(marker)) for colour, dashes, marker in shown]


def test_markers_are_told_apart_as_dashes_are() -> None:
    assert [marker for _, _, marker in swatches(legend([line(1, look) for look in (0, 8, 16)]))] == ["o", "s", "^"]
    svg = points_plot("here", [line(1, number) for number in range(17)], x="x", y="y")
    # A circle is drawn in curves, a square and a triangle in straight lines.
    markers = re.findall(r'<path id="m\w+" d="([^"]+)"', svg)
    kinds = {"C" in outline: outline.count("L") for outline in markers if outline.startswith("M") and "z" in outline}
    assert True in kinds
    assert False in kinds


def test_swatches_keep_their_size_beside_plots_that_fill_the_page() -> None:
    figure = line_figure("here", [line(3, 0), line(3, 8)], x="x", y="y", caption="Something.")
    text = page("title", "lead", [], "notes", [figure, Figure("<svg></svg>", "plain")], {})

    rules = dict(re.findall(r"([^{}]+?) *\{ *([^{}]+?) *\}", text.partition("<style>")[2].partition("</style>")[0]))
    stretched = [selector.strip() for selector, rule in rules.items() if "width: 100%" in rule]
    assert stretched == ["figure > svg"]
    assert "width: 30px" in next(rule for selector, rule in rules.items() if selector.strip() == ".legend svg")
    # Of a figure's own pictures only the plot is a child; those of its legend stand within.
    assert re.search(r"<figure><svg .*?</svg><p class=\"legend\"><span><svg width=\"30\" height=\"12\"", text, re.DOTALL)


def test_panels_of_a_picture_share_one_legend() -> None:
    some = [Panel("first", [line(3, 0), line(3, 9)], "seconds", "agents"), Panel("second", [line(3, 9)], "seconds", "references")]

    svg = panels_picture("picture", some, columns=2)

    texts = re.findall(r"<text [^>]*>([^<]+)</text>", svg)
    assert [texts.count(each) for each in ("first", "second", "seconds", "agents", "references")] == [1, 1, 2, 1, 1]
    assert [texts.count(name) for name in ("line 0", "line 9")] == [1, 1]
