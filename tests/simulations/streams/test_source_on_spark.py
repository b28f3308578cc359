"""The source in queries of Spark: stopped, failed and started again from their checkpoint; and what is told at load."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from loopback_peer import LoopbackPeer

import gsg
from simulations.streams import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = [pytest.mark.waits, pytest.mark.long]

ON = gsg.Symbol("on")


@pytest.fixture
def peer() -> Iterator[LoopbackPeer]:
    with LoopbackPeer() as made:
        yield made


def stream(spark: SparkSession, peer: LoopbackPeer, folder: Path, **options: str) -> DataFrame:
    register(spark)
    given = {"peers": peer.url, "query": "(?x, ^on, ?y)", "spool": str(folder / "spool")} | options
    return spark.readStream.format("gsg").options(**given).load()


def test_a_query_that_fails_and_is_started_again_has_each_row_once(spark: SparkSession, peer: LoopbackPeer, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    rng, facts, failures = Random(3), set[tuple[str, int]](), list[str]()
    batches: dict[int, list[Row]] = {}
    rows = stream(spark, peer, tmp_path, maxRowsPerBatch="8")

    def take(batch: DataFrame, number: int) -> None:
        collected = batch.collect()
        if rng.random() < 0.5:
            raise RuntimeError("as the seed wants it")
        batches[number] = collected

    for _ in range(2):
        goes = set(rng.sample(sorted(facts), len(facts) // 2))
        come = {(f"x{rng.randrange(50)}", rng.randrange(50)) for _ in range(12)} - facts
        peer.retract(*[(x, ON, y) for x, y in goes])
        peer.insert(*[(x, ON, y) for x, y in come])
        facts = facts - goes | come
        done = False
        while not done:
            query = rows.writeStream.foreachBatch(take).trigger(availableNow=True)
            try:
                done = bool(query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(120))
            except StreamingQueryException as error:
                failures.append(str(error))
        told = [row for number in sorted(batches) for row in batches[number]]
        sums = Counter[tuple[str, int]]()
        for row in told:
            sums[row.x, int(row.y)] += row.sign
        assert Counter({row: count for row, count in sums.items() if count}) == Counter(facts)
        assert sorted(row.position for row in told) == list(range(1, len(told) + 1))
        assert max(map(len, batches.values())) <= 8
    assert failures
    assert all("as the seed wants it" in failure for failure in failures)


def test_a_query_that_is_asked_once_has_the_rows_that_hold(spark: SparkSession, peer: LoopbackPeer) -> None:
    register(spark)
    peer.insert(("a", ON, 1), ("b", ON, 2))
    asked = spark.read.format("gsg").option("peers", peer.url).option("query", "(?x, ^on, ?y)")

    found = asked.schema("y BIGINT, sign INT, position BIGINT").load().orderBy("y").collect()

    assert [tuple(row) for row in found] == [(1, 1, found[0].position), (2, 1, found[1].position)]
    assert {row.position for row in found} == {1, 2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"query": "(?x, ^on ?y)"}, 'line 1, column 10: unexpected "?y"; expected "," or ")"'),
        ({"spool": "s3a://bucket/spool"}, "the spool s3a://bucket/spool is on s3a:"),
        ({"maxRows": "5"}, "unknown option maxrows; expected some of query, language"),
    ],
    ids=["a mistake in the query", "a spool elsewhere", "an option that is none"],
)
def test_what_cannot_be_is_told_when_it_is_loaded_without_a_traceback_of_python(
    spark: SparkSession, peer: LoopbackPeer, tmp_path: Path, options: dict[str, str], said: str
) -> None:
    with pytest.raises(Exception, match=re.escape(said)) as told:
        stream(spark, peer, tmp_path, **options)

    assert "Traceback" not in str(told.value)


def test_a_spool_that_is_missing_is_told_when_the_query_starts_without_a_traceback_of_python(
    spark: SparkSession, peer: LoopbackPeer, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    register(spark)
    rows = spark.readStream.format("gsg").options(peers=peer.url, query="(?x, ^on, ?y)").load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    with pytest.raises(
        StreamingQueryException, match=r": simulations\.errors\.BadParameter: the option spool is missing; expected"
    ) as told:
        query.awaitTermination(120)

    assert "Traceback" not in str(told.value)
