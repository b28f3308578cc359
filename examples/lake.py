"""A lake of Parquet that follows a standing query, and an aggregation of Spark that goes back into the tuple space as facts.

    .venv/bin/python examples/lake.py

A peer in a process of its own holds which sensor is in which room, and what each reads. The query joins both; Spark appends its
signed rows to the lake, each exactly once, since a micro-batch has a folder of its own by its number. After each, Spark adds up
what holds by the whole lake, takes the mean of each room, and writes what has changed back, where any subscriber hears of it. Then
the query ends, readings change while it is away, and it goes on from its checkpoint: the lake gets the difference.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import gsg
from gsg import Symbol
from gsg.cli.processes import running
from simulations.engine.spark import session
from simulations.streams import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IN, READS, MEAN = Symbol("in"), Symbol("reads"), Symbol("mean")
QUERY = "(?sensor, ^in, ?room), (?sensor, ^reads, ?degrees)"
COLUMNS = "sensor STRING, room STRING, degrees DOUBLE, sign INT, position BIGINT, at TIMESTAMP"

FIRST = [
    *((Symbol(sensor), IN, Symbol(room)) for sensor, room in (("s1", "kitchen"), ("s2", "kitchen"), ("s3", "cellar"))),
    *((Symbol(sensor), READS, degrees) for sensor, degrees in (("s1", 20.0), ("s2", 23.0), ("s3", 11.5))),
]
WARMER = ((Symbol("s1"), READS, 20.0), (Symbol("s1"), READS, 22.0))
"""What one sensor no longer reads, and what it reads instead."""


def follow(spark: SparkSession, url: str, folder: Path) -> None:
    """Let the lake follow the query until it has all that is there now, and the space the means."""

    def take(batch: DataFrame, number: int) -> None:
        # A batch that is done again, after a crash, takes the place of what it wrote before.
        batch.write.mode("overwrite").parquet(str(folder / "lake" / f"batch={number}"))
        write_means(spark, url, folder)

    rows = (
        spark.readStream.format("gsg")
        .schema(COLUMNS)
        .option("peers", url)
        .option("query", QUERY)
        .option("spool", str(folder / "spool"))
        .load()
    )
    query = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def write_means(spark: SparkSession, url: str, folder: Path) -> None:
    """The mean of each room by the lake, as facts: those that are no longer true go, and the others come."""
    from pyspark.sql.functions import avg, lit, sum

    lake = spark.read.schema(COLUMNS).parquet(str(folder / "lake"))
    holding = lake.groupBy("sensor", "room", "degrees").agg(sum("sign").alias("times")).where("times > 0")
    now = holding.groupBy("room").agg(avg("degrees").alias("mean"))
    told = spark.read.format("gsg").schema("room STRING, mean DOUBLE").option("peers", url)
    before = told.option("query", "(?room, ^mean, ?mean)").load().cache()
    changes = before.exceptAll(now).withColumn("sign", lit(-1)).union(now.exceptAll(before).withColumn("sign", lit(1)))
    facts = changes.select("room", lit("mean").alias("what"), "mean", "sign")
    facts.write.format("gsg").option("peers", url).option("mode", "facts").mode("append").save()
    before.unpersist()


def say(spark: SparkSession, url: str, folder: Path) -> None:
    """Print what the lake has, and the means as whoever asks a peer is told."""
    lake = spark.read.schema(COLUMNS).parquet(str(folder / "lake"))
    signs = lake.orderBy("position").select("sensor", "degrees", "sign").collect()
    print("lake:", ", ".join(f"{'+' if row.sign > 0 else '-'}{row.sensor} {row.degrees}" for row in signs))
    with gsg.Client(url) as client, client.subscribe("(?room, ^mean, ?mean)") as means:
        print("space:", ", ".join(sorted(f"{row['room']} {row['mean']}" for row in means.rows())))


def run(spark: SparkSession, url: str, folder: Path) -> None:
    """All of it, with a peer that stands."""
    register(spark)
    with gsg.Client(url) as client:
        client.insert(FIRST)
        follow(spark, url, folder)
        say(spark, url, folder)
        print("one sensor reads more while nobody looks")
        client.retract([WARMER[0]])
        client.insert([WARMER[1]])
        follow(spark, url, folder)
        say(spark, url, folder)


async def main() -> None:
    """Start a peer and Spark."""
    async with running(quietly=True) as peer:
        spark = session("lake", master="local[2]", partitions=2)
        with tempfile.TemporaryDirectory() as folder:
            await asyncio.to_thread(run, spark, peer.url, Path(folder))
        spark.stop()


if __name__ == "__main__":
    asyncio.run(main())
