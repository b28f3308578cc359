"""The parts of one peer, put together: who is asked for what, and who hears that a peer or a link comes or goes.

Rooms know each other along one way only (tests/test_imports.py); what leads back, as from a link that breaks to the feeds that it
carried, is handed in here. Nothing is decided here, and nothing is started: gsg/peer.py does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import dht

from .background import StartTask
from .churn.handover import Handover
from .churn.heartbeats import Heartbeats
from .churn.pauses import Pauses
from .dispatch import Dispatch
from .experiments.testbed import Testbed
from .feeds.by_heads.heads import Heads
from .local_events import LocalEvents
from .monitoring.spans import TracerProvider, spans_of
from .monitoring.status import Counters, Status
from .monitoring.timings import Timings
from .monitoring.tracing import Tracing
from .monitoring.vitals import Doors, Vitals
from .monitoring.vocabulary import OwnVocabulary
from .placement.holders import Holders
from .placement.responsibility import Responsibility
from .placement.rules import Anchor
from .publisher.keyed_events import KeyedEvents
from .publisher.publisher import Publisher
from .publisher.quenching import Interests
from .quotas import Quotas
from .rendezvous.delivery import Delivery
from .rendezvous.fan_out.head_watch import HeadWatch
from .rendezvous.interest import InterestLeases
from .rendezvous.rendezvous import Rendezvous
from .replication.anti_entropy import AntiEntropy
from .replication.catching_up import CatchingUp
from .replication.changes import Replication
from .replication.copying import Copying
from .replication.deaf_holders import DeafHolders
from .storage.clock import HybridClock
from .storage.disk.group_commit import GroupCommit, NoDisk
from .subscriptions.registry import SubscriptionRegistry
from .subscriptions.subscriber import Subscriber
from .topics.peer_filters import TopicFilters
from .topics.peer_topics import PeerTopics
from .tuples.ordered_attributes import OrderedAttributes
from .wire.exchange import Exchange, PeerLink
from .wire.known_doors import KnownDoors


class Parts:
    """The parts of a peer that listens at an endpoint.

    ``rendezvous`` holds what was resumed from ``disk``. ``start_task`` begins work that ends with the peer, and ``is_open``
    says whether it runs; ``joins`` whether it was told to join others, and ``work`` is what is to go on for as long as it lives.
    """

    def __init__(
        self,
        endpoint: dht.Endpoint,
        rendezvous: Rendezvous,
        delivery: Delivery,
        disk: GroupCommit | NoDisk,
        clock: HybridClock,
        *,
        rule: Anchor,
        ordered: OrderedAttributes,
        quotas: Quotas,
        counters: Counters,
        doors: Doors,
        joins: bool,
        work: dict[str, asyncio.Task[None]],
        trace: str | Path | None,
        wall_clock: Callable[[], float],
        tracer_provider: TracerProvider | None,
        rng: Random,
        start_task: StartTask,
        is_open: Callable[[], bool],
    ) -> None:
        self.contact = contact = endpoint.contact
        self.rendezvous = rendezvous
        self.delivery = delivery
        self.clock = clock
        self.quotas = quotas
        self.start_task = start_task
        self._is_open = is_open
        self.exchange = exchange = Exchange(
            contact,
            on_message=lambda link, message: self.dispatch.message(link, message),
            on_batch=delivery.flush,
            on_broken=self._link_broken,
        )
        exchange.attach(endpoint.links)
        self.holders = holders = Holders(endpoint.overlay, exchange.abort, self._peer_gone, ordered, wall_clock)
        self.responsibility = responsibility = Responsibility(contact, holders)

        self.subscriber = Subscriber(holders, exchange, start_task, rule=rule)
        feeds = self.subscriber.feeds
        self.heads = feeds.heads = Heads(feeds.source_by, feeds.order, feeds.resync, rendezvous, delivery, start_task)
        rendezvous.fan_outs.own = contact
        self.head_watch = HeadWatch(rendezvous.fan_outs, start_task, delivery.flush)
        self.subscriptions = SubscriptionRegistry(self.subscriber)

        deaf = DeafHolders(holders, exchange, lambda peer: self.handover.holder_recovered(peer), start_task)
        self.replication = Replication(contact, holders, exchange, rendezvous, clock, disk, deaf)
        copying = Copying(holders, exchange, rendezvous.held, start_task, lambda: self.handover.retry_in_time())
        self.handover = Handover(contact, holders, responsibility, rendezvous, copying, flush=delivery.flush)
        strays = self.handover.found_strays
        self.anti_entropy = AntiEntropy(contact, holders, exchange, rendezvous, responsibility, copying, clock, strays)
        self.catching_up = CatchingUp(contact, holders, exchange, rendezvous, responsibility, copying, start_task)

        self.interests = Interests(holders, exchange, rendezvous.conditions, responsibility, start_task)
        self.leases = InterestLeases(rendezvous.conditions, holders, responsibility, start_task)
        keyed = KeyedEvents(None if disk.book is None else disk.book.parent)
        self.publisher = Publisher(contact.id, holders, exchange, self.interests, clock, keyed=keyed, wall_clock=wall_clock)
        self.local_events = LocalEvents(
            self.interests, exchange.own, self.publisher, rendezvous, self.subscriber, responsibility, delivery.send
        )

        self.topics = PeerTopics(contact, holders, exchange, rng, start_task)
        self.testbed = Testbed(contact, holders, exchange, self.topics)
        self.topic_filters = TopicFilters(contact.id, self.interests, self.publisher, self.subscriptions, start_task)
        self.known_doors = KnownDoors(contact.host, lambda: start_task(self.heartbeats.tell_door()))
        self.heartbeats = Heartbeats(holders, exchange, clock, self.subscriber.feeds.links, rng, self.known_doors)
        self.pauses = Pauses(holders, self.interests, self.leases, self.handover, self.subscriber.was_away)
        self.status = Status(exchange, rendezvous, self.publisher, counters, start_task, lambda: disk.room)
        self.vocabulary = OwnVocabulary(contact, rendezvous, holders, start_task)
        self.timings = timings = Timings(contact.id)
        self.publisher.on_acknowledged = timings.acknowledge.observe
        self.publisher.record.on_sending = timings.begin_events
        feeds.events.on_told = timings.events_told
        self.vitals = Vitals(
            *(exchange, holders, responsibility, feeds.staleness, disk, timings),
            doors=doors,
            joins=joins,
            work=work,
            loop_late_s=lambda: self.pauses.late_s,
            comparing=self.catching_up.under_way,
        )
        told = (self.topics.counts, self.topic_filters.counts)
        for count in (disk.counts, delivery.counts, self.publisher.counts, self.subscriptions.counts, quotas.counts, *told):
            counters.add(count)
        self._tracing = None if trace is None else Tracing(Path(trace), contact.id, wall_clock)
        if self._tracing is not None:
            self._tracing.observe(rendezvous, self.publisher, self.subscriber.feeds)
        if (spans := spans_of(contact.id, tracer_provider)) is not None:
            spans.observe(rendezvous, self.publisher, self.subscriber.feeds, lambda: self.subscriber.rows_told.count)
        self.dispatch = Dispatch(self)

    def begin_trace(self) -> None:
        """Begin to write what comes here, where that was asked for. Raises Unsupported and LocalError as Tracing.start does."""
        if self._tracing is not None:
            self._tracing.start()

    def end_trace(self) -> None:
        """Write what is left of it."""
        if self._tracing is not None:
            self._tracing.stop()

    def stop(self) -> None:
        """The peer stops."""
        for part in (self.holders, self.subscriber, self.dispatch, self.topics):
            part.stop()

    def _link_broken(self, link: PeerLink, reason: str) -> None:
        self.delivery.end_link(link)
        self.heads.drop_subscriber(link)
        self.interests.drop_link(link)
        self.leases.drop_link(link)
        self.dispatch.lost(link)
        if self._is_open():
            self.topics.link_broke(link.contact.id)
            self.publisher.forget_link(link)
            self.subscriber.feeds.forget_link(link)
            self._send_again(link.contact.id)  # it may have lost what it acknowledged: been started anew unnoticed

    def peer_discovered(self, contact: dht.Contact) -> None:
        """Another peer has come, or is heard of for the first time."""
        if self._is_open():
            self.heartbeats.ask_links_of_peer(contact.id)
            self.holders.peer_came(contact)
            self.topics.peer_discovered(contact)
            self.interests.forget_all()
            self.leases.revoke()
            self.handover.peer_came(contact)
            self.subscriber.feeds.post_at_newcomer(contact)

    def peer_suspected(self, contact: dht.Contact, is_suspected: bool) -> None:
        """Another peer may be dead, or lives after all."""
        if self._is_open():
            self.holders.peer_suspected(contact, is_suspected)

    def peer_lost(self, contact: dht.Contact) -> None:
        """Another peer has died, or left."""
        if self._is_open():
            self.holders.peer_died(contact)
            self.known_doors.forget(contact.id)
            self.topics.peer_lost(contact.id)
            self.interests.forget_peer(contact.id)
            # A peer that vanished without a word leaves its links standing: what they fed is to be set up elsewhere.
            self.exchange.abort(contact.id, "the peer does not answer any more")
            self._peer_gone(contact.id, False)

    def _peer_gone(self, peer: bytes, lives: bool) -> None:
        self.handover.peer_died(peer)
        self.subscriber.feeds.standbys.check_all()
        if not lives:
            self._send_again(peer)

    def _send_again(self, peer: bytes) -> None:
        if self.publisher.take_back_from(peer):
            self.start_task(self.publisher.send_again())
