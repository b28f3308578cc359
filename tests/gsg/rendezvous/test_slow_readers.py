"""Readers that read slowly, or nothing: what is held for them is bounded, they are told, and others go on undisturbed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
from peers import Reader, others, quiet, rendezvous, simulate

import gsg.rendezvous.feed
import gsg.rendezvous.slow_links
from dht.simnet import SimNet
from gsg import LiveSubscription, Overrun, Peer, Symbol
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.placement.holders import UNSURE_S
from gsg.wire.messages import Missed

ON = Symbol("on")
QUERY = "(?x, ^on, ?y)"
TEXT = "x" * 1_000


def links_from(slow: Peer, host: Peer) -> list[object]:
    """Those by which a peer is fed by another."""
    return [link for link in slow._endpoint.links.open_links() if link.peer == host.contact]


async def read_all(subscription: LiveSubscription) -> tuple[int, int]:
    """How many differences were read, and how many were said to be lost."""
    read = lost = 0
    while True:
        try:
            if not subscription.pending:
                return read, lost
            read += len(await subscription.batch(100_000))
        except Overrun as error:
            lost += error.lost


def held_for(host: Peer, slow: Peer) -> tuple[int, int]:
    """Events and deltas that a rendezvous holds for a peer."""
    events = sum(kept._messages._count for link, kept in host._parts.delivery._held.items() if link.contact == slow.contact)
    links = [link for link in host._parts.exchange.links() if link.contact == slow.contact]
    feeds = [feed for link in links for feed in host._parts.rendezvous.conditions.feeds_of(link)]
    return events, sum(feed._kept for feed in feeds)


def counts(peer: Peer) -> dict[str, int]:
    """What a peer has counted."""
    return {one.name: one.count for one in peer.counters.read()}


async def three(peers: list[Peer]) -> tuple[Peer, Peer, Peer, Peer]:
    """The rendezvous of the query, a subscriber that is slow, one that is not, and a publisher; events go by that one alone."""
    await asyncio.sleep(UNSURE_S + 5)
    host = rendezvous(peers, 3, 1, ON)
    slow, fast, publisher, *_ = others(peers, host)
    return host, slow, fast, publisher


def test_a_reader_of_events_that_reads_nothing_keeps_its_link_is_told_and_costs_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gsg.rendezvous.slow_links, "KEPT_EVENTS", 1_000)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, slow, fast, publisher = await three(peers)
        late, prompt = await slow.subscribe(QUERY), await fast.subscribe(QUERY)
        paused = links_from(slow, host)
        for link in paused:
            link.pause_reading()  # type: ignore[attr-defined]  # a dht.Link

        for batch in range(100):
            await publisher.notify([(batch, ON, f"{number}{TEXT}") for number in range(100)])
        await quiet()

        assert await read_all(prompt) == (10_000, 0)
        assert held_for(host, slow)[0] in range(1_000, 1_100)
        for link in paused:
            link.resume_reading()  # type: ignore[attr-defined]  # as above
        await quiet()
        read, lost = await read_all(late)
        assert read + lost == 10_000
        assert lost > 1_000
        assert held_for(host, slow) == (0, 0)
        assert counts(host)["events_missed_by_slow_links"] == counts(slow)["events_missed_here"] == lost
        assert [link for link in links_from(slow, host) if link in paused] == paused

        await publisher.notify([("after", ON, "all")])
        await quiet()
        assert await read_all(late) == (1, 0)

    simulate(work, seed=21)


def test_a_reader_of_events_that_reads_now_and_then_gets_all_that_is_not_said_to_be_lost() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, slow, _, publisher = await three(peers)
        late = await slow.subscribe(QUERY)
        for batch in range(40):
            for link in links_from(slow, host):
                if batch % 4:
                    link.pause_reading()  # type: ignore[attr-defined]  # a dht.Link
                else:
                    link.resume_reading()  # type: ignore[attr-defined]  # as above
            await publisher.notify([(batch, ON, f"{number}{TEXT}") for number in range(200)])
        for link in links_from(slow, host):
            link.resume_reading()  # type: ignore[attr-defined]  # as above
        await quiet()

        read, lost = await read_all(late)
        assert read + lost == 8_000

    simulate(work, seed=22)


def test_a_reader_of_facts_that_reads_nothing_has_bounded_deltas_and_is_right_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gsg.rendezvous.feed, "HELD_BYTES", 250_000)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, slow, fast, publisher = await three(peers)
        late, prompt = Reader(await slow.subscribe(QUERY)), Reader(await fast.subscribe(QUERY))
        paused = links_from(slow, host)
        for link in paused:
            link.pause_reading()  # type: ignore[attr-defined]  # a dht.Link

        most = 0
        for batch in range(20):
            await publisher.insert([(batch, ON, f"{number}{TEXT}") for number in range(100)])
            most = max(most, held_for(host, slow)[1])
        await publisher.retract([(0, ON, f"{number}{TEXT}") for number in range(100)])
        await quiet()
        assert 0 < most < 250
        for link in paused:
            link.resume_reading()  # type: ignore[attr-defined]  # as above
        await quiet()
        await late.read()
        await prompt.read()

        assert late.held == prompt.held == late.subscription.rows()
        assert late.held.total() == 1_900
        assert counts(host)["gaps_of_slow_links"] == 1

    simulate(work, seed=23)


def test_a_subscription_that_asks_for_an_error_ends_when_its_peer_has_missed_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.slow_links, "KEPT_EVENTS", 1_000)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, slow, _, publisher = await three(peers)
        strict, lenient = await slow.subscribe(QUERY, overflow="error"), await slow.subscribe(QUERY)
        paused = links_from(slow, host)
        for link in paused:
            link.pause_reading()  # type: ignore[attr-defined]  # a dht.Link
        for batch in range(60):
            await publisher.notify([(batch, ON, f"{number}{TEXT}") for number in range(100)])
        for link in paused:
            link.resume_reading()  # type: ignore[attr-defined]  # as above
        await quiet()

        read, lost = await read_all(lenient)
        assert len(await strict.batch(100_000)) == read
        with pytest.raises(Overrun, match="events were missed because this peer did not take them in time") as ended:
            await strict.batch(1)
        assert ended.value.lost == lost
        assert strict.has_ended
        assert not lenient.has_ended

    simulate(work, seed=24)


def test_a_subscription_that_nobody_reads_ends_with_an_error_where_it_asks_for_that_and_frees_what_it_held() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscriber, publisher = peers
        strict = await subscriber.subscribe(QUERY, overflow="error", limit=10)

        await publisher.insert([(number, ON, "x") for number in range(20)])
        await quiet()

        assert len(await strict.batch(100)) == 10
        with pytest.raises(Overrun, match="has ended because 10 differences were waiting to be read, as overflow='error' asks"):
            await strict.batch(1)
        assert all(network.is_empty for network in subscriber._parts.subscriber.networks())
        assert counts(subscriber)["subscriptions_ended_unread"] == 1
        assert counts(subscriber)["subscriptions_differences_dropped"] == 10

    simulate(work, seed=25, size=2)


class Looked(list[AlphaMemory]):
    """The memories of a query; notes when somebody looks through them."""

    looks = 0

    def __contains__(self, memory: object) -> bool:
        Looked.looks += 1
        return super().__contains__(memory)

    def __iter__(self) -> Iterator[AlphaMemory]:
        Looked.looks += 1
        return super().__iter__()


def test_each_of_many_queries_hears_of_what_its_feed_missed_and_the_others_are_not_looked_at() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        subscriptions = [await peer.subscribe(f"(?x, ^r{number % 50}, ?y)") for number in range(100)]
        subscriber, heard = peer._parts.subscriber, Counter[int]()
        for number, standing in enumerate(subscriber._standing.values()):
            standing.memories = Looked(standing.memories)
            standing.live.tell_missed = lambda overrun, number=number: heard.update({number: overrun.lost})  # type: ignore[misc]  # a number

        Looked.looks = 0
        for lost in (3, 2):
            for source in list(subscriber.feeds._sources.values()):
                subscriber.feeds.receive(source.link, Missed(source.number, lost))
            await subscriptions[0].close()

        assert heard == {0: 3} | dict.fromkeys(range(1, 100), 5)
        assert Looked.looks <= 2 * len(subscriptions)
        late = await peer.subscribe("(?x, ^r0, ?y)")
        [standing] = [one for one in subscriber._standing.values() if not isinstance(one.memories, Looked)]
        standing.live.tell_missed = lambda overrun: heard.update({100: overrun.lost})
        [source] = standing.memories[0].sources
        subscriber.feeds.receive(source.link, Missed(source.number, 1))
        assert (heard[0], heard[1], heard[50], heard[100]) == (3, 5, 6, 1)
        await late.close()

    simulate(work, seed=26, size=1)
