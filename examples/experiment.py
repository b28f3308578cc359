"""An experiment with topics in real processes of this machine: how soon events reach all subscribers, and who knows the dead.

    .venv/bin/python examples/experiment.py --peers 16 --out results
    .venv/bin/python examples/experiment.py --peers 64 --removed 0.2 --runs 3 --out results

One peer is the facilitator and the others take part; on a testbed each would be started on a host of its own, by the same options.
The log goes to results/log, and `gsg simulate dissemination --log` makes a report of it, with as many simulated peers beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from gsg.cli.processes import PeerProcess, running

AT_ONCE = 4
"""Processes that start at the same time: each takes a second of a core."""


async def experiment(count: int, log: Path, options: Sequence[str]) -> None:
    """One run: it is over when the facilitator says so."""
    async with AsyncExitStack() as stack:
        lead = ("--facilitator", str(log), "--experiment-peers", str(count), *options)
        facilitator = await stack.enter_async_context(running(options=lead))
        places = asyncio.Semaphore(AT_ONCE)

        async def follow() -> None:
            async with places:
                await stack.enter_async_context(running(options=("--take-part", facilitator.listen), quietly=True))

        print(f"{count} peers start", flush=True)
        async with asyncio.TaskGroup() as starting:
            for _ in range(count):
                starting.create_task(follow())
        await say_all(facilitator)


async def say_all(facilitator: PeerProcess) -> None:
    """Pass on what the facilitator says, until the log is there."""
    assert facilitator.process.stdout is not None
    async for line in facilitator.process.stdout:
        said = line.decode().rstrip()
        print(said, flush=True)
        if said.startswith("experiment: the log is in"):
            return
    raise SystemExit("no report: the facilitator has ended before the experiment; above is what it says of that")


def main() -> int:
    """The status of the report; 1 where a peer failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", type=int, default=16, help="how many take part (default: 16)")
    parser.add_argument(
        "--subscribers", default="0.25,0.5,0.75,1", help="which shares of them subscribe (default: 0.25,0.5,0.75,1)"
    )
    parser.add_argument("--removed", default="0.2", help="which share is killed in the end (default: 0.2)")
    parser.add_argument("--events", default="40", help="events of one publisher, and then of changing ones (default: 40)")
    parser.add_argument("--settle", default="15", help="seconds in which nothing is done (default: 15)")
    parser.add_argument("--watch", default="120", help="seconds for which views are watched in the end (default: 120)")
    parser.add_argument("--runs", type=int, default=1, help="how many runs (default: 1)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the log and the report go")
    given = parser.parse_args()
    names = ("subscribers", "removed", "events", "settle", "watch")
    options = [word for name in names for word in (f"--experiment-{name}", getattr(given, name))]
    log: Path = given.out / "log"
    if given.runs < 1:
        parser.error(f"--runs: {given.runs}; expected 1 or more")
    problem = ""
    try:
        for _ in range(given.runs):
            asyncio.run(experiment(given.peers, log, options))
    except* RuntimeError as failed:
        problem = str(failed.exceptions[0])
    if problem:
        print(f"no report: {problem.rstrip(': ')}; above is what that peer says of it", file=sys.stderr)
        return 1
    report = ("simulate", "dissemination", "--log", str(log), "--hop-ms", "0.2,2", "--engine", "numpy", "--out", str(given.out))
    return subprocess.run([sys.executable, "-m", "gsg", *report], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
