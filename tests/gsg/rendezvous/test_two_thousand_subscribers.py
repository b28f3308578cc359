"""A template with 2,000 subscriber peers, in virtual time: what its rendezvous sends, and what each of them hears, whoever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from crowd import Crowd, CrowdPeer

from dht.simnet import SimNet, run
from gsg import LiveSubscription, Symbol
from gsg.placement.holders import UNSURE_S
from gsg.rendezvous.fan_out.parts import DIRECT_AGAIN, PARTS, FanOut
from gsg.tuples.terms import Tuple

HOT = Symbol("hot")
SIZE = 2_000
AT_ONCE = 100
"""So many subscribe at once."""
SLOWEST_S = 0.150


class Ear:
    """One subscriber, and the numbers that it has heard, each with the time."""

    def __init__(self, peer: CrowdPeer) -> None:
        self.peer = peer
        self.heard: list[tuple[int, float]] = []
        self._now = asyncio.get_running_loop().time
        self.subscription: LiveSubscription

    async def listen(self) -> None:
        self.subscription = await self.peer.subscribe("(?kind, hot, ?number)", callback=self._hear)

    def _hear(self, sign: int, row: object) -> None:
        *_, number = dict(row).values()  # type: ignore[call-overload]  # a row is a mapping
        self.heard.append((number, self._now()))

    def numbers(self) -> list[int]:
        return [number for number, _ in self.heard]


class Stadium:
    """The crowd, one of whom publishes."""

    def __init__(self, crowd: Crowd, publisher: CrowdPeer, ears: list[Ear]) -> None:
        self.crowd = crowd
        self.publisher = publisher
        self.ears = ears
        self.said_s: list[float] = []

    async def say(self, times: int, *, every_s: float = 0.1) -> None:
        """Events and facts in turn."""
        for _ in range(times):
            number = len(self.said_s)
            self.said_s.append(asyncio.get_running_loop().time())
            said: list[Tuple] = [(Symbol("e"), HOT, number)]
            await (self.publisher.insert(said) if number % 2 else self.publisher.notify(said))
            await asyncio.sleep(every_s)

    def rendezvous(self) -> CrowdPeer:
        return next(peer for peer in self.crowd.peers if peer._parts.rendezvous.fan_outs.fanned)

    def fan_out(self) -> FanOut:
        return next(iter(self.rendezvous()._parts.rendezvous.fan_outs.fanned.values()))

    def head_ids(self) -> list[bytes]:
        return [head.subscriber.contact.id for head in self.fan_out().heads]  # type: ignore[attr-defined]

    def latencies_s(self) -> list[float]:
        return sorted(at_s - self.said_s[number] for ear in self.ears for number, at_s in ear.heard)


async def in_groups(works: list[Ear]) -> None:
    for start in range(0, len(works), AT_ONCE):
        await asyncio.gather(*(ear.listen() for ear in works[start : start + AT_ONCE]))


async def fill(net: SimNet) -> Stadium:
    crowd = Crowd(net.rng(), 4)
    await crowd.begin(4)
    [publisher] = await crowd.begin(1)
    await asyncio.sleep(UNSURE_S + 5)
    ears = [Ear(peer) for peer in await crowd.begin(SIZE)]
    await in_groups(ears)
    await asyncio.sleep(5)
    return Stadium(crowd, publisher, ears)


def wrong(ears: Iterable[Ear], said: int) -> list[list[int]]:
    """What was heard by those who have not heard all, once and in order."""
    return [numbers for ear in ears if (numbers := ear.numbers()) != list(range(said))]


@pytest.mark.long
def test_each_of_2000_hears_all_by_64_sends_in_150_ms_whoever_dies() -> None:
    async def main(net: SimNet) -> None:
        stadium = await fill(net)
        crowd, first = stadium.crowd, stadium.rendezvous()
        forwarded = first._parts.rendezvous.matched

        await stadium.say(6)
        await asyncio.sleep(1)

        assert first._parts.rendezvous.matched - forwarded <= 6 * PARTS
        assert wrong(stadium.ears, 6) == []
        late = stadium.latencies_s()
        assert late[len(late) * 99 // 100] < SLOWEST_S

        saying = asyncio.ensure_future(stadium.say(5))
        for head in stadium.head_ids()[:3]:
            await asyncio.sleep(0.17)
            dead = next(ear for ear in stadium.ears if ear.peer.contact.id == head)
            stadium.ears.remove(dead)
            await crowd.kill(dead.peer)
        await saying
        await asyncio.sleep(5)

        assert wrong(stadium.ears, 11) == []

        saying = asyncio.ensure_future(stadium.say(5, every_s=1.0))
        await asyncio.sleep(1.5)
        await crowd.kill(first)
        await saying
        await asyncio.sleep(30)

        assert stadium.rendezvous() is not first
        assert wrong(stadium.ears, 16) == []

        saying = asyncio.ensure_future(stadium.say(3))
        stay, leave = stadium.ears[:DIRECT_AGAIN], stadium.ears[DIRECT_AGAIN:]
        await asyncio.gather(*(ear.subscription.close() for ear in leave))
        await saying
        await asyncio.sleep(5)

        assert not any(peer._parts.rendezvous.fan_outs.fanned for peer in crowd.peers)
        assert wrong(stay, 19) == []
        await crowd.end()

    run(main, seed=1)
