"""Addresses to find the way back by, after a partition or a restart, without I/O.

In the book stand peers that died, or only seem to have, and the addresses that the user gave. Each is called at again and again,
ever more seldom; two halves of a network that were cut apart for long meet again when one such call is answered, and then all
others are called at once, since they may be back too. ``address_book_file.py`` keeps it, with the living, on disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Annotated

import msgspec

from ..datagrams.address_blocks import IN_BUCKET, PER_BLOCK, block_of
from ..errors import Address, BadBook

MAX_ADDRESSES = 512
"""Addresses remembered; of those that the user did not give, the one called in vain most often is dropped for a new one, of its
address block when that has its share."""

FIRST_S, LONGEST_S = 2.0, 120.0
"""How long to wait before calling at an address again: at first, and after many calls in vain. Each wait doubles."""


@dataclass(slots=True)
class _Entry:
    given: bool
    next_s: float
    wait_s: float = FIRST_S


class AddressBook:
    """Addresses worth calling at. Hosts are IP literals, or names where the user gave names."""

    def __init__(self, *, rng: Random, per_block: int = PER_BLOCK) -> None:
        self._rng = rng
        self._per_block = per_block
        self._entries: dict[Address, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, address: Address) -> bool:
        return address in self._entries

    def add_address(self, address: Address, now: float, *, given: bool = False) -> None:
        """Somebody lived here until now; ``given`` by the user, the address is never dropped."""
        known = self._entries.get(address)
        if known is not None:
            known.given = known.given or given
            known.next_s = now + FIRST_S
            known.wait_s = FIRST_S
            return
        block = block_of(address[0]) if self._per_block and not given else None
        if block is not None:
            of_block = [each for each, entry in self._entries.items() if not entry.given and block_of(each[0]) == block]
            if len(of_block) >= IN_BUCKET * self._per_block:
                del self._entries[max(of_block, key=self._waits)]
        if len(self._entries) >= MAX_ADDRESSES:
            dropped = max((each for each, entry in self._entries.items() if not entry.given), key=self._waits, default=None)
            if dropped is None:
                return
            del self._entries[dropped]
        self._entries[address] = _Entry(given, now + FIRST_S)

    def remove_address(self, address: Address) -> None:
        """Somebody whom we know lives there: no need to call, unless the user gave it; then seldom, as its peer may change."""
        entry = self._entries.get(address)
        if entry is not None and not entry.given:
            del self._entries[address]

    def take_due(self, now: float, limit: int) -> list[Address]:
        """Up to ``limit`` addresses to call at now, the longest overdue first; each then waits twice as long."""
        overdue = sorted((address for address, entry in self._entries.items() if entry.next_s <= now), key=self._next)[:limit]
        for address in overdue:
            entry = self._entries[address]
            # Spread, so that addresses lost at one moment are not for ever called at one moment.
            entry.next_s = now + entry.wait_s * self._rng.uniform(0.75, 1.25)
            entry.wait_s = min(2 * entry.wait_s, LONGEST_S)
        return overdue

    def make_all_due(self, now: float) -> None:
        """Let all addresses be called at now: somebody is back, and so may be the others."""
        for entry in self._entries.values():
            entry.next_s = min(entry.next_s, now)
            entry.wait_s = FIRST_S

    def addresses(self) -> list[Address]:
        """All of them, those most likely to answer first."""
        return sorted(self._entries, key=self._waits)

    def _waits(self, address: Address) -> float:
        return self._entries[address].wait_s

    def _next(self, address: Address) -> float:
        return self._entries[address].next_s


def encode(addresses: Iterable[Address]) -> bytes:
    """A book as it stands in a file: a line of JSON for each address, to be read by people too, and one with their checksum."""
    lines = b"".join(msgspec.json.encode(each) + b"\n" for each in addresses)
    return lines + msgspec.json.encode(_Sum(_sum(lines))) + b"\n"


def decode(data: bytes) -> list[Address]:
    """The addresses in a file, at most MAX_ADDRESSES. Raises BadBook with the line that is none, or with the last one where the
    checksum is not that of the others. A book of an earlier version, or one that somebody wrote by hand, has none."""
    if not data:
        # An empty book has a checksum.
        raise BadBook(1, "the file is empty")
    addresses = []
    lines = data.split(b"\n")
    if len(lines) > 1 and lines[-2].startswith(b"{"):
        above = data[: len(data) - len(lines[-2]) - 1]
        if data[len(above) :] != msgspec.json.encode(_Sum(_sum(above))) + b"\n":
            raise BadBook(len(lines) - 1, "the checksum there is not that of the lines above")
        lines = lines[:-2]
    for number, line in enumerate([line for line in lines if line][:MAX_ADDRESSES], 1):
        try:
            addresses.append(_decode_line(line))
        except msgspec.MsgspecError as error:
            raise BadBook(number, str(error)) from None
    return addresses


class _Sum(msgspec.Struct, frozen=True):
    """The last line."""

    checksum: str


def _sum(lines: bytes) -> str:
    return blake2b(lines, digest_size=8).hexdigest()


_decode_line = msgspec.json.Decoder(
    tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=255)], Annotated[int, msgspec.Meta(ge=1, le=65535)]]
).decode
