"""gsg.Space on the synthetic workload, triple by triple, and the bare set that is the floor."""

from __future__ import annotations

import time
from dataclasses import dataclass

import gsg

from .figures import Times, each_timed, tune_collector
from .workload import Triple, as_script, in_another_order, patterns_of, workload

AS_PEER, AS_PYTHON, BARE_SET = "gsg.Space, as in gsg peer", "gsg.Space, as Python starts", "a bare set"
"""The two differ in how the cyclic garbage collector is set up (figures.py)."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What one run took."""

    engine: str
    queries: int
    insertion: Times
    retraction: Times
    """Of all triples, in another order."""
    rows: int
    """After the insertion."""
    rows_left: int
    """After the retraction."""
    add_us: float
    """To add one query to a space without facts, in the mean."""
    drop_us: float
    """To drop one, in another order, in the mean."""


def run_space(engine: str, n_queries: int, n_triples: int) -> Ours:
    """The workload on a space."""
    pairs, triples = workload(n_queries, n_triples)
    backwards = in_another_order(triples)
    texts = [as_script(patterns_of(pair)) for pair in pairs]
    # The parser builds its tables once, at the first query of a process.
    gsg.Space().subscribe(texts[0]).close()
    tune_collector(as_peer=engine == AS_PEER)
    rows = 0

    def count(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal rows
        rows += sign

    space = gsg.Space()
    started = time.perf_counter()
    subscriptions = [space.subscribe(text, callback=count) for text in texts]
    add_us = (time.perf_counter() - started) / n_queries * 1e6

    insert, retract = space.insert, space.retract
    insertion = each_timed(lambda triple: insert([triple]), triples)
    held = rows
    retraction = each_timed(lambda triple: retract([triple]), backwards)
    left = rows + len(space)

    subscriptions = in_another_order(subscriptions)
    started = time.perf_counter()
    for subscription in subscriptions:
        subscription.close()
    drop_us = (time.perf_counter() - started) / n_queries * 1e6
    return Ours(engine, n_queries, insertion, retraction, held, left, add_us, drop_us)


def run_set(n_triples: int) -> Ours:
    """The floor: the same triples into a set and out again, one by one, and nothing else."""
    _, triples = workload(0, n_triples)
    backwards = in_another_order(triples)
    tune_collector(as_peer=True)
    bare: set[Triple] = set()
    insertion = each_timed(bare.add, triples)
    retraction = each_timed(bare.remove, backwards)
    return Ours(BARE_SET, 0, insertion, retraction, 0, 0, 0.0, 0.0)
