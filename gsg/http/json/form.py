"""The WebSocket's form of objects, ``gsg.v1+json``: requests and replies as messages.py has them, rows by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from ...languages.rows import Change, Sign
from ...monitoring.logs.fields import time_text
from ...tuples.terms import Term
from ..protocol import Reply, Request
from .decoding import decode_object
from .messages import reply_object
from .objects import Change as ChangeObject
from .objects import SignText
from .terms import WRITERS, TermForm

SUBPROTOCOL: Final = "gsg.v1+json"

Clock: TypeAlias = Callable[[], float]

_encode = msgspec.json.Encoder().encode


class _EncodedRows(msgspec.Struct, frozen=True, tag_field="type", tag="rows"):
    """Rows of messages.py, which have been encoded, since their lengths had to be known."""

    id: int
    rows: list[msgspec.Raw]


class Objects:
    """What one connection speaks. ``clock``: seconds since 1970."""

    subprotocol: str | None = SUBPROTOCOL
    is_text = True
    terms: Sequence[str] = tuple(TermForm)

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock

    def decode(self, message: bytes | str) -> Request:
        """The request of a text frame. Raises NotARequest, BadTerm."""
        return decode_object(message)

    def encode(self, reply: Reply) -> bytes:
        """What the peer says."""
        return _encode(reply_object(reply))

    def encode_row(self, change: Change, names: tuple[str, ...], terms: str) -> bytes:
        """A row by name, with its sign and the time."""
        sign, row = row_of(change, WRITERS[TermForm(terms)])
        return _encode(ChangeObject(sign, row, time_text(self._clock())))

    def encode_rows(self, number: int, signs: list[int], rows: list[msgspec.Raw]) -> bytes:
        """A message of rows, which have their signs."""
        return _encode(_EncodedRows(number, rows))


def row_of(change: Change, write: Callable[[Term], Any]) -> tuple[SignText, dict[str, Any]]:  # Any: terms as they are written
    """The sign and the terms of a difference, by name."""
    sign, row = change
    return _SIGNS[sign], dict(zip(row, map(write, row.terms), strict=True))


_SIGNS: Final[Mapping[Sign, SignText]] = {Sign.PLUS: "+", Sign.MINUS: "-", Sign.EVENT: "!"}
