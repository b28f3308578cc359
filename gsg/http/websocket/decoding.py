"""From a client's message to a request. What is none is answered Failed, with the request's number as far as it can be read.

A large message is read in two steps, so that others have their turn: at once where each of its tuples is, and each of these when
it is published, part by part (:mod:`gsg.publisher.caller`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, overload

import msgspec

from ...errors import BadTerm, BadText, LocalError
from ..protocol import NUMBER, Insert, Notify, Request, Retract, Said

LARGE_BYTES = 256 * 1024
"""A message that is longer is read in two steps: a smaller one takes some five milliseconds."""
MAX_TUPLES = 1_000_000
"""Tuples of one request; more is refused: even to look where each begins would keep others waiting."""
MAX_BRACKETS = 3 * MAX_TUPLES
"""In JSON nothing says how many there are, so brackets are counted: as many tuples have more only where each has several terms that
are symbols, and then a message has no room for so many."""
MAX_QUESTION_BYTES = 4 * 1024 * 1024
"""The longest request that publishes nothing: such ones are read at one stretch."""

SHOWN_CHARACTERS = 300
"""How much of what is wrong with a message is repeated: it may have the client's own words in it."""


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The beginning of every request."""

    tag: msgspec.Raw
    request: NUMBER


_TAG = re.compile(r"\s*\[\s*(\d{1,3})\s*,")
_BEGINNING = re.compile(r"\s*\[\s*\d{1,3}\s*,\s*(-?\d{1,18})\s*,")
"""Of a JSON message whose end cannot be read."""


class NotARequest(LocalError):
    """A message that is no request: ``request`` is the number that it has, 0 where none can be read; ``line`` and ``column`` (from
    1) where it breaks off to be JSON, 0 where that is not said; ``why``: what its client is told, where that is another error."""

    def __init__(self, problem: str, *, request: int, line: int = 0, column: int = 0, why: LocalError | None = None) -> None:
        super().__init__(problem)
        self.request = request
        self.line = line
        self.column = column
        self._why = why

    def told(self) -> LocalError:
        """What its client is told."""
        if self._why is not None:
            return self._why
        return BadText(str(self), line=self.line, column=self.column, what="request") if self.line else LocalError(str(self))


class _Large(msgspec.Struct, array_like=True, gc=False):
    """A request that publishes, its tuples unread."""

    tag: int
    request: NUMBER
    tuples: msgspec.Raw
    audience: list[str] | None = None
    key: str | None = None


_PUBLISHING: dict[int, type[Insert] | type[Retract] | type[Notify]] = {1: Insert, 2: Retract, 3: Notify}
_Tuple = tuple[Said, ...]


class _Format:
    """How messages of one format, msgpack or JSON, and what stands in them are read."""

    def __init__(self, codec: Any) -> None:  # Any: a module of msgspec; the two have no common type
        self.request, self.head, self.large, self.tuples, self.tuple = (
            codec.Decoder(kind).decode for kind in (Request, _Head, _Large, list[msgspec.Raw], _Tuple)
        )


_MSGPACK, _JSON = _Format(msgspec.msgpack), _Format(msgspec.json)


class Unread(Sequence[_Tuple]):
    """Tuples each of which is read when it is asked for, which raises NotARequest, or BadTerm, for what is none."""

    def __init__(self, request: int, raws: Sequence[msgspec.Raw], read: Callable[[msgspec.Raw], _Tuple]) -> None:
        self._request = request
        self._raws = raws
        self._read = read

    def __len__(self) -> int:
        return len(self._raws)

    @overload
    def __getitem__(self, at: int) -> _Tuple: ...

    @overload
    def __getitem__(self, at: slice) -> list[_Tuple]: ...

    def __getitem__(self, at: int | slice) -> _Tuple | list[_Tuple]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self._raws)))]
        try:
            return self._read(self._raws[at])
        except BadTerm as error:
            raise BadTerm(f"tuple {at} of the request: {error}") from None
        except UNREADABLE as error:
            raise NotARequest(f"tuple {at} of the request is none: {problem_of(error)}", request=self._request) from None


UNREADABLE = (RecursionError, msgspec.MsgspecError, UnicodeError, ValueError, OverflowError)
"""What decoding raises for what is none."""


def decode(message: bytes | str) -> Request:
    """The request that a message makes: msgpack where it came as bytes, JSON where it came as text. Raises NotARequest."""
    try:
        if len(message) > LARGE_BYTES and (large := _decode_large(message)) is not None:
            return large
        request: Request = _format_of(message).request(message)
    except UNREADABLE as error:
        problem = problem_of(error)
    else:
        return request
    form = "JSON in a text frame" if isinstance(message, str) else "msgpack in a binary frame"
    raise NotARequest(
        f"not a request: {problem}; expected {form}: an array of the kind of request, its number and its fields "
        "($[2] is the first of them), as gsg/http/protocol.py has them",
        request=_number(message),
    )


def problem_of(error: Exception) -> str:
    """What decoding says is wrong."""
    return "arrays too deep in each other" if isinstance(error, RecursionError) else str(error)[:SHOWN_CHARACTERS]


def _decode_large(message: bytes | str) -> Request | None:
    """A large request, with what it publishes unread; None for one that is to be read at one stretch."""
    kind = _PUBLISHING.get(_tag(message))
    if kind is None:
        if len(message) > MAX_QUESTION_BYTES:
            raise NotARequest(
                f"a request of {len(message)} bytes that publishes nothing; expected at most {MAX_QUESTION_BYTES}",
                request=_number(message),
            )
        return None
    if isinstance(message, str) and (brackets := message.count("[")) > MAX_BRACKETS:
        raise too_many(f"{brackets} opening brackets", f"{MAX_TUPLES} tuples, and {MAX_BRACKETS} brackets", _number(message))
    format = _format_of(message)
    large: _Large = format.large(message)
    if format is _MSGPACK and (count := _length(bytes(memoryview(large.tuples)[:5]))) > MAX_TUPLES:
        raise too_many(f"{count} tuples", f"{MAX_TUPLES}", large.request)
    unread = Unread(large.request, format.tuples(large.tuples), format.tuple)
    if kind is Notify:
        return Notify(large.request, unread, large.audience, large.key)
    return kind(large.request, unread, large.audience)


def _format_of(message: bytes | str) -> _Format:
    return _JSON if isinstance(message, str) else _MSGPACK


def too_many(count: str, expected: str, request: int) -> NotARequest:
    """The refusal of a request that is too large."""
    return NotARequest(f"a request with {count}; expected at most {expected}: cut it into several", request=request)


def _tag(message: bytes | str) -> int:
    """The kind of a request, 0 where it cannot be told by its beginning."""
    if isinstance(message, str):
        found = _TAG.match(message)
        return int(found[1]) if found else 0
    # msgpack: an array of a few, or of 16 or 32 bits, then a small number.
    head = {0xDC: 3, 0xDD: 5}.get(message[0], 1)
    return message[head] if len(message) > head else 0


def _length(array: bytes) -> int:
    """How many items an array of msgpack says that it has; 0 for what is none."""
    if 0x90 <= array[0] <= 0x9F:
        return array[0] & 0x0F
    size = {0xDC: 2, 0xDD: 4}.get(array[0], 0)
    return int.from_bytes(array[1 : 1 + size], "big")


def _number(message: bytes | str) -> int:
    try:
        head: _Head = _format_of(message).head(message)
        return head.request
    except UNREADABLE:
        found = _BEGINNING.match(message) if isinstance(message, str) else None
        return int(found[1]) if found else 0
