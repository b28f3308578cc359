"""Which peers have a key over time, as peers come, leave and crash: every event of every key, for all keys side by side. Pure.

The rules, for each key alone:

1. Its *owners* are the r closest of the peers that the others take for alive. A peer counts among these from its birth; one that
   leaves in order until then, and one that crashes until its suspicion has run out.
2. Who comes among the owners without the key is sent it. It has it ``settle`` later, and what the transfer takes before its turn;
   whoever else dies meanwhile, as long as any living peer has the key: another one goes on sending. Who is no owner any more by
   then, as somebody closer has come, does not get it.
3. Who leaves in order, and has the key, gives it at that moment to all owners that lack it.
4. Who has it and is no owner any more keeps it until all owners have it. A crashed owner that is still taken for alive and had it
   is none that anybody waits for.
5. Where no living peer has it the key is *lost*, which is counted. It is posted anew, and owners have it again, as soon as one of
   them is alive: so that there is something to be lost again.

Between two events nothing changes. So for each key we know the time in which fewer than r living peers have it; in which its
primary, the closest owner, lacks it or is dead, so that what is published is late; and in which no living peer has it, so that what
is published is missed.

How it goes that fast: only peers in the *region* of a key, a subtree of the ids in which r of them are at any time, can be its
owners. Time goes in windows; in each a key has a row with a column for each life of its region, and all keys take their next event
in one step. Memory is that of all lives, and of one row for each key in one window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import Stream, Words, fraction_of
from .lives import NEVER, Lives, Times

CROWD = 16
"""Peers that a region has, about, or twice as many as hold a key: few to look through, and r of them at any time."""
TOGETHER = 512
"""Keys that go together: what a step needs of them stays in a core's cache."""
WORTH_KEEPING = 0.5
"""Where no more than this share of keys that go together has an event left in a window, the others are put aside."""
FARTHEST = np.iinfo(np.uint64).max

ARRIVED, LEFT, CRASHED = 0, 1, 2
"""Why a key goes from one peer to another: the receiver is new, or an owner has left in order, or has crashed."""

ColumnT = TypeVar("ColumnT", bound=np.generic)
Flags = NDArray[np.bool_]
Reasons = NDArray[np.int8]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Transfer:
    """How long a key takes to a new owner, in microseconds.

    Its turn comes at some moment of the time ``share`` in which all goes over that one peer holds; ``own`` is what each key takes.
    """

    settle: int
    share: int
    own: Times
    seed: int = 0

    def delay(self, keys: Whole, lives: Whole) -> Times:
        """For keys by number, and the lives that they go to; the same pair always has the same turn."""
        pairs = keys.astype(np.uint64) << np.uint64(32) | lives.astype(np.uint64)
        turns = fraction_of(Stream(self.seed, "turns").at(pairs))
        return self.settle + (turns * self.share).astype(np.int64) + self.own[keys]


@dataclass(frozen=True, slots=True)
class Moves:
    """Keys that went from one peer to another within one window: the numbers of both, and why."""

    at: Times
    key: Whole
    sender: Whole
    receiver: Whole
    reason: Reasons

    def __len__(self) -> int:
        return len(self.at)


@dataclass(slots=True)
class Histories:
    """What has happened to each key, shape (keys,) where nothing is said; times in microseconds."""

    losses: Whole
    lost_on: Flags
    """Whether it was lost on each day, shape (keys, days)."""
    fewer: Times
    """With fewer than r living peers that have it."""
    late: Times
    """With a primary that is dead, or does not have it yet."""
    missed: Times
    """With no living peer that has it."""


def none_yet(keys: int, days: int) -> Histories:
    """Of keys to which nothing has happened."""
    counts = (np.zeros(keys, dtype=np.int64) for _ in range(4))
    losses, fewer, late, missed = counts
    return Histories(losses, np.zeros((keys, days), dtype=bool), fewer, late, missed)


@dataclass(slots=True)
class _Rows:
    """Some keys in one window: a row for each and a column for each life of its region, in the order of births."""

    number: Whole
    """Of the key, shape (rows,) as the next one."""
    now: Times
    life: Whole
    distance: Words
    """That of a column without a life is FARTHEST; such a one is never born."""
    born: Times
    died: Times
    gone: Times
    has: Flags
    owner: Flags
    due: Times
    """When an owner that lacks the key is to have it, else NEVER."""
    reason: Reasons
    """Why what is due is due."""

    def only(self, rows: Whole | Flags) -> _Rows:
        return _Rows(*(getattr(self, each.name)[rows] for each in fields(self)))


@dataclass(slots=True)
class _State:
    """What is carried from window to window: for each key by the columns of its region."""

    has: Flags
    owner: Flags
    due: Times
    reason: Reasons


@dataclass(slots=True)
class _Log:
    """Moves of one window as they come."""

    columns: list[tuple[Times, Whole, Whole, Whole, Reasons]] = field(default_factory=list)

    def add(self, at: Times, key: Whole, sender: Whole, receiver: Whole, reason: Reasons) -> None:
        if len(at):
            self.columns.append((at, key, sender, receiver, reason))

    def moves(self) -> Moves:
        if not self.columns:
            none = np.zeros(0, dtype=np.int64)
            return Moves(none, none, none, none, none.astype(np.int8))
        at, key, sender, receiver, reason = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        return Moves(at, key, sender, receiver, reason)


class Copies:
    """The copies of some keys over one run; :meth:`run` fills ``histories``. ``window`` is its length, in microseconds."""

    def __init__(self, lives: Lives, keys: Words, *, replicas: int, transfer: Transfer, window: int, day: int) -> None:
        self._lives, self._keys, self._replicas, self._transfer = lives, keys, replicas, transfer
        self._window, self._day = window, day
        self.histories = none_yet(len(keys), -(-lives.end // day))
        depth = depth_of(lives, keys, replicas)
        regions = _region(keys, depth)
        self._names, self._region = np.unique(regions, return_inverse=True)
        place = np.minimum(np.searchsorted(self._names, of_lives := _region(lives.ids, depth)), len(self._names) - 1)
        there = np.flatnonzero(self._names[place] == of_lives)
        order = np.argsort(place[there], kind="stable")
        self._there, self._place = there[order], place[there][order]
        """Lives in regions that have keys, region by region in the order of their births, and the number of each one's region."""

    def run(self) -> Iterator[Moves]:
        """Go through the run, window by window."""
        state: _State | None = None
        table, end = self._table(0, self._window), min(self._window, self._lives.end)
        begin = 0
        while True:
            log = _Log()
            if state is None:
                state = self._first(table)
            for start in range(0, len(self._keys), TOGETHER):
                part = np.arange(start, min(start + TOGETHER, len(self._keys)))
                self._advance(self._rows(part, begin, table, state), end, state, log)
            yield log.moves()
            if end == self._lives.end:
                return
            begin, end = end, min(end + self._window, self._lives.end)
            following = self._table(begin, end)
            state = self._carried(state, table, following, begin)
            table = following

    def _table(self, begin: int, end: int) -> Whole:
        """The lives that each region has within a window, shape (regions, most of them), -1 where it has fewer."""
        here = (self._lives.born[self._there] < end) & (self._lives.gone[self._there] > begin)
        lives, regions = self._there[here], self._place[here]
        counts = np.bincount(regions, minlength=len(self._names))
        table = np.full((len(self._names), max(1, int(counts.max()))), -1, dtype=np.int64)
        table[regions, np.arange(len(lives)) - (np.cumsum(counts) - counts)[regions]] = lives
        return table

    def _first(self, table: Whole) -> _State:
        """At the first moment all owners of each key have it."""
        shape = len(self._keys), table.shape[1]
        owner = np.zeros(shape, dtype=bool)
        for start in range(0, shape[0], TOGETHER):
            part = slice(start, start + TOGETHER)
            lives = table[self._region[part]]
            distance = self._distances(self._keys[part], lives)
            distance[(lives < 0) | (self._lives.born[lives] > 0)] = FARTHEST
            closest = np.argsort(distance, axis=1, kind="stable")[:, : self._replicas]
            np.put_along_axis(owner[part], closest, np.take_along_axis(distance, closest, 1) != FARTHEST, 1)
        return _State(owner.copy(), owner, np.full(shape, NEVER), np.zeros(shape, dtype=np.int8))

    def _carried(self, state: _State, before: Whole, table: Whole, begin: int) -> _State:
        """The state by the columns of the following window: those that are still there come first, in the same order."""
        stays = (before >= 0) & (self._lives.gone[before] > begin)
        order = np.argsort(~stays, axis=1, kind="stable")
        width = min(table.shape[1], before.shape[1])
        take, kept = order[:, :width][self._region], np.arange(width) < stays.sum(1)[self._region][:, None]
        shape = len(self._keys), table.shape[1]

        def moved(column: NDArray[ColumnT], otherwise: ColumnT) -> NDArray[ColumnT]:
            found = np.full(shape, otherwise, dtype=column.dtype)
            np.copyto(found[:, :width], np.take_along_axis(column, take, 1), where=kept)
            return found

        no = np.False_
        reason = moved(state.reason, np.int8(ARRIVED))
        return _State(moved(state.has, no), moved(state.owner, no), moved(state.due, NEVER), reason)

    def _distances(self, keys: Words, lives: Whole) -> Words:
        return self._lives.ids[lives] ^ keys[:, None]

    def _rows(self, part: Whole, begin: int, table: Whole, state: _State) -> _Rows:
        lives = table[self._region[part]]
        empty = lives < 0
        distance = self._distances(self._keys[part], lives)
        distance[empty] = FARTHEST
        life = self._lives
        born, died, gone = (np.where(empty, NEVER, times[lives]) for times in (life.born, life.died, life.gone))
        now, has, owner = np.full(len(part), begin), state.has[part], state.owner[part]
        return _Rows(part, now, lives, distance, born, died, gone, has, owner, state.due[part], state.reason[part])

    def _advance(self, rows: _Rows, end: int, state: _State, log: _Log) -> None:
        """Take the events of some keys up to ``end``, and write what comes of it into ``state``."""
        while True:
            event, at = next_events(rows, self._replicas)
            active = at < end
            at = np.minimum(at, end)
            self._count_time(rows, at - rows.now)
            rows.now = at
            if not active.any():
                _write(rows, state)
                return
            if active.mean() < WORTH_KEEPING:
                _write(rows.only(~active), state)
                rows, event, active = rows.only(active), event[active], active[active]
            self._take(rows, event, active, log)

    def _count_time(self, rows: _Rows, passed: Times) -> None:
        """As nothing changes between two events, what is true at one is true until the next."""
        has = rows.has & (rows.died > rows.now[:, None])
        owning = rows.owner & has
        line = np.arange(len(rows.number))
        primary = np.where(rows.owner, rows.distance, FARTHEST).argmin(1)
        found = self.histories
        found.fewer[rows.number] += passed * (has.sum(1) < self._replicas)
        found.late[rows.number] += passed * ~owning[line, primary]
        found.missed[rows.number] += passed * ~has.any(1)

    def _take(self, rows: _Rows, event: Whole, active: Flags, log: _Log) -> None:
        """One event for each row that is active: that of one of its columns."""
        line = np.arange(len(event))
        at, life = rows.now, rows.life[line, event]
        comes = active & (rows.born[line, event] == at)
        arrives = active & ~comes & (rows.due[line, event] == at) & (rows.died[line, event] >= at)
        dies = active & ~comes & ~arrives & (rows.died[line, event] == at)
        leaves = dies & self._lives.ordered[life]
        held_before: Flags = active & np.any(rows.has & (rows.died >= at[:, None]), axis=1)
        self._bring(rows, np.flatnonzero(comes), event)
        self._deliver(rows, np.flatnonzero(arrives), event, log)
        crashed = np.flatnonzero(dies & ~leaves)
        rows.due[crashed, event[crashed]] = NEVER
        going = np.flatnonzero(active & (leaves | ~(comes | arrives | dies)))
        had = rows.has[going, event[going]]
        self._remove(rows, going, event, np.where(leaves[going], LEFT, CRASHED).astype(np.int8))
        self._hand_over(rows, going[had & leaves[going]], event, log)
        self._post_anew(rows, held_before)
        # Whoever is no owner any more lets go of the key when all owners have it.
        lacking: Flags = np.any(rows.owner & ~rows.has, axis=1)
        rows.has &= rows.owner | lacking[:, None]

    def _bring(self, rows: _Rows, which: Whole, event: Whole) -> None:
        """Newcomers are owners from now on, and the farthest owner is none any more."""
        column = event[which]
        rows.owner[which, column] = True
        crowded = which[rows.owner[which].sum(1) > self._replicas]
        farthest = np.where(rows.owner[crowded], rows.distance[crowded], 0).argmax(1)
        rows.owner[crowded, farthest] = False
        rows.due[crowded, farthest] = NEVER
        self._await_key(rows, which, column, np.full(len(which), ARRIVED, dtype=np.int8))

    def _await_key(self, rows: _Rows, which: Whole, column: Whole, reason: Reasons) -> None:
        lacks = ~rows.has[which, column]
        which, column = which[lacks], column[lacks]
        rows.due[which, column] = rows.now[which] + self._transfer.delay(rows.number[which], rows.life[which, column])
        rows.reason[which, column] = reason[lacks]

    def _deliver(self, rows: _Rows, which: Whole, event: Whole, log: _Log) -> None:
        """What was due is there, sent by the closest that has it."""
        column = event[which]
        senders = rows.has[which] & (rows.died[which] > rows.now[which, None])
        sender = np.where(senders, rows.distance[which], FARTHEST).argmin(1)
        log.add(rows.now[which], rows.number[which], rows.life[which, sender], rows.life[which, column], rows.reason[which, column])
        rows.has[which, column] = True
        rows.due[which, column] = NEVER

    def _remove(self, rows: _Rows, which: Whole, event: Whole, reason: Reasons) -> None:
        """These are not taken for alive any more: of each key that they owned the next closest peer is an owner."""
        column = event[which]
        rows.has[which, column] = False
        rows.due[which, column] = NEVER
        owned = rows.owner[which, column]
        which, column, reason = which[owned], column[owned], reason[owned]
        rows.owner[which, column] = False
        now = rows.now[which, None]
        free = (rows.born[which] <= now) & (rows.gone[which] > now) & ~rows.owner[which]
        distance = np.where(free, rows.distance[which], FARTHEST)
        following = distance.argmin(1)
        there = distance[np.arange(len(which)), following] != FARTHEST
        which, following, reason = which[there], following[there], reason[there]
        rows.owner[which, following] = True
        self._await_key(rows, which, following, reason)

    def _hand_over(self, rows: _Rows, which: Whole, event: Whole, log: _Log) -> None:
        """Who leaves in order gives what it has to all owners that lack it."""
        lacking = rows.owner[which] & ~rows.has[which] & (rows.died[which] > rows.now[which, None])
        line, column = np.nonzero(lacking)
        line = which[line]
        rows.has[line, column] = True
        rows.due[line, column] = NEVER
        log.add(
            rows.now[line],
            rows.number[line],
            rows.life[line, event[line]],
            rows.life[line, column],
            np.full(len(line), LEFT, dtype=np.int8),
        )

    def _post_anew(self, rows: _Rows, held_before: Flags) -> None:
        """Count what is lost by this event, and give what is lost to the owners that live."""
        living = rows.died > rows.now[:, None]
        lost: Flags = ~np.any(rows.has & living, axis=1)
        new = np.flatnonzero(lost & held_before)
        self.histories.losses[rows.number[new]] += 1
        self.histories.lost_on[rows.number[new], rows.now[new] // self._day] = True
        posted = lost[:, None] & rows.owner & living
        rows.has |= posted
        rows.due[posted] = NEVER


def _write(rows: _Rows, state: _State) -> None:
    state.has[rows.number], state.owner[rows.number] = rows.has, rows.owner
    state.due[rows.number], state.reason[rows.number] = rows.due, rows.reason


def next_events(rows: _Rows, replicas: int) -> tuple[Whole, Times]:
    """The column of each row in which something happens next, and when; of two at one moment the life that began first is first."""
    now = rows.now[:, None]
    alive = rows.died > now
    # With fewer owners than there are to be, whoever comes is one.
    bound = np.where(rows.owner.sum(1) < replicas, FARTHEST, np.where(rows.owner, rows.distance, 0).max(1))
    near = rows.distance < bound[:, None]
    times = np.where(rows.owner, np.where(alive, np.minimum(rows.died, rows.due), rows.gone), NEVER)
    times = np.where(rows.has & alive & ~rows.owner, rows.died, times)
    times = np.where((rows.born > now) & near, rows.born, times)
    event = times.argmin(1)
    return event, np.take_along_axis(times, event[:, None], 1)[:, 0]


def _region(points: Words, depth: int) -> Words:
    return points >> np.uint64(64 - depth) if depth else np.zeros(len(points), dtype=np.uint64)


def depth_of(lives: Lives, keys: Words, replicas: int) -> int:
    """How many leading bits name a region: as many as leave, at any time, enough peers in each region that has keys."""
    peers = int((lives.born <= 0).sum())
    depth = max(0, (peers // max(CROWD, 2 * replicas)).bit_length() - 1)
    while depth and _fewest(lives, keys, depth) < replicas:
        depth -= 1
    return depth


def _fewest(lives: Lives, keys: Words, depth: int) -> int:
    """The fewest peers that are taken for alive at any time in any region that has keys."""
    names = np.unique(_region(keys, depth))
    of_lives = _region(lives.ids, depth)
    place = np.minimum(np.searchsorted(names, of_lives), len(names) - 1)
    there = names[place] == of_lives
    ends = there & (lives.gone < lives.end)
    times = np.concatenate((lives.born[there], lives.gone[ends]))
    change = np.repeat((1, -1), (int(there.sum()), int(ends.sum())))
    where = np.concatenate((place[there], place[ends]))
    # At one moment those that go first: that is the fewest.
    order = np.lexsort((change, times, where))
    # Regions follow each other, and what one has begun with in the sum is what all before it ended with.
    sums, where = np.cumsum(change[order]), where[order]
    last = np.searchsorted(where, np.arange(len(names)), side="right")
    before = np.concatenate(([0], sums))[np.concatenate(([0], last[:-1]))]
    # At the first moment peers come one after the other here.
    after_first = times[order] > 0
    at_first = np.bincount(place[there & (lives.born <= 0)], minlength=len(names))
    lowest = (sums - before[where])[after_first]
    return int(min(at_first.min(), lowest.min(initial=at_first.min())))
