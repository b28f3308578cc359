"""Who is responsible for a key: this peer's view of the overlay.

    async with Overlay(id, host, port, rng=rng) as overlay:
        await overlay.join([("seed.example.org", 7400)])
        overlay.owners_now(key, r=3) or await overlay.owners(key, r=3)

A thin shell that puts the parts together: datagrams (dht/datagrams), lookups (lookup.py, lookups.py), the owner cache
(owner_cache.py), who lives (dht/liveness), the way in and back (joining.py). Every REFRESH_S it looks up its own id, points of
the buckets looked at longest ago, and the regions learned longest ago.

A peer counts as known only after it answered, and at the address that answered last. Keys and ids are points of one space, 20
bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self, TypeAlias

from ..background import BackgroundTasks
from ..datagrams.address_blocks import PER_BLOCK, PassedOver, limit_per_block
from ..datagrams.datagrams import Datagrams
from ..datagrams.routing_table import RoutingTable
from ..datagrams.sealed_datagrams import PlainDatagrams, SealedDatagrams
from ..errors import Address, BadContact, NotOpen, telling_address_in_use
from ..identity.contacts import Contact, is_reachable_literal
from ..identity.duplicate_ids import DuplicateIds
from ..identity.ids import ID_BYTES, PeerId, as_int, common_prefix_length, random_id_in_bucket
from ..identity.membership import Membership
from ..liveness.failure_detector import FailureDetector
from ..liveness.neighbourhood import NEIGHBOURS, NeighbourhoodChanged
from ..liveness.orders import PeerDied, PeerReturned
from ..liveness.swim import Swim
from .address_book import AddressBook
from .joining import PATIENCE_S, Joining
from .lookup import Found, K
from .lookups import Lookups
from .owner_cache import Regions

MAX_CHECKS = 64
"""Unknown peers called back at once to see whether they live; further ones are passed over and counted, and will be heard of
again."""
REFRESH_S = 30.0
"""How often the overlay is looked at anew, in seconds."""
STALE_REGIONS = 4
"""Regions looked up again in one refresh."""
STALE_BUCKETS = 2
"""Buckets in which a point is looked up in one refresh, those looked at longest ago."""
OverlayEvent: TypeAlias = PeerDied | PeerReturned | NeighbourhoodChanged
"""What ``on_event`` hears of."""

ENTERING_S = 2 * PATIENCE_S
"""How long a question for owners waits where nobody is known yet, because this peer is just entering: longer than that lasts."""


class Overlay:
    """One peer's place in the overlay: joins, finds the peers closest to a key, notices who lives and who died.

    ``id`` is 20 bytes; ``host`` an IP literal to listen at (the unspecified one listens everywhere, and ``contact`` then has the
    address that others see, learned by joining); ``port`` is UDP's, 0 takes a free one. ``rng`` draws call ids and targets,
    seeded for a repeatable run. ``on_discovered`` hears of each peer that becomes known, answers from another address or
    was started anew before it was missed, ``on_lost`` of each that died. ``on_event`` hears of each PeerDied (also of those that
    :meth:`report_dead` was told of), PeerReturned, and NeighbourhoodChanged, at most once a turn of the loop; ``on_suspected`` of
    each that may be dead, with True, and with False when it is found to live. Callbacks must not block; what they raise is logged
    and counted.

    ``depends_on`` names peers to watch besides the neighbours, ``heard_s`` when a peer was last heard by other means than
    datagrams, by the loop's clock: whoever is heard lives. ``book`` is the file of the address book, which brings a peer that
    starts again back into its network; None keeps it in memory. ``incarnation`` is to be higher in each life of the peer, such as
    the time in milliseconds: news of its return then goes round.

    ``membership`` proves this peer's id and demands the same of others; it is to have this ``id``, and then each life has to have
    an ``incarnation`` of its own. Without it ids are claims: for measurements, and tests of what the overlay computes.
    ``link_tls`` says whether the links that go with it are TLS: peers with others are refused, and refuse this one.
    ``per_block`` peers of one address block count among the closest to a point, 0 for as many as there are
    (:mod:`dht.datagrams.address_blocks`).
    """

    def __init__(
        self,
        id: PeerId,
        host: str,
        port: int,
        *,
        rng: Random,
        probe_s: float = 1.0,
        on_discovered: Callable[[Contact], None] | None = None,
        on_lost: Callable[[Contact], None] | None = None,
        on_event: Callable[[OverlayEvent], None] | None = None,
        on_suspected: Callable[[Contact, bool], None] | None = None,
        depends_on: Callable[[], Iterable[PeerId]] = tuple,
        heard_s: Callable[[PeerId], float] = lambda peer: float("-inf"),
        book: Path | None = None,
        incarnation: int = 0,
        membership: Membership | None = None,
        link_tls: bool = False,
        per_block: int = PER_BLOCK,
    ) -> None:
        if len(id) != ID_BYTES:
            raise BadContact(f"{id!r} is no peer id; expected {ID_BYTES} bytes")
        if membership is not None and membership.id != id:
            raise BadContact(f"{id.hex()} is not the id of the identity {membership.id.hex()}; expected the same")
        self.contact = Contact(id, host, port)
        """How others reach us: the port is right once entered, an unspecified host once joined."""
        self.on_discovered = on_discovered
        self.on_lost = on_lost
        self.on_event = on_event
        self.on_suspected = on_suspected
        self.regions = Regions(K, per_block)
        self._per_block = per_block
        self._passed_over = PassedOver(per_block)
        self._duplicate_ids = DuplicateIds(id)
        self._rng = rng
        self._entered = asyncio.Event()
        # Where unknown peers are called. Limit: MAX_CHECKS; each leaves when its task ends, answered, after its last timeout or
        # as this overlay is left.
        self._checking: set[Address] = set()
        self._nearest_may_have_changed = False
        self._sealing = (
            PlainDatagrams()
            if membership is None
            else SealedDatagrams(
                membership,
                life=incarnation,
                rng=rng,
                link_tls=link_tls,
                on_duplicate_id=lambda address: self._duplicate_ids.report(address, self._now()),
                on_new_life=lambda peer, life: self._detector.report_new_life(peer, life),
            )
        )
        self._datagrams = Datagrams(
            id,
            K,
            rng=rng,
            on_asked=self.heard_of,
            on_doubtful=lambda contact: self._tasks.start(self._detector.probe(contact)),
            sealing=self._sealing,
            per_block=per_block,
        )
        self._tasks = BackgroundTasks(self.counts)
        self._detector = self._datagrams.gossip = FailureDetector(
            self._datagrams,
            self,
            self._tasks,
            Swim(id, rng=rng, incarnation=incarnation, period_s=probe_s, counts=self.counts, on_suspected=self._suspicion),
            rng,
            probe_s,
            depends_on,
            heard_s,
        )
        self._lookups = Lookups(self._datagrams, self, self._detector, self._tasks, self._learn_region, per_block)
        self._joining = Joining(
            book,
            self._datagrams,
            self._sealing,
            self._tasks,
            AddressBook(rng=rng, per_block=per_block),
            period_s=probe_s,
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            call=self._call_address,
            find_neighbours=lambda: self.lookup(self.contact.id),
        )

    async def __aenter__(self) -> Self:
        """Listen. Raises AddressInUse, and BookUnreadable where there is a book."""
        self._joining.read_book()
        host, port = self.contact.address
        with telling_address_in_use(host, port):
            await self._datagrams.open(host, port)
        self.contact = Contact(self.contact.id, host, self._datagrams.transport.get_extra_info("sockname")[1])
        self._sealing.set_own_address(self.contact.address)
        await self._tasks.open()
        self._tasks.start(self._detector.run())
        self._tasks.start(self._joining.run())
        self._tasks.start(self._refresh_often())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop: end every task, close the socket."""
        try:
            await self._tasks.close(kind, error, trace)
        finally:
            self._detector.send_farewell()
            await self._datagrams.close()
            await self._joining.file.save()

    # What callers ask

    @property
    def counts(self) -> Counter[str]:
        """How often something went wrong that was not worth an error, by its name."""
        return self._datagrams.counts

    def contacts(self) -> list[Contact]:
        """Every living peer that we know, ourselves not included."""
        return list(self._table.contacts().values())

    def knows(self, peer: PeerId) -> Contact | None:
        """The contact of a living peer that we know, or None."""
        return self._table.contacts().get(peer)

    @property
    def passes_over(self) -> bool:
        """Whether of late a peer answered that is not among those known, as more of its address block are."""
        return self._passed_over.lately(self._now())

    def neighbours(self) -> tuple[Contact, ...]:
        """The living peers nearest to our own id, nearest first, at most NEIGHBOURS, ourselves not included."""
        return tuple(self._table.nearest(self.contact.id, NEIGHBOURS))

    def closest_known(self, key: bytes, r: int = 1) -> tuple[Contact, ...]:
        """The ``r`` living peers closest to the key of all that we know, closest first, ourselves included, without asking.

        Exact where :meth:`owners_now` answers, and for keys near our own id; elsewhere nearer ones may exist.
        """
        return self.regions.owners(key, r) or self._with_ourselves(key, tuple(self._table.closest(key, r)))[:r]

    def owners_now(self, key: bytes, r: int = 1) -> tuple[Contact, ...] | None:
        """The ``r`` living peers closest to the key, closest first, ourselves included; None when that needs :meth:`owners`."""
        return self.regions.owners(key, r)

    async def owners(self, key: bytes, r: int = 1, *, anew: bool = False) -> tuple[Contact, ...]:
        """The ``r`` living peers closest to the key, closest first, ourselves included; fewer when the network has fewer.

        Answers from memory where it can; else one lookup answers for all who wait for keys of the same region. ``r`` is at most K.
        ``anew``: always by a lookup of its own.
        """
        if anew:
            return self._with_ourselves(key, await self.lookup(key))[:r]
        found = self.regions.owners(key, r)
        if found is not None:
            return found
        if not self.has_entered and not self.contacts():
            # Nobody could be asked, and to know nobody yet is not to be alone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENTERING_S):
                    await self._entered.wait()
        depth = self.regions.usual_depth
        under_way = self._lookups.under_way(key, depth)
        if under_way is not None:
            await self._lookups.outcome(under_way)
            found = self.regions.owners(key, r)
            if found is not None:
                return found
        found_now = await self._lookups.look_up(key, depth)
        return self.regions.owners(key, r) or self._with_ourselves(key, found_now.contacts)[:r]

    async def lookup(self, target: bytes) -> tuple[Contact, ...]:
        """The k living peers closest to a point, ourselves not included, always by asking."""
        return (await self._lookups.look_up(target)).contacts

    async def join(self, addresses: Iterable[Address]) -> None:
        """Enter the network through any of these addresses or those of the book, then make ourselves known to our neighbours.

        Hosts may be names. None at all means that we are the first peer. Raises JoinFailed when nobody answers for seconds; the
        addresses are called at again and again all the same, as long as the overlay is open.
        """
        entered: list[Address] = []
        try:
            entered = await self._joining.enter(addresses)
        finally:
            self._entered.set()
            if not entered:
                self._learn_region(self.contact.id, ())
        if not entered:
            return
        # A peer that is killed in its first second would not find its way back, and be alone with what it had acknowledged.
        await self._joining.file.save()
        if not is_reachable_literal(self.contact.host):
            await self._learn_own_host(entered[0])
        near = await self.lookup(self.contact.id)
        for search in [self._search_bucket(bucket) for bucket in self._buckets(near)]:
            await self._lookups.outcome(search)

    @property
    def has_entered(self) -> bool:
        """Whether :meth:`join` has found somebody, or that there is nobody. Before, it knows nobody, and others may know it."""
        return self._entered.is_set()

    async def refresh(self) -> None:
        """Look up our own id, points of the buckets looked at longest ago, and the regions learned longest ago."""
        near = await self.lookup(self.contact.id)
        stale_s = self._now() - REFRESH_S
        searches = [self._lookups.start(target) for target in self.regions.stale(stale_s, STALE_REGIONS)]
        buckets = sorted(self._buckets(near), key=self._lookups.bucket_searched_s)[:STALE_BUCKETS]
        searches += [self._search_bucket(bucket) for bucket in buckets if self._lookups.bucket_searched_s(bucket) < stale_s]
        for search in searches:
            await self._lookups.outcome(search)

    def _buckets(self, near: tuple[Contact, ...]) -> range:
        """The buckets up to our nearest neighbour's: those that may hold peers whom the lookup of our own id did not meet."""
        return range(common_prefix_length(self.contact.id, near[0].id) + 1 if len(near) >= K else 0)

    def _search_bucket(self, bucket: int) -> asyncio.Task[Found | None]:
        # For the sake of the table; nobody asked for a key there, so its region is not worth keeping fresh.
        return self._lookups.start(random_id_in_bucket(self.contact.id, bucket, self._rng), learn=False)

    def report_dead(self, peer: PeerId) -> None:
        """The caller found a peer dead: it leaves the table and every cache. ``on_lost`` is not called."""
        known = self._table.contacts().get(peer)
        if known is not None:
            self._detector.report_dead(known)
            self._forget(known)
        else:
            self.regions.forget(peer)

    def suspects(self, peer: PeerId) -> bool:
        """Whether a peer is suspected to be dead. It stays where it is until that is sure, which takes some seconds."""
        return self._detector.swim.suspects(peer)

    def has_left(self, peer: PeerId) -> bool:
        """Whether a peer that is dead took its leave, as one does that stops."""
        return self._detector.swim.has_left(peer)

    def heard_of(self, contact: Contact) -> None:
        """Somebody says that a peer is at this address: it becomes known if it answers there. Limit: MAX_CHECKS at once."""
        if contact.id == self.contact.id or self._table.contacts().get(contact.id) == contact:
            return
        if not self._tasks.is_open or contact.address in self._checking:
            return
        if len(self._checking) >= MAX_CHECKS:
            self.counts["unknown peers passed over"] += 1
            return
        self._checking.add(contact.address)
        self._tasks.start(self._call_address(contact.address)).add_done_callback(lambda _: self._checking.discard(contact.address))

    # Lookups

    @property
    def _table(self) -> RoutingTable:
        if not hasattr(self._datagrams, "transport"):
            raise NotOpen("this overlay is not open; use it inside `async with Overlay(...) as overlay:`")
        return self._datagrams.table

    def _learn_region(self, target: bytes, contacts: tuple[Contact, ...], useless: Collection[PeerId] = ()) -> None:
        # Whoever was silent or is suspected stays an owner until it is dead: else peers that asked at other moments would disagree.
        near = [each for each in self._table.closest(target, K) if each.id not in useless]
        known = {each.id: each for each in (*near, *contacts)}
        if not known and not self.has_entered:
            return
        self.regions.learn(target, self._with_ourselves(target, tuple(known.values())), self._now())

    def _with_ourselves(self, target: bytes, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
        goal = as_int(target)
        ordered = sorted((self.contact, *contacts), key=lambda each: as_int(each.id) ^ goal)
        # Where others of our own block are closer we do not count either: everybody else leaves us out there.
        return tuple(limit_per_block(ordered, self._per_block))[:K]

    # Who lives: what the failure detector and lookups report

    def peer_answered(self, contact: Contact, incarnation: int | None = None) -> None:
        """A peer answered from this address."""
        if contact.id == self.contact.id:
            return
        known = self._table.contacts().get(contact.id)
        if not self._table.insert(contact):
            self._passed_over.report(contact, self.counts, self._now())
            return
        returned = self._detector.report_answer(contact, incarnation)
        if known != contact:
            self._joining.file.mark_changed()
            if known is not None:
                self._joining.book.add_address(known.address, self._now())
            self._joining.book.remove_address(contact.address)
            if (returned is not None and returned.was_apart) or (self.has_entered and len(self._table.contacts()) == 1):
                # The network was cut, or we took ourselves for alone: what we know of who is near what is of our own part of it.
                self.regions.clear()
                self._tasks.start(self._joining.look_around())
            else:
                self.regions.discovered(contact)
            self._nearest_changed()
        if returned is not None:
            self._call_back(self.on_event, returned)
        if known != contact or returned is not None:
            self._call_back(self.on_discovered, contact)

    def _suspicion(self, contact: Contact, is_suspected: bool) -> None:
        self._call_back(self.on_suspected, contact, is_suspected)

    def peer_died(self, contact: Contact) -> None:
        """A peer is dead at this address."""
        if self._table.contacts().get(contact.id) == contact:
            self._detector.report_dead(contact)
            self._forget(contact)
            self._call_back(self.on_lost, contact)

    def _forget(self, contact: Contact) -> None:
        self._table.remove(contact.id)
        self._sealing.note_death(contact.id)
        self.regions.forget(contact.id)
        self._joining.file.mark_changed()
        self._joining.book.add_address(contact.address, self._now())
        self._nearest_changed()
        self._call_back(self.on_event, PeerDied(contact))

    def _nearest_changed(self) -> None:
        if not self._nearest_may_have_changed:
            self._nearest_may_have_changed = True
            asyncio.get_running_loop().call_soon(self._tell_of_nearest)

    def _tell_of_nearest(self) -> None:
        self._nearest_may_have_changed = False
        changed = self._detector.neighbourhood.update(self.neighbours())
        if changed is not None and self._tasks.is_open:
            self._call_back(self.on_event, changed)

    def _call_back(self, callback: Callable[..., None] | None, news: Contact | OverlayEvent, *more: bool) -> None:
        if callback is None:
            return
        try:
            callback(news, *more)
        except Exception:
            self.counts["callbacks failed"] += 1
            logging.getLogger(__name__).exception("the overlay's callback %r failed for %s", callback, news)

    async def _call_address(self, address: Address) -> Contact | None:
        """Call whoever listens at an address: it becomes known if it answers."""
        found = await self._datagrams.call(address)
        if found is not None:
            self.peer_answered(found)
        return found

    async def _learn_own_host(self, address: Address) -> None:
        """We listen everywhere: ask how we look from outside, since others will be told to reach us there."""
        seen = await self._datagrams.ask(address, "stun")
        if isinstance(seen, list) and seen and isinstance(seen[0], str) and is_reachable_literal(seen[0]):
            self.contact = Contact(self.contact.id, seen[0], self.contact.port)
            self.regions.discovered(self.contact)

    # What goes on in the background

    async def _refresh_often(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                await self.refresh()
                await self._joining.file.save()
            except Exception:
                self._tasks.count_failure()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
