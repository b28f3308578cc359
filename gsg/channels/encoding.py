"""An event as bytes, as it travels between processes: msgpack, with extensions for what that has no form for."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..errors import BadTerm, LocalError, PeerMisbehaved
from .events import MAX_BITS, Event, check_origin, fields_of
from .values import Reference

REFERENCE: Final = 1
"""The extension by which a reference travels."""
WHOLE: Final = 2
"""The same for a whole number that msgpack has no form for, below -2^63 or from 2^64 on: two's complement, the high byte first."""
MAX_WHOLE_BYTES: Final = MAX_BITS // 8 + 1
"""Of such a number, its sign counted; a longer one is refused unread, as no event holds it."""
_PLAIN = {str, float, bool, type(None)}


class _Body(msgspec.Struct, frozen=True, array_like=True):
    source: str
    number: int
    fields: dict[str, Any]  # Any: checked by fields_of
    environment: dict[str, Any]  # Any: as above
    readers: list[str] | None = None


def encode_event(event: Event) -> bytes:
    """An event with all that belongs to it."""
    readers = None if event.readers is None else sorted(event.readers)
    return _encode(_Body(event.source, event.number, _as_sent(event.fields), _as_sent(dict(event.environment)), readers))


def decode_event(body: bytes | msgspec.Raw) -> Event:
    """The event of these bytes. Raises PeerMisbehaved for what is none, or too large a one."""
    try:
        found: _Body = _decode(body)
        fields, environment = fields_of(found.fields), fields_of(found.environment)
    except BadTerm as error:
        raise PeerMisbehaved(f"what is no event: {error}") from None
    except Exception as error:  # whatever bytes bring about, such as a RecursionError, is the fault of who sent them
        raise PeerMisbehaved(f"an event that cannot be read: {error}") from None
    readers = None if found.readers is None else frozenset(found.readers)
    event = Event(fields, found.source, found.number, environment, readers)
    try:
        check_origin(event)
    except LocalError as error:
        raise PeerMisbehaved(str(error)) from None
    return event


def _as_sent(value: Any) -> Any:  # Any: a value of an event, and what msgspec encodes in its place
    """A value in which extensions stand for what msgpack has no form for: msgspec would make a mapping of a reference, and asks
    about neither that nor large numbers. The depth of values is bounded where events are made."""
    kind = type(value)
    if kind is dict:
        if all(type(each) in _PLAIN for each in value.values()):
            return value
        return {name: _as_sent(each) for name, each in value.items()}
    if kind is list:
        return [_as_sent(each) for each in value]
    if kind is Reference:
        return msgspec.msgpack.Ext(REFERENCE, value.address.encode())
    if kind is int and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(WHOLE, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    return value


def _from_extension(code: int, data: memoryview) -> Reference | int:
    if code == REFERENCE:
        return Reference(bytes(data).decode())
    if code != WHOLE:
        raise ValueError(f"extension {code}; expected {REFERENCE}, a reference, or {WHOLE}, a whole number")
    if len(data) > MAX_WHOLE_BYTES:
        raise ValueError(f"a whole number of {len(data):,} bytes; expected at most {MAX_WHOLE_BYTES}")
    return int.from_bytes(data, "big", signed=True)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Body, ext_hook=_from_extension).decode
