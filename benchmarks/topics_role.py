"""Some members of a topic in a process of its own, for benchmarks/topics.py: peers, or connections of a broker.

    python -m benchmarks.topics_role 4 topic 127.0.0.1:8471 '{"tls": true}'

A request is a JSON object on a line of standard input with ``do``, the answer one on standard output. A publisher has one member,
which sends; what comes back to it is not counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from statistics import median, quantiles
from typing import Any, TypeAlias

import gsg
from benchmarks.pace import moments
from benchmarks.stream_ways import MESSAGE_BYTES, READ, Stamped, Way, open_broker, stamp_of, text_of
from gsg.topics.backlog import TopicEvent
from gsg.topics.topic import TopicSubscription

NAME = "bench"
TEXT_BYTES = MESSAGE_BYTES - 4
"""What an event takes beside its text: arity, kind and length."""
BATCH = 100
"""Messages that a publisher hands over before it lets others run."""

Request: TypeAlias = dict[str, Any]  # Any: JSON
Answer: TypeAlias = dict[str, Any]  # Any: as above


class Member(Way):
    """A peer that is a member of the topic."""

    def __init__(self, peer: gsg.Peer) -> None:
        self._topic = peer.topic(NAME)
        self._events: TopicSubscription

    async def subscribe(self) -> None:
        """Become one."""
        self._events = await self._topic.subscribe()

    async def publish(self, messages: Sequence[Stamped]) -> None:
        # Calls are begun in this order, and each hands its event on before it first waits.
        await asyncio.gather(*[self._topic.publish(text_of(one, TEXT_BYTES)) for one in messages])

    async def receive(self) -> list[Stamped]:
        some: list[TopicEvent] = [await anext(self._events), *self._events.take(READ, 1 << 30)]
        return [stamp_of(str(event.values[0])) for event in some]


class Listener:
    """Takes what comes to one member, and compares it with what is to come: 0, 1, 2 and so on."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self.came = 0
        self.wrong = 0
        self.lost = 0
        """Messages that came at another place than they should; and those that it was told of as lost."""
        self.late_us: list[float] = []
        self.ended_s = 0.0
        self._news = asyncio.Event()

    async def listen(self) -> None:
        """Until cancelled."""
        while True:
            try:
                some = await self._way.receive()
            except gsg.Overrun as error:
                self.lost += error.lost
                self.came += error.lost
                self._news.set()
                continue
            now_ns = time.monotonic_ns()
            for number, made_ns in some:
                self.wrong += number != self.came
                self.came += 1
                self.late_us.append((now_ns - made_ns) / 1000)
            self.ended_s = now_ns / 1e9
            self._news.set()

    async def until(self, count: int) -> None:
        """Wait until so many have come in all."""
        while self.came < count:
            self._news.clear()
            await self._news.wait()


class Role:
    """The members of one process, by peers or by a broker at ``address``; one that is told to publish is the publisher."""

    def __init__(self, members: int, kind: str, address: str, options: Request) -> None:
        self._members = members
        self._kind = kind
        self._address = address
        self._options = options
        self._ways: list[Way] = []
        self._listeners: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._next = 0
        self._cpu_s = 0.0

    async def begin(self, stack: AsyncExitStack, tasks: asyncio.TaskGroup) -> Answer:
        """Connect all members."""
        for _ in range(self._members):
            if self._kind == "topic":
                host, _, port = self._address.rpartition(":")
                join = [(host, int(port))] if port else []
                peer = await stack.enter_async_context(gsg.Peer(join=join, network=gsg.Network(link_tls=self._options["tls"])))
                self._address = self._address or f"{peer.contact.host}:{peer.contact.port}"
                self._ways.append(Member(peer))
            else:
                self._ways.append(await stack.enter_async_context(open_broker(self._kind, self._address, subscribes=True)))
        self._listeners = [Listener(way) for way in self._ways]
        self._group = tasks
        return {"address": self._address}

    async def carry_out(self, request: Request) -> Answer:
        """Do what is asked."""
        match request["do"]:
            case "open":
                for way, listener in zip(self._ways, self._listeners, strict=True):
                    if isinstance(way, Member):
                        await way.subscribe()
                    self._tasks.append(self._group.create_task(listener.listen()))
                return {}
            case "publish":
                return await self._publish(request["count"], request.get("per_s", 0))
            case "receive":
                await asyncio.gather(*(listener.until(request["until"]) for listener in self._listeners))
                return {"ended_s": max(listener.ended_s for listener in self._listeners)}
            case "begin":
                self._cpu_s = time.process_time()
                for listener in self._listeners:
                    listener.late_us.clear()
                return {}
            case "report":
                return self._report()
            case "end":
                for task in self._tasks:
                    task.cancel()
                return {}
        raise ValueError(f"{request} is no request")

    async def _publish(self, count: int, per_s: float) -> Answer:
        """So many messages: one after the other when it is due, or as fast as they are taken."""
        way, began_s = self._ways[0], time.monotonic()
        if per_s:
            async for _ in moments(count, per_s):
                await way.publish([(self._next, time.monotonic_ns())])
                self._next += 1
        else:
            for first in range(0, count, BATCH):
                now_ns, until = time.monotonic_ns(), self._next + min(BATCH, count - first)
                await way.publish([(number, now_ns) for number in range(self._next, until)])
                self._next = until
                await asyncio.sleep(0)
        return {"began_s": began_s}

    def _report(self) -> Answer:
        late_us = [late for listener in self._listeners for late in listener.late_us]
        return {
            "cpu_s": time.process_time() - self._cpu_s,
            "came": [listener.came for listener in self._listeners],
            "wrong": sum(listener.wrong for listener in self._listeners),
            "lost": sum(listener.lost for listener in self._listeners),
            "median_us": median(late_us) if late_us else 0.0,
            "p99_us": quantiles(late_us, n=100)[98] if len(late_us) > 1 else 0.0,
        }


async def _run(role: Role) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        print(json.dumps(await role.begin(stack, tasks)), flush=True)
        while line := await reader.readline():
            print(json.dumps(await role.carry_out(json.loads(line))), flush=True)
        await role.carry_out({"do": "end"})


def main() -> None:
    """Serve until standard input ends, with the event loop and the collector that peers have."""
    members, kind, address, *rest = sys.argv[1:]
    gsg.shorten_collections()
    serving = _run(Role(int(members), kind, address, json.loads(rest[0]) if rest else {}))
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


if __name__ == "__main__":
    main()
