"""A template with many subscribers over a simulated network: each hears of each change once, whatever becomes of heads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from peers import others, quiet, rendezvous, simulate

import dht
import gsg.rendezvous.fan_out.parts
from dht.simnet import SimNet
from gsg import LiveSubscription, Peer, PeerMisbehaved, Symbol
from gsg.feeds.by_heads.heads import Heads
from gsg.feeds.by_heads.part_feeds import PartSource
from gsg.rendezvous.fan_out.parts import FanOut
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import Answer, PeerLink
from gsg.wire.load_messages import Loads
from gsg.wire.messages import ByHead, Deltas, InsertCondition, Moved, NotHere

HOT = Symbol("hot")
TEXT = "(?publisher, hot, ?number)"
MOST, AGAIN = 6, 3


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.fan_out.parts, "MOST_DIRECT", MOST)
    monkeypatch.setattr(gsg.rendezvous.fan_out.parts, "DIRECT_AGAIN", AGAIN)


class Heard:
    """What one subscriber hears: of each publisher the numbers, in order."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.signs: list[tuple[int, str, int]] = []
        self.subscription: LiveSubscription

    async def subscribe(self, text: str = TEXT) -> None:
        self.subscription = await self.peer.subscribe(text, callback=self.hear)

    def hear(self, sign: int, row: object) -> None:
        publisher, number = dict(row).values()  # type: ignore[call-overload]  # a row is a mapping
        self.signs.append((sign, publisher, number))

    def numbers(self, publisher: str) -> list[int]:
        return [number for _, name, number in self.signs if name == publisher]


class Hot:
    """Peers, most of which subscribe to one template; who is its rendezvous, and two that publish."""

    def __init__(self, net: SimNet, peers: Sequence[Peer]) -> None:
        self.net = net
        self.rendezvous = rendezvous(peers, 3, 1, HOT)
        self.publishers = dict(zip("pq", others(peers, self.rendezvous)[:2], strict=True))
        self.heard = [Heard(peer) for peer in others(peers, self.rendezvous, *self.publishers.values())]
        self.said: dict[str, int] = {"p": 0, "q": 0}

    async def subscribe(self) -> None:
        for one in self.heard:
            await one.subscribe()
        await quiet()
        assert len(self.heads()) > 1

    async def say(self, times: int) -> None:
        """Each publisher publishes, events and facts in turn."""
        for _ in range(times):
            for name, peer in self.publishers.items():
                self.said[name] += 1
                said: list[Tuple] = [(name, HOT, self.said[name])]
                await (peer.insert(said) if self.said[name] % 2 else peer.notify(said))

    def numbers(self) -> list[int]:
        return list(range(1, self.said["p"] + 1))

    def fan_out(self) -> FanOut | None:
        return next(iter(self.rendezvous._parts.rendezvous.fan_outs.fanned.values()), None)

    def heads(self) -> list[Heard]:
        fan_out = self.fan_out()
        ids = [] if fan_out is None else [head.subscriber.contact.id for head in fan_out.heads]  # type: ignore[attr-defined]
        return [one for one in self.heard if one.peer.contact.id in ids]

    def fed_by_heads(self) -> list[tuple[dht.Contact, dht.Contact]]:
        """Each head, and one whom it feeds."""
        fan_out = self.fan_out()
        assert fan_out is not None
        parts = [(head, member) for head, part in fan_out.heads.items() for member in part]
        assert parts
        return [(head.subscriber.contact, member.subscriber.contact) for head, member in parts]  # type: ignore[attr-defined]

    async def kill(self, peer: Peer) -> None:
        """A peer is gone in this moment."""
        self.net.crash(peer.contact.host)
        await peer.__aexit__(ConnectionError, None, None)

    def check(self, *, without: Sequence[Heard] = ()) -> None:
        for one in self.heard:
            if one not in without:
                assert {name: one.numbers(name) for name in "pq"} == dict.fromkeys("pq", self.numbers())

    def check_each_kind(self) -> None:
        """Where a feed is set up anew, an event may come before the snapshot or behind it: facts and events are in order each."""
        for one in self.heard:
            for name in "pq":
                heard = one.numbers(name)
                assert sorted(heard) == self.numbers()
                assert [number for number in heard if number % 2 == 0] == self.numbers()[1::2]


def test_each_subscriber_hears_of_each_change_once_and_in_order_by_way_of_heads() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()
        forwarded = hot.rendezvous._parts.rendezvous.matched

        await hot.say(10)
        await quiet()

        fan_out = hot.fan_out()
        assert fan_out is not None
        assert len(hot.heads()) == 4
        assert fan_out.member_count == len(hot.heard) - 4
        assert hot.rendezvous._parts.rendezvous.matched - forwarded == 4 * 20
        hot.check()

    simulate(work, seed=1, size=15)


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_lost_or_told_twice_while_a_template_is_cut_and_made_whole_again(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        early, late = hot.heard[:AGAIN], hot.heard[AGAIN:]
        for one in early:
            await one.subscribe()

        async def subscribe_and_close() -> None:
            for one in late:
                await one.subscribe()
                await asyncio.sleep(0.3)
            await asyncio.sleep(1.0)
            cuts.append(hot.fan_out())
            for one in late:
                await one.subscription.close()

        cuts: list[FanOut | None] = []
        working = asyncio.ensure_future(subscribe_and_close())
        while not working.done():
            await hot.say(1)
        await working
        await quiet()

        assert cuts[0] is not None
        assert hot.fan_out() is None
        hot.check(without=late)
        for one in late:
            for name in "pq":
                heard = one.numbers(name)
                since = [number for number in heard if number % 2 == 0]
                assert since
                assert since == list(range(since[0], since[-1] + 1, 2))
                assert len(set(heard)) == len(heard)

    simulate(work, seed=seed, size=15)


@pytest.mark.parametrize("seed", range(3))
def test_the_death_of_heads_costs_nobody_a_change(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()

        saying = asyncio.ensure_future(hot.say(40))
        dead = hot.heads()[:2]
        for one in dead:
            await asyncio.sleep(0.3)
            await hot.kill(one.peer)
        await saying
        await quiet()

        hot.check(without=dead)

    simulate(work, seed=seed, size=16)


@pytest.mark.parametrize("seed", range(2))
def test_a_head_that_leaves_hands_its_part_over(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()

        saying = asyncio.ensure_future(hot.say(40))
        for one in (ended := hot.heads()[:2]):
            await asyncio.sleep(0.3)
            await one.subscription.close()
        await saying
        await quiet()

        hot.check(without=ended)

    simulate(work, seed=seed, size=16)


@pytest.mark.parametrize("seed", range(2))
def test_links_that_break_cost_nobody_a_change(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        rng = net.rng()
        await hot.subscribe()

        saying = asyncio.ensure_future(hot.say(60))
        for _ in range(8):
            await asyncio.sleep(0.3)
            head, member = rng.choice(hot.fed_by_heads())
            one, other = rng.sample([hot.rendezvous.contact, head, member], 2)
            net.cut(one.host, other.host)
        await saying
        await quiet()

        hot.check_each_kind()

    simulate(work, seed=seed, size=16)


def test_a_head_that_stands_still_does_not_hold_its_part() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()

        slow = hot.heads()[0]
        net.suspend(slow.peer.contact.host)
        await hot.say(2)
        await asyncio.sleep(3.0)

        hot.check(without=[slow])
        assert hot.rendezvous._parts.rendezvous.fan_outs.dismissed == 1
        net.resume(slow.peer.contact.host)
        await quiet()
        hot.check()

    simulate(work, seed=3, size=16)


@pytest.mark.parametrize("seed", range(2))
def test_the_death_of_the_rendezvous_costs_nobody_a_change(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()

        saying = asyncio.ensure_future(hot.say(30))
        await asyncio.sleep(0.5)
        await hot.kill(hot.rendezvous)
        await saying
        await asyncio.sleep(40)

        hot.check_each_kind()

    simulate(work, seed=seed, size=16)


def test_what_is_for_named_readers_comes_to_these_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()
        head = hot.heads()[0]
        member = next(one for one in hot.heard if one not in hot.heads())
        readers = [head.peer.contact.id, member.peer.contact.id]
        publisher = hot.publishers["p"]

        await publisher.notify([("secret", HOT, 1)], audience=readers)
        await hot.say(3)
        await publisher.insert([("secret", HOT, 2)], audience=readers)
        await hot.say(3)
        await quiet()
        late = Heard(hot.publishers["q"])
        await late.subscribe()
        await quiet()

        hot.check()
        told = {one.peer.contact.id: Counter(one.numbers("secret")) for one in [*hot.heard, late] if one.numbers("secret")}
        assert told == {reader: Counter([1, 2]) for reader in readers}
        assert head not in hot.heads()

    simulate(work, seed=5, size=16)


def test_only_its_rendezvous_may_send_a_member_elsewhere() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()
        each = [one.peer._parts.subscriber.feeds for one in hot.heard]
        sources = ((feeds, source) for feeds in each for source in feeds._sources.values())
        feeds, member = next((feeds, source) for feeds, source in sources if isinstance(source, PartSource))
        moved = Moved(member.number, hot.publishers["p"].contact, leaves=False)

        feeds.receive(member.link, moved)
        assert not member.is_replaced
        feeds.receive(member.rendezvous, moved)
        assert member.is_replaced

    simulate(work, seed=5, size=16)


def test_what_a_feed_that_gives_way_brings_is_checked_before_it_is_passed_on() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()
        feeds = hot.heads()[0].peer._parts.subscriber.feeds
        source = next(source for source in feeds._sources.values() if source.link.contact.id == hot.rendezvous.contact.id)
        feeds.replacing.retired.add(source)

        with pytest.raises(PeerMisbehaved, match="1 deltas with 2 signs"):
            feeds.receive(source.link, Deltas(source.number, source.feed.expected, [("x", HOT, 1)], [1, 1]))
        feeds.replacing.retired.discard(source)

    simulate(work, seed=5, size=16)


@pytest.mark.parametrize(
    "answer",
    [
        lambda request, contact: ByHead(request, contact, 0, 0),
        lambda request, contact: NotHere(request, contact, leaves=False),
        lambda request, contact: Loads(request, []),
    ],
    ids=["ByHead", "NotHere", "Loads"],
)
def test_a_head_that_answers_with_nonsense_feeds_nobody_and_others_do(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[int, dht.Contact], Answer]
) -> None:
    asked: list[int] = []

    def pass_on_to(_: Heads, link: PeerLink, condition: InsertCondition) -> None:
        asked.append(condition.request)
        link.send(answer(condition.request, link.contact))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        hot = Hot(net, peers)
        await hot.subscribe()

        await hot.say(4)
        await quiet()

        assert asked
        hot.check()

    monkeypatch.setattr(Heads, "pass_on_to", pass_on_to)
    simulate(work, seed=5, size=16)
