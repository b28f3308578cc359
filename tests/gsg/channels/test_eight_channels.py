"""Eight channels in four processes, linked in circles; one process is killed and starts again.

The test talks with the processes by lines (channels_process.py) and waits for nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from channels_process import HOST, wanted

PROGRAM = Path(__file__).with_name("channels_process.py")
LINKS = [*((number, (number + 1) % 8) for number in range(8)), (0, 4), (1, 6), (5, 7)]
"""A ring, with chords so that it stays in one piece without any one process."""
CALLED_BY_BOTH = {(0, 1), (2, 3), (3, 4), (0, 4)}
"""Links whose two sides name each other; of the others the later one calls."""
KILLED = 1
"""The process of channels 2 and 3."""


def free_ports(count: int) -> list[int]:
    """Ports below those that callers get, so that nobody has one while the process that listens there is away."""
    found: list[int] = []
    for port in range(20_000 + os.getpid() % 1_400 * 8, 32_000):
        with socket.socket() as one:
            if one.connect_ex((HOST, port)) != 0:
                found.append(port)
        if len(found) == count:
            return found
    raise AssertionError(f"expected {count} free ports")


def calls(ports: list[int], number: int) -> list[int]:
    """The ports of those whom a channel calls."""
    called = []
    for one, other in LINKS:
        if number == max(one, other) or (number in (one, other) and (one, other) in CALLED_BY_BOTH):
            called.append(ports[one + other - number])
    return called


NEIGHBOURS = {f"c{number}": sum(number in link for link in LINKS) for number in range(8)}


class Remote:
    """A process as the test sees it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._to, self._from = process, process.stdin, process.stdout
        self.sources: dict[str, str] = {}

    @classmethod
    async def start(cls, number: int, ports: list[int]) -> Remote:
        """Once its channels listen."""
        given = {f"c{place}": (ports[place], calls(ports, place)) for place in (2 * number, 2 * number + 1)}
        pipe = asyncio.subprocess.PIPE
        started = await asyncio.create_subprocess_exec(
            sys.executable, str(PROGRAM), json.dumps(given), stdin=pipe, stdout=pipe, limit=2**24
        )
        remote = cls(started)
        remote.sources = await remote.answer()
        return remote

    def tell(self, command: str, **options: object) -> None:
        self._to.write(json.dumps([command, options]).encode() + b"\n")

    async def answer(self) -> Any:  # Any: whatever the command answers
        line = await self._from.readline()
        assert line, "a process has ended"
        return json.loads(line)


async def ask(remotes: Iterable[Remote], command: str, **options: object) -> dict[str, Any]:  # Any: as above
    """All at once; what they answer, together."""
    asked = list(remotes)
    for each in asked:
        each.tell(command, **options)
    return {name: found for each in asked for name, found in (await each.answer() or {}).items()}


def sources_of(remotes: Iterable[Remote]) -> dict[str, str]:
    """By the name of a channel."""
    return {name: source for each in remotes for name, source in each.sources.items()}


async def publish_and_hear(remotes: list[Remote], first: int, count: int) -> None:
    """Events from all, heard by all for whom they are."""
    await ask(remotes, "publish", first=first, count=count)
    await ask(remotes, "hear", sources=list(sources_of(remotes).values()), first=first, count=count)


@asynccontextmanager
async def four_processes() -> AsyncIterator[tuple[list[Remote], list[int]]]:
    """Started, linked, and known to each other; ended with the block."""
    ports = free_ports(8)
    remotes: list[Remote] = []
    try:
        remotes += await asyncio.gather(*(Remote.start(number, ports) for number in range(4)))
        await ask(remotes, "reach", sources=list(sources_of(remotes).values()), neighbours=NEIGHBOURS)
        yield remotes, ports
    finally:
        for each in remotes:
            if each.process.returncode is None:
                each.process.kill()
            await each.process.communicate()


async def test_of_eight_channels_in_four_processes_two_are_killed_and_start_again() -> None:
    async with asyncio.timeout(60), four_processes() as (remotes, ports):
        survivors = [each for number, each in enumerate(remotes) if number != KILLED]
        killed = remotes[KILLED]
        lasting = list(sources_of(survivors).values())

        # All publish, and one process dies in the middle of it.
        killed.tell("publish", first=0, count=200, die_at=100)
        await ask(survivors, "publish", first=0, count=200)
        assert await killed.process.wait() == -signal.SIGKILL
        await ask(survivors, "hear", sources=lasting, first=0, count=200)

        # It starts again while the others go on.
        remotes[KILLED], _ = await asyncio.gather(Remote.start(KILLED, ports), ask(survivors, "publish", first=200, count=200))
        await killed.process.communicate()
        everybody = sources_of(remotes)
        await ask(remotes, "reach", sources=list(everybody.values()), neighbours=NEIGHBOURS)
        await ask(survivors, "hear", sources=lasting, first=200, count=200)

        # It is back: all hear all, and what they heard of each other stays as it is.
        await publish_and_hear(remotes, 400, 100)
        before = await ask(remotes, "announced")
        for first in range(500, 530):
            await publish_and_hear(remotes, first, 1)
        assert await ask(remotes, "announced") == before
        heard = await ask(remotes, "heard")

    for name, source in everybody.items():
        for publisher in everybody.values():
            numbers = [number for its_source, _, number in heard[name] if its_source == publisher]
            if {source, publisher} <= set(lasting):
                assert sorted(numbers) == wanted(name, 0, 530), (name, publisher)
                # While links are made some events take shorter ways than others; before and after that they are in order.
                settled = [number for number in numbers if not 200 <= number < 400]
                assert settled == wanted(name, 0, 200) + wanted(name, 400, 130), (name, publisher)
            else:
                assert [number for number in numbers if number >= 400] == wanted(name, 400, 130), (name, publisher)
        for dead in killed.sources.values():
            numbers = [number for its_source, _, number in heard[name] if its_source == dead]
            assert numbers == wanted(name, 0, 100)[: len(numbers)], (name, dead, numbers)
        assert len({(its_source, number) for its_source, number, _ in heard[name]}) == len(heard[name])
