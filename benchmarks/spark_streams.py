"""Rows of a standing query into Spark by the source ``gsg``, beside the same rows as lines of JSON by Spark's own socket source.

    .venv/bin/python -m benchmarks.spark_streams

One peer in a process of its own, and a client that inserts as fast as the peer takes it; Spark reads in ``local[2]`` on the same
machine. A row counts once a micro-batch that holds it has been added up. The socket's lines lie ready in memory, so it pays for no
peer, no publisher, no disk, and keeps no offset that outlives it. Spark's socket source walks through a micro-batch from its
beginning for each row of it, so that 100,000 lines at once take most of a minute: it is given SOCKET_AHEAD lines ahead of what it
has read, which suits it best, and begins a micro-batch as soon as the last one is done. Then rows are inserted one at a time: how
long until a micro-batch has each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import gsg
from benchmarks.machine import Stolen, machine
from gsg.cli.processes import running
from simulations.engine.spark import session
from simulations.streams import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READING = gsg.Symbol("reading")
WARM_UP = 100_000
AT_ONCE = 5_000
"""Facts of one call, of which a client has four under way."""
SOCKET_AHEAD = 20_000
EVERY = "2 seconds"
"""A micro-batch of few rows costs Spark as much of a core as one of many, which the peer has then to do without."""
LINE = "sensor STRING, value BIGINT"


class Counted:
    """How many rows micro-batches have had, and the sum of their values."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[int, int]] = {}
        """By the number of the micro-batch: one that was stopped in the middle is done again."""
        self._changed = threading.Condition()

    @property
    def rows(self) -> int:
        """How many in all."""
        return sum(rows for rows, _ in self._found.values())

    @property
    def batches(self) -> int:
        """In how many micro-batches."""
        return len(self._found)

    def add(self, batch: DataFrame, number: int) -> None:
        """Add up a micro-batch: each row is looked at."""
        found = batch.selectExpr("count(sensor)", "coalesce(sum(value), 0)").collect()[0]
        with self._changed:
            self._found[number] = found[0], found[1]
            self._changed.notify_all()

    def wait(self, rows: int) -> None:
        """Until so many have been added up."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.rows >= rows, 300):
                raise SystemExit(f"{self.rows:,} of {rows:,} rows came")

    def check(self, rows: int) -> None:
        """Each row once, and the right one."""
        total = sum(values for _, values in self._found.values())
        if (self.rows, total) != (rows, rows * (rows - 1) // 2):
            raise SystemExit(f"{self.rows:,} rows with the sum {total:,}; expected {rows:,} with {rows * (rows - 1) // 2:,}")


def started(
    rows: DataFrame, counted: Counted, folder: Path, every: str | None = None
) -> Any:  # Any: a StreamingQuery of either kind of session
    """A query that counts, with a micro-batch every so often, or as soon as the last one is done."""
    query = rows.writeStream.foreachBatch(counted.add).option("checkpointLocation", str(folder / "checkpoint"))
    return (query if every is None else query.trigger(processingTime=every)).start()


def stream_of(spark: SparkSession, url: str, folder: Path) -> DataFrame:
    """The rows of the standing query."""
    return (
        spark.readStream.format("gsg")
        .schema("sensor STRING, value BIGINT, sign INT, position BIGINT, at TIMESTAMP")
        .option("peers", url)
        .option("query", "(?sensor, ^reading, ?value)")
        .option("spool", str(folder / "spool"))
        .load()
    )


async def insert(url: str, first: int, end: int) -> None:
    """Facts with the values from ``first`` until before ``end``, four calls under way."""
    async with gsg.connect(url, wait_for_quota=True) as client:

        async def some(lane: int) -> None:
            for begin in range(first + lane * AT_ONCE, end, 4 * AT_ONCE):
                await client.insert([(sensor(value), READING, value) for value in range(begin, min(begin + AT_ONCE, end))])

        await asyncio.gather(*map(some, range(4)))


def sensor(value: int) -> str:
    """Which sensor has a value."""
    return f"sensor {value % 1_000}"


async def by_peer(spark: SparkSession, rows: int, latencies: int, folder: Path) -> tuple[float, float, list[float]]:
    """Rows a second as they are inserted, and of an answer, and how long one takes, in seconds."""
    async with running(quietly=True) as peer:
        counted = Counted()
        live = stream_of(spark, peer.url, folder / "live")
        query = started(live, counted, folder / "live", EVERY)
        await insert(peer.url, 0, WARM_UP)
        await asyncio.to_thread(counted.wait, WARM_UP)
        began = time.perf_counter()
        await insert(peer.url, WARM_UP, WARM_UP + rows)
        inserted_s = time.perf_counter() - began
        await asyncio.to_thread(counted.wait, WARM_UP + rows)
        live_s = time.perf_counter() - began
        batches = counted.batches
        counted.check(WARM_UP + rows)
        query.stop()
        query = started(live, counted, folder / "live")
        took = []
        async with gsg.connect(peer.url) as client:
            # The first of them waits for the start of the query.
            for value in range(WARM_UP + rows, WARM_UP + rows + latencies):
                began = time.perf_counter()
                await client.insert([(sensor(value), READING, value)])
                await asyncio.to_thread(counted.wait, value + 1)
                took.append(time.perf_counter() - began)
        query.stop()
        print(f"  inserted in {inserted_s:.1f} s, all read {live_s - inserted_s:.1f} s later, {batches} micro-batches")
        again = Counted()
        began = time.perf_counter()
        query = started(stream_of(spark, peer.url, folder / "answer"), again, folder / "answer")
        await asyncio.to_thread(again.wait, WARM_UP + rows + latencies)
        answer_s = time.perf_counter() - began
        again.check(WARM_UP + rows + latencies)
        query.stop()
    return rows / live_s, (WARM_UP + rows + latencies) / answer_s, took[1:]


def by_socket(spark: SparkSession, rows: int, folder: Path) -> float:
    """Rows a second from lines of JSON that lie ready."""
    from pyspark.sql.functions import col, from_json

    lines = [json.dumps({"sensor": sensor(value), "value": value}).encode() + b"\n" for value in range(WARM_UP + rows)]
    with socket.create_server(("127.0.0.1", 0)) as server:
        counted = Counted()
        read = (
            spark.readStream.format("socket").option("host", "127.0.0.1").option("port", server.getsockname()[1]).load()
        ).select(from_json(col("value"), LINE).alias("line"))
        query = started(read.select("line.*"), counted, folder / "socket")
        connection, _ = server.accept()
        with connection:
            began = time.perf_counter()
            for sent in range(0, WARM_UP + rows, AT_ONCE):
                if sent == WARM_UP:
                    counted.wait(WARM_UP)
                    began = time.perf_counter()
                counted.wait(sent + AT_ONCE - SOCKET_AHEAD)
                connection.sendall(b"".join(lines[sent : sent + AT_ONCE]))
            counted.wait(WARM_UP + rows)
            took_s = time.perf_counter() - began
            counted.check(WARM_UP + rows)
            query.stop()
    return rows / took_s


def main() -> None:
    """Read both ways."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--latencies", type=int, default=50, help="rows that are inserted one at a time")
    options = parser.parse_args()
    print(machine())
    stolen = Stolen()
    spark = session("spark_streams", master="local[2]", partitions=2)
    register(spark)
    say: Callable[[str], None] = print
    with tempfile.TemporaryDirectory() as folder:
        by_line = by_socket(spark, options.rows, Path(folder))
        say(f"{by_line:>10,.0f} rows/s of the socket source")
        live, answer, took = asyncio.run(by_peer(spark, options.rows, options.latencies, Path(folder)))
        times = f"{live / by_line:.1f} times as many"
        say(f"{live:>10,.0f} rows/s of the source gsg, {times}, as they are inserted at one peer, a micro-batch every {EVERY}")
        say(f"{answer:>10,.0f} rows/s of an answer, the start of the query included")
        typical, late = median(took) * 1000, sorted(took)[-max(1, len(took) // 20)] * 1000
        say(f"{typical:>10,.0f} ms from the insertion of one row to the end of its micro-batch; 95 % within {late:,.0f}")
    spark.stop()
    say(f"{stolen.share():>10.0%} of the machine was taken by others meanwhile")


if __name__ == "__main__":
    main()
