"""Links of a peer that is just starting: nothing is read from them before it is ready, by whichever loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest
import uvloop

from dht import Contact, Links, random_id
from dht.simnet import SimNet, run

EARLY_S = 0.05
"""Longer than it takes on loopback until what was said has arrived: a link that reads too early is mostly found out."""


class Starting:
    """A peer that is not ready yet, and one that calls it."""

    def __init__(self, hosts: tuple[str, str], port: int) -> None:
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        rng = Random(1)
        self.caller = Links(random_id(rng), hosts[0], port, rng=rng, on_frames=lambda link, payloads: None)
        self.called = Links(random_id(rng), hosts[1], port, rng=rng, on_frames=self._take, waits=True, max_links=2)

    def _take(self, link: object, payloads: list[bytes]) -> None:
        for payload in payloads:
            self.frames.put_nowait(payload)

    async def call(self, early_s: float) -> tuple[bool, bytes]:
        """Whether nothing was heard of a call for so long, and what was when the peer is ready."""
        async with self.called, self.caller:
            dial = asyncio.ensure_future(self.caller.connect(Contact(self.called.id, self.called.host, self.called.port)))
            await asyncio.sleep(early_s)
            waited = not dial.done() and self.frames.empty()
            self.called.begin_reading()
            (await dial).send(b"hello")
            return waited, await self.frames.get()


def test_who_calls_before_a_peer_is_ready_waits_and_is_heard_then() -> None:
    async def main(net: SimNet) -> tuple[bool, bytes]:
        return await Starting((net.host(), net.host()), 7400).call(2.0)

    assert run(main, seed=10) == (True, b"hello")


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_it_does_on_real_sockets_too(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def main() -> tuple[bool, bytes]:
        async with asyncio.timeout(10):
            return await Starting(("127.0.0.1", "127.0.0.1"), 0).call(EARLY_S)

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(main()) == (True, b"hello")


def test_who_gives_up_before_a_peer_is_ready_leaves_nothing_behind() -> None:
    async def main(net: SimNet) -> list[object]:
        peers = Starting((net.host(), net.host()), 7400)
        async with peers.called, peers.caller:
            for _ in range(5):
                dial = asyncio.ensure_future(peers.caller.connect(Contact(peers.called.id, peers.called.host, peers.called.port)))
                await asyncio.sleep(1.0)
                net.cut(peers.caller.host, peers.called.host)
                await asyncio.wait([dial], timeout=1.0)
                dial.cancel()
            await asyncio.sleep(10.0)
            left = list[object](peers.called._connections)
            peers.called.begin_reading()
            return left

    assert run(main, seed=11) == []
