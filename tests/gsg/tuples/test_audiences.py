"""Facts for named readers: what an audience is, and what each reader sees of the variants of one tuple."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from place import ANYTHING, ON, X_ON_Y, compile_test, everywhere, flash
from readers import P_ALONE, PQ, QR, READERS, VARIANTS, Desk, Link, P, Q, R, T, U

import gsg
import gsg.rendezvous.feed
import gsg.rendezvous.snapshot
from gsg import LocalError, PeerMisbehaved, Unsupported
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.audiences import MAX_READERS, Audience, Restricted, audience_of, audiences_of, restricted, restricted_each
from gsg.tuples.features import positions
from gsg.tuples.terms import Tuple, Variable
from gsg.wire import messages
from gsg.wire.holder_messages import Replicate
from gsg.wire.messages import Deltas, Event, Flash, Happened, InsertCondition, Publish, Snapshot, decode, encode

# --- what an audience is ----------------------------------------------------------------------------------------------------


def test_readers_are_named_by_bytes_or_in_hexadecimal_in_any_order() -> None:
    assert audience_of([P, Q.hex(), Q.hex().upper()]) == audience_of(iter([Q, P])) == PQ
    assert audience_of(None) is None


@pytest.mark.parametrize(
    ("readers", "problem"),
    [
        ([], "an audience of nobody; expected 1 to 64 peer ids, or no audience for everybody"),
        (P, "is no list of peer ids; a single reader is given as \\[id\\]"),
        (P.hex(), "is no list of peer ids; a single reader is given as \\[id\\]"),
        (7, "audience=7 is no list of peer ids"),
        (["bob"], "'bob' in an audience is no peer id; expected 40 hexadecimal digits, as gsg status --json shows them"),
        (["x" * 40], "is no peer id"),
        ([" " + P.hex()[:-2] + " "], "is no peer id"),
        ([P[:-1]], "is no peer id"),
        ([7], "7 in an audience is no peer id"),
        (
            [bytes((number,)) * 20 for number in range(65)],
            "an audience of 65 peers; expected at most 64: give more readers",
        ),
    ],
    ids=["nobody", "one id", "one text", "a number", "a name", "no digits", "blanks", "short", "no text", "too many"],
)
def test_what_is_no_audience_is_refused_by_name(readers: object, problem: str) -> None:
    with pytest.raises(LocalError, match=problem):
        audience_of(readers)  # type: ignore[arg-type]  # that is what is tested


def test_as_many_readers_as_may_be_are_taken() -> None:
    readers = [bytes((number,)) * 20 for number in range(MAX_READERS)]

    assert audience_of(readers) == frozenset(readers)


def test_a_tuple_for_an_audience_is_a_fact_of_its_own() -> None:
    one, same, other = Restricted(T, PQ), Restricted(list(T), frozenset((Q, P))), Restricted(T, QR)

    assert one == same
    assert hash(one) == hash(same)
    assert len({T, one, same, other}) == 3
    assert (one != other, one != T, one != T, one == T, one != same) == (True, True, True, False, False)
    assert (tuple(one), type(tuple(one)), positions(one), len(one)) == (T, tuple, b"\x00\x01\x02", 3)


def test_audiences_travel_beside_the_facts_and_only_where_there_are_some() -> None:
    facts = [T, Restricted(T, PQ), U]

    assert (audiences_of([T, U]), audiences_of(facts)) == ([], [None, PQ, None])
    assert restricted_each([T, T, U], audiences_of(facts)) == facts
    assert restricted_each([T, U], []) == [T, U]
    assert restricted([T], PQ) == [Restricted(T, PQ)]


def test_a_space_takes_no_audience() -> None:
    with gsg.Space() as space:
        for change in (space.insert, space.retract, space.notify):
            with pytest.raises(Unsupported, match=r"a space in one process has no peers to name, so it takes no audience"):
                change([T], audience=[P])
        assert len(space) == 0


# --- on the wire --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        Publish(1, 1, [T], [b"\x00"], 7, audience=PQ),
        Flash(2, P, [Event(1, T)], [b"\x00"], audience=PQ),
        Replicate(3, [1, -1], [T, U], [b"\x00", b"\x01"], [1, 2], [None, PQ]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_an_audience_comes_back_from_the_wire(message: messages.Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "audience",
    [frozenset(), frozenset((b"short",)), frozenset(bytes((number,)) * 20 for number in range(65))],
    ids=["nobody", "no id", "too many"],
)
def test_what_is_no_audience_on_the_wire_ends_the_link(audience: Audience) -> None:
    for message in (Publish(1, 1, [T], [b"\x00"], 7, audience=audience), Replicate(3, [1], [T], [b"\x00"], [1], [audience])):
        with pytest.raises(PeerMisbehaved, match="is no message of this protocol"):
            decode(encode(message))


def test_holders_have_facts_with_their_audience_and_subscribers_are_sent_plain_tuples() -> None:
    sent = Publish(1, 1, [T], [b"\x00"], 7, audience=PQ)
    copied = Replicate(3, [1, 1], [T, U], [b"\x00", b"\x01"], [1, 2], [PQ, None])

    assert (sent.entries, copied.entries) == ([Restricted(T, PQ)], [Restricted(T, PQ), U])
    assert encode(Deltas(1, 0, [Restricted(T, PQ)], [1])) == encode(Deltas(1, 0, [T], [1]))


# --- what each reader sees ------------------------------------------------------------------------------------------------------


def test_only_the_readers_named_are_told() -> None:
    desk = Desk().following()

    assert desk.insert(Restricted(T, PQ)) == 1
    assert desk.told() == {0: ["+b"], 1: ["+b"]}
    assert [desk.seen_by(reader) for reader in READERS] == [[T], [T], [], []]
    assert desk.retract(Restricted(T, PQ)) == 1
    assert desk.told() == {0: ["-b"], 1: ["-b"]}
    assert [desk.seen_by(reader) for reader in READERS] == [[], [], [], []]
    assert desk.rendezvous.held.variants == {}


def test_a_tuple_is_told_once_however_many_variants_of_it_a_reader_sees() -> None:
    desk = Desk().following()
    steps: list[tuple[Callable[..., int], Tuple, dict[int, list[str]]]] = [
        (desk.insert, Restricted(T, PQ), {0: ["+b"], 1: ["+b"]}),
        (desk.insert, Restricted(T, QR), {2: ["+b"]}),
        (desk.insert, Restricted(T, QR), {}),
        (desk.insert, T, {3: ["+b"]}),
        (desk.retract, Restricted(T, PQ), {}),
        (desk.retract, T, {0: ["-b"], 3: ["-b"]}),
        (desk.insert, Restricted(T, PQ), {0: ["+b"]}),
        (desk.retract, Restricted(T, QR), {2: ["-b"]}),
        (desk.retract, Restricted(T, P_ALONE), {}),
        (desk.retract, Restricted(T, PQ), {0: ["-b"], 1: ["-b"]}),
    ]
    for change, fact, told in steps:
        change(fact)
        assert desk.told() == told


def test_facts_for_all_and_for_some_may_come_and_go_together() -> None:
    desk = Desk().following()

    assert desk.insert(Restricted(T, PQ), U, Restricted(U, PQ), T) == 4
    assert desk.retract(Restricted(T, PQ), U, Restricted(U, PQ), T) == 4

    assert desk.rendezvous.held.distinct() == 0
    assert {reader: "".join(told) for reader, told in desk.told().items()} == dict.fromkeys((0, 1), "+b+c-c-b") | dict.fromkeys(
        (2, 3), "+c+b-c-b"
    )


def test_whoever_has_proved_no_id_is_in_no_audience() -> None:
    desk = Desk()
    desk.insert(Restricted(T, PQ), U)

    assert desk.follow("nobody", 1) == [U]
    desk.insert(Restricted(U, PQ))
    desk.retract(Restricted(T, PQ))
    assert desk.take() == []


def test_templates_without_constants_bring_what_their_reader_may_read() -> None:
    desk = Desk()
    desk.insert(U, Restricted(T, PQ), Restricted(U, PQ))

    assert sorted(desk.seen_by(P, ANYTHING, NOWHERE)) == [T, U]
    assert desk.seen_by(R, ANYTHING, NOWHERE) == [U]


def test_a_key_that_is_dropped_takes_what_each_reader_saw() -> None:
    desk = Desk()
    desk.insert(Restricted(T, PQ), U)
    for link in desk.links.values():
        desk.follow(link, 1, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link

    desk.rendezvous.drop_moved_key((3, 0, "a"))

    assert desk.told() == {0: ["-b", "-c"], 1: ["-b", "-c"], 2: ["-c"], 3: ["-c"]}
    assert (3, 0, "a") not in desk.rendezvous.held.variants


def test_tests_of_conditions_are_asked_of_the_plain_tuple() -> None:
    desk = Desk()
    long = ("a", ON, "longer")
    desk.insert(Restricted(long, PQ), Restricted(T, PQ))

    assert desk.follow(desk.links[P], 1, test=messages.Test("longer", "3")) == [long]  # type: ignore[arg-type]  # a link
    desk.retract(Restricted(long, PQ))
    assert desk.told() == {0: ["-longer"]}


@pytest.mark.parametrize("others", [0, 1], ids=["a sole template", "several templates"])
def test_events_reach_the_readers_named(others: int) -> None:
    desk = Desk()
    for link in desk.links.values():
        desk.post(link, 1, X_ON_Y, 1, events_only=True)  # type: ignore[arg-type]  # a link
        for feed in range(others):
            desk.post(link, 2 + feed, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link

    flash(desk.rendezvous, [Event(1, T), Event(2, U)], [everywhere(T)] * 2, audience=PQ)
    flash(desk.rendezvous, [Event(3, T)], [everywhere(T)])

    numbers: dict[int, list[int]] = {}
    for link, message in desk.rendezvous.take_messages():
        assert isinstance(message, Happened)
        numbers.setdefault(link.contact.id[0], []).extend(event.number for event in message.events)  # type: ignore[attr-defined]  # a link
    assert numbers == {0: [1, 2, 3], 1: [1, 2, 3], 2: [3], 3: [3]}


def test_an_event_that_takes_several_slices_reaches_the_readers_named() -> None:
    ticks = iter(range(10_000))
    rendezvous = Rendezvous(compile_test, lambda: float(next(ticks)))
    links = {reader: Link(reader) for reader in READERS}
    for feed, (template, anchor) in enumerate(((ANYTHING, NOWHERE), (X_ON_Y, 1))):
        for link in links.values():
            rendezvous.insert_condition(link, InsertCondition(1, feed, template, anchor, events_only=True))

    passage = gsg.rendezvous.matching.EventBatch(rendezvous, b"publisher", [Event(1, T)], [everywhere(T)], audience=PQ)
    heard: list[Sequence[object]] = []
    while not passage.done:
        heard += [list(reached) for _, reached in passage.match_slice(0.0)]

    assert heard == [[links[P], links[Q]]]


def test_a_peer_alone_says_when_something_went_though_it_does_not_remember() -> None:
    desk = Desk()
    desk.follow(desk.links[P], 1, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link

    desk.rendezvous.publish(1, [Restricted(T, PQ)], [everywhere(T)], stamp=4)
    desk.rendezvous.publish(-1, [Restricted(T, PQ)], [everywhere(T)], stamp=5)

    [(_, told)] = desk.rendezvous.take_messages()
    assert isinstance(told, Deltas)
    assert list(zip(told.signs, told.stamps, strict=True)) == [(1, 4), (-1, 5)]


def test_a_restart_brings_back_what_readers_saw() -> None:
    before = FactsByKey()
    before.remembering = True
    key = (3, 1, ON)
    for stamp, fact in enumerate(VARIANTS, 1):
        before.change(fact, 1)(key, fact, stamp)
    for stamp, fact in enumerate(VARIANTS[::2], 100):
        before.change(fact, -1)(key, fact, stamp)
    after = FactsByKey()
    after.remembering = True

    after.restore((fact, before.marks(fact)) for fact in VARIANTS)

    for reader in READERS:
        assert set(after.visible(key, reader)) == set(before.visible(key, reader))
    after.buried.forget_before(10**9)
    for fact in VARIANTS[1::2]:
        after.change(fact, -1)(key, fact, 10**9)
    after.buried.forget_before(10**10)
    assert after.variants == {}


def test_events_with_variables_may_be_restricted_too() -> None:
    desk = Desk()
    desk.post(desk.links[P], 1, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link
    desk.post(desk.links[R], 1, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link

    flash(desk.rendezvous, [Event(1, (Variable("X"), ON, "b"))], [b"\x01\x00"], audience=PQ)

    assert [link.contact.id for link, _ in desk.rendezvous.take_messages()] == [P]  # type: ignore[attr-defined]  # a link


def test_a_snapshot_in_parts_has_each_tuple_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SNAPSHOT_FACTS", 1)
    desk = Desk()
    desk.insert(*VARIANTS)
    feed = desk.post(desk.links[P], 1, ANYTHING, NOWHERE)  # type: ignore[arg-type]  # a link

    parts = list(filter(None, desk.rendezvous.snapshot(feed)))

    assert [part.facts for part in parts] == [[T], [U]]
    assert isinstance(parts[0], Snapshot)
