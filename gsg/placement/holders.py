"""Which peers hold a feature's key: the overlay's answer (dht/overlay/owner_cache.py), remembered per feature.

The holders of a key are the REPLICAS living peers closest to it. The closest is its primary, and the rendezvous of the feature: it
orders what happens to the key, and tells the others.

A holder that lives and does not take changes is *set aside* by whoever noticed (:mod:`gsg.replication.changes`): the next closest
peer holds the key in its place. Who the primary is does not change by that: events that wait there are late, and not lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence

import dht

from ..errors import GsgError, PeerUnreachable
from ..tuples.features import Key, key, short_key
from ..tuples.ordered_attributes import NONE_ORDERED, OrderedAttributes
from ..wire.exchange import Leaving, LinkBroke, named, show
from ..wire.status_messages import MembershipChange
from .membership_log import MembershipLog
from .rules import REPLICAS, point_of

log = logging.getLogger(__name__)

REMEMBERED = 500_000
"""Features whose holder is remembered; at the limit all are forgotten, and found again as they come (mostly without asking)."""
ASIDE = 8
"""Peers that may be set aside at once: lookups know the closest twenty of a key. Beyond, changes are not acknowledged."""
UNSURE_S = 90.0
"""How long after a peer came or went holders are checked by whoever is taken for one; views are refreshed every 30 s."""
GOING_S = 10.0
"""How long after this peer has found out that another one is gone some may not know it yet."""
LOOKED_UP_AT_ONCE = 16
"""Keys whose holders are asked for at the same time."""
SHARE_SAMPLES = 4_096
"""Keys looked up, in the cache of holders, to estimate who is responsible for how many."""
OWN_SHARE_SAMPLES = 1_024
"""The same for the log, where one per cent and a half is as good: some milliseconds, now and then."""
MEETING_S = (2.0, 4.0, 8.0, 16.0)
"""How long a peer that another one names is waited for: longer each time that it is named again, as whoever names it has heard of
it lately, and on a busy machine an answer may take long."""


class Holders:
    """Holders by feature. Everything remembered is forgotten when a peer comes or goes.

    ``end_links(peer, reason)`` ends what links there are to a peer that does not answer: whoever waits on them is to know.
    ``on_gone(peer, lives)`` hears that others hold its keys from now on, and whether it lives all the same. ``ordered`` are the
    attributes that are so at all peers; ``clock()`` says the seconds since 1970.
    """

    def __init__(
        self,
        overlay: dht.Overlay,
        end_links: Callable[[bytes, str], None],
        on_gone: Callable[[bytes, bool], None] = lambda peer, lives: None,
        ordered: OrderedAttributes = NONE_ORDERED,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._overlay = overlay
        self.ordered = ordered
        self._end_links = end_links
        self._on_gone = on_gone
        self._sets: dict[Key, tuple[tuple[dht.Contact, ...], int]] = {}
        """The holders of features, by their short keys, and the point of the key. Limit: REMEMBERED."""
        self.aside: dict[bytes, GsgError] = {}
        """Holders that take no changes, by id, and why. Limit: ASIDE. Whoever sets one aside takes it back."""
        self._membership = MembershipLog(lambda: len(self.everybody()), self._own_share, clock)
        self._version = overlay.regions.version
        """What is remembered is of this view of the overlay, which changes by lookups as well, of which nobody is told."""
        self._changes = 0
        self._news = asyncio.Event()
        """Set when peers have come or gone; each :meth:`wait_to_meet` clears it, and waits for MEETING_S at most."""
        self._sure_from_s = 0.0

    def forget(self, why: str) -> None:
        """Peers have come or gone."""
        log.info("%s: who holds what is looked up anew", why)
        self._sets.clear()
        self._changes += 1
        self._news.set()
        self._sure_from_s = asyncio.get_running_loop().time() + UNSURE_S

    def peer_came(self, contact: dht.Contact) -> None:
        """A peer is there that was not known, or at another address, or in another life."""
        self._membership.note_came(contact)
        self.forget(f"{named(contact)} has come")

    def peer_died(self, contact: dht.Contact) -> None:
        """A peer is dead."""
        has_left = self._overlay.has_left(contact.id)
        how = "it has stopped" if has_left else "it does not answer"
        level = logging.INFO if has_left else logging.WARNING
        self._membership.note_gone(contact.id, named(contact), how, level=level, address=show(contact))
        self.forget(f"{named(contact)} is gone")

    def peer_suspected(self, contact: dht.Contact, is_suspected: bool) -> None:
        """A peer may be dead, or lives after all: it stays a holder until that is sure."""
        self._membership.note_suspected(contact, is_suspected)

    def membership_changes(self) -> list[MembershipChange]:
        """Who came, was suspected, was back and went of late, the oldest first."""
        return list(self._membership.changes)

    def stop(self) -> None:
        """Say nothing more of others."""
        self._membership.stop()

    def failed(self, peer: bytes, why: PeerUnreachable) -> None:
        """A peer did not answer: unless only its link broke, nobody is sent there until it is heard of again."""
        if isinstance(why, LinkBroke):
            return
        regions = self._overlay.regions
        known, version = self._overlay.knows(peer), regions.version
        self._overlay.report_dead(peer)
        if not isinstance(why, Leaving):
            self._end_links(peer, str(why))
        if known is None and version == regions.version:
            # Whatever waits for a peer finds out that it is gone; the work that follows is to be done once.
            return
        level = logging.INFO if isinstance(why, Leaving) else logging.WARNING
        address = "" if known is None else show(known)
        self._membership.note_gone(peer, f"peer {peer.hex()[:12]}", str(why), level=level, address=address)
        self.forget(f"peer {peer.hex()[:12]} is taken for gone, {why}")
        self._on_gone(peer, False)

    def set_aside(self, peer: bytes, why: GsgError) -> bool:
        """A holder does not take changes: others hold its keys besides. Whether that is new; False as well beyond ASIDE."""
        if peer in self.aside or len(self.aside) >= ASIDE:
            return False
        self.aside[peer] = why
        self.forget(f"peer {peer.hex()[:12]} takes no changes, {why}")
        self._on_gone(peer, True)
        return True

    def take_back(self, peer: bytes) -> None:
        """It takes changes again, or is dead."""
        del self.aside[peer]
        known = self._overlay.knows(peer)
        self.forget(
            f"peer {peer.hex()[:12]}, which took no changes, is gone" if known is None else f"{named(known)} takes changes again"
        )

    def contact_of(self, peer: bytes) -> dht.Contact | None:
        """The contact of a peer that lives, as far as known."""
        return self._overlay.knows(peer)

    @property
    def unsure(self) -> bool:
        """Whether peers came or went so lately that some of what is remembered may be wrong."""
        return asyncio.get_running_loop().time() < self._sure_from_s

    @property
    def version(self) -> int:
        """Higher whenever the holders of some key may be others than before."""
        self._look_for_news()
        return self._changes

    async def wait_to_meet(self, contact: dht.Contact, time: int = 0) -> None:
        """Wait until a peer that another one names has answered, for MEETING_S at most; ``time``: how often it was named before."""
        self._overlay.heard_of(contact)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MEETING_S[min(time, len(MEETING_S) - 1)]):
                while contact.id != self._overlay.contact.id and self._overlay.knows(contact.id) is None:
                    self._news.clear()
                    await self._news.wait()

    async def primaries_of(self, features: Iterable[Key]) -> dict[Key, dht.Contact]:
        """The holder of each feature. Raises PeerUnreachable when the overlay cannot say."""
        wanted = list(features)
        if not self.aside and all(sets := self.holders_of_each(wanted)):
            return {feature: holders[0] for feature, holders in zip(wanted, sets, strict=True)}
        return {feature: self.primary_now(feature) or (await self._owners(self.place_of(feature)))[0] for feature in wanted}

    def primary_now(self, feature: Key) -> dht.Contact | None:
        """The holder of a feature as far as known without asking anybody."""
        if not self.aside and (holders := self.holders_and_point(feature)[0]):
            return holders[0]
        holders = self._overlay.owners_now(self.place_of(feature)) or ()
        return holders[0] if holders else None

    def holders_of(self, feature: Key) -> tuple[dht.Contact, ...]:
        """All holders of a feature's key that take changes, closest first, as far as known without asking anybody; none where that
        is unknown."""
        return self.holders_and_point(feature)[0]

    def holders_and_point(self, feature: Key) -> tuple[tuple[dht.Contact, ...], int]:
        """:meth:`holders_of` a feature, and its point. Features with the same holders mostly get the same object for these."""
        self._look_for_news()
        return self._sets.get(feature) or self._find_now(feature)

    def holders_of_each(self, features: Iterable[Key]) -> list[tuple[dht.Contact, ...]]:
        """:meth:`holders_of` each of some features; with the same objects as :meth:`holders_and_point`."""
        self._look_for_news()
        known, find = self._sets.get, self._find_now
        return [(known(feature) or find(feature))[0] for feature in features]

    def _find_now(self, feature: Key) -> tuple[tuple[dht.Contact, ...], int]:
        brief = short_key(feature)
        if brief is not feature and (known := self._sets.get(brief)) is not None:
            return known
        place = self.ordered.place_of(brief)
        found = self._taking(self._overlay.owners_now(place, REPLICAS + len(self.aside)) or ()), point_of(place)
        if found[0]:
            self._remember_all(brief, found)
        return found

    def _remember_all(self, feature: Key, found: tuple[tuple[dht.Contact, ...], int]) -> None:
        if len(self._sets) >= REMEMBERED:
            self._sets.clear()
        self._sets[feature] = found

    def place_of(self, feature: Key) -> bytes:
        """The 160 bits by which holders are found."""
        return self.ordered.place_of(short_key(feature))

    def holders_if_none_aside(self, feature: Key) -> tuple[dht.Contact, ...]:
        """The holders there would be if none were set aside."""
        return self._overlay.owners_now(self.place_of(feature), REPLICAS) or ()

    async def look_up(self, features: Iterable[Key]) -> None:
        """Find the holders of features that are not known. Raises PeerUnreachable when the overlay cannot say."""
        for feature in features:
            if not self.holders_of(feature):
                place = self.place_of(feature)
                found = await self._owners(place, REPLICAS + len(self.aside))
                self._remember_all(short_key(feature), (self._taking(found), point_of(place)))

    async def look_up_each(self, features: Sequence[Key]) -> None:
        """:meth:`look_up` many: mostly one lookup answers for several of them, and one that fails keeps no other back."""
        for begin in range(0, len(features), LOOKED_UP_AT_ONCE):
            some = features[begin : begin + LOOKED_UP_AT_ONCE]
            found = await asyncio.gather(*(self.look_up([feature]) for feature in some), return_exceptions=True)
            for problem in found:
                if isinstance(problem, GsgError):
                    log.info("the holders of a key were not found: %s", problem)
                elif problem is not None:
                    raise problem

    async def find_anew(self, feature: Key) -> tuple[dht.Contact, ...]:
        """All holders of a feature's key, the primary first, by asking anew. Raises PeerUnreachable when the overlay cannot say."""
        return await self._owners(self.place_of(feature), REPLICAS, anew=True)

    def without_us(self, feature: Key) -> tuple[dht.Contact, ...]:
        """Who are the holders of a feature's key when we have left; none when we know of nobody else."""
        holders = self._overlay.owners_now(self.place_of(feature), REPLICAS + 1 + len(self.aside)) or ()
        return self._taking(tuple([holder for holder in holders if holder.id != self._overlay.contact.id]))

    def shares(self, samples: int = SHARE_SAMPLES) -> dict[bytes, float]:
        """The fraction of all keys that each peer is responsible for, estimated from so many keys spread evenly by hash."""
        counts: dict[bytes, int] = {}
        for number in range(samples):
            holders = self._overlay.owners_now(key(1, 0, number))
            if holders:
                counts[holders[0].id] = counts.get(holders[0].id, 0) + 1
        return {peer: count / samples for peer, count in counts.items()}

    def _own_share(self) -> float:
        return self.shares(OWN_SHARE_SAMPLES).get(self._overlay.contact.id, 0.0)

    @property
    def alone(self) -> bool:
        """Whether there is no other peer, as far as known: this one holds every key."""
        return self._overlay.has_entered and not self._overlay.contacts()

    @property
    def has_entered(self) -> bool:
        """Whether this peer has entered the overlay: before, others may take it for a holder while it knows of nobody."""
        return self._overlay.has_entered

    def others(self) -> list[dht.Contact]:
        """All other peers that this one knows of; without any it holds every key."""
        return self._overlay.contacts()

    def suspects(self, peer: bytes) -> bool:
        """Whether a peer may be dead: that is found out in some seconds."""
        return self._overlay.suspects(peer)

    def is_known(self, peer: bytes) -> bool:
        """Whether a peer that another one knows is no news here: this one knows it as well, or that it has gone just now."""
        if peer == self._overlay.contact.id or self._overlay.knows(peer) is not None:
            return True
        at_s = self._membership.gone_at_s(peer)
        return at_s is not None and asyncio.get_running_loop().time() < at_s + GOING_S

    @property
    def passes_over(self) -> bool:
        """Whether peers live that are not among the others, as more of their address block are: they may hold keys all the same."""
        return self._overlay.passes_over

    def everybody(self) -> list[dht.Contact]:
        """All peers that this one knows of, itself included."""
        return [self._overlay.contact, *self._overlay.contacts()]

    def _look_for_news(self) -> None:
        if self._version != self._overlay.regions.version:
            self._version = self._overlay.regions.version
            self._changes += 1
            self._sets.clear()

    def _taking(self, closest: tuple[dht.Contact, ...]) -> tuple[dht.Contact, ...]:
        """Of the peers closest to a key those that hold it."""
        if self.aside:
            closest = tuple([peer for peer in closest if peer.id not in self.aside])
        return closest[:REPLICAS]

    async def _owners(self, place: bytes, count: int = 1, *, anew: bool = False) -> tuple[dht.Contact, ...]:
        """The peers closest to a key, found by a lookup where they are not known, or ``anew``."""
        try:
            found = await self._overlay.owners(place, count, anew=anew)
        except dht.DhtError as error:
            raise PeerUnreachable(str(error)) from None
        if not self.has_entered and found == (self._overlay.contact,):
            raise PeerUnreachable(f"{show(self._overlay.contact)} is just entering the overlay, and knows of nobody yet")
        return found
