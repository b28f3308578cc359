"""Relations over time, for the reference: rows as columns of codes, each with the positions at which it came and went.

No matcher has a part in this: a join is of sorted columns, and of intervals that overlap; NOT cuts an interval by those of its
group. Rows of an event have their one position as both. An interval is ``[came, went)``; what does not go has went = FOREVER.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .campus import KINDS, OF_PEOPLE, PREDICATES, Campus, Predicate
from .changes import Changes
from .digests import Codes
from .queries import Bound, Pattern

FOREVER = 1 << 62
UNBOUND = -1
MAX_ROWS = 8_000_000
"""Rows of a join, some hundreds of megabytes. For more than one query at once, more are refused with TooManyRows."""


class TooManyRows(Exception):
    """These queries are too many to be answered at once."""


@dataclass(frozen=True)
class Relation:
    """A bag of rows. All columns have the same length."""

    columns: Mapping[str, Codes]
    came: Codes
    went: Codes

    def __len__(self) -> int:
        return len(self.came)

    def rows(self, at: Codes) -> Relation:
        """Rows by their places, as often as they are there."""
        return Relation({name: column[at] for name, column in self.columns.items()}, self.came[at], self.went[at])

    def during(self, came: Codes, went: Codes) -> Relation:
        """The same rows at other times."""
        return Relation(self.columns, came, went)


@dataclass(frozen=True)
class _Facts:
    subject: Codes
    object: Codes
    came: Codes
    went: Codes
    predicate: Codes | None = None


class History:
    """What held when, by predicate, with the orders in which it is looked up."""

    def __init__(self, campus: Campus, changes: Changes) -> None:
        self._campus = campus
        self._terms = campus.terms
        self._facts: dict[str, _Facts] = {}
        self._ordered: dict[tuple[str, str], tuple[NDArray[np.intp], Codes]] = {}
        for predicate in Predicate:
            here = np.flatnonzero(changes.predicate == predicate)
            subject, object = changes.subject[here], changes.object[here]
            if predicate is Predicate.RAISED:
                self._facts[predicate.text] = _Facts(subject, object, here + 1, here + 1)
            else:
                self._facts[predicate.text] = _intervals(subject, object, changes.sign[here], here + 1, self._terms)
        parts = [(predicate, self._facts[predicate.text]) for predicate in OF_PEOPLE]
        self._facts["?"] = _Facts(
            np.concatenate([each.subject for _, each in parts]),
            np.concatenate([each.object for _, each in parts]),
            np.concatenate([each.came for _, each in parts]),
            np.concatenate([each.went for _, each in parts]),
            np.concatenate([np.full(len(each.came), predicate, dtype=np.int64) for predicate, each in parts]),
        )

    def joined(self, left: Relation, pattern: Pattern, bounds: Sequence[Bound] = (), *, limit: int | None = None) -> Relation:
        """Rows of ``left`` with the facts that agree and overlap; bounds on a column that the pattern brings are used to find them.

        A pattern's items are names of columns, but for its predicate. Raises TooManyRows for more than ``limit``.
        """
        subject, predicate, object = pattern
        known = predicate if predicate in PREDICATES else "?"
        facts = self._facts[known]
        mine = [name for name in (subject, object) if name in left.columns]
        if mine == [subject, object]:
            order, keys = self._order(known, "both")
            wanted = left.columns[subject] * self._terms + left.columns[object]
        elif mine:
            order, keys = self._order(known, "subject" if mine == [subject] else "object")
            wanted = left.columns[mine[0]]
        else:
            order, keys = self._order(known, "object")
            wanted = np.zeros(len(left), dtype=np.int64)
        if mine:
            begin, end = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        else:
            begin, end = wanted, wanted + len(keys)
            for name, operator, number in bounds:
                assert name == object, "a bound that finds rows is on what the pattern brings"
                least = left.columns[number] + (operator == ">")
                found = np.searchsorted(keys, least, "left")
                begin, end = (begin, np.minimum(end, found)) if operator == "<" else (np.maximum(begin, found), end)
        counts = np.maximum(end - begin, 0)
        if limit is not None and int(counts.sum()) > limit:
            raise TooManyRows
        at = np.repeat(np.arange(len(left)), counts)
        offsets = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        there = order[np.repeat(begin, counts) + offsets]
        came, went = facts.came[there], facts.went[there]
        # Of an event left stands at one position, which is to be within the fact's time.
        moment = (left.came == left.went)[at]
        begins = np.where(moment, left.came[at], np.maximum(came, left.came[at]))
        ends = np.where(moment, left.went[at], np.minimum(went, left.went[at]))
        event = facts.came[there] == facts.went[there]
        overlap = np.where(moment, (came <= begins) & (begins < went), (begins < ends) | (event & (begins == ends)))
        at, there = at[overlap], there[overlap]
        columns = {name: column[at] for name, column in left.columns.items()}
        columns.setdefault(subject, facts.subject[there])
        columns.setdefault(object, facts.object[there])
        if facts.predicate is not None:
            columns[predicate] = facts.predicate[there]
        return Relation(columns, begins[overlap], ends[overlap])

    def constant(self, item: str) -> int | None:
        """The code of a pattern's item that is a thing of the campus by its name, such as ``skill0``; None for any other."""
        kind = item.rstrip("0123456789")
        return self._campus.first(kind) + int(item[len(kind) :]) if kind in KINDS and kind != item else None

    def _order(self, predicate: str, by: str) -> tuple[NDArray[np.intp], Codes]:
        found = self._ordered.get((predicate, by))
        if found is None:
            facts = self._facts[predicate]
            keys = facts.subject * self._terms + facts.object if by == "both" else getattr(facts, by)
            order = np.argsort(keys, kind="stable")
            found = self._ordered[predicate, by] = order, keys[order]
        return found


def _intervals(subject: Codes, object: Codes, sign: NDArray[np.int8], position: Codes, terms: int) -> _Facts:
    """When facts hold. What is inserted and holds, or retracted and does not, changes nothing."""
    key = subject * terms + object
    order = np.lexsort((position, key))
    key, sign, position, subject, object = key[order], sign[order], position[order], subject[order], object[order]
    first = np.concatenate(([True], key[1:] != key[:-1]))[: len(key)]
    same = np.concatenate(([False], (sign[1:] == sign[:-1]) & ~first[1:]))[: len(key)]
    counts = ~same & ~(first & (sign < 0))
    key, sign, position, subject, object = key[counts], sign[counts], position[counts], subject[counts], object[counts]
    inserted = np.flatnonzero(sign > 0)
    following = np.minimum(inserted + 1, len(key) - 1)
    ends = (following > inserted) & (key[following] == key[inserted])
    return _Facts(subject[inserted], object[inserted], position[inserted], np.where(ends, position[following], FOREVER))


def gaps(left: Relation, own: Codes, came: Codes, went: Codes) -> Relation:
    """Rows of ``left`` where none of the intervals is that belong to them: interval ``i`` to row ``own[i]``."""
    own, came, went = _united(own, came, went)
    # Each row has a gap before each of its intervals, and one after the last.
    rows = np.concatenate((own, np.arange(len(left))))
    begin = np.concatenate((went, left.came))
    order = np.lexsort((begin, rows))
    rows, begin = rows[order], begin[order]
    # The next interval of the row begins where this gap ends.
    ends = np.concatenate((left.went[own], left.went))[order]
    by_row = np.lexsort((came, own))
    counts = np.bincount(own, minlength=len(left))
    first = np.cumsum(counts + 1) - counts - 1
    inner = np.ones(len(rows), dtype=bool)
    inner[first + counts] = False
    ends[inner] = came[by_row]
    found = left.rows(rows).during(begin, ends)
    return found.rows(np.flatnonzero(begin < ends))


def _united(own: Codes, came: Codes, went: Codes) -> tuple[Codes, Codes, Codes]:
    """The union of the intervals of each owner, as intervals that do not meet."""
    if not len(own):
        return own, came, went
    order = np.lexsort((came, own))
    own, came, went = own[order], came[order], went[order]
    # The latest end so far of this owner: owners are made ranges of their own, so that one running maximum serves all.
    step = np.int64(1) << 28  # more than there are positions
    assert int(own[-1]) < 1 << 34, "so many rows are never in memory at once"
    latest = np.maximum.accumulate(np.minimum(went, step - 1) + own * step) - own * step
    new = np.concatenate(([True], (own[1:] != own[:-1]) | (came[1:] > latest[:-1])))
    begins = np.flatnonzero(new)
    last = np.concatenate((begins[1:], [len(own)])) - 1
    ends = latest[last]
    return own[begins], came[begins], np.where(ends == step - 1, FOREVER, ends)


def distinct(rows: Relation, names: Sequence[str]) -> Relation:
    """Each combination of these columns once at a time."""
    first, own = _groups(rows, names)
    own, came, went = _united(own, rows.came, rows.went)
    return Relation({name: rows.columns[name][first][own] for name in names}, came, went)


def counted(rows: Relation, names: Sequence[str], result: str, base: int) -> Relation:
    """How many rows there are of each combination of these columns, as ``base`` and the number; no row where there is none."""
    first, own = _groups(rows, names)
    ends = rows.went < FOREVER
    owner = np.concatenate((own, own[ends]))
    position = np.concatenate((rows.came, rows.went[ends]))
    step = np.concatenate((np.ones(len(own), dtype=np.int64), np.full(int(ends.sum()), -1, dtype=np.int64)))
    order = np.lexsort((position, owner))
    owner, position, step = owner[order], position[order], step[order]
    if not len(owner):
        return Relation({**{name: rows.columns[name][:0] for name in names}, result: owner}, position, position)
    begins = np.flatnonzero(np.concatenate(([True], (owner[1:] != owner[:-1]) | (position[1:] != position[:-1]))))
    owner, position, step = owner[begins], position[begins], np.add.reduceat(step, begins)
    moved = np.flatnonzero(step)
    owner, position, step = owner[moved], position[moved], step[moved]
    # Running sums over all owners: each ends at 0 or has its own rest, which is taken away from the owners behind it.
    total = np.cumsum(step)
    starts = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
    before = np.concatenate(([0], total[starts[1:] - 1]))
    number = total - np.repeat(before, np.diff(np.concatenate((starts, [len(owner)]))))
    until = np.concatenate((np.where(owner[1:] == owner[:-1], position[1:], FOREVER), [FOREVER]))
    there = np.flatnonzero(number > 0)
    columns = {name: rows.columns[name][first][owner[there]] for name in names}
    return Relation({**columns, result: base + number[there]}, position[there], until[there])


def _groups(rows: Relation, names: Sequence[str]) -> tuple[NDArray[np.intp], Codes]:
    """The first row of each combination, and the number of the combination of each row."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for name in names:
        _, place = np.unique(rows.columns[name], return_inverse=True)
        _, keys = np.unique(keys * (int(place.max(initial=0)) + 1) + place.reshape(-1), return_inverse=True)
        keys = keys.reshape(-1)
    _, first = np.unique(keys, return_index=True)
    return first, keys
