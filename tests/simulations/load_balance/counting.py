"""What tests count with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from simulations.load_balance.balance import InOneThread
from simulations.load_balance.meets_one_by_one import OneByOne
from simulations.load_balance.peer_loads import PeerLoads, loads_in
from simulations.load_balance.peers import Peers, Region
from simulations.load_balance.plan import Plan, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import Subscriptions, Workload

EVERYWHERE = Region(0, 0)
Holders: TypeAlias = Callable[[bytes], list[int]]
"""The peers that hold a key, where tuples meet what is posted there first."""


def counted(plan: Plan, workload: Workload, peers: Peers) -> PeerLoads:
    """What each peer has, in one thread and one region."""
    return loads_in(EVERYWHERE, plan, InOneThread().counted(plan, workload, peers), peers)


def loads_by(strategy: str, workload: Workload, subscriptions: Subscriptions, peers: Peers) -> PeerLoads:
    """What each peer has by a strategy."""
    return counted(make_plan(parse(strategy), workload, subscriptions, len(peers)), workload, peers)


def keys_of_tuple(single: OneByOne, codes: tuple[int, ...], at_s: float) -> list[bytes]:
    """All keys that a tuple goes to."""
    return [key for cells in single.cells_of_tuple(codes, at_s) for key in cells.cell_keys()]


def keys_of_subscription(single: OneByOne, number: int) -> list[bytes] | None:
    """All keys that a subscription is posted under, None for one that is lost."""
    posted = single.cells_of_subscription(number)
    return None if posted is None else [key for cells in posted for key in cells.cell_keys()]


def one_by_one(
    plan: Plan, workload: Workload, subscriptions: Subscriptions, holders: Holders
) -> tuple[list[int], list[int], list[int], int]:
    """Copies of tuples and of subscriptions at each peer, pairs that met there, and lost subscriptions: by single decisions."""
    single = OneByOne(plan, workload, subscriptions)
    posted: dict[bytes, set[tuple[int, ...]]] = {}
    copies, lost = [0] * plan.peers, 0
    for number in range(len(subscriptions)):
        keys = keys_of_subscription(single, number)
        lost += keys is None
        for key in keys or ():
            posted.setdefault(key, set()).add(tuple(subscriptions.codes[:, number].tolist()))
            copies[holders(key)[0]] += 1
    tuples, work = [0] * plan.peers, [0] * plan.peers
    chunk = workload.chunk(0, workload.tuples)
    for *codes, at_s in zip(*chunk.codes, chunk.at_s, strict=True):
        for key in keys_of_tuple(single, tuple(map(int, codes)), float(at_s)):
            holding = holders(key)
            for holder in holding:
                tuples[holder] += 1
            work[holding[0]] += len(posted.get(key, ()))
    return tuples, copies, work, lost
