"""Who is responsible for a key: this peer's view of the overlay.

    async with Overlay(id, host, port, rng=rng) as overlay:
        await overlay.join([("seed.example.org", 7400)])
        overlay.owners_now(key, r=3) or await overlay.owners(key, r=3)

A thin shell: sockets and the routing table are in :mod:`dht.queries` (over the ``kademlia`` package), the search in
:mod:`dht.lookup`, the owner cache in :mod:`dht.regions`. It does for them what needs a clock:

* every ``probe_s`` it asks the contact heard of longest ago who it knows, which shows whether that one lives and brings news of
  others; and it calls at one old address, so that the parts of a network that was cut meet again;
* every ``refresh_s`` it looks up its own id, a point of one bucket, and the regions learned longest ago.

A peer counts as known only after it answered, and at the address that answered last. Keys and ids are points of one space, 20
bytes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from random import Random
from types import TracebackType
from typing import Any, Self

from kademlia.network import Server

from .contacts import Contact, is_reachable_literal
from .errors import Address, AddressInUse, BadAnswer, BadContact, JoinFailed, NotOpen
from .identity import ID_BITS, ID_BYTES, PeerId, as_int, common_prefix_length, random_id, random_id_in_bucket
from .lookup import ALPHA, Found, K, Lookup, Send
from .queries import Queries
from .regions import Regions

MAX_LOOKUPS = 32
"""Lookups at once; further callers wait their turn."""

MAX_CHECKS = 64
"""Unknown peers called back at once to see whether they live; further ones are passed over and counted, and will be heard of
again."""

MAX_BOOK = 256
"""Old addresses remembered, to find the way back after a partition; the oldest is dropped for a new one."""

GRAVE_S = 10.0
"""How long what others say about a dead peer is not believed, in seconds; its own word is, at once."""

MAX_GRAVES = 1024
"""Dead peers remembered; the oldest is dropped for a new one."""

STALE_REGIONS = 4
"""Regions looked up again in one refresh."""

for _name in ("kademlia", "rpcudp"):
    # The package warns of each answer that does not come, which is its everyday life and not the user's.
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _Server(Server):  # type: ignore[misc]  # the package has no types
    """The package's node with our protocol and without its timers."""

    def __init__(self, id: PeerId, k: int, make: Callable[[_Server], Queries]) -> None:
        super().__init__(ksize=k, alpha=ALPHA, node_id=id)
        self._make = make

    def _create_protocol(self) -> Queries:
        return self._make(self)

    def refresh_table(self, interval: int = 3600) -> None:
        """Nothing: the overlay refreshes, in tasks that it owns."""


class Overlay:
    """One peer's place in the overlay: joins, finds the peers closest to a key, notices who lives and who died.

    ``id`` is 20 bytes; ``host`` an IP literal to listen at (the unspecified one listens everywhere, and ``contact`` then has the
    address that others see, learned by joining); ``port`` is UDP's, 0 takes a free one. ``rng`` draws call ids and targets,
    seeded for a repeatable run. ``on_discovered`` hears of each peer that becomes known or answers from another address,
    ``on_lost`` of each that stopped answering. Callbacks must not block; what they raise is logged and counted.
    """

    def __init__(
        self,
        id: PeerId,
        host: str,
        port: int,
        *,
        rng: Random,
        k: int = K,
        probe_s: float = 1.0,
        refresh_s: float = 30.0,
        on_discovered: Callable[[Contact], None] | None = None,
        on_lost: Callable[[Contact], None] | None = None,
    ) -> None:
        if len(id) != ID_BYTES:
            raise BadContact(f"{id!r} is no peer id; expected {ID_BYTES} bytes")
        self.contact = Contact(id, host, port)
        """How others reach us: the port is right once entered, an unspecified host once joined."""
        self.on_discovered = on_discovered
        self.on_lost = on_lost
        self.regions = Regions(k)
        self._k = k
        self._rng = rng
        self._probe_s = probe_s
        self._refresh_s = refresh_s
        self._server = _Server(id, k, self._make_queries)
        self._queries: Queries | None = None
        self._group = asyncio.TaskGroup()
        # Every task that this overlay started and that still runs; leaving cancels them. A dict, since a set's order is not
        # repeatable.
        self._tasks: dict[asyncio.Task[Any], None] = {}  # Any: their results are read where they are started
        self._open = False
        self._checking: dict[Address, None] = {}
        self._searching: dict[tuple[int, int], asyncio.Task[Found]] = {}
        self._search_places = asyncio.Semaphore(MAX_LOOKUPS)
        self._heard_s: dict[PeerId, float] = {}
        self._graves: dict[PeerId, tuple[Address, float]] = {}
        self._book: dict[Address, None] = {}

    async def __aenter__(self) -> Self:
        """Listen. Raises AddressInUse."""
        host, port = self.contact.address
        try:
            await self._server.listen(port, host)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
                raise AddressInUse(host, port, (error.strerror or str(error)).lower()) from None
            raise
        self._queries = self._server.protocol
        self.contact = Contact(self.contact.id, host, self._server.transport.get_extra_info("sockname")[1])
        await self._group.__aenter__()
        self._open = True
        self._learn(self.contact.id, ())
        self._start(self._probe_often())
        self._start(self._refresh_often())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop: end every task, close the socket."""
        self._open = False
        for task in list(self._tasks):
            task.cancel()
        try:
            # The group would wrap the caller's own error; only cancellation, which may be the group's doing, is its affair.
            if kind is not None and issubclass(kind, asyncio.CancelledError):
                await self._group.__aexit__(kind, error, trace)
            else:
                await self._group.__aexit__(None, None, None)
        finally:
            self._server.stop()
            if self._queries is not None:
                await self._queries.closed()

    # What callers ask

    @property
    def counts(self) -> Counter[str]:
        """How often something went wrong that was not worth an error, by its name."""
        return self._asking.counts

    def contacts(self) -> list[Contact]:
        """Every living peer that we know, ourselves not included."""
        return list(self._asking.router.all().values())

    def knows(self, peer: PeerId) -> Contact | None:
        """The contact of a living peer that we know, or None."""
        return self._asking.router.all().get(peer)

    def owners_now(self, key: bytes, r: int = 1) -> tuple[Contact, ...] | None:
        """The ``r`` living peers closest to the key, closest first, ourselves included; None when that needs :meth:`owners`."""
        return self.regions.owners(key, r)

    async def owners(self, key: bytes, r: int = 1) -> tuple[Contact, ...]:
        """The ``r`` living peers closest to the key, closest first, ourselves included; fewer when the network has fewer.

        Answers from memory where it can; else one lookup answers for all who wait for keys of the same region. ``r`` is at most k.
        """
        found = self.regions.owners(key, r)
        if found is not None:
            return found
        depth = self.regions.usual_depth
        slot = (depth, as_int(key) >> (ID_BITS - depth))
        running = self._searching.get(slot)
        if running is not None:
            await self._outcome(running)
            found = self.regions.owners(key, r)
            if found is not None:
                return found
        return self._with_ourselves(key, (await self._search_for(key, slot)).contacts)[:r]

    async def lookup(self, target: bytes) -> tuple[Contact, ...]:
        """The k living peers closest to a point, ourselves not included, always by asking."""
        return (await self._search_for(target, (ID_BITS, as_int(target)))).contacts

    async def join(self, addresses: Iterable[Address]) -> None:
        """Enter the network through any of these addresses, then make ourselves known to our neighbours.

        Hosts may be names. None at all means that we are the first peer. Raises JoinFailed when nobody answers.
        """
        wanted = list(dict.fromkeys(addresses))
        if not wanted:
            return
        tried: list[tuple[Address, str]] = []
        async with asyncio.TaskGroup() as calls:
            entering = [calls.create_task(self._enter(address)) for address in wanted]
        for address, task in zip(wanted, entering, strict=True):
            problem = task.result()
            if problem is not None:
                tried.append((address, problem))
        if len(tried) == len(wanted):
            raise JoinFailed(tried)
        near = await self.lookup(self.contact.id)
        for search in [self._search_bucket(bucket) for bucket in self._buckets(near)]:
            await self._outcome(search)

    async def refresh(self) -> None:
        """Look up our own id, a point of one bucket, and the regions learned longest ago."""
        near = await self.lookup(self.contact.id)
        searches = [
            self._start(self._search(target))
            for target in self.regions.stale(asyncio.get_running_loop().time() - self._refresh_s, STALE_REGIONS)
        ]
        buckets = self._buckets(near)
        if buckets:
            searches.append(self._search_bucket(self._rng.choice(buckets)))
        for search in searches:
            await self._outcome(search)

    def _buckets(self, near: tuple[Contact, ...]) -> range:
        """The buckets up to our nearest neighbour's: those that may hold peers whom the lookup of our own id did not meet."""
        return range(common_prefix_length(self.contact.id, near[0].id) + 1 if len(near) >= self._k else 0)

    def _search_bucket(self, bucket: int) -> asyncio.Task[Found]:
        # For the sake of the table; nobody asked for a key there, so its region is not worth keeping fresh.
        return self._start(self._search(random_id_in_bucket(self.contact.id, bucket, self._rng), learn=False))

    def lost(self, peer: PeerId) -> None:
        """The caller found a peer dead: it leaves the table and every cache. ``on_lost`` is not called."""
        known = self._asking.router.all().get(peer)
        if known is not None:
            self._bury(known)
        else:
            self.regions.forget(peer)

    def heard_of(self, contact: Contact) -> None:
        """Somebody says that a peer is at this address: it becomes known if it answers there. Limit: MAX_CHECKS at once."""
        if contact.id != self.contact.id and self._asking.router.all().get(contact.id) != contact:
            self._check(contact)

    # Lookups

    @property
    def _asking(self) -> Queries:
        if self._queries is None:
            raise NotOpen("this overlay is not open; use it inside `async with Overlay(...) as overlay:`")
        return self._queries

    async def _search_for(self, target: bytes, slot: tuple[int, int]) -> Found:
        """One lookup in a task of ours, so that a caller who gives up does not end it for others."""
        if not self._open:
            raise NotOpen("this overlay is closed; use it inside `async with Overlay(...) as overlay:`")
        task = self._start(self._search(target))
        if slot not in self._searching:
            self._searching[slot] = task
            task.add_done_callback(lambda _: self._searching.pop(slot))
        return await self._outcome(task)

    async def _outcome(self, task: asyncio.Task[Found]) -> Found:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Our own cancellation is passed on; that of the task, when the overlay closes, is news for the caller.
            current = asyncio.current_task()
            if task.cancelled() and not self._open and (current is None or not current.cancelling()):
                raise NotOpen("this overlay was closed while it looked a key up") from None
            raise

    async def _search(self, target: bytes, *, learn: bool = True) -> Found:
        async with self._search_places:
            asking = self._asking
            lookup = Lookup(target, asking.router.closest(target, self._k), own=self.contact.id, k=self._k)
            finished = asyncio.Event()
            queries: list[asyncio.Task[None]] = []

            async def ask(contact: Contact) -> None:
                answer = None
                try:
                    answer = await asking.ask_closest(contact.address, target, on_slow=lambda: order(lookup.slow(contact.id)))
                except BadAnswer:
                    # It lives, but what it says is of no use: this lookup goes on without it.
                    order(lookup.timed_out(contact.id))
                    return
                if answer is None:
                    self._died(contact)
                elif answer[0] == contact.id:
                    self._lives(contact)
                    order(lookup.received(contact.id, [each for each in answer[1] if not self._is_buried(each)]))
                    return
                else:
                    # Another peer has taken the address over.
                    self._died(contact)
                    self._lives(Contact(answer[0], contact.host, contact.port))
                order(lookup.timed_out(contact.id))

            def order(sends: list[Send]) -> None:
                if lookup.result is not None:
                    finished.set()
                queries.extend(group.create_task(ask(send.contact)) for send in sends)

            async with asyncio.TaskGroup() as group:
                order(lookup.start())
                await finished.wait()
                # Those that are still out were overtaken: nothing is known about them.
                for query in queries:
                    query.cancel()
            found = lookup.result
            assert found is not None
            if learn and found.complete:
                self._learn(target, found.contacts)
            return found

    def _learn(self, target: bytes, contacts: tuple[Contact, ...]) -> None:
        self.regions.learn(target, self._with_ourselves(target, contacts), asyncio.get_running_loop().time())

    def _with_ourselves(self, target: bytes, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
        goal = as_int(target)
        return tuple(sorted((self.contact, *contacts), key=lambda each: as_int(each.id) ^ goal)[: self._k])

    # Who lives

    def _lives(self, contact: Contact) -> None:
        """A peer answered from this address."""
        if contact.id == self.contact.id:
            return
        known = self._asking.router.all().get(contact.id)
        self._asking.router.add(contact)
        # As old as the contacts of the table, and cleaned with it.
        self._heard_s.pop(contact.id, None)
        self._heard_s[contact.id] = asyncio.get_running_loop().time()
        self._graves.pop(contact.id, None)
        self._book.pop(contact.address, None)
        if known != contact:
            self.regions.discovered(contact)
            self._tell(self.on_discovered, contact)

    def _died(self, contact: Contact) -> None:
        """A peer did not answer at this address."""
        known = self._asking.router.all().get(contact.id)
        if known is None or known == contact:
            self._bury(contact)
        if known == contact:
            self._tell(self.on_lost, contact)

    def _bury(self, contact: Contact) -> None:
        self._asking.router.remove(contact.id)
        self.regions.forget(contact.id)
        self._heard_s.pop(contact.id, None)
        self._graves[contact.id] = (contact.address, asyncio.get_running_loop().time() + GRAVE_S)
        _drop_oldest(self._graves, MAX_GRAVES)
        self._book[contact.address] = None
        _drop_oldest(self._book, MAX_BOOK)

    def _is_buried(self, contact: Contact) -> bool:
        grave = self._graves.get(contact.id)
        return grave is not None and grave[0] == contact.address and grave[1] > asyncio.get_running_loop().time()

    def _tell(self, callback: Callable[[Contact], None] | None, contact: Contact) -> None:
        if callback is None:
            return
        try:
            callback(contact)
        except Exception:
            self.counts["callbacks failed"] += 1
            logging.getLogger(__name__).exception("the overlay's callback %r failed for peer %s", callback, contact)

    def _check(self, contact: Contact) -> None:
        """Call a peer at an address, unless that is being done."""
        if not self._open or contact.address in self._checking:
            return
        if len(self._checking) >= MAX_CHECKS:
            self.counts["unknown peers passed over"] += 1
            return
        self._checking[contact.address] = None
        self._start(self._call(contact.address))

    async def _call(self, address: Address) -> PeerId | None:
        """Call whoever listens at an address: it becomes known if it answers."""
        try:
            found = await self._asking.ask_id(address)
        finally:
            self._checking.pop(address, None)
        if found is not None:
            self._lives(Contact(found, *address))
        return found

    async def _make_sure(self, contact: Contact) -> None:
        """Whether a contact that we know still lives."""
        found = await self._asking.ask_id(contact.address)
        if found is not None:
            self._lives(Contact(found, *contact.address))
        if found != contact.id:
            self._died(contact)

    async def _enter(self, address: Address) -> str | None:
        """Call at an address given by the user; what went wrong, or None."""
        if not 1 <= address[1] <= 65535:
            return "that is no port; expected 1 to 65535"
        family = socket.AF_INET6 if ":" in self.contact.host else socket.AF_INET
        try:
            found = await asyncio.get_running_loop().getaddrinfo(*address, type=socket.SOCK_DGRAM, family=family)
        except (OSError, UnicodeError) as error:
            return f"the name does not resolve ({getattr(error, 'strerror', None) or error})"
        if not found:
            return "the name does not resolve"
        host, port = found[0][4][:2]
        self._book[str(host), int(port)] = None
        _drop_oldest(self._book, MAX_BOOK)
        who = await self._call((str(host), int(port)))
        if who is None:
            return "no answer"
        if who == self.contact.id:
            self._book.pop((str(host), int(port)), None)
            return "that is this peer itself"
        if not is_reachable_literal(self.contact.host):
            await self._learn_own_host((str(host), int(port)))
        return None

    async def _learn_own_host(self, address: Address) -> None:
        """We listen everywhere: ask how we look from outside, since others will be told to reach us there."""
        seen = await self._asking.ask(address, "stun")
        if isinstance(seen, list) and seen and isinstance(seen[0], str) and is_reachable_literal(seen[0]):
            self.contact = Contact(self.contact.id, seen[0], self.contact.port)
            self.regions.discovered(self.contact)

    # What goes on in the background

    async def _probe_often(self) -> None:
        while True:
            await asyncio.sleep(self._probe_s)
            known = self._asking.router.all()
            oldest = min(known.values(), key=lambda each: self._heard_s.get(each.id, 0.0), default=None)
            if oldest is not None:
                self._start(self._probe(oldest))
            if self._book:
                # Round and round: what does not answer goes to the end.
                address = next(iter(self._book))
                del self._book[address]
                self._book[address] = None
                if address not in self._checking and len(self._checking) < MAX_CHECKS:
                    self._checking[address] = None
                    self._start(self._revisit(address))

    async def _probe(self, contact: Contact) -> None:
        """Ask a contact who is near a random point: whether it lives, and whom we do not know yet."""
        try:
            answer = await self._asking.ask_closest(contact.address, random_id(self._rng))
        except BadAnswer:
            return
        if answer is None or answer[0] != contact.id:
            self._died(contact)
            return
        self._lives(contact)
        for each in answer[1]:
            if not self._is_buried(each) and self._asking.router.all().get(each.id) is None:
                self.heard_of(each)

    async def _revisit(self, address: Address) -> None:
        """Call at an old address; if somebody lives there whom we had lost, the network may have been cut: look around."""
        if await self._call(address) is not None:
            await self.lookup(self.contact.id)

    async def _refresh_often(self) -> None:
        while True:
            await asyncio.sleep(self._refresh_s)
            await self.refresh()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:  # Any: whatever the work returns
        task = self._group.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done))
        return task

    def _make_queries(self, server: _Server) -> Queries:
        return Queries(
            server.node,
            server.storage,
            self._k,
            rng=self._rng,
            on_asked=self._check,
            on_doubtful=lambda contact: self._start(self._make_sure(contact)),
        )


def _drop_oldest(bounded: dict[Any, Any], limit: int) -> None:  # Any: whatever it remembers
    while len(bounded) > limit:
        del bounded[next(iter(bounded))]
