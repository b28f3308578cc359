"""Peers that are not alike: their capacities, ids in proportion, and utilisation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from counting import counted
from pyarrow import parquet

from simulations.engine import grids
from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, OnSpark, run
from simulations.load_balance.capacities import MOST, UNIT, ids_for, parse_capacities
from simulations.load_balance.peers import Peers
from simulations.load_balance.plan import make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = Synthetic(1_500, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
SUBSCRIPTIONS = TUPLES.subscriptions(250, COMMON_MIX, 3)
CLASSES = parse_capacities("1=60, 10=30, 0.5=10")
PEERS = Peers(40, 5, capacity=CLASSES)


def test_classes_come_as_often_as_they_weigh() -> None:
    drawn = CLASSES.draw(np.arange(100_000), 3)

    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [50, 100, 1_000]
    assert np.allclose(counts / 100_000, [0.1, 0.6, 0.3], atol=0.01)
    assert CLASSES.draw(np.arange(100_000), 3).tolist() == drawn.tolist()


def test_pareto_has_the_tail_that_its_exponent_says() -> None:
    drawn = parse_capacities("pareto:1.5").draw(np.arange(200_000), 3)

    assert drawn.min() == UNIT
    assert drawn.max() <= MOST * UNIT
    for times in (2, 10, 50):
        assert np.mean(drawn >= times * UNIT) == pytest.approx(times**-1.5, rel=0.15)


def test_all_regions_know_the_same_capacities() -> None:
    assert PEERS.capacities_of(np.array([3, 17])).tolist() == PEERS.capacities()[[3, 17]].tolist()
    assert Peers(3).capacities().tolist() == [UNIT] * 3


def test_each_peer_has_ids_in_proportion_to_its_capacity() -> None:
    counts = ids_for(PEERS.capacities(), 8)
    mean = PEERS.capacities().mean()
    ids = {
        int.from_bytes(point, "big"): peer
        for peer, own in enumerate(PEERS.prefixes().tolist())
        for point in grids.virtual_ids(own.to_bytes(8, "big"), int(counts[peer]))
    }
    keys = np.random.default_rng(1).integers(0, 2**64, 500, dtype=np.uint64)

    owners = PEERS.ownership(8).owners(keys)

    assert counts.tolist() == [max(1, round(8 * capacity / mean)) for capacity in PEERS.capacities().tolist()]
    assert owners.tolist() == [ids[min(ids, key=lambda point: point ^ key)] for key in keys.tolist()]


def test_utilisation_is_load_by_capacity() -> None:
    outcome = run(parse("virtual-8"), TUPLES, SUBSCRIPTIONS, PEERS, InOneThread())
    loads = counted(make_plan(parse("virtual-8"), TUPLES, SUBSCRIPTIONS, len(PEERS)), TUPLES, PEERS)

    by_capacity = loads.tuples / PEERS.capacities()
    expected = by_capacity.max() * PEERS.capacities().sum() / loads.tuples.sum()
    assert outcome.utilisation_max_over_mean == pytest.approx(expected, rel=1e-3)
    assert outcome.summary()["utilisation_max_over_mean"] == outcome.utilisation_max_over_mean
    assert run(parse("virtual-8"), TUPLES, SUBSCRIPTIONS, Peers(40, 5), InOneThread()).utilisation_max_over_mean is None


def test_ids_in_proportion_even_out_utilisation() -> None:
    even = Synthetic(100_000, (40_000, 5_000, 40_000), (0.0, 0.0, 0.0), seed=4)
    asked, peers = even.subscriptions(10, COMMON_MIX, 1), Peers(200, capacity=parse_capacities("pareto:2"))

    one, many = (run(parse(name), even, asked, peers, InOneThread()) for name in ("rarest", "virtual-64"))

    assert one.utilisation_max_over_mean is not None
    assert many.utilisation_max_over_mean is not None
    assert many.utilisation_max_over_mean < 2 < 4 < one.utilisation_max_over_mean


def test_spark_says_the_same_and_writes_capacities(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("simulations.load_balance.balance.REGION_PEERS", 10)

    one, other = (
        run(parse("hot-split-2"), TUPLES, SUBSCRIPTIONS, PEERS, engine, tmp_path / str(place))
        for place, engine in enumerate((InOneThread(), OnSpark(spark, partitions=3)))
    )

    assert one.summary() == other.summary()
    for place in range(2):
        table = parquet.read_table(tmp_path / str(place)).sort_by("peer")
        assert table.column("capacity").to_pylist() == (PEERS.capacities() / UNIT).tolist()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pareto:1", "capacities 'pareto:1': expected pareto:ALPHA with a number above 1 and up to 100, such as pareto:1.5"),
        ("pareto", "capacities 'pareto': expected pareto:ALPHA"),
        ("zipf:2", "capacities 'zipf:2': expected pareto:ALPHA"),
        ("1=0", "capacities '1=0': '1=0' is no class; expected pareto:ALPHA, or classes of capacities from 0.01 to 10000"),
        ("1=5,many=2", "'many=2' is no class"),
        ("20000=1", "'20000=1' is no class"),
        ("1", "'1' is no class"),
    ],
)
def test_what_are_no_capacities_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadParameter, match=complaint):
        parse_capacities(text)
