"""What linked channels tell each other. Frames are msgpack, four bytes of length before each."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from ...errors import PeerMisbehaved

VERSION: Final = 1
"""Of these messages; a channel that speaks another one is refused by name."""
MAX_NAME: Final = 256
"""Characters of a channel's name and of its origin; longer ones are refused."""
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
    """An event, under the link's own number; ``body`` is the event as encoded (encoding.py), once for all links."""

    number: int
    body: msgspec.Raw


class Taken(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """All that was told on this link up to a number was taken."""

    number: int


Message: TypeAlias = Hello | Interests | Told | Taken

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)


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
