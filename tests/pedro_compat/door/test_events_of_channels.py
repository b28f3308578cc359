"""Clients of Pedro hear what channels publish, and are heard by them: events are one thing seen through two doors."""

from __future__ import annotations

import asyncio

import gsg
from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.overlay.overlay import Overlay
from pedro_compat.client import AsyncClient
from pedro_compat.door.door import PedroDoor


async def test_a_client_of_pedro_and_a_channel_hear_each_other() -> None:
    async with (
        gsg.Peer() as peer,
        gsg.Peer(join=[peer.contact.address]) as second,
        PedroDoor(peer, port=0) as door,
        AsyncClient(port=door.port) as client,
    ):
        channel, stream = Channel(), Stream()
        channel.subscribe(stream, "(and (= type 'alarm) (> level 2))")
        async with Overlay(channel, second) as overlay:
            await overlay.posted()
            await client.subscribe("event(S, N, user, U)", 'U = "Fred"')
            await client.subscribe("event(S, N, L)", "(member(level = X, L), X > 5)", 7)
            channel.publish({"user": "Wilma", "level": 3})
            channel.publish({"user": "Fred", "level": 6})
            await client.notify("event([type = alarm, level = 2])")
            await client.notify('event([type = alarm, level = 3, at = [kitchen, "left"], more = [x = 1]])')
            await client.notify("event(L)")

            async with asyncio.timeout(30):
                heard = await anext(aiter(stream))
                deliveries = [await client.delivery(), await client.delivery()]

    assert heard.fields == {"type": "alarm", "level": 3, "at": ["kitchen", "left"], "more": {"x": 1}}
    said = sorted((each.rock, each.line) for each in deliveries if each is not None)
    assert said[0] == (0, f'event("{channel.source}",2,user,"Fred")')
    assert said[1] == (7, f'event("{channel.source}",2,[=(user,"Fred"),=(level,6)])')
