"""Several publish while peers die, come, leave and are cut off, with clocks hours apart: what was acknowledged is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from random import Random

import pytest
from peers import PORT, Reader, guest_of, quiet

from dht.simnet import SimNet, run
from gsg import Peer, Space, Symbol
from gsg.errors import PeerUnreachable

ON = Symbol("on")
MENDED_S = 45.0
"""From when this long has passed after a trouble, the next may come."""
TEXTS = ["(?x, on, ?y)", "(?x, on, ?y), (?y, on, ?z)", "(?x, on, ?y), NOT { (?y, on, ?x) }", "(?x, ?p, ?y)"]
CLOCKS_APART_S = 6 * 3600.0


class History:
    """Peers of one run, the facts that were acknowledged, and what happens to the peers."""

    def __init__(self, net: SimNet, rng: Random, stack: AsyncExitStack) -> None:
        self.net = net
        self.rng = rng
        self.stack = stack
        self.space = Space()
        self.peers: list[Peer] = []
        self.over = False

    async def join(self) -> None:
        """One more peer, with a clock of its own."""
        ahead_s = self.rng.uniform(0, CLOCKS_APART_S)
        entry = [(peer.contact.host, PORT) for peer in self.peers[:2]]
        clock: Callable[[], float] = lambda: self.net.loop.time() + ahead_s  # noqa: E731  # named for its type
        peer = Peer((self.net.host(), PORT), entry, rng=self.net.rng(), clock=clock)
        self.peers.append(await self.stack.enter_async_context(peer))

    async def publish(self, publisher: Peer, name: str) -> None:
        """Insert and retract facts of its own, each change again until it is acknowledged."""
        while not self.over:
            facts = [(name + self.rng.choice("abcd"), ON, name + self.rng.choice("abcd")) for _ in range(self.rng.choice([1, 4]))]
            sign = self.rng.random() < 0.6
            while True:
                try:
                    await (publisher.insert if sign else publisher.retract)(facts)
                    break
                except PeerUnreachable:
                    continue
            (self.space.insert if sign else self.space.retract)(facts)
            await asyncio.sleep(self.rng.choice([0.0, 0.1, 1.0]))

    async def trouble(self) -> str:
        """One thing goes wrong, while others publish; the first peers publish and read, and nothing but links fails them."""
        rng, net, peers = self.rng, self.net, self.peers
        kind = rng.choice(["cut", "crash", "partition", "join", "crash and join"])
        if kind == "cut":
            for _ in range(rng.randrange(1, 12)):
                one, other = rng.sample(peers, 2)
                net.cut(one.contact.host, other.contact.host)
                await asyncio.sleep(rng.choice([0.0, 0.02, 0.5]))
        if kind.startswith("crash") and len(peers) > 6:
            for victim in rng.sample(peers[4:], 2):
                peers.remove(victim)
                net.crash(victim.contact.host, quietly=rng.random() < 0.5)
        if kind == "partition":
            away = rng.sample(peers[4:], min(2, len(peers) - 4))
            net.partition([[peer.contact.host for peer in away], [peer.contact.host for peer in peers if peer not in away]])
            await asyncio.sleep(rng.choice([1.0, 8.0, 60.0]))
            net.heal()
        if kind.endswith("join") or len(peers) < 8:
            await self.join()
        return kind


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1))
def test_what_several_publish_in_any_trouble_is_the_answer(seed: int) -> None:
    async def work(net: SimNet) -> None:
        rng = Random(seed)
        async with AsyncExitStack() as stack:
            history = History(net, rng, stack)
            for _ in range(9):
                await history.join()
            await quiet()
            readers = [Reader(await peer.subscribe(text)) for peer in history.peers[:2] for text in TEXTS]
            async with asyncio.TaskGroup() as group:
                for number, publisher in enumerate(history.peers[1:4]):
                    group.create_task(history.publish(publisher, f"{number}"))
                kinds = []
                for _ in range(5):
                    kinds.append(await history.trouble())
                    await asyncio.sleep(MENDED_S)
                history.over = True
            await asyncio.sleep(2 * MENDED_S)

            for reader, text in zip(readers, TEXTS * 2, strict=True):
                await reader.read()
                with history.space.subscribe(text) as yardstick:
                    assert reader.subscription.rows() == reader.held == yardstick.rows(), (kinds, text)
                assert reader.lowest == 0
            async with guest_of(net, history.peers[:1]) as guest:
                await quiet()
                for text in TEXTS:
                    with history.space.subscribe(text) as yardstick:
                        assert (await guest.subscribe(text)).rows() == yardstick.rows(), (kinds, text)

    run(work, seed=1000 + seed)
