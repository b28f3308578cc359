"""Topics at a peer's HTTP door."""

from __future__ import annotations

import pytest

import gsg
from gsg import Client, Peer
from gsg.errors import BadTerm, LocalError, Unsupported
from gsg.http.door import HttpDoor


async def test_clients_of_two_peers_hear_a_topic_in_order() -> None:
    async with (
        Peer() as peer,
        Peer(join=[peer.contact.address]) as second,
        HttpDoor(peer, port=0) as door,
        HttpDoor(second, port=0) as its_door,
        gsg.connect(door.url) as one,
        gsg.connect(its_door.url) as other,
        await one.topic("news").subscribe() as events,
    ):
        await other.topic("news").publish(1, "a")
        await other.topic("news").publish(2)

        first, then = await anext(events), await anext(events)

        assert (first.values, then.values) == ((1, "a"), (2,))
        assert (first.publisher, first.number, then.number) == (second.contact.id, 1, 2)
        assert await other.topic("news").size() == 1
        assert await one.topics() == {"news": 1}


async def test_a_subscription_that_ended_hears_nothing(client: Client) -> None:
    events = await client.topic("news").subscribe()

    await events.close()
    await client.topic("news").publish(1)

    assert [event async for event in events] == []
    assert await client.topic("news").size() == 0


async def test_what_was_wrong_is_said(client: Client) -> None:
    with pytest.raises(Unsupported, match="wildcards in topics are not supported: 'house/#'"):
        client.topic("house/#")
    with pytest.raises(LocalError, match="name of 300 characters; expected a text of 1 to 256"):
        client.topic("x" * 300)
    with pytest.raises(BadTerm):
        await client.topic("news").publish(object())  # type: ignore[arg-type]  # what is tried
