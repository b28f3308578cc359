"""Where to find a member of a topic that one is no member of: in a cache, else by random walks through the overlay of all peers.

Members advertise their topics, small topics as often in all as large ones, so that each peer's cache is a random sample of the
topics. A walk asks peer after peer, and ends at the first that is a member or knows one. With T topics, caches of A of them, and
K peers visited, a topic that exists is found with probability P = 1 - (1 - A/T)^K; so A = T (1 - (1-P)^(1/K)) are kept (TERA:
Baldoni and others, DEBS 2007, section 4.3; Paraschiv, Stefănescu and Almasi, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import Final

from dht import Contact

from ..wire.topic_messages import Advert, Walk, WalkEnd
from .names import MAX_NAME

WALKS: Final = 4
"""Walks of one search."""
LIFETIME: Final = 10
"""Peers that each of them visits."""
FOUND_P: Final = 0.99
"""The probability with which one walk is to find a topic that exists."""
SEARCH_S: Final = 2.0
"""How long a search waits for its walks."""
LEAST_CACHED: Final = 32
"""Topics in a cache, however few there are."""
MOST_CACHED: Final = 10_000
"""Topics in a cache, however many there are: walks then find less than they should."""
MAX_SEARCHES: Final = 1_000
"""Searches under way; one more ends at once, with nothing."""
MAX_WALK: Final = 64
"""Peers that somebody else's walk may still visit."""
ADVERT_LIFE_S: Final = 60.0
"""How long after a member has made itself known that is believed, by a cache of LEAST_CACHED; by a larger one for longer in
proportion, as each of its adverts is passed on that much less often. Members that are there advertise every few seconds."""


def cache_size(topics: float, lifetime: int = LIFETIME, found_p: float = FOUND_P) -> int:
    """How many access points a cache has to hold where there are so many topics, for a walk over ``lifetime`` peers to find a topic
    with the probability ``found_p``."""
    return min(MOST_CACHED, max(LEAST_CACHED, ceil(topics * (1 - float((1 - found_p) ** (1 / lifetime))))))


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found. ``certainty``: where there are no members, the probability that one would have been found."""

    members: list[Contact]
    certainty: float = 1.0


@dataclass(slots=True)
class _Search:
    topic: str
    until_s: float
    on_end: Callable[[Found], None]
    walking: int
    visited: int = 0
    members: list[Contact] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Known:
    contact: Contact
    told_s: float
    """When the member itself has said so."""


class AccessPoints:
    """The access points that one peer knows, and its searches. Randomness is handed in; ``send(contact, message)`` sends."""

    def __init__(
        self, own: Contact, rng: Random, send: Callable[[Contact, Walk | WalkEnd], bool], wake_at: Callable[[float], None]
    ) -> None:
        self._own = own
        self._rng = rng
        self._send = send
        self._wake_at = wake_at
        self.topics = 1.0
        """How many topics there are, about."""
        self._cache: dict[str, _Known] = {}
        """Limit: :func:`cache_size`; beyond, a random one goes. Each goes when its advert is too old (:meth:`forget_late`)."""
        self._searches: dict[int, _Search] = {}
        """Limit: MAX_SEARCHES."""
        self._last_search = rng.getrandbits(32)

    def __len__(self) -> int:
        return len(self._cache)

    def known(self) -> list[str]:
        """The topics in the cache."""
        return list(self._cache)

    def learn_member(self, advert: Advert, now_s: float) -> None:
        """A member of a topic has made itself known, ``advert.age_ms`` ago; what is known from later stays."""
        if advert.contact.id == self._own.id or not 0 < len(advert.topic) <= MAX_NAME:
            return
        if not 0 <= advert.age_ms <= self._life_s() * 1_000:
            return
        told_s = now_s - advert.age_ms / 1_000
        known = self._cache.get(advert.topic)
        if known is not None and known.told_s > told_s:
            return
        self._cache[advert.topic] = _Known(advert.contact, told_s)
        most = cache_size(self.topics)
        if len(self._cache) > most:
            for topic in self._rng.sample(list(self._cache), len(self._cache) - most):
                del self._cache[topic]

    def _life_s(self) -> float:
        return ADVERT_LIFE_S * cache_size(self.topics) / LEAST_CACHED

    def forget_late(self, now_s: float) -> None:
        """Forget the members that have not made themselves known for too long: they may have left, and others pass on what they
        had said for as long as they know it."""
        oldest_s = now_s - self._life_s()
        for topic in [topic for topic, known in self._cache.items() if known.told_s < oldest_s]:
            del self._cache[topic]

    def member_of(self, topic: str) -> Contact | None:
        """A member, as far as the cache knows."""
        known = self._cache.get(topic)
        return None if known is None else known.contact

    def forget_peer(self, peer: bytes) -> None:
        """A peer is dead."""
        for topic in [topic for topic, known in self._cache.items() if known.contact.id == peer]:
            del self._cache[topic]

    def forget_member(self, topic: str, peer: bytes) -> None:
        """A peer is no member of a topic any more."""
        known = self._cache.get(topic)
        if known is not None and known.contact.id == peer:
            del self._cache[topic]

    def sample(self, count: int, now_s: float) -> list[Advert]:
        """Some of the cache, to be told to others."""
        topics = list(self._cache)
        chosen = topics if len(topics) <= count else self._rng.sample(topics, count)
        known = [(topic, self._cache[topic]) for topic in chosen]
        return [Advert(topic, one.contact, ceil(max(0.0, now_s - one.told_s) * 1_000)) for topic, one in known]

    def certainty(self, visited: int) -> float:
        """The probability with which a topic that exists is found by a search that has visited so many peers."""
        share = min(1.0, cache_size(self.topics) / max(1.0, self.topics))
        return 1 - (1 - share) ** visited

    def search(self, topic: str, through: list[Contact], now_s: float, on_end: Callable[[Found], None]) -> None:
        """Look for members, in the cache and by walks that begin at some peers; ``on_end`` is called once, by SEARCH_S."""
        known = self.member_of(topic)
        if known is not None:
            on_end(Found([known]))
            return
        if not through or len(self._searches) >= MAX_SEARCHES:
            on_end(Found([], self.certainty(1)))
            return
        self._last_search += 1
        number = self._last_search
        self._searches[number] = _Search(topic, now_s + SEARCH_S, on_end, len(through))
        self._wake_at(now_s + SEARCH_S)
        for contact in through:
            self._send(contact, Walk(number, topic, self._own, LIFETIME - 1))

    def receive_walk_end(self, message: WalkEnd, now_s: float) -> None:
        """A walk of ours has ended."""
        search = self._searches.get(message.number)
        if search is None:
            return
        search.walking -= 1
        search.visited += LIFETIME
        search.members += [contact for contact in message.members[:LIFETIME] if contact.id != self._own.id]
        if search.members or search.walking <= 0:
            self._end(message.number, now_s)

    def _end(self, number: int, now_s: float) -> None:
        search = self._searches.pop(number)
        for contact in search.members[:1]:
            self.learn_member(Advert(search.topic, contact), now_s)
        search.on_end(Found(search.members, 1.0 if search.members else self.certainty(search.visited + 1)))

    def advance(self, now_s: float) -> None:
        """End the searches whose time is over."""
        for number in [number for number, search in self._searches.items() if search.until_s <= now_s]:
            self._end(number, now_s)

    def receive_walk(self, walk: Walk, members: list[Contact], onward: list[Contact], now_s: float) -> None:
        """A walk has come here, where these are known as members; it goes on to one of some peers, or ends. It may be our own."""
        known = members or [contact for contact in [self.member_of(walk.topic)] if contact is not None]
        left = min(walk.left, MAX_WALK)
        if not known and left > 0 and onward and self._send(onward[0], Walk(walk.number, walk.topic, walk.origin, left - 1)):
            return
        end = WalkEnd(walk.number, walk.topic, known)
        if walk.origin.id == self._own.id:
            self.receive_walk_end(end, now_s)
        else:
            self._send(walk.origin, end)
