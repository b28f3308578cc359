"""The facts that a peer holds, under the keys that it holds, each with the time of its last change; and those that went.

What went is remembered as a tombstone: a holder that was away, and comes back with the fact, is told that it has gone. So of what
two holders of a key know of a fact the later one is right, and they agree as soon as each has told the other.

A fact for named readers is one of its own here (:mod:`gsg.audiences`), and :meth:`Entries.visible` is what a reader sees.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, KeysView
from itertools import chain, islice
from typing import TypeAlias

from .audiences import Restricted
from .features import HOME, Key, keys_at
from .model import Tuple
from .sums import Sums
from .variants import Seen, Variants

Mark: TypeAlias = tuple[int, int, int]
"""What is known of a fact under one of its keys: the position, 1 (it is there) or -1 (it went), and the stamp."""

TOMBSTONE_S = 3600
"""How long it is remembered that a fact went, from when that was heard and not from its stamp, as the clock that gave it may be
hours wrong; what a peer has on disk, from its start. Who was cut off for longer may bring back what was retracted meanwhile."""
TOMBSTONES = 1_000_000
"""Tombstones that are remembered; beyond, the oldest goes before its time, and is counted."""
SPARE = 1_000
LATELY_S = 30.0
"""Longer than another holder may take to hear of a retraction (HOLDERS_TIMEOUT_S in :mod:`gsg.replication`)."""
LATELY = 1_000
"""Beyond so many, the older ones of these may be taken for there still, until their holders have heard."""
LOOKED_AT = 10 * LATELY
"""Of the last tombstones so many are looked at for these, under whichever of a fact's keys they are: others wait meanwhile."""
PERIOD_S = TOMBSTONE_S // 4
"""Tombstones are compared with those of others by periods of their stamps, each until the first of them is forgotten somewhere."""

_WENT = 0x9E3779B97F4A7C15
"""By what a tombstone weighs otherwise than its fact would with this stamp."""
_MASK = (1 << 64) - 1
_NOTHING: dict[Tuple, int] = {}
_NONE: dict[int, int] = {}


class Entries:
    """Facts by key. Stamps are in microseconds (:mod:`gsg.versions`)."""

    __slots__ = (
        "_facts",
        "_gone",
        "_gone_sums",
        "_order",
        "_sums",
        "changed",
        "clock",
        "forgotten",
        "remembering",
        "since",
        "tombstones",
        "touched",
        "variants",
    )

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        """Seconds, for the age of tombstones."""
        self._facts: dict[Key, dict[Tuple, int]] = {}
        self._gone: dict[Key, dict[Tuple, int]] = {}
        self._order: deque[tuple[float, int, Key, Tuple]] = deque()
        """The tombstones, each with when it was heard of and its stamp, oldest first, and some that do not hold any more; at most
        SPARE besides as many again as there are."""
        self.tombstones = 0
        """How many there are. Limits: TOMBSTONES and TOMBSTONE_S."""
        self._sums = Sums()
        self._gone_sums = Sums(PERIOD_S * 1_000_000)
        """Of the facts, and of the tombstones. Whatever is taken out of their dicts, or stamped there, is told to it before."""
        self.since = 0
        """The period from which on no tombstone has been forgotten."""
        self.variants: dict[Key, Variants] = {}
        """The keys under which something is there, or was, for named readers; mostly none."""
        self.remembering = False
        """Whether there are tombstones: from when a second peer is known, as one alone has nobody to tell."""
        self.forgotten = 0
        """Tombstones that went before their time, for want of room."""
        self.touched: dict[Tuple, None] | None = None
        """Where facts are noted of which something changes (:mod:`gsg.journal`); None where nobody keeps them."""
        self.changed: dict[Key, None] | None = None
        """Where keys are noted under which something changes (:mod:`gsg.repair`); None where nobody has the same keys. Bounded by
        what is held, as whoever reads it empties it."""

    def enter(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """The fact is there from now on; whether it was not."""
        if self.touched is not None:
            self.touched[fact] = None
        if self.changed is not None:
            self.changed[key] = None
        if self._gone and key in self._gone:
            self._unbury(key, fact)
        facts = self._facts.get(key)
        if facts is None:
            self._facts[key] = {fact: stamp}
            return True
        known = facts.get(fact, -1)
        if known < stamp:
            if known >= 0 and self._sums.large:
                self._sums.changes(key, facts, fact, stamp)
            facts[fact] = stamp
        return known < 0

    def leave(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """The fact is not there from now on; whether it was."""
        if self.touched is not None:
            self.touched[fact] = None
        if self.changed is not None:
            self.changed[key] = None
        if self.remembering:
            self._bury(key, fact, stamp)
        facts = self._facts.get(key)
        if facts is None or fact not in facts:
            return False
        if self._sums.large:
            self._sums.goes(key, facts, fact)
        del facts[fact]
        if not facts:
            del self._facts[key]
        return True

    def enter_for_some(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """As :meth:`enter`, of a fact for named readers; one that came in by that would be seen by nobody."""
        is_new = self.enter(key, fact, stamp)
        self._variants(key).came(fact, stamp, is_new=is_new)  # type: ignore[arg-type]  # no plain tuple
        return is_new

    def leave_for_some(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """As :meth:`leave`, of a fact for named readers."""
        buried = self.remembering and fact not in self._gone.get(key, _NOTHING)
        was_there = self.leave(key, fact, stamp)
        self._variants(key).went(fact, stamp, was_there=was_there, buried=buried)  # type: ignore[arg-type]  # as above
        self._tidy(key)
        return was_there

    def _variants(self, key: Key) -> Variants:
        variants = self.variants.get(key)
        if variants is None:
            variants = self.variants[key] = Variants()
        return variants

    def _tidy(self, key: Key) -> None:
        if key in self.variants and not self.variants[key]:
            del self.variants[key]

    def stamp_of(self, key: Key, fact: Tuple) -> int:
        """When a fact came or went last under a key, as far as remembered; -1 where nothing is known of it."""
        stamp = self._facts.get(key, _NOTHING).get(fact)
        return self._gone.get(key, _NOTHING).get(fact, -1) if stamp is None else stamp

    def stamps_at_home(self, facts: Iterable[Tuple], reader: bytes) -> list[int]:
        """When each fact that a reader sees came or went last under the key of its position 0."""
        stamps = []
        for fact in facts:
            key = (len(fact), HOME, fact[HOME])
            stamp = self.stamp_of(key, fact)
            if self.variants and key in self.variants and (view := self.variants[key].view(fact, reader)) is not None:
                stamp = max(view.stamp, self._for_all(key, fact)[1])
            stamps.append(stamp)
        return stamps

    def behind(self, sign: int, facts: Iterable[Tuple], places: Iterable[bytes], stamp: int) -> list[int]:
        """Which facts, by number, have gone later than they are to come, or the other way round, under any of these positions.

        Of two changes at one time the retraction is the later one.
        """
        known, earliest = (self._gone, stamp) if sign > 0 else (self._facts, stamp + 1)
        behind: list[int] = []
        if not known:
            return behind
        for number, (fact, positions) in enumerate(zip(facts, places, strict=True)):
            arity = len(fact)
            for at in positions:
                under = known.get((arity, at, fact[at]))
                if under and under.get(fact, -1) >= earliest:
                    behind.append(number)
                    break
        return behind

    def change(self, fact: Tuple, sign: int) -> Callable[[Key, Tuple, int], bool]:
        """What lets a fact come or go: :meth:`enter` or :meth:`leave`, or the like for named readers."""
        if type(fact) is tuple:
            return self.enter if sign > 0 else self.leave
        return self.enter_for_some if sign > 0 else self.leave_for_some

    def change_all(self, fact: Tuple, positions: bytes, sign: int, stamp: int) -> list[Key]:
        """Let a fact come or go under several of its keys; those under which it did. What comes twice is only looked at."""
        if sign < 0 or type(fact) is not tuple:
            change = self.change(fact, sign)
            return [key for key in keys_at(fact, positions) if change(key, fact, stamp)]
        present, gone, changed = self._facts, self._gone, self.changed
        arity = len(fact)
        new = []
        is_touched = False
        for position in positions:
            key = (arity, position, fact[position])
            facts = present.get(key)
            if facts is None:
                known = -1
            elif (known := facts.get(fact, -1)) >= stamp:
                continue
            if gone and key in gone:
                if gone[key].get(fact, -1) >= stamp:
                    continue
                self._unbury(key, fact)
            is_touched = True
            if changed is not None:
                changed[key] = None
            if facts is None:
                present[key] = {fact: stamp}
            else:
                if known >= 0 and self._sums.large:
                    self._sums.changes(key, facts, fact, stamp)
                facts[fact] = stamp
            if known < 0:
                new.append(key)
        if is_touched and self.touched is not None:
            self.touched[fact] = None
        return new

    def seen(self, key: Key, fact: Tuple, sign: int, stamp: int) -> Seen:
        """What has just come or gone, as each reader sees it, where :attr:`variants` has the key or the fact is restricted."""
        return Seen(fact, sign, stamp, self.variants.get(key), self._for_all(key, tuple(fact)))

    def _for_all(self, key: Key, fact: Tuple) -> tuple[bool, int]:
        """Whether a plain tuple is there for everybody, and its stamp, or the moment after it went."""
        stamp = self._facts.get(key, _NOTHING).get(fact)
        return (False, self._gone.get(key, _NOTHING).get(fact, -1) + 1) if stamp is None else (True, stamp)

    def visible(self, anchor: Key | None, reader: bytes) -> Iterable[Tuple]:
        """The facts under a key that a reader sees, as plain tuples; for None those under the keys of their positions 0."""
        if anchor is not None:
            return self._visible(anchor, self.under(anchor), reader)
        homes = ((key, facts) for key, facts in self._facts.items() if key[1] == HOME)
        return chain.from_iterable(self._visible(key, facts, reader) for key, facts in homes)

    def _visible(self, key: Key, facts: dict[Tuple, int], reader: bytes) -> Iterable[Tuple]:
        variants = self.variants.get(key) if self.variants else None
        return facts if variants is None else variants.visible(facts, reader)

    def under(self, key: Key) -> dict[Tuple, int]:
        """The facts under a key, with their stamps."""
        return self._facts.get(key, _NOTHING)

    def history(self, key: Key) -> list[tuple[int, Tuple, int]]:
        """The facts under a key as (1, fact, stamp), and those that went as (-1, fact, stamp)."""
        present = [(1, fact, stamp) for fact, stamp in self._facts.get(key, _NOTHING).items()]
        return present + [(-1, fact, stamp) for fact, stamp in self._gone.get(key, _NOTHING).items()]

    def digest(self, key: Key, until: int = 0) -> int:
        """64 bits that are the same where the same changes made the facts under a key; 0 where there are none.

        ``until``: without the facts of this stamp or a later one.
        """
        facts = self._facts.get(key, _NOTHING)
        return self._sums.before(key, facts, until).get(0, 0) if until else self._sums.of(key, facts)

    def gone(self, key: Key, until: int = 0) -> dict[int, int]:
        """As :meth:`digest`, of the tombstones, for each period of their stamps where there are any."""
        if key not in self._gone:
            return _NONE
        there, sums = self._gone[key], self._gone_sums
        found = sums.before(key, there, until) if until else sums.by_period(key, there)
        return {period: total * _WENT & _MASK for period, total in found.items()}

    def digest_of_all(self, key: Key, since: int, until: int = 0) -> int:
        """Of the facts, and of the tombstones from this period on."""
        return with_gone(self.digest(key, until), self.gone(key, until), since)

    def prepare_digest(self, key: Key, facts: int) -> bool:
        """Do a part of the work of :meth:`digest` and :meth:`gone`, for so many facts; whether that was the last one."""
        return self._sums.advance(key, self._facts.get(key, _NOTHING), facts) and self._gone_sums.advance(
            key, self._gone.get(key, _NOTHING), facts
        )

    def drop(self, key: Key) -> dict[Tuple, int]:
        """Forget a key altogether; the facts that were under it."""
        if self.changed is not None:
            self.changed[key] = None
        if self.touched is not None:
            self.touched.update(dict.fromkeys(self._facts.get(key, _NOTHING)))
            self.touched.update(dict.fromkeys(self._gone.get(key, _NOTHING)))
        self.tombstones -= len(self._gone.pop(key, _NOTHING))
        self._sums.drop(key)
        self._gone_sums.drop(key)
        self.variants.pop(key, None)
        return self._facts.pop(key, _NOTHING)

    def went_lately(self, admits: Callable[[Tuple], bool]) -> list[tuple[Tuple, int]]:
        """Plain facts that went from under their homes in the last LATELY_S, the last LATELY of them, with their stamps.

        They are found among the LOOKED_AT that went last.
        """
        since_s = self.clock() - LATELY_S
        found: list[tuple[Tuple, int]] = []
        for heard_s, stamp, key, fact in islice(reversed(self._order), LOOKED_AT):
            if heard_s < since_s or len(found) == LATELY:
                break
            if key[1] == HOME and type(fact) is tuple and self._holds(key, fact, stamp) and admits(fact):
                found.append((fact, stamp))
        return found

    def _bury(self, key: Key, fact: Tuple, stamp: int) -> None:
        gone = self._gone.get(key)
        if gone is None:
            gone = self._gone[key] = {}
        known = gone.get(fact, -1)
        if known >= stamp:
            return
        self.tombstones += known < 0
        if known >= 0 and self._gone_sums.large:
            self._gone_sums.changes(key, gone, fact, stamp)
        gone[fact] = stamp
        now_s = self.clock()
        self._order.append((now_s, stamp, key, fact))
        self.forget_before(now_s - TOMBSTONE_S)
        while self.tombstones > TOMBSTONES:
            self.forgotten += self._forget_oldest()
        if len(self._order) > 2 * self.tombstones + SPARE:
            # Facts that come and go again and again leave very many behind.
            self._order = deque([each for each in self._order if self._holds(each[2], each[3], each[1])])

    def _holds(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """Whether a tombstone is there still: the fact may have come back since, or gone again."""
        return self._gone.get(key, _NOTHING).get(fact) == stamp

    def forget_before(self, moment_s: float) -> None:
        """Tombstones that were heard of before this are not needed any more."""
        while self._order and self._order[0][0] < moment_s:
            self._forget_oldest()

    def _forget_oldest(self) -> int:
        _, stamp, key, fact = self._order.popleft()
        if not self._holds(key, fact, stamp):
            return 0
        self.since = max(self.since, stamp // (PERIOD_S * 1_000_000) + 1)
        self._unbury(key, fact)
        if self.touched is not None:
            self.touched[fact] = None
        return 1

    def _unbury(self, key: Key, fact: Tuple) -> None:
        if self.changed is not None:
            self.changed[key] = None
        gone = self._gone[key]
        if fact in gone and self._gone_sums.large:
            self._gone_sums.goes(key, gone, fact)
        was_there = gone.pop(fact, None) is not None
        self.tombstones -= was_there
        if was_there and type(fact) is not tuple and key in self.variants:
            self.variants[key].forgotten(fact)  # type: ignore[arg-type]  # as above
            self._tidy(key)
        if not gone:
            del self._gone[key]

    # --- what is kept on disk (gsg/journal.py) ----------------------------------------------------------------------------

    def marks(self, fact: Tuple) -> list[Mark]:
        """All that is known of a fact here."""
        return self.rows((fact,))[0][1]

    def rows(self, facts: Iterable[Tuple]) -> list[tuple[Tuple, list[Mark]]]:
        """Some facts, each with its :meth:`marks`."""
        present, gone = self._facts, self._gone
        rows = []
        for fact in facts:
            arity = len(fact)
            marks = []
            for position, constant in enumerate(fact):
                key = (arity, position, constant)
                if (there := present.get(key)) is not None and (stamp := there.get(fact)) is not None:
                    marks.append((position, 1, stamp))
                elif gone and (there := gone.get(key)) is not None and (stamp := there.get(fact)) is not None:
                    marks.append((position, -1, stamp))
            rows.append((fact, marks))
        return rows

    def all_known(self) -> Iterator[Tuple]:
        """All facts of which something is known, each as often as it has keys; what comes or goes meanwhile may be missing."""
        for key in list(self.known_keys()):
            for _, fact, _ in self.history(key):
                yield fact

    def restore(self, rows: Iterable[tuple[Tuple, list[Mark]]]) -> int:
        """Facts that were here before this peer was last stopped; the latest of their stamps. :meth:`restored` follows the last."""
        latest = 0
        for fact, marks in rows:
            for position, sign, stamp in marks:
                key = (len(fact), position, fact[position])
                if sign > 0:
                    self._facts.setdefault(key, {})[fact] = stamp
                    if isinstance(fact, Restricted):
                        self._variants(key).came(fact, stamp, is_new=True)
                else:
                    self._gone.setdefault(key, {})[fact] = stamp
                    self.tombstones += 1
                    if isinstance(fact, Restricted):
                        self._variants(key).went(fact, stamp, was_there=False, buried=True)
                    self._order.append((self.clock(), stamp, key, fact))
                latest = max(latest, stamp)
        return latest

    def restored(self) -> None:
        """Everything is back: tombstones go in the order of their stamps where there are too many."""
        now_s = self.clock()
        self._order = deque((now_s, *each) for each in sorted((each[1:] for each in self._order), key=_stamp))

    def keys(self) -> KeysView[Key]:
        """The keys under which there are facts."""
        return self._facts.keys()

    def known_keys(self) -> KeysView[Key]:
        """The keys under which there are facts, or were: in one order whatever their hashes are, so that a run is repeatable."""
        return dict.fromkeys(chain(self._facts, self._gone)).keys()

    def knows(self, key: Key) -> bool:
        """Whether there are facts under a key, or were."""
        return key in self._facts or key in self._gone

    def distinct(self) -> int:
        """Distinct facts; walks them all."""
        return len({fact for facts in self._facts.values() for fact in facts})

    def __len__(self) -> int:
        """Facts under keys: one under two keys counts twice."""
        return sum(map(len, self._facts.values()))

    def __contains__(self, key: object) -> bool:
        return key in self._facts


def _stamp(tombstone: tuple[int, Key, Tuple]) -> int:
    return tombstone[0]


def with_gone(digest: int, gone: dict[int, int], since: int) -> int:
    """One digest of facts and the tombstones from a period on."""
    return (digest + sum([total for period, total in gone.items() if period >= since])) & _MASK if gone else digest
