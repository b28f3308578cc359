"""Peers over a simulated network: what one space would answer, they answer together."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import combinations
from random import Random

import pytest
from peers import PORT, Reader, feeds, guest_of, make_peer, others, overlay, quiet, rendezvous, simulate, templates, unread

import dht
import gsg.messages
import gsg.posting
import rete
from dht.simnet import SimNet, run
from gsg import BadTerm, BadText, DoorClosed, Peer, PeerUnreachable, Refused, Row, Space, Symbol
from gsg.messages import Publish, RemoveCondition, encode

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


QUERIES = [
    "(?x, on, ?y)",
    "(?x, on, ?y), (?y, on, ?z)",
    "(?x, on, ?x)",
    "(?x, on, *)",
    "(?x, ?p, ?y)",
    "(?x, ?p, ?x)",
    "(?x, on, ?y), NOT { (?y, color, red) }",
    "(?x, color, ?c), NOT { (?x, on, ?y), NOT { (?y, color, ?c) } }",
    "(a, ?p, ?y), (?y, ?q, b)",
    "(?x, on, b), NOT { (?x, ?p, ?x) }",
    "(b, color, red), (?x, on, *)",
]
FACTS = [(x, p, y) for x in map(Symbol, "abc") for p in (ON, Symbol("color")) for y in map(Symbol, ("a", "b", "c", "red"))]


class Trial:
    """A random history, told to several peers and to one space."""

    def __init__(self, seed: int, peers: list[Peer]) -> None:
        self.rng = Random(seed)
        self.peers = peers
        self.space = Space()
        self.pairs: list[tuple[Reader, Counter[Row], str]] = []
        # A fact is changed by one publisher only: two who disagree at the same moment are not promised an order.
        self.own = {peer: FACTS[number :: len(peers)] for number, peer in enumerate(peers)}

    async def round(self) -> None:
        """Everybody publishes, comes and goes at the same time; then all compare; then events, one after the other."""
        await asyncio.gather(*(self.publish(peer) for peer in self.peers), self.subscribe(), self.subscribe(), self.unsubscribe())
        await quiet()
        await self.compare()
        for event in self.rng.sample(FACTS, 2):
            await self.flash(event)

    async def publish(self, peer: Peer) -> None:
        for _ in range(self.rng.randrange(4)):
            facts = self.rng.sample(self.own[peer], self.rng.randrange(1, 4))
            if self.rng.random() < 0.6:
                self.space.insert(facts)
                await peer.insert(facts)
            else:
                self.space.retract(facts)
                await peer.retract(facts)

    async def subscribe(self) -> None:
        text = self.rng.choice(QUERIES)
        subscription = await self.rng.choice(self.peers).subscribe(text)
        self.pairs.append((Reader(subscription), Counter(), text))

    async def unsubscribe(self) -> None:
        if len(self.pairs) > 4:
            reader, _, _ = self.pairs.pop(self.rng.randrange(len(self.pairs)))
            await reader.subscription.close()

    async def compare(self) -> None:
        for reader, expected_events, text in self.pairs:
            with self.space.subscribe(text) as yardstick:
                expected = yardstick.rows()
            await reader.read()
            assert reader.subscription.rows() == reader.held == expected, text
            assert reader.lowest == 0, text
            assert reader.events == expected_events, text

    async def flash(self, event: tuple[Symbol, ...]) -> None:
        yardsticks = [self.space.subscribe(text) for _, _, text in self.pairs]
        for yardstick in yardsticks:
            list(yardstick)
        self.space.notify([event])
        for (_, expected_events, _), yardstick in zip(self.pairs, yardsticks, strict=True):
            expected_events.update(row for _, row in yardstick)
            yardstick.close()
        await self.rng.choice(self.peers).notify([event])
        await quiet()
        await self.compare()

    async def end(self) -> None:
        for reader, _, _ in self.pairs:
            await reader.subscription.close()
        await quiet()
        assert (templates(self.peers), feeds(self.peers)) == (0, 0)
        assert all(peer._subscriber._network.is_empty for peer in self.peers)


@pytest.mark.parametrize("seed", range(12))
def test_when_quiet_every_subscription_answers_as_one_space_would(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        for _ in range(6):
            await trial.round()
        await trial.end()

    simulate(work, seed=seed, size=2 + seed % 4)


@pytest.mark.parametrize("seed", range(8))
def test_peers_that_come_and_leave_in_order_change_no_answer(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        await trial.round()
        async with guest_of(net, peers):
            await trial.round()
            async with guest_of(net, peers):
                await trial.round()
            await trial.round()
        await trial.round()
        await trial.end()

    simulate(work, seed=seed, size=2 + seed % 3)


@pytest.mark.parametrize("seed", range(8))
def test_links_that_break_while_nothing_is_published_change_no_answer(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        for _ in range(4):
            await trial.round()
            for one, other in combinations(peers, 2):
                if trial.rng.random() < 0.5:
                    net.cut(one.contact.host, other.contact.host)
            await quiet()
        await trial.round()

    simulate(work, seed=seed, size=2 + seed % 4)


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
    monkeypatch.setattr(gsg.posting, "HELD_DELTAS", 100)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        slow, fast, publisher, *_ = others(peers, host)
        late = Reader(await slow.subscribe("(?x, on, ?y)"))
        prompt = Reader(await fast.subscribe("(?x, on, ?y)"))
        paused = [link for link in slow._endpoint.links.all() if link.peer == host.contact]
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
        stranger = dht.Links(
            dht.random_id(net.rng()),
            net.host(),
            PORT,
            rng=net.rng(),
            on_frames=lambda link, payloads: None,
            on_lost=lambda link, reason: lost.put_nowait(reason),
        )
        async with stranger:
            for peer in peers:
                (await stranger.to(peer.contact)).send(payload)
            assert [await lost.get() for _ in peers] != []

            assert await peers[2].insert([("a", ON, "b")]) == 1
            await quiet()
        assert await unread(subscription) == ['+?x="a" ?y="b"']
        assert [peer._exchange.traffic.malformed for peer in peers] == [1] * len(peers)

    simulate(work, seed=14)


def test_requests_that_make_no_sense_are_refused_and_the_link_stays() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        answers: list[bytes] = []
        stranger = dht.Links(
            dht.random_id(net.rng()), net.host(), PORT, rng=net.rng(), on_frames=lambda link, payloads: answers.extend(payloads)
        )
        async with stranger:
            link = await stranger.to(peers[0].contact)
            for message in (
                Publish(1, 1, [("a",)], [], 0),
                Publish(2, 1, [("a",)], [b"\x01"], 0),
                Publish(3, 1, [("a",)], [b""], 0),
                Publish(4, 0, [("a",)], [b"\x00"], 0),
                RemoveCondition(77),
            ):
                link.send(encode(message))
            await quiet()

            reasons = [gsg.messages.decode(answer) for answer in answers]
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
        stranger = dht.Links(
            dht.random_id(net.rng()), net.host(), PORT, rng=net.rng(), on_frames=lambda link, payloads: answers.extend(payloads)
        )
        async with stranger:
            link = await stranger.to(others(peers, host)[0].contact)
            link.send(encode(gsg.messages.InsertCondition(1, 1, rete.Template((None, ON, None)), 1)))
            await quiet()

        assert list(map(gsg.messages.decode, answers)) == [gsg.messages.NotHere(1, host.contact, False)]
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
        await quiet()

        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=25)


def test_listeners_hear_of_events_that_pass_their_test_and_of_no_facts() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard: list[gsg.messages.Event] = []
        listening = await peers[1].listen(rete.Template((None, ON, None)), heard.append, anchor=1)

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
            await peers[0].listen(rete.Template((None, ON)), print, anchor=1, test=gsg.messages.Test("nobody", ""))
        assert templates(peers) == 0

    simulate(work, seed=28)


def test_a_stranger_cannot_speak_for_a_rendezvous() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[2].insert([("a", ON, "b")])
        subscription = await peers[1].subscribe("(?x, on, ?y)")
        stranger = dht.Links(dht.random_id(net.rng()), net.host(), PORT, rng=net.rng(), on_frames=lambda link, payloads: None)
        async with stranger:
            link = await stranger.to(peers[1].contact)
            for feed in range(10):
                link.send(encode(gsg.messages.Deltas(feed, 0, [("forged", ON, "fact")], [1])))
                link.send(encode(gsg.messages.Snapshot(feed, [("forged", ON, "fact")], True, True, 0)))
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
        assert sum(each.entries for each in status) == 30
        assert (sum(each.templates for each in status), sum(each.feeds for each in status)) == (1, 1)
        assert sum(each.published for each in status) == 10
        assert sum(peers[2].shares().values()) == pytest.approx(1.0)

    simulate(work, seed=22)


def test_the_same_seed_gives_the_same_run() -> None:
    async def main(net: SimNet) -> str:
        async with overlay(net, 3) as peers:
            trial = Trial(7, peers)
            await trial.round()
        return net.digest

    assert run(main, seed=7) == run(main, seed=7)
