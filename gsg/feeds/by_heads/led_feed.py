"""A feed of this peer that is passed on: the facts that came by it, in order of arrival, and what came of late, for newcomers.

Its facts are those that have arrived. The alpha memory of the same feed may be behind them: what is told here waits for its turn,
and what goes on does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ...rendezvous.fan_out.kept_events import KeptEvents
from ...rendezvous.feed import Posting
from ...tuples.terms import Tuple
from ...wire.messages import Deltas, Snapshot
from ...wire.waiting import Room
from ..alpha_memory import Source
from ..feed import AlphaFeed, Differences, FeedState, SequenceHole

RECENT = 1_000
RECENT_FACTS = 10_000
"""Messages with changes of facts that are remembered of a feed, and their facts, for whoever is sent here before them. Beyond, the
oldest go, and who would need them gets the facts as they are by now, and then the events since."""


class LedFeed:
    """A feed that is passed on. ``position``: how many messages of events there were; ``room``: what the events of all may take."""

    def __init__(self, source: Source, position: int, room: Room) -> None:
        self.source = source
        self.posting = Posting(source.memory.template, source.memory.test, None)
        self.posting.facts = lambda: self.snapshot_facts
        self.snapshot_facts: dict[Tuple, int] = {}
        """What the next snapshot says: the facts, but for a moment (:meth:`facts_before`)."""
        self.waiting = 0
        """How many subscribers are about to be fed. Limit: MAX_PART of heads.py, those that are fed included."""
        self.position = position
        self.recent: deque[tuple[int, Deltas]] = deque()
        """The last changes, each with how many messages of events came before it. Limits: RECENT, RECENT_FACTS."""
        self._recent_facts = 0
        self.kept = KeptEvents(room)
        """For whoever is sent here by the rendezvous before events that come earlier than it."""
        self._feed = AlphaFeed(source.number)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing of its facts."""
        return self._feed.state is FeedState.LIVE

    @property
    def facts(self) -> dict[Tuple, int]:
        """What came by the feed, when it was last whole."""
        return self._feed.facts

    def begin_whole(self, facts: dict[Tuple, int], expected: int) -> None:
        """The facts of the feed are known; ``expected`` is the sequence number of its next changes."""
        self._feed = AlphaFeed(self.source.number, facts)
        self._feed.state, self._feed.expected = FeedState.LIVE, expected
        self.snapshot_facts = facts

    def take_part(self, part: Snapshot) -> Differences | None:
        """A part of a snapshot, which was checked; once that is whole, what has changed."""
        changed = self._feed.take_part(part)
        if changed is not None:
            self.snapshot_facts = self.facts
            self.recent.clear()
            self._recent_facts = 0
        return changed

    def take_deltas(self, deltas: Deltas) -> Differences | None:
        """The next changes, which were checked: those that are some; None where others are missing before them, for which there
        will be a snapshot."""
        try:
            if not self._feed.is_next(deltas):
                return None
        except SequenceHole:
            return None
        changed = self._feed.apply(deltas)
        facts, signs = [fact for fact, _ in changed], [sign for _, sign in changed]
        self.recent.append((self.position, Deltas(deltas.feed, deltas.sequence, facts, signs, deltas.origin)))
        self._recent_facts += len(facts)
        while len(self.recent) > RECENT or self._recent_facts > RECENT_FACTS:
            self._recent_facts -= len(self.recent.popleft()[1].facts)
        return changed

    def changes_since(self, sequence: int) -> list[tuple[int, Deltas]] | None:
        """The changes from a sequence number on, each with its position; None where not all of them are remembered."""
        since = [(position, deltas) for position, deltas in self.recent if deltas.sequence >= sequence]
        return since if len(since) == self._feed.expected - sequence else None

    def facts_before(self, changes: Sequence[tuple[int, Deltas]]) -> dict[Tuple, int]:
        """The facts as they were before these changes, the last ones."""
        facts = dict(self.facts)
        for _, deltas in reversed(changes):
            for fact, sign in zip(reversed(deltas.facts), reversed(deltas.signs), strict=True):
                if sign > 0:
                    facts.pop(fact, None)
                else:
                    facts[fact] = 0
        return facts
