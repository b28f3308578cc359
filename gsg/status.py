"""What a peer says of itself when somebody asks (:class:`gsg.messages.PeerStatus`), and the counters that its doors bring along.

A peer does not know its doors: each says what it counts when it is asked. A name is that of its door or package, then what is
counted, as ``pedro_clients_cut_off``; all count since the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from .exchange import Exchange, show
from .messages import Count, PeerStatus
from .predicates import counts_of_tests
from .publisher import Publisher
from .rendezvous import Rendezvous

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


def status_of(request: int, exchange: Exchange, rendezvous: Rendezvous, publisher: Publisher, counters: Counters) -> PeerStatus:
    """How a peer is, of which these are the parts."""
    contact, traffic = exchange.own.contact, exchange.traffic
    return PeerStatus(
        request,
        peer=contact.id,
        address=show(contact),
        facts=rendezvous.facts(),
        entries=rendezvous.entries(),
        keys=rendezvous.keys(),
        templates=rendezvous.templates(),
        feeds=rendezvous.feeds(),
        standby=rendezvous.templates(standby=True),
        links=exchange.links,
        published=publisher.published,
        sent_messages=traffic.messages,
        sent_bytes=traffic.bytes,
        matched=rendezvous.matched,
        counts=counters.read(counts_of_tests(), [Count("tests_failed", rendezvous.tests.failed)]),
    )
