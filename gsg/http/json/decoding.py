"""From JSON to requests and to tuples. What is none is refused with its place, and costs nobody else anything.

As in gsg/http/websocket/decoding.py a large message is read in two steps: at once where each of its tuples is, and each of these
when it is published, part by part.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

import msgspec

from ...errors import BadTerm
from ...tuples.terms import Tuple, fact
from ..protocol import NUMBER, Insert, Notify, Request, Retract
from ..websocket.decoding import (
    LARGE_BYTES,
    MAX_QUESTION_BYTES,
    MAX_TUPLES,
    UNREADABLE,
    NotARequest,
    Unread,
    problem_of,
    too_many,
)
from .messages import REQUEST_TYPE, object_name, request_of
from .terms import SaidInJson, said

_EXPECTED = (
    'expected an object with the type of request, its number as "id" and its fields, as docs/protocol.md has them, such as '
    '{"type": "subscribe", "id": 1, "query": "(?x, on, ?y)"}'
)


class _Head(msgspec.Struct, gc=False):
    """What every request has."""

    type: str = ""
    id: NUMBER = 0


class _Large(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A request that publishes, its tuples unread."""

    id: NUMBER
    tuples: msgspec.Raw
    type: str = ""
    audience: list[str] | None = None
    key: str | None = None


class Batch(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """What is published over HTTP: tuples, and who alone may read them (ids of peers in hexadecimal)."""

    tuples: msgspec.Raw
    audience: list[str] | None = None


class _AnyArray(msgspec.Struct, array_like=True, gc=False):
    """An array whose items are passed over."""


_decode_request = msgspec.json.Decoder(REQUEST_TYPE).decode
_decode_head = msgspec.json.Decoder(_Head).decode
_decode_large = msgspec.json.Decoder(_Large).decode
_decode_batch = msgspec.json.Decoder(Batch).decode
_check_arrays = msgspec.json.Decoder(list[_AnyArray]).decode
_decode_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_tuple = msgspec.json.Decoder(tuple[SaidInJson, ...]).decode

_PUBLISHING: Final = {object_name(kind): kind for kind in (Insert, Retract, Notify)}
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18})\s*[,}]')
"""Of a message that cannot be read."""
_BYTE = re.compile(r"\(byte (\d+)\)")
"""Where what is no JSON breaks off, as msgspec says it."""


def decode_object(message: bytes | str) -> Request:
    """The request that an object makes. Raises NotARequest."""
    if isinstance(message, bytes):
        raise NotARequest("not a request: bytes in a binary frame; expected JSON in a text frame, as gsg.v1+json has it", request=0)
    try:
        if len(message) > LARGE_BYTES and (large := _large(message)) is not None:
            return large
        return request_of(_decode_request(message))
    except BadTerm as error:
        raise NotARequest(str(error), request=number_of(message), why=error) from None
    except UNREADABLE as error:
        _refuse(f"not a request: {problem_of(error)}; {_EXPECTED}", message, error, number=number_of(message))


def _large(message: str) -> Request | None:
    """A large request, with what it publishes unread; None for one that is to be read at one stretch."""
    kind = _PUBLISHING.get(_decode_head(message).type)
    if kind is None:
        if len(message) > MAX_QUESTION_BYTES:
            raise NotARequest(
                f"a request of {len(message)} characters that publishes nothing; expected at most {MAX_QUESTION_BYTES}",
                request=number_of(message),
            )
        return None
    large: _Large = _decode_large(message)
    if kind is Notify:
        return Notify(large.id, unread_tuples(large.tuples, large.id), large.audience, large.key)
    if large.key is not None:
        raise NotARequest(f"not a request: a key in {large.type}, as facts are a set; {_EXPECTED}", request=large.id)
    return kind(large.id, unread_tuples(large.tuples, large.id), large.audience)


def number_of(message: str) -> int:
    """The number of a request, as far as it can be read; else 0."""
    try:
        head: _Head = _decode_head(message)
    except UNREADABLE:
        found = _ID.search(message, 0, LARGE_BYTES)
        return int(found[1]) if found else 0
    return head.id


def unread_tuples(raw: bytes | msgspec.Raw, number: int = 0) -> Unread:
    """The tuples of an array of JSON, each of which is read when it is asked for. Raises NotARequest for too many of them, and what
    UNREADABLE has for what is no array of arrays."""
    # Nothing says how many there are before all are found, which takes long: so brackets are counted, and what is no array refused.
    brackets = bytes(raw).count(b"[")
    if brackets > MAX_TUPLES:
        raise too_many(f"{brackets} opening brackets", f"{MAX_TUPLES}", number)
    _check_arrays(raw)
    return Unread(number, _decode_raws(raw), read_fact)


def read_fact(raw: bytes | msgspec.Raw) -> Tuple:
    """One tuple of constants. Raises what UNREADABLE has, and BadTerm."""
    return fact(tuple(map(said, _decode_tuple(raw))))


def decode_batch(body: bytes) -> tuple[Unread, list[str] | None]:
    """Tuples and their audience, from an array of tuples or a Batch. Raises NotARequest, whose number says nothing."""
    try:
        if body.lstrip()[:1] != b"{":
            return unread_tuples(body), None
        batch: Batch = _decode_batch(body)
        return unread_tuples(batch.tuples), batch.audience
    except UNREADABLE as error:
        expected = 'expected an array of tuples, or {"tuples": [...], "audience": [...]}'
        _refuse(f"no tuples: {problem_of(error)}; {expected}", body.decode("utf-8", "replace"), error)


def _refuse(problem: str, message: str, error: Exception, *, number: int = 0) -> NoReturn:
    """Raise NotARequest, with the place where the message breaks off to be JSON."""
    line, column = place_of(message, error)
    raise NotARequest(problem, request=number, line=line, column=column) from None


def place_of(message: str, error: Exception) -> tuple[int, int]:
    """Line and column (from 1) where a text breaks off to be JSON; zeros for an error that says no place in the text."""
    if not isinstance(error, msgspec.DecodeError) or isinstance(error, msgspec.ValidationError):
        return 0, 0
    found = _BYTE.search(str(error))
    read = message.encode("utf-8", "replace")[: int(found[1])].decode("utf-8", "replace") if found else message
    return read.count("\n") + 1, len(read) - (read.rfind("\n") + 1) + 1
