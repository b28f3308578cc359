"""Feeds that ask for a fresh snapshot get one, if not from where they are then from whoever is to feed them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from members import member_of
from peers import guest_of, others, quiet, rendezvous, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.feeds.alpha_memory import Source
from gsg.feeds.staleness import RETRY_S
from gsg.quotas import PEER, Quotas
from gsg.tuples.features import Template
from gsg.wire.exchange import ANSWER_TIMEOUT_S
from gsg.wire.messages import Done, Gap, InsertCondition, RemoveCondition


def test_a_feed_that_its_rendezvous_knows_nothing_of_is_set_up_anew() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 1, 0, "x")
        subscriber = others(peers, asked)[0]
        subscription = await subscriber.subscribe('("x")')
        (source,) = [one for one in subscriber._parts.subscriber.feeds._sources.values() if one.holder == asked.contact]
        (link,) = [one for one in asked._parts.rendezvous.conditions._of_subscriber if one.contact == subscriber.contact]
        asked._parts.rendezvous.conditions.remove_condition(link, source.number)
        link.send(Gap(source.number))
        await asked.insert([("x",)])
        await quiet()
        assert not subscription.rows()

        await asyncio.sleep(ANSWER_TIMEOUT_S)

        assert len(subscription.rows()) == 1
        assert not subscriber._parts.subscriber.feeds.resync._asked

    simulate(work, seed=3)


def test_a_template_without_constants_is_posted_at_a_peer_that_refused_it_as_soon_as_it_does_not() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].subscribe("(?x)")
        async with guest_of(net, peers, quotas=Quotas(replace(PEER, templates=0))) as guest:
            await asyncio.sleep(10 * RETRY_S[-1])
            assert not guest._parts.rendezvous.conditions.feeds()

            guest.quotas.of_peer(peers[0].contact.id).quota = PEER
            await asyncio.sleep(2 * RETRY_S[-1])

            assert guest._parts.rendezvous.conditions.feeds() == 1

    simulate(work, seed=3, size=3)


def test_a_feed_that_ends_late_does_not_end_the_one_that_has_its_number_by_then() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 1, 0, "x")
        subscriber = others(peers, asked)[0]
        subscription = await subscriber.subscribe('("x")')
        feeds = subscriber._parts.subscriber.feeds
        (source,) = [one for one in feeds._sources.values() if one.holder == asked.contact]
        before = Source(source.memory, source.number, source.link)

        feeds._end_feed(before)
        await feeds.replacing.replace(before)

        assert feeds._sources[source.number] is source
        await asked.insert([("x",)])
        await quiet()
        assert len(subscription.rows()) == 1

    simulate(work, seed=3)


def test_who_posts_a_template_and_ends_it_at_once_is_answered() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked = rendezvous(peers, 1, 0, "x")
        await asked.insert([("x",)])
        async with member_of(net) as member:
            link = await member.exchange.link(asked.contact)
            # Its rendezvous compares the key with its other holders before it answers, since a peer has just come.
            answer = link.ask(lambda request: InsertCondition(request, 7, Template(("x",)), 0))
            link.send(RemoveCondition(7))
            await quiet()

            assert answer.done()
            assert isinstance(answer.result(), Done)

    simulate(work, seed=3)
