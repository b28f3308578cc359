"""The channel of a peer at its HTTP door: what one client publishes another hears, at whatever peer it is."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

import gsg
from gsg import AsyncClient, Peer
from gsg.channels import environment
from gsg.channels.notation import from_json, read, to_json
from gsg.channels.values import Reference
from gsg.errors import BadTerm, BadText, LocalError, PeerUnreachable, Refused
from gsg.http.door import HttpDoor
from gsg.http.protocol import Events, PublishEvents, SubscribeEvents
from gsg.http.websocket.channel_subscription import PeerChannel
from gsg.quotas import Quota, Quotas


async def test_what_a_client_publishes_others_hear_in_order(client: AsyncClient, door: HttpDoor) -> None:
    async with gsg.connect(door.url) as other, await other.channel.subscribe("(= type 'error)") as events:
        published = await client.channel.publish(
            {"type": "error", "n": 1, "at": Reference("gsg://x"), "odd": math.inf}, "type: fine", "type: error; n: #2"
        )

        first, second = await anext(events), await anext(events)

        assert published == 3
        assert first.fields == {"type": "error", "n": 1, "at": Reference("gsg://x"), "odd": math.inf}
        assert second.fields == {"type": "error", "n": 2}
        assert (first.source, first.number) == (second.source, second.number - 2)


async def test_clients_of_two_peers_hear_each_other() -> None:
    async with (
        Peer() as peer,
        Peer(join=[peer.contact.address]) as second,
        HttpDoor(peer, port=0) as door,
        HttpDoor(second, port=0) as its_door,
        gsg.connect(door.url) as one,
        gsg.connect(its_door.url) as other,
        await one.channel.subscribe("(> temp 20)", report="(temp (room (env room)))") as warm,
    ):
        with environment.attached(room="kitchen"):
            await other.channel.publish({"temp": 19}, {"temp": 21})

        assert (await anext(warm)).fields == {"temp": 21, "room": "kitchen"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("propositional", "user"),
        ("temporal", "(event (user ?u)) (event (user ?u))"),
        ("agent", "(agent (on (exists user) (print (field event user))))"),
    ],
)
async def test_other_languages_are_understood_at_the_door(client: AsyncClient, language: str, text: str) -> None:
    async with await client.channel.subscribe(text, language) as events:
        await client.channel.publish({"user": "Fred", "n": 1}, {"user": "Fred", "n": 2})

        assert "Fred" in (await anext(events)).fields.values()


async def test_an_event_for_named_readers_reaches_them_alone(client: AsyncClient) -> None:
    async with await client.channel.subscribe("true", asker="Fred") as fred, await client.channel.subscribe("true") as anybody:
        await client.channel.publish({"n": 1}, readers=["Fred"])
        await client.channel.publish({"n": 2})

        assert [(await anext(fred)).fields["n"], (await anext(fred)).fields["n"]] == [1, 2]
        assert (await anext(anybody)).fields == {"n": 2}


async def test_what_is_no_event_or_subscription_is_refused_and_nothing_is_published(client: AsyncClient) -> None:
    async with await client.channel.subscribe("true") as events:
        with pytest.raises(BadText, match='no "name: value"'):
            await client.channel.publish({"n": 1}, "rubbish")
        with pytest.raises(BadTerm, match="a value of type object"):
            await client.channel.publish({"n": object()})
        with pytest.raises(BadTerm, match="an event of 1,001 fields; expected at most 1,000"):
            await client.channel.publish({f"f{number}": number for number in range(1_001)})
        with pytest.raises(BadText, match="never closed"):
            await client.channel.subscribe("(= type")
        with pytest.raises(LocalError, match="expected each, first, last or once"):
            await client.channel.subscribe("true", deliver="often")
        with pytest.raises(LocalError, match="or of who asks; expected at most 200"):
            await client.channel.subscribe("true", asker="x" * 300)
        await client.channel.publish({"n": 2})

        assert (await anext(events)).fields == {"n": 2}


async def test_the_report_counts_and_keeps_what_is_private(client: AsyncClient) -> None:
    async with await client.channel.subscribe("(= a 'secret)", private=True), await client.channel.subscribe("(exists a)"):
        await client.channel.publish({"a": "secret"}, {"b": 1})

        report = await client.channel.report()

        assert [(each.text, each.matched) for each in report.subscriptions] == [("", 1), ("(exists a)", 1)]
        assert dict(report.counts)["published"] == 2
        assert report.matcher.startswith("compile: ")
    assert (await client.channel.report()).subscriptions == []


async def test_what_came_from_other_peers_is_not_counted_as_published_here() -> None:
    async with (
        Peer() as peer,
        Peer(join=[peer.contact.address]) as second,
        HttpDoor(peer, port=0) as door,
        HttpDoor(second, port=0) as its_door,
        gsg.connect(door.url) as one,
        gsg.connect(its_door.url) as other,
        await one.channel.subscribe("(exists n)") as events,
    ):
        await other.channel.publish({"n": 1}, {"n": 2})
        await one.channel.publish({"n": 3})
        for _ in range(3):
            await anext(events)

        counts = dict((await one.channel.report()).counts)

        assert (counts["published"], counts["received"], counts["delivered"]) == (1, 2, 3)
        assert dict((await other.channel.report()).counts)["published"] == 2


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("", "report line 1, column 1: an empty report; expected a list such as (userid "),
        ("x", "report line 1, column 1: a report that is no list; expected one such as (userid "),
        ("(a", 'report line 1, column 1: a "(" that is never closed'),
        ("(a) (b)", "report line 1, column 5: a second list; expected one, with all parts of the report in it"),
        ("(a (b (+ 1 'x)))", 'report line 1, column 12: "x" is no number'),
        ("a" * 262_145, "report line 1, column 262145: 262,145 characters; expected at most 262,144: leave parts out"),
    ],
    ids=["empty", "no list", "never closed", "two lists", "no number", "too long"],
)
async def test_a_mistake_in_a_report_is_one_of_the_report(client: AsyncClient, report: str, said: str) -> None:
    with pytest.raises(BadText) as refused:
        await client.channel.subscribe("true", report=report)

    assert str(refused.value).startswith(said)


async def test_a_mistake_in_what_is_subscribed_to_is_one_of_the_subscription(client: AsyncClient) -> None:
    with pytest.raises(BadText, match=r"^subscription line 1, column 1: "):
        await client.channel.subscribe("(= type", report="(a)")


async def test_whoever_hears_events_of_a_peer_that_is_lost_is_told_nothing_of_rows(client: AsyncClient) -> None:
    async with await client.channel.subscribe("true") as events:
        client._connection.end(PeerUnreachable("the peer is lost"))

        with pytest.raises(PeerUnreachable) as lost:
            await anext(events)

    assert str(lost.value) == (
        "the peer is lost; connect and subscribe again, here or at another peer: events in between are not told"
    )


async def test_a_client_that_leaves_takes_its_subscriptions_along(client: AsyncClient, door: HttpDoor) -> None:
    async with gsg.connect(door.url) as other:
        await other.channel.subscribe("true")
        assert len((await client.channel.report()).subscriptions) == 1

    while (await client.channel.report()).subscriptions:
        pass


async def test_a_client_may_publish_no_more_than_its_quota() -> None:
    quotas = Quotas(client=Quota(templates=1, tuples_per_s=1, bytes_per_s=10**9))
    async with Peer(quotas=quotas) as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url) as client:
        await client.channel.publish(*[{"n": number} for number in range(100)])
        with pytest.raises(Refused, match="may publish 1 tuples a second"):
            await client.channel.publish({"n": 1})
        await client.channel.subscribe("true")
        with pytest.raises(Refused, match="may have 1 subscriptions"):
            await client.channel.subscribe("true")


class Sent:
    """In the place of what sends to a client."""

    def __init__(self) -> None:
        self.replies: list[Any] = []  # Any: of several kinds

    async def send(self, reply: object) -> None:
        self.replies.append(reply)


async def test_a_client_that_does_not_read_is_told_what_was_dropped() -> None:
    async with Peer() as peer:
        channel, sent = PeerChannel(peer), Sent()
        dropping = await channel.subscribe(SubscribeEvents(1, "true", limit=2, overflow="drop_oldest"), "")
        ending = await channel.subscribe(SubscribeEvents(2, "true", limit=2), "")
        await channel.publish(PublishEvents(3, ['{"n":1}', "n: #2", "n: #3"]))
        dropping.ticket.cancel()

        await dropping.send_to(sent)  # type: ignore[arg-type]  # all that it is asked
        await ending.send_to(sent)  # type: ignore[arg-type]  # as above
        await channel.close()

    told = [(reply.request, type(reply).__name__) for reply in sent.replies]
    assert told == [(1, "Dropped"), (1, "Events"), (1, "Ended"), (2, "Events"), (2, "Ended")]
    dropped, last, cancelled, first, overrun = sent.replies
    assert (dropped.why.lost, cancelled.why.kind, overrun.why.kind) == (1, "DoorClosed", "Overrun")
    assert [text for _, _, text in last.events] == ['{"n":2}', '{"n":3}']
    assert len(first.events) == 2


async def test_a_subscription_that_ends_by_itself_says_so(client: AsyncClient) -> None:
    async with await client.channel.subscribe("(exists n)", deliver="once") as once:
        await client.channel.publish({"n": 1}, {"n": 2})

        assert [event.fields async for event in once] == [{"n": 1}]

    many = "(event (a ?x)) (event (a ?y)) (event (a ?z))"
    async with await client.channel.subscribe(many, "temporal") as stopped:
        await client.channel.publish(*[{"a": number} for number in range(60)])

        with pytest.raises(LocalError, match="was stopped: more than"):
            async for _ in stopped:
                pass
    assert (await client.channel.report()).subscriptions == []


@pytest.mark.parametrize("text", ['"$ref": x', '{"a": {"$number": "NaN"}}', '{"$$ref": "y"}', 'a: "\u0000\u0000"'])
async def test_whatever_is_published_comes_back_as_it_was(client: AsyncClient, text: str) -> None:
    async with await client.channel.subscribe("true") as events:
        await client.channel.publish(text if text[0] != "{" else from_json(text))

        heard = (await anext(events)).fields

        assert to_json(heard) == to_json(from_json(text) if text[0] == "{" else read(text))


def test_messages_of_channels_come_back_from_both_formats() -> None:
    for message in (
        PublishEvents(1, ["a: b"], "{}", ["Fred"]),
        SubscribeEvents(2, "true", report="(a)"),
        Events(3, [("s", 1, "{}")]),
    ):
        for codec in (msgspec.msgpack, msgspec.json):
            assert codec.decode(codec.encode(message), type=type(message)) == message
