"""What a holder remembers of facts that went, under each of their keys: what remains of the fact, and when it went. Pure.

    bury ──the fact comes back (unbury), or its key is let go (drop)──> forgotten
      └──TOMBSTONE_S, or more than TOMBSTONES or TOMBSTONES_BYTES: the oldest──> forgotten, and ``on_forgotten`` hears of it

A tombstone is as short however long its fact was: hashes stand for long constants (:mod:`gsg.tuples.long_constants`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from ..tuples.features import HOME, Key
from ..tuples.long_constants import LONG_BYTES, Remains, is_hashed, remains_of
from .checksums import Checksums

TOMBSTONE_S = 3600
"""How long it is remembered that a fact went, from when that was heard and not from its stamp, as the clock that gave it may be
hours wrong; what a peer has on disk, from its start. Who was cut off for longer may bring back what was retracted meanwhile."""
TOMBSTONES = 1_000_000
"""Tombstones that are remembered; beyond, the oldest goes before its time, and is counted."""
TOMBSTONES_BYTES = 1024 * 1024 * 1024
"""What they may take together, each counted with LONG_BYTES for a term, the most that one has; beyond, likewise. Only those
of tuples of more than four terms reach this before their number does."""
SPARE = 1_000
LATELY_S = 30.0
"""Longer than another holder may take to hear of a retraction (HOLDERS_TIMEOUT_S in :mod:`gsg.replication.changes`)."""
LATELY = 1_000
"""Beyond so many, the older ones of these may be taken for there still, until their holders have heard."""
LOOKED_AT = 10 * LATELY
"""Of the last tombstones so many are looked at for these, under whichever of a fact's keys they are: others wait meanwhile."""
PERIOD_S = TOMBSTONE_S // 4
"""Tombstones are compared with those of others by periods of their stamps, each until the first of them is forgotten somewhere."""

_WENT = 0x9E3779B97F4A7C15
"""By what a tombstone weighs otherwise than its fact would with this stamp."""
_MASK = (1 << 64) - 1
_NOTHING: dict[Remains, int] = {}
_NONE: dict[int, int] = {}


class Tombstones:
    """Those of one holder. ``on_forgotten(key, remains)`` hears of each that is not remembered any more as it was the oldest."""

    __slots__ = ("_on_forgotten", "_order", "_sums", "by_key", "clock", "count", "forgotten", "has_hashes", "since", "size_bytes")

    def __init__(self, clock: Callable[[], float], on_forgotten: Callable[[Key, Remains], None]) -> None:
        self.clock = clock
        """Seconds, for their age."""
        self._on_forgotten = on_forgotten
        self.by_key: dict[Key, dict[Remains, int]] = {}
        """Those of each key with their stamps; changed here alone."""
        self._order: deque[tuple[float, int, Key, Remains]] = deque()
        """All, each with when it was heard of and its stamp, oldest first, and some that hold no more; at most SPARE besides
        as many again as there are."""
        self.count = 0
        """How many there are. Limits: TOMBSTONES and TOMBSTONE_S."""
        self.size_bytes = 0
        """What they take. Limit: TOMBSTONES_BYTES."""
        self._sums: Checksums[Remains] = Checksums(PERIOD_S * 1_000_000)
        """Whatever is taken out of their dicts, or stamped there, is told to it before."""
        self.since = 0
        """The period from which on no tombstone has been forgotten."""
        self.has_hashes = False
        """Whether there was ever one with a hash: mostly there was none, and what comes need not be hashed to find its own."""
        self.forgotten = 0
        """Tombstones that went before their time, for want of room."""

    def under(self, key: Key) -> dict[Remains, int]:
        """What remains under a key, with the stamps."""
        return self.by_key.get(key, _NOTHING)

    def stamp_of(self, key: Key, fact: Remains) -> int:
        """When a fact went from under a key; -1 where that is not known."""
        there = self.by_key.get(key)
        return -1 if there is None else there.get(remains_of(fact), -1)

    def bury(self, key: Key, remains: Remains, stamp: int) -> None:
        """A fact went from under a key, unless it is known that it did so later; of one with hashes :attr:`has_hashes` tells."""
        there = self.by_key.get(key)
        if there is None:
            there = self.by_key[key] = {}
        known = there.get(remains, -1)
        if known >= stamp:
            return
        if known < 0:
            self.count += 1
            self.size_bytes += LONG_BYTES * len(remains)
        elif self._sums.large:
            self._sums.restamp(key, there, remains, stamp)
        there[remains] = stamp
        now_s = self.clock()
        self._order.append((now_s, stamp, key, remains))
        self.forget_before(now_s - TOMBSTONE_S)
        while self.count > TOMBSTONES or self.size_bytes > TOMBSTONES_BYTES:
            self.forgotten += self._forget_oldest()
        if len(self._order) > 2 * self.count + SPARE:
            # Facts that come and go again and again leave very many behind.
            self._order = deque([each for each in self._order if self._holds(each[2], each[3], each[1])])

    def unbury(self, key: Key, remains: Remains) -> bool:
        """A fact is under a key again, or it is not remembered any more that it went; something is remembered under the key.

        Whether it was of this fact as well.
        """
        there = self.by_key[key]
        if remains not in there:
            return False
        if self._sums.large:
            self._sums.subtract(key, there, remains)
        del there[remains]
        if not there:
            del self.by_key[key]
        self.count -= 1
        self.size_bytes -= LONG_BYTES * len(remains)
        return True

    def drop(self, key: Key) -> dict[Remains, int]:
        """Forget a key altogether; what remained under it."""
        there = self.by_key.pop(key, _NOTHING)
        self.count -= len(there)
        self.size_bytes -= LONG_BYTES * sum(map(len, there))
        self._sums.forget_key(key)
        return there

    def forget_before(self, moment_s: float) -> None:
        """Tombstones that were heard of before this are not needed any more."""
        while self._order and self._order[0][0] < moment_s:
            self._forget_oldest()

    def _forget_oldest(self) -> int:
        _, stamp, key, remains = self._order.popleft()
        if not self._holds(key, remains, stamp):
            return 0
        self.since = max(self.since, stamp // (PERIOD_S * 1_000_000) + 1)
        self.unbury(key, remains)
        self._on_forgotten(key, remains)
        return 1

    def _holds(self, key: Key, remains: Remains, stamp: int) -> bool:
        """Whether a tombstone is there still: the fact may have come back since, or gone again."""
        return self.by_key.get(key, _NOTHING).get(remains) == stamp

    def recently_buried(self, admits: Callable[[Remains], bool]) -> list[tuple[Remains, int]]:
        """What went from under its home in the last LATELY_S, the last LATELY of them, with the stamps.

        They are found among the LOOKED_AT that went last.
        """
        since_s = self.clock() - LATELY_S
        found: list[tuple[Remains, int]] = []
        for heard_s, stamp, key, remains in islice(reversed(self._order), LOOKED_AT):
            if heard_s < since_s or len(found) == LATELY:
                break
            if key[1] == HOME and self._holds(key, remains, stamp) and admits(remains):
                found.append((remains, stamp))
        return found

    def digest(self, key: Key, until: int = 0) -> dict[int, int]:
        """64 bits for each period of their stamps where there are any; ``until``: without those of this stamp or a later one."""
        there = self.by_key.get(key)
        if there is None:
            return _NONE
        found = self._sums.digest_before(key, there, until) if until else self._sums.digest_by_period(key, there)
        return {period: total * _WENT & _MASK for period, total in found.items()}

    def prepare_digest(self, key: Key, facts: int) -> bool:
        """Do a part of the work of :meth:`digest`, for so many; whether that was the last one."""
        return self._sums.sum_up_some(key, self.under(key), facts)

    def restore(self, key: Key, remains: Remains, stamp: int) -> None:
        """One that was here before; :meth:`restored` follows the last."""
        self.by_key.setdefault(key, {})[remains] = stamp
        self.count += 1
        self.size_bytes += LONG_BYTES * len(remains)
        self.has_hashes |= is_hashed(remains)
        self._order.append((0.0, stamp, key, remains))

    def restored(self) -> None:
        """All are back: they go in the order of their stamps where there are too many."""
        now_s = self.clock()
        self._order = deque((now_s, *each) for each in sorted((each[1:] for each in self._order), key=_stamp))

    def __iter__(self) -> Iterator[Key]:
        return iter(self.by_key)


def _stamp(tombstone: tuple[int, Key, Remains]) -> int:
    return tombstone[0]


def with_gone(digest: int, gone: dict[int, int], since: int) -> int:
    """One digest of facts and the tombstones from a period on."""
    return (digest + sum([total for period, total in gone.items() if period >= since])) & _MASK if gone else digest
