"""Who is a member of which topic, as the holders of the topics' keys know it.

A member enrols at each holder, and again every RENEW_S; who does not is forgotten LEASE_S later. So the count is exact while
members come and go in order, and late by a lease where one dies.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from dht import Contact

from ..errors import Refused

RENEW_S: Final = 20.0
"""How often a member enrols anew, about."""
LEASE_S: Final = 60.0
"""How long after it last enrolled a member is forgotten: it may miss two renewals."""
MAX_ENROLLED: Final = 1_000_000
"""Members of all topics together; one more is refused."""
MAX_TOPICS_OF_PEER: Final = 10_000
"""Topics in which one peer is enrolled; one more is refused."""
SAMPLE: Final = 8
"""Members that are named to whoever asks."""


class Enrolments:
    """The members that are enrolled with one holder. Clock and randomness are handed in."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._topics: dict[str, dict[bytes, tuple[Contact, float]]] = {}
        """Members of each topic, by id, and until when. Limit: MAX_ENROLLED together."""
        self._topics_of: dict[bytes, set[str]] = {}
        """Limit: MAX_TOPICS_OF_PEER each."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def enrol(self, topic: str, member: Contact, now_s: float) -> None:
        """A peer is a member for LEASE_S. Raises Refused where there are too many."""
        if member.id not in self._topics.get(topic, {}):
            topics = len(self._topics_of.get(member.id, ()))
            if self._count >= MAX_ENROLLED or topics >= MAX_TOPICS_OF_PEER:
                raise Refused(
                    f"too many members of topics: {self._count:,} here, this peer in {topics:,} topics; expected at most "
                    f"{MAX_ENROLLED:,} and {MAX_TOPICS_OF_PEER:,}; try again when others have left, or leave a topic"
                )
            self._topics_of.setdefault(member.id, set()).add(topic)
            self._count += 1
        self._topics.setdefault(topic, {})[member.id] = member, now_s + LEASE_S

    def leave(self, topic: str, member: bytes) -> None:
        """A peer is a member no more."""
        members = self._topics.get(topic, {})
        if members.pop(member, None) is not None:
            self._count -= 1
            self._topics_of[member].discard(topic)
            if not self._topics_of[member]:
                del self._topics_of[member]
            if not members:
                del self._topics[topic]

    def forget(self, peer: bytes) -> None:
        """A peer is dead, or has left: it is a member of nothing."""
        for topic in list(self._topics_of.get(peer, ())):
            self.leave(topic, peer)

    def members(self, topic: str, now_s: float, *, without: bytes = b"") -> tuple[int, list[Contact]]:
        """How many members a topic has, and some of them at random."""
        members = self._topics.get(topic, {})
        for peer in [peer for peer, (_, until_s) in members.items() if until_s < now_s]:
            self.leave(topic, peer)
        others = [contact for peer, (contact, _) in members.items() if peer != without]
        return len(members), others if len(others) <= SAMPLE else self._rng.sample(others, SAMPLE)

    def topics(self) -> dict[str, int]:
        """How many members each topic has here."""
        return {topic: len(members) for topic, members in self._topics.items()}

    def forget_late(self, now_s: float) -> Iterator[str]:
        """Forget the members whose lease is over, those of one topic at each step, whose name it yields: all at a stretch may take
        half a second."""
        for topic in list(self._topics):
            self.members(topic, now_s)
            yield topic
