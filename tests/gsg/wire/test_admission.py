"""What other peers publish is held to what this peer would say itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lives import Lives
from members import member_of
from peers import others, quiet, rendezvous, simulate, unread

from dht.simnet import SimNet, run
from gsg import Peer, PeerMisbehaved, PeerUnreachable, Refused, Symbol
from gsg.replication.copying import CHUNK_FACTS
from gsg.tuples.audiences import MAX_READERS
from gsg.tuples.sizes import MAX_TUPLE_BYTES
from gsg.tuples.terms import MAX_ARITY, MAX_NESTING, Compound, List, Term, Tuple, Variable
from gsg.wire.admission import MAX_NAMED, MAX_PUBLISHED_BYTES, RUN_CALLS, Published, check
from gsg.wire.holder_messages import Replicate
from gsg.wire.messages import After, Event, Failed, Flash, Origin, Part, Publish, encode

ON = Symbol("on")
PEER, SOMEBODY = b"p" * 20, b"s" * 20


def publish(fact: Tuple, there: bytes = b"\x00") -> Publish:
    return Publish(1, 1, [fact], [there], 7)


def flash(items: Tuple, there: bytes = b"\x00") -> Flash:
    return Flash(1, PEER, [Event(1, items)], [there])


def replicate(fact: Tuple, there: bytes = b"\x00", *, sign: int = 1, stamp: int = 7) -> Replicate:
    return Replicate(1, [sign], [fact], [there], [stamp])


def in_parts(facts: list[int], numbers: list[int], *, from_whom: bytes | None = PEER, after: int = 0) -> Publish:
    """Two facts, of which so many have these numbers."""
    origin = None if from_whom is None else Origin(from_whom, 5)
    named: After = [(SOMEBODY, number, 0) for number in range(after)]
    parts = [Part(*each, named) for each in zip(facts, numbers, strict=True)]
    return Publish(1, 1, [("a", ON), ("b", ON)], [b"\x00", b"\x01"], 7, origin=origin, parts=parts)


def nested(depth: int) -> Term:
    term: Term = "x"
    for number in range(depth):
        term = Compound((term,)) if number % 2 else List(("x",), term)
    return term


ANY = [publish, flash, replicate]
FACTS = [publish, replicate]
REFUSED = [
    *((make(("x",) * 256), "a tuple of 256 terms; expected 1 to 255") for make in ANY),
    *((make(()), "a tuple of 0 terms under positions [0]") for make in ANY),
    *((make(("a", ON), b"\x02"), "a tuple of 2 terms under positions [2]; expected positions that it has") for make in ANY),
    *((make(("a", ON), b""), "a tuple of 2 terms under positions []") for make in ANY),
    *((make(("a", Variable("x"))), "a fact with a variable") for make in FACTS),
    *((make(("a", Compound((ON, List(("y",), Variable("x")))))), "a fact with a variable") for make in FACTS),
    *((make(("a", Compound(()))), "a Compound without items is no term") for make in ANY),
    *((make(("a", Compound((List(()),)))), "a List without items is no term") for make in ANY),
    *((make(("a", nested(MAX_NESTING))), "terms more than 200 deep in each other") for make in ANY),
    *((make(("a" * MAX_TUPLE_BYTES, ON)), "bytes; expected at most 1048576: publish a reference to it") for make in ANY),
    (
        Replicate(1, [1], [("a",)], [b"\x00"], []),
        "changes in columns of different lengths; expected a sign and a stamp for each fact",
    ),
    (replicate(("a",), sign=2), "a change with a sign that is neither 1 nor -1"),
    (replicate(("a",), sign=-1, stamp=-1), "a change at stamp -1; expected microseconds since 1970"),
    (Publish(1, 2, [("a",)], [b"\x00"], 7), "sign 2; expected 1 or -1"),
    (Publish(1, -1, [("a",)], [b"\x00"], -1), "a change at stamp -1; expected microseconds since 1970"),
    (Publish(1, 1, [("a",)], [], 7), "1 tuples with 0 places; expected as many"),
    (in_parts([1, 2], [4, 5]), "2 facts in parts of [1, 2]; expected each in one of them"),
    (in_parts([3, -1], [4, 5]), "2 facts in parts of [3, -1]; expected each in one of them"),
    (in_parts([2, 0], [4, 5]), "2 facts in parts of [2, 0]; expected each in one of them"),
    (
        in_parts([1] * (RUN_CALLS + 1), list(range(RUN_CALLS + 1))),
        f"a message in {RUN_CALLS + 1} parts; expected at most {RUN_CALLS}",
    ),
    (in_parts([1, 1], [5, 5]), "parts whose numbers do not ascend to that of their message"),
    (in_parts([1, 1], [5, 6]), "parts whose numbers do not ascend to that of their message"),
    (in_parts([1, 1], [4, 5], from_whom=None), "parts whose numbers do not ascend to that of their message"),
    (in_parts([1, 1], [4, 5], after=66), "a part that comes after those of more than 65 rendezvous"),
]


def of(message: Published) -> None:
    check(PEER, message, len(encode(message)))


def test_facts_of_several_calls_are_taken() -> None:
    of(in_parts([1, 1], [4, 5], after=65))


@pytest.mark.parametrize(("message", "why"), REFUSED, ids=[f"{type(each).__name__}: {why}" for each, why in REFUSED])
def test_what_no_door_takes_is_refused(message: Published, why: str) -> None:
    with pytest.raises(Refused, match=re.escape(why)):
        of(message)


@pytest.mark.parametrize("make", ANY)
@pytest.mark.parametrize(
    "items",
    [("x",) * MAX_ARITY, ("a", ON), ("a" * (MAX_TUPLE_BYTES - 100), ON), ("a", nested(MAX_NESTING - 1))],
    ids=["longest", "short", "largest", "deepest"],
)
def test_what_a_door_takes_is_taken(make: Callable[[Tuple], Published], items: Tuple) -> None:
    of(make(items))


def test_events_may_hold_variables() -> None:
    of(flash(("a", Variable("x"), Compound((ON, Variable("y"))))))


def test_the_longest_message_of_a_holder_is_taken_and_a_longer_one_refused() -> None:
    readers = frozenset(number.to_bytes(20) for number in range(MAX_READERS))
    facts = [("a" * 4_000, ON, number) for number in range(CHUNK_FACTS)]
    facts[-1] = ("a" * (MAX_TUPLE_BYTES - 100),)
    longest = Replicate(1, [1] * 1_000, facts, [b"\x00"] * 1_000, [1 << 60] * 1_000, [readers] * 1_000)

    of(longest)
    assert 6_000_000 < len(encode(longest)) < MAX_PUBLISHED_BYTES
    with pytest.raises(Refused, match="bytes of tuples; expected at most 8388608: cut it"):
        of(flash(("a" * MAX_PUBLISHED_BYTES, ON)))


def test_what_comes_after_more_rendezvous_than_anybody_names_is_refused() -> None:
    after = [(number.to_bytes(20), 1, 1) for number in range(MAX_NAMED + 1)]
    of(Flash(1, PEER, [], [], after=after[1:]))

    with pytest.raises(Refused, match="after those of 66 rendezvous; expected at most 65"):
        of(Flash(1, PEER, [], [], after=after))
    with pytest.raises(Refused, match="after those of 66 rendezvous; expected at most 65"):
        of(Publish(1, 1, [], [], 7, origin=Origin(PEER, 1, after)))


@pytest.mark.parametrize(
    "make",
    [
        lambda forwarded: Flash(1, SOMEBODY, [Event(1, ("a", ON))], [b"\x00"], forwarded=forwarded),
        lambda forwarded: Publish(1, 1, [("a", ON)], [b"\x00"], 7, forwarded=forwarded, origin=Origin(SOMEBODY, 1)),
    ],
    ids=["events", "facts"],
)
def test_nobody_publishes_in_the_name_of_another_but_whoever_passes_it_on(make: Callable[[bool], Published]) -> None:
    of(make(True))

    with pytest.raises(PeerMisbehaved, match="it publishes in the name of peer 737373737373"):
        of(make(False))
    with pytest.raises(PeerMisbehaved):
        check(PEER, make(False), MAX_PUBLISHED_BYTES + 1)


# --- whole peers ----------------------------------------------------------------------------------------------------------


def test_a_fact_that_fits_no_snapshot_is_refused_and_its_key_serves_others() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        publisher, reader, *_ = others(peers, host)
        await publisher.insert([("a", ON, "b")])
        async with member_of(net) as member:
            for number in range(2):
                fact = (number, ON, "x" * 7_000_000)
                answer = await member.ask(host, lambda request, f=fact: Publish(request, 1, [f], [b"\x01"], 7))  # type: ignore[misc]  # bound now
                assert isinstance(answer, Failed)
                assert "expected at most 1048576" in answer.reason

        subscription = await reader.subscribe("(?x, on, ?y)")

        assert subscription.rows().total() == 1

    simulate(work, seed=41)


def test_a_fact_of_too_many_terms_ends_no_hand_over() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        await peers[0].insert([("a", ON, "b")])
        held = host._parts.rendezvous.held.distinct()
        async with member_of(net) as member:
            for fact in ((*"abc", *range(297)), ("a", Variable("x"))):
                answer = await member.ask(host, lambda request, f=fact: Publish(request, 1, [f], [b"\x00"], 7))  # type: ignore[misc]  # bound now
                assert isinstance(answer, Failed)

        assert host._parts.rendezvous.held.distinct() == held

    simulate(work, seed=42)


def test_a_retraction_from_before_all_times_is_refused_and_the_peer_starts_again(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(2)
        await lives.peers[1].insert([("a", ON, "b")])
        async with member_of(net) as member:
            answer = await member.ask(lives.peers[0], lambda request: Replicate(request, [-1], [("x", ON, "y")], [b"\x00"], [-1]))
            assert isinstance(answer, Failed)
        await quiet()
        await lives.kill(0)

        await lives.start(0)

        await quiet()
        subscription = await lives.peers[0].subscribe("(?x, on, ?y)")
        assert subscription.rows().total() == 1
        await lives.end()

    run(main, seed=43)


def test_what_a_peer_says_is_heard_whatever_others_say_in_its_name() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        speaker, reader, *_ = others(peers, host)
        subscription = await reader.subscribe("(?x, ^on, ?y)")
        own, number = speaker.contact.id, speaker._parts.publisher.record.last + 1
        async with member_of(net) as member:
            with pytest.raises(PeerUnreachable, match="broke before it answered"):
                await member.ask(host, lambda request: Flash(request, own, [Event(number, ("false", ON, 1))], [b"\x01"]))
            origin = Origin(own, 1 << 62)
            with pytest.raises(PeerUnreachable, match="broke before it answered"):
                await member.ask(host, lambda request: Publish(request, 1, [("b", ON, 1)], [b"\x01"], 7, origin=origin))
        passed = host._parts.rendezvous.progress._last.get(own, 0)

        await speaker.notify([("true", ON, 1)])
        await quiet()

        assert await unread(subscription) == ['!?x="true" ?y=1']
        assert passed < number

    simulate(work, seed=44)
