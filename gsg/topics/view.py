"""A view: some peers of an overlay, changed by exchanges so that it is a random sample of those that live.

In each round a peer sends a part of its view, and itself, to the oldest entry, which answers with a part of its own; each takes
what is new to it into empty places, then in the place of what it sent away (CYCLON: Voulgaris, Gavidia and van Steen 2005,
section 2.2).
The exchange is asynchronous: other exchanges go on while an answer is out. Whom a round was sent to is *silent* until something
comes from there, and a silent peer is taken from no one's part (Paraschiv, Stefănescu and Almasi, section 4.2), but from that of
somebody to whom it has said since then that it is there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from dht import Contact

from ..wire.topic_messages import Known

VIEW: Final = 20
"""Entries of a view."""
SHUFFLED: Final = 8
"""Entries of the part of it that is sent in a round."""
MAX_AGE: Final = 50
"""Rounds after which an entry goes, wherever it has been: who lives is heard of again much sooner."""
SILENT: Final = 64
"""Silent peers that are remembered; beyond, the one asked longest ago is forgotten."""
INEXACT: Final = 3
"""Rounds by which an age may be wrong: it is counted by several peers, whose rounds begin at other times than ours."""


class View:
    """The view of ``own`` in one overlay. Randomness is handed in; a round is counted by :meth:`begin_round`."""

    def __init__(self, own: Contact, rng: Random, *, size: int = VIEW, shuffled: int = SHUFFLED) -> None:
        self._own = own
        self._rng = rng
        self._size = size
        self._shuffled = shuffled
        self._round = 0
        self._entries: dict[bytes, tuple[Contact, int]] = {}
        """Peers by id, each with the round of ours in which its age was 0. Limit: ``size``."""
        self._silent: OrderedDict[bytes, int] = OrderedDict()
        """Silent peers, and since which round they are. Limit: SILENT."""
        self._sent: dict[bytes, list[bytes]] = {}
        """What went to whom, until the answer comes. Limit: SILENT; beyond, the first one goes, and its answer is passed over."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, peer: bytes) -> bool:
        return peer in self._entries

    def __iter__(self) -> Iterator[Contact]:
        return (contact for contact, _ in self._entries.values())

    def ages(self) -> list[int]:
        """The age of each entry, in rounds."""
        return [self._round - born for _, born in self._entries.values()]

    def sample(self, count: int, without: Iterable[bytes] = ()) -> list[Contact]:
        """Some peers at random."""
        left_out = set(without)
        found = [contact for contact, _ in self._entries.values() if contact.id not in left_out]
        return found if len(found) <= count else self._rng.sample(found, count)

    def learn_peer(self, contact: Contact, *, age: int | None = None) -> None:
        """A peer has been heard of otherwise than by an exchange: it takes the place of the oldest where the view is full.

        ``age`` is how many rounds ago it said itself that it was there. Where that is not known it may be dead, and is among the
        next to be asked.
        """
        if contact.id == self._own.id or contact.id in self._entries:
            return
        if age is None:
            self._silent.pop(contact.id, None)
        elif not self._may_live(contact.id, age):
            return
        if len(self._entries) >= self._size:
            oldest = self._oldest()
            if age is not None and self._round - age < self._entries[oldest][1]:
                return
            del self._entries[oldest]
        born = self._round - age if age is not None else min((born for _, born in self._entries.values()), default=self._round)
        self._entries[contact.id] = contact, born

    def sample_known(self, count: int, without: Iterable[bytes] = ()) -> list[Known]:
        """Some peers at random, with their ages, to be told to others."""
        return [Known(contact, self._round - self._entries[contact.id][1]) for contact in self.sample(count, without)]

    def forget(self, peer: bytes) -> None:
        """A peer is dead, or has left."""
        self._entries.pop(peer, None)
        self._sent.pop(peer, None)
        self._silent[peer] = self._round
        self._silent.move_to_end(peer)
        while len(self._silent) > SILENT:
            gone, _ = self._silent.popitem(last=False)
            self._sent.pop(gone, None)

    def _oldest(self) -> bytes:
        return min(self._entries.items(), key=lambda item: item[1][1])[0]

    def begin_round(self) -> Contact | None:
        """One round more; whom to exchange with, who is taken out of the view by that. None where the view is empty."""
        self._round += 1
        for peer in [peer for peer, (_, born) in self._entries.items() if self._round - born > MAX_AGE]:
            del self._entries[peer]
        if not self._entries:
            return None
        peer = self._oldest()
        contact = self._entries[peer][0]
        self.forget(peer)
        return contact

    def offer_to(self, peer: bytes) -> list[Known]:
        """The part of the view to send to a peer that a round has chosen, with ourselves."""
        part = self._part(self._shuffled - 1, peer)
        while len(self._sent) >= SILENT:
            del self._sent[next(iter(self._sent))]
        self._sent[peer] = [each.contact.id for each in part]
        return [Known(self._own, 0), *part]

    def answer(self, peer: bytes, entries: list[Known]) -> list[Known]:
        """Take in what a peer has sent; the part to send back."""
        self._silent.pop(peer, None)
        part = self._part(self._shuffled, peer)
        self._take(entries, [each.contact.id for each in part])
        return part

    def answered(self, contact: Contact, entries: list[Known]) -> None:
        """Take in the answer of a peer; of one that was sent nothing, nothing: else anybody could fill the view."""
        sent = self._sent.pop(contact.id, None)
        if sent is None:
            return
        self._silent.pop(contact.id, None)
        self._take(entries, sent)
        if contact.id not in self._entries and len(self._entries) < self._size:
            self._entries[contact.id] = contact, self._round

    def _part(self, count: int, without: bytes) -> list[Known]:
        found = [(contact, born) for contact, born in self._entries.values() if contact.id != without]
        if len(found) > count:
            found = self._rng.sample(found, count)
        return [Known(contact, max(0, self._round - born)) for contact, born in found]

    def _may_live(self, peer: bytes, age: int) -> bool:
        """Whether a peer is to be known that somebody else knows: not one that is silent for longer than what is known of it."""
        since = self._silent.get(peer)
        if age > MAX_AGE or (since is not None and self._round - age <= since + INEXACT):
            return False
        self._silent.pop(peer, None)
        return True

    def _take(self, entries: list[Known], sent: list[bytes]) -> None:
        replaceable = [peer for peer in sent if peer in self._entries]
        for entry in entries:
            peer, age = entry.contact.id, max(0, entry.age)
            if peer == self._own.id or not self._may_live(peer, age):
                continue
            born = self._round - age
            known = self._entries.get(peer)
            if known is not None:
                if born > known[1]:
                    self._entries[peer] = entry.contact, born
                continue
            if len(self._entries) >= self._size:
                while replaceable and replaceable[-1] not in self._entries:
                    replaceable.pop()
                if not replaceable:
                    continue
                del self._entries[replaceable.pop()]
            self._entries[peer] = entry.contact, born
