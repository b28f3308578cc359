"""Tables for people: whatever the terminal's width, no figure loses a digit, and no text speaks to the terminal."""

from __future__ import annotations

import re

import msgspec
import pytest
from rich.console import Console

from gsg.cli.tables import (
    Column,
    FittedTable,
    change_text,
    console,
    constants_table,
    counts_table,
    holdings_table,
    peers_table,
    print_table,
    processes_table,
)
from gsg.explain.explanations import Holding
from gsg.http.protocol import Report, Vocabulary
from gsg.tuples.long_constants import Hashed
from gsg.wire.status_messages import ConstantCount, Count, MembershipChange, PeerStatus

LONG = "[2001:db8:85a3:aaaa:bbbb:8a2e:370:7334]:8471"


def status(address: str, figure: int, *counts: Count) -> PeerStatus:
    figures = [name for name in PeerStatus.__struct_fields__ if name not in ("request", "peer", "address", "counts", "version")]
    return PeerStatus(1, peer=b"p" * 20, address=address, counts=list(counts), version="1", **dict.fromkeys(figures, figure))


def written(table: FittedTable, width: int) -> str:
    output = Console(width=width, highlight=False)
    with output.capture() as capture:
        print_table(output, table)
    return capture.get()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("figure", [7, 100, 12_345, 123_456_789, 2**62], ids=str)
@pytest.mark.parametrize("address", ["127.0.0.1:8471", LONG], ids=["short name", "long name"])
def test_every_digit_of_every_figure_is_written(width: int, figure: int, address: str) -> None:
    report = Report(1, [status(address, figure), status("10.0.0.1:1", figure // 2)], [0.75, 0.25])

    text = written(peers_table(report), width)

    # keys, facts, entries, templates, feeds, links, published, matched and sent
    assert len(re.findall(rf"(?<![\d,]){figure:,}(?![\d,.])", text)) >= 9
    assert text.count(address) == text.count("10.0.0.1:1") == text.count(" peer ") + text.startswith("peer")
    assert "…" not in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_fits_is_no_wider_than_the_terminal(width: int) -> None:
    report = Report(1, [status("127.0.0.1:8471", 1_234_567)], [1.0])

    assert max(map(len, written(peers_table(report), width).splitlines())) <= width


def test_one_table_is_enough_where_all_fits() -> None:
    report = Report(1, [status("127.0.0.1:8471", 100)], [1.0])

    assert written(peers_table(report), 120).count("peer") == 1
    assert written(peers_table(report), 80).count("peer") == 2


def test_a_count_stays_beside_its_name_on_a_narrow_terminal() -> None:
    report = Report(1, [status(LONG, 1, Count("http_clients_lost", 123_456_789))], [1.0])

    text = written(counts_table(report), 20)

    assert text.count("123,456,789") == text.count(LONG) == 1
    assert re.search(r"http clients lost +123,456,789", text)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_query_goes_on_in_further_lines_and_loses_nothing(width: int) -> None:
    words = [f"word{number}" for number in range(40)]
    figures = {name: 3 for name in Holding.__struct_fields__ if name not in ("language", "text", "client")}
    held = Holding(**{**figures, "rows": 2**40}, language="gsg", text=" ".join(words), client=LONG)  # type: ignore[arg-type]  # by name

    text = written(holdings_table([held]), width)

    assert re.findall(r"word\d+", text) == words
    assert f"{2**40:,}" in text


def test_what_strangers_chose_is_text_and_nothing_else() -> None:
    evil = "a\x1b]0;title\x07[bold]b[/]\n[/x]\u202e"

    text = written(FittedTable([Column("name", is_text=True), Column("n")], [(evil, "1")]), 120)

    assert "a\\u001B]0;title\\u0007[bold]b[/]\\u000A[/x]\\u202E  1" in text


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("1", 20), ("0", 120), ("many", 120), (None, 120)])
def test_the_width_is_what_the_environment_says_within_reason(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)

    assert console().width == width


def test_what_a_process_is_stands_in_a_table_and_an_earlier_version_says_nothing_of_it() -> None:
    known = msgspec.structs.replace(
        status("10.0.0.1:1", 7), version="9.8", started_s=86_400.0, memory_bytes=1_500_000, disk_bytes=0
    )
    report = Report(1, [known, msgspec.structs.replace(known, address="10.0.0.2:1", version="", memory_bytes=0)], [0.5, 0.5])

    text = written(processes_table(report), 120)

    assert re.search(r"10\.0\.0\.1:1 +9\.8 +1970-01-02 00:00:00 UTC +1\.5 +- +0\.0", text)
    assert re.search(r"10\.0\.0\.2:1 +- +- +- +- +0\.0", text)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1e300, 1e18], ids=str)
def test_a_time_that_is_none_is_shown_all_the_same(odd: float) -> None:
    report = Report(1, [msgspec.structs.replace(status("10.0.0.1:1", 7), version="9", started_s=odd)], [1.0])

    assert f"{odd:g} s" in written(processes_table(report), 120)


def test_what_is_so_now_is_told_from_what_was_counted() -> None:
    report = Report(1, [status("10.0.0.1:1", 1, Count("disk_waiting", 5), Count("disk_writes", 6))], [1.0])

    text = written(counts_table(report), 120)

    assert re.search(r"disk waiting \(now\) +5", text)
    assert re.search(r"disk writes +6", text)


@pytest.mark.parametrize(
    ("address", "what", "said"),
    [
        ("10.0.0.1:1", "came", "peer 707070707070 at 10.0.0.1:1 came: a reason"),
        ("10.0.0.1:1", "suspected", "peer 707070707070 at 10.0.0.1:1 was suspected to be dead: a reason"),
        ("", "back", "peer 707070707070 was back: a reason"),
        ("", "went", "peer 707070707070 went: a reason"),
        ("", "what a later version says", "peer 707070707070 what a later version says: a reason"),
    ],
)
def test_a_change_of_membership_is_a_sentence(address: str, what: str, said: str) -> None:
    assert change_text(MembershipChange(7.5, b"p" * 20, address, what, "a reason")) == f"1970-01-01 00:00:07 UTC: {said}"


def test_a_constant_is_written_as_a_script_has_it_and_a_long_one_as_one() -> None:
    counts = [ConstantCount(3, 1, 'a "text"', 1_234, 5), ConstantCount(2, 0, Hashed(503, b"h" * 20), 7, 0)]

    text = written(constants_table(Vocabulary(1, counts, [], [])), 120)

    assert [re.split(r"  +", line.strip()) for line in text.splitlines() if re.search(r"\d/\d", line)] == [
        [r'"a \"text\""', "1/3", "1,234", "5"],
        ["a constant of 503 bytes with the hash 686868686868", "0/2", "7", "0"],
    ]
