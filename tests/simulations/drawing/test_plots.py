"""A plot names its lines at their ends, says its values under the pointer, and takes the colours of its page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from simulations.drawing.marks import DASH_DOTTED, DASHED, DOTTED, legend
from simulations.drawing.plots import Line, Panel, lines_plot, panels_picture, plain, points_plot


def line(name: str, y: float, look: int | None = None, points: int = 3) -> Line:
    return Line(name, np.arange(1.0, points + 1), np.full(points, y), look)


def plot(*lines: Line, **options: bool) -> str:
    return lines_plot("here", lines, title="What it is", x="peers (count)", y="load (copies)", **options).svg


def texts(svg: str) -> list[str]:
    """All texts of a picture, those of several lines as one."""
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]


def ends(svg: str) -> str:
    """The labels at the ends of lines."""
    return svg.partition('<g class="ends">')[2].partition("</g>")[0]


def test_lines_are_named_at_their_ends_in_the_order_of_the_ends() -> None:
    found = re.findall(r"<tspan[^>]*>([^<]+)</tspan>", ends(plot(line("low", 1), line("high", 9), line("middle", 5))))

    assert found == ["high", "middle", "low"]


def test_labels_of_lines_that_end_together_have_lines_of_text_of_their_own() -> None:
    svg = ends(plot(*(line(f"line {number}", 5 + number / 1000, None, 2 + number) for number in range(12))))

    rows = sorted(float(y) for y in re.findall(r'<tspan x="[\d.]+" y="([\d.]+)"', svg))
    assert len(rows) == 12
    assert min(np.diff(rows)) >= 13


def test_lines_that_lie_on_each_other_are_drawn_once_and_said() -> None:
    drawn = lines_plot("here", [line("predicate", 3), line("random", 3), line("rarest", 5)], title="What", x="x", y="y")

    found = re.findall(r"<tspan[^>]*>([^<]+)</tspan>", ends(drawn.svg))
    assert found == ["rarest", "predicate, random: the", "same line"]
    assert "predicate, random: the same line</li>" in drawn.legend
    assert drawn.legend.count("<li>") == 2
    # What is hidden would be painted over the line that is shown.
    assert drawn.svg.count("clip-path") == plot(line("predicate", 3), line("rarest", 5)).count("clip-path")


def test_a_line_that_a_logarithmic_axis_has_no_place_for_is_told() -> None:
    drawn = lines_plot("here", [line("some", 3), line("none", 0)], title="What", x="x", y="y", log_y=True)

    assert drawn.remark == "Not drawn, having no point above 0: none."
    assert re.findall(r"<tspan[^>]*>([^<]+)</tspan>", ends(drawn.svg)) == ["some"]


def test_where_nothing_is_above_0_the_axis_is_linear_and_the_line_drawn() -> None:
    drawn = lines_plot("here", [line("none", 0)], title="What", x="x", y="y", log_y=True)

    assert drawn.remark == ""
    assert ">none</tspan>" in ends(drawn.svg)


def test_points_say_their_values_with_the_names_of_the_axes() -> None:
    titles = re.findall(r"<circle[^>]*><title>([^<]+)</title>", plot(line("rarest", 11900)))

    assert titles == [f"rarest\npeers (count): {number}\nload (copies): 11,900" for number in (1, 2, 3)]


def test_a_line_of_many_points_says_the_values_of_some_with_both_ends() -> None:
    titles = re.findall(r"<title>rarest\npeers \(count\): ([\d,]+)", plot(line("rarest", 1, None, 5000)))

    assert len(titles) == 16
    assert (titles[0], titles[-1]) == ("1", "5,000")


def test_a_plot_is_an_image_with_a_name_and_what_it_shows_in_words() -> None:
    svg = plot(line("a & b", 2))

    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].text == "What it is"
    assert root[1].text == "load (copies) against peers (count). a & b: from 2 at 1 to 2 at 3."


@pytest.mark.parametrize("log", [False, True])
def test_all_colours_and_fonts_of_a_plot_are_those_of_its_page(log: bool) -> None:
    svg = plot(line("one", 2), line("two", 3), log_x=log, log_y=log, diagonal=not log)

    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) == set()
    assert "var(--blue)" in svg
    assert "var(--ink)" in svg
    assert "DejaVu" not in svg
    assert "<style" not in svg


def test_the_ids_of_a_plot_are_those_that_it_refers_to() -> None:
    svg = plot(line("one", 2), line("two", 3))

    assert set(re.findall(r' id="(\w+)"', svg)) == set(re.findall(r'(?:url\(#|"#)(\w+)', svg))


def test_a_legend_has_swatches_of_one_size_with_colour_dashes_and_shape() -> None:
    entries = legend([("whole", 0), ("dashed", DASHED), ("dotted", DOTTED + 1), ("both", DASH_DOTTED + 2)])

    assert re.findall(r'<svg class="swatch" (width="\d+" height="\d+")', entries) == ['width="30" height="12"'] * 4
    assert re.findall(r'stroke="var\(--(\w+)\)"', entries) == ["blue", "blue", "orange", "green"]
    assert len(set(re.findall(r'stroke-dasharray="([\d. ]+)"', entries))) == 3
    assert len(set(re.findall(r'<path d="(M[^"]+Z)"', entries))) == 3


def test_a_legend_and_labels_draw_a_line_as_the_plot_does() -> None:
    drawn = lines_plot("here", [line("one", 2, DASHED + 3)], title="What", x="x", y="y")

    dashes = {
        tuple(map(float, re.split("[ ,]", found))) for found in re.findall(r"stroke-dasharray[=:] ?\"?([\d., ]+\d)", drawn.svg)
    }
    assert (7.2, 3.6) in dashes
    assert 'stroke-dasharray="7.2 3.6"' in drawn.legend
    assert "var(--purple)" in drawn.svg
    assert "var(--purple)" in drawn.legend


def point(name: str, x: float, y: float, look: int | None = None) -> Line:
    return Line(name, np.array([x]), np.array([y]), look)


def test_points_are_named_beside_them_and_those_on_one_place_together() -> None:
    points = [point("predicate", 100, 3), point("random", 100, 3), point("rarest", 200, 5)]

    drawn = points_plot("here", points, title="Price", x="copies", y="messages")

    labels = re.findall(r"<tspan[^>]*>([^<]+)</tspan>", drawn.svg)
    assert labels == ["predicate, random: the", "same point", "rarest"]
    assert drawn.svg.count("<circle") == 2
    assert drawn.legend == ""


def test_points_and_lines_that_a_plot_has_no_place_for_are_told() -> None:
    nothing = Line("none", np.zeros(0), np.zeros(0))

    points = points_plot("here", [point("zero", 0, 3), point("some", 5, 3)], title="Price", x="copies", y="messages")
    lines = lines_plot("there", [nothing], title="Load", x="copies", y="share", log_x=True, log_y=True)
    none = points_plot("nowhere", [point("zero", 0, 0)], title="Price", x="copies", y="messages")

    assert points.remark == "Not drawn, having no point above 0: zero."
    assert lines.remark == "Not drawn, having no point above 0: none."
    assert "<circle" not in lines.svg
    assert none.remark == ""
    assert none.svg.count("<circle") == 1


def test_axes_are_numbered_without_exponents() -> None:
    wide = Line("wide", np.array([1.0, 1e8]), np.array([1e-5, 1.0]))

    shown = texts(lines_plot("here", [wide], title="What", x="x", y="y", log_x=True, log_y=True).svg)

    assert {"100", "10k", "1M", "0.00001", "0.1"} <= set(shown)


def test_an_axis_of_whole_numbers_has_no_others() -> None:
    shown = texts(plot(Line("r", np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))))

    assert {"1", "2", "3"} <= set(shown)
    assert "1.5" not in shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12, "12"),
        (11900.4, "11,900"),
        (0.123456, "0.123"),
        (0.0000123456, "0.0000123"),
        (2.5, "2.5"),
        (1e9, "1,000,000,000"),
    ],
)
def test_numbers_have_the_digits_that_matter(value: float, text: str) -> None:
    assert plain(value) == text


def test_panels_of_a_picture_share_one_legend_and_stand_on_white_paper() -> None:
    some = [
        Panel("first", [line("one", 3, 0), line("two", 4, 9)], "seconds", "agents"),
        Panel("second", [line("two", 4, 9)], "seconds", "references"),
    ]

    svg = panels_picture("picture", some, columns=2)

    shown = re.findall(r"<text [^>]*>([^<]+)</text>", svg)
    assert [shown.count(each) for each in ("first", "second", "seconds", "agents", "references")] == [1, 1, 2, 1, 1]
    assert [shown.count(name) for name in ("one", "two")] == [1, 1]
    assert "var(" not in svg
    assert 'style="fill: #ffffff"' in svg
