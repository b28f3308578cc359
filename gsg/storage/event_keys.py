"""The keys of events that were told (idempotency keys): whoever says one again is known, for a bounded time and number. Pure.

A key is a text of its publisher's choice that names the events of one request. What is remembered of it is its hash, that of the
events, how many they were and when: a request that comes again is answered as before, and one that has other events under the same
key is no repetition. Keys of one owner, the name of a client's token, are never those of another.

    told ──remember──> known ──KEPT_S have passed, or newer ones take its place──> forgotten
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Self

import msgspec

from ..errors import LocalError
from ..tuples.audiences import Audience
from ..tuples.terms import Tuple

MAX_KEY_CHARACTERS = 200
"""The longest key; a longer one is refused."""
KEPT_S = 24 * 3600
"""How long a key is known."""
KEYS_OF_ONE = 50_000
"""Keys of one owner that are known; the oldest of that owner goes. Those who have no token are one owner."""
KEYS = 100_000
"""Keys of all owners that are known, some 25 MB; the oldest of the owner with the most goes."""

_LAYOUT = struct.Struct(">8s16s8sIQ")
RECORD_BYTES = _LAYOUT.size + 4
"""Of one key: its fields, and their CRC-32."""


class KeyRecord(NamedTuple):
    """What is known of one key: hashes of its owner, of itself and of the events, their number, and when they were told."""

    owner: bytes
    key: bytes
    events: bytes
    number: int
    at_s: int

    def pack(self) -> bytes:
        """As it is kept: RECORD_BYTES."""
        fields = _LAYOUT.pack(*self)
        return fields + zlib.crc32(fields).to_bytes(4, "big")

    @classmethod
    def unpack(cls, record: bytes) -> Self | None:
        """The inverse; None for bytes that are no record, or a damaged one."""
        fields = record[: _LAYOUT.size]
        if len(record) != RECORD_BYTES or zlib.crc32(fields).to_bytes(4, "big") != record[_LAYOUT.size :]:
            return None
        return cls(*_LAYOUT.unpack(fields))


def record_of(owner: str, key: str, events: Sequence[Tuple], audience: Audience | None, at_s: float) -> KeyRecord:
    """What is to be remembered of a key. Raises LocalError for a text that can be none."""
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_CHARACTERS or not key.isprintable():
        shown = f"{key!r:.80}" if isinstance(key, str) else type(key).__name__
        raise LocalError(
            f"{shown} is no key for events; expected a text of 1 to {MAX_KEY_CHARACTERS} printable characters, such as a UUID"
        )
    whose = blake2b(owner.encode(), digest_size=8).digest()
    said = msgspec.msgpack.encode((events, None if audience is None else sorted(audience)))
    hashed = blake2b(said, digest_size=8).digest()
    return KeyRecord(whose, blake2b(key.encode(), digest_size=16, key=whose).digest(), hashed, len(events), max(int(at_s), 0))


class EventKeys:
    """The keys that are known."""

    def __init__(self) -> None:
        # A plain dict whose first ones are deleted takes the longer to find its first the more of them there were.
        self._owners: dict[bytes, OrderedDict[bytes, bytes]] = {}
        """By owner and key the record, the one remembered first first. Limits: KEYS_OF_ONE, KEYS."""
        self.count = 0
        """How many there are."""

    def find(self, asked: KeyRecord) -> KeyRecord | None:
        """What is known of the key of a request; None where it is to be carried out. Raises LocalError where the key names other
        events."""
        known = self._owners.get(asked.owner)
        packed = None if known is None else known.get(asked.key)
        found = None if packed is None else KeyRecord.unpack(packed)
        if found is None or asked.at_s - found.at_s > KEPT_S:
            return None
        if (found.events, found.number) != (asked.events, asked.number):
            raise LocalError(
                "the key of these events was used for others, which were told; expected a key of its own for each request, and the "
                "same events in the same order where one is made again"
            )
        return found

    def remember(self, record: KeyRecord) -> None:
        """The events of this key were told."""
        known = self._owners.setdefault(record.owner, OrderedDict())
        self.count += known.pop(record.key, None) is None
        known[record.key] = record.pack()
        while len(known) > KEYS_OF_ONE or self._is_over(known, record.at_s):
            self._forget_oldest(known)
        if self.count > KEYS:
            owner, most = max(self._owners.items(), key=lambda item: len(item[1]))
            self._forget_oldest(most)
            if not most:
                del self._owners[owner]

    def records(self) -> list[bytes]:
        """All records, those of one owner in their order."""
        return [record for known in self._owners.values() for record in known.values()]

    def _is_over(self, known: OrderedDict[bytes, bytes], now_s: int) -> bool:
        oldest = KeyRecord.unpack(next(iter(known.values())))
        return oldest is not None and now_s - oldest.at_s > KEPT_S

    def _forget_oldest(self, known: OrderedDict[bytes, bytes]) -> None:
        known.popitem(last=False)
        self.count -= 1
