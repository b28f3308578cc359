"""Publishing: one message for each holder, in order, again where it did not arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest
from answering import NOW_US, EverythingWanted, FixedHolders, Place, Reply, accept, publisher_of, refuse, say_nothing

import dht
import gsg.publisher.parcels
from dht.simnet import SimNet, run
from gsg.errors import BadTerm, PeerUnreachable, Refused
from gsg.publisher.order import NAMED_S
from gsg.publisher.publisher import ATTEMPTS, CONTESTED, Publisher
from gsg.storage.clock import HybridClock
from gsg.tuples.features import Key
from gsg.tuples.sizes import MAX_TUPLE_BYTES
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Done, Flash, Origin, Publish


def test_numbers_go_on_after_a_former_life_whatever_the_clock_says() -> None:
    async def main(net: SimNet) -> None:
        place = Place(net)
        versions = HybridClock(lambda: 0)
        versions.resume(NOW_US)

        publisher = Publisher(place.contact.id, FixedHolders(lambda _: []), place.exchange, EverythingWanted(), versions)  # type: ignore[arg-type]  # know as much

        assert publisher.record.last >= NOW_US

    run(main, seed=1)


def test_each_owner_gets_one_message_with_all_of_its_tuples_and_their_places() -> None:
    async def main(net: SimNet) -> None:
        us, even, odd = Place(net), Place(net), Place(net)
        holders = FixedHolders(lambda feature: [even if feature[1] % 2 == 0 else odd])
        async with us.links, even.links, odd.links:
            changed = await publisher_of(us, holders).facts(1, [("a", "b", "c"), ("d", "e")])

        assert changed == 2
        first = Origin(us.contact.id, 1_500_001)
        second = Origin(us.contact.id, 1_500_002, [(even.contact.id, 1_500_001, 0)])
        facts: list[Tuple] = [("a", "b", "c"), ("d", "e")]
        assert even.heard == [Publish(1, 1, facts, [b"\x00\x02", b"\x00"], NOW_US, origin=first)]
        assert odd.heard == [Publish(1, 1, facts, [b"\x01", b"\x01"], NOW_US, origin=second)]

    run(main, seed=1)


@pytest.mark.parametrize(("limit", "value"), [("CHUNK_TUPLES", 2), ("CHUNK_BYTES", 6)], ids=["tuples", "bytes"])
def test_a_long_batch_is_cut(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(gsg.publisher.parcels, limit, value)

    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net)
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            assert await publisher.facts(1, [("aa",), ("bb",), ("cc",)]) == 2
            assert publisher.published == 3

        assert [message.facts for message in there.heard if isinstance(message, Publish)] == [[("aa",), ("bb",)], [("cc",)]]

    run(main, seed=2)


def test_batches_reach_an_owner_in_the_order_of_the_calls() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net)
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            await asyncio.gather(*(publisher.facts(1, [(number,)]) for number in range(20)))

        assert [fact for message in there.heard for fact in message.facts] == [(number,) for number in range(20)]  # type: ignore[union-attr]  # no Flash

    run(main, seed=3)


def test_events_are_numbered_and_go_by_the_positions_given() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net)
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            await publisher.events([(("a", "b"), "text"), (("c", "d"), None)], via=(1,))
            await publisher.events([(("e", "f"), None)])

        first, second = there.heard
        assert isinstance(first, Flash)
        assert isinstance(second, Flash)
        one, *more = first.events + second.events
        assert one.text == "text"
        assert [(event.number - one.number, event.text) for event in more] == [(1, None), (2, None)]
        assert (first.places, second.places) == ([b"\x01", b"\x01"], [b"\x00\x01"])

    run(main, seed=4)


def late_by(*behind: list[int]) -> Reply:
    """Says so of these facts of the first messages, and knows of a time that is a second later each time."""
    answers = list(behind)

    def reply(link: PeerLink, message: Publish | Flash) -> None:
        assert isinstance(message, Publish)
        numbers = answers.pop(0) if answers else []
        link.send(Done(message.request, len(message.facts) - len(numbers), message.stamp + 1_000_000 * bool(numbers), numbers))

    return reply


def test_what_is_behind_goes_again_later_and_under_all_of_its_keys() -> None:
    async def main(net: SimNet) -> None:
        us, even, odd = Place(net), Place(net, late_by([1])), Place(net)
        holders = FixedHolders(lambda feature: [even if feature[1] % 2 == 0 else odd])
        async with us.links, even.links, odd.links:
            publisher = publisher_of(us, holders)
            changed = await publisher.facts(1, [("a", "b"), ("c", "d"), ("e", "f")])

        assert changed == 2 + 1 + 1 + 1
        assert publisher.published == 3
        again = [(message.facts, message.places, message.stamp) for place in (even, odd) for message in place.heard[1:]]  # type: ignore[union-attr]  # no Flash
        later_us = NOW_US + 1_000_001
        assert again == [([("c", "d")], [b"\x00"], later_us), ([("c", "d")], [b"\x01"], later_us)]

    run(main, seed=5)


def test_what_others_contest_again_and_again_is_refused() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net, late_by(*[[0]] * CONTESTED))
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            with pytest.raises(
                Refused, match=rf"1 facts were not acknowledged.*: others have done the contrary, {CONTESTED} times"
            ):
                await publisher.facts(-1, [("a",)])

        assert len(there.heard) == CONTESTED

    run(main, seed=5)


def test_what_was_said_since_is_the_last_word() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net, late_by([0, 1]))
        async with us.links, there.links:
            publisher = publisher_of(us, FixedHolders(lambda feature: [there]))
            await asyncio.gather(publisher.facts(1, [("a",), ("b",)]), publisher.facts(-1, [("b",)]))

        said = [(message.sign, message.facts) for message in there.heard]  # type: ignore[union-attr]  # no Flash
        assert said == [(1, [("a",), ("b",)]), (-1, [("b",)]), (1, [("a",)])]
        assert not publisher.record.under_way

    run(main, seed=5)


@pytest.mark.parametrize("entered", [lambda place: place.links, lambda place: nullcontext()], ids=["silent", "not there"])
def test_what_does_not_arrive_goes_to_the_next_holder(entered: Callable[[Place], AbstractAsyncContextManager[object]]) -> None:
    async def main(net: SimNet) -> None:
        us, first, second = Place(net), Place(net, say_nothing), Place(net)
        holders = FixedHolders(lambda feature: [first, second])
        async with us.links, entered(first), second.links:
            assert await publisher_of(us, holders).facts(-1, [("a",)]) == 1

        assert holders.failures == [first.contact.id]
        # Nobody is to wait for what may never have come to the first.
        origin = Origin(us.contact.id, 1_500_002)
        assert second.heard == [Publish(1, -1, [("a",)], [b"\x00"], NOW_US, origin=origin)]

    run(main, seed=5)


def test_a_holder_that_is_gone_is_called_once_for_all_that_one_call_has_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.parcels, "CHUNK_TUPLES", 1)

    async def main(net: SimNet) -> None:
        us, gone, there = Place(net), Place(net), Place(net)
        holders = FixedHolders(lambda feature: [gone, there])
        async with us.links, there.links:
            assert await publisher_of(us, holders).facts(1, [(number,) for number in range(10)]) == 10

        assert holders.failures == [gone.contact.id]

    run(main, seed=5)


def test_what_never_arrives_is_told_with_how_much_of_it() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net)
        gone = [Place(net) for _ in range(ATTEMPTS)]
        holders = FixedHolders(lambda feature: gone if feature[2] == "lost" else [there])
        async with us.links, there.links:
            with pytest.raises(PeerUnreachable, match=r"^1 of 2 tuples were not acknowledged: "):
                await publisher_of(us, holders).facts(1, [("lost",), ("kept",)])
        assert holders.failures == [place.contact.id for place in gone]

    run(main, seed=6)


def test_a_refusal_is_told() -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net, refuse)
        async with us.links, there.links:
            with pytest.raises(Refused, match="refused: no room"):
                await publisher_of(us, FixedHolders(lambda feature: [there])).facts(1, [("a",)])

    run(main, seed=7)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a" * (MAX_TUPLE_BYTES + 1), r"bytes; expected at most 1048576: publish a reference to it"),
        ("\ud800", r"a tuple of 2 terms cannot be encoded: .*; expected text without lone surrogates"),
    ],
    ids=["too long", "no text"],
)
def test_a_tuple_that_cannot_travel_is_refused_before_anything_is_sent(text: str, problem: str) -> None:
    async def main(net: SimNet) -> None:
        us, there = Place(net), Place(net)
        async with us.links, there.links:
            with pytest.raises(BadTerm, match=problem):
                await publisher_of(us, FixedHolders(lambda feature: [there])).facts(1, [("fine",), ("a", text)])
        assert there.heard == []

    run(main, seed=8)


def test_a_publisher_that_lost_sight_of_peers_asks_owners_to_look() -> None:
    async def main(net: SimNet) -> None:
        us, other = Place(net), Place(net)
        holders = FixedHolders(lambda feature: [other])
        async with us.links, other.links:
            publisher = publisher_of(us, holders)
            await publisher.facts(1, [("a",)])
            holders.unsure = True
            await publisher.facts(1, [("a",)])
            await publisher.events([(("a",), None)])

            assert [message.unsure for message in other.heard] == [False, True, True]

    run(main, seed=1)


def events_heard(place: Place) -> list[list[Tuple]]:
    return [[event.items for event in message.events] for message in place.heard if isinstance(message, Flash)]


def test_events_of_a_dead_rendezvous_that_the_next_refuses_go_again_before_what_is_newer() -> None:
    async def main(net: SimNet) -> None:
        us, first, second = Place(net), Place(net), Place(net, refuse)
        holders = FixedHolders(lambda feature: [first, second])
        async with us.links, first.links, second.links:
            publisher = publisher_of(us, holders)
            await publisher.events([(("said",), None)])
            holders.failures.append(first.contact.id)
            assert publisher.take_back_from(first.contact.id)
            await publisher.send_again()
            await asyncio.sleep(1)
            second.reply = accept

            await publisher.events([(("newer",), None)])

        assert events_heard(second) == [[("said",)], [("said",)], [("newer",)]]

    run(main, seed=20)


def test_events_of_a_dead_rendezvous_are_kept_while_no_holder_is_found() -> None:
    class NoneYet(FixedHolders):
        found = True

        async def primaries_of(self, features: Iterable[Key]) -> dict[Key, dht.Contact]:
            if not self.found:
                raise PeerUnreachable("the overlay cannot say")
            return await super().primaries_of(features)

    async def main(net: SimNet) -> None:
        us, first, second = Place(net), Place(net), Place(net)
        holders = NoneYet(lambda feature: [first, second])
        async with us.links, first.links, second.links:
            publisher = publisher_of(us, holders)
            await publisher.events([(("said",), None)])
            holders.failures.append(first.contact.id)
            assert publisher.take_back_from(first.contact.id)
            holders.found = False
            await publisher.send_again()
            holders.found = True

            await publisher.send_again()
            await asyncio.sleep(1)

        assert events_heard(second) == [[("said",)]]

    run(main, seed=21)


def test_nobody_waits_for_events_whose_caller_was_cancelled_before_they_were_sent() -> None:
    async def main(net: SimNet) -> None:
        us, even, odd, gone = (Place(net) for _ in range(4))
        holders = FixedHolders(lambda feature: [(even, odd, gone)[feature[1]]])
        async with us.links, even.links, odd.links, gone.links:
            publisher = publisher_of(us, holders)
            await publisher.events([(("a", "b"), None)])
            [full] = [link for link in us.links.open_links() if link.peer == odd.contact]
            full.pause_writing()

            publishing = asyncio.create_task(publisher.events([(("c", "d", "e"), None)]))
            await asyncio.sleep(1)
            publishing.cancel()
            await asyncio.sleep(1)
            full.resume_writing()
            await publisher.events([(("f",), None)])
            await asyncio.sleep(1)

        told = [message for message in even.heard if isinstance(message, Flash)]
        last = told[1].events[-1].number
        assert events_heard(even) == [[("a", "b")], [("c", "d", "e")], [("f",)]]
        assert {peer: number for peer, number, *_ in told[1].after} == {odd.contact.id: last, gone.contact.id: last}
        # The one that is linked is told that all up to there has come; the other is not named any more.
        assert events_heard(odd) == [[("a", "b")]]
        assert odd.heard[1:] == [Publish(2, 1, [], [], 0, origin=Origin(us.contact.id, last))]
        assert {peer: number for peer, number, *_ in told[2].after} == {odd.contact.id: last}
        assert gone.heard == []

    run(main, seed=22)


async def cancelled_between(us: Place, there: Place, full: Place, publisher: Publisher) -> None:
    """Publish an event to two rendezvous and go when it has left for the first, which answers then, and not for the other."""
    asked: list[tuple[PeerLink, int]] = []
    await publisher.events([(("a", "b"), None)])
    there.reply = lambda link, message: asked.append((link, message.request))
    [full_link] = [one for one in us.links.open_links() if one.peer == full.contact]
    full_link.pause_writing()
    publishing = asyncio.create_task(publisher.events([(("c", "d"), None)]))
    await asyncio.sleep(1)
    publishing.cancel()
    await asyncio.sleep(1)
    full_link.resume_writing()
    [(link, request)] = asked
    link.send(Done(request, 1))
    there.reply = accept
    await asyncio.sleep(1)


def test_what_left_before_its_caller_was_cancelled_is_not_named_for_ever() -> None:
    async def main(net: SimNet) -> None:
        us, even, odd = Place(net), Place(net), Place(net)
        holders = FixedHolders(lambda feature: [(even, odd)[feature[1] % 2]])
        async with us.links, even.links, odd.links:
            publisher = publisher_of(us, holders)
            await cancelled_between(us, even, odd, publisher)
            await asyncio.sleep(NAMED_S)

            await publisher.events([(("e", "f"), None)], via=[1])

            assert [event.items for event in odd.heard[-1].events] == [("e", "f")]  # type: ignore[union-attr]  # a Flash
            assert odd.heard[-1].after == []  # type: ignore[union-attr]  # a Flash

    run(main, seed=23)


def test_events_that_left_before_their_caller_was_cancelled_go_again_when_their_rendezvous_dies() -> None:
    async def main(net: SimNet) -> None:
        us, even, odd, next_one = (Place(net) for _ in range(4))
        holders = FixedHolders(lambda feature: [(even, odd)[feature[1] % 2], next_one])
        async with us.links, even.links, odd.links, next_one.links:
            publisher = publisher_of(us, holders)
            await cancelled_between(us, even, odd, publisher)
            holders.failures.append(even.contact.id)
            publisher.take_back_from(even.contact.id)

            await publisher.send_again()
            await asyncio.sleep(1)

        assert [("c", "d")] in events_heard(next_one)

    run(main, seed=24)
