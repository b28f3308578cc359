"""Loads of peers: exact against counting one tuple at a time, and the same however it is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from counting import EVERYWHERE, Holders, counted, keys_of_subscription, keys_of_tuple, loads_by, one_by_one
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from simulations.engine import kernels
from simulations.engine.ownership import Ownership
from simulations.errors import BadParameter, JobFailed
from simulations.load_balance import plan as plan_module
from simulations.load_balance.balance import InOneThread, OnSpark, peers_table, run, usual_cut
from simulations.load_balance.counted_tuples import Counts, SortedKeys, packed, unpacked
from simulations.load_balance.meets_one_by_one import OneByOne, check_meetings, first_matching, matching
from simulations.load_balance.peer_loads import loads_in
from simulations.load_balance.peers import Peers, regions
from simulations.load_balance.plan import Plan, expanded, make_plan
from simulations.load_balance.strategies import STANDARD, parse
from simulations.workload.workload import COMMON_MIX, Subscriptions, Synthetic, parse_mix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = Synthetic(1_500, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
SUBSCRIPTIONS = TUPLES.subscriptions(250, COMMON_MIX, 3)
PEERS = Peers(40, 5)
ALL = (
    *STANDARD,
    "popular-20",
    "hot-split-1",
    "grid-1",
    "grid-1+virtual-3+random",
    "composite+demand",
    "epochs-5+predicate",
    "halves+demand",
    "rarest+replicas-3",
    "composite+demand+replicas-2",
    "epochs-5+replicas-4",
)


def holders_by_distance(plan: Plan) -> Holders:
    """All holders of each key, the closest first, one key at a time."""
    ids = PEERS.prefixes()
    ownership = Ownership(kernels.virtual_ids(ids, plan.strategy.virtual))

    def holders(key: bytes) -> list[int]:
        if plan.strategy.replicas == 1:
            return [int(ownership.owners(np.array([int.from_bytes(key, "big")], dtype=np.uint64))[0]) % plan.peers]
        by_distance = sorted(range(plan.peers), key=lambda peer: int(ids[peer]) ^ int.from_bytes(key, "big"))
        return by_distance[: plan.strategy.replicas]

    return holders


@pytest.mark.parametrize("name", ALL)
def test_loads_are_those_of_single_decisions(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))

    loads = counted(plan, TUPLES, PEERS)

    tuples, copies, work, lost = one_by_one(plan, TUPLES, SUBSCRIPTIONS, holders_by_distance(plan))
    assert (loads.subscriptions.tolist(), plan.lost) == (copies, lost)
    assert loads.tuples.tolist() == tuples
    assert loads.work.tolist() == work


@pytest.mark.parametrize("name", ALL)
def test_every_matching_pair_meets_once_or_is_lost(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))
    single = OneByOne(plan, TUPLES, SUBSCRIPTIONS)
    chunk = TUPLES.chunk(0, 60)

    met, lost = set(), 0
    for number, subscription in zip(*matching(chunk, SUBSCRIPTIONS, TUPLES), strict=True):
        goes_to = keys_of_tuple(single, tuple(int(column[number]) for column in chunk.codes), float(chunk.at_s[number]))
        posted = keys_of_subscription(single, int(subscription))
        lost += posted is None
        met.add(1 if posted is None else len(set(goes_to) & set(posted)))

    assert met == {1}
    assert (lost > 0) == (plan.lost > 0)


def test_pairs_that_match_are_all_found() -> None:
    chunk = TUPLES.chunk(0, 50)

    found = set(zip(*(column.tolist() for column in matching(chunk, SUBSCRIPTIONS, TUPLES)), strict=True))

    rows = list(zip(*(column.tolist() for column in chunk.codes), strict=True))
    expected = {
        (number, subscription)
        for number, row in enumerate(rows)
        for subscription, wanted in enumerate(SUBSCRIPTIONS.codes.T.tolist())
        if all(code in (-1, there) for code, there in zip(wanted, row, strict=True))
    }
    assert found == expected


def test_the_first_tuple_that_matches_is_found_of_each_subscription() -> None:
    chunk = TUPLES.chunk(0, 50)

    tuples, numbers = first_matching(chunk, SUBSCRIPTIONS, TUPLES)

    expected: dict[int, int] = {}
    for number, subscription in sorted(zip(*(column.tolist() for column in matching(chunk, SUBSCRIPTIONS, TUPLES)), strict=True)):
        expected.setdefault(subscription, number)
    assert numbers.tolist() == sorted(expected)
    assert dict(zip(numbers.tolist(), tuples.tolist(), strict=True)) == expected


def test_a_subscription_without_constants_is_everywhere_and_met_once() -> None:
    with_all = Subscriptions(np.append(SUBSCRIPTIONS.codes, [[-1], [-1], [-1]], axis=1))
    without = make_plan(parse("rarest+demand"), TUPLES, SUBSCRIPTIONS, len(PEERS))
    plan = make_plan(parse("rarest+demand"), TUPLES, with_all, len(PEERS))

    more = counted(plan, TUPLES, PEERS).work.sum() - counted(without, TUPLES, PEERS).work.sum()

    assert (counted(plan, TUPLES, PEERS).templates - counted(without, TUPLES, PEERS).templates).tolist() == [1] * len(PEERS)
    assert more == TUPLES.tuples
    assert check_meetings(plan, TUPLES, with_all).missed == 0


def test_equal_templates_are_counted_once() -> None:
    twice = Subscriptions(np.concatenate((SUBSCRIPTIONS.codes, SUBSCRIPTIONS.codes), axis=1))
    once, both = (loads_by("hot-split-1", TUPLES, some, PEERS) for some in (SUBSCRIPTIONS, twice))

    assert both.templates.tolist() == once.templates.tolist()
    assert both.subscriptions.tolist() == (2 * once.subscriptions).tolist()


def test_pieces_of_cells_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "EXPANDED", 5)
    parts = np.array([2, 9, 1, 1, 3])

    pieces = [(item, part) for items, parts_ in expanded(parts) for item, part in zip(items.tolist(), parts_.tolist(), strict=True)]

    assert pieces == [(item, part) for item, count in enumerate(parts.tolist()) for part in range(count)]


@given(st.lists(st.integers(0, 40), unique=True, max_size=30), st.integers(0, 58), st.lists(st.integers(0, 41), min_size=1))
def test_keys_that_crowd_one_corner_are_found(corner: list[int], shift: int, asked: list[int]) -> None:
    keys = sorted(number << shift for number in corner)
    wanted = [number << shift for number in asked]

    found = SortedKeys(np.array(keys, dtype=np.uint64)).find(np.array(wanted, dtype=np.uint64)).tolist()

    assert found == [keys.index(key) if key in keys else -1 for key in wanted]


def test_sorted_keys_are_found_and_others_are_not() -> None:
    keys = np.unique(np.array([0, 1, 5, 2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64))
    asked = np.array([5, 6, 2**64 - 1, 2**63 + 1, 2, 0], dtype=np.uint64)

    assert SortedKeys(keys).find(asked).tolist() == [2, -1, 5, 4, -1, 0]
    assert SortedKeys(keys[:0]).find(asked).tolist() == [-1] * 6


@pytest.mark.parametrize(
    ("load", "width"),
    [([1, 0, 255], 1), ([256, 3, 0], 2), ([65_535], 2), ([65_536, 1], 4), ([2**32 - 1], 4), ([0, 2**32], 8), ([2**62, 5], 8)],
)
def test_a_block_travels_in_few_bytes_and_arrives_whole(load: list[int], width: int) -> None:
    part = packed(np.array(load, dtype=np.int64))

    assert len(part) == 1 + width * len(load)
    assert unpacked(part).tolist() == load


def test_a_block_of_nothing_takes_no_bytes_and_adds_nothing() -> None:
    nothing = np.zeros(4, dtype=np.int64)

    part = packed(nothing)

    assert part == b""
    assert (nothing + unpacked(part)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("name", ["rarest", "grid-1+demand", "composite", "epochs-5+replicas-4", "virtual-3"])
def test_spark_counts_the_same_however_tuples_and_peers_are_cut(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))
    alone = counted(plan, TUPLES, PEERS)

    for partitions, region in ((1, 40), (3, 10), (16, 4)):
        monkeypatch.setattr("simulations.load_balance.balance.REGION_PEERS", region)
        engine = OnSpark(spark, partitions=partitions)
        counts = engine.counted(plan, TUPLES, PEERS)
        spread = engine.spread(plan, counts, PEERS)
        engine.write(plan, counts, PEERS, tmp_path / str(partitions))

        assert {load: (found.values.tolist(), found.peers.tolist()) for load, found in spread.items()} == {
            load: (found.values.tolist(), found.peers.tolist()) for load, found in alone.histograms().items()
        }
        table = parquet.read_table(tmp_path / str(partitions)).sort_by("peer")
        assert table.drop_columns("strategy").to_pydict() == peers_table(alone, PEERS).to_pydict()
        assert set(table["strategy"].to_pylist()) == {name}


def test_spark_says_how_far_it_is(spark: SparkSession) -> None:
    said: list[tuple[int, int]] = []
    engine = OnSpark(spark, progress=lambda done, of: said.append((done, of)))

    engine.counted(make_plan(parse("rarest"), TUPLES, SUBSCRIPTIONS, len(PEERS)), TUPLES, PEERS)

    assert said[-1] == (1, 1)


def test_a_job_that_fails_is_one_clear_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # A chunk that no workload has: the workers get the list of chunks as it is here.
    monkeypatch.setattr("simulations.load_balance.balance.chunks_of", lambda tuples, parts: [(0, "all")])

    with pytest.raises(JobFailed, match=r"^the job failed on Spark: .+$"):
        OnSpark(spark).counted(make_plan(parse("rarest"), TUPLES, SUBSCRIPTIONS, len(PEERS)), TUPLES, PEERS)


@pytest.mark.parametrize("partitions", [0, -1, 100_001])
def test_impossible_numbers_of_partitions_are_refused(spark: SparkSession, partitions: int) -> None:
    with pytest.raises(BadParameter, match=f"{partitions} partitions; expected 1 to 100000"):
        OnSpark(spark, partitions=partitions)


def test_as_many_tasks_count_as_partitions_were_asked_for(spark: SparkSession) -> None:
    said: list[tuple[int, int]] = []
    engine = OnSpark(spark, partitions=5, progress=lambda done, of: said.append((done, of)))

    engine.counted(make_plan(parse("rarest"), TUPLES, SUBSCRIPTIONS, len(PEERS)), TUPLES, PEERS)

    assert said[-1] == (5, 5)


@pytest.mark.parametrize(
    ("tuples", "cores", "parts"), [(1, 8, 1), (16_385, 8, 2), (1_000_000, 2, 2), (1_000_000, 16, 16), (10**9, 2, 10)]
)
def test_each_core_has_a_part_unless_tuples_are_few(tuples: int, cores: int, parts: int) -> None:
    assert usual_cut(tuples, cores) == parts


@pytest.mark.parametrize("peers", [0, -3, 1 << 27])
def test_impossible_numbers_of_peers_are_refused(peers: int) -> None:
    with pytest.raises(BadParameter, match=f"{peers} peers; expected 1 to"):
        Peers(peers)


def test_a_run_leaves_what_each_peer_has(tmp_path: Path) -> None:
    outcome = run(parse("popular-20"), TUPLES, SUBSCRIPTIONS, PEERS, InOneThread(), tmp_path)

    table = parquet.read_table(tmp_path)
    assert table.column_names == ["peer", "id", "tuples", "subscriptions", "templates", "work", "strategy"]
    assert [int(peer, 16) for peer in table.column("id").to_pylist()] == PEERS.prefixes().tolist()
    assert sum(table.column("tuples").to_pylist()) == outcome.tuples.total
    assert sorted(set(table.column("work").to_pylist())) == outcome.work.values.tolist()
    assert outcome.summary()["copies_per_tuple"] == outcome.tuples.total / TUPLES.tuples < 3
    assert outcome.summary()["lost_subscriptions"] == outcome.lost > 0
    assert outcome.messages == outcome.tuples.total + outcome.subscriptions.total + 2 * SUBSCRIPTIONS.given.sum()


def test_date_ranges_show_what_peers_carry_at_one_time() -> None:
    outcome = run(parse("epochs-5"), TUPLES, SUBSCRIPTIONS, PEERS, InOneThread())

    now = TUPLES.chunk(0, TUPLES.tuples).at_s < TUPLES.seconds / 5
    assert outcome.first_epoch.total == 3 * now.sum()
    assert "first_epoch_tuple_load" in outcome.summary()


def test_work_is_spread_where_the_mix_asks_for_common_constants() -> None:
    subscriptions = TUPLES.subscriptions(250, parse_mix("?p?=1"), 1)

    plain, split = (run(parse(name), TUPLES, subscriptions, PEERS, InOneThread()) for name in ("rarest", "hot-split-1"))

    assert split.tuples.largest < plain.tuples.largest
    assert split.work.total == plain.work.total


def test_of_no_tuples_nothing_is_counted_and_subscriptions_are_there() -> None:
    plan = make_plan(parse("rarest"), TUPLES, SUBSCRIPTIONS, len(PEERS))

    loads = loads_in(EVERYWHERE, plan, Counts.zero(plan), PEERS)

    assert not loads.tuples.any()
    assert loads.subscriptions.sum() == len(SUBSCRIPTIONS)


@pytest.mark.parametrize("name", ["rarest", "epochs-5+replicas-4", "composite"])
def test_peers_of_all_regions_are_all_peers(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))
    counts = InOneThread().counted(plan, TUPLES, PEERS)
    cut = regions(PEERS, 5, virtual=1, replicas=plan.strategy.replicas)

    parts = [loads_in(region, plan, counts, PEERS) for region in cut]

    assert len(cut) > 1
    order = np.argsort(np.concatenate([part.peers for part in parts]))
    whole = counted(plan, TUPLES, PEERS)
    assert [np.concatenate(column)[order].tolist() for column in zip(*parts, strict=True)] == [column.tolist() for column in whole]


def test_regions_have_as_many_peers_as_a_key_has_holders() -> None:
    assert len(regions(PEERS, 64, virtual=1, replicas=1)) > len(regions(PEERS, 64, virtual=1, replicas=10)) > 1
    assert len(regions(PEERS, 64, virtual=3, replicas=1)) == 1
    assert len(regions(Peers(1), 64, virtual=1, replicas=1)) == 1


def test_more_holders_than_peers_are_refused() -> None:
    with pytest.raises(BadParameter, match="3 holders of a key among 2 peers; expected no more than there are peers"):
        make_plan(parse("rarest+replicas-3"), TUPLES, SUBSCRIPTIONS, 2)
