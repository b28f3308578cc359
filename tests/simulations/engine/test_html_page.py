"""A report says first what was found, then shows plots, then tables, each in a box of its own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from simulations.engine.findings import Bar, Finding
from simulations.engine.html_page import FOLDED, Figure, Table, page

SHORT = Table(("name", "share"), [("a", "1%")], ("", "of all; less is better"), "Short")
LONG = Table(("name", "share"), [("a", "1%")] * (FOLDED + 1), title="Long")
FIGURE = Figure('<svg role="img"></svg>', "Load. Left is good.", "<li>a</li>")


def shown(*tables: Table, notes: str = "notes", findings: tuple[Finding, ...] = ()) -> str:
    return page("Title", "Lead.", tables, notes, [FIGURE], {"seed": 1}, findings=findings)


def test_what_was_found_comes_first_and_then_plots_tables_words_and_what_ran() -> None:
    text = shown(SHORT, findings=(Finding("a is best."),))

    places = [text.index(part) for part in ("<p>a is best.</p>", "<figure>", "<table>", ">notes</p>", "<th>seed</th>")]
    assert places == sorted(places)


def test_bars_are_as_long_as_their_figures_and_say_them() -> None:
    text = shown(findings=(Finding("a < b", (Bar("a", 12.0, "12 pairs"), Bar("b", 48.0, "48 pairs"))),))

    assert "<p>a &lt; b</p>" in text
    bars = re.findall(r'<li><span>(\w)</span><i style="width: ([\d.]+)%"></i><span>([^<]+)</span></li>', text)
    assert bars == [("a", "25", "12 pairs"), ("b", "100", "48 pairs")]


def test_a_bar_that_is_called_as_a_line_has_the_look_of_that_line() -> None:
    figure = Figure("<svg></svg>", "Load.", looks={"a": 2, "b, 9 peers": 1})
    bars = (Bar("a", 1.0, "1"), Bar("b", 2.0, "2", line="b, 9 peers"), Bar("c", 3.0, "3"))

    text = page("Title", "Lead.", [], "", [figure], {}, findings=[Finding("found", bars)])

    assert re.findall(r"--bar: var\(--(\w+)\)\"></i><span>(\d)", text) == [("green", "1"), ("orange", "2")]
    assert text.count('<svg class="swatch"') == 2


def test_bars_of_nothing_have_no_length() -> None:
    text = shown(findings=(Finding("none", (Bar("a", 0.0, "0"), Bar("b", 0.0, "0"))),))

    assert re.findall(r"width: ([\d.]+)%\"", text) == ["0", "0"]


def test_a_table_stands_under_its_title_in_a_box_that_the_keyboard_reaches() -> None:
    text = shown(SHORT, SHORT)

    box = '<div class="wide" role="region" aria-label="Short" tabindex="0"><table>'
    assert text.count(f"<h3>Short</h3>{box}") == 2
    assert "<th>share<small>of all; less is better</small></th>" in text


def test_what_the_words_of_a_table_mean_stands_below_it() -> None:
    text = shown(replace(SHORT, legend="share: of all\n    of it"), notes="")

    assert '</table></div><p class="notes">share: of all of it</p>' in text
    assert "What the words mean" not in text


@pytest.mark.parametrize(("table", "folded"), [(SHORT, 0), (LONG, 1)], ids=["short", "long"])
def test_long_tables_are_folded(table: Table, folded: int) -> None:
    assert shown(table).count("<details>") == folded


def test_a_folded_table_says_how_long_it_is() -> None:
    assert f"<summary>Long: {FOLDED + 1} rows</summary>" in shown(LONG)


def test_a_table_without_rows_is_left_out() -> None:
    assert "Nothing" not in shown(Table(("name",), [], title="Nothing"))


def test_a_figure_is_named_by_the_first_sentence_of_its_caption() -> None:
    assert "<figcaption><b>Load</b>Left is good.</figcaption>" in shown()


def test_indented_lines_of_notes_go_on_with_the_line_before() -> None:
    assert ">one, two\nthree</p>" in shown(notes="one,\n    two\nthree")


def test_the_page_follows_the_reader_s_scheme_and_fits_narrow_screens() -> None:
    style = shown().partition("<style>")[2].partition("</style>")[0]

    assert "color-scheme: light dark" in style
    assert "minmax(min(100%, 520px), 1fr)" in style
    # Whatever has a colour has it from the palette, in both schemes.
    outside = re.sub(r"--[a-z]+: light-dark\([^)]+\);", "", style)
    assert re.findall(r"#[0-9a-f]{3,6}\b", outside) == []
