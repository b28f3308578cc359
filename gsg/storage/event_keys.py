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
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple, Self

import msgspec

from ..errors import LocalError
from ..tuples.audiences import Audience
from ..tuples.event_key import check_key
from ..tuples.terms import Tuple

KEPT_S = 24 * 3600
"""How long a key is known."""
KEYS_OF_ONE = 50_000
"""Keys of one owner that are known; the oldest of that owner goes. Those who have no token are one owner."""
KEYS = 100_000
"""Keys of all owners that are known, some 25 MB; the oldest of the owner with the most goes."""
PROGRAM = "(program)"
"""The owner of the keys of the program that runs the peer: no token has such a name."""

_LAYOUT = struct.Struct(">8s16s8sIQ")
RECORD_BYTES = _LAYOUT.size + 4
"""Of one key: its fields, and their CRC-32."""

_encode = msgspec.msgpack.Encoder().encode


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


class EventsHash:
    """The hash of the events of one request, which are added one by one: all of them at once would keep others waiting."""

    def __init__(self, events: Iterable[Tuple] = ()) -> None:
        self._hash = blake2b(digest_size=8)
        self.number = 0
        """Events that were added."""
        for items in events:
            self.add(items)

    def add(self, items: Tuple) -> None:
        """One event, the next one."""
        # A tuple as msgpack says where it ends, so those of one request stand one after the other.
        self._hash.update(_encode(items))
        self.number += 1

    def digest(self, audience: Audience | None) -> bytes:
        """Of all of them, and of who may read them: 8 bytes. Called once."""
        self._hash.update(_encode(None if audience is None else sorted(audience)))
        return self._hash.digest()


def record_of(owner: str, key: str, events: EventsHash, audience: Audience | None, at_s: float) -> KeyRecord:
    """What is to be remembered of a key. Raises LocalError for what can be none."""
    check_key(key)
    whose = blake2b(owner.encode(), digest_size=8).digest()
    named = blake2b(key.encode(), digest_size=16, key=whose).digest()
    return KeyRecord(whose, named, events.digest(audience), events.number, max(int(at_s), 0))


class EventKeys:
    """The keys that are known."""

    def __init__(self) -> None:
        # A plain dict whose first ones are deleted takes the longer to find its first the more of them there were.
        self._owners: dict[bytes, OrderedDict[bytes, bytes]] = {}
        """By owner and key the record, the one remembered first first. Limits: KEYS_OF_ONE, KEYS."""
        self._with: dict[int, OrderedDict[bytes, None]] = {}
        """The owners by how many keys each has, so that the one with the most is found without looking at all of them."""
        self._most = 0
        """Keys of the owner that has the most."""
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
        owner = record.owner
        known = self._owners.setdefault(owner, OrderedDict())
        before = len(known)
        known.pop(record.key, None)
        known[record.key] = record.pack()
        while len(known) > KEYS_OF_ONE or self._is_over(known, record.at_s):
            known.popitem(last=False)
        self._recount(owner, before, len(known))
        if self.count > KEYS:
            most = next(iter(self._with[self._most]))
            self._owners[most].popitem(last=False)
            self._recount(most, self._most, self._most - 1)

    def records(self) -> list[bytes]:
        """All records, those of one owner in their order."""
        return [record for known in self._owners.values() for record in known.values()]

    def _is_over(self, known: OrderedDict[bytes, bytes], now_s: int) -> bool:
        oldest = KeyRecord.unpack(next(iter(known.values())))
        return oldest is not None and now_s - oldest.at_s > KEPT_S

    def _recount(self, owner: bytes, before: int, now: int) -> None:
        """An owner had so many keys, and has so many now."""
        self.count += now - before
        if before != now:
            if before:
                del self._with[before][owner]
                if not self._with[before]:
                    del self._with[before]
            if now:
                self._with.setdefault(now, OrderedDict())[owner] = None
            else:
                del self._owners[owner]
        self._most = max(self._most, now)
        # No further down than keys were forgotten, each of which was remembered once.
        while self._most and self._most not in self._with:
            self._most -= 1
