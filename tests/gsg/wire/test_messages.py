"""What peers say to each other, as bytes."""

from __future__ import annotations

from enum import EnumType
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dht
import rete
from gsg.errors import BadTerm, PeerMisbehaved
from gsg.tuples.features import Template
from gsg.tuples.long_constants import HASH_BYTES, LONG_BYTES, Hashed, Remains, ShortTerm
from gsg.tuples.sizes import MAX_TUPLE_BYTES, PART_BYTES, parts, total_bytes
from gsg.tuples.terms import IRI, BlankNode, Compound, List, Literal, Symbol, Term, Tuple, Variable
from gsg.wire.experiment_messages import Orders
from gsg.wire.messages import (
    AskPassed,
    ByHead,
    Gap,
    Happened,
    InsertCondition,
    Lead,
    Message,
    Moved,
    NotHere,
    Origin,
    Part,
    Passed,
    Publish,
    decode,
    encode,
)
from gsg.wire.topic_messages import Advert, Known, Members, RefuseNeighbour, Round, RoundBack, Shuffle, Walk, WalkEnd

names = st.text(max_size=3)
plain: st.SearchStrategy[Term] = st.one_of(
    names,
    st.integers(-(2**63), 2**63 - 1),
    names.map(Symbol),
    names.map(IRI),
    names.map(BlankNode),
    st.builds(Literal, names, names, names),
    names.map(Variable),
)
terms: st.SearchStrategy[Term] = st.recursive(
    plain,
    lambda inside: st.one_of(
        st.lists(inside, min_size=1, max_size=3).map(lambda items: Compound(tuple(items))),
        st.builds(List, st.lists(inside, min_size=1, max_size=2).map(tuple), st.none() | inside),
    ),
    max_leaves=5,
)
tuples = st.lists(terms, min_size=1, max_size=4).map(tuple)
numbers = st.integers(0, 2**63 - 1)
hashes = st.builds(Hashed, st.integers(LONG_BYTES + 1, 2**20), st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES))
short_terms: st.SearchStrategy[ShortTerm] = terms | hashes
leaves: dict[object, st.SearchStrategy[object]] = {
    int: numbers,
    str: names,
    bytes: st.binary(max_size=4),
    bool: st.booleans(),
    NoneType: st.none(),
    Hashed: hashes,
    Term: terms,
    Term | None: st.none() | terms,
    dht.Contact: st.builds(dht.Contact, st.binary(min_size=20, max_size=20), st.just("10.0.0.1"), st.integers(1, 65535)),
    ShortTerm: short_terms,
    ShortTerm | None: st.none() | short_terms,
    Remains: st.lists(short_terms, min_size=1, max_size=4).map(tuple),
    Tuple: st.lists(terms, min_size=1, max_size=4).map(tuple),
    Template: st.builds(
        rete.Template,
        st.lists(st.none() | terms, min_size=1, max_size=4).map(tuple),
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=2).map(tuple),
    ),
}


def values(kind: Any) -> st.SearchStrategy[Any]:  # Any: whatever a field is annotated with
    """Values of an annotation, down to the leaves."""
    if kind in leaves:
        return leaves[kind]
    if get_origin(kind) is Annotated:
        return bounded(*get_args(kind))
    if isinstance(kind, EnumType):
        return st.sampled_from(list(kind))
    if get_origin(kind) is list:
        return st.lists(values(*get_args(kind)), max_size=3)
    if get_origin(kind) is tuple:
        return st.tuples(*map(values, get_args(kind)))
    if get_origin(kind) in (UnionType, Union):
        return st.one_of(*map(values, get_args(kind)))
    return st.builds(kind, *map(values, get_type_hints(kind, include_extras=True).values()))


def bounded(kind: Any, meta: msgspec.Meta) -> st.SearchStrategy[Any]:  # Any: as above
    """Values of an annotation within its limits."""
    if kind is int:
        # msgpack has integers of 64 bits.
        return st.integers(meta.ge, 2**63 - 1 if meta.le is None else meta.le)
    least = meta.min_length or 0
    if kind is bytes:
        return st.binary(min_size=least, max_size=meta.max_length)
    if kind is str:
        return st.text(min_size=least, max_size=min(3, meta.max_length or 3))
    most = min(3, meta.max_length or 3)
    make = st.lists if get_origin(kind) is list else st.frozensets
    return make(values(*get_args(kind)), min_size=least, max_size=most)


all_messages: st.SearchStrategy[Message] = st.one_of(*map(values, get_args(Message)))


def outcome(payload: bytes) -> Message | None:
    """The message, or None where the sender misbehaved."""
    try:
        return decode(payload)
    except PeerMisbehaved:
        return None


@pytest.mark.parametrize(
    "contact",
    [
        pytest.param(dht.Contact(bytes(20), "nohost.invalid", 4000), id="a name"),
        pytest.param(dht.Contact(bytes(20), "10.0.0.1", 70000), id="no port"),
        pytest.param(dht.Contact(bytes(3), "10.0.0.1", 4000), id="no id"),
    ],
)
def test_a_contact_that_cannot_be_one_is_misbehaviour(contact: dht.Contact) -> None:
    known = Known(contact, 0)
    topics = Round([Shuffle("t", [known])]), RoundBack([], [Advert("t", contact)]), RefuseNeighbour("t", [known])
    walks = Walk(1, "t", contact, 1), WalkEnd(1, "t", [contact]), Members(1, 1, [contact]), Orders(1, 1, [], [contact])
    for message in (Moved(1, contact, False), NotHere(1, contact, False), *topics, *walks):
        with pytest.raises(PeerMisbehaved, match="is no message of this protocol"):
            decode(encode(message))


def test_tuples_are_cut_by_number_and_by_bytes() -> None:
    small: list[Tuple] = [("a", number) for number in range(7)]
    large: list[Tuple] = [("b" * (PART_BYTES // 2), number) for number in range(5)]

    assert [len(small[part]) for part in parts(small, 3)] == [3, 3, 1]
    assert [len(large[part]) for part in parts(large, 100)] == [2, 2, 1]
    assert list(parts([], 3)) == []


@given(all_messages)
def test_a_message_comes_out_as_it_went_in(message: Message) -> None:
    decoded = decode(encode(message))

    assert decoded == message
    assert type(decoded) is type(message)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_misbehaviour(payload: bytes) -> None:
    assert outcome(payload) is None or encode(outcome(payload))


@given(all_messages, st.data())
def test_a_damaged_message_is_a_message_or_misbehaviour(message: Message, data: st.DataObject) -> None:
    payload = bytearray(encode(message))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))

    assert outcome(bytes(payload)) is None or encode(outcome(bytes(payload)))


@given(all_messages, st.data())
def test_half_a_message_is_misbehaviour(message: Message, data: st.DataObject) -> None:
    payload = encode(message)

    assert outcome(payload[: data.draw(st.integers(0, len(payload) - 1))]) is None


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"GET / HTTP/1.1\r\n\r\n",
        msgspec.msgpack.encode([99, 1]),
        msgspec.msgpack.encode([1]),
        msgspec.msgpack.encode({"type": 1}),
        encode(Gap(1)) + b"\x00",
        b"\x91" * 100_000,
        b"\x94\x01\x01\x01" + b"\x91" * 100_000,
        b"\x93\x04\x01\xa1\xff",
        b"\x92\x0d\xdd\xff\xff\xff\xff",
    ],
    ids=[
        "nothing",
        "no msgpack",
        "another protocol",
        "unknown kind",
        "too short",
        "a map",
        "something after it",
        "deep",
        "deep inside",
        "no UTF-8",
        "claims 4 billion items",
    ],
)
def test_what_is_no_message_is_misbehaviour(payload: bytes) -> None:
    with pytest.raises(PeerMisbehaved, match=rf"a frame of {len(payload)} bytes is no message of this protocol: "):
        decode(payload)


def test_tuples_have_their_length_together_however_long_that_is() -> None:
    long: Tuple = ("b" * (MAX_TUPLE_BYTES - 100),)

    assert total_bytes([("a", "b")] * 10) == len(encode([("a", "b")] * 10))
    assert total_bytes([long, long]) == 2 * len(encode(long))


@pytest.mark.parametrize(
    "message",
    [
        InsertCondition(1, 1, Template(("x",)), 0, came_to=-2),
        InsertCondition(1, 1, Template(("x",)), 0, came_to=1 << 63),
        InsertCondition(1, 1, Template(("x",)), 0, sequence=-1),
        InsertCondition(1, 1, Template(("x",)), 0, of=b"short"),
        InsertCondition(1, 1, Template(("x",)), 0, not_by=[bytes(20)] * 100),
        ByHead(1, dht.Contact(bytes(20), "10.0.0.1", 7400), -1, 0),
        ByHead(1, dht.Contact(bytes(20), "10.0.0.1", 7400), 0, 1 << 63),
        Lead(1, True, -1),
        Lead(1, True, (1 << 64) - 1),
        Happened(b"p", [], [], [], -2),
        AskPassed(bytes(1_000), 1),
        AskPassed(b"p", 1, b"short"),
        Passed(bytes(1_000), 1),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_cannot_be_counted_or_named_is_misbehaviour(message: Message) -> None:
    with pytest.raises(PeerMisbehaved, match="is no message of this protocol"):
        decode(encode(message))


@pytest.mark.parametrize("items", [("\ud800",), ("b" * MAX_TUPLE_BYTES,)], ids=["cannot be encoded", "too long"])
def test_one_tuple_of_several_that_cannot_travel_is_refused(items: Tuple) -> None:
    with pytest.raises(BadTerm):
        total_bytes([("a",), items])


def test_facts_of_several_calls_come_as_from_messages_of_their_own() -> None:
    after = [(b"other", 3, 0)]
    parts = [Part(2, 5, after), Part(1, 6), Part(3, 8)]
    facts: list[Tuple] = [(number,) for number in range(6)]
    message = Publish(1, 1, facts, [b"\x00"] * 6, 7, origin=Origin(b"us", 9), parts=parts)

    assert message.by_call() == [
        (range(2), Origin(b"us", 5, after)),
        (range(2, 3), Origin(b"us", 6)),
        (range(3, 6), Origin(b"us", 8)),
    ]
    assert message.parts_of([1, 3, 5]) == [Part(1, 5, after), Part(2, 8)]


def test_facts_of_one_call_come_from_their_message() -> None:
    message = Publish(1, 1, [("a",), ("b",)], [b"\x00"] * 2, 7, origin=Origin(b"us", 9))

    assert message.by_call() == [(range(2), Origin(b"us", 9))]
    assert message.parts_of([1]) == []
