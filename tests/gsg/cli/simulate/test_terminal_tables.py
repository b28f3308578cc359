"""The tables of a run in a terminal: titles, units and words stay whole, and each part says what its rows are about."""

from __future__ import annotations

import pytest
from rich.console import Console

from gsg.cli.simulate.terminal_tables import print_notes, print_tables
from simulations.engine.html_page import Table

READERS = Table(
    ("reader", "speed", "policy", "waiting", "lost share"),
    [
        ("99th of 100", "0.5", "push", "2,700 (2,319 to 3,080)", "0 of 2,000, below 0.15%"),
        ("99th of 100", "0.5", "hybrid", "926 (935 to 1,278)", "0.1% (0.0 to 0.4)"),
    ],
    ("", "times of the mean", "", "at most, count; less is better", "of subscriptions; 0 is right"),
    "Readers who are slow",
    "push: all is sent at once.\nhybrid: it is pushed until there is no room,\n    and kept then.",
)


def written(table: Table, width: int) -> list[str]:
    output = Console(width=width, highlight=False)
    with output.capture() as capture:
        print_tables(output, [table])
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_cells_and_titles_are_whole_and_nothing_is_wider_than_the_terminal(width: int) -> None:
    lines = written(READERS, width)

    assert lines[0] == "Readers who are slow"
    assert all(any(cell in line for line in lines) for row in READERS.cells for cell in row)
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(("width", "parts"), [(60, 2), (120, 1)])
def test_each_part_of_a_table_begins_with_what_tells_its_rows_apart(width: int, parts: int) -> None:
    starts = [line.split()[:5] for line in written(READERS, width) if line.startswith(" 99th")]

    assert starts == [["99th", "of", "100", "0.5", policy] for policy in ("push", "hybrid")] * parts


def test_units_stand_below_headings_without_which_way_is_good() -> None:
    heading = "\n".join(written(READERS, 120)).partition("──")[0]

    words = heading.split()
    assert words.index("waiting") < words.index("most,")
    assert {"times", "mean", "subscriptions"} <= set(words)
    assert not {"better", "right"} & set(words)


def test_what_words_mean_is_a_line_each_broken_between_words() -> None:
    output = Console(width=30, highlight=False)
    with output.capture() as capture:
        print_notes(output, READERS.legend)

    assert capture.get().splitlines() == [
        "push: all is sent at once.",
        "hybrid: it is pushed until",
        "  there is no room, and kept",
        "  then.",
    ]


def test_a_table_without_rows_is_left_out() -> None:
    assert written(Table(("a", "b"), [], title="Nothing"), 80) == []


def test_rows_that_no_column_tells_apart_are_all_written() -> None:
    lines = written(Table(("a", "b"), [("same", "1"), ("same", "1")]), 80)

    assert sum("same" in line for line in lines) == 2
