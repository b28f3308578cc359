"""Real peers in processes of their own, on loopback, killed with SIGKILL: some for good, or all of them, to be started again."""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import gsg
from benchmarks.churn_crowd import BACK_S, Crowd, Member, Tally, all_of_a_kind, disturb, facts, queries
from gsg.cli.processes import PeerProcess, start

STARTING = 4
"""Processes that start at once."""
PEER_BYTES, SPARE_BYTES = 110_000_000, 2_000_000_000
"""What a peer takes with some thousand facts, and what is to be left."""


def as_many_as_fit(most: int) -> int:
    """Peers that the machine's free memory has room for."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    return most if found is None else max(4, min(most, (int(found[1]) * 1024 - SPARE_BYTES) // PEER_BYTES))


class Fleet:
    """The processes, by id, and clients of them."""

    def __init__(self, seed: int, tally: Tally) -> None:
        self.processes: dict[bytes, PeerProcess] = {}
        self.crowd = Crowd([], Random(seed), tally)
        self._clients: dict[bytes, gsg.AsyncClient] = {}
        self._killed: set[bytes] = set()

    async def launch(self, options: Sequence[Sequence[str]], *, alone: bool = False) -> None:
        """One process for each of these lists of options; ``alone``: nobody tells them whom to join."""
        loop = asyncio.get_running_loop()
        began_s, places = loop.time(), asyncio.Semaphore(STARTING)

        async def enter(more: Sequence[str]) -> None:
            async with places:
                first = next(iter(self.processes.values()), None)
                process = await start(join=None if alone or first is None else first.listen, options=more)
                self.processes[process.id] = process

        await enter(options[0])
        async with asyncio.TaskGroup() as group:
            for more in options[1:]:
                group.create_task(enter(more))
        self.crowd.tally.say(f"{len(options)} processes started", "", f"{loop.time() - began_s:.1f} s")
        for id, process in self.processes.items():
            client = self._clients[id] = await gsg.AsyncClient(process.url).__aenter__()
            self.crowd.living.append(Member(id, client))
        await self.crowd.known()
        self.crowd.tally.say("each finds the holders of a key", "", f"{loop.time() - began_s:.1f} s")

    def die(self, members: Sequence[Member]) -> None:
        """SIGKILL for all of them."""
        for member in members:
            self._kill(member.id)

    async def bury(self) -> None:
        """Wait for all, killed now if not before."""
        self.crowd.living = []
        for id in self.processes:
            self._kill(id)
        for id, process in self.processes.items():
            await process.process.wait()
            if id in self._clients:
                await self._clients[id].close()
        self.processes, self._clients, self._killed = {}, {}, set()

    def _kill(self, id: bytes) -> None:
        # Once: a signal to a process that has ended makes subprocess take its status, which asyncio then waits for.
        if id not in self._killed:
            self._killed.add(id)
            with contextlib.suppress(ProcessLookupError):
                self.processes[id].process.kill()


@asynccontextmanager
async def fleet(seed: int, tally: Tally) -> AsyncIterator[Fleet]:
    """Processes that end with the block."""
    made = Fleet(seed, tally)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(made.bury)
        yield made


async def deaths(size: int, number_of_facts: int, seed: int, tally: Tally, share: float, steps: int) -> None:
    """A share of the peers is killed, in steps."""
    async with fleet(seed, tally) as ships:
        await ships.launch([()] * size)
        await ships.crowd.look_up(10.0)
        await disturb(ships.crowd, ships.die, share, steps, number_of_facts)
        peak = max(process.peak_memory_bytes() for id, process in ships.processes.items() if process.process.returncode is None)
        tally.say("memory of the largest peer", "", f"{peak / 1e6:.0f} MB")


async def restart(size: int, number_of_facts: int, seed: int, tally: Tally) -> None:
    """All peers are killed, and started again with what they had on disk."""
    with tempfile.TemporaryDirectory() as folder:
        options = [("--data", str(Path(folder) / str(number))) for number in range(size)]
        async with fleet(seed, tally) as ships:
            crowd = ships.crowd
            await ships.launch(options)
            published = facts(number_of_facts, crowd.rng)
            await crowd.publish(published, crowd.living)
            await crowd.publish(published[::10], crowd.living, gone=True)
            ids = set(ships.processes)
            await ships.bury()
            since_s = asyncio.get_running_loop().time()
            await ships.launch(options, alone=True)
            came_back = len(ids & set(ships.processes))
            tally.say("peers that are who they were", str(size), str(came_back), kept=came_back == size)
            await crowd.subscribe(queries(), crowd.living)
            await crowd.compare(all_of_a_kind())
            all_rows_s = asyncio.get_running_loop().time() - since_s
            tally.say("all rows are as before, since the first was started again", "", f"{all_rows_s:.1f} s")
            await crowd.until_held(asyncio.get_running_loop().time(), wanted_s=BACK_S)
