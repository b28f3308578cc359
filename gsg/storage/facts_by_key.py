"""The facts that a peer holds, under the keys that it holds, each with the time of its last change; and those that went.

What went is remembered as a tombstone: a holder that was away, and comes back with the fact, is told that it has gone. So of what
two holders of a key know of a fact the later one is right, and they agree as soon as each has told the other. A tombstone is no
longer for a long fact: hashes stand for its long constants (:mod:`gsg.tuples.long_constants`), and whoever is told of it finds the
fact by these.

A fact for named readers is one of its own here (:mod:`gsg.tuples.audiences`), and :meth:`FactsByKey.visible` is what a reader sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView
from itertools import chain
from typing import TypeAlias

import msgspec

from ..tuples.audiences import Restricted
from ..tuples.features import HOME, Interval, Key, keys_at
from ..tuples.long_constants import LONG_BYTES, Remains, is_hashed, remains_of, short
from ..tuples.ordered_attributes import NONE_ORDERED, OrderedAttributes
from ..tuples.terms import Tuple
from .checksums import Checksums
from .keys_by_interval import KeysByInterval
from .tombstones import Tombstones, with_gone
from .visibility import Seen, Variants

Mark: TypeAlias = tuple[int, int, int]
"""What is known of a fact under one of its keys: the position, 1 (it is there) or -1 (it went), and the stamp."""

_encode = msgspec.msgpack.Encoder().encode
_NOTHING: dict[Tuple, int] = {}


class FactsByKey:
    """Facts by key. Stamps are in microseconds (:mod:`gsg.storage.clock`)."""

    __slots__ = (
        "_by_interval",
        "_facts",
        "_long",
        "_sums",
        "buried",
        "changed",
        "remembering",
        "touched",
        "variants",
    )

    def __init__(self, clock: Callable[[], float] = time.monotonic, ordered: OrderedAttributes = NONE_ORDERED) -> None:
        self._facts: dict[Key, dict[Tuple, int]] = {}
        self._by_interval = KeysByInterval(ordered) if ordered else None
        """Of their keys; None where no position is ordered."""
        self.buried = Tombstones(clock, self._forgotten)
        """Those that went."""
        self._long: dict[Remains, Tuple] = {}
        """The facts here that have long constants, each once, by what would remain of it. Bounded by the facts."""
        self._sums: Checksums[Tuple] = Checksums()
        """Of the facts. Whatever is taken out of their dicts, or stamped there, is told to it before."""
        self.variants: dict[Key, Variants] = {}
        """The keys under which something is there, or was, for named readers; mostly none."""
        self.remembering = False
        """Whether there are tombstones: from when a second peer is known, as one alone has nobody to tell."""
        self.touched: dict[Remains, None] | None = None
        """Where it is noted of which facts something changes, by what remains of them (disk/journal.py); None where nobody keeps
        them."""
        self.changed: dict[Key, None] | None = None
        """Where keys are noted under which something changes (anti_entropy.py); None where nobody has the same keys. Bounded by
        what is held, as whoever reads it empties it."""

    def enter(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """The fact is there from now on; whether it was not."""
        fact, remains = self._known_once(fact)
        if self.touched is not None:
            self.touched[remains] = None
        if self.changed is not None:
            self.changed[key] = None
        if key in self.buried.by_key and self.buried.unbury(key, remains):
            self._unbury_variant(key, remains)
        facts = self._facts.get(key)
        if facts is None:
            self._facts[key] = {fact: stamp}
            if self._by_interval is not None:
                self._by_interval.add_key(key)
            return True
        known = facts.get(fact, -1)
        if known < stamp:
            if known >= 0 and self._sums.large:
                self._sums.restamp(key, facts, fact, stamp)
            facts[fact] = stamp
        return known < 0

    def leave(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """The fact is not there from now on; whether it was."""
        self.buried.has_hashes |= is_hashed(fact)
        return self._leave(key, fact, remains_of(fact), stamp)

    def _leave(self, key: Key, fact: Tuple, remains: Remains, stamp: int) -> bool:
        if self.touched is not None:
            self.touched[remains] = None
        if self.changed is not None:
            self.changed[key] = None
        if self.remembering:
            self.buried.has_hashes |= remains is not fact
            self.buried.bury(key, remains, stamp)
            if self._by_interval is not None:
                self._by_interval.add_key(key)
        facts = self._facts.get(key)
        if facts is None or fact not in facts:
            return False
        if self._sums.large:
            self._sums.subtract(key, facts, fact)
        del facts[fact]
        if not facts:
            del self._facts[key]
            self._forget_unless_known(key)
        if remains is not fact:
            self._forget_unless_here(remains)
        return True

    def _forget_unless_known(self, key: Key) -> None:
        """Facts or tombstones are no more under a key, of which there may be others."""
        if self._by_interval is not None and not self.knows(key):
            self._by_interval.remove_key(key)

    def _known_once(self, fact: Tuple) -> tuple[Tuple, Remains]:
        """A fact that is about to be here, and what would remain of it: of a long one the same object under all of its keys."""
        remains = remains_of(fact)
        return (fact if remains is fact else self._long.setdefault(remains, fact)), remains

    def _forget_unless_here(self, remains: Remains) -> None:
        """A long fact may be under none of its keys any more, or yet."""
        fact = self._long.get(remains)
        if fact is not None and not any(fact in self._facts.get(key, _NOTHING) for key in _keys(remains)):
            del self._long[remains]

    def whole(self, remains: Remains) -> Tuple:
        """The fact of which this would remain, where it is here under any key; else only what remains, which is nowhere."""
        return self._long.get(remains, remains)  # type: ignore[arg-type]  # a tuple that no dict of facts has

    def enter_for_some(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """As :meth:`enter`, of a fact for named readers; one that came in by that would be seen by nobody."""
        is_new = self.enter(key, fact, stamp)
        self._variants(key).note_present(fact, stamp, is_new=is_new)  # type: ignore[arg-type]  # no plain tuple
        return is_new

    def leave_for_some(self, key: Key, fact: Tuple, stamp: int) -> bool:
        """As :meth:`leave`, of a fact for named readers."""
        buried = self.remembering and self.buried.stamp_of(key, fact) < 0
        was_there = self.leave(key, fact, stamp)
        self._variants(key).note_gone(fact, stamp, was_there=was_there, buried=buried)  # type: ignore[arg-type]  # as above
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
        return self.buried.stamp_of(key, fact) if stamp is None else stamp

    def stamps_at_home(self, facts: Iterable[Tuple], reader: bytes) -> list[int]:
        """When each fact that a reader sees came or went last under the key of its position 0."""
        stamps = []
        for fact in facts:
            key = (len(fact), HOME, short(fact[HOME]))
            stamp = self.stamp_of(key, fact)
            if self.variants and key in self.variants and (view := self.variants[key].view(fact, reader)) is not None:
                stamp = max(view.stamp, self._for_all(key, fact)[1])
            stamps.append(stamp)
        return stamps

    def behind(self, sign: int, facts: Iterable[Remains], places: Iterable[bytes], stamp: int) -> list[int]:
        """Which facts, by number, have gone later than they are to come, or the other way round, under any of these positions.

        Of two changes at one time the retraction is the later one.
        """
        behind: list[int] = []
        gone = self.buried.by_key
        if not (gone if sign > 0 else self._facts):
            return behind
        # Where nothing is known of long facts, they are found by their keys and their hashes as little as by themselves.
        are_hashed = self.buried.has_hashes or len(self._long) > 0
        for number, (fact, positions) in enumerate(zip(facts, places, strict=True)):
            arity, remains = len(fact), remains_of(fact) if are_hashed else fact
            for at in positions:
                key = (arity, at, remains[at])
                if sign > 0:
                    late = (went := gone.get(key)) is not None and went.get(remains, -1) >= stamp
                else:
                    late = (there := self._facts.get(key)) is not None and there.get(self.whole(remains), -1) > stamp
                if late:
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
        arity = len(fact)
        if type(fact) is not tuple:
            change = self.change(fact, sign)
            return [key for key in keys_at(fact, positions) if change(key, fact, stamp)]
        if sign < 0:
            remains, leave = fact if len(_encode(fact)) <= LONG_BYTES else remains_of(fact), self._leave
            return [key for position in positions if leave(key := (arity, position, remains[position]), fact, remains, stamp)]
        remains = fact
        if len(_encode(fact)) > LONG_BYTES:
            fact, remains = self._known_once(fact)
        present, gone, changed = self._facts, self.buried.by_key, self.changed
        new: list[Key] = []
        is_touched = False
        for position in positions:
            key = (arity, position, remains[position])
            facts = present.get(key)
            if facts is None:
                known = -1
            elif (known := facts.get(fact, -1)) >= stamp:
                continue
            if gone and key in gone:
                if gone[key].get(remains, -1) >= stamp:
                    continue
                self.buried.unbury(key, remains)
            is_touched = True
            if changed is not None:
                changed[key] = None
            if facts is None:
                present[key] = {fact: stamp}
                if self._by_interval is not None:
                    self._by_interval.add_key(key)
            else:
                if known >= 0 and self._sums.large:
                    self._sums.restamp(key, facts, fact, stamp)
                facts[fact] = stamp
            if known < 0:
                new.append(key)
        if is_touched and self.touched is not None:
            self.touched[remains] = None
        if remains is not fact and not new:
            self._forget_unless_here(remains)
        return new

    def seen(self, key: Key, fact: Tuple, sign: int, stamp: int) -> Seen:
        """What has just come or gone, as each reader sees it, where :attr:`variants` has the key or the fact is restricted."""
        return Seen(fact, sign, stamp, self.variants.get(key), self._for_all(key, tuple(fact)))

    def _for_all(self, key: Key, fact: Tuple) -> tuple[bool, int]:
        """Whether a plain tuple is there for everybody, and its stamp, or the moment after it went."""
        stamp = self._facts.get(key, _NOTHING).get(fact)
        return (False, self.buried.stamp_of(key, fact) + 1) if stamp is None else (True, stamp)

    def visible(self, anchor: Key, reader: bytes) -> Iterable[Tuple]:
        """The facts under a key, or an interval's keys, that a reader sees, as plain tuples."""
        if type(anchor[2]) is not Interval:
            return self._visible(anchor, self.under(anchor), reader)
        found: list[Tuple] = []
        for key in self.covered_by(anchor):
            found.extend(self._visible(key, self.under(key), reader))
        return found

    def visible_at_home(self, reader: bytes) -> Iterator[Tuple]:
        """The facts under the keys of their positions 0 that a reader sees, as plain tuples, each once; the facts of a key as they
        are when its turn comes, as facts may come and go meanwhile. A key that comes meanwhile is not among them."""
        keys = [key for key in self._facts if key[1] == HOME]
        return (fact for key in keys for fact in list(self._visible(key, self.under(key), reader)))

    def covered_by(self, key: Key) -> Collection[Key]:
        """The keys that are under one, with facts or tombstones: itself, or of an interval those that lie in it."""
        return (key,) if self._by_interval is None else self._by_interval.covered_by(key)

    def _visible(self, key: Key, facts: dict[Tuple, int], reader: bytes) -> Iterable[Tuple]:
        variants = self.variants.get(key) if self.variants else None
        return facts if variants is None else variants.visible(facts, reader)

    def under(self, key: Key) -> dict[Tuple, int]:
        """The facts under a key, with their stamps."""
        return self._facts.get(key, _NOTHING)

    def digest(self, key: Key, until: int = 0) -> int:
        """64 bits that are the same where the same changes made the facts under a key; 0 where there are none.

        ``until``: without the facts of this stamp or a later one.
        """
        facts = self._facts.get(key, _NOTHING)
        return self._sums.digest_before(key, facts, until).get(0, 0) if until else self._sums.digest(key, facts)

    def digest_of_all(self, key: Key, since: int, until: int = 0) -> int:
        """Of the facts, and of the tombstones from this period on."""
        return with_gone(self.digest(key, until), self.buried.digest(key, until), since)

    def prepare_digest(self, key: Key, facts: int) -> bool:
        """Do a part of the work of :meth:`digest_of_all`, for so many facts; whether that was the last one."""
        return self._sums.sum_up_some(key, self.under(key), facts) and self.buried.prepare_digest(key, facts)

    def drop(self, key: Key) -> dict[Tuple, int]:
        """Forget a key altogether; the facts that were under it."""
        if self.changed is not None:
            self.changed[key] = None
        facts, gone = self._facts.pop(key, _NOTHING), self.buried.drop(key)
        self._forget_unless_known(key)
        if self.touched is not None:
            self.touched.update(dict.fromkeys(map(remains_of, facts)))
            self.touched.update(dict.fromkeys(gone))
        self._sums.forget_key(key)
        self.variants.pop(key, None)
        if self._long:
            for remains in map(remains_of, facts):
                self._forget_unless_here(remains)
        return facts

    def recently_gone(self, admits: Callable[[Tuple], bool]) -> list[tuple[Remains, int]]:
        """What remains of plain facts that went from under their homes of late, with stamps (:meth:`Tombstones.recently_buried`);
        those with hashes whether or not they would have been admitted."""

        def wanted(remains: Remains) -> bool:
            return type(remains) is tuple and (is_hashed(remains) or admits(remains))  # type: ignore[arg-type]  # it is a fact

        return self.buried.recently_buried(wanted)

    def _forgotten(self, key: Key, remains: Remains) -> None:
        """A tombstone is no more."""
        self._forget_unless_known(key)
        if self.changed is not None:
            self.changed[key] = None
        if self.touched is not None:
            self.touched[remains] = None
        self._unbury_variant(key, remains)

    def _unbury_variant(self, key: Key, remains: Remains) -> None:
        if isinstance(remains, Restricted) and key in self.variants:
            self.variants[key].note_forgotten(remains)
            self._tidy(key)

    # --- what is kept on disk (gsg/storage/disk/journal.py) -----------------------------------------------------------------------

    def marks(self, fact: Remains) -> list[Mark]:
        """All that is known of a fact here."""
        return self.rows((remains_of(fact),))[0][1]

    def rows(self, facts: Iterable[Remains]) -> list[tuple[Remains, list[Mark]]]:
        """What remains of some facts, each with its :meth:`marks`; of one that is here under any key the whole fact."""
        present, gone = self._facts, self.buried.by_key
        rows: list[tuple[Remains, list[Mark]]] = []
        for remains in facts:
            arity, fact = len(remains), self.whole(remains)
            marks = []
            for position, constant in enumerate(remains):
                key = (arity, position, constant)
                if (there := present.get(key)) is not None and (stamp := there.get(fact)) is not None:
                    marks.append((position, 1, stamp))
                elif gone and (went := gone.get(key)) is not None and (stamp := went.get(remains)) is not None:
                    marks.append((position, -1, stamp))
            rows.append((fact, marks))
        return rows

    def all_known(self) -> Iterator[Remains]:
        """What would remain of all facts of which something is known, of each as often as it has keys; of what comes or goes
        meanwhile some may be missing."""
        for key in list(self.known_keys()):
            yield from [remains_of(fact) for fact in self.under(key)]
            yield from list(self.buried.under(key))

    def restore(self, rows: Iterable[tuple[Remains, list[Mark]]]) -> int:
        """Facts that were here before this peer was last stopped, as :meth:`rows` had them; the latest of their stamps.

        :meth:`restored` follows the last.
        """
        latest = 0
        for fact, marks in rows:
            remains = remains_of(fact)
            for position, sign, stamp in marks:
                key = (len(remains), position, remains[position])
                if self._by_interval is not None:
                    self._by_interval.add_key(key)
                if sign > 0:
                    assert not is_hashed(fact), "what is here has its constants (gsg/storage/disk/records.py)"
                    self._facts.setdefault(key, {})[fact] = stamp  # type: ignore[index]  # as just said
                    if remains is not fact:
                        self._long[remains] = fact  # type: ignore[assignment]  # as just said
                    if isinstance(fact, Restricted):
                        self._variants(key).note_present(fact, stamp, is_new=True)
                else:
                    self.buried.restore(key, remains, stamp)
                    if isinstance(remains, Restricted):
                        self._variants(key).note_gone(remains, stamp, was_there=False, buried=True)
                latest = max(latest, stamp)
        return latest

    def restored(self) -> None:
        """Everything is back."""
        self.buried.restored()

    def keys(self) -> KeysView[Key]:
        """The keys under which there are facts."""
        return self._facts.keys()

    def known_keys(self) -> KeysView[Key]:
        """The keys under which there are facts, or were: in one order whatever their hashes are, so that a run is repeatable."""
        return dict.fromkeys(chain(self._facts, self.buried)).keys()

    def knows(self, key: Key) -> bool:
        """Whether there are facts under a key, or were."""
        return key in self._facts or key in self.buried.by_key

    def distinct(self) -> int:
        """Distinct facts; walks them all."""
        return len({fact for facts in self._facts.values() for fact in facts})

    def __len__(self) -> int:
        """Facts under keys: one under two keys counts twice."""
        return sum(map(len, self._facts.values()))

    def __contains__(self, key: object) -> bool:
        return key in self._facts


def _keys(remains: Remains) -> list[Key]:
    return [(len(remains), position, constant) for position, constant in enumerate(remains)]
