"""Topics of 64 whole peers, over a simulated network with links of 10 to 50 ms: the claims that hold of members alone hold here."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from peers import overlay

from dht.simnet import SimNet, run
from gsg import Peer
from gsg.topics.peer_topics import AnyTopicMessage, PeerTopics
from gsg.topics.topic import TopicSubscription
from gsg.wire.exchange import PeerLink
from gsg.wire.topic_messages import Graft, Marks, Payload, Prune

SIZE = 64
LATENCY_S = (0.010, 0.050)
SETTLED_S = 20.0
"""Beyond the time in which peers are not sure of each other, some rounds of exchange, and the tree of a first event."""
EVERY_S = 0.05
HEARD_S = 2.0
"""Longer than any event takes."""
SHARES = {"a quarter": 16, "half": 32, "three quarters": 48, "all": 64}
WITHIN_S = 0.5
PAYLOADS, PAYLOADS_OF_SEVERAL = 1.05, 1.5
SMALL_FRAMES = 1.0
STRANGERS = 0.02


class Audience:
    """The members of one topic, each of whom reads all the time."""

    def __init__(self, name: str, members: Sequence[Peer]) -> None:
        self.name = name
        self.members = members
        self.late_s: list[float] = []
        self.heard: list[list[object]] = [[] for _ in members]
        self._now = asyncio.get_running_loop().time
        self._readers: list[asyncio.Task[None]] = []

    async def subscribe(self) -> None:
        for peer, heard in zip(self.members, self.heard, strict=True):
            events = await peer.topic(self.name).subscribe()
            self._readers.append(asyncio.ensure_future(self._read(events, heard)))

    async def _read(self, events: TopicSubscription, heard: list[object]) -> None:
        async for event in events:
            number, said_us = event.values
            heard.append(number)
            self.late_s.append(self._now() - int(said_us) / 1e6)  # type: ignore[arg-type]  # as it was published

    async def publish(self, count: int, publishers: Sequence[Peer]) -> None:
        """So many events, by each of these in turn."""
        async with asyncio.TaskGroup() as publishing:  # none waits for what those who ask for all events are told
            for number in range(count):
                topic = publishers[number % len(publishers)].topic(self.name)
                publishing.create_task(topic.publish(number, int(self._now() * 1e6)))
                await asyncio.sleep(EVERY_S)

    def end(self) -> None:
        for reader in self._readers:
            reader.cancel()


class Counted:
    """What came to peers by links of the diffusion of events: payloads and small frames, by peer."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.payloads: Counter[PeerTopics] = Counter()
        self.small: Counter[PeerTopics] = Counter()
        receive = PeerTopics.receive

        def count(topics: PeerTopics, link: PeerLink, message: AnyTopicMessage) -> None:
            if isinstance(message, Payload):
                self.payloads[topics] += 1
            elif isinstance(message, Marks | Graft | Prune):
                self.small[topics] += 1
            receive(topics, link, message)

        patch.setattr(PeerTopics, "receive", count)

    def take(self, peers: Sequence[Peer]) -> tuple[int, int]:
        """Payloads and small frames of these, since the last time."""
        return (
            sum(self.payloads.pop(peer._parts.topics, 0) for peer in peers),
            sum(self.small.pop(peer._parts.topics, 0) for peer in peers),
        )


async def said(
    audience: Audience, counted: Counted, peers: Sequence[Peer], count: int, publishers: Sequence[Peer]
) -> tuple[float, float, float]:
    """Publish, and check that all hear all in half a second; payloads and small frames a member and event, and payloads a peer that
    is no member and event."""
    strangers = [peer for peer in peers if peer not in audience.members]
    counted.take(peers)
    audience.late_s.clear()
    for heard in audience.heard:
        heard.clear()

    await audience.publish(count, publishers)
    await asyncio.sleep(HEARD_S)

    each = count * len(audience.members)
    assert {tuple(sorted(heard)) for heard in audience.heard} == {tuple(range(count))}  # type: ignore[type-var]  # numbers
    assert max(audience.late_s) < WITHIN_S
    payloads, small = counted.take(audience.members)
    return payloads / each, small / each, counted.take(strangers)[0] / (count * max(1, len(strangers)))


@pytest.mark.long
def test_64_peers_of_whom_a_quarter_to_all_subscribe_are_told_by_one_payload_each_within_half_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(monkeypatch)

    async def main(net: SimNet) -> None:
        async with overlay(net, SIZE) as peers:
            audiences = [Audience(share, peers[:count]) for share, count in SHARES.items()]
            for audience in audiences:
                await audience.subscribe()
            await asyncio.sleep(SETTLED_S)
            for audience in audiences:
                await audience.publish(30, audience.members[:1])  # the tree is made
                await asyncio.sleep(HEARD_S)

            for audience in audiences:
                steady = await said(audience, counted, peers, 60, audience.members[:1])
                changing = await said(audience, counted, peers, 60, audience.members[:4])

                assert steady[0] <= PAYLOADS, audience.name
                assert changing[0] <= PAYLOADS_OF_SEVERAL, audience.name
                assert max(steady[1], changing[1]) <= SMALL_FRAMES, audience.name
                assert max(steady[2], changing[2]) <= STRANGERS, audience.name
                audience.end()

    run(main, seed=1, latency_s=LATENCY_S)
