"""Keys that are assigned one after the other: as by plain rules over all peers, one key and one peer at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from counting import Holders, counted, keys_of_subscription, keys_of_tuple, one_by_one
from hypothesis import given
from hypothesis import strategies as st

from simulations.engine import grids, kernels
from simulations.engine.ownership import Ownership
from simulations.errors import BadParameter
from simulations.load_balance import assignment as assignment_module
from simulations.load_balance.assignment import closest_with_room
from simulations.load_balance.balance import InOneThread, OnSpark, run
from simulations.load_balance.capacities import parse_capacities
from simulations.load_balance.meets_one_by_one import OneByOne
from simulations.load_balance.peers import Peers, regions
from simulations.load_balance.plan import Plan, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic, parse_mix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = Synthetic(1_500, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
SUBSCRIPTIONS = TUPLES.subscriptions(250, COMMON_MIX, 3)
ALIKE = Peers(40, 5)
UNLIKE = Peers(40, 5, capacity=parse_capacities("1=60,10=30,100=10"))
ALL = (
    "choices-2",
    "choices-5+predicate",
    "choices-2+hot-split-2+demand",
    "choices-3+virtual-4",
    "choices-2+grid-1",
    "choices-2+popular-20",
    "bounded-1.25",
    "bounded-1.01+random",
    "bounded-2+hot-split-2",
    "bounded-1.5+epochs-4+demand",
)
Rule: TypeAlias = Callable[[int, int, list[int]], tuple[int, int, list[int]]]
"""Who holds a key of a weight, given loads; how many peers were asked in vain, and who has a pointer."""


def two_choices(plan: Plan, peers: Peers) -> Rule:
    ids, capacities = peers.prefixes(), peers.capacities().tolist()
    owners = peers.ownership(plan.strategy.virtual)
    assert len(ids) == len(capacities)

    def rule(key: int, weight: int, loads: list[int]) -> tuple[int, int, list[int]]:
        keys = [np.array([key], dtype=np.uint64)]
        keys += [kernels.scattered(keys[0], (1 << 63) + number) for number in range(1, plan.strategy.choices)]
        candidates = [int(owners.owners(one)[0]) for one in keys]
        holder = min(candidates, key=lambda peer: (Fraction(loads[peer], capacities[peer]), candidates.index(peer)))
        return holder, int(holder != candidates[0]), sorted(set(candidates) - {holder})

    return rule


def bounded(plan: Plan, peers: Peers, weight_of_all: int) -> Rule:
    ids, capacities = peers.prefixes().tolist(), peers.capacities().tolist()
    times = Fraction(plan.strategy.bounded, 100)
    bounds = [ceil(times * weight_of_all * capacity / sum(capacities)) for capacity in capacities]

    def rule(key: int, weight: int, loads: list[int]) -> tuple[int, int, list[int]]:
        by_distance = sorted(range(len(ids)), key=lambda peer: ids[peer] ^ key)
        fits = [peer for peer in by_distance if not loads[peer] or loads[peer] + weight <= bounds[peer]]
        below = [peer for peer in by_distance if loads[peer] < bounds[peer]]
        holder = (fits or below)[0]
        return holder, by_distance.index(holder), []

    return rule


def weights_of(plan: Plan, single: OneByOne) -> dict[bytes, int]:
    """What each key weighs, cell by cell."""
    found: dict[bytes, int] = {}
    for position, place in enumerate(TUPLES.constants):
        for code in range(len(place.keys)):
            load = single._load(position, code)
            popular = plan.strategy.popular and load.facts > TUPLES.tuples // plan.strategy.popular
            unsent = popular or (plan.strategy.demand and not load.templates)
            grid = single._grid(load)
            for row in range(grid.rows):
                for column in range(grid.columns):
                    key = grids.cell_key(single._key(position, code), row, column)
                    found[key] = 0 if unsent else ceil(load.facts / grid.rows)
    return found


@pytest.mark.parametrize("peers", [ALIKE, UNLIKE], ids=["alike", "unlike"])
@pytest.mark.parametrize("name", ALL)
def test_loads_are_those_of_single_decisions(name: str, peers: Peers) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(peers))
    single = OneByOne(plan, TUPLES, SUBSCRIPTIONS)
    weights = weights_of(plan, single)
    rule = bounded(plan, peers, sum(weights.values())) if plan.strategy.bounded else two_choices(plan, peers)
    loads, said = [0] * len(peers), {}
    for key in sorted(weights, key=lambda key: (-weights[key], key)):
        said[key] = rule(int.from_bytes(key, "big"), weights[key], loads)
        loads[said[key][0]] += weights[key]

    found = counted(plan, TUPLES, peers)

    holders: Holders = lambda key: [said[key][0]]  # noqa: E731  # one line of what is above
    tuples, copies, work, _ = one_by_one(plan, TUPLES, SUBSCRIPTIONS, holders)
    assert (found.tuples.tolist(), found.subscriptions.tolist(), found.work.tolist()) == (tuples, copies, work)
    chunk = TUPLES.chunk(0, TUPLES.tuples)
    sent = [
        key
        for *codes, at_s in zip(*chunk.codes, chunk.at_s, strict=True)
        for key in keys_of_tuple(single, tuple(map(int, codes)), float(at_s))
    ] + [key for number in range(len(SUBSCRIPTIONS)) for key in keys_of_subscription(single, number) or ()]
    assert found.probes.sum() == sum(said[key][1] for key in sent)
    assert found.assigned.tolist() == [sum(said[key][0] == peer for key in set(sent)) for peer in range(len(peers))]
    assert found.pointers.tolist() == [sum(peer in said[key][2] for key in set(sent)) for peer in range(len(peers))]
    assert found.probes.any()


@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=24, unique=True),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 9)), min_size=1, max_size=60),
    st.integers(1, 30),
)
def test_the_closest_with_room_is_that_of_a_search_through_all(ids: list[int], keys: list[tuple[int, int]], spare: int) -> None:
    prefixes = np.array(ids, dtype=np.uint64)
    total = sum(weight for _, weight in keys)
    bounds = [total // len(ids) + 1 + (number * spare) % 7 for number in range(len(ids))]

    holders, closer = closest_with_room(
        np.array([key for key, _ in keys], dtype=np.uint64),
        np.array([weight for _, weight in keys], dtype=np.int64),
        Ownership(prefixes),
        prefixes,
        np.array(bounds, dtype=np.int64),
    )

    loads = [0] * len(ids)
    for (key, weight), holder, probes in zip(keys, holders.tolist(), closer.tolist(), strict=True):
        order = sorted(range(len(ids)), key=lambda peer: ids[peer] ^ key)
        fits = [peer for peer in order if not loads[peer] or loads[peer] + weight <= bounds[peer]]
        below = [peer for peer in order if loads[peer] < bounds[peer]]
        assert (holder, probes) == ((fits or below)[0], order.index((fits or below)[0]))
        loads[holder] += weight


def test_no_peer_carries_more_than_its_bound_but_for_a_key_that_is_heavier() -> None:
    even = Synthetic(20_000, (4_000, 500, 4_000), (0.0, 0.0, 0.0), seed=4)
    plan = make_plan(parse("bounded-1.25"), even, even.subscriptions(10, COMMON_MIX, 1), 50)
    keys, weights = assignment_module.weighed_keys(plan)
    assigned = assignment_module.assign(plan, Peers(50), Peers(50).ownership())

    loads = np.bincount(assigned.holders, weights=weights, minlength=50)

    assert len(keys) == 8_500
    assert loads.max() <= ceil(1.25 * weights.sum() / 50)
    assert assigned.probes.any()


def test_two_choices_even_out_what_one_does_not() -> None:
    even = Synthetic(200_000, (40_000, 500, 40_000), (0.0, 0.0, 0.0), seed=4)
    asked, peers = even.subscriptions(10, COMMON_MIX, 1), Peers(100)

    one, two, four = (run(parse(name), even, asked, peers, InOneThread()) for name in ("rarest", "choices-2", "choices-4"))

    assert one.tuples.total == two.tuples.total == four.tuples.total
    uneven = [outcome.spreads()["tuple_load"].max_over_mean for outcome in (four, two, one)]
    # Two hashes of a key often fall to peers of large regions both.
    assert uneven[0] < 1.1 < uneven[1] < 1.6 < 4 < uneven[2]


def test_a_hot_key_stays_whole_under_any_bound() -> None:
    asked = TUPLES.subscriptions(250, parse_mix("?p?=1"), 1)

    plain, bound = (run(parse(name), TUPLES, asked, ALIKE, InOneThread()) for name in ("rarest", "bounded-1.25"))

    hottest = int(np.bincount(TUPLES.chunk(0, TUPLES.tuples).codes[1]).max())
    assert bound.tuples.largest == hottest < plain.tuples.largest


@pytest.mark.parametrize("name", ["choices-2", "bounded-1.25"])
def test_all_peers_are_one_region_and_one_task(
    name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("simulations.load_balance.balance.REGION_PEERS", 4)

    one, other = (
        run(parse(name), TUPLES, SUBSCRIPTIONS, UNLIKE, engine, tmp_path / str(place))
        for place, engine in enumerate((InOneThread(), OnSpark(spark, partitions=3)))
    )

    assert len(regions(ALIKE, 64, virtual=1, replicas=1, assigned=True)) == 1
    assert one.summary() == other.summary()


def test_more_peers_or_keys_than_can_be_assigned_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        BadParameter, match="'choices-2' among 2097153 peers; expected 2097152 at most, since one task assigns keys"
    ):
        make_plan(parse("choices-2"), TUPLES, SUBSCRIPTIONS, (1 << 21) + 1)
    monkeypatch.setattr(assignment_module, "MAX_ASSIGNED_KEYS", 155)
    with pytest.raises(BadParameter, match=r"'bounded-1\.25' over more than 155 keys; expected fewer constants"):
        counted(make_plan(parse("bounded"), TUPLES, SUBSCRIPTIONS, len(ALIKE)), TUPLES, ALIKE)
