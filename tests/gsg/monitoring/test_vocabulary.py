"""The vocabulary of the space: each fact counts once, whoever holds a copy, and only where everybody may read it."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from random import Random

import pytest
from peers import others, quiet, rendezvous, simulate

import gsg.monitoring.vocabulary
from dht.simnet import SimNet
from gsg import LocalError, Peer, Symbol
from gsg.monitoring.status import Status
from gsg.monitoring.version import __version__
from gsg.monitoring.vocabulary import KEYS, MostFacts, vocabulary_of
from gsg.tuples.long_constants import Hashed, constant_text
from gsg.wire.exchange import PeerLink
from gsg.wire.status_messages import MOST_CONSTANTS, AskStatus, ConstantCount, Vocabulary

ON, RED = Symbol("on"), Symbol("red")
FACTS = [
    *[(f"B{number}", ON, f"B{number + 1}") for number in range(8)],
    *[(f"B{number}", Symbol("color"), RED) for number in range(3)],
    ("B0", RED),
]


def counted(found: list[ConstantCount]) -> dict[tuple[int, int, object], tuple[int, int]]:
    return {(one.arity, one.position, one.constant): (one.facts, one.templates) for one in found}


def by_definition(facts: list[tuple[object, ...]]) -> dict[tuple[int, int, object], tuple[int, int]]:
    keys = Counter((len(fact), position, constant) for fact in facts for position, constant in enumerate(fact))
    return {key: (count, 0) for key, count in keys.items()}


def test_each_fact_counts_once_under_each_of_its_constants() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        await quiet()

        found, totals, silent = await peers[1].inside.vocabulary()

        assert len([peer for peer in peers if (3, 1, ON) in peer._parts.rendezvous.held]) == 3, "it has its replicas"
        assert counted(found) == by_definition(FACTS)
        assert [(one.arity, one.facts, one.keys) for one in totals] == [(2, 1, 2), (3, 11, 8 + 2 + 8 + 1)]
        assert silent == []

    simulate(work, seed=61, size=4)


def test_the_most_facts_come_first_and_equals_by_their_texts() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)

        found, totals, _ = await peers[0].inside.vocabulary(4)

        assert [(one.constant, one.facts) for one in found] == [(ON, 8), (Symbol("color"), 3), (RED, 3), ("B0", 2)]
        assert sum(one.keys for one in totals) == 21, "all are counted, however few are told"

    simulate(work, seed=62, size=4)


def test_templates_count_beside_facts_and_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        await peers[1].subscribe("(?x, color, ?y)")
        await peers[2].subscribe("(?x, color, ?y)")
        await peers[2].subscribe("(?x, colour, ?y)")
        await quiet()

        found, totals, _ = await peers[3].inside.vocabulary()

        told = counted(found)
        assert (told[3, 1, Symbol("color")], told[3, 1, Symbol("colour")]) == ((3, 1), (0, 1))
        assert [(one.arity, one.facts, one.keys) for one in totals] == [(2, 1, 2), (3, 11, 20)]
        assert found[-1].constant == Symbol("colour")

    simulate(work, seed=63, size=4)


def test_what_only_some_may_read_counts_nowhere() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader = peers[2].contact.id
        await peers[0].insert(FACTS)
        await peers[0].insert([("secret", ON, "B0"), ("B0", ON, "B1")], audience=[reader])
        await quiet()

        told = [await peer.inside.vocabulary() for peer in peers]

        assert [counted(found) for found, _, _ in told] == [by_definition(FACTS)] * 4
        assert [one.facts for one in told[2].totals] == [1, 11]

    simulate(work, seed=64, size=4)


def test_of_long_constants_the_hash_is_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("long " * 100, ON)])

        found = (await peers[1].inside.vocabulary()).constants

        [long] = [one.constant for one in found if one.constant != ON]
        assert isinstance(long, Hashed)
        assert constant_text(long).startswith("a constant of 503 bytes with the hash ")

    simulate(work, seed=65, size=2)


def test_a_peer_that_crashed_is_named_and_the_others_tell() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        await peers[0].inside.vocabulary()
        dead = rendezvous(peers, 3, 1, ON)
        asking, *_ = others(peers, dead)
        net.crash(dead.contact.host)

        found, _, silent = await asking.inside.vocabulary()

        assert [one.peer for one in silent] == [dead.contact.id]
        assert (3, 1, ON) not in counted(found)
        await asyncio.sleep(60)
        assert counted((await asking.inside.vocabulary()).constants) == by_definition(FACTS), "others are its primary now"

    simulate(work, seed=66, size=4)


def test_a_peer_of_an_earlier_version_is_named_with_the_reason_and_keeps_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asking, old = peers

        def as_before(link: PeerLink, asked: AskStatus) -> None:
            Status.answer(old._parts.status, link, asked.request)

        monkeypatch.setattr(old._parts.vocabulary, "answer", as_before)
        await asking.status()
        links = asking._parts.exchange.links()
        silent = (await asking.inside.vocabulary()).silent

        assert [(one.peer, one.why) for one in silent] == [
            (
                old.contact.id,
                f"it is of version {__version__} and does not know this question: start it anew with that of this peer",
            )
        ]
        assert asking._parts.exchange.links() == links

    simulate(work, seed=67, size=2)


def test_many_keys_are_walked_in_slices_while_facts_come_and_go() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        held, made = peer._parts.rendezvous, [(number, ON) for number in range(20 * KEYS)]
        held.publish(1, made, [b"\0\1"] * len(made))
        walk, steps, told = vocabulary_of(held, lambda key: True), 0, None

        while told is None:
            told = next(walk)
            steps += 1
            held.publish(1, [(f"new {steps}", ON)], [b"\0\1"])
            held.publish(-1, [(20 * KEYS - steps, ON)], [b"\0\1"])

        assert steps == 1 + (20 * KEYS + 1) // KEYS
        [total] = told.totals
        # Keys that came are left out, and those that had gone before their turn.
        assert 20 * KEYS - steps <= total.keys <= 20 * KEYS + 1
        assert len(counted(told.constants)) == len(told.constants)

    simulate(work, seed=68, size=1)


def test_facts_of_one_key_are_looked_at_in_slices_where_some_are_for_named_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.monitoring.vocabulary, "PIECE", 10)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        await peer.insert([(number, ON) for number in range(30)])
        before = len(list(vocabulary_of(peer._parts.rendezvous, lambda key: True)))
        await peer.insert([("secret", ON)], audience=[peer.contact.id])

        steps = list(vocabulary_of(peer._parts.rendezvous, lambda key: True))

        assert (before, len(steps)) == (1, 6)
        assert counted(steps[-1].constants if steps[-1] else [])[2, 1, ON] == (30, 0)

    simulate(work, seed=69, size=1)


def test_whoever_asks_meanwhile_is_told_by_the_same_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    walk = gsg.monitoring.vocabulary.vocabulary_of
    monkeypatch.setattr(gsg.monitoring.vocabulary, "vocabulary_of", lambda *given: begun.append(1) or walk(*given))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        made = [(number, ON) for number in range(50 * KEYS)]
        peer._parts.rendezvous.publish(1, made, [b"\0\1"] * len(made))
        peer._parts.rendezvous.clock = count().__next__  # each look at it takes a second

        told = await asyncio.gather(*(peer.inside.vocabulary(most) for most in (1, 2, 2 * MOST_CONSTANTS)))

        assert [len(found) for found, _, _ in told] == [1, 2, MOST_CONSTANTS]
        assert begun == [1]

    simulate(work, seed=70, size=1)


def test_less_than_one_constant_is_refused() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(LocalError, match="most=0 constants; expected at least 1, and 1,000 at most are told"):
            await peers[0].inside.vocabulary(0)

    simulate(work, seed=71, size=1)


def test_a_key_that_two_peers_take_for_theirs_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer, facts in zip(peers, (3, 5), strict=True):
            said = Vocabulary(0, [ConstantCount(3, 1, ON, facts, 1)], [])
            monkeypatch.setattr(
                peer._parts.vocabulary,
                "answer",
                lambda link, asked, said=said: link.send(Vocabulary(asked.request, said.constants, [])),
            )

        assert counted((await peers[0].inside.vocabulary()).constants) == {(3, 1, ON): (5, 1)}

    simulate(work, seed=72, size=2)


@pytest.mark.parametrize("seed", range(5))
def test_the_most_of_many_are_those_that_a_sort_puts_first(seed: int) -> None:
    rng = Random(seed)
    made = [ConstantCount(3, rng.randrange(3), f"c{number}", rng.randrange(6), 0) for number in range(500)]
    kept = MostFacts(20)

    for one in made:
        kept.add(one)

    assert kept.in_order() == sorted(made, key=lambda one: (-one.facts, f'"{one.constant}"', one.arity, one.position))[:20]
