"""What other peers ask of this one: each message to whom it concerns, and an answer to whoever waits for one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial

import dht

from . import admission
from .changes import Change
from .copies import AskFacts, AskKeys, AskRanges, Buried, Replicate
from .errors import PeerMisbehaved, PeerUnreachable, Refused
from .exchange import Channel, Exchange, show
from .handover import Handover
from .heartbeats import Heartbeats
from .holders import Holders
from .interests import Interests, Told
from .messages import (
    Arrived,
    AskInterest,
    AskLoads,
    AskPassed,
    AskStatus,
    Beat,
    Deltas,
    Died,
    Done,
    Failed,
    Flash,
    Gap,
    Happened,
    InsertCondition,
    Interest,
    Interested,
    Loads,
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
from .outgoing import Outgoing
from .placement import REPLICAS
from .posting import AnyFeed, Feed
from .quotas import Quotas
from .rendezvous import Rendezvous
from .repair import Repair
from .replication import Replication
from .spreading import Spreading
from .standbys import StartTask
from .status import Status
from .subscriber import Subscriber
from .transit import DEFECT, FACTS_SLICE_S, Transit
from .unplaced import Unplaced

log = logging.getLogger(__name__)


class Reception:
    """Takes the messages of one peer; the arguments are its parts."""

    def __init__(
        self,
        contact: dht.Contact,
        exchange: Exchange,
        rendezvous: Rendezvous,
        replication: Replication,
        handover: Handover,
        repair: Repair,
        outgoing: Outgoing,
        subscriber: Subscriber,
        interests: Interests,
        told: Told,
        heartbeats: Heartbeats,
        status: Status,
        quotas: Quotas,
        holders: Holders,
        start_task: StartTask,
    ) -> None:
        self._contact = contact
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._replication = replication
        self._handover = handover
        self._repair = repair
        self._outgoing = outgoing
        self._subscriber = subscriber
        self._interests = interests
        self._told = told
        self._heartbeats = heartbeats
        self._status = status
        self._quotas = quotas
        self._transit = Transit(rendezvous, outgoing, self._carry_out, self._refuse)
        self._spreading = Spreading(
            handover,
            holders,
            exchange,
            rendezvous,
            self._transit,
            start_task,
            answer=outgoing.answer,
            flush=outgoing.flush,
        )
        self._unplaced = Unplaced(
            holders,
            exchange.own,
            handover,
            start_task,
            on_message=self._carry_out,
            refuse=self._refuse,
            flush=outgoing.flush,
        )

    def lost(self, channel: Channel) -> None:
        """A link is gone, and with it what it has brought and was not begun."""
        self._transit.lost(channel)
        self._unplaced.lost(channel)

    def stop(self) -> None:
        """The peer stops."""
        self._transit.stop()

    def message(self, channel: Channel, message: Message) -> None:
        """Carry out what another peer asks, or this one of itself. Raises PeerMisbehaved for what ends the link."""
        if isinstance(message, (Flash, Publish, Replicate, Buried)) and channel is not self._exchange.own:
            try:
                admission.check(channel.contact.id, message, channel.frame_bytes)
                self._count(channel, message)
            except Refused as error:
                self._refuse(channel, message, str(error))
                return
        self._carry_out(channel, message)

    def _count(self, channel: Channel, message: Flash | Publish | Replicate | Buried) -> None:
        """Count what a peer publishes. Raises Refused where that is too much."""
        peer, size_bytes = channel.contact.id, channel.frame_bytes
        if isinstance(message, (Replicate, Buried)):
            # A holder tells of what others have published, which was counted there.
            count = self._replication.not_held_by(peer, message)
            if not count:
                return
            size_bytes = size_bytes * count // len(message.facts)
        else:
            count = len(message.events if isinstance(message, Flash) else message.facts)
        self._quotas.of_peer(peer).publish(count, size_bytes, asyncio.get_running_loop().time())

    def _pass_over(self, message: Message) -> None:
        """What was refused does not come: nobody is to wait for its numbers."""
        if isinstance(message, Publish) and message.origin is not None:
            self._rendezvous.passing.passed(message.origin.publisher, message.origin.number)
        elif isinstance(message, Flash) and message.events:
            self._rendezvous.passing.passed(message.publisher, message.events[-1].number)

    def _carry_out(self, channel: Channel, message: Message) -> None:
        try:
            if self._handover.leaving and (isinstance(message, (Replicate, Buried)) or getattr(message, "forwarded", False)):
                channel.send(NotHere(message.request, self._contact, leaves=True))  # type: ignore[union-attr]  # all three have it
                return
            if isinstance(message, (Flash, Publish)) and (
                self._transit.hold_back(channel, message) or self._unplaced.hold_back(channel, message)
            ):
                return
            match message:
                case Publish():
                    if not message.forwarded and (message.unsure or self._handover.settling):
                        held = self._handover.forwarding.publish(channel, message)
                        if held is not None:
                            self._outgoing.answer_when_held(channel, message.request, held)
                    else:
                        if message.forwarded:
                            self._handover.look_again()
                        change = Change(message.sign, message.entries, message.places, message.stamp, message.by_call())
                        begun_s = self._transit.begun_s()
                        if begun_s is not None and self._replication.go_on(change, begun_s + FACTS_SLICE_S):
                            self._outgoing.answer_when_held(channel, message.request, self._replication.held(change))
                            return
                        self._transit.publish(
                            channel,
                            message,
                            partial(self._replication.go_on, change),
                            done=partial(self._made, channel, message.request, change),
                            give_up=partial(self._replication.give_up, change),
                            is_begun=begun_s is not None,
                        )
                case Replicate() | Buried():
                    self._outgoing.answer_when_held(channel, message.request, self._replication.take(message))
                case Flash():
                    if not message.forwarded and (message.unsure or self._handover.settling):
                        self._spreading.flash(channel, message)
                    else:
                        self._transit.flash(channel, message, partial(self._outgoing.answer, channel, Done(message.request)))
                case AskRanges():
                    channel.send(self._repair.ranges_differ(channel, message))
                case AskKeys():
                    channel.send(self._repair.keys_differ(message))
                case AskFacts():
                    self._handover.catching_up.asked(channel, message)
                case Deltas() | Happened() | Snapshot() | Gap() | Missed() | Moved() | Passed():
                    self._subscriber.received(channel, message)
                case AskLoads():
                    channel.send(Loads(message.request, self._rendezvous.loads(message.template, message.positions)))
                case InsertCondition():
                    self._outgoing.check_again(message.again)
                    # Always, not only while settling: whoever asks may have lost sight of the holder alone.
                    not_here = None if message.standby else self._handover.not_here(message)
                    if not_here is not None:
                        channel.send(not_here)
                        return
                    if channel is not self._exchange.own:
                        self._check_templates(channel.contact.id, channel.frame_bytes, standby=message.standby)
                    feed = self._rendezvous.insert_condition(channel, message)
                    if message.again:
                        self._outgoing.tell_again(channel, message.again, message.feed)
                    posted = partial(self._posted, channel, message.request, feed)
                    self._told.then(partial(self._handover.catching_up.then, feed, posted))
                case RemoveCondition():
                    self._rendezvous.remove_condition(channel, message.feed)
                case Arrived():
                    self._outgoing.arrived(channel, message.messages)
                case Resume():
                    known = self._rendezvous.feed(channel, message.feed)
                    if known is not None:
                        self._outgoing.resume(channel, known)
                case Died():
                    self._handover.notices.heard(channel, message)
                case AskInterest():
                    self._told.answer(channel, is_sure=not self._unplaced.is_strange(channel))
                case Interest():
                    self._interests.heard(channel, message)
                case Interested():
                    self._interests.told(channel, message)
                case AskPassed():
                    self._rendezvous.passing.asked(channel, message.publisher, message.number)
                case Beat():
                    channel.send(self._heartbeats.answer(message))
                case AskStatus():
                    self._status.asked(channel, message.request)
        except Refused as error:
            self._refuse(channel, message, str(error))
        except PeerUnreachable:
            log.debug("answer to %s not sent: the link is gone", show(channel.contact))
        except PeerMisbehaved:
            raise
        except Exception:
            # A defect of ours that a message brought out must not keep the others waiting, nor whoever sent it.
            log.exception("a %s from %s was not carried out", type(message).__name__, show(channel.contact))
            self._refuse(channel, message, DEFECT)

    def _made(self, channel: Channel, request: int, change: Change) -> None:
        self._outgoing.answer_when_held(channel, request, self._replication.held(change))

    def _check_templates(self, peer: bytes, size_bytes: int, *, standby: bool) -> None:
        """Raise Refused where a peer may have no template more, by whichever of its links."""
        channels = self._exchange.channels_of(peer)
        posted = sum(self._rendezvous.feeds(channel, standby=standby) for channel in channels)
        posted_bytes = sum(self._rendezvous.templates_bytes(channel) for channel in channels) + size_bytes
        # What is fed at one holder stands by at all others.
        self._quotas.of_peer(peer).post(posted // (REPLICAS - 1) if standby else posted, posted_bytes)

    def _posted(self, channel: Channel, request: int, feed: AnyFeed) -> None:
        with contextlib.suppress(PeerUnreachable):  # the feed ends with its link
            # Also where it has ended meanwhile: whoever asked waits for the answer.
            channel.send(Done(request))
            if type(feed) is not Feed or self._rendezvous.feed(channel, feed.number) is feed:
                self._outgoing.snapshot(channel, feed)

    def _refuse(self, channel: Channel, message: Message, why: str) -> None:
        self._pass_over(message)
        request = getattr(message, "request", None)
        if request is not None:
            with contextlib.suppress(PeerUnreachable):
                channel.send(Failed(request, why))
