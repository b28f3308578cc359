"""From a client's message to a request. What is none is answered Failed, with the request's number as far as it can be read."""

from __future__ import annotations

import re

import msgspec

from ..errors import LocalError
from .protocol import NUMBER, Request

_MSGPACK = msgspec.msgpack.Decoder(Request)
_JSON = msgspec.json.Decoder(Request)

SHOWN_CHARACTERS = 300
"""How much of what is wrong with a message is repeated: it may have the client's own words in it."""


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The beginning of every request."""

    tag: msgspec.Raw
    request: NUMBER


_MSGPACK_HEAD = msgspec.msgpack.Decoder(_Head)
_JSON_HEAD = msgspec.json.Decoder(_Head)
_BEGINNING = re.compile(r"\s*\[\s*\d{1,3}\s*,\s*(-?\d{1,18})\s*,")
"""Of a JSON message whose end cannot be read."""


class NotARequest(LocalError):
    """A message that is no request: ``request`` is the number that it has, 0 where none can be read."""

    def __init__(self, problem: str, *, request: int) -> None:
        super().__init__(problem)
        self.request = request


def decode(message: bytes | str) -> Request:
    """The request that a message makes: msgpack where it came as bytes, JSON where it came as text. Raises NotARequest."""
    try:
        request: Request = _JSON.decode(message) if isinstance(message, str) else _MSGPACK.decode(message)
    except RecursionError:
        problem = "arrays too deep in each other"
    except (msgspec.MsgspecError, UnicodeError, ValueError, OverflowError) as error:
        problem = str(error)
    else:
        return request
    form = "JSON in a text frame" if isinstance(message, str) else "msgpack in a binary frame"
    raise NotARequest(
        f"not a request: {problem[:SHOWN_CHARACTERS]}; expected {form}: an array of the kind of request, its number and its fields "
        "($[2] is the first of them), as gsg/http/protocol.py has them",
        request=_number(message),
    )


def _number(message: bytes | str) -> int:
    try:
        return (_JSON_HEAD if isinstance(message, str) else _MSGPACK_HEAD).decode(message).request  # type: ignore[arg-type]  # by its kind
    except (msgspec.MsgspecError, UnicodeError, ValueError, OverflowError, RecursionError):
        found = _BEGINNING.match(message) if isinstance(message, str) else None
        return int(found[1]) if found else 0
