"""A process with some linked channels, which does what it is told by lines of JSON, one after another (test_eight_channels.py).

Its only argument is a JSON object: by a channel's name the port where it listens and the ports that it calls. After each command,
and once when its channels can be linked with, it answers with one line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from gsg.channels.channel import Channel
from gsg.channels.events import Event
from gsg.channels.links.links import Links

HOST = "127.0.0.1"


def is_for(number: int) -> str:
    """Whom an event is for: all, or each of the eight in turn."""
    return "all" if number % 2 == 0 else f"c{number // 2 % 8}"


def wanted(name: str, first: int, count: int) -> list[int]:
    """Which of some events are for a channel."""
    return [number for number in range(first, first + count) if is_for(number) in ("all", name)]


class Member:
    """One channel, and what was heard there."""

    def __init__(self, name: str, listen: int, to: list[int]) -> None:
        self.channel = Channel(name)
        self.links = Links(self.channel, listen=(HOST, listen), to=[(HOST, port) for port in to])
        self.heard: list[tuple[str, int, int]] = []
        self._news = asyncio.Event()
        self.channel.subscribe(self._hear, f"(or (= for 'all) (= for '{name}))")

    def _hear(self, event: Event) -> None:
        self.heard.append((event.source, event.number, int(str(event.fields["n"]))))
        self._news.set()

    def knows_links(self, others: set[str], neighbours: dict[str, int]) -> bool:
        """Whether it knows so many links of each of the others, whose names their sources begin with."""
        known = self.links.routing._known
        return all(len(known[each].interests.neighbours) == neighbours[each.partition("-")[0]] for each in others)

    async def has_heard(self, sources: list[str], first: int, count: int) -> None:
        """Wait until all that is for it of some events of these sources was heard."""
        expected = {(source, number) for source in sources for number in wanted(self.channel.name, first, count)}
        while expected - {(source, number) for source, _, number in self.heard}:
            self._news.clear()
            await self._news.wait()


class Process:
    """The commands; each is a method, and what it returns is the answer."""

    def __init__(self, members: dict[str, Member]) -> None:
        self._members = members

    async def sources(self) -> dict[str, str]:
        """Who its channels are in this life."""
        return {name: member.channel.source for name, member in self._members.items()}

    async def reach(self, sources: list[str], neighbours: dict[str, int]) -> None:
        """Wait until each channel has its links, and knows all others and all of theirs: before, an event for one channel may take
        a longer way than those for all, and come behind them."""
        for name, member in self._members.items():
            await member.links.linked_with(neighbours[name])
            others = set(sources) - {member.channel.source}
            await member.links.reaches(others)
            await member.links._wait_until(partial(member.knows_links, others, neighbours))

    async def publish(self, first: int, count: int, die_at: int | None = None) -> None:
        """Publish events from each channel, and perhaps die at one of them as by kill -9."""
        for number in range(first, first + count):
            if number == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            for member in self._members.values():
                member.channel.publish({"n": number, "for": is_for(number)})
            await asyncio.sleep(0)  # others take turns between any two

    async def hear(self, sources: list[str], first: int, count: int) -> None:
        """Wait until each channel has heard what is for it."""
        for member in self._members.values():
            await member.has_heard(sources, first, count)

    async def heard(self) -> dict[str, list[tuple[str, int, int]]]:
        """All that was heard, in order: source, its number there, and n."""
        return {name: member.heard for name, member in self._members.items()}

    async def announced(self) -> dict[str, int]:
        """How many interests each channel has told."""
        return {name: member.links.routing.announced for name, member in self._members.items()}


def answer(found: Any) -> None:  # Any: whatever JSON can say
    """One line."""
    print(json.dumps(found), flush=True)


async def main(given: dict[str, tuple[int, list[int]]]) -> None:
    """Do what stdin says until it ends."""
    members = {name: Member(name, listen, to) for name, (listen, to) in given.items()}
    process = Process(members)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async with AsyncExitStack() as stack:
        for member in members.values():
            await stack.enter_async_context(member.links)
        answer(await process.sources())
        async for line in commands:
            name, options = json.loads(line)
            answer(await getattr(process, name)(**options))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
