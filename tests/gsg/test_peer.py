"""Peers over a simulated network: their verbs, what they hold, and what they refuse."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from peers import PORT, feeds, guest_of, make_peer, overlay, quiet, simulate, templates, unread

import gsg.rendezvous.feed
import gsg.wire.messages
import rete
from dht.simnet import SimNet, run
from gsg import BadTerm, BadText, DoorClosed, LocalError, Peer, PeerUnreachable, Refused, Row, Symbol

ON = Symbol("on")


def row(**bindings: object) -> Row:
    return Row(bindings)


def test_a_fact_inserted_at_one_peer_is_a_row_at_another() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[1].subscribe("(?x, on, ?y), (?y, left, ?z)")

        assert await peers[2].insert([("a", ON, "b")]) == 1
        assert await peers[3].insert([("b", Symbol("left"), "c"), ("a", ON, "b")]) == 1
        await quiet()

        assert await unread(subscription) == ['+?x="a" ?y="b" ?z="c"']
        assert subscription.rows() == Counter({row(x="a", y="b", z="c"): 1})
        assert await peers[0].retract([("a", ON, "b"), ("never", "there")]) == 1
        await quiet()
        assert await unread(subscription) == ['-?x="a" ?y="b" ?z="c"']

    simulate(work, seed=1)


def test_events_of_a_peer_with_a_key_are_told_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[1].subscribe("(?x, on, ?y)")

        for key in ("1", "1", None, "2"):
            await peers[0].notify([("a", ON, "b")], key=key)
        await quiet()

        assert await unread(subscription) == ['!?x="a" ?y="b"'] * 3
        with pytest.raises(LocalError, match="was used for others"):
            await peers[0].notify([("a", ON, "c")], key="1")

    simulate(work, seed=3)


async def test_keys_are_read_before_a_peer_is_there(tmp_path: Path) -> None:
    async with Peer(data=tmp_path) as peer:
        await peer.notify([("a", ON)], key="1")

    async with Peer(data=tmp_path) as peer:
        (tmp_path / "event_keys").unlink()
        subscription = await peer.subscribe("(?x, ^on)")
        for key, name in (("1", "a"), ("2", "b")):
            await peer.notify([(name, ON)], key=key)

        assert [row["x"] for _, row in await subscription.batch(1)] == ["b"]


def test_a_late_subscription_begins_complete() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(number, ON, "x") for number in range(5_000)])

        subscription = await peers[1].subscribe("(?x, on, ?y)")

        assert sum(subscription.rows().values()) == subscription.pending == 5_000

    simulate(work, seed=2)


def test_figure_2_runs_over_peers() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        (subscription,) = await peers[0].run(
            "SUBSCRIBE { (?x, ^on, ?y), (?y, ^left-of, ?z), NOT { (?z, ^color, red), (?z, ^color, blue) } }"
        )
        await peers[1].run("INSERT { (B1, ^on, B2), (B2, ^left-of, B3), (B3, ^color, red) }")
        await peers[2].run("INSERT { (B3, ^color, blue) } NOTIFY { (B0, ^on, B2) }")
        await peers[3].run("DELETE { (B3, ^color, blue) }")
        await quiet()

        assert await unread(subscription) == ["+?x=B1 ?y=B2 ?z=B3", "-?x=B1 ?y=B2 ?z=B3", "+?x=B1 ?y=B2 ?z=B3"]

    simulate(work, seed=3)


def test_a_script_with_a_mistake_applies_nothing() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(BadText):
            await peers[0].run("INSERT { (a, 1) } SUBSCRIBE { (a }")
        with pytest.raises(BadTerm):
            await peers[0].insert([("a", 1), ("b", object())])

        assert sum((await peers[0].subscribe("(?x, ?y)")).rows().values()) == 0

    simulate(work, seed=4)


def test_an_event_reaches_every_subscriber_once_and_is_not_kept() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("kitchen", "floor", 1)])
        subscriptions = [await peer.subscribe('("temp", ?room, ?t), (?room, "floor", ?f)') for peer in peers]
        anything = await peers[0].subscribe("(?x, ?y, ?z)")
        await unread(anything)

        await peers[3].notify([("temp", "kitchen", 25), ("temp", "attic", 30)])
        await quiet()

        assert [await unread(each) for each in subscriptions] == [['!?room="kitchen" ?t=25 ?f=1']] * len(peers)
        assert await unread(anything) == ['!?x="temp" ?y="kitchen" ?z=25', '!?x="temp" ?y="attic" ?z=30']
        assert [each.rows() for each in subscriptions] == [Counter()] * len(peers)

    simulate(work, seed=5)


def test_tuples_of_one_publisher_come_in_the_order_published() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[1].subscribe("(count, ?n)")

        await asyncio.gather(*(peers[2].insert([(Symbol("count"), number)]) for number in range(50)))
        await asyncio.gather(*(peers[2].notify([(Symbol("count"), number)]) for number in range(50, 100)))
        await quiet()

        assert [row["n"] for _, row in await subscription.batch(100)] == list(range(100))

    simulate(work, seed=6)


def test_equal_templates_of_several_subscribers_are_stored_once_and_freed_with_the_last() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscriptions = [await peer.subscribe("(?x, on, ?y)") for peer in peers]
        subscriptions += [await peer.subscribe("(?name, on, *), (?name, on, *)") for peer in peers]
        assert (templates(peers), feeds(peers)) == (1, 5)

        for subscription in subscriptions[1:]:
            await subscription.close()
        await quiet()
        assert (templates(peers), feeds(peers)) == (1, 1)
        await subscriptions[0].close()
        await quiet()
        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=7)


def test_the_templates_of_a_peer_that_leaves_go_with_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers) as guest:
            await guest.subscribe("(?x, on, ?y), (?y, ?p, ?z)")
            assert feeds(peers) + feeds([guest]) == 7
        await quiet()

        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=8)


def test_a_template_without_constants_sees_every_fact_once_and_later_peers_too() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(number, ON, "x") for number in range(50)])
        subscription = await peers[1].subscribe("(?x, ?p, ?y)")
        assert sum(subscription.rows().values()) == 50

        async with guest_of(net, peers) as guest:
            await quiet()
            await guest.insert([(number, ON, "y") for number in range(50)])
            await quiet()
            assert set(subscription.rows().values()) == {1}
            assert sum(subscription.rows().values()) == 100

    simulate(work, seed=9)


def test_listeners_hear_of_events_that_pass_their_test_and_of_no_facts() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard: list[gsg.wire.messages.Event] = []
        listening = await peers[1].listen(rete.Template((None, ON, None)), lambda event, _: heard.append(event), anchor=1)

        await peers[2].insert([("a", ON, "b")])
        await peers[2].flash([(("a", ON, "b"), "on(a, b)\n"), (("a", "other", "b"), None)], via=(0, 1))
        await quiet()
        peers[1].end_listening(listening)
        peers[1].end_listening(listening)
        await peers[2].notify([("c", ON, "d")])
        await quiet()

        assert [(event.items, event.text) for event in heard] == [(("a", ON, "b"), "on(a, b)\n")]
        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=26)


def test_an_exclusive_place_is_refused_to_others_until_it_is_left() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        name = rete.Template((Symbol("name"), Symbol("anna")))
        mine = await peers[0].listen(name, print, anchor=1, exclusive=True)
        with pytest.raises(Refused, match="somebody has this already"):
            await peers[1].listen(name, print, anchor=1, exclusive=True)

        peers[0].end_listening(mine)
        await quiet()

        assert await peers[1].listen(name, print, anchor=1, exclusive=True)

    simulate(work, seed=27)


def test_a_test_that_nobody_registered_is_refused_by_name() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(Refused, match="unknown test 'nobody'; known here are: "):
            await peers[0].listen(rete.Template((None, ON)), print, anchor=1, test=gsg.wire.messages.Test("nobody", ""))
        assert templates(peers) == 0

    simulate(work, seed=28)


def test_a_peer_that_finds_nobody_says_so() -> None:
    async def main(net: SimNet) -> None:
        with pytest.raises(PeerUnreachable, match=r"10\.9\.9\.9"):
            await make_peer(net, [("10.9.9.9", PORT)]).__aenter__()

    run(main, seed=19)


def test_a_port_in_use_is_named() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(DoorClosed, match=str(PORT)):
            await Peer((peers[0].contact.host, PORT), rng=net.rng()).__aenter__()

    simulate(work, seed=20, size=1)


def test_a_peer_that_is_not_running_says_so() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 2) as peers:
            subscription = await peers[0].subscribe("(?x)")
        with pytest.raises(DoorClosed, match="this peer is not running; use it inside `async with"):
            await peers[0].insert([("a",)])
        assert await subscription.batch(1) == []

    run(main, seed=21)


def test_status_tells_what_every_peer_holds() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(number, ON, "x") for number in range(10)])
        await peers[1].subscribe("(?x, on, ?y)")

        status = await peers[2].status()

        assert status[0].peer == peers[2].contact.id
        assert {each.peer for each in status} == {peer.contact.id for peer in peers}
        assert sum(each.entries for each in status) == 3 * 30
        assert (sum(each.templates for each in status), sum(each.feeds for each in status)) == (1, 1)
        assert sum(each.published for each in status) == 10
        assert sum(peers[2].shares().values()) == pytest.approx(1.0)

    simulate(work, seed=22)
