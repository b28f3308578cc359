"""The context of a trace on the wire: earlier versions read later ones' messages, and the other way round."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gsg.errors import PeerMisbehaved
from gsg.wire.messages import Deltas, Event, Flash, Happened, Origin, Part, Publish, decode, encode

CONTEXT = bytes(range(1, 26))
FACTS = [("a", 1), ("b", 2)]
PLACES = [b"\x00", b"\x01"]


def last_left_out(value: list[Any], depth: tuple[int, ...]) -> list[Any]:  # Any: whatever msgpack has
    """A message without its last field, or one at some place in it without that."""
    if not depth:
        return value[:-1]
    first, *rest = depth
    return [last_left_out(item, tuple(rest)) if place == first else item for place, item in enumerate(value)]


def traced(context: bytes | None) -> dict[str, tuple[Any, tuple[int, ...]]]:  # Any: a message
    """Each message that carries a context, and where in it that is the last field, behind its tag."""
    origin = Origin(b"us", 9, [], context)
    part = Part(2, 9, [], context)
    return {
        "facts of one call": (Publish(1, 1, FACTS, PLACES, 7, origin=origin), (8,)),
        "facts of several": (Publish(1, 1, FACTS, PLACES, 7, origin=Origin(b"us", 9), parts=[part]), (10, 0)),
        "deltas": (Deltas(1, 0, FACTS, [1, 1], origin), (5,)),
        "events": (Flash(1, b"us", [Event(1, ("a",))], [b"\x00"], trace=context), ()),
        "events to a subscriber": (Happened(b"us", [Event(1, ("a",))], [[1]], trace=context), ()),
    }


@pytest.mark.parametrize("name", traced(None))
def test_a_context_travels_and_costs_a_byte_where_there_is_none(name: str) -> None:
    with_context, _ = traced(CONTEXT)[name]
    without, at = traced(None)[name]
    before = last_left_out(msgspec.msgpack.decode(encode(without)), at)

    assert decode(encode(with_context)) == with_context
    assert len(encode(without)) == len(msgspec.msgpack.encode(before)) + 1
    assert len(encode(with_context)) == len(msgspec.msgpack.encode(before)) + 2 + len(CONTEXT)


@pytest.mark.parametrize("name", traced(None))
def test_what_peers_say_that_know_of_no_context_is_read(name: str) -> None:
    message, at = traced(None)[name]

    assert decode(msgspec.msgpack.encode(last_left_out(msgspec.msgpack.decode(encode(message)), at))) == message


def test_peers_that_know_of_no_context_read_what_has_one() -> None:
    class Before(msgspec.Struct, frozen=True, array_like=True):
        publisher: bytes
        number: int
        after: list[tuple[bytes, int, int]] = []

    assert msgspec.msgpack.decode(encode(Origin(b"us", 9, [], CONTEXT)), type=Before) == Before(b"us", 9)


def test_each_call_keeps_its_context_among_others() -> None:
    parts = [Part(1, 8, [], CONTEXT), Part(1, 9)]
    message = Publish(1, 1, FACTS, PLACES, 7, origin=Origin(b"us", 9), parts=parts)

    assert [origin.trace for _, origin in message.by_call() if origin is not None] == [CONTEXT, None]
    assert message.parts_of([0]) == parts[:1]


def test_a_context_that_is_far_too_long_is_refused() -> None:
    assert decode(encode(Flash(1, b"us", [], [], trace=bytes(64)))) == Flash(1, b"us", [], [], trace=bytes(64))
    with pytest.raises(PeerMisbehaved):
        decode(encode(Flash(1, b"us", [], [], trace=bytes(65))))
