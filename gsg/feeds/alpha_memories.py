"""What a peer keeps for a template that somebody here asks for: its feeds, and whom to tell.

There may be very many of these, so what is needed while one is set up is gone afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import dht
import rete

from ..errors import PeerMisbehaved
from ..tuples.features import Template
from ..tuples.long_constants import Remains, size_of
from ..tuples.terms import Tuple
from ..wire.exchange import Channel, show
from ..wire.messages import Event, Snapshot, Test
from .feed import AlphaFeed, Differences
from .union import Union

SAID = 10_000
SAID_BYTES = 16 * 1024 * 1024
"""Facts of which it is known that a feed has told while another is set up in its place, and their length as encoded; those beyond
may go and come back."""

OnEvent: TypeAlias = Callable[[Event, int], None]
"""Hears of an event, with the note that the listener was given."""


class Memory:
    """A template that somebody here asks for, with the feeds that keep it."""

    __slots__ = (
        "_sources",
        "alpha",
        "anchor",
        "exclusive",
        "note",
        "number",
        "on_event",
        "ready",
        "test",
        "tested",
        "union",
        "users",
    )

    def __init__(
        self,
        alpha: rete.AlphaSpec,
        number: int,
        *,
        anchor: int | None = None,
        test: Test | None = None,
        exclusive: bool = False,
    ) -> None:
        self.alpha = alpha
        self.number = number
        """Counts up: which of two is newer."""
        self.anchor = anchor
        """Where it is posted; None until chosen."""
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
        return iter([fact for fact in facts if not any(source.denies(fact) for source in self.sources)])

    def changed(self, source: Source, differences: Differences) -> Differences:
        """What differences of a feed mean for the memory: a fact counts once, however many feeds have it."""
        if len(self.sources) > 1:
            others = [other for other in self.sources if other is not source]
            differences = [
                (fact, sign)
                for fact, sign in differences
                if not any(fact in other.facts or other.denies(fact) for other in others) and (sign > 0 or not source.denies(fact))
            ]
        if source.following:
            source.says(differences)
        return differences

    def yields(self, source: Source) -> Differences:
        """The feeds in the place of one are whole: of what that one has not told lately, they know better."""
        others = [other for other in self.sources if other is not source]
        old = [
            fact
            for fact in source.facts
            if fact not in source.said and not any(fact in other.facts or other.denies(fact) for other in others)
        ]
        for fact in old:
            del source.facts[fact]
        return [(fact, -1) for fact in old]

    def contested(self, source: Source) -> bool:
        """Whether a feed has lately told what those in its place do not say."""
        others = [other for other in self.sources if other is not source]
        return any((sign > 0) != any(fact in other.facts for other in others) for fact, sign in source.said.items())

    def drop(self, source: Source) -> None:
        """A feed is none of its feeds any more."""
        self.sources = tuple(other for other in self.sources if other is not source)

    def without(self, source: Source) -> Differences:
        """A feed ends: what goes with it, and what is there although it has denied that."""
        differences = self.changed(source, [(fact, -1) for fact in source.facts])
        denied = [fact for fact in source.said if source.denies(fact)]
        self.drop(source)
        there = {fact for other in self.sources for fact in other.facts} if denied else ()
        back = [fact for fact in denied if fact in there]
        return [*differences, *((fact, 1) for fact in back)]

    def size(self) -> int:
        """How many facts there are, at most."""
        if self.union is not None:
            return len(self.union)
        return sum(len(source.facts) for source in self.sources)


class Source:
    """One feed of a memory."""

    __slots__ = ("_feed", "_said", "_said_bytes", "channel", "memory", "number", "whole")

    def __init__(self, memory: Memory, number: int, channel: Channel) -> None:
        self.memory = memory
        self.number = number
        self.channel = channel
        self._feed: AlphaFeed | None = None
        self.whole: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        """Done when the first snapshot is whole, and None from then on; has an error when it never will be (:meth:`fails`)."""
        self._said: dict[Tuple, int] | None = None
        """What it has told since a feed was asked for that is to take its place. Limits: SAID, SAID_BYTES."""
        self._said_bytes = 0

    @property
    def holder(self) -> dht.Contact:
        """The rendezvous that it comes from."""
        return self.channel.contact

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
    def following(self) -> bool:
        """Whether a feed that is to take its place is being set up."""
        return self._said is not None

    def follow(self) -> None:
        """A feed that is to take its place is about to be asked for."""
        self._said, self._said_bytes = {}, 0

    @property
    def said(self) -> Mapping[Tuple, int]:
        """The facts that it has told the memory of while a feed is set up that is to take its place, each with the last sign.

        The snapshot of the other may be older than that. So its word about them counts until the other is heard out: one that came
        does not go, and one that went does not come back, unless that holder had not even heard of it by then.
        """
        return _NO_FACTS if self._said is None else self._said

    def denies(self, fact: Tuple) -> bool:
        """Whether it has told that a fact is gone, which the feeds in its place may still have."""
        return self._said is not None and self._said.get(fact, 1) < 0

    def says(self, differences: Differences) -> None:
        """It has told of these while another is set up."""
        assert self._said is not None, "another is set up"
        for fact, sign in differences:
            if fact not in self._said:
                size_bytes = size_of(fact)
                if len(self._said) >= SAID or self._said_bytes + size_bytes > SAID_BYTES:
                    continue
                self._said_bytes += size_bytes
            self._said[fact] = sign

    def check(self, facts: Sequence[Remains]) -> None:
        """Raise PeerMisbehaved when the feed brings what its template does not match."""
        template = self.memory.template
        for fact in facts:
            if not template.matches(fact):  # type: ignore[arg-type]  # one without constants may as well meet hashes
                raise PeerMisbehaved(f"{show(self.holder)} feeds {fact!r:.200}, which {template!r:.200} does not match")

    def check_snapshot(self, part: Snapshot) -> None:
        """The same of a part of a snapshot."""
        self.check(part.facts)
        self.check(part.went)
        if len(part.stamps) not in (0, len(part.facts)) or len(part.went_stamps) != len(part.went):
            stamps, facts = len(part.stamps) + len(part.went_stamps), len(part.facts) + len(part.went)
            raise PeerMisbehaved(f"{facts} facts with {stamps} stamps; expected as many, or none")

    def is_whole(self) -> None:
        """The first snapshot is whole, or will never be: nobody waits for it from now on."""
        whole, self.whole = self.whole, None
        if whole is not None and not whole.done():
            whole.set_result(None)

    def fails(self, error: Exception) -> None:
        """The first snapshot will not come, and whoever waits for it is told why."""
        if self.whole is not None and not self.whole.done():
            self.whole.set_exception(error)
            self.whole.exception()  # it may be that nobody waits any more


_NO_FACTS: dict[Tuple, int] = {}
