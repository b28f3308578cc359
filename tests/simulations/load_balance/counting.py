"""What tests count with."""

from __future__ import annotations

from simulations.load_balance.balance import InOneThread
from simulations.load_balance.meets_one_by_one import OneByOne
from simulations.load_balance.peer_loads import PeerLoads, loads_in
from simulations.load_balance.peers import Peers, Region
from simulations.load_balance.plan import Plan, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import Subscriptions, Workload

EVERYWHERE = Region(0, 0)


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
