"""What a rendezvous says of others that are to be asked too."""

from __future__ import annotations

import asyncio

import pytest
from peers import guest_of, others, quiet, rendezvous, simulate, unread

import dht
from dht.simnet import SimNet
from gsg import Peer, Symbol
from gsg.feeds.unanchored import WIDENING
from gsg.wire.messages import Deltas, Moved


def links_to(reader: Peer, peer: Peer) -> list[dht.Link]:
    """Those by which one peer feeds another."""
    return [link for link in reader._endpoint.links.open_links() if link.peer == peer.contact]


def test_who_names_ever_more_peers_starts_a_bounded_search_and_rows_go_on() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, reader, publisher = peers
        subscription = await reader.subscribe("(?x, ?y, ?z)")
        await quiet()
        [number] = [each.number for each in reader._parts.subscriber.feeds._sources.values() if each.holder.id == host.contact.id]
        before = len(reader._running)
        link = await host._parts.exchange.link(reader.contact)

        for each in range(1_000):
            link.send(Moved(number, dht.Contact(each.to_bytes(20), "10.9.9.9", 7400), False))
        await asyncio.sleep(0.2)
        running = len(reader._running) - before

        assert WIDENING // 2 < running <= WIDENING + 5
        await asyncio.sleep(60)
        assert len(reader._running) <= before + 1
        await publisher.insert([("a", Symbol("on"), "b")])
        await quiet()
        assert subscription.rows().total() == 1

    simulate(work, seed=81, size=3)


def test_a_feed_that_moves_before_it_is_whole_is_set_up_by_whoever_waits_for_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 1, 0, "x")
        reader, another, *_ = others(peers, asked)
        subscription = await reader.subscribe('("x")')
        feeds = reader._parts.subscriber.feeds
        (memory,) = {source.memory for source in feeds._sources.values()}
        (broken,) = [source for source in memory.sources if source.holder == asked.contact]
        broken.begin_replacing()
        restoring = asyncio.create_task(feeds.replacing.replace(broken))
        while not (coming := [one for one in memory.sources if one.loading is not None]):  # noqa: ASYNC110  # turns of the loop
            await asyncio.sleep(0)

        feeds.receive(coming[0].link, Moved(coming[0].number, another.contact, False))

        # Two that set it up would both go on, each beside the feed of the other, if the link broke now.
        assert not coming[0].is_replaced
        await restoring
        assert len(memory.sources) == 1
        await asked.insert([("x",)])
        await quiet()
        assert len(subscription.rows()) == 1

    simulate(work, seed=3)


@pytest.mark.parametrize("goes", [False, True], ids=["comes", "goes"])
def test_the_word_of_the_old_feed_counts_until_the_new_one_has_said_what_it_holds_for_its_turn(goes: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, publisher = peers[:2]
        names = "abcdefghijklmnop"
        if goes:
            await publisher.insert([(name,) for name in names])
        subscriptions = {name: await reader.subscribe(f'("{name}")') for name in names}
        before = {name: rendezvous(peers, 1, 0, name) for name in names}
        async with guest_of(net, peers) as guest:
            moving = next(name for name, one in before.items() if rendezvous([*peers, guest], 1, 0, name) is guest)
            earlier = next(name for name, one in before.items() if one not in (before[moving], reader, publisher))
            # Nothing is read of the new feed, whose snapshot is older than the change, nor of what the publisher says before that.
            while not guest._parts.rendezvous.conditions.feeds():  # noqa: ASYNC110  # milliseconds of the simulated network
                await asyncio.sleep(0.001)
            paused = [link for peer in (guest, before[earlier]) for link in links_to(reader, peer)]
            for link in paused:
                link.pause_reading()
            await asyncio.sleep(0.2)
            await unread(subscriptions[moving])
            change = publisher.retract if goes else publisher.insert
            await change([(earlier,)])
            await change([(moving,)])
            await asyncio.sleep(1.0)
            assert [row[0] for row in await unread(subscriptions[moving])] == ["-" if goes else "+"]

            for link in paused:
                link.resume_reading()
                await asyncio.sleep(1.0)

            assert await unread(subscriptions[moving]) == []
            assert len(subscriptions[moving].rows()) == (not goes)
            sources = reader._parts.subscriber.feeds._sources.values()
            (memory,) = {feed.memory for feed in sources if feed.memory.template.matches((moving,))}
            assert [feed.holder for feed in memory.sources] == [guest.contact]

    simulate(work, seed=7)


def test_what_the_old_feed_tells_while_the_new_one_is_heard_out_neither_comes_nor_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 2, 0, "x")
        reader = others(peers, asked)[0]
        subscription = await reader.subscribe('("x", ?n)')
        feeds = reader._parts.subscriber.feeds
        (old,) = [source for source in feeds._sources.values() if source.holder == asked.contact]
        old.begin_replacing()
        await feeds.replacing._until_posted(old)
        hear_out = net.loop.create_future()
        monkeypatch.setattr(feeds.order, "hear_out", lambda _: hear_out)

        feeds.receive(old.link, Deltas(old.number, 0, [("x", 1)], [1]))
        handing_over = asyncio.create_task(feeds.replacing.hand_over(old))
        await asyncio.sleep(0.1)
        feeds.receive(old.link, Deltas(old.number, 1, [("x", 2)], [1]))
        hear_out.set_result(True)
        await handing_over

        assert await unread(subscription) == ["+?n=1", "-?n=1"]
        assert not feeds.replacing.retired

    simulate(work, seed=3)


def test_a_feed_that_ended_while_another_was_set_up_takes_nothing_away() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 1, 0, "x")
        reader = others(peers, asked)[0]
        await asked.insert([("x",)])
        ended = await reader.subscribe('("x")')
        feeds = reader._parts.subscriber.feeds
        (before,) = [feed for feed in feeds._sources.values() if feed.holder == asked.contact]
        await ended.close()
        subscription = await reader.subscribe('("x")')

        await feeds.replacing.hand_over(before)

        assert len(subscription.rows()) == 1

    simulate(work, seed=3)
