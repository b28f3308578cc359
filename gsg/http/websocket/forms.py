"""How messages are written on one WebSocket: as arrays, in msgpack or JSON, or in another form that the client has asked for by its
subprotocol (gsg/http/json/form.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from ...languages.rows import Change
from ..protocol import Reply, Request
from .decoding import decode

PLAIN = "plain"
"""How a subscription's terms are written where it does not ask for another way."""


class Form(Protocol):
    """One of them, of one connection."""

    subprotocol: str | None
    """Its name (RFC 6455, section 1.9); None for what is spoken without one."""
    is_text: bool
    """Whether messages go in text frames."""
    terms: Sequence[str]
    """The ways to write terms that a subscription may ask for."""

    def decode(self, message: bytes | str) -> Request:
        """The request of a frame. Raises NotARequest."""

    def encode(self, reply: Reply) -> bytes:
        """What the peer says. Raises UnicodeEncodeError, OverflowError or RecursionError for what cannot be written."""

    def encode_row(self, change: Change, names: tuple[str, ...], terms: str) -> bytes:
        """A row as it stands in a message of rows. Raises the same."""

    def encode_rows(self, number: int, signs: list[int], rows: list[msgspec.Raw]) -> bytes:
        """A message of rows: the number of the subscription's request, and of each row its sign and itself."""


class _EncodedRows(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """A Rows message whose rows have been encoded, since their lengths had to be known."""

    request: int
    signs: list[int]
    values: list[msgspec.Raw]


class Arrays:
    """The form that needs no subprotocol: JSON where the first frame is text, else msgpack."""

    subprotocol: str | None = None
    terms: Sequence[str] = (PLAIN,)

    def __init__(self) -> None:
        self.is_text = False
        self._encode = _encode_msgpack
        self._is_first = True

    def decode(self, message: bytes | str) -> Request:
        """As :class:`Form` has it."""
        if self._is_first:
            self._is_first, self.is_text = False, isinstance(message, str)
            self._encode = _encode_json if self.is_text else _encode_msgpack
        return decode(message)

    def encode(self, reply: Reply) -> bytes:
        """As :class:`Form` has it."""
        return self._encode(reply)

    def encode_row(self, change: Change, names: tuple[str, ...], terms: str) -> bytes:
        """As :class:`Form` has it; terms are written in one way alone."""
        return self._encode(change[1].aligned(names))

    def encode_rows(self, number: int, signs: list[int], rows: list[msgspec.Raw]) -> bytes:
        """As :class:`Form` has it."""
        return self._encode(_EncodedRows(number, signs, rows))


_encode_msgpack = msgspec.msgpack.Encoder().encode
_encode_json = msgspec.json.Encoder().encode
