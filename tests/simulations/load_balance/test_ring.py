"""MAAN's mapping: numbers in order around the ring, ranges at all peers between their bounds; by plain walks around the ring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from counting import counted, keys_of_subscription
from hypothesis import given
from hypothesis import strategies as st

from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, OnSpark, run
from simulations.load_balance.meeting_sample import sample_meetings
from simulations.load_balance.meets_one_by_one import OneByOne, check_meetings, matching, ring_point
from simulations.load_balance.peer_loads import loads_in
from simulations.load_balance.peers import Peers, regions
from simulations.load_balance.plan import make_plan
from simulations.load_balance.ring import Ring, points_of
from simulations.load_balance.strategies import parse
from simulations.workload.workload import Recorded, Subscriptions, Synthetic, parse_mix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = Synthetic(1_500, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
MIX = parse_mix("??b=3,??a=2,?pb=1,s??=1,??o=2,???=1,?p?=1", width=0.1)
SUBSCRIPTIONS = TUPLES.subscriptions(200, MIX, 3)
PEERS = Peers(40, 5)
EDGE = 2**64 - 1
ids = st.lists(st.integers(0, 30).map(lambda place: place * (EDGE // 30)), min_size=1, max_size=12, unique=True)
points = st.integers(0, 60).map(lambda place: min(EDGE, place * (EDGE // 60) + place % 3))


def successor(point: int, peers: list[int]) -> int:
    """The number of the peer whose id is next, around the ring."""
    return min(range(len(peers)), key=lambda peer: (peers[peer] - point) % 2**64)


@given(ids, st.lists(st.tuples(points, points), min_size=1, max_size=10), st.integers(1, 3))
def test_parts_of_a_ring_are_those_of_a_walk_around_it(peers: list[int], bounds: list[tuple[int, int]], parts: int) -> None:
    prefixes = np.array(peers, dtype=np.uint64)
    ranges = [sorted(pair) for pair in bounds]
    asked = np.array(ranges, dtype=np.uint64).T

    for some in np.array_split(np.argsort(prefixes), parts):
        if not len(some):
            continue
        ring = Ring(prefixes, some)
        mine = some.tolist()

        expected = [successor(low, peers) for low, _ in ranges]
        assert ring.successors(asked[0]).tolist() == [mine.index(peer) if peer in mine else -1 for peer in expected]
        assert ring.covered(*asked).tolist() == [
            # Between two points lie those whose own part of the ring has a point of the range: its ends and all ids within.
            sum(peer in {successor(low, peers), successor(high, peers)} or low <= peers[peer] <= high for low, high in ranges)
            for peer in mine
        ]


@given(st.lists(st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1.0, np.inf, -np.inf, np.nextafter(1, 0)])), min_size=1))
def test_points_of_many_numbers_are_those_of_each(values: list[float]) -> None:
    assert points_of(np.array(values)).tolist() == [ring_point(value) for value in values]


@pytest.mark.parametrize("name", ["maan", "maan+predicate"])
def test_loads_are_those_of_single_decisions(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))
    single = OneByOne(plan, TUPLES, SUBSCRIPTIONS)
    ring, closest = PEERS.prefixes().tolist(), PEERS.ownership()
    values = TUPLES.constants[2].values
    assert values is not None
    assert SUBSCRIPTIONS.bounds is not None

    def owner(position: int, code: int) -> int:
        if position == 2:
            return successor(ring_point(float(values[code])), ring)
        return int(closest.owners(TUPLES.constants[position].keys[[code]])[0])

    copies, at = [0] * len(PEERS), []
    for number in range(len(SUBSCRIPTIONS)):
        codes, (low, high) = SUBSCRIPTIONS.codes[:, number].tolist(), SUBSCRIPTIONS.bounds[:, number].tolist()
        keys = keys_of_subscription(single, number)
        assert keys is not None
        if keys:
            position = next(place for place, code in enumerate(codes) if code >= 0 and single._key(place, code) == keys[0])
            peers = {owner(position, codes[position])}
        elif np.isfinite([low, high]).any():
            ends = ring_point(low), ring_point(high)
            peers = {successor(end, ring) for end in ends} | {
                peer for peer, point in enumerate(ring) if ends[0] <= point <= ends[1]
            }
            position = None
        else:
            peers, position = set(range(len(PEERS))), None
        at.append((peers, position, codes, low, high, bool(keys)))
        for peer in peers:
            copies[peer] += 1
    tuples, work = [0] * len(PEERS), [0] * len(PEERS)
    distinct = {(tuple(codes), low, high): (position, has_key) for _, position, codes, low, high, has_key in at}
    chunk = TUPLES.chunk(0, TUPLES.tuples)
    for codes in zip(*(column.tolist() for column in chunk.codes), strict=True):
        for place, code in enumerate(codes):
            peer = owner(place, code)
            tuples[peer] += 1
            for (wanted, low, high), (position, has_key) in distinct.items():
                if has_key:
                    work[peer] += position == place and wanted[place] == code
                elif np.isfinite([low, high]).any():
                    work[peer] += place == 2 and low <= values[code] <= high
                else:
                    work[peer] += place == 0

    found = counted(plan, TUPLES, PEERS)

    assert found.tuples.tolist() == tuples
    assert found.subscriptions.tolist() == copies
    assert found.work.tolist() == work
    assert check_meetings(plan, TUPLES, SUBSCRIPTIONS).missed == 0


def test_peers_of_all_regions_are_all_peers() -> None:
    plan = make_plan(parse("maan"), TUPLES, SUBSCRIPTIONS, len(PEERS))
    counts = InOneThread().counted(plan, TUPLES, PEERS)
    cut = regions(PEERS, 5, virtual=1, replicas=1)

    parts = [loads_in(region, plan, counts, PEERS) for region in cut]

    assert len(cut) > 1
    order = np.argsort(np.concatenate([part.peers for part in parts]))
    whole = counted(plan, TUPLES, PEERS)
    assert [np.concatenate(column)[order].tolist() for column in zip(*parts, strict=True)] == [column.tolist() for column in whole]


def test_spark_counts_the_same(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("simulations.load_balance.balance.REGION_PEERS", 10)

    one, other = (
        run(parse("maan"), TUPLES, SUBSCRIPTIONS, PEERS, engine, tmp_path / str(place))
        for place, engine in enumerate((InOneThread(), OnSpark(spark, partitions=3)))
    )

    assert one.summary() == other.summary()


def test_matches_meet_and_what_does_not_match_does_not() -> None:
    plan = make_plan(parse("maan"), TUPLES, SUBSCRIPTIONS, len(PEERS))
    sample = TUPLES.chunk(0, 30)
    pairs = set(zip(*(column.tolist() for column in matching(sample, SUBSCRIPTIONS, TUPLES)), strict=True))
    everything = [(place, number) for place in range(30) for number in range(len(SUBSCRIPTIONS))]

    met = OneByOne(plan, TUPLES, SUBSCRIPTIONS).meetings(sample, *np.array(everything).T)

    # Who asks for a constant and bounds may meet a tuple whose value its bounds do not hold.
    by_bounds = [number for number in range(len(SUBSCRIPTIONS)) if (SUBSCRIPTIONS.codes[:, number] < 0).all()]
    for pair, meeting in zip(everything, met, strict=True):
        if pair[1] in by_bounds:
            assert (bool(meeting.keys) or meeting.everywhere) == (pair in pairs)


def test_a_wide_range_is_at_as_many_peers_as_lie_between() -> None:
    bounds = np.array([[0.2, 0.5], [0.3, 0.5]])
    asked = Subscriptions(np.full((3, 2), -1), kinds=np.arange(2), bounds=bounds)
    peers = Peers(10_000)

    found = counted(make_plan(parse("maan"), TUPLES, asked, len(peers)), TUPLES, peers)

    ids_ = peers.prefixes() / 2.0**64
    assert found.subscriptions.sum() == np.count_nonzero((ids_ >= 0.2) & (ids_ < 0.3)) + 1 + 1


def test_objects_that_are_no_numbers_and_deaths_are_refused() -> None:
    recorded = Recorded(TUPLES.chunk(0, 50).codes, (*TUPLES.constants[:2], TUPLES.constants[0]))

    with pytest.raises(
        BadParameter, match="'maan' takes objects as numbers, and those of files and traces are not read as numbers"
    ):
        make_plan(parse("maan"), recorded, SUBSCRIPTIONS, len(PEERS))
    with pytest.raises(BadParameter, match="'maan' puts keys at other peers than the closest, whose deaths are looked at here"):
        sample_meetings(parse("maan"), TUPLES, SUBSCRIPTIONS, PEERS.prefixes(), 1)
