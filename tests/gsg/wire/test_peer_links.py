"""Peers whose links break, are slow, or bring nonsense; and peers that die."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from peers import Reader, feeds, others, quiet, rendezvous, simulate, stranger_of, templates, unread

import dht
import gsg.rendezvous.feed
import gsg.wire.messages
import rete
from dht.simnet import SimNet
from gsg import Peer, Row, Space, Symbol
from gsg.rendezvous.broken_links import BACK_S
from gsg.wire.messages import Publish, RemoveCondition, encode
from gsg.wire.status_messages import AskStatus, PeerStatus

ON = Symbol("on")


def row(**bindings: object) -> Row:
    return Row(bindings)


def test_who_calls_a_peer_that_is_just_starting_is_answered_when_it_has(caplog: pytest.LogCaptureFixture) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        bind, host, identity = net.loop.create_datagram_endpoint, net.host(), dht.Identity(bytes(32))

        async def slowly(*arguments: Any, **options: Any) -> Any:  # Any: as the loop has it
            await asyncio.sleep(2.0)
            return await bind(*arguments, **options)

        net.loop.create_datagram_endpoint = slowly  # type: ignore[method-assign]  # a busy machine
        starting = asyncio.create_task(Peer((host, 7400), [peers[0].contact.address], identity=identity).__aenter__())
        await asyncio.sleep(1.0)
        answer = await peers[0]._parts.exchange.ask(dht.Contact(identity.id, host, 7400), AskStatus, PeerStatus)
        await (await starting).__aexit__(None, None, None)

        assert answer.peer == identity.id
        assert [record.message for record in caplog.records if record.exc_info] == []

    simulate(work, seed=10, size=1)


@pytest.mark.parametrize("text", ["(?x, on, ?y)", "(?x, ?p, ?y)"], ids=["with a constant", "without constants"])
def test_a_cut_link_heals(text: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        subscriber, publisher, *_ = others(peers, host)
        subscription = await subscriber.subscribe(text)
        reader = Reader(subscription)
        await publisher.insert([(number, ON, "x") for number in range(20)])
        await quiet()

        for peer in others(peers, subscriber):
            net.cut(subscriber.contact.host, peer.contact.host)
        await publisher.retract([(number, ON, "x") for number in range(0, 20, 2)])
        await publisher.insert([(number, ON, "y") for number in range(10)])
        await quiet()
        await publisher.insert([("after", ON, "z")])
        await quiet()

        with Space() as space:
            space.insert([(number, ON, "x") for number in range(1, 20, 2)] + [(number, ON, "y") for number in range(10)])
            space.insert([("after", ON, "z")])
            expected = space.subscribe(text).rows()
        await reader.read()
        assert subscription.rows() == reader.held == expected
        assert reader.lowest == 0

    simulate(work, seed=10)


def test_a_query_that_comes_while_a_link_is_broken_is_right_when_it_heals() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        subscriber, publisher, *_ = others(peers, host)
        first = await subscriber.subscribe("(?x, on, ?y)")
        await publisher.insert([("a", ON, "b"), ("b", ON, "c")])
        await quiet()

        net.cut(subscriber.contact.host, host.contact.host)
        second = await subscriber.subscribe("(?x, on, ?y), (?y, on, ?z)")
        await quiet()
        await publisher.retract([("a", ON, "b")])
        await publisher.insert([("c", ON, "d")])
        await quiet()

        assert first.rows() == Counter({row(x="b", y="c"): 1, row(x="c", y="d"): 1})
        assert second.rows() == Counter({row(x="b", y="c", z="d"): 1})

    simulate(work, seed=11)


def test_what_was_published_in_a_short_partition_arrives_when_it_heals() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        subscriber, *_ = others(peers, host)
        subscription = await subscriber.subscribe("(?x, on, ?y)")

        net.partition([[subscriber.contact.host], [peer.contact.host for peer in others(peers, subscriber)]])
        publishing = asyncio.create_task(host.insert([(number, ON, number) for number in range(20)]))
        await asyncio.sleep(0.5)
        assert subscription.rows() == Counter()
        net.heal()
        assert await publishing == 20
        await quiet()

        assert sum(subscription.rows().values()) == 20

    simulate(work, seed=12)


def test_a_slow_subscriber_gets_a_gap_and_is_right_again_while_others_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gsg.rendezvous.feed, "HELD_DELTAS", 100)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        slow, fast, publisher, *_ = others(peers, host)
        late = Reader(await slow.subscribe("(?x, on, ?y)"))
        prompt = Reader(await fast.subscribe("(?x, on, ?y)"))
        paused = [link for link in slow._endpoint.links.open_links() if link.peer == host.contact]
        for link in paused:
            link.pause_reading()

        for batch in range(20):
            await publisher.insert([(batch, ON, f"{number:01000}") for number in range(100)])
        await publisher.retract([(0, ON, f"{number:01000}") for number in range(100)])
        await quiet()
        await prompt.read()
        assert prompt.held.total() == 1900
        assert late.subscription.rows().total() < 1900
        for link in paused:
            link.resume_reading()
        await quiet()

        await late.read()
        assert late.subscription.rows() == late.held == prompt.held
        assert (late.lowest, prompt.lowest) == (0, 0)
        assert "fell behind: asking for a snapshot" in caplog.text

    simulate(work, seed=13)


GARBAGE = {
    "no message": b"GET / HTTP/1.1\r\n\r\n",
    "half a message": encode(Publish(1, 1, [("a",)], [b"\x00"], 0))[:-2],
    "nothing": b"",
}


@pytest.mark.parametrize("payload", GARBAGE.values(), ids=GARBAGE)
def test_bad_frames_from_a_stranger_end_that_link_and_no_other(payload: bytes) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[1].subscribe("(?x, on, ?y)")
        lost: asyncio.Queue[str] = asyncio.Queue()
        stranger = stranger_of(net, on_lost=lambda link, reason: lost.put_nowait(reason))
        async with stranger:
            for peer in peers:
                (await stranger.connect(peer.contact)).send(payload)
            assert [await lost.get() for _ in peers] != []

            assert await peers[2].insert([("a", ON, "b")]) == 1
            await quiet()
        assert await unread(subscription) == ['+?x="a" ?y="b"']
        assert [peer._parts.exchange.traffic.malformed for peer in peers] == [1] * len(peers)

    simulate(work, seed=14)


def said(payloads: Sequence[bytes]) -> list[gsg.wire.messages.Message]:
    """The messages that came, but for those that ask whether we hear them."""
    return [message for message in map(gsg.wire.messages.decode, payloads) if not isinstance(message, gsg.wire.messages.Beat)]


def test_requests_that_make_no_sense_are_refused_and_the_link_stays() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        answers: list[bytes] = []
        stranger = stranger_of(net, on_frames=lambda link, payloads: answers.extend(payloads))
        async with stranger:
            link = await stranger.connect(peers[0].contact)
            for message in (
                Publish(1, 1, [("a",)], [], 0),
                Publish(2, 1, [("a",)], [b"\x01"], 0),
                Publish(3, 1, [("a",)], [b""], 0),
                Publish(4, 0, [("a",)], [b"\x00"], 0),
                RemoveCondition(77),
            ):
                link.send(encode(message))
            await quiet()

            reasons = said(answers)
            assert [(type(reason).__name__, reason.request) for reason in reasons] == [
                ("Failed", number) for number in (1, 2, 3, 4)
            ]  # type: ignore[union-attr]  # all are answers
            assert link.state is dht.LinkState.OPEN

    simulate(work, seed=15)


def test_a_condition_that_comes_to_the_wrong_peer_is_told_the_right_one() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await asyncio.sleep(200)
        host = rendezvous(peers, 3, 1, ON)
        answers: list[bytes] = []
        stranger = stranger_of(net, on_frames=lambda link, payloads: answers.extend(payloads))
        async with stranger:
            link = await stranger.connect(others(peers, host)[0].contact)
            link.send(encode(gsg.wire.messages.InsertCondition(1, 1, rete.Template((None, ON, None)), 1)))
            await quiet()

        assert said(answers) == [gsg.wire.messages.NotHere(1, host.contact, False)]
        assert templates(peers) == 0

    simulate(work, seed=23)


@pytest.mark.parametrize("text", ["(?x, on, ?y)", "(?x, ?p, ?y)"], ids=["with a constant", "without constants"])
def test_a_link_that_breaks_again_and_again_heals(text: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        subscriber, *_ = others(peers, host)
        subscription = await subscriber.subscribe(text)
        await host.insert([(number, ON, "x") for number in range(20)])

        for _ in range(8):
            net.cut(subscriber.contact.host, host.contact.host)
            await asyncio.sleep(0.04)
        await asyncio.sleep(30)
        await host.retract([(0, ON, "x")])
        await quiet()

        assert subscription.rows().total() == 19

    simulate(work, seed=24)


def test_a_subscription_that_is_closed_while_its_link_is_broken_leaves_nothing() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("a", ON, "b")])
        for peer in peers:
            subscription = await peer.subscribe("(?x, on, ?y), (?x, ?p, ?y)")
            for other in others(peers, peer):
                net.cut(peer.contact.host, other.contact.host)
            await asyncio.sleep(0.01)
            await subscription.close()
            again = await peer.subscribe("(?x, on, ?y), (?x, ?p, ?y)")
            await quiet()
            assert again.rows().total() == 1
            await again.close()
        await asyncio.sleep(BACK_S + 1)

        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=25)


def test_a_stranger_cannot_speak_for_a_rendezvous() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[2].insert([("a", ON, "b")])
        subscription = await peers[1].subscribe("(?x, on, ?y)")
        stranger = stranger_of(net)
        async with stranger:
            link = await stranger.connect(peers[1].contact)
            for feed in range(10):
                link.send(encode(gsg.wire.messages.Deltas(feed, 0, [("forged", ON, "fact")], [1])))
                link.send(encode(gsg.wire.messages.Snapshot(feed, [("forged", ON, "fact")], True, True, 0)))
            await quiet()

        assert subscription.rows() == Counter({row(x="a", y="b"): 1})

    simulate(work, seed=16)


def test_publishing_goes_on_at_the_successor_of_a_dead_rendezvous() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        publisher, subscriber, *_ = others(peers, host)
        subscription = await subscriber.subscribe("(?x, on, ?y)")

        net.crash(host.contact.host)
        assert await publisher.insert([("a", ON, "b")]) >= 0
        await asyncio.sleep(60)

        assert subscription.rows() == Counter({row(x="a", y="b"): 1})

    simulate(work, seed=17)


def test_publishing_goes_on_alone_when_all_others_have_died() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, *dead = peers
        for peer in dead:
            net.crash(peer.contact.host)

        async with asyncio.timeout(300):
            await publisher.insert([(number, ON, number) for number in range(40)])
            subscription = await publisher.subscribe("(?x, on, ?y)")

        assert subscription.rows().total() == 40

    simulate(work, seed=18, size=12)
