"""What a peer keeps for a template that somebody here asks for: an alpha memory, and the feeds that keep it.

There may be very many of these, so what is needed while one is set up is gone afterwards. Nearly always a memory has one feed. It
has two while one takes the place of the other, or one of each peer (:mod:`gsg.feeds.unanchored`); a fact counts once then:

    here = some feed has the fact, and no feed that is being replaced has retracted it
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

import dht
import rete

from ..errors import PeerMisbehaved
from ..placement.anchors import feature_of
from ..tuples.features import Interval, Key, Template
from ..tuples.long_constants import Remains, size_of
from ..tuples.terms import Tuple
from ..wire.exchange import FannedOut, PeerLink, answer_of, show
from ..wire.messages import Deltas, Done, Event, InsertCondition, Snapshot, Test
from .feed import AlphaFeed, Differences
from .union import Union

WORDS = 10_000
WORDS_BYTES = 16 * 1024 * 1024
"""Facts of which it is known that a feed has told while another is set up in its place, and their length as encoded; those beyond
may go and come back."""

OnEvent: TypeAlias = Callable[[Event, int], None]
"""Hears of an event, with the note that the listener was given."""


class AlphaMemory:
    """A template that somebody here asks for, with the feeds that keep it."""

    __slots__ = (
        "_sources",
        "alpha",
        "anchor",
        "exclusive",
        "interval",
        "note",
        "number",
        "on_event",
        "ready",
        "since_s",
        "test",
        "tested",
        "union",
        "users",
    )

    def __init__(
        self,
        alpha: rete.AlphaSpec,
        number: int,
        since_s: float = 0.0,
        *,
        anchor: int | None = None,
        interval: int | None = None,
        test: Test | None = None,
        exclusive: bool = False,
    ) -> None:
        self.alpha = alpha
        self.number = number
        """Counts up: which of two is newer."""
        self.since_s = since_s
        """When somebody asked for it: of events that were published before it does not hear, however late they come."""
        self.anchor = anchor
        """Where it is posted; None until chosen."""
        self.interval = interval
        """Where it has no constant there: the interval whose facts it holds."""
        self.test = test
        self.tested = True
        """Whether all tests of the memory travel, so that nothing comes that fails one."""
        self.exclusive = exclusive
        self.on_event: OnEvent | None = None
        """Who hears of events, for a memory that is for them alone; None for one of the network."""
        self.note = 0
        """What ``on_event`` is told beside the event: one function may listen for many."""
        self.union: Union | None = None
        """What its feeds hold together, where it has one from every peer."""
        self.users = 0
        self._sources: Source | tuple[Source, ...] = ()
        """Its feeds: nearly always there is one, and no tuple of it."""
        self.ready: asyncio.Future[None] | bool = False
        """Whether the memory is kept; a future, done in the end, while somebody sets it up."""

    @property
    def template(self) -> Template:
        """What is posted at the rendezvous."""
        return self.alpha.template

    @property
    def key(self) -> Key:
        """What it is posted under, where that is not every peer."""
        assert self.anchor is not None, "it is chosen"
        if self.interval is None:
            return feature_of(self.template, self.anchor)
        return len(self.template.pattern), self.anchor, Interval(self.interval)

    @property
    def events_only(self) -> bool:
        """Whether its feeds bring events, and no facts."""
        return self.on_event is not None or self.alpha.window is not None

    @property
    def sources(self) -> tuple[Source, ...]:
        """Its feeds, oldest first."""
        sources = self._sources
        return sources if isinstance(sources, tuple) else (sources,)

    @sources.setter
    def sources(self, sources: tuple[Source, ...]) -> None:
        self._sources = sources[0] if len(sources) == 1 else sources

    def facts(self) -> Iterator[Tuple]:
        """What the memory holds."""
        if self.union is not None:
            return iter(self.union)
        if isinstance(self._sources, Source):
            return iter(self._sources.facts)
        facts = {fact: None for source in self.sources for fact in source.facts}
        return iter([fact for fact in facts if not any(source.has_retracted(fact) for source in self.sources)])

    def changes_from(self, source: Source, differences: Differences) -> Differences:
        """What differences of a feed mean for the memory: a fact counts once, however many feeds have it."""
        if isinstance(self._sources, tuple):
            others = self.other_sources(source)
            differences = [
                (fact, sign)
                for fact, sign in differences
                if not _decide(others, fact) and (sign > 0 or not source.has_retracted(fact))
            ]
        if source.is_replaced:
            source.note_words(differences)
        return differences

    def drop_unconfirmed(self, source: Source) -> Differences:
        """The feeds in the place of one are whole: what it has not told lately, and they do not have, is here no more."""
        others = self.other_sources(source)
        old = [fact for fact in source.facts if fact not in source.latest_words and not _decide(others, fact)]
        for fact in old:
            del source.facts[fact]
        return [(fact, -1) for fact in old]

    def is_contested(self, source: Source) -> bool:
        """Whether a feed has lately told what those in its place do not say."""
        others = self.other_sources(source)
        return any((sign > 0) != any(fact in other.facts for other in others) for fact, sign in source.latest_words.items())

    def remove_feed(self, source: Source) -> Differences:
        """A feed ends: the facts that go with it, and those that are here although it has retracted them."""
        differences = self.changes_from(source, [(fact, -1) for fact in source.facts])
        self.sources = others = self.other_sources(source)
        retracted = [fact for fact in source.latest_words if source.has_retracted(fact)]
        return [*differences, *((fact, 1) for fact in retracted if any(fact in other.facts for other in others))]

    def is_fed_by(self, source: Source) -> bool:
        """Whether a feed is one of its feeds."""
        return self._sources is source or source in self.sources

    def other_sources(self, source: Source) -> tuple[Source, ...]:
        """Its feeds but one."""
        return tuple(other for other in self.sources if other is not source)

    def size(self) -> int:
        """How many facts there are, at most."""
        if self.union is not None:
            return len(self.union)
        return sum(len(source.facts) for source in self.sources)


class Source:
    """One feed of a memory.

    loading ──snapshot whole──> kept ──a feed is asked for that is to take its place──> replaced ──that one heard out──> ended
    """

    __slots__ = ("_feed", "_words", "_words_bytes", "link", "loading", "memory", "number")

    def __init__(self, memory: AlphaMemory, number: int, link: PeerLink) -> None:
        self.memory = memory
        self.number = number
        self.link = link
        self._feed: AlphaFeed | None = None
        self.loading: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        """Done when the first snapshot is whole, and None from then on; has an error when that will not come."""
        self._words: dict[Tuple, int] | None = None
        """What it has told since a feed was asked for that is to take its place. Limits: WORDS, WORDS_BYTES."""
        self._words_bytes = 0

    @property
    def holder(self) -> dht.Contact:
        """The rendezvous that it comes from."""
        return self.link.contact

    @property
    def way(self) -> Hashable:
        """By what way it comes, in the order of publishers."""
        return self.link

    @property
    def feed(self) -> AlphaFeed:
        """The facts that came by it; one of events only never has any, and is spared."""
        if self._feed is None:
            self._feed = AlphaFeed(self.number)
        return self._feed

    @property
    def facts(self) -> dict[Tuple, int]:
        """What the rendezvous held when last heard."""
        return _NO_FACTS if self._feed is None else self._feed.facts

    @property
    def is_replaced(self) -> bool:
        """Whether a feed that is to take its place is being set up."""
        return self._words is not None

    def begin_replacing(self) -> None:
        """A feed that is to take its place is about to be asked for."""
        self._words, self._words_bytes = {}, 0

    @property
    def latest_words(self) -> Mapping[Tuple, int]:
        """The facts that it has told the memory of since it is being replaced, each with the last sign.

        The snapshot of the other may be older than that. So its word about them counts until the other is heard out: one that came
        does not go, and one that went does not come back, unless that holder had not even heard of it by then.
        """
        return _NO_FACTS if self._words is None else self._words

    def has_retracted(self, fact: Tuple) -> bool:
        """Whether it has told that a fact is gone, which the feeds in its place may still have."""
        return self._words is not None and self._words.get(fact, 1) < 0

    def note_words(self, differences: Differences) -> None:
        """It has told of these while it is being replaced."""
        assert self._words is not None, "it is being replaced"
        for fact, sign in differences:
            if fact not in self._words:
                size_bytes = size_of(fact)
                if len(self._words) >= WORDS or self._words_bytes + size_bytes > WORDS_BYTES:
                    continue
                self._words_bytes += size_bytes
            self._words[fact] = sign

    async def post(
        self,
        anchor: int,
        *,
        instead: int = 0,
        again: list[int] | None = None,
        standby: bool = False,
        of: bytes | None = None,
        came_to: int = -1,
        sequence: int = 0,
        not_by: list[bytes] | None = None,
    ) -> None:
        """Post the memory's template at the holder. ``instead``: the feed there that it takes the place of, 0 for none; ``again``:
        those from there that broke; ``of``, ``came_to``, ``sequence`` and ``not_by`` are as in InsertCondition.

        Raises PeerUnreachable, Refused, Elsewhere or FannedOut.
        """
        memory = self.memory
        answer = self.link.ask(
            lambda request: InsertCondition(
                request,
                self.number,
                memory.template,
                anchor,
                memory.test,
                standby or memory.events_only,
                memory.exclusive,
                standby=standby,
                instead=instead,
                again=again or [],
                of=of,
                came_to=came_to,
                sequence=sequence,
                not_by=not_by or [],
                interval=memory.interval,
            )
        )
        try:
            await answer_of(self.link, answer, Done)
        except FannedOut as fanned_out:
            if of is None and not standby:
                raise
            raise PeerMisbehaved(f"{fanned_out}, which was asked for {'what it passes on' if of else 'a standby'}") from None

    def check_facts(self, facts: Sequence[Remains]) -> None:
        """Raise PeerMisbehaved when the feed brings what its template does not match."""
        template = self.memory.template
        for fact in facts:
            if not template.matches(fact):  # type: ignore[arg-type]  # one without constants may as well meet hashes
                raise PeerMisbehaved(f"{show(self.holder)} feeds {fact!r:.200}, which {template!r:.200} does not match")

    def check_deltas(self, deltas: Deltas) -> None:
        """Raise PeerMisbehaved for deltas that are none of this feed."""
        self.check_facts(deltas.facts)
        if len(deltas.signs) != len(deltas.facts):
            raise PeerMisbehaved(f"{len(deltas.facts)} deltas with {len(deltas.signs)} signs; expected as many")
        if len(deltas.stamps) not in (0, len(deltas.facts)):
            raise PeerMisbehaved(f"{len(deltas.facts)} deltas with {len(deltas.stamps)} stamps; expected as many, or none")

    def check_snapshot(self, part: Snapshot) -> None:
        """The same of a part of a snapshot."""
        self.check_facts(part.facts)
        self.check_facts(part.went)
        if len(part.stamps) not in (0, len(part.facts)) or len(part.went_stamps) != len(part.went):
            stamps, facts = len(part.stamps) + len(part.went_stamps), len(part.facts) + len(part.went)
            raise PeerMisbehaved(f"{facts} facts with {stamps} stamps; expected as many, or none")

    def end_loading(self) -> None:
        """The first snapshot is whole, or will never be: nobody waits for it from now on."""
        loading, self.loading = self.loading, None
        if loading is not None and not loading.done():
            loading.set_result(None)

    def fail_loading(self, error: Exception) -> None:
        """The first snapshot will not come, and whoever waits for it is told why."""
        if self.loading is not None and not self.loading.done():
            self.loading.set_exception(error)
            self.loading.exception()  # it may be that nobody waits any more


def _decide(others: tuple[Source, ...], fact: Tuple) -> bool:
    """Whether other feeds say if a fact is here: one has it, or has retracted it while it is being replaced."""
    return any(fact in other.facts or other.has_retracted(fact) for other in others)


_NO_FACTS: dict[Tuple, int] = {}
