"""What linked channels tell each other. Frames are msgpack, four bytes of length before each."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from ...errors import BadTerm, PeerMisbehaved
from ..events import MAX_BITS, Event, fields_of
from ..values import Reference

VERSION: Final = 1
"""Of these messages; a channel that speaks another one is refused by name."""
MAX_NAME: Final = 256
"""Characters of a channel's name, of its origin and of an event's source; longer ones are refused."""
MAX_FRAME: Final = 8 * 1024 * 1024
"""Bytes of one frame; a longer one ends the link."""


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """First on each link: who speaks, in which life, and up to which number it has taken what came by this link before."""

    version: int
    name: str
    origin: str
    taken: int = 0


class Interests(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """What a channel wants, as a text of the predicate language, who asks there, and with whom it is linked. A later version of the
    same origin takes the place of an earlier one."""

    origin: str
    version: int
    closure: str
    askers: list[str]
    neighbours: list[str]


class Told(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """An event, under the link's own number; ``body`` is the event as encoded, once for all links."""

    number: int
    body: msgspec.Raw


class _Body(msgspec.Struct, frozen=True, array_like=True):
    source: str
    number: int
    fields: dict[str, Any]  # Any: checked by fields_of
    environment: dict[str, Any]  # Any: as above
    readers: list[str] | None = None


class Taken(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """All that was told on this link up to a number was taken."""

    number: int


Message: TypeAlias = Hello | Interests | Told | Taken
REFERENCE: Final = 1
"""The msgpack extension by which a reference travels."""
WHOLE: Final = 2
"""The same for a whole number that msgpack has no form for, below -2^63 or from 2^64 on: two's complement, the high byte first."""
MAX_WHOLE_BYTES: Final = MAX_BITS // 8 + 1
"""Of such a number, its sign counted; a longer one is refused unread, as no event holds it."""


def _from_extension(code: int, data: memoryview) -> Reference | int:
    if code == REFERENCE:
        return Reference(bytes(data).decode())
    if code != WHOLE:
        raise ValueError(f"extension {code}; expected {REFERENCE}, a reference, or {WHOLE}, a whole number")
    if len(data) > MAX_WHOLE_BYTES:
        raise ValueError(f"a whole number of {len(data):,} bytes; expected at most {MAX_WHOLE_BYTES}")
    return int.from_bytes(data, "big", signed=True)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message, ext_hook=_from_extension)
_body_decoder = msgspec.msgpack.Decoder(_Body, ext_hook=_from_extension)


def encode(message: Message) -> bytes:
    """A frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


def decode(body: bytes) -> Message:
    """The message of a frame, without its length. Raises PeerMisbehaved for what is none."""
    try:
        message: Message = _decoder.decode(body)
    except Exception as error:  # whatever bytes bring about, such as a RecursionError, is the fault of who sent them
        raise PeerMisbehaved(f"a frame of {len(body):,} bytes is no message of a channel: {error}") from None
    return message


def body_of(event: Event) -> msgspec.Raw:
    """An event as it travels."""
    readers = None if event.readers is None else sorted(event.readers)
    fields, environment = _as_sent(event.fields), _as_sent(dict(event.environment))
    return msgspec.Raw(_encoder.encode(_Body(event.source, event.number, fields, environment, readers)))


def _as_sent(value: Any) -> Any:  # Any: a value of an event, and what msgspec encodes in its place
    """A copy in which extensions stand for what msgpack has no form for: msgspec would make a mapping of a reference, and asks
    about neither that nor large numbers. The depth of values is bounded where events are made."""
    kind = type(value)
    if kind is dict:
        return {name: _as_sent(each) for name, each in value.items()}
    if kind is list:
        return [_as_sent(each) for each in value]
    if kind is Reference:
        return msgspec.msgpack.Ext(REFERENCE, value.address.encode())
    if kind is int and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(WHOLE, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    return value


def event_of(message: Told) -> Event:
    """The event of a message. Raises PeerMisbehaved for what is none."""
    try:
        body: _Body = _body_decoder.decode(message.body)
        fields, environment = fields_of(body.fields), fields_of(body.environment)
    except BadTerm as error:
        raise PeerMisbehaved(f"what is no event: {error}") from None
    except Exception as error:  # as in decode
        raise PeerMisbehaved(f"an event that cannot be read: {error}") from None
    if len(body.source) > MAX_NAME:
        raise PeerMisbehaved(f"a source of {len(body.source):,} characters; expected at most {MAX_NAME}")
    readers = None if body.readers is None else frozenset(body.readers)
    return Event(fields, body.source, body.number, environment, readers)
