"""What has changed and is not on disk yet, without I/O: changes are noted, groups come out, in the order of the changes.

    entries touch facts ──> waiting ──take──> a group, being written ──written──> on disk
                               ^──────────────failed──────┘

A group says of each fact how it stands now, not what happened to it: writing one twice changes nothing, and a fact that changes
often while the disk is busy is written once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from ...tuples.long_constants import Remains, remains_of
from ..clock import HybridClock
from ..facts_by_key import FactsByKey, Mark

GROUP_FACTS = 10_000
"""Facts in one group: gathering it keeps the peer for some ten milliseconds."""


@dataclass(frozen=True, slots=True)
class Group:
    """What is to be on disk, as one transaction."""

    rows: list[tuple[Remains, list[Mark]]]
    """Facts, or what remains of them, each with all that is known of it here; with nothing, it is to be forgotten."""
    clock: int
    """The latest time that was given or seen (:mod:`gsg.storage.clock`)."""
    until: int = 0
    """The groups up to this number hold nothing that is not here or in a later one (compaction.py); 0 for none."""


class Journal:
    """The changes of a peer's entries. One group is being written at a time."""

    def __init__(self, entries: FactsByKey, clock: HybridClock) -> None:
        self._entries = entries
        self._hybrid_clock = clock
        self._waiting: dict[Remains, None] = {}
        """What would remain of the facts that have changed, those that wait for the longest first: no long text waits here. Whoever
        makes changes looks at :attr:`waiting` before."""
        entries.touched = self._waiting
        self._writing: Group | None = None
        self._written_clock = 0
        """The time that was written last."""
        self._taken = 0
        self.on_disk = 0
        """How many facts of groups are on disk: a mark no greater than this is reached."""

    @property
    def waiting(self) -> int:
        """Facts that have changed and are in no group yet."""
        return len(self._waiting)

    def mark(self) -> int:
        """What :attr:`on_disk` is when all that has changed until now is there."""
        return self._taken + len(self._waiting)

    def take(self, again: Collection[Remains] = (), until: int = 0) -> Group | None:
        """What to write next, at most GROUP_FACTS facts, until :meth:`written` or :meth:`failed`; None for nothing.

        ``again``: facts that are to be written besides, as the groups up to ``until`` go which have them.
        Without a fact where only the time is to be kept.
        """
        assert self._writing is None, "one group at a time"
        facts = list(islice(self._waiting, GROUP_FACTS))
        latest = self._hybrid_clock.reached()
        if not facts and not until and not again and not self._hybrid_clock.outrun(self._written_clock):
            return None
        # First of all, so that nothing is forgotten where it fails.
        rows = self._entries.rows(facts)
        if again:
            # Also those that wait beyond the limit: nothing older is left of them. What there is no more needs no word.
            taken = set(facts)
            rows += [row for row in self._entries.rows(fact for fact in again if fact not in taken) if row[1]]
        group = Group(rows, latest, until)
        self._written_clock = latest
        for fact in facts:
            del self._waiting[fact]
        self._taken += len(facts)
        self._writing = group
        return self._writing

    def written(self) -> None:
        """The group is on disk."""
        self._writing = None
        self.on_disk = self._taken

    def failed(self) -> None:
        """The group is not on disk, or nobody knows: its facts wait again, before all others. Marks given before are void."""
        if self._writing is None:
            return
        group, self._writing = self._writing, None
        self._written_clock = 0
        later = dict(self._waiting)
        self._waiting.clear()
        self._waiting.update((remains_of(fact), None) for fact, _ in group.rows)
        self._waiting.update(later)
        self._taken = self.on_disk
