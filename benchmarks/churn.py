"""What is lost, and for how long, when many peers are killed at one moment, restarted, or cut off from each other.

\b
    python -m benchmarks.churn --part memory       256 peers of one process in virtual time: 30 % killed; 50 % in three steps
    python -m benchmarks.churn --part processes    as many real peers on loopback as fit, 64 at most: the same
    python -m benchmarks.churn --part restart      real peers with --data, all killed with SIGKILL and started again
    python -m benchmarks.churn --part partitions   a network cut in two for a minute, and for ten, in virtual time
    python -m benchmarks.churn --part memory --share 0.2 --steps 2     other deaths

Without --part all of them, one after the other. Each line has what was promised and what was reached. A lookup is right when it
names the three closest of those that live; rows are compared with those of a plain space of the facts that were acknowledged.
Ends with status 1 when a promise is broken.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from typing import TypeAlias

import click

from benchmarks import churn_memory, churn_processes
from benchmarks.churn_crowd import Tally, disturb
from benchmarks.machine import machine

PARTS = ("memory", "processes", "restart", "partitions")
Deaths: TypeAlias = Sequence[tuple[float, int]]
DEATHS: Deaths = ((0.3, 1), (0.5, 3))
"""Shares of the peers, and in how many steps they die."""
CUTS_S = (60.0, 600.0)
IN_MEMORY, CUT_IN_TWO, MOST_PROCESSES = 256, 32, 64
FEWEST = 4
"""Peers, of which some die and three hold each key."""


def memory(peers: int | None, facts: int, seed: int, loss: float, tally: Tally, deaths: Deaths) -> None:
    """Deaths in virtual time."""
    for share, steps in deaths:
        click.echo(f"{share:.0%} of {peers or IN_MEMORY} peers in {steps} steps, virtual time, 10 to 100 ms there and back")
        churn_memory.run(
            peers or IN_MEMORY,
            seed,
            loss,
            tally,
            lambda world, share=share, steps=steps: disturb(world.crowd, world.die, share, steps, facts),  # type: ignore[misc]  # bound now
        )


def processes(peers: int | None, facts: int, seed: int, tally: Tally, deaths: Deaths) -> None:
    """Deaths of real peers."""
    size = peers or churn_processes.as_many_as_fit(MOST_PROCESSES)
    for share, steps in deaths:
        click.echo(f"{share:.0%} of {size} processes on loopback in {steps} steps")
        asyncio.run(churn_processes.deaths(size, facts, seed, tally, share, steps))


def restart(peers: int | None, facts: int, seed: int, tally: Tally) -> None:
    """All real peers are killed and come back."""
    size = peers or churn_processes.as_many_as_fit(MOST_PROCESSES)
    click.echo(f"all of {size} processes on loopback killed with SIGKILL, and started again")
    asyncio.run(churn_processes.restart(size, facts, seed, tally))


def partitions(peers: int | None, facts: int, seed: int, loss: float, tally: Tally) -> None:
    """Cuts in virtual time."""
    for cut_s in CUTS_S:
        click.echo(f"{peers or CUT_IN_TWO} peers cut in two for {cut_s:.0f} s, virtual time")
        churn_memory.run(
            peers or CUT_IN_TWO,
            seed,
            loss,
            tally,
            lambda world, cut_s=cut_s: churn_memory.cut(world, facts, cut_s),  # type: ignore[misc]  # bound now
        )


@click.command(help=__doc__)
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Only this part; may be given several times.")
@click.option("--peers", type=click.IntRange(min=FEWEST), help="How many; otherwise as many as each part has.")
@click.option("--facts", type=click.IntRange(min=1), default=3_000, show_default=True)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How many are killed, instead of 30 % and then, in another run, 50 %.",
)
@click.option("--steps", type=click.IntRange(min=1), default=1, show_default=True, help="With --share: in how many steps.")
@click.option("--seed", default=1, show_default=True)
@click.option("--loss", type=click.FloatRange(0, 1, max_open=True), default=0.0, help="Share of datagrams lost, in virtual time.")
def main(parts: tuple[str, ...], peers: int | None, facts: int, share: float | None, steps: int, seed: int, loss: float) -> None:
    """See the module."""
    # As Ctrl-C, so that the peers that were started end too; raised here, since a shell's background jobs ignore SIGINT itself.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    deaths = DEATHS if share is None else ((share, steps),)
    click.echo(f"{machine()}; seed {seed}; {facts:,} facts")
    click.echo(f"  {'':<82} {'promised':>8}  reached")
    tally = Tally()
    for part in parts or PARTS:
        began_s, used_s = time.monotonic(), time.process_time()
        match part:
            case "memory":
                memory(peers, facts, seed, loss, tally, deaths)
            case "processes":
                processes(peers, facts, seed, tally, deaths)
            case "restart":
                restart(peers, facts, seed, tally)
            case "partitions":
                partitions(peers, facts, seed, loss, tally)
        click.echo(f"{part}: {time.monotonic() - began_s:.0f} s, {time.process_time() - used_s:.0f} s of one core in this process")
    if tally.broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
