"""What linked channels tell each other. Frames are msgpack, four bytes of length before each."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from ...errors import BadTerm
from ..events import Event, fields_of
from ..values import Reference, Value

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


def _extended(value: Any) -> msgspec.msgpack.Ext:  # Any: what msgspec does not know
    if isinstance(value, Reference):
        return msgspec.msgpack.Ext(REFERENCE, value.address.encode())
    # By this, and nothing else, msgspec is told that a value cannot be encoded; events.py lets no such value in.
    raise NotImplementedError(type(value).__name__)


def _from_extension(code: int, data: memoryview) -> Reference:
    if code != REFERENCE:
        raise ValueError(f"extension {code}; expected {REFERENCE}, a reference")
    return Reference(bytes(data).decode())


_encoder = msgspec.msgpack.Encoder(enc_hook=_extended)
_decoder = msgspec.msgpack.Decoder(Message, ext_hook=_from_extension)
_body_decoder = msgspec.msgpack.Decoder(_Body, ext_hook=_from_extension)


def encode(message: Message) -> bytes:
    """A frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


def decode(body: bytes) -> Message:
    """The message of a frame, without its length. Raises msgspec.DecodeError, msgspec.ValidationError, ValueError."""
    message: Message = _decoder.decode(body)
    return message


def body_of(event: Event) -> msgspec.Raw:
    """An event as it travels."""
    readers = None if event.readers is None else sorted(event.readers)
    return msgspec.Raw(_encoder.encode(_Body(event.source, event.number, event.fields, dict(event.environment), readers)))


def event_of(message: Told) -> Event:
    """The event of a message. Raises BadTerm for what is none, msgspec.DecodeError and ValueError for what cannot be read."""
    body: _Body = _body_decoder.decode(message.body)
    if len(body.source) > MAX_NAME:
        raise BadTerm(f"a source of {len(body.source):,} characters; expected at most {MAX_NAME}")
    readers = None if body.readers is None else frozenset(body.readers)
    environment: dict[str, Value] = fields_of(body.environment)
    return Event(fields_of(body.fields), body.source, body.number, environment, readers)
