"""What linked channels tell each other, as bytes."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.channels.events import MAX_BITS, Event
from gsg.channels.links.messages import WHOLE, Hello, Told, body_of, decode, encode, event_of
from gsg.channels.values import Reference
from gsg.errors import PeerMisbehaved

LARGEST = 2**MAX_BITS - 1
BORDERS = [2**64 - 1, 2**64, 2**128, LARGEST, -(2**63), -(2**63) - 1, -(2**64), -LARGEST]
values = st.recursive(
    st.integers(-LARGEST, LARGEST) | st.text(max_size=9) | st.booleans() | st.none() | st.builds(Reference, st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
    max_leaves=9,
)


def carried(event: Event) -> Event:
    told = decode(encode(Told(1, body_of(event)))[4:])
    assert isinstance(told, Told)
    return event_of(told)


@pytest.mark.parametrize("number", BORDERS)
def test_whole_numbers_of_any_length_that_events_may_have_are_carried(number: int) -> None:
    event = Event({"n": number, "in": {"a": [1, number]}}, "c-1", 1, {"of": number}, frozenset({"Fred"}))

    assert carried(event) == event


def test_a_reference_stays_one() -> None:
    event = Event({"at": [Reference("gsg://127.0.0.1:4010/x")]}, "c-1", 1)

    assert carried(event) == event


@given(st.dictionaries(st.text(min_size=1, max_size=3), values, max_size=3))
def test_an_event_arrives_as_it_was_sent(fields: dict[str, object]) -> None:
    event = Event(fields, "c-1", 1)  # type: ignore[arg-type]  # values, as hypothesis makes them

    assert carried(event) == event


def body(field: bytes) -> Told:
    return Told(1, msgspec.Raw(b"\x95\xa1s\x01\x81\xa1a" + field + b"\x80\xc0"))


@pytest.mark.parametrize(
    "field",
    [
        b"\x91" * 100_000 + b"\x01",
        b"\xdd\xff\xff\xff\xff",
        b"\x81\x90\x01",
        b"\xd4\x01\xff",
        b"\xd4\x07\xff",
        b"\xc7\x82" + bytes([WHOLE]) + bytes(130),
        b"\xc7\x81" + bytes([WHOLE]) + b"\x7f" * 129,
    ],
    ids=["deep", "long", "name", "reference", "extension", "number unread", "number"],
)
def test_what_is_no_event_is_the_fault_of_its_sender(field: bytes) -> None:
    with pytest.raises(PeerMisbehaved):
        event_of(body(field))


@pytest.mark.parametrize(
    "frame",
    [b"\x93\x02\x01" + b"\x91" * 100_000 + b"\x01", b"", b"\xc1", b"\x91\x09", encode(Hello(1, "a", "b"))[4:-1]],
    ids=["deep", "empty", "no msgpack", "no message", "cut"],
)
def test_what_is_no_message_is_the_fault_of_its_sender(frame: bytes) -> None:
    with pytest.raises(PeerMisbehaved, match="is no message of a channel"):
        decode(frame)


@given(st.binary(max_size=99))
def test_any_bytes_are_a_message_or_the_fault_of_their_sender(frame: bytes) -> None:
    with suppress(PeerMisbehaved):
        decode(frame)
    with suppress(PeerMisbehaved):
        event_of(Told(1, msgspec.Raw(frame)))
