"""Relations over time, for the reference: rows as columns of codes, each with the positions at which it came and went.

No matcher has a part in this: a join is of sorted columns, and of intervals that overlap; NOT cuts an interval by those of its
group. Rows of an event have their one position as both. An interval is ``[came, went)``; what does not go has went = FOREVER.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
        at, place = _pairs(begin, np.maximum(end - begin, 0), limit)
        there = order[place]
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

    def found_by(self, pattern: Pattern, known: Collection[str]) -> float:
        """How many facts of a pattern agree, in the mean, with a row that has the items ``known``; 1 where it has both."""
        subject, predicate, object = pattern
        mine = [name for name in (subject, object) if name in known]
        relation = predicate if predicate in PREDICATES else "?"
        facts = self._facts[relation]
        if len(mine) == 2:
            return 1.0
        if not mine:
            return float(len(facts.came))
        _, keys = self._order(relation, "subject" if mine == [subject] else "object")
        return len(keys) / (int(np.count_nonzero(np.diff(keys))) + 1)

    def matched(self, left: Relation, right: Relation, names: Sequence[str], *, limit: int | None = None) -> Relation:
        """Rows of ``left`` with the columns of those of ``right``, whatever their times, that agree in these columns.

        Raises TooManyRows for more than ``limit``.
        """
        wanted, keys = (self._key([rows.columns[name] for name in names]) for rows in (left, right))
        order = np.argsort(keys, kind="stable")
        begin, end = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
        at, there = _pairs(begin, end - begin, limit)
        columns = {name: column[at] for name, column in left.columns.items()}
        for name, column in right.columns.items():
            columns.setdefault(name, column[order[there]])
        return Relation(columns, left.came[at], left.went[at])

    def _key(self, columns: Sequence[Codes]) -> Codes:
        assert self._terms ** len(columns) < 1 << 63, "templates have two parameters that are terms, at most"
        key = columns[0]
        for column in columns[1:]:
            key = key * self._terms + column
        return key

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


def _pairs(begin: Codes, counts: Codes, limit: int | None) -> tuple[Codes, Codes]:
    """Each row by its place, as often as it has partners, and the places of these: ``counts`` of them from ``begin`` on."""
    if limit is not None and int(counts.sum()) > limit:
        raise TooManyRows
    at = np.repeat(np.arange(len(begin)), counts)
    offsets = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    return at, np.repeat(begin, counts) + offsets


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


def gaps(left: Relation, own: Codes, of: Codes, came: Codes, went: Codes) -> Relation:
    """Rows of ``left`` where none of the intervals is that belong to them: row ``i`` is of owner ``own[i]``, interval ``j`` of
    ``of[j]``."""
    of, came, went = _united(of, came, went)
    # Intervals of one owner do not meet, so those that overlap a row stand together.
    begin = np.searchsorted(of * _STEP + _limited(went), own * _STEP + left.came, "right")
    end = np.searchsorted(of * _STEP + came, own * _STEP + _limited(left.went), "left")
    counts = np.maximum(end - begin, 0)
    # Each row has a gap before each of them, and one after the last; an interval may reach beyond the row on both sides.
    rows = np.repeat(np.arange(len(left)), counts + 1)
    first = np.cumsum(counts + 1) - counts - 1
    place = np.arange(len(rows)) - np.repeat(first, counts + 1)
    at = np.repeat(begin, counts + 1) + place
    is_first, is_last = place == 0, place == np.repeat(counts, counts + 1)
    ends_before = went[np.where(is_first, 0, at - 1)] if len(went) else left.went[rows]
    begins_after = came[np.where(is_last, 0, at)] if len(came) else left.went[rows]
    starts = np.where(is_first, left.came[rows], ends_before)
    ends = np.where(is_last, left.went[rows], begins_after)
    found = left.rows(rows).during(starts, ends)
    return found.rows(np.flatnonzero(starts < ends))


_STEP = np.int64(1) << 28
"""More than there are positions: owners are made ranges of their own, so that one search, or one running maximum, serves all."""


def _limited(went: Codes) -> Codes:
    """FOREVER as the last moment of a range."""
    return np.minimum(went, _STEP - 1)


def _united(own: Codes, came: Codes, went: Codes) -> tuple[Codes, Codes, Codes]:
    """The union of the intervals of each owner, as intervals that do not meet."""
    if not len(own):
        return own, came, went
    order = np.lexsort((came, own))
    own, came, went = own[order], came[order], went[order]
    assert int(own[-1]) < 1 << 34, "so many rows are never in memory at once"
    latest = np.maximum.accumulate(_limited(went) + own * _STEP) - own * _STEP
    new = np.concatenate(([True], (own[1:] != own[:-1]) | (came[1:] > latest[:-1])))
    begins = np.flatnonzero(new)
    last = np.concatenate((begins[1:], [len(own)])) - 1
    ends = latest[last]
    return own[begins], came[begins], np.where(ends == _STEP - 1, FOREVER, ends)


def distinct(rows: Relation, names: Sequence[str]) -> Relation:
    """Each combination of these columns once at a time."""
    first, own = groups(rows, names)
    own, came, went = _united(own, rows.came, rows.went)
    return Relation({name: rows.columns[name][first][own] for name in names}, came, went)


def counted(rows: Relation, names: Sequence[str], result: str, base: int) -> Relation:
    """How many rows there are of each combination of these columns, as ``base`` and the number; no row where there is none."""
    first, own = groups(rows, names)
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


def groups(rows: Relation, names: Sequence[str]) -> tuple[NDArray[np.intp], Codes]:
    """The first row of each combination, and the number of the combination of each row."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for name in names:
        _, place = np.unique(rows.columns[name], return_inverse=True)
        _, keys = np.unique(keys * (int(place.max(initial=0)) + 1) + place.reshape(-1), return_inverse=True)
        keys = keys.reshape(-1)
    _, first = np.unique(keys, return_index=True)
    return first, keys
