"""A query of Spark that follows a peer while facts change, and is killed with all its processes at random moments: each row once.

    .venv/bin/python tests/simulations/streams/streams_soak.py [--kills 20] [--remote]

Spark writes Parquet by its own sink, which has each batch once. With ``--remote`` it is spoken to over Spark Connect. Whatever it
was killed at, the signs in the lake must add up to the answer of the peer in the end, and positions must be without gaps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import gsg
from gsg.cli.processes import running
from simulations.engine.spark import java_home, session
from simulations.streams import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON = gsg.Symbol("on")
QUERY = "(?x, ^on, ?y)"
LONGEST_S = 4.0
"""How long Spark runs at most after it has begun a micro-batch."""
START_S = 300.0
"""A start of Spark that takes longer is a failure; it takes some fifteen seconds."""


def spark_of(*, remote: bool) -> SparkSession:
    """A session of one kind or the other."""
    if not remote:
        return session("soak", master="local[2]", partitions=2)
    os.environ |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote("local[2]").getOrCreate()


def follow(url: str, folder: Path, *, remote: bool, until_done: bool) -> None:
    """Follow the peer until this is killed; or until all is there, and write down what the lake has."""
    spark = spark_of(remote=remote)
    register(spark)
    options = {"peers": url, "query": QUERY, "spool": str(folder / "spool"), "maxRowsPerBatch": "2000"}
    rows = spark.readStream.format("gsg").options(**options).load()
    query = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = query.option("path", str(folder / "lake"))
    if not until_done:
        query.start().awaitTermination()
    query.trigger(availableNow=True).start().awaitTermination()
    lake = spark.read.parquet(str(folder / "lake")).orderBy("position").collect()
    (folder / "told").write_text(json.dumps([[row.position, row.x, row.y, row.sign] for row in lake]))


async def soak(kills: int, seed: int, *, remote: bool) -> None:
    """Kill it so many times; ends with status 1 where a row is missing, or there twice."""
    rng, facts = Random(seed), set[tuple[object, ...]]()
    with tempfile.TemporaryDirectory() as folder:
        async with running(quietly=True) as peer, gsg.connect(peer.url) as client:

            def start(*more: str) -> subprocess.Popen[bytes]:
                said = [sys.executable, __file__, "--follow", peer.url, folder, *more, *(["--remote"] if remote else [])]
                # A group of its own, so that Java and the workers of Python die with it.
                return subprocess.Popen(said, process_group=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            for kill in range(kills):
                spark = start()
                offsets, begun = Path(folder) / "checkpoint" / "offsets", time.monotonic()
                before, until = offsets_in(offsets), begun + START_S
                changes = 0
                while time.monotonic() < until:
                    if until == begun + START_S and offsets_in(offsets) > before:
                        until = time.monotonic() + rng.uniform(0, LONGEST_S)
                    goes = set(rng.sample(sorted(facts, key=str), min(20, len(facts) // 4)))
                    come = {(f"x{rng.randrange(100)}", ON, rng.randrange(100)) for _ in range(30)}
                    await client.retract(goes)
                    await client.insert(come)
                    facts = facts - goes | come
                    changes += len(goes) + len(come)
                    await asyncio.sleep(0.2)
                os.killpg(spark.pid, signal.SIGKILL)
                spark.wait()
                batches = offsets_in(offsets) - before
                if not batches:
                    raise SystemExit(f"Spark did not begin a micro-batch within {START_S} s")
                print(f"killed {kill + 1} times, {batches} micro-batches and {changes:,} changes later", flush=True)
            if await asyncio.to_thread(start("--until-done").wait):
                raise SystemExit("the last run failed")
            check(Path(folder), {(x, str(y)) for x, _, y in facts})


def offsets_in(folder: Path) -> int:
    """How many micro-batches have begun."""
    return sum(path.name.isdigit() for path in folder.iterdir()) if folder.exists() else 0


def check(folder: Path, facts: set[tuple[object, str]]) -> None:
    """Raises SystemExit where the lake is wrong."""
    told = json.loads((folder / "told").read_text())
    sums = Counter[tuple[object, str]]()
    for _, x, y, sign in told:
        sums[x, y] += sign
    if [position for position, *_ in told] != list(range(1, len(told) + 1)):
        raise SystemExit(f"{len(told):,} rows, whose positions are not 1 to {len(told):,}")
    if Counter({row: count for row, count in sums.items() if count}) != Counter(facts):
        raise SystemExit(f"the lake adds up to {sum(sums.values()):,} rows, and the peer has {len(facts):,}")
    print(f"{len(told):,} rows, each once; they add up to the {len(facts):,} that the peer has")


def main() -> None:
    """Kill it, or be killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--remote", action="store_true", help="by Spark Connect")
    parser.add_argument("--follow", nargs=2, metavar=("URL", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--until-done", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.follow:
        follow(asked.follow[0], Path(asked.follow[1]), remote=asked.remote, until_done=asked.until_done)
    else:
        asyncio.run(soak(asked.kills, asked.seed, remote=asked.remote))


if __name__ == "__main__":
    main()
