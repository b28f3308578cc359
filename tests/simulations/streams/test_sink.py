"""The sink as Spark uses it: tables and streams to a real peer, tasks that fail, and queries that are started again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from loopback_peer import LoopbackPeer
from pyspark.errors import StreamingQueryException

import gsg
from gsg.http.client.blocking_reading import BlockingSubscription
from simulations.streams import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = pytest.mark.long

ROWS = "x string, is string"
QUERY = "(?x, ^on)"


@pytest.fixture
def peer() -> Iterator[LoopbackPeer]:
    with LoopbackPeer() as made:
        yield made


@pytest.fixture
def client(peer: LoopbackPeer) -> Iterator[gsg.Client]:
    with gsg.Client(peer.url) as made:
        yield made


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream of 1,200 rows in two partitions, n0 to n1199, which Spark hands on by the hundred."""
    register(spark)
    folder = tmp_path / "rows"
    folder.mkdir()
    for part in range(2):
        lines = (json.dumps({"x": f"n{number}", "is": "on"}) for number in range(part * 600, part * 600 + 600))
        (folder / f"{part}.json").write_text("\n".join(lines))
    return spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 2).json(str(folder))


@contextmanager
def hundred_rows_a_batch(spark: SparkSession) -> Iterator[None]:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(name, 100)
    yield
    spark.conf.unset(name)


def held(client: gsg.Client) -> list[str]:
    with client.subscribe(QUERY) as subscription:
        return sorted(str(row["x"]) for row in subscription.rows())


def told(subscription: BlockingSubscription, client: gsg.Client) -> list[str]:
    """What was told, up to a last event that is told now, in order of names."""
    client.notify([(gsg.Symbol("end"), gsg.Symbol("on"))])
    names: list[str] = []
    while not names or names[-1] != "end":
        names += [str(row["x"]) for _, row in subscription.batch(10_000)]
    return sorted(names[:-1])


def save(df: DataFrame, peer: LoopbackPeer, save_mode: str = "append", **options: str) -> None:
    df.write.format("gsg").mode(save_mode).options(peers=peer.url, **options).save()


def failure_of(query: StreamingQuery) -> str:
    """Why a query has failed."""
    with pytest.raises(StreamingQueryException) as failed:
        query.awaitTermination()
    return str(failed.value)


def test_tables_are_written_as_facts_that_come_and_go(spark: SparkSession, peer: LoopbackPeer, client: gsg.Client) -> None:
    register(spark)
    rows = spark.createDataFrame([("a", "on"), ("b", "on"), ("c", "on")], ROWS)
    gone = spark.createDataFrame([("b", "on", -1)], f"{ROWS}, sign int")

    for _ in range(2):
        save(rows, peer)
    save(gone, peer)

    assert held(client) == ["a", "c"]


def test_columns_keep_their_types(spark: SparkSession, peer: LoopbackPeer, client: gsg.Client) -> None:
    register(spark)
    values = ("true", "2.5D", "7", "7L", "1.50", "date '2026-11-29'", "timestamp '2026-11-29 08:30:00+01:00'")
    more = ("timestamp_ntz '2026-11-29 08:30:00'", "x'00ff'")
    columns = ", ".join(f"{value} as c{number}" for number, value in enumerate((*values, *more)))

    save(spark.sql(f"select 'all' as name, {columns}"), peer)

    with client.subscribe("(^all, ?a, ?b, ?c, ?d, ?e, ?f, ?g, ?h, ?i)") as subscription:
        [row] = subscription.rows()
    short = {name: gsg.n3(value).replace("http://www.w3.org/2001/XMLSchema#", "xsd:") for name, value in row.items()}
    assert list(short.values()) == [
        '"true"^^<xsd:boolean>',
        "2.5",
        "7",
        "7",
        '"1.5"^^<xsd:decimal>',
        '"2026-11-29"^^<xsd:date>',
        '"2026-11-29T07:30:00Z"^^<xsd:dateTime>',
        '"2026-11-29T08:30:00"^^<xsd:dateTime>',
        '"AP8="^^<xsd:base64Binary>',
    ]


@pytest.mark.parametrize(
    ("sql", "options", "mode", "problem"),
    [
        ("select 'a', null as b", {}, "append", "column b has the type void"),
        ("select x, 'on' from values ('a'), (null) as t(x)", {}, "append", "of partition 0, column x: it is empty"),
        ("select struct(1) as place", {}, "append", "the column place has the type struct"),
        ("select 'a'", {"mod": "events"}, "append", "unknown option mod; expected some of .*; did you mean mode"),
        ("select 'a'", {}, "overwrite", "was asked to overwrite, and what peers hold is everybody's"),
    ],
)
def test_what_cannot_be_written_is_said_by_name(
    spark: SparkSession, peer: LoopbackPeer, sql: str, options: dict[str, str], mode: str, problem: str
) -> None:
    register(spark)

    with pytest.raises(Exception, match=problem) as told:
        save(spark.sql(sql).coalesce(1), peer, mode, **options)

    assert "Traceback" not in str(told.value)


def test_a_stream_whose_task_failed_and_that_is_started_again_tells_each_event_once(
    spark: SparkSession, stream: DataFrame, peer: LoopbackPeer, client: gsg.Client, tmp_path: Path
) -> None:
    failed = tmp_path / "failed"

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number == 4 and not failed.exists():
                failed.touch()
                raise RuntimeError("this machine is gone")
            yield batch

    def start() -> StreamingQuery:
        rows = stream.mapInArrow(fail_once, ROWS)
        writer = rows.writeStream.format("gsg").option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.options(peers=peer.url, mode="events").trigger(availableNow=True).start()

    with client.subscribe(QUERY) as subscription, hundred_rows_a_batch(spark):
        assert "this machine is gone" in failure_of(start())
        start().awaitTermination()

        assert told(subscription, client) == sorted(f"n{number}" for number in range(1_200))


def test_batches_that_were_written_and_not_noted_are_written_again_with_no_effect(
    stream: DataFrame, peer: LoopbackPeer, client: gsg.Client, tmp_path: Path
) -> None:
    attempts: list[int] = []

    def write_and_fail(df: DataFrame, number: int) -> None:
        attempts.append(number)
        save(df, peer, mode="events")
        if len(attempts) < 3:
            raise RuntimeError("killed before it was noted")

    def start() -> StreamingQuery:
        writer = stream.writeStream.foreachBatch(write_and_fail).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    with client.subscribe(QUERY) as subscription:
        for _ in range(2):
            assert "killed before it was noted" in failure_of(start())
        start().awaitTermination()

        assert attempts == [0, 0, 0]
        assert told(subscription, client) == sorted(f"n{number}" for number in range(1_200))
