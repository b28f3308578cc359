"""When the log of a data directory is cleaned, and what of its oldest groups is written once more; without I/O.

What changed is written at the end of the log, so that it costs what has changed and not what lies there: a fact in a table in the
order of facts has a page of its own written for it. What holds no more stays until it is cleaned, from the oldest end (Rosenblum
and Ousterhout 1992, "The design and implementation of a log-structured file system", section 3.4): the facts of the oldest groups
are written as they stand now, with what has changed anyway, and in the same transaction those groups go.

    quiet ──more than half of the log holds no more──> cleaning, at each write ──all groups from before it have gone──> quiet
      └──a group is damaged (gsg/storage/disk/scrub.py)──> as well, but what is written is all that is in memory

A fact that was written since the cleaning began is left out: so each is written at most once for it, however many groups have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from ...tuples.long_constants import Remains, remains_of
from .journal import GROUP_FACTS, Group

SPARE = 100_000
"""Marks by which the log may be heavier than twice what holds: a small one is not worth it. Some 4 MiB."""
FACTS_A_FACT = 2
FACTS_A_WRITE = 100
"""For each fact that is written so many old ones are looked at, and so many for each write: thus the log shrinks while it grows."""


class Compaction:
    """The cleaning of one log; ``alive()`` says how many marks there are now, and may take as long as there are keys."""

    def __init__(self, alive: Callable[[], int]) -> None:
        self._alive = alive
        self._due = SPARE
        """What the log weighs when it is to be seen how much of it holds."""
        self._until = 0
        """The last group of those that are cleaned; 0 while none are."""
        self._anew: Iterator[Remains] | None = None
        """Where all facts are written once more from memory, those that are left."""
        self._written: set[Remains] = set()
        """What would remain of the facts that were written since the cleaning began. Limit: those that there were and are."""

    def is_due(self, weight: int, newest: int) -> bool:
        """Whether the oldest groups are to be looked at before the next write, of a log that weighs this."""
        if not self._until and weight >= self._due:
            self._due = 2 * self._alive() + SPARE
            if weight >= self._due:
                self._until = newest
        return self._until > 0

    @property
    def is_anew(self) -> bool:
        """Whether all facts are being written once more, since those of some group cannot be read any more."""
        return self._anew is not None

    def begin_anew(self, facts: Iterable[Remains], newest: int) -> None:
        """Write all these facts once more, and let all groups up to this one go."""
        self._until, self._anew = newest, iter(facts)
        self._written.clear()

    def next_of_all(self) -> tuple[int, list[Remains]]:
        """The next of them, and up to which number groups go with them."""
        assert self._anew is not None, "it has begun"
        some = list(islice(self._anew, GROUP_FACTS))
        return (self._until if len(some) < GROUP_FACTS else 0), self.without_written(some)

    @staticmethod
    def share(waiting: int) -> int:
        """How many old facts are to be looked at beside so many that wait to be written."""
        return min(FACTS_A_FACT * waiting + FACTS_A_WRITE, GROUP_FACTS)

    def without_written(self, facts: Iterable[Remains]) -> list[Remains]:
        """Of the facts of the oldest groups, or what remains of them, those that are to be written again."""
        return [fact for fact in dict.fromkeys(facts) if fact not in self._written]

    def note_written(self, group: Group) -> None:
        """A group is on disk, and those that it says have gone."""
        if not self._until:
            return
        if group.until >= self._until:
            self._until, self._anew = 0, None
            self._written.clear()
        else:
            self._written.update([remains_of(fact) for fact, _ in group.rows])
