"""One end of benchmarks/stream.py in a process of its own: a publisher or a subscriber that does what it is told, line by line.

    python -m benchmarks.stream_role publisher peer 127.0.0.1:8471

A request is a JSON object on a line of standard input with ``do``, the answer one on standard output.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias

import gsg
from benchmarks.pace import moments
from benchmarks.stream_ways import Tuples, Way, open_broker

UNDER_WAY = 4
"""Calls that a publisher makes before the first of them has returned."""

Request: TypeAlias = dict[str, Any]  # Any: JSON
Answer: TypeAlias = dict[str, Any]  # Any: as above


class Role:
    """One end; ``kind`` is peer (one in this process, that joins at the address), client (of the door there), or a broker's."""

    def __init__(self, role: str, kind: str, address: str, options: Request) -> None:
        self._subscribes = role == "subscriber"
        self._kind = kind
        self._address = address
        self._options = options
        self._stack = AsyncExitStack()
        self._node: gsg.Peer | gsg.AsyncClient | None = None
        self._way: Way | None = None
        """The one that is published and received by."""
        self._ways: dict[str, Way] = {}
        """All that were opened, by name."""

    async def begin(self) -> Answer:
        """Connect; a peer says who it is."""
        if self._kind == "peer":
            host, _, port = self._address.rpartition(":")
            data = self._options.get("data")
            network = gsg.Network(link_tls=self._options["tls"])
            peer = gsg.Peer(join=[(host, int(port))], data=None if data is None else Path(data), network=network)
            self._node = await self._stack.enter_async_context(peer)
            return {"id": peer.contact.id.hex()}
        if self._kind == "client":
            self._node = await self._stack.enter_async_context(gsg.connect(self._address))
        else:
            self._way = await self._stack.enter_async_context(open_broker(self._kind, self._address, subscribes=self._subscribes))
        return {}

    async def carry_out(self, request: Request) -> Answer:
        """Do what is asked."""
        match request["do"]:
            case "open":
                assert self._node is not None, "a broker's way is open from the beginning"
                way = Tuples(self._node, request["name"], facts=request["facts"])
                if self._subscribes:
                    await way.subscribe(**request.get("options", {}))
                self._way = self._ways[request["name"]] = way
                return {}
            case "pause" | "resume":
                assert isinstance(self._node, gsg.Peer), "a peer has links"
                # Only what comes from there: as a rendezvous it goes on serving the others.
                for link in self._node._parts.exchange._links:
                    if link.peer.id.hex() == request["peer"]:
                        (link.pause_reading if request["do"] == "pause" else link.resume_reading)()
                return {}
            case "turn":
                self._way = self._ways[request["name"]]
                return {}
            case "publish":
                return await self._publish(request["count"], request["batch"], request.get("per_s", 0))
            case "receive":
                return await self._receive(request["count"])
        raise ValueError(f"{request} is no request")

    async def _publish(self, count: int, batch: int, per_s: float) -> Answer:
        """So many messages: as fast as they go, or at a rate, one by one."""
        way = self._way
        assert way is not None, "open comes first"
        began_s, cpu_s = time.monotonic(), time.process_time()
        if per_s:
            # One call after another would wait for answers; each message leaves when it is due.
            async with asyncio.TaskGroup() as tasks:
                numbers = itertools.count()
                async for _ in moments(count, per_s):
                    tasks.create_task(way.publish([(next(numbers), time.monotonic_ns())]))
        else:
            places = asyncio.Semaphore(UNDER_WAY)

            async def send(first: int) -> None:
                now_ns = time.monotonic_ns()
                try:
                    await way.publish([(number, now_ns) for number in range(first, min(first + batch, count))])
                finally:
                    places.release()

            async with asyncio.TaskGroup() as tasks:
                for first in range(0, count, batch):
                    await places.acquire()
                    tasks.create_task(send(first))
        return {"began_s": began_s, "cpu_s": time.process_time() - cpu_s}

    async def _receive(self, count: int) -> Answer:
        """Wait for so many, which are to come in order, each once; or until it is told that some are lost."""
        way = self._way
        assert way is not None, "open comes first"
        cpu_s = time.process_time()
        late_us: list[float] = []
        wanted = wrong = 0
        while wanted < count:
            try:
                some = await way.receive()
            except gsg.Overrun as error:
                # What was lost does not come: the stream has no figure.
                return {"overrun": str(error)}
            now_ns = time.monotonic_ns()
            for number, made_ns in some:
                wrong += number != wanted
                wanted += 1
                late_us.append((now_ns - made_ns) / 1000)
        return {
            "ended_s": time.monotonic(),
            "cpu_s": time.process_time() - cpu_s,
            "wrong": wrong,
            "median_us": median(late_us),
            "p99_us": quantiles(late_us, n=100)[98],
        }


async def _run(role: Role) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with role._stack:
        print(json.dumps(await role.begin()), flush=True)
        while line := await reader.readline():
            print(json.dumps(await role.carry_out(json.loads(line))), flush=True)


def main() -> None:
    """Serve until standard input ends, with the event loop and the collector that peers have."""
    role, kind, address, *rest = sys.argv[1:]
    gsg.shorten_collections()
    serving = _run(Role(role, kind, address, json.loads(rest[0]) if rest else {}))
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


if __name__ == "__main__":
    main()
