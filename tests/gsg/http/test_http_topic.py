"""Topics at a peer's HTTP door."""

from __future__ import annotations

import pytest

import gsg
from gsg import AsyncClient, Peer
from gsg.errors import BadTerm, LocalError, Overrun, PeerMisbehaved
from gsg.http.door import HttpDoor
from gsg.http.protocol import Dropped, Failed, TopicEvents


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


async def test_a_subscription_that_ended_hears_nothing(client: AsyncClient) -> None:
    events = await client.topic("news").subscribe()

    await events.close()
    await client.topic("news").publish(1)

    assert [event async for event in events] == []
    assert await client.topic("news").size() == 0


async def test_what_was_wrong_is_said(client: AsyncClient) -> None:
    with pytest.raises(LocalError, match="'#' only at the end"):
        client.topic("house/#/temp")
    with pytest.raises(LocalError, match="'house/#' is a filter, for subscribing"):
        await client.topic("house/#").publish(1)
    with pytest.raises(LocalError, match="'house/#' is a filter, which has no members"):
        await client.topic("house/#").size()
    with pytest.raises(LocalError, match="name of 300 characters; expected a text of 1 to 256"):
        client.topic("x" * 300)
    with pytest.raises(BadTerm):
        await client.topic("news").publish(object())  # type: ignore[arg-type]  # what is tried


async def test_clients_hear_all_topics_that_match_a_filter(client: AsyncClient) -> None:
    async with await client.topic("house/+/temp").subscribe() as events:
        for name in ("house/kitchen/temp", "house/temp", "house/hall/temp"):
            await client.topic(name).publish(name, 21)

        first, then = await anext(events), await anext(events)

    assert (first.topic, first.values) == ("house/kitchen/temp", ("house/kitchen/temp", 21))
    assert (then.topic, then.values) == ("house/hall/temp", ("house/hall/temp", 21))
    assert len(first.publisher) == 20


async def test_a_gap_of_unknown_length_and_a_wrong_message_are_told(client: AsyncClient) -> None:
    events = await client.topic("house/#").subscribe()

    events.receive(Dropped(1, Failed(1, "Overrun", "it was away", lost=0)))

    with pytest.raises(Overrun, match="may have been lost"):
        await anext(events)
    with pytest.raises(PeerMisbehaved, match="0 topics of 1 events"):
        events.receive(TopicEvents(1, [(b"", 1, (21,))]))
    await events.close()
