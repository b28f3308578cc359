"""Rows a second that Spark writes to a peer by the sink ``gsg``, beside a plain client that writes the same tuples.

    .venv/bin/python -m benchmarks.spark_sink

One peer in a process of its own, with a data directory where ``--durable`` asks for it. Spark writes in ``local[2]`` on the same
machine, from two partitions, after a warm-up that starts its Python workers; the client has its tuples ready and as many requests
under way as a task has. Facts are new, then the same again; events have keys, then the same keys again, of which nothing is told.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from typing import TYPE_CHECKING

import gsg
from benchmarks.machine import Stolen, machine
from gsg.cli.processes import running
from simulations.engine.spark import session
from simulations.streams import register
from simulations.streams.sink.requests import PART_TUPLES
from simulations.streams.sink.task_writer import UNDER_WAY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2
WARM_UP = 2_000
READING = gsg.Symbol("reading")


def rows_of(spark: SparkSession, first: int, rows: int) -> object:
    """Rows of three columns, made by Spark itself."""
    ids = spark.range(first, first + rows, numPartitions=PARTITIONS)
    return ids.selectExpr("concat('sensor-', id % 1000) AS sensor", "'reading' AS is", "id AS value")


def by_spark(spark: SparkSession, url: str, first: int, rows: int, mode: str, producer: str) -> float:
    """Seconds of one job."""
    began = time.perf_counter()
    writer = rows_of(spark, first, rows).write.format("gsg").mode("append")  # type: ignore[attr-defined]  # a DataFrame of either kind
    writer.options(peers=url, mode=mode, producer=producer).save()
    return time.perf_counter() - began


def tuples_of(first: int, rows: int) -> list[tuple[object, ...]]:
    """The same as tuples."""
    return [(gsg.Symbol(f"sensor-{number % 1_000}"), READING, number) for number in range(first, first + rows)]


async def by_client(url: str, first: int, rows: int, mode: str, producer: str) -> float:
    """Seconds of one client with UNDER_WAY requests of facts, or one of events with a key, at once."""
    tuples = tuples_of(first, rows)
    parts = [tuples[begin : begin + PART_TUPLES] for begin in range(0, rows, PART_TUPLES)]
    lanes = UNDER_WAY if mode == "facts" else 1
    async with gsg.connect(url, wait_for_quota=True) as client:

        async def write(lane: int) -> None:
            for number in range(lane, len(parts), lanes):
                if mode == "facts":
                    await client.insert(parts[number])
                else:
                    await client.notify(parts[number], key=f"{producer}/{number}")

        began = time.perf_counter()
        await asyncio.gather(*map(write, range(lanes)))
        return time.perf_counter() - began


def told(rows: int, seconds: float, what: str) -> None:
    """Say how many a second."""
    print(f"{rows / seconds:>10,.0f} {what}", flush=True)


async def main() -> None:
    """Write both ways, and say how long each took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--durable", action="store_true", help="the peer has a data directory")
    options = parser.parse_args()
    print(machine())
    stolen = Stolen()
    spark = session("spark_sink", master="local[2]", partitions=PARTITIONS)
    register(spark)
    rows = options.rows
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data", folder] if options.durable else []
        async with running(quietly=True, options=[*data, "--client-rate", "10000000"]) as peer:
            for mode in ("facts", "events"):
                by_spark(spark, peer.url, -WARM_UP, WARM_UP, mode, "warm up")
            for mode in ("facts", "events"):
                for again in ("", ", the same again"):
                    # In this thread: Spark finds a source by the session of the thread that asks. Nothing else is to be done.
                    told(rows, by_spark(spark, peer.url, 0, rows, mode, "Spark"), f"{mode}/s by Spark{again}")
                    told(rows, await by_client(peer.url, rows, rows, mode, "client"), f"{mode}/s by a client{again}")
    spark.stop()
    print(f"{stolen.share():>10.0%} of the machine was taken by others meanwhile")


if __name__ == "__main__":
    asyncio.run(main())
