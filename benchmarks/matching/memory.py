"""What queries and facts weigh, and whether the memory comes back when they go.

Everything is weighed twice, each time in a process of its own. *Exact* is what tracemalloc counts: every byte that Python's objects
were given and have not returned, which is slow and says nothing about the gaps between them. *Resident* is the process's resident
set: what the machine pays, by whole pages, gaps included. What the workload had freed before is used up first, so that its growth
may also be less than exact.

What a fact weighs is counted beyond its terms: their strings are there before the weighing begins. The tuple that holds the terms
is made anew for each insert, and is counted. What a query weighs includes its subscription and the constants that the parser makes;
its text, which the workload holds, does not count. Where subscriptions come and go, memory is that of the facts with their terms,
plus, for the resident set, all else in the process; the subscriptions' texts are not in the exact figure.
"""

from __future__ import annotations

import gc
import mmap
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gsg

from .figures import tune_collector
from .workload import as_script, in_another_order, patterns_of, workload

FEWEST = 100
"""Below so many queries the resident set, which grows by pages, says nothing about one of them."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What one query and one fact weigh; None where that cannot be known."""

    queries: int
    facts: int
    query_bytes: int | None
    fact_bytes: int | None


@dataclass(frozen=True, slots=True)
class Turnover:
    """Memory while subscriptions come and go against facts that stay; None where the system does not tell."""

    queries: int
    facts: int
    before_bytes: int | None
    """With the facts, their terms included, before the first subscription was made."""
    with_bytes: int | None
    """With the subscriptions."""
    after_bytes: int | None
    """When all are closed."""
    again_bytes: int | None
    """When as many were made and closed once more."""
    add_us: float
    """To add one subscription; with tracemalloc this says nothing."""
    drop_us: float
    rows: int
    """That the subscriptions began with."""
    rows_again: int
    """The second time."""

    @property
    def kept_share(self) -> float | None:
        """What did not come back, as a share of what there was before."""
        return None if self.before_bytes is None or self.after_bytes is None else self.after_bytes / self.before_bytes - 1

    @property
    def kept_again_share(self) -> float | None:
        """The same after the second time."""
        return None if self.before_bytes is None or self.again_bytes is None else self.again_bytes / self.before_bytes - 1


class Scales:
    """Weighs what was made since, exactly or by the resident set."""

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        if exact:
            tracemalloc.start()

    def now(self) -> int | None:
        """Bytes, when what is garbage is gone."""
        gc.collect()
        return tracemalloc.get_traced_memory()[0] if self._exact else resident_bytes()

    def close(self) -> None:
        """Stop counting."""
        if self._exact:
            tracemalloc.stop()


def resident_bytes() -> int | None:
    """The memory that this process has resident now, None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE


def weigh(exact: bool, n_queries: int, n_triples: int) -> Weights:
    """Queries added to a space, then triples inserted."""
    pairs, triples = workload(n_queries, n_triples)
    texts = [as_script(patterns_of(pair)) for pair in pairs]
    return weigh_these(exact, texts, triples)


def weigh_these(exact: bool, texts: Sequence[str], triples: Sequence[Sequence[object]]) -> Weights:
    """The same for any queries and triples."""
    terms = [list(triple) for triple in triples]
    # The parser builds its tables once, at the first query of a process.
    gsg.Space().subscribe(texts[0]).close()
    subscriptions: list[gsg.Subscription | None] = [None] * len(texts)
    tune_collector(as_peer=True)
    scales = Scales(exact=exact)
    space = gsg.Space()
    empty = scales.now()
    for number, text in enumerate(texts):
        subscriptions[number] = space.subscribe(text, callback=_hear_nothing)
    registered = scales.now()
    for triple in terms:
        space.insert([tuple(triple)])
    filled = scales.now()
    scales.close()
    query_bytes = _each(empty, registered, len(texts)) if len(texts) >= FEWEST else None
    return Weights(len(texts), len(terms), query_bytes, _each(registered, filled, len(terms)))


def turn_over(exact: bool, n_queries: int, n_triples: int) -> Turnover:
    """Subscriptions made and closed, twice, against triples that stay."""
    pairs, _ = workload(n_queries, 0)
    texts = [as_script(patterns_of(pair)) for pair in pairs]
    gsg.Space().subscribe(texts[0]).close()
    tune_collector(as_peer=True)
    rows = 0

    def count(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal rows
        rows += sign

    scales = Scales(exact=exact)
    space = gsg.Space()
    space.insert(workload(n_queries, n_triples)[1])
    before = scales.now()

    started = time.perf_counter()
    subscriptions = [space.subscribe(text, callback=count) for text in texts]
    add_us = (time.perf_counter() - started) / n_queries * 1e6
    during = scales.now()
    held = rows

    order = in_another_order(range(n_queries))
    started = time.perf_counter()
    for number in order:
        subscriptions[number].close()
    drop_us = (time.perf_counter() - started) / n_queries * 1e6
    del subscriptions, order
    after = scales.now()

    for subscription in [space.subscribe(text, callback=count) for text in texts]:
        subscription.close()
    del subscription
    again = scales.now()
    scales.close()
    return Turnover(n_queries, len(space), before, during, after, again, add_us, drop_us, held, rows - held)


def _hear_nothing(sign: gsg.Sign, row: gsg.Row) -> None:
    pass


def _each(before: int | None, after: int | None, pieces: int) -> int | None:
    return None if before is None or after is None else (after - before) // pieces
