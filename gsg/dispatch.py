"""What other peers ask of this one: each message to whom it concerns, and an answer to whoever waits for one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import Protocol

import dht

from .background import DEFECT, StartTask
from .churn.forward_events import EventForwarding
from .churn.forward_facts import FactForwarding
from .churn.handover import Handover
from .churn.heartbeats import Heartbeats
from .churn.unknown_holders import UnknownHolders
from .errors import PeerMisbehaved, PeerUnreachable, Refused
from .experiments.testbed import Testbed
from .feeds.by_heads.heads import Heads
from .monitoring.reached import reached_by
from .monitoring.status import Status
from .monitoring.vocabulary import OwnVocabulary
from .placement.holders import Holders
from .placement.responsibility import Responsibility
from .placement.rules import REPLICAS
from .publisher.quenching import Interests
from .quotas import Quotas
from .rendezvous.changes import Change
from .rendezvous.delivery import Delivery
from .rendezvous.fan_out.head_watch import HeadWatch
from .rendezvous.fan_out.parts import PartFeed
from .rendezvous.feed import AnyFeed, Feed
from .rendezvous.interest import InterestLeases
from .rendezvous.rendezvous import Rendezvous
from .rendezvous.time_slices import TimeSlices, Work
from .replication.anti_entropy import AntiEntropy
from .replication.catching_up import CatchingUp
from .replication.changes import Replication
from .subscriptions.subscriber import Subscriber
from .topics.peer_topics import AnyTopicMessage, PeerTopics
from .wire import admission
from .wire.exchange import Exchange, PeerLink, show
from .wire.experiment_messages import TakePart
from .wire.holder_messages import AskFacts, AskKeys, AskRanges, Buried, Replicate
from .wire.interest_messages import AskInterest, Interest, Interested
from .wire.load_messages import AskLoads, Loads, check_positions
from .wire.messages import (
    Arrived,
    AskPassed,
    Beat,
    ByHead,
    Deltas,
    Died,
    Done,
    Failed,
    Flash,
    Gap,
    Happened,
    InsertCondition,
    Lead,
    Message,
    Missed,
    Moved,
    NotHere,
    Passed,
    Publish,
    RemoveCondition,
    Resume,
    Snapshot,
)
from .wire.status_messages import AskStatus
from .wire.topic_messages import Inject
from .wire.waiting import WaitingLines

log = logging.getLogger(__name__)


class Parts(Protocol):
    """The parts of a peer that messages concern (:class:`gsg.assembly.Parts`)."""

    contact: dht.Contact
    exchange: Exchange
    holders: Holders
    responsibility: Responsibility
    rendezvous: Rendezvous
    delivery: Delivery
    replication: Replication
    catching_up: CatchingUp
    anti_entropy: AntiEntropy
    handover: Handover
    interests: Interests
    leases: InterestLeases
    subscriber: Subscriber
    heads: Heads
    head_watch: HeadWatch
    heartbeats: Heartbeats
    status: Status
    vocabulary: OwnVocabulary
    topics: PeerTopics
    testbed: Testbed
    quotas: Quotas
    start_task: StartTask


class Dispatch:
    """Hands the messages of one peer to its parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lines = WaitingLines(self._carry_out, asyncio.get_running_loop().time)
        """What each link has brought and waits behind what is under way, or looked up."""
        self._time_slices = TimeSlices(parts.rendezvous, parts.delivery, self._lines, self._refuse)
        self._fact_forwarding = FactForwarding(
            parts.holders,
            parts.exchange,
            parts.rendezvous,
            parts.replication,
            parts.responsibility,
            parts.start_task,
            parts.delivery.flush,
        )
        self._event_forwarding = EventForwarding(
            parts.responsibility,
            parts.holders,
            parts.exchange,
            parts.rendezvous,
            self._time_slices,
            parts.start_task,
            answer=parts.delivery.answer,
            flush=parts.delivery.flush,
        )
        self._unknown_holders = UnknownHolders(
            parts.holders,
            parts.exchange.own,
            parts.responsibility,
            parts.start_task,
            self._lines,
            refuse=self._refuse,
            flush=parts.delivery.flush,
        )

    def lost(self, link: PeerLink) -> None:
        """A link is gone, and with it what it has brought and was not begun."""
        self._lines.drop_link(link)
        self._time_slices.drop_link(link)

    def stop(self) -> None:
        """The peer stops."""
        self._time_slices.stop()

    def message(self, link: PeerLink, message: Message) -> None:
        """Carry out what another peer asks, or this one of itself. Raises PeerMisbehaved for what ends the link."""
        if isinstance(message, (Flash, Publish, Replicate, Buried, Inject)) and link is not self._parts.exchange.own:
            try:
                if not isinstance(message, Inject):
                    admission.check(link.contact.id, message, link.frame_bytes)
                self._count(link, message)
            except Refused as error:
                self._refuse(link, message, str(error))
                return
        self._carry_out(link, message)

    def _count(self, link: PeerLink, message: Flash | Publish | Replicate | Buried | Inject) -> None:
        """Count what a peer publishes. Raises Refused where that is too much."""
        peer, size_bytes = link.contact.id, link.frame_bytes
        if isinstance(message, (Replicate, Buried)):
            # A holder tells of what others have published, which was counted there.
            count = self._parts.replication.count_strange(peer, message)
            if not count:
                return
            size_bytes = size_bytes * count // len(message.facts)
        elif isinstance(message, Inject):
            count = len(message.payloads)
        else:
            count = len(message.events if isinstance(message, Flash) else message.facts)
        self._parts.quotas.of_peer(peer).publish(count, size_bytes, asyncio.get_running_loop().time())

    def _pass_over(self, message: Message) -> None:
        """What was refused does not come: nobody is to wait for its numbers."""
        if isinstance(message, Publish) and message.origin is not None:
            self._parts.rendezvous.progress.advance(message.origin.publisher, message.origin.number)
        elif isinstance(message, Flash) and message.events:
            self._parts.rendezvous.progress.advance(message.publisher, message.events[-1].number)

    def _carry_out(self, link: PeerLink, message: Message) -> None:
        parts = self._parts
        try:
            if parts.responsibility.leaving and (isinstance(message, (Replicate, Buried)) or getattr(message, "forwarded", False)):
                link.send(NotHere(message.request, parts.contact, leaves=True))  # type: ignore[union-attr]  # all three have it
                return
            if isinstance(message, (Flash, Publish)) and (
                self._lines.hold_back(link, message) or self._unknown_holders.hold_back(link, message)
            ):
                return
            match message:
                case Publish():
                    if not message.forwarded and (message.unsure or parts.responsibility.settling):
                        held = self._fact_forwarding.forward(link, message)
                        if held is not None:
                            parts.delivery.answer_when_held(link, message.request, held)
                    else:
                        if message.forwarded:
                            parts.handover.check_keys_again()
                        self._time_slices.carry_out(link, message, self._change_facts(link, message))
                case Replicate() | Buried():
                    parts.delivery.answer_when_held(link, message.request, parts.replication.take_over(message))
                case Flash():
                    if not message.forwarded and (message.unsure or parts.responsibility.settling):
                        self._event_forwarding.forward(link, message)
                    else:
                        self._time_slices.forward(link, message, partial(parts.delivery.answer, link, Done(message.request)))
                case AskRanges():
                    link.send(parts.anti_entropy.ranges_differ(link, message))
                case AskKeys():
                    link.send(parts.anti_entropy.keys_differ(message))
                case AskFacts():
                    parts.catching_up.answer(link, message)
                case Deltas() | Happened() | Snapshot() | Gap() | Missed() | Moved() | Passed():
                    parts.subscriber.feeds.receive(link, message)
                case AskLoads():
                    check_positions(message)
                    loads = parts.rendezvous.loads(message.template, message.positions)
                    reached = reached_by(parts.rendezvous, message.positions, message.fact)
                    link.send(Loads(message.request, loads, *reached))
                case InsertCondition():
                    if message.of is not None:
                        self._check_templates(link.contact.id, link.frame_bytes, standby=False)
                        parts.heads.pass_on_to(link, message)
                        return
                    parts.delivery.check_replaced(message.again)
                    # Always, not only while settling: whoever asks may have lost sight of the holder alone.
                    not_here = None if message.standby else parts.responsibility.not_here(message)
                    if not_here is not None:
                        link.send(not_here)
                        return
                    if link is not parts.exchange.own:
                        self._check_templates(link.contact.id, link.frame_bytes, standby=message.standby)
                    feed = parts.rendezvous.insert_condition(link, message)
                    if message.again:
                        parts.delivery.replay_events(link, message.again, message.feed)
                    at = self._position_of_head(feed)
                    if message.came_to >= 0:
                        parts.delivery.replay_passed_on(link, feed, message.came_to)
                    posted = partial(self._posted, link, message.request, feed, at)
                    parts.leases.call_when_known(partial(parts.catching_up.when_caught_up, feed, posted))
                case RemoveCondition():
                    parts.rendezvous.conditions.remove_condition(link, message.feed)
                    parts.heads.remove_condition(link, message.feed)
                case Arrived():
                    parts.delivery.acknowledge(link, message.messages)
                case Resume():
                    known = parts.rendezvous.conditions.feed(link, message.feed)
                    if known is not None:
                        parts.delivery.resync_feed(link, known)
                case Died():
                    pass  # facts are looked for under all of their keys whoever died (gsg/replication/restoring.py)
                case AskInterest():
                    parts.leases.answer(link, standby=message.standby, is_sure=not self._unknown_holders.is_strange(link))
                case Interest():
                    parts.interests.take_interest(link, message)
                case Interested():
                    parts.interests.add_interest(link, message)
                case AskPassed() if message.of in (None, parts.contact.id):
                    parts.rendezvous.progress.ask(link, message.publisher, message.number, message.of)
                case AskPassed():
                    parts.heads.ask_passed(link, message)
                case Lead():
                    parts.heads.lead(link, message)
                case Beat():
                    link.send(parts.heartbeats.answer(link, message))
                case AskStatus() if message.vocabulary:
                    parts.vocabulary.answer(link, message)
                case AskStatus():
                    parts.status.answer(link, message.request)
                case TakePart():
                    link.send(parts.testbed.answer(link.contact, message))
                case _ if isinstance(message, AnyTopicMessage):
                    parts.topics.receive(link, message)
        except Refused as error:
            self._refuse(link, message, str(error))
        except PeerUnreachable:
            log.debug("answer to %s not sent: the link is gone", show(link.contact))
        except PeerMisbehaved:
            raise
        except Exception:
            # A defect of ours that a message brought out must not keep the others waiting, nor whoever sent it.
            log.exception("a %s from %s was not carried out", type(message).__name__, show(link.contact))
            self._refuse(link, message, DEFECT)

    def _change_facts(self, link: PeerLink, message: Publish) -> Work:
        change = Change(message.sign, message.entries, message.places, message.stamp, message.by_call())
        try:
            while not self._parts.replication.make_until(change, self._time_slices.facts_end_s()):
                yield
        except BaseException:
            self._parts.replication.give_up(change)
            raise
        self._parts.delivery.answer_when_held(link, message.request, self._parts.replication.finish_change(change))

    def _check_templates(self, peer: bytes, size_bytes: int, *, standby: bool) -> None:
        """Raise Refused where a peer may have no template more, by whichever of its links."""
        links = self._parts.exchange.links_of(peer)
        posted = sum(self._parts.rendezvous.conditions.feeds(link, standby=standby) for link in links)
        posted += sum(map(self._parts.heads.waiting, links))
        posted_bytes = sum(self._parts.rendezvous.conditions.templates_bytes(link) for link in links) + size_bytes
        # What is fed at one holder stands by at all others.
        self._parts.quotas.of_peer(peer).post(posted // (REPLICAS - 1) if standby else posted, posted_bytes)

    def _position_of_head(self, feed: AnyFeed) -> tuple[int, int]:
        """How far the head of a feed has been told, of events and of facts."""
        if not isinstance(feed, PartFeed):
            return 0, 0
        self._parts.delivery.flush()
        return self._parts.rendezvous.fan_outs.position, feed.head.sequence if type(feed.head) is Feed else 0

    def _posted(self, link: PeerLink, request: int, feed: AnyFeed, at: tuple[int, int]) -> None:
        with contextlib.suppress(PeerUnreachable):  # the feed ends with its link
            if isinstance(feed, PartFeed):
                head = feed.head.subscriber
                assert isinstance(head, PeerLink), "heads are other peers"
                link.send(ByHead(request, head.contact, *at))
                self._parts.head_watch.wake()
                return
            # Also where it has ended meanwhile: whoever asked waits for the answer.
            link.send(Done(request))
            if type(feed) is not Feed or self._parts.rendezvous.conditions.feed(link, feed.number) is feed:
                self._parts.delivery.send_snapshot(link, feed)

    def _refuse(self, link: PeerLink, message: Message, why: str) -> None:
        self._pass_over(message)
        request = getattr(message, "request", None)
        if request is not None:
            with contextlib.suppress(PeerUnreachable):
                link.send(Failed(request, why))
