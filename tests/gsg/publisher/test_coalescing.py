"""Small calls of facts that wait go together, and each is told what came of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from answering import FixedHolders, Place, Reply, accept, publisher_of, refuse
from peers import simulate

import gsg.publisher.coalescing
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.errors import PeerUnreachable, Refused
from gsg.placement.holders import UNSURE_S
from gsg.publisher.publisher import ATTEMPTS, Publisher
from gsg.publisher.turns import PATIENCE_S, ROUNDS, Turn
from gsg.tuples.audiences import audience_of
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Done, Failed, Flash, Publish

Heard = list[tuple[int, list[Tuple]]]


def heard(place: Place) -> Heard:
    """The signs and facts of the messages that came, after those that went at once."""
    return [(message.sign, message.facts) for message in place.heard[ROUNDS:] if isinstance(message, Publish)]


def waiting(work: Callable[[Publisher, Place], Coroutine[None, None, None]], reply: Reply = accept, seed: int = 1) -> None:
    """Run this where so much is under way that calls wait, once each of the first has left, and is answered."""

    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net, reply)
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            # The link stands already, so that nothing is sent for longer than a turn of the loop takes.
            await publisher.facts(1, [])
            await publisher._exchange.link(there.contact)
            before = [asyncio.create_task(publisher.facts(1, [("before", number)])) for number in range(ROUNDS)]
            await asyncio.sleep(PATIENCE_S / 2)
            assert len(there.heard) == ROUNDS
            await work(publisher, there)
            for task in before:
                task.cancel()

    run(main, seed=seed)


def slowly(net_reply: Reply, at: int = ROUNDS) -> Reply:
    """The first answers never come; the others do."""
    count = 0

    def reply(link: PeerLink, message: Publish | Flash) -> None:
        nonlocal count
        count += 1
        if count > at:
            net_reply(link, message)

    return reply


def test_calls_that_wait_go_together_and_each_is_told_how_many_of_its_own_changed() -> None:
    def reply(link: PeerLink, message: Publish | Flash) -> None:
        link.send(Done(message.request, 3, unchanged=[1, 3]))

    async def work(publisher: Publisher, there: Place) -> None:
        calls = ([("a",)], [("b",), ("c",)], [("a",)], [("d",)])

        changed = await asyncio.gather(*(publisher.facts(1, facts) for facts in calls))

        assert heard(there) == [(1, [("a",), ("b",), ("c",), ("a",), ("d",)])]
        assert changed == [1, 1, 0, 1]
        assert publisher.published == 5

    waiting(work, slowly(reply))


def test_only_what_says_the_same_to_the_same_goes_together() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        readers = audience_of([there.contact.id])
        said = [
            (1, ("a",), None),
            (1, ("b",), None),
            (-1, ("a",), None),
            (1, ("a",), None),
            (1, ("c",), readers),
            (1, ("d",), readers),
        ]

        await asyncio.gather(*(publisher.facts(sign, [fact], audience) for sign, fact, audience in said))

        assert heard(there) == [(1, [("a",), ("b",)]), (-1, [("a",)]), (1, [("a",)]), (1, [("c",), ("d",)])]

    waiting(work, slowly(accept))


def test_facts_and_events_go_in_the_order_of_the_calls() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        await asyncio.gather(
            publisher.facts(1, [("a",)]),
            publisher.facts(1, [("b",)]),
            publisher.events([(("c",), None)]),
            publisher.facts(1, [("d",)]),
            publisher.facts(1, [("e",)]),
        )

        came = [
            message.facts if isinstance(message, Publish) else [event.items for event in message.events]
            for message in there.heard[ROUNDS:]
        ]
        assert came == [[("a",), ("b",)], [("c",)], [("d",), ("e",)]]

    waiting(work, slowly(accept))


def test_a_run_is_no_longer_than_one_message_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.coalescing, "RUN_FACTS", 3)

    async def work(publisher: Publisher, there: Place) -> None:
        await asyncio.gather(*(publisher.facts(1, [(number, 0), (number, 1)]) for number in range(2)), publisher.facts(1, [("c",)]))

        assert heard(there) == [(1, [(0, 0), (0, 1)]), (1, [(1, 0), (1, 1), ("c",)])]

    waiting(work, slowly(accept))


def test_where_those_who_wait_first_have_gone_the_next_one_sends() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        calls = [asyncio.create_task(publisher.facts(1, [(number,)])) for number in range(4)]
        await asyncio.sleep(0)
        for number in (0, 1, 2):
            calls[number].cancel()

        assert await calls[3] == 1
        assert heard(there) == [(1, [(3,)])]

    waiting(work, slowly(accept))


def test_where_all_have_gone_nothing_is_sent() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        call = asyncio.create_task(publisher.facts(1, [("a",)]))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])

        assert not publisher.sending
        await publisher.facts(1, [("b",)])
        assert heard(there) == [(1, [("b",)])]

    waiting(work, slowly(accept))


def test_where_the_one_who_sent_has_gone_each_of_the_others_sends_its_own_again_at_the_same_time() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        calls = [asyncio.create_task(publisher.facts(1, [(number,)])) for number in range(3)]
        await asyncio.sleep(2 * PATIENCE_S)
        later = asyncio.create_task(publisher.facts(-1, [(1,)]))
        await asyncio.sleep(0.1)

        calls[0].cancel()

        assert await calls[2] == 1
        assert heard(there) == [(1, [(0,), (1,), (2,)]), (-1, [(1,)]), (1, [(1,)]), (1, [(2,)])]
        first, contrary, *again = (message.stamp for message in there.heard[ROUNDS:] if isinstance(message, Publish))
        assert again == [first, first]
        assert contrary > first
        assert await calls[1] == await later == 1

    waiting(work, slowly(accept, ROUNDS + 1))


def test_a_refusal_is_told_to_whom_it_concerns_alone() -> None:
    def reply(link: PeerLink, message: Publish | Flash) -> None:
        assert isinstance(message, Publish)
        link.send(Failed(message.request, "odd") if (1,) in message.facts else Done(message.request, len(message.facts)))

    async def work(publisher: Publisher, there: Place) -> None:
        said = await asyncio.gather(*(publisher.facts(1, [(number,)]) for number in range(3)), return_exceptions=True)

        assert [said[0], said[2]] == [1, 1]
        assert isinstance(said[1], Refused)
        assert heard(there)[0] == (1, [(0,), (1,), (2,)])

    waiting(work, slowly(reply))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the answer comes after the refusal", "the answer comes before it"])
def test_what_changed_where_it_was_not_refused_counts(order: tuple[int, int]) -> None:
    came: set[Tuple] = set()

    def reply(link: PeerLink, message: Publish | Flash) -> None:
        assert isinstance(message, Publish)
        unchanged = [number for number, fact in enumerate(message.facts) if fact in came]
        came.update(message.facts)
        link.send(Done(message.request, len(message.facts) - len(unchanged), unchanged=unchanged))

    async def main(net: SimNet) -> None:
        us, there, full = Place(net), Place(net, reply), Place(net, refuse)
        async with us.links, there.links, full.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [full if feature[2] == "odd" else there]))
            turn = publisher._turns.line_up()
            calls: list[list[Tuple]] = [[("odd",)], [("b",), ("c",)]]
            saying = {number: asyncio.create_task(publisher.facts(1, calls[number])) for number in order}
            await asyncio.sleep(0)
            publisher._turns.leave_turn(turn)
            await asyncio.wait(saying.values())

        assert isinstance(saying[0].exception(), Refused)
        assert saying[1].result() == 2

    run(main, seed=10)


def test_nobody_is_to_wait_for_what_was_to_go_with_a_part_to_a_holder_that_is_gone() -> None:
    async def main(net: SimNet) -> None:
        us, there, dead = Place(net), Place(net), Place(net)
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [dead, there] if feature[2] == "a" else [there]))
            turn = publisher._turns.line_up()
            saying = [asyncio.create_task(publisher.facts(1, [(name,)])) for name in ("a", "b")]
            await asyncio.sleep(0)
            publisher._turns.leave_turn(turn)
            await asyncio.gather(*saying)

        parts = [part for message in there.heard if isinstance(message, Publish) for part in message.parts]
        assert [(part.facts, part.after) for part in parts] == [(1, []), (1, [])]

    run(main, seed=11)


def test_what_is_behind_is_sent_again_by_its_own_caller() -> None:
    answers = [[1], [0]]

    def reply(link: PeerLink, message: Publish | Flash) -> None:
        assert isinstance(message, Publish)
        behind = answers.pop(0) if answers else []
        link.send(Done(message.request, len(message.facts) - len(behind), behind=behind))

    async def work(publisher: Publisher, there: Place) -> None:
        assert await asyncio.gather(*(publisher.facts(1, [(number,)]) for number in range(3))) == [1, 1, 1]

        assert heard(there) == [(1, [(0,), (1,), (2,)]), (1, [(1,)]), (1, [(1,)])]
        assert all(batch.is_done for batch in list(publisher.record.under_way)[ROUNDS:])

    waiting(work, slowly(reply))


def test_what_did_not_arrive_is_told_to_its_own_caller() -> None:
    async def main(net: SimNet) -> None:
        us, there, dead = Place(net), Place(net), [Place(net) for _ in range(ATTEMPTS)]
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: dead if feature[2] == "lost" else [there]))
            turn: Turn = publisher._turns.line_up()
            saying = [asyncio.create_task(publisher.facts(1, facts)) for facts in ([("a",)], [("lost",), ("b",)], [("c",)])]
            await asyncio.sleep(0)
            publisher._turns.leave_turn(turn)
            said = await asyncio.gather(*saying, return_exceptions=True)

        assert [said[0], said[2]] == [1, 1]
        assert isinstance(said[1], PeerUnreachable)
        assert str(said[1]).startswith("1 of 2 tuples were not acknowledged: ")
        assert publisher.published == 3

    run(main, seed=9)


def test_a_large_call_goes_alone() -> None:
    async def work(publisher: Publisher, there: Place) -> None:
        large: list[Tuple] = [("large", number) for number in range(gsg.publisher.coalescing.SMALL_FACTS + 1)]

        await asyncio.gather(publisher.facts(1, [("a",)]), publisher.facts(1, large), publisher.facts(1, [("b",)]))

        assert heard(there) == [(1, [("a",)]), (1, large), (1, [("b",)])]

    waiting(work, slowly(accept))


@pytest.mark.parametrize("settled_s", [0.0, UNSURE_S + 5])
def test_each_of_many_calls_at_once_is_told_what_it_changed(settled_s: float) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await asyncio.sleep(settled_s)
        await peers[1].insert([("there", number) for number in range(0, 60, 3)])
        calls = [[("there", number), ("new", number)] for number in range(60)]

        inserted = await asyncio.gather(*(peers[0].insert(call) for call in calls))
        again = await asyncio.gather(*(peers[0].insert(call) for call in calls[:30]))
        retracted = await asyncio.gather(*(peers[0].retract(call) for call in [*calls, *calls[:9]]))

        assert inserted == [1 if number % 3 == 0 else 2 for number in range(60)]
        assert again == [0] * 30
        assert retracted == [2] * 60 + [0] * 9

    simulate(work, seed=12)
