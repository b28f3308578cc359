"""What is wanted of us, beside what was reached; the figures are for 10,000 queries, 100,000 triples and all film data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .measured import Measured, OnFilms, Turned, Weighed

FULL_SIZE = (10_000, 100_000)
"""Queries and triples that the wanted figures are for."""

FEW_QUERIES = 100
"""What the cost of many queries is compared with."""

US_OF_ONE, US_OF_MANY = 5.0, 12.0
TIMES_FEW = 8.0
PAUSE_MS = 20.0
RETRACTION_TIMES = 1.5
ADDED_S = 1.0
QUERY_BYTES, FACT_BYTES = 700, 300
KEPT_SHARE = 0.05
FILM_INSERTS_PER_S = 150_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """One wanted figure."""

    what: str
    wanted: str
    reached: str
    met: bool


def verdicts(measured: Measured) -> list[Verdict]:
    """One for each wanted figure that was measured."""
    found = list(_of_matching(measured))
    if measured.weighed:
        heaviest = max(measured.weighed, key=lambda one: one.exact.queries)
        found += _of_weights(heaviest, f"N = {heaviest.exact.queries:,}")
    if measured.turned is not None:
        found += _of_turnover(measured.turned)
    if measured.films is not None:
        found += _of_films(measured.films)
    return found


def at_most(what: str, reached: float, limit: float, unit: str, form: str = ",.2f") -> Verdict:
    """That something does not exceed a limit."""
    return Verdict(what, f"at most {limit:,g}{unit}", f"{reached:{form}}{unit}", reached <= limit)


def _of_matching(measured: Measured) -> Iterator[Verdict]:
    if not measured.compared:
        return
    by_queries = {one.queries: one for one in measured.compared}
    few, many = by_queries.get(FEW_QUERIES), by_queries[max(by_queries)]
    if 1 in by_queries:
        yield at_most("an insert, N = 1", by_queries[1].as_peer.insertion.mean_us, US_OF_ONE, " µs")
    yield at_most(f"an insert, N = {many.queries:,}", many.as_peer.insertion.mean_us, US_OF_MANY, " µs")
    if few is not None and few is not many:
        ratio = many.as_peer.insertion.mean_us / few.as_peer.insertion.mean_us
        yield at_most(f"an insert, N = {many.queries:,} beside N = {FEW_QUERIES:,}", ratio, TIMES_FEW, " times")

    for change in ("insertion", "retraction"):
        pauses = {one.queries: getattr(one.as_peer, change).longest_us / 1e3 for one in measured.compared}
        worst = max(pauses, key=lambda queries: pauses[queries])
        yield at_most(f"longest pause of {change} (N = {worst:,})", pauses[worst], PAUSE_MS, " ms", ".1f")
    ratios = {one.queries: one.as_peer.retraction.mean_us / one.as_peer.insertion.mean_us for one in measured.compared}
    worst = max(ratios, key=lambda queries: ratios[queries])
    yield at_most(f"a retraction beside an insert (N = {worst:,})", ratios[worst], RETRACTION_TIMES, " times")
    for verb, each_us in (("add", many.as_peer.add_us), ("drop", many.as_peer.drop_us)):
        yield at_most(f"to {verb} {many.queries:,} queries", each_us * many.queries / 1e6, ADDED_S, " s", ".3f")


def _of_weights(weighed: Weighed, where: str) -> Iterator[Verdict]:
    for what, reached, limit in (
        ("a query", weighed.exact.query_bytes, QUERY_BYTES),
        ("a fact beyond its terms", weighed.exact.fact_bytes, FACT_BYTES),
    ):
        if reached is not None:
            yield at_most(f"memory of {what}, {where}", reached, limit, " B", ",d")


def _of_turnover(turned: Turned) -> Iterator[Verdict]:
    for how, one in (("exact", turned.exact), ("resident", turned.resident)):
        for when, share in (("", one.kept_share), (", the second time", one.kept_again_share)):
            if share is not None:
                what = f"memory kept by {one.queries:,} subscriptions that went{when}, {how}"
                yield Verdict(what, f"at most {KEPT_SHARE:.0%}", f"{share:+.1%}", abs(share) <= KEPT_SHARE)


def _of_films(films: OnFilms) -> Iterator[Verdict]:
    for one in films.ours:
        name = f"films, {one.language}, {one.batch:,} a call"
        rate, longest_us = one.inserts_per_s, one.longest_us
        if rate is None or longest_us is None or one.retracts_per_s is None:
            continue
        wanted = f"at least {FILM_INSERTS_PER_S:,}/s"
        yield Verdict(f"{name}: inserts", wanted, f"{rate:,.0f}/s", rate >= FILM_INSERTS_PER_S)
        yield at_most(f"{name}: a retraction beside an insert", rate / one.retracts_per_s, RETRACTION_TIMES, " times")
        yield at_most(f"{name}: longest pause", longest_us / 1e3, PAUSE_MS, " ms", ".1f")
    yield from _of_weights(films.weighed, "films")
