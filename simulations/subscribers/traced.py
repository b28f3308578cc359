"""What each subscriber's peer of an overlay that ran has received, by its trace: one tuple after the other, as peers match them.

The rows of publishers say who asked for what, from when on, and what was published (gsg/monitoring/trace.py). Here nothing is
drawn and nothing is grouped: a tuple is looked up by its constants, tested with the tests that travelled, and counted for each peer
that asked by then. Tuples of any arity count. A peer counts the same itself, as ``gsg status`` says (``feed_changes_received``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from gsg.errors import GsgError
from gsg.monitoring import trace
from gsg.monitoring.trace import What
from gsg.placement.rules import REPLICAS
from gsg.rendezvous.condition_tests import compile_test
from gsg.rendezvous.feed import Predicate
from gsg.tuples.features import HOME, Template, key
from gsg.tuples.terms import Term, Tuple
from gsg.wire.messages import Deltas, Event, Happened, Origin, Snapshot, Test

from ..engine.ownership import Ownership, prefixes_of
from ..errors import BadWorkload
from ..workload.trace_rows import rows_of_publishers, unfinished_parts
from .frames import bytes_of

Name: TypeAlias = tuple[str, int, int]
"""Of a template that a peer asks for: its peer, when its run began, and the number that it has there."""
_READ = ("peer", "run_us", "row", "at_us", "what", "role", "terms", "condition", "positions", "number", "events_only")
_PUBLISHER = bytes(20)


@dataclass(frozen=True)
class Received:
    """What one peer receives, as a row."""

    peer: str
    feeds: int
    """Templates that it asked for, those that ended too."""
    stored: int
    """Facts that were there already when it asked."""
    changes: int
    """Facts that came or went from then on."""
    events: int
    bytes: int
    """Of all of them, from itself too, if each came by itself."""


@dataclass(slots=True)
class _Wanted:
    """A template that a peer asks for."""

    peer: str
    template: Template
    passes: Predicate | None
    at: bytes | None
    """The key that it is posted under, None for everywhere."""
    events_only: bool

    def admits(self, items: Tuple) -> bool:
        """Whether a tuple that has its constants is one of its own."""
        if not self.template.matches(items):
            return False
        try:
            return self.passes is None or self.passes(items, None)
        except Exception:  # a test of somebody's: what it fails on does not match, as at a peer
            return False


@dataclass(slots=True)
class _Index:
    """What is asked for by now, by the places of its constants and by these; bounded by the templates of the trace."""

    by_places: dict[tuple[int, tuple[int, ...]], dict[tuple[Term, ...], dict[Name, _Wanted]]] = field(default_factory=dict)
    names: dict[Name, _Wanted] = field(default_factory=dict)

    def add(self, name: Name, wanted: _Wanted) -> None:
        """One more."""
        self.names[name] = wanted
        places, constants = _places_of(wanted.template)
        self.by_places.setdefault(places, {}).setdefault(constants, {})[name] = wanted

    def remove(self, name: Name) -> None:
        """One fewer; nothing where it was asked for before the trace began."""
        wanted = self.names.pop(name, None)
        if wanted is not None:
            places, constants = _places_of(wanted.template)
            del self.by_places[places][constants][name]

    def matching(self, items: Tuple) -> Iterator[_Wanted]:
        """All that a tuple matches."""
        for (arity, places), by_constants in self.by_places.items():
            if arity == len(items):
                for wanted in by_constants.get(tuple(items[place] for place in places), {}).values():
                    if wanted.admits(items):
                        yield wanted


def _places_of(template: Template) -> tuple[tuple[int, tuple[int, ...]], tuple[Term, ...]]:
    places = tuple(place for place, item in enumerate(template.pattern) if item is not None)
    return (len(template.pattern), places), tuple(template.pattern[place] for place in places)  # type: ignore[misc]  # as just seen


class _Counted:
    """What came to each peer so far."""

    def __init__(self) -> None:
        self.feeds: Counter[str] = Counter()
        self.stored: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def row(self, peer: str) -> Received:
        """Of one of them."""
        return Received(peer, *(counts[peer] for counts in (self.feeds, self.stored, self.changes, self.events, self.bytes)))


def received(folder: str | Path) -> tuple[list[Received], list[str]]:
    """What each peer of a trace received, in the order of their ids, and what may be missing, a sentence each.

    Raises BadWorkload where it cannot be said.
    """
    rows, runs = rows_of_publishers(Path(folder), _READ)
    peers = runs.peers()
    replay = _Replay(peers)
    for row in rows:
        try:
            replay.take(row)
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            raise BadWorkload(f"row {row['row']} of peer {str(row['peer'])[:12]} is none of a trace: {error}") from None
    return [replay.counted.row(peer) for peer in peers], runs.gaps(unfinished_parts(Path(folder)))


class _Replay:
    """The rows of publishers, taken in one by one."""

    def __init__(self, peers: Sequence[str]) -> None:
        self.counted = _Counted()
        self._peers = peers
        self._ownership = Ownership(prefixes_of([bytes.fromhex(peer) for peer in peers]))
        self._owners: dict[bytes, int] = {}
        """Of keys. Bounded by the constants of the trace."""
        self._copies = min(REPLICAS, len(peers))
        self._index = _Index()
        self._facts: defaultdict[int, dict[Tuple, None]] = defaultdict(dict)
        """What is stored, by arity. Bounded by the tuples of the trace."""

    def take(self, row: dict[str, object]) -> None:
        """One row more."""
        name = str(row["peer"]), int(str(row["run_us"])), int(str(row["number"] or 0))
        match What(str(row["what"])):
            case What.SUBSCRIBE:
                self._subscribe(name, row)
            case What.UNSUBSCRIBE:
                self._index.remove(name)
            case What.INSERT | What.RETRACT as what:
                self._change(trace.tuple_of(str(row["terms"])), comes=what is What.INSERT)
            case What.EVENT:
                self._event(trace.tuple_of(str(row["terms"])))

    def _subscribe(self, name: Name, row: dict[str, object]) -> None:
        template, test = trace.template_of(str(row["terms"]), None if row["condition"] is None else str(row["condition"]))
        wanted = _Wanted(name[0], template, _compiled(test), _key_of(template, row["positions"]), bool(row["events_only"]))
        self.counted.feeds[wanted.peer] += 1
        self._index.add(name, wanted)
        if not wanted.events_only:
            for fact in self._facts[len(template.pattern)]:
                if wanted.admits(fact):
                    size = bytes_of(Snapshot(0, [fact], first=True, last=True, sequence=0))
                    self._tell(wanted, self._copies_to(wanted), self.counted.stored, size)

    def _change(self, fact: Tuple, *, comes: bool) -> None:
        there = self._facts[len(fact)]
        # Facts are a set: what is there already does not come, and what is not there does not go.
        is_news = comes is not (fact in there)
        if is_news and comes:
            there[fact] = None
        elif is_news:
            del there[fact]
        elif not comes:
            return
        size = None
        for wanted in self._index.matching(fact):
            # Holders of a home are not heard in order: each but the first tells again when a fact is said again, by a later stamp.
            copies = self._copies_to(wanted) - (not is_news)
            if copies and not wanted.events_only:
                size = size or bytes_of(Deltas(0, 0, [fact], [1 if comes else -1], Origin(_PUBLISHER, 0)))
                self._tell(wanted, copies, self.counted.changes, size)

    def _copies_to(self, wanted: _Wanted) -> int:
        """How many holders feed a template: those of a home one that has no constants."""
        return self._copies if wanted.at is None else 1

    def _tell(self, wanted: _Wanted, copies: int, counts: Counter[str], size: int) -> None:
        counts[wanted.peer] += copies
        self.counted.bytes[wanted.peer] += copies * size

    def _event(self, items: Tuple) -> None:
        """An event comes once from each rendezvous, whatever it matches there."""
        reached: defaultdict[tuple[str, int], int] = defaultdict(int)
        for wanted in self._index.matching(items):
            at = key(len(items), HOME, items[HOME]) if wanted.at is None else wanted.at
            reached[wanted.peer, self._owner_of(at)] += 1
        for (peer, _), feeds in reached.items():
            self.counted.events[peer] += 1
            self.counted.bytes[peer] += bytes_of(Happened(_PUBLISHER, [Event(0, items)], [[0] * feeds]))

    def _owner_of(self, point: bytes) -> int:
        found = self._owners.get(point)
        if found is None:
            found = self._owners[point] = int(self._ownership.owners(prefixes_of([point]))[0])
        return found


def _compiled(test: Test | None) -> Predicate | None:
    if test is None:
        return None
    try:
        return compile_test(test)
    except GsgError as error:
        raise BadWorkload(f"the test {test.source[:60]!r} of a template is not known here: {error}") from None


def _key_of(template: Template, positions: object) -> bytes | None:
    if not isinstance(positions, list) or not positions:
        return None
    constant = template.pattern[positions[0]]
    if constant is None:
        raise BadWorkload(
            f"a template is posted under intervals of position {positions[0]}, and which is not in a trace; expected a network "
            "without ordered attributes"
        )
    return key(len(template.pattern), positions[0], constant)
