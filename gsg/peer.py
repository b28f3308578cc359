"""A peer: what happens to one published tuple, top to bottom.

1. A user calls :meth:`Peer.insert`; the tuple is checked and its features are computed (gsg/tuples/).
2. The publisher finds the holder of each feature's key and sends each holder one message with all of its tuples
   (gsg/publisher/publisher.py, gsg/placement/holders.py, gsg/wire/exchange.py).
3. At the holder, the rendezvous enters it under the key, finds the templates that match and adds it to the feeds of their
   subscribers (gsg/rendezvous/rendezvous.py).
4. At a subscriber's peer the feed updates its alpha memory, the Rete network joins, and rows come out as signed differences
   (gsg/subscriptions/subscriber.py, rete/network.py). This module is the shell around those: it owns sockets and tasks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from types import TracebackType
from typing import Self

import dht
from dht.liveness.incarnations import LIVES_APART

from .assembly import Parts
from .background import logging_failure
from .errors import BadData, DoorClosed, PeerUnreachable
from .experiments.testbed import Testbed
from .feeds.alpha_memory import AlphaMemory, OnEvent
from .languages import Delete, Insert, Notify, Subscribe, read_query, read_script
from .languages.query import MAX_TOKENS
from .monitoring.inspection import Inspection
from .monitoring.spans import TracerProvider
from .monitoring.status import Counters
from .monitoring.survey import Survey, survey
from .monitoring.vitals import Doors, Vitals
from .network import EVERYBODY, Network, counts_of_refused
from .placement.anchors import rule_of
from .placement.rules import Anchor
from .publisher.caller import Caller
from .publisher.publisher import Publisher
from .quotas import Quotas
from .rendezvous.condition_tests import compile_test
from .rendezvous.delivery import Delivery
from .rendezvous.matching import EventBatch
from .rendezvous.rendezvous import Rendezvous
from .storage.clock import HybridClock
from .storage.disk.group_commit import GroupCommit, NoDisk
from .subscriptions.backlog import LIMIT, Overflow, overflow_of
from .subscriptions.live import LiveSubscription
from .subscriptions.registry import SubscriptionRegistry
from .subscriptions.subscription import Callback
from .topics.names import is_filter, topic_name
from .topics.topic import Topic
from .tuples.audiences import audience_of
from .tuples.features import Template
from .tuples.terms import Tuple, fact
from .wire.addresses import address_of, addresses_of, host_of_this_machine
from .wire.known_doors import KnownDoors
from .wire.messages import Test
from .wire.status_messages import PeerStatus
from .wire.trace_context import Spans

log = logging.getLogger(__name__)


class Peer:
    """One peer of the overlay; an async context manager.

    ``listen`` is the address for other peers (TCP and UDP on one port, 0 takes a free one), ``join`` the addresses of peers to
    enter the overlay by: pairs, or text such as ``127.0.0.1:8471``, else LocalError. Entering raises DoorClosed when the port is
    taken, PeerUnreachable when nobody to join answers. ``trace`` is a folder for a record of what comes here, which needs the
    extra ``sim``; ``anchor`` the rule by which anchors are chosen: rarest, predicate or random (gsg/placement/rules.py).
    ``data`` is the directory in which its id, its facts and the addresses of other peers are kept; without it, nothing outlives the
    peer. Entering raises BadData for a directory that cannot be used. ``identity`` proves who the peer is, drawn where none is
    given or kept; ``network`` says whom it talks with, and raises BadNetwork on entering. ``quotas`` are those of other peers and
    of clients. ``tracer_provider`` makes spans (docs/operating.md); without it, the one that OpenTelemetry was given, if any.
    ``rng`` and ``clock`` (seconds since any moment that peers agree on) are handed in by tests.
    """

    def __init__(
        self,
        listen: tuple[str, int] | str = ("127.0.0.1", 0),
        join: Iterable[tuple[str, int] | str] = (),
        *,
        identity: dht.Identity | None = None,
        network: Network = EVERYBODY,
        data: str | Path | None = None,
        trace: str | Path | None = None,
        anchor: str = Anchor.RAREST,
        quotas: Quotas | None = None,
        tracer_provider: TracerProvider | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._join = addresses_of(join, "join")
        self._listen = address_of(listen, "listen")
        self._rng = SystemRandom() if rng is None else rng
        self._identity = identity
        self._network = network
        self._membership: dht.Membership
        self._disk = NoDisk() if data is None else GroupCommit(Path(data))
        self._endpoint: dht.Endpoint
        self._trace, self._tracer_provider = trace, tracer_provider
        self._rule = rule_of(anchor)
        self.quotas = Quotas() if quotas is None else quotas
        """What other peers, and clients of its doors, may ask of this one."""
        self.counters = Counters()
        """What the doors of this peer count, for :meth:`status`."""
        self.doors = Doors()
        """Its doors, and whether they stand, for :attr:`vitals`."""
        self.resumed_facts = 0
        """Facts that were in the data directory when the peer was started."""
        self._group = asyncio.TaskGroup()
        self._running: dict[asyncio.Task[None], None] = {}
        """Tasks of this peer: one per feed under repair, snapshot under way or congested link; leaving cancels them."""
        self._work: dict[str, asyncio.Task[None]] = {}
        """Those that are to go on for as long as the peer lives, by name."""
        self._open = False
        self._parts: Parts
        self._calls = self.caller()

    async def __aenter__(self) -> Self:
        try:
            clock = HybridClock(self._clock)
            identity = await self._disk.open(self._identity, lambda: dht.Identity(self._rng.randbytes(32)))
            self._membership = self._network.membership(identity)
            # In a simulated network a slice takes no time: what happens there depends on nothing but its seed.
            ordered = self._network.attributes
            rendezvous = Rendezvous(compile_test, asyncio.get_running_loop().time, ordered)
            delivery = Delivery(rendezvous, self._start_task)
            await self._disk.resume(rendezvous.held, clock)
            self.resumed_facts = rendezvous.held.distinct()
            # Higher in each life of this peer, however often it is started, and whatever its clock says.
            life = max(self._disk.past.life + LIVES_APART, int(self._clock() * 1000))
            self._endpoint = await self._open_endpoint(life)
        except BaseException:
            await self._disk.close()
            raise
        self._parts = parts = Parts(
            *(self._endpoint, rendezvous, delivery, self._disk, clock),
            rule=self._rule,
            ordered=ordered,
            quotas=self.quotas,
            counters=self.counters,
            doors=self.doors,
            joins=bool(self._join),
            work=self._work,
            trace=self._trace,
            wall_clock=self._clock,
            tracer_provider=self._tracer_provider,
            rng=self._rng,
            start_task=self._start_task,
            is_open=lambda: self._open,
        )
        self.counters.add(lambda: counts_of_refused(self._membership))
        await self._group.__aenter__()
        self._open = True
        try:
            await self._disk.begin_life(self._membership.id, life)
            await parts.publisher.keyed.read()
            self._start_task(self._disk.run(), self._disk.work)
            self._start_task(parts.handover.run(), "handover")
            parts.begin_trace()
            self._endpoint.links.begin_reading()
            await self._enter_overlay()
            # Nobody waits for it: what is acknowledged from now on is written later.
            self._start_task(self._disk.note_entered(self.contact.port, alone=self._parts.holders.alone))
        except BaseException as error:
            await self._stop()
            if isinstance(error, dht.DhtError):
                raise PeerUnreachable(str(error)) from None
            raise
        self._start_task(parts.anti_entropy.run(), "anti-entropy")
        self._start_task(parts.heartbeats.run(), "heartbeats")
        self._start_task(parts.pauses.run(), "pauses")
        return self

    async def _enter_overlay(self) -> None:
        try:
            await self._endpoint.overlay.join(self._join)
        except dht.JoinFailed as error:
            if error.is_refused or not self._disk.resumed:
                raise
            # All peers may have been stopped, and this be the first that is back: nobody else could ever be.
            log.warning("%s; going on alone with what is in %s, and calling again", error, self._disk.book)

    async def _open_endpoint(self, life: int) -> dht.Endpoint:
        """Listen: where a free port will do, at that of the last life, by which others remember us."""
        host, port = self._listen
        for number in dict.fromkeys((port or self._disk.past.port, port)):
            endpoint = await self._make_endpoint(host, number, life)
            try:
                await endpoint.__aenter__()
            except dht.AddressInUse as error:
                if number == port:
                    raise DoorClosed(str(error)) from None
            except dht.BookUnreadable as error:
                raise BadData(f"{self._disk.book}: {error}") from None
            except dht.LocalError as error:
                raise DoorClosed(str(error)) from None
            else:
                return endpoint
        raise AssertionError("the last port was tried")

    async def _make_endpoint(self, host: str, port: int, life: int) -> dht.Endpoint:
        return dht.Endpoint(
            self._membership.id,
            await host_of_this_machine(host, port),
            port,
            rng=self._rng,
            on_frames=lambda link, payloads: self._parts.exchange.receive_frames(link, payloads),
            on_lost_link=lambda link, why: self._parts.exchange.drop_link(link, why),
            on_discovered=lambda contact: self._parts.peer_discovered(contact),
            on_lost_peer=lambda contact: self._parts.peer_lost(contact),
            on_suspected=lambda contact, is_suspected: self._parts.peer_suspected(contact, is_suspected),
            book=self._disk.book,
            incarnation=life,
            membership=self._membership,
            link_tls=self._network.ciphers_links(),
            links_wait=True,
            per_block=self._network.peers_per_block,
        )

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Subscriptions end first, so that no rows come of what leaving does; only a peer in order leaves the network in order.
        self._parts.subscriptions.end()
        # Where all peers of a network are stopped, each would tell of the others.
        self._parts.holders.stop()
        try:
            if self._open and kind is None:
                await self._parts.handover.leave()
        finally:
            await self._stop()

    async def _stop(self) -> None:
        self._open = False
        self._parts.stop()
        for task in list(self._running):
            task.cancel()
        try:
            # The caller's own error is the caller's: the group is to wait for our tasks, not to wrap it.
            await self._group.__aexit__(None, None, None)
        finally:
            self._parts.end_trace()
            try:
                await self._endpoint.__aexit__(None, None, None)
            finally:
                await self._disk.close()

    @property
    def contact(self) -> dht.Contact:
        """How other peers reach this one."""
        return self._endpoint.contact

    # --- what users ask ---------------------------------------------------------------------------------------------------

    async def insert(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples true; returns how many were not true before, once every rendezvous has acknowledged.

        Where one comes or dies meanwhile, that is about right. ``audience``: the ids of the only peers that may read them
        (``contact.id``, or in hexadecimal), this one only where named; a tuple for an audience is a fact of its own
        (docs/security.md). Raises BadTerm, and sends nothing, for what is no tuple of constants; LocalError for a wrong audience;
        PeerUnreachable when some were not acknowledged.
        """
        return await self._calls.facts(1, tuples, audience_of(audience))

    async def retract(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples untrue: those for everybody, or those for an audience; returns how many were true. Raises as above."""
        return await self._calls.facts(-1, tuples, audience_of(audience))

    async def notify(
        self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None, key: str | None = None
    ) -> None:
        """Events, in order: each joins with the facts of its moment wherever somebody subscribed. ``key`` names up to 1,000, which
        are not told again when they come again under it (docs/delivery.md, Events with keys). The rest as in :meth:`insert`."""
        await self._calls.events(tuples, audience_of(audience), key=key)

    async def run(self, script: str) -> list[LiveSubscription]:
        """Run a GSG script, block by block; returns the subscriptions that its SUBSCRIBE blocks made, in order. Raises BadText or
        BadQuery, and applies nothing, when any part of the script is wrong."""
        made, verbs = [], {Insert: self.insert, Delete: self.retract}
        for block in await read_script(script):
            if isinstance(block, Subscribe):
                made.append(await self._parts.subscriptions.subscribe(block.query, text=block.text))
            elif isinstance(block, Notify):
                await self.notify(block.tuples)
            else:
                await verbs[type(block)](block.tuples)
        return made

    async def subscribe(
        self,
        text: str,
        language: str = "gsg",
        callback: Callback | None = None,
        *,
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: str = Overflow.RESYNC,
        client: str = "",
    ) -> LiveSubscription:
        """A standing query; returns when its first answer is complete. Its rows come first, as ``+`` differences.

        ``overflow`` says what happens when ``limit`` differences are unread: resync, drop_oldest or error
        (gsg/subscriptions/backlog.py). It may hold ``max_tokens``, its rows included; beyond, it ends with TooManyTokens.
        ``client`` says for whom it is. Raises BadText or BadQuery for a query that cannot be, Unsupported for an unknown language,
        PeerUnreachable for silence.
        """
        query, choice = await read_query(text, language), overflow_of(overflow)
        self._opened()
        return await self._parts.subscriptions.subscribe(
            query, callback, text=text, language=language, client=client, limit=limit, max_tokens=max_tokens, overflow=choice
        )

    @property
    def registry(self) -> SubscriptionRegistry:
        """The subscriptions of this peer, to make one of a query that was read already, or to ask that once."""
        self._opened()
        return self._parts.subscriptions

    @property
    def inside(self) -> Inspection:
        """What the peer knows of its users' queries and of keys: plans, reasons, what they hold, pictures, who holds a key, and
        which constants facts have."""
        self._opened()
        parts = self._parts
        anchors = parts.subscriber.feeds.anchors
        return Inspection(parts.subscriber, parts.subscriptions, anchors, parts.holders, parts.rendezvous, parts.exchange)

    async def status(self) -> list[PeerStatus]:
        """How this peer and every peer it knows are doing, itself first; peers that do not answer are left out."""
        return (await self.survey()).peers

    async def survey(self) -> Survey:
        """As :meth:`status`, with those that do not answer, and why."""
        self._opened()
        return await survey(self._parts.holders.everybody(), self._parts.exchange)

    @property
    def vitals(self) -> Vitals:
        """What the peer knows of itself without asking others."""
        self._opened()
        return self._parts.vitals

    def topic(self, name: str) -> Topic:
        """A topic, to publish to and to subscribe to, or a filter such as ``house/+/temp``, to subscribe to (docs/topics.md).
        Raises LocalError for what is neither."""
        self._opened()
        topics, filters = self._parts.topics, self._parts.topic_filters
        return Topic(topic_name(name), filters if is_filter(name) else topics, fact, filters.tell)

    def topics(self) -> dict[str, float]:
        """The topics that this peer knows of, and how many members each has, about; 0 where that is unknown."""
        self._opened()
        return self._parts.topics.known()

    def shares(self) -> dict[bytes, float]:
        """The fraction of all keys that each known peer is responsible for, by peer id; good to about one per cent."""
        self._opened()
        return self._parts.holders.shares()

    # --- what doors ask ---------------------------------------------------------------------------------------------------

    def caller(self) -> Caller:
        """For one client: what it publishes keeps its order, and that of others may go between."""
        return Caller(self._opened)

    @property
    def spans(self) -> Spans:
        """What is made of what its clients publish."""
        return self._parts.publisher.spans

    @property
    def known_doors(self) -> KnownDoors:
        """Where the HTTP doors of this peer and of others are."""
        self._opened()
        return self._parts.known_doors

    async def flash(
        self,
        events: Sequence[tuple[Tuple, str | None]],
        *,
        via: Sequence[int] | None = None,
        within: Sequence[int] | None = None,
        audience: Iterable[bytes | str] | None = None,
    ) -> None:
        """Events with the text that they came as; ``via`` limits the positions whose rendezvous they go by, and ``within`` says at
        which alone anybody asks for them. ``audience`` as in :meth:`insert`."""
        await self._opened().events(events, via=via, within=within, audience=audience_of(audience))

    def wanted(self, events: Sequence[Tuple], *, within: Sequence[int] | None = None) -> list[Tuple]:
        """Those events that somebody may ask for now, of which :meth:`flash` has something to do."""
        self._opened()
        return self._parts.interests.wanted(events, within=within)

    def flash_here(self, events: Sequence[tuple[Tuple, str | None]], *, via: Sequence[int] | None = None) -> EventBatch | None:
        """Like :meth:`flash`, at once: call :meth:`flash_on` until the batch is done, in turn with others. None, and nothing done,
        where others are concerned: await :meth:`flash` then."""
        self._opened()
        return self._parts.local_events.flash(events, via)

    def flash_on(self, batch: EventBatch) -> bool:
        """One slice more of events that :meth:`flash_here` has begun to pass on; whether that was the last one."""
        self._parts.local_events.pass_on(batch)
        return batch.done

    async def listen(
        self,
        template: Template,
        on_event: OnEvent,
        *,
        anchor: int,
        test: Test | None = None,
        exclusive: bool = False,
        note: int = 0,
    ) -> AlphaMemory:
        """Hear of events that match a template and pass its test; see :meth:`gsg.subscriptions.subscriber.Subscriber.listen`."""
        self._opened()
        return await self._parts.subscriber.listen(template, on_event, anchor=anchor, test=test, exclusive=exclusive, note=note)

    @property
    def testbed(self) -> Testbed:
        """What experiments ask of this peer (gsg/experiments)."""
        self._opened()
        return self._parts.testbed

    def end_listening(self, listening: AlphaMemory) -> None:
        """Hear no more of what :meth:`listen` began."""
        self._parts.subscriber.end_listening(listening)

    def _opened(self) -> Publisher:
        if not self._open:
            raise DoorClosed("this peer is not running; use it inside `async with gsg.Peer(...) as peer:`")
        return self._parts.publisher

    def _start_task(self, work: Coroutine[None, None, None], lasting: str = "") -> None:
        """``lasting`` is the name of what is to go on for as long as the peer lives."""
        if not self._open:
            work.close()
            return
        task = self._group.create_task(logging_failure(work))
        self._running[task] = None
        if lasting:
            self._work[lasting] = task
        task.add_done_callback(lambda done: self._running.pop(done, None))
        # A task that is cancelled before its first step never came to await its work.
        task.add_done_callback(lambda _: work.close())
