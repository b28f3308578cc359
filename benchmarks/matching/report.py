"""The tables that a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .films import FilmFigures
from .measured import Compared, Measured, OnFilms, Turned, Weighed
from .ours import AS_PEER, BARE_SET, Ours
from .rivals import Outcome
from .wanted import Verdict

LEFT = {"engine", "how far it came", "what", "wanted", "memory", "asked in"}
"""Columns of words; the others are numbers."""


def show(console: Console, measured: Measured, verdicts: Sequence[Verdict]) -> None:
    """Everything that was measured, then what was wanted."""
    if measured.compared:
        console.print(
            "\nSynthetic workload: µs to insert, then to retract, a triple; rows, and rows left; µs to add, to drop a query"
        )
        console.print(ours_table(measured.compared))
        console.print("Beside others: mean µs of an insert and of a retraction, and as multiples of ours")
        console.print(rivals_table([(one.as_peer, one.rivals, one.missing) for one in measured.compared]))
    if measured.weighed:
        console.print("Memory, in bytes: a query with its subscription, a fact beyond its terms")
        console.print(weights_table([(f"{one.exact.queries:,}", one) for one in measured.weighed]))
    if measured.turned is not None:
        console.print(_turnover_title(measured.turned))
        console.print(turnover_table(measured.turned))
    if measured.films is not None:
        console.print(
            f"Films, {measured.films.ours[0].triples:,} triples: thousand changes a second; the longest pause of a call; "
            "answers that equal pyoxigraph's, and its µs for one"
        )
        console.print(films_table(measured.films))
        console.print(rivals_table([(measured.films.ours[0], measured.films.rivals, measured.films.missing)]))
        console.print(weights_table([("films", measured.films.weighed)]))
    for reason in measured.skipped:
        console.print(f"left out: {reason}")
    console.print("Wanted, and reached")
    console.print(verdicts_table(verdicts))
    for problem in measured.wrong_elsewhere():
        console.print(f"a rival's mistake: {problem}")
    for problem in measured.wrong():
        console.print(f"WRONG: {problem}", style="red")


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in LEFT else "right", no_wrap=True)
    return table


def ours_table(compared: Sequence[Compared]) -> Table:
    """How long our changes took."""
    phase = ("mean", "median", "99.9 %", "longest")
    table = _table("N", "engine", *phase, *phase, "rows", "left", "add", "drop")
    for one in compared:
        for each in [one.floor, *one.ours]:
            cells = []
            for times in (each.insertion, each.retraction):
                cells += [number(times.mean_us), number(times.median_us), number(times.p999_us), number(times.longest_us)]
            asked = (f"{each.rows:,}", f"{each.rows_left:,}", number(each.add_us), number(each.drop_us))
            table.add_row(f"{one.queries:,}", each.engine, *cells, *(("", "", "", "") if each.engine == BARE_SET else asked))
        table.add_section()
    return table


def rivals_table(runs: Sequence[tuple[Ours | FilmFigures, Sequence[Outcome], Sequence[str]]]) -> Table:
    """Others' means, beside ours triple by triple."""
    table = _table("N", "engine", "insert", "times", "retract", "times", "rows", "left", "how far it came")
    for ours, rivals, missing in runs:
        queries = f"{ours.queries:,}"
        means = [None if times is None else times.mean_us for times in (ours.insertion, ours.retraction)]
        table.add_row(queries, AS_PEER, *_beside(means, means), f"{ours.rows:,}", f"{ours.rows_left:,}", "all triples")
        for each in rivals:
            theirs = _beside((each.insertion.mean_us, each.retraction.mean_us), means)
            table.add_row(queries, each.engine, *theirs, f"{each.insertion.rows:,}", f"{each.retraction.rows:,}", how_far(each))
        for name in missing:
            table.add_row(queries, name, "", "", "", "", "", "", "not installed: make bench does it")
        table.add_section()
    return table


def _beside(means: Sequence[float | None], ours: Sequence[float | None]) -> Iterator[str]:
    """Each mean, and what multiple of ours it is."""
    for mean, of_ours in zip(means, ours, strict=True):
        yield "" if mean is None else number(mean)
        yield "" if mean is None or of_ours is None else number(mean / of_ours)


def number(value: float) -> str:
    """Three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def how_far(outcome: Outcome) -> str:
    """What a rival did within its budget."""
    if outcome.note:
        return outcome.note
    inserted, retracted = outcome.insertion.changes, outcome.retraction.changes
    if outcome.added < outcome.queries:
        return f"stopped while adding query {outcome.added + 1:,}"
    if inserted < outcome.triples:
        return f"stopped after {inserted:,} in" + ("" if retracted == inserted else f", {retracted:,} out")
    return "all triples" if retracted == inserted else f"all in, stopped after {retracted:,} out"


def weights_table(weighed: Sequence[tuple[str, Weighed]]) -> Table:
    """What things weigh, exactly and by the resident set."""
    table = _table("N", "queries", "facts", "query, exact", "resident", "fact, exact", "resident")
    for name, one in weighed:
        exact, resident = one.exact, one.resident
        cells = (exact.query_bytes, resident.query_bytes, exact.fact_bytes, resident.fact_bytes)
        table.add_row(name, f"{exact.queries:,}", f"{exact.facts:,}", *("" if cell is None else f"{cell:,}" for cell in cells))
    return table


def _turnover_title(turned: Turned) -> str:
    one = turned.resident
    return (
        f"{one.queries:,} subscriptions come and go, {one.facts:,} facts stay: {one.add_us:.1f} µs to add one with its "
        f"{one.rows / one.queries:.2f} rows, {one.drop_us:.1f} µs to drop it; memory in MB"
    )


def turnover_table(turned: Turned) -> Table:
    """Memory before, with and after."""
    table = _table("memory", "before", "with", "after", "kept", "second time", "kept")
    for name, one in (("exact", turned.exact), ("resident", turned.resident)):
        shares = ["" if share is None else f"{share:+.1%}" for share in (one.kept_share, one.kept_again_share)]
        weights = [_mega(each) for each in (one.before_bytes, one.with_bytes, one.after_bytes, one.again_bytes)]
        table.add_row(name, *weights[:3], shares[0], weights[3], shares[1])
    return table


def _mega(count: int | None) -> str:
    return "" if count is None else f"{count / 1e6:,.1f}"


def films_table(films: OnFilms) -> Table:
    """The real data."""
    table = _table(
        "asked in", "a call", "queries", "add, µs", "in, k/s", "out, k/s", "longest, ms", "rows", "left", "equal", "pyoxigraph"
    )
    floor = f"{films.floor.per_s / 1e3:,.0f}"
    table.add_row(BARE_SET, "1", "", "", floor, "", f"{films.floor.longest_us / 1e3:.1f}", "", "", "", "")
    for one in films.ours:
        table.add_row(one.language, f"{one.batch:,}", f"{one.queries:,}", f"{one.add_us:,.1f}", *_film_cells(one))
    return table


def _film_cells(one: FilmFigures) -> Iterator[str]:
    rates, longest_us = (one.inserts_per_s, one.retracts_per_s), one.longest_us
    if longest_us is None:
        yield f"stopped after {one.registered:,}"
        return
    yield from ("" if rate is None else f"{rate / 1e3:,.0f}" for rate in rates)
    yield f"{longest_us / 1e3:.1f}"
    yield from (f"{one.rows:,}", f"{one.rows_left:,}", f"{one.queries - one.different:,}", f"{one.oracle_us:.0f}")


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """What was wanted."""
    table = _table("", "what", "wanted", "reached")
    for verdict in verdicts:
        mark, style = ("met", None) if verdict.met else ("MISSED", "bold")
        table.add_row(mark, verdict.what, verdict.wanted, verdict.reached, style=style)
    return table
