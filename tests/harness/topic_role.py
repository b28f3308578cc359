"""Some members of a topic in a process of its own, for topic_trial.py: peers on loopback that write down what they are told.

    python tests/harness/topic_role.py FIRST COUNT [HOST:PORT]

The members have the numbers from FIRST on; they join at the address. A request is a JSON object on a line of standard input with
``do``, the answer one on standard output. Times are seconds of the monotonic clock, which the processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gsg  # after the path to the project
from gsg.topics.topic import TopicSubscription  # as above

NAME = "trial"
TICK_S = 0.02
"""How often it is looked how late the event loop is."""

Request: TypeAlias = dict[str, Any]  # Any: JSON
Answer: TypeAlias = dict[str, Any]  # Any: as above


class Member:
    """One peer, and what its subscriber was told: who published, the number of the event, and when it came."""

    def __init__(self, peer: gsg.Peer) -> None:
        self.peer = peer
        self.told: list[tuple[int, int, float]] = []
        self.lost = 0
        """Events of which it was told that they do not come."""

    async def listen(self, events: TopicSubscription) -> None:
        """Until the peer ends."""
        while True:
            try:
                async for event in events:
                    who, number = event.values
                    self.told.append((int(who), int(number), time.monotonic()))  # type: ignore[arg-type]  # as published here
            except gsg.Overrun as error:
                self.lost += error.lost
            else:
                return

    def report(self) -> Answer:
        """What it was told, and the payloads that came over links or from itself."""
        topics = self.peer._parts.topics._topics
        assert topics is not None, "a member has topics"
        diffusion = topics.joined[NAME].diffusion
        payloads = diffusion.received + diffusion.duplicates
        return {"told": self.told, "lost": self.lost, "payloads": payloads}


class Role:
    """The members of this process."""

    def __init__(self, first: int, count: int, address: str) -> None:
        self._first = first
        self._count = count
        self._address = address
        self._members: list[Member] = []
        self._late_s = 0.0
        self._problems: list[str] = []
        self._stack = AsyncExitStack()
        self._tasks: asyncio.TaskGroup

    async def serve(self) -> None:
        """Until standard input ends."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        async with self._stack, asyncio.TaskGroup() as self._tasks:
            ticking = self._tasks.create_task(self._tick())
            print(json.dumps(await self._begin()), flush=True)
            while line := await reader.readline():
                print(json.dumps(await self._carry_out(json.loads(line))), flush=True)
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            due_s = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            self._late_s = max(self._late_s, time.monotonic() - due_s)

    async def _begin(self) -> Answer:
        for _ in range(self._count):
            host, _, port = self._address.rpartition(":")
            peer = await self._stack.enter_async_context(gsg.Peer(join=[(host, int(port))] if port else []))
            self._address = self._address or f"{peer.contact.host}:{peer.contact.port}"
            self._members.append(Member(peer))
        return {"address": self._address}

    async def _carry_out(self, request: Request) -> Answer:
        match request["do"]:
            case "subscribe":
                for member in self._members:
                    self._tasks.create_task(member.listen(await member.peer.topic(NAME).subscribe()))
                return {}
            case "publish":
                at_s = time.monotonic()
                for who, number in request["events"]:
                    self._tasks.create_task(self._publish(who, number))
                return {"at_s": at_s}
            case "report":
                late_s, self._late_s = self._late_s, 0.0
                return {"members": [member.report() for member in self._members], "late_s": late_s, "problems": self._problems}
        raise ValueError(f"{request} is no request")

    async def _publish(self, who: int, number: int) -> None:
        """What fails is what standing queries are told: members have the event by then."""
        try:
            await self._members[who - self._first].peer.topic(NAME).publish(who, number)
        except gsg.GsgError as error:
            self._problems.append(f"event {number} of member {who}: {error}")


if __name__ == "__main__":
    # Who has gone and is back is the trial's own doing.
    logging.getLogger("gsg").setLevel(logging.ERROR)
    first, count, *rest = sys.argv[1:]
    asyncio.run(Role(int(first), int(count), rest[0] if rest else "").serve())
