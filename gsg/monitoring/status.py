"""What a peer says of itself when somebody asks (``PeerStatus`` of gsg/wire/messages.py), and the counters of its doors.

A peer does not know its doors: each says what it counts when it is asked. A name is that of its door or package, then what is
counted, as ``pedro_clients_cut_off``; what each is stands in metrics.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ..background import StartTask
from ..publisher.publisher import Publisher
from ..rendezvous.condition_tests import counts_of_tests
from ..rendezvous.rendezvous import Rendezvous
from ..storage.disk.room import Room
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange, PeerLink, show
from ..wire.messages import Failed
from ..wire.status_messages import Count, PeerStatus
from .process import memory_bytes
from .shared_walk import SharedWalk, Walk
from .version import __version__

Read: TypeAlias = Callable[[], Iterable[Count]]
"""Says what has been counted so far."""


class Counters:
    """Whom to ask. Bounded by the doors of the peer."""

    def __init__(self) -> None:
        self._sources: list[Read] = []

    def add(self, read: Read) -> None:
        """Ask this one as well."""
        self._sources.append(read)

    def remove(self, read: Read) -> None:
        """Ask it no more."""
        self._sources.remove(read)

    def read(self, *more: Iterable[Count]) -> list[Count]:
        """What was counted, and ``more``, by name; counts of one name from several doors are added."""
        total: dict[str, int] = {}
        for counts in (*more, *(source() for source in self._sources)):
            for one in counts:
                total[one.name] = total.get(one.name, 0) + one.count
        return [Count(name, total[name]) for name in sorted(total)]


PIECE = 1_000
"""Facts, or keys, that are counted between two looks at the clock."""


class Figures(NamedTuple):
    """What lies at a peer; it takes a walk through all of it."""

    facts: int
    entries: int
    keys: int
    templates: int
    standby: int


def figures_of(rendezvous: Rendezvous) -> Walk[Figures]:
    """Walk through what is there now: nothing after each piece, and in the end the figures."""
    held = rendezvous.held
    keys = list(held.keys())
    seen: set[Tuple] = set()
    entries = walked = 0
    for key in keys:
        facts = list(held.under(key))
        entries += len(facts)
        for start in range(0, len(facts), PIECE):
            seen.update(facts[start : start + PIECE])
            walked += PIECE if len(facts) > PIECE else len(facts)
            if walked >= PIECE:
                walked = 0
                yield None
    yield Figures(
        len(seen), entries, rendezvous.keys(), rendezvous.conditions.templates(), rendezvous.conditions.templates(standby=True)
    )


class Status:
    """Answers whoever asks how a peer is, of which these are the parts; ``start_task`` runs a coroutine while the peer lives."""

    def __init__(
        self,
        exchange: Exchange,
        rendezvous: Rendezvous,
        publisher: Publisher,
        counters: Counters,
        start_task: StartTask,
        room: Callable[[], Room],
    ) -> None:
        """``room()`` says what its data directory takes."""
        self._room = room
        self._started_s = time.time()
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._publisher = publisher
        self._counters = counters
        self._counting = SharedWalk(lambda: figures_of(rendezvous), lambda: rendezvous.clock(), start_task)

    def answer(self, link: PeerLink, request: int) -> None:
        """Somebody asks. Raises Refused where too many wait already."""
        self._counting.ask(
            lambda figures: link.send(self._status(request, figures)), lambda problem: link.send(Failed(request, problem))
        )

    def _status(self, request: int, figures: Figures) -> PeerStatus:
        contact, traffic, rendezvous = self._exchange.own.contact, self._exchange.traffic, self._rendezvous
        return PeerStatus(
            request,
            peer=contact.id,
            address=show(contact),
            facts=figures.facts,
            entries=figures.entries,
            keys=figures.keys,
            templates=figures.templates,
            feeds=rendezvous.conditions.feeds(),
            standby=figures.standby,
            links=self._exchange.link_count,
            published=self._publisher.published,
            sent_messages=traffic.messages,
            sent_bytes=traffic.bytes,
            matched=rendezvous.matched,
            counts=self._counters.read(counts_of_tests(), [Count("tests_failed", rendezvous.conditions.tests.failed)]),
            version=__version__,
            started_s=self._started_s,
            memory_bytes=memory_bytes(),
            disk_bytes=self._room().used,
            disk_free_bytes=self._room().free,
        )
