"""A holder that has missed something and becomes the primary asks the others before it answers who subscribes."""

from __future__ import annotations

import asyncio

import pytest
from key_holders import holders
from peers import others, quiet, simulate, unread

import dht
from dht.overlay.lookup import K
from dht.overlay.owner_cache import Regions
from dht.simnet import SimNet
from gsg import Network, Peer, Refused, Symbol
from gsg.replication.catching_up import ASKED_KEYS, WAIT_S
from gsg.tuples.features import Interval, Key
from gsg.wire.exchange import answer_of
from gsg.wire.holder_messages import AskFacts
from gsg.wire.messages import Done

ON = Symbol("on")
PLACE: Key = (3, 1, ON)
FACTS = [(f"s{number}", ON, number) for number in range(5)]
NOTICED_S = 30.0


def fail() -> None:
    """Nothing can be kept."""
    raise Refused("its disk failed")


@pytest.mark.parametrize("trouble", ["none", "another hangs", "its disk fails"])
def test_a_primary_that_was_behind_does_not_answer_with_less(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, second, third = holders(peers, PLACE)
        heir = holders(others(peers, primary), PLACE)[2]
        reader = others(peers, primary, second, third, heir)[0]
        subscription = await reader.subscribe("(?x, on, ?y)")
        await reader.insert(FACTS)
        await unread(subscription)
        # As if it had been deaf while they were published.
        second._parts.rendezvous.held.drop(PLACE)
        if trouble == "its disk fails":
            monkeypatch.setattr(second._disk, "check", fail)
        if trouble == "another hangs":
            heir._parts.catching_up.answer = lambda link, message: None  # type: ignore[method-assign]  # a busy peer
        net.crash(primary.contact.host, quietly=True)

        await asyncio.sleep(NOTICED_S)

        assert await unread(subscription) == []
        assert len(second._parts.rendezvous.held.under(PLACE)) == len(FACTS)
        assert (await others(peers, primary)[-1].subscribe("(?x, on, ?y)")).rows() == subscription.rows()
        await primary.__aexit__(ConnectionError, None, None)

    simulate(work, seed=21, size=8)


def test_who_answers_nothing_keeps_a_subscriber_waiting_for_a_moment_only() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        for peer in peers:
            peer._parts.catching_up.answer = lambda link, message: None  # type: ignore[method-assign]  # busy peers
        began_s = net.loop.time()

        subscription = await peers[0].subscribe("(?x, on, ?y)")

        assert subscription.rows().total() == len(FACTS)
        assert net.loop.time() - began_s < 2 * WAIT_S

    simulate(work, seed=22, size=5)


def test_of_an_interval_holders_alone_are_told_also_of_what_went() -> None:
    network = Network(ordered=("_,_,0..100/10",))
    asked: Key = (3, 2, Interval(10))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("s", ON, number) for number in (91, 92, 99)])
        await quiet()
        place = network.attributes.place_of(asked)
        primary, second, _, stranger, *_ = sorted(peers, key=lambda peer: dht.distance(peer.contact.id, place))
        behind = second._parts.rendezvous.held
        behind.drop((3, 2, 92))
        # As one that was away while this one went, of all under its key.
        await peers[0].retract([("s", ON, 91)])
        await quiet()
        behind.drop((3, 2, 91))
        behind.enter((3, 2, 91), ("s", ON, 91), 1)

        for peer in (second, stranger):
            await peer._parts.exchange.ask(primary.contact, lambda request: AskFacts(request, [asked] * 3, [0] * 3), Done)

        assert {fact[2] for key in behind.covered_by(asked) for fact in behind.under(key)} == {92, 99}
        assert not stranger._parts.rendezvous.held.covered_by(asked)

    simulate(work, seed=24, size=6, network=network)


def test_what_is_known_is_told_to_holders_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS, audience=[peers[0].contact.id])
        await quiet()
        primary, second, _ = holders(peers, PLACE)
        stranger = others(peers, *holders(peers, PLACE))[0]
        second._parts.rendezvous.held.drop(PLACE)
        stranger._parts.rendezvous.held.drop(PLACE)

        for peer in (second, stranger):
            await peer._parts.exchange.ask(primary.contact, lambda request: AskFacts(request, [PLACE], [0]), Done)

        assert len(second._parts.rendezvous.held.under(PLACE)) == len(FACTS)
        assert not stranger._parts.rendezvous.held.under(PLACE)

    simulate(work, seed=23, size=6)


@pytest.mark.parametrize("is_asked", [False, True], ids=["it asks", "it is asked"])
def test_who_has_just_come_back_finds_out_first_who_the_other_holders_are(is_asked: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        back, other, _ = holders(peers, PLACE)
        behind = other if is_asked else back
        behind._parts.rendezvous.held.drop(PLACE)
        back._endpoint.overlay.regions = Regions(K)
        back._parts.holders.forget("as if it had just come back")

        if is_asked:
            await other._parts.exchange.ask(back.contact, lambda request: AskFacts(request, [PLACE], [0]), Done)
        else:
            await back._parts.catching_up._comparing(PLACE)

        assert len(behind._parts.rendezvous.held.under(PLACE)) == len(FACTS)

    simulate(work, seed=25, size=6)


def test_more_keys_than_one_question_may_have_are_refused() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        link = await peers[0]._parts.exchange.link(peers[1].contact)
        for keys, digests in ((ASKED_KEYS + 1, ASKED_KEYS + 1), (1, 2)):
            answer = link.ask(lambda request, k=keys, d=digests: AskFacts(request, [PLACE] * k, [0] * d))  # type: ignore[misc]  # bound now
            with pytest.raises(Refused, match=rf"{keys} keys with {digests} digests; expected as many, and at most {ASKED_KEYS}"):
                await answer_of(link, answer, Done)

    simulate(work, seed=24, size=2)


def test_of_an_interval_that_is_no_key_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        one, other = peers

        async def ask(position: int) -> Done:
            key = (3, position, Interval(7))
            return await one._parts.exchange.ask(other.contact, lambda request: AskFacts(request, [key], [1]), Done)

        for position in (-1, 300):
            with pytest.raises(Refused, match="no position of a tuple"):
                await ask(position)
        await ask(1)

        assert [record.getMessage() for record in caplog.records if record.exc_info] == []

    simulate(work, seed=1, size=2)
