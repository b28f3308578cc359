"""Frames: a length of four bytes, big-endian, then so many bytes of payload.

:class:`Framer` cuts a byte stream into payloads. It copies each byte once when a read holds whole frames, and twice when a frame
spans reads, whatever the sizes; it never allocates what a header merely claims.
"""

from __future__ import annotations

from struct import Struct

from ..errors import FrameTooLarge, PayloadTooLarge

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""The longest payload, both ways."""

HEADER_BYTES = 4

_header = Struct(">I")
_pack = _header.pack
_unpack_from = _header.unpack_from


def header(payload: bytes) -> bytes:
    """The header to write before a payload. Raises PayloadTooLarge."""
    size = len(payload)
    if size > MAX_FRAME_BYTES:
        raise PayloadTooLarge(size, MAX_FRAME_BYTES)
    return _pack(size)


def frame(payload: bytes) -> bytes:
    """A payload with its header. Raises PayloadTooLarge."""
    return header(payload) + payload


class Framer:
    """Cuts one direction of one stream into payloads; ``limit_bytes`` may be lowered or raised between frames."""

    def __init__(self, limit_bytes: int = MAX_FRAME_BYTES) -> None:
        self.limit_bytes = limit_bytes
        # The beginning of an unfinished frame, in the pieces that were read. Bounded by limit_bytes plus one read.
        self._pieces: list[bytes] = []
        self._held = 0
        self._wanted = HEADER_BYTES

    @property
    def unfinished(self) -> bool:
        """Whether the stream stands in the middle of a frame."""
        return self._held > 0

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that ``data`` completes, in order.

        Raises FrameTooLarge at a header that claims more than the limit, as soon as its four bytes are there; the stream cannot be
        read on after that.
        """
        if self._held:
            self._pieces.append(data)
            self._held += len(data)
            if self._held < self._wanted:
                return []
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._held = 0
        found: list[bytes] = []
        append = found.append
        unpack_from = _unpack_from
        limit = self.limit_bytes
        at = 0
        end = len(data)
        self._wanted = HEADER_BYTES
        while at + HEADER_BYTES <= end:
            (size,) = unpack_from(data, at)
            if size > limit:
                raise FrameTooLarge(size, limit)
            after = at + HEADER_BYTES + size
            if after > end:
                self._wanted = after - at
                break
            append(data[at + HEADER_BYTES : after])
            at = after
        if at < end:
            rest = data[at:] if at else data
            self._pieces.append(rest)
            self._held = len(rest)
        return found
