"""What a rendezvous says of others that are to be asked too."""

from __future__ import annotations

import asyncio

from peers import quiet, simulate

import dht
from dht.simnet import SimNet
from gsg import Peer, Symbol
from gsg.intake import WIDENING
from gsg.messages import Moved


def test_who_names_ever_more_peers_starts_a_bounded_search_and_rows_go_on() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, reader, publisher = peers
        subscription = await reader.subscribe("(?x, ?y, ?z)")
        await quiet()
        [number] = [each.number for each in reader._subscriber.intake._sources.values() if each.holder.id == host.contact.id]
        before = len(reader._running)
        channel = await host._exchange.channel(reader.contact)

        for each in range(1_000):
            channel.send(Moved(number, dht.Contact(each.to_bytes(20), "10.9.9.9", 7400), False))
        await asyncio.sleep(0.2)
        running = len(reader._running) - before

        assert WIDENING // 2 < running <= WIDENING + 5
        await asyncio.sleep(60)
        assert len(reader._running) <= before + 1
        await publisher.insert([("a", Symbol("on"), "b")])
        await quiet()
        assert subscription.rows().total() == 1

    simulate(work, seed=81, size=3)
