"""The topics of one peer, with links, timers and tasks: the shell around :class:`Topics`.

It begins with the first use of a topic, here or by a peer that sends something about one: before, no peer has any work with it.
A topic's key has holders as all keys have (:mod:`gsg.placement.holders`); members enrol with them, and learn of each other by that
even where gossip has lost them: so parts that were cut grow together.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

import msgspec

from dht import Contact

from ..background import StartTask, Worker, in_turns
from ..errors import BadTerm, DoorClosed, GsgError, LocalError, PeerMisbehaved, PeerUnreachable, Refused, RemoteError
from ..placement.holders import Holders
from ..tuples.features import Key
from ..tuples.terms import Tuple, fact
from ..wire.exchange import Exchange, PeerLink
from ..wire.messages import Done, Failed
from ..wire.status_messages import Count
from ..wire.topic_messages import EnrolMember, Inject, Members, Payload, TopicMessage
from .access_points import Found
from .backlog import Backlog, TopicEvent
from .checks import PEER_ID_BYTES, check
from .enrolment import MAX_ENROLLED, RENEW_S, SAMPLE, Enrolments
from .injections import MAX_INJECTED, STOPS, Injections
from .membership import Membership
from .names import MAX_NAME, TOPIC
from .topics import MAX_TOPICS, Topics

log = logging.getLogger(__name__)

MAX_DIALLING: Final = 1_000
"""Peers that links are made to at once; beyond, a message to another one is not sent, as if it were lost: what is missing is asked
for again."""
MAX_WAITING: Final = 256
"""Messages that wait for one such link; beyond, they are not sent, as if they were lost."""

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Tuple)
AnyTopicMessage: TypeAlias = TopicMessage | Inject | EnrolMember


def feature_of(topic: str) -> Key:
    """The feature whose key names the holders of a topic."""
    return (2, 1, topic)


class PeerTopics:
    """The topics of the peer ``own``. ``start_task`` begins work that ends with the peer. Randomness is handed in."""

    def __init__(self, own: Contact, holders: Holders, exchange: Exchange, rng: Random, start_task: StartTask) -> None:
        self._own = own
        self._holders = holders
        self._exchange = exchange
        self._rng = rng
        self._start_task = start_task
        self._enrolments = Enrolments(rng)
        self._topics: Topics | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._dialling: dict[bytes, list[TopicMessage]] = {}
        """What waits for a link. Limits: MAX_DIALLING, MAX_WAITING."""
        self._memberships: dict[str, Membership] = {}
        """Limit: MAX_TOPICS; one more is refused."""
        self._enrolment_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Those that somebody holds or waits for. Limit: the topics that are joined or being left."""
        self._is_stopped = False
        self._alone: dict[str, None] = {}
        """Topics whose holders are to be asked, as no other member answers. Limit: those that are joined."""
        self._asking = Worker(start_task, self._look_for_company)
        self._injections = Injections(exchange, self._begin_topics, self._find_member, start_task)
        self.delivered = 0
        """Events that came to subscribers here."""
        self.gaps = 0
        """Events that were missed, and told as such."""
        self.found_by_walks = 0
        """Members that walks found and the holders of a topic's key had not named."""
        self.unreadable = 0
        """Events that came to subscribers here and could not be decoded to terms."""
        self.payloads = self.small = 0
        """Events, and messages of any other kind about topics, that came by links."""

    # --- beginning and ending ------------------------------------------------

    def begin_with(self, neighbours: Iterable[Contact]) -> None:
        """Take part in the overlay of all peers, from these on."""
        self._begin_topics().learn_peers(neighbours, asyncio.get_running_loop().time())

    def base_view(self) -> list[bytes]:
        """Whom this peer knows in the overlay of all, by their ids."""
        return [] if self._topics is None else [contact.id for contact in self._topics.base.view]

    def _begin_topics(self) -> Topics:
        if self._topics is None:
            loop = asyncio.get_running_loop()
            self._topics = Topics(self._own, self._rng, self._send, self._wake, loop.time())
            self._topics.learn_peers(self._holders.others(), loop.time())
            self._start_task(self._renew())
        return self._topics

    def stop(self) -> None:
        """The peer stops: members are told that it leaves."""
        if self._timer is not None:
            self._timer.cancel()
        if self._topics is not None:
            for name in list(self._topics.joined):
                self._topics.leave(name)
        self._is_stopped = True
        self._injections.stop()
        for membership in self._memberships.values():
            membership.close(DoorClosed(STOPS))

    def _check_open(self) -> None:
        if self._is_stopped:
            raise DoorClosed(STOPS)

    # --- time ------------------------------------------------------------------

    def _wake(self, at_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at_s, self._advance, at_s)

    def _advance(self, due_s: float) -> None:
        """uvloop rounds to milliseconds, and so calls up to half of one early: what was called for is due nonetheless."""
        assert self._topics is not None
        self._topics.advance(max(due_s, asyncio.get_running_loop().time()))

    async def _renew(self) -> None:
        """Enrol anew with the holders of all topics, and learn of the members that they name."""
        while True:
            await asyncio.sleep(RENEW_S * self._rng.uniform(0.9, 1.1))
            async for _ in in_turns(self._enrolments.forget_late(asyncio.get_running_loop().time())):
                pass
            async for name in in_turns(list(self._memberships)):
                with contextlib.suppress(RemoteError):
                    await self._enrol(name)

    # --- messages --------------------------------------------------------------

    def _send(self, contact: Contact, message: TopicMessage) -> bool:
        link = self._exchange.link_now(contact)
        if link is not None:
            if link.congested and isinstance(message, Payload):
                return False
            with contextlib.suppress(PeerUnreachable):  # it is told as broken in this very turn
                link.send(message)
            return True
        waiting = self._dialling.get(contact.id)
        if waiting is None:
            if len(self._dialling) >= MAX_DIALLING:
                return False
            self._dialling[contact.id] = [message]
            self._start_task(self._dial(contact))
        elif len(waiting) < MAX_WAITING:
            waiting.append(message)
        else:
            return False
        return True

    async def _dial(self, contact: Contact) -> None:
        try:
            link = await self._exchange.link(contact)
            for message in self._dialling.pop(contact.id, []):
                link.send(message)
        except PeerUnreachable:
            self._unreachable(contact.id)
        finally:
            self._dialling.pop(contact.id, None)

    def receive(self, link: PeerLink, message: AnyTopicMessage) -> None:
        """What another peer says of topics. Raises PeerMisbehaved for what ends the link, Refused with a reason for the asker."""
        now_s = asyncio.get_running_loop().time()
        if isinstance(message, Payload | Inject):
            self.payloads += 1 if isinstance(message, Payload) else len(message.payloads)
        else:
            self.small += 1
        match message:
            case EnrolMember():
                if not 0 < len(message.topic) <= MAX_NAME:
                    raise Refused(f"a topic's name of {len(message.topic):,} characters; expected 1 to {MAX_NAME}")
                if message.leaves:
                    self._enrolments.leave(message.topic, link.contact.id)
                elif message.enrols:
                    self._enrolments.enrol(message.topic, link.contact, now_s)
                link.send(Members(message.request, *self._enrolments.members(message.topic, now_s, without=link.contact.id)))
            case Inject():
                self._inject(link, message, now_s)
            case _:
                self._begin_topics().received(link.contact, message, now_s)

    def _inject(self, link: PeerLink, message: Inject, now_s: float) -> None:
        topics = self._begin_topics()
        if len(message.payloads) > MAX_INJECTED:
            raise PeerMisbehaved(f"{len(message.payloads):,} events to spread in one message; expected at most {MAX_INJECTED}")
        for payload in message.payloads:
            check(payload)
            if payload.source[:PEER_ID_BYTES] != link.contact.id:
                raise PeerMisbehaved("an event to spread in the name of another peer")
            if not topics.publish(payload, now_s):
                link.send(Failed(message.request, f"this peer is no member of topic {payload.topic[:MAX_NAME]!r}"))
                return
        link.send(Done(message.request))

    def link_broke(self, peer: bytes) -> None:
        """A link to a peer is gone."""
        if self._topics is not None and not self._exchange.links_of(peer):
            self._topics.link_broke(peer, asyncio.get_running_loop().time())

    def peer_lost(self, peer: bytes) -> None:
        """A peer is dead, or has left."""
        self._enrolments.forget(peer)
        self._unreachable(peer)

    def _unreachable(self, peer: bytes) -> None:
        if self._topics is not None:
            self._topics.peer_lost(peer, asyncio.get_running_loop().time())

    def peer_discovered(self, contact: Contact) -> None:
        """A peer has joined the network."""
        if self._topics is not None:
            self._topics.learn_peers([contact], asyncio.get_running_loop().time())

    # --- the holders of a topic ------------------------------------------------

    async def members(self, topic: str) -> tuple[int, list[Contact]]:
        """How many members a topic has, and some of them. Raises PeerUnreachable."""
        return await self._ask_holders(topic)

    async def _enrol(self, topic: str) -> list[Contact]:
        """Enrol with the holders, where this peer is a member, or is about to be; the members that they named."""
        async with self._enrolling(topic):
            if topic not in self._memberships:
                return []
            _, members = await self._ask_holders(topic, enrols=True, on_members=lambda some: self._learn_members(topic, some))
            return members

    def _learn_members(self, topic: str, members: list[Contact]) -> None:
        overlay = self._begin_topics().joined.get(topic)
        if overlay is not None:
            known = {self._own.id, *overlay.neighbours.active}
            new = [contact for contact in members if contact.id not in overlay.view and contact.id not in known]
            if new:
                overlay.learn_peers(new, asyncio.get_running_loop().time())

    def _left_alone(self, topic: str) -> None:
        """The others may all be dead: the holders know who has come, and do not wait to be asked for RENEW_S."""
        self._alone[topic] = None
        self._asking.wake()

    async def _look_for_company(self) -> None:
        # One topic at a time: whoever is cut off is so in all of them at once.
        while self._alone:
            topic = next(iter(self._alone))
            del self._alone[topic]
            if topic in self._memberships:
                with contextlib.suppress(RemoteError):
                    await self._enrol(topic)

    async def _ask_holders(
        self, topic: str, *, enrols: bool = False, leaves: bool = False, on_members: Callable[[list[Contact]], None] | None = None
    ) -> tuple[int, list[Contact]]:
        """Ask all holders of a topic's key; the largest count, and the members that any of them named. ``on_members`` gets
        those that each one named as it answers: one that is dead may take seconds."""

        async def ask(holder: Contact) -> Members:
            answer = await self._exchange.ask(holder, lambda request: EnrolMember(request, topic, enrols, leaves), Members)
            if not 0 <= answer.count <= MAX_ENROLLED or len(answer.members) > SAMPLE:
                raise PeerMisbehaved(
                    f"{len(answer.members):,} members named, of {answer.count}; expected at most {SAMPLE}, of 0 to {MAX_ENROLLED:,}"
                )
            if on_members is not None:
                on_members(answer.members)
            return answer

        feature = feature_of(topic)
        await self._holders.look_up([feature])
        answers = await asyncio.gather(*map(ask, self._holders.holders_of(feature)), return_exceptions=True)
        told = [answer for answer in answers if isinstance(answer, Members)]
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, GsgError):
                raise answer
        if not told:
            raise next((answer for answer in answers if isinstance(answer, GsgError)), PeerUnreachable(f"nobody holds {topic!r}"))
        members = {contact.id: contact for answer in told for contact in answer.members if contact.id != self._own.id}
        return max(answer.count for answer in told), list(members.values())

    # --- what users ask --------------------------------------------------------

    async def subscribe(self, topic: str, backlog: Backlog) -> None:
        """Let a subscriber hear what is published from now on. Raises PeerUnreachable, LocalError for one topic too many,
        DoorClosed where the peer stops."""
        self._check_open()
        membership = self._memberships.get(topic)
        if membership is None:
            if len(self._memberships) >= MAX_TOPICS:
                raise LocalError(
                    f"topic {topic!r} would be one more than the {MAX_TOPICS:,} that a peer may join; leave another one first"
                )
            membership = self._memberships[topic] = Membership()
            # Work of its own, as others may wait for it when this subscriber has given up.
            self._start_task(self._join(topic, membership))
        try:
            await membership.add_backlog(backlog)
        finally:
            self._leave_unused(topic, membership)

    async def _join(self, topic: str, membership: Membership) -> None:
        try:
            now_s = asyncio.get_running_loop().time()
            members = await self._enrol(topic)
            if self._memberships.get(topic) is membership:
                self._join_overlay(topic, membership, members, now_s)
        except Exception as error:
            membership.fail(error)
            if not isinstance(error, GsgError):
                raise

    def _join_overlay(self, topic: str, membership: Membership, members: list[Contact], since_s: float) -> None:
        topics, now_s = self._begin_topics(), asyncio.get_running_loop().time()
        overlay = topics.join(
            topic,
            tell=lambda payload: self._deliver(membership, payload),
            tell_gap=lambda source, count: self._tell_gap(membership, count),
            on_joined=membership.succeed,
            on_alone=lambda: self._left_alone(topic),
        )
        overlay.diffusion.since_s = since_s
        if members:
            overlay.join(members, now_s)
            topics.search(topic, now_s, lambda found: self._found(topic, found))
        else:
            overlay.join_alone()

    def _found(self, topic: str, found: Found) -> None:
        overlay = self._begin_topics().joined.get(topic)
        if overlay is not None:
            new = [contact for contact in found.members if contact.id not in overlay.view]
            self.found_by_walks += len(new)
            overlay.learn_peers(new, asyncio.get_running_loop().time())

    def _deliver(self, membership: Membership, payload: Payload) -> None:
        try:
            values = _decoder.decode(payload.body)
            fact((TOPIC, payload.topic, *values))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, BadTerm):
            self.unreadable += 1
            return
        event = TopicEvent(payload.topic, values, payload.source[:PEER_ID_BYTES], payload.number)
        self.delivered += len(membership.backlogs)
        for backlog in membership.backlogs:
            backlog.put(event, len(payload.body))

    def _tell_gap(self, membership: Membership, count: int) -> None:
        self.gaps += count
        for backlog in membership.backlogs:
            backlog.lose(count, missing=count)

    def unsubscribe(self, topic: str, backlog: Backlog) -> None:
        """End a subscription; with the last one the peer is no member any more."""
        membership = self._memberships.get(topic)
        if membership is not None and backlog in membership.backlogs:
            membership.backlogs.remove(backlog)
            self._leave_unused(topic, membership)

    def _leave_unused(self, topic: str, membership: Membership) -> None:
        """Leave a topic that nobody here hears, or waits to hear."""
        if membership.is_used or self._memberships.get(topic) is not membership:
            return
        del self._memberships[topic]
        if self._topics is not None:
            self._topics.leave(topic)
        self._start_task(self._disenrol(topic))

    async def _disenrol(self, topic: str) -> None:
        async with self._enrolling(topic):
            if topic not in self._memberships:
                with contextlib.suppress(RemoteError):
                    await self._ask_holders(topic, leaves=True)

    def _enrolling(self, topic: str) -> asyncio.Lock:
        """Whoever holds it enrols or leaves: the holders are to hear these in the order in which they were decided."""
        return self._enrolment_locks.setdefault(topic, asyncio.Lock())

    async def publish(self, topic: str, events: Sequence[Tuple]) -> list[int]:
        """Spread events in order, by this peer or by a member; returns their numbers. Raises PeerUnreachable where no member could
        be reached, DoorClosed where the peer stops."""
        self._check_open()
        topics, bodies = self._begin_topics(), [_encode(values) for values in events]
        numbers: list[int] = []
        async for nth, body in in_turns(enumerate(bodies)):
            if topic not in topics.joined:
                return numbers + await self._injections.publish(topic, bodies[nth:])
            now_s = asyncio.get_running_loop().time()
            payload = topics.make_payload(topic, body, now_s)
            topics.publish(payload, now_s)
            numbers.append(payload.number)
        return numbers

    async def _find_member(self, topic: str) -> Contact | None:
        _, members = await self._ask_holders(topic)
        return self._rng.choice(members) if members else None

    def counts(self) -> list[Count]:
        """For ``gsg status``."""
        return [
            Count("topic_events_delivered", self.delivered),
            Count("topic_events_missed", self.gaps),
            Count("topic_events_unreadable", self.unreadable),
            Count("topic_members_found_by_walks", self.found_by_walks),
        ]

    def size(self, topic: str) -> float:
        """How many members a topic has, by gossip; 0 where this peer is none."""
        overlay = None if self._topics is None else self._topics.joined.get(topic)
        return 0.0 if overlay is None else overlay.size.estimate

    def known(self) -> dict[str, float]:
        """The topics that this peer knows of, and how many members each has, about; 0 where that is unknown."""
        found: dict[str, float] = {} if self._topics is None else dict.fromkeys(self._topics.access_points.known(), 0.0)
        found.update({name: self.size(name) for name in self._memberships})
        found.update(self._enrolments.topics())
        return found
