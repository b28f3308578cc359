"""The topics of one peer, and the overlay of all peers: what comes from others, rounds, and one timer for all of them.

A peer is in the overlay of all peers, and in one for each topic that it subscribes to. A peer that does not subscribe to a topic
carries nothing of that topic but walks. In a round each overlay exchanges a part of its view with one other peer, and what goes to
one peer goes together.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from math import ceil, inf
from random import Random
from typing import Final

from msgspec import structs

from dht import Contact

from ..errors import LocalError
from ..wire.topic_messages import (
    BASE,
    Advert,
    AskNeighbour,
    DropNeighbour,
    Known,
    Marks,
    Payload,
    Probe,
    ProbeBack,
    Round,
    RoundBack,
    Shuffle,
    TakeNeighbour,
    TopicMessage,
    Walk,
    WalkEnd,
)
from .access_points import WALKS, AccessPoints, Found
from .checks import check
from .names import MAX_NAME
from .neighbours import Send
from .overlay import Overlay, TopicOverlay, not_a_member
from .probes import PROBE_S, Probes
from .size import Size
from .view import SHUFFLED, VIEW

ROUND_S: Final = 5.0
"""How often parts of views are exchanged."""
ADVERTS: Final = 4
"""Adverts of a topic in a round, of all its members together; and adverts of others that are passed on with a round."""
MAX_ADVERTS: Final = 16
"""Adverts that are read of a message; what is beyond is passed over: nobody honest sends more."""
MAX_ENTRIES: Final = 64
"""Entries of one overlay that are read of a message; what is beyond is passed over: nobody honest sends more."""
MAX_SHUFFLES: Final = 1_000
"""Overlays that are read of a message; what is beyond is passed over. Who has more topics in common with us honestly says more, and
another time it is of others."""
SLOT_S: Final = 0.02
"""Timers are set to the ends of such slots, so that an overlay asks for one only once in each."""
BASE_PROBE_S: Final = 30.0
"""How long a neighbour in the overlay of all peers may say nothing before it is asked. No event comes by those, so they are asked
seldom: every 5 s would cost a member a tenth of what its topic costs it."""
LIFE_S: Final = 60.0
"""A source that has been silent for so long begins another life, with numbers from 1."""
MAX_TOPICS: Final = 10_000
"""Topics that a peer subscribes to, of which one more is refused; and topics that it publishes to, of which at one more the source
that was silent longest begins another life."""


class _Source:
    """What this peer publishes to one topic."""

    def __init__(self, peer: bytes, life: int, now_s: float) -> None:
        self.name = peer + life.to_bytes(6, "big")
        self.last = 0
        self.published_s = now_s


class Topics:
    """The topics of the peer ``own``. ``send(contact, message)`` sends by a link that it makes if need be, and ``wake(at_s)`` has
    :meth:`advance` called at a time: the earliest one of all is asked for. Clock and randomness are handed in. Views of all
    overlays have ``view_size`` entries, of which ``shuffled`` are sent in a round."""

    def __init__(
        self,
        own: Contact,
        rng: Random,
        send: Send,
        wake: Callable[[float], None],
        now_s: float,
        *,
        round_s: float = ROUND_S,
        view_size: int = VIEW,
        shuffled: int = SHUFFLED,
    ) -> None:
        self.own = own
        self._rng = rng
        self._send = send
        self._wake = wake
        self._round_s = round_s
        self._view_size = view_size
        self._shuffled = shuffled
        self._due: list[tuple[float, str]] = []
        """When :meth:`advance` has something to do in which overlay. Limit: the slots of the seconds that each looks ahead."""
        self._slots: set[tuple[int, str]] = set()
        """What is in ``_due``, by slot."""
        self._woken_s = inf
        self.base = Overlay(BASE, own, rng, send, self._waker(BASE), view_size=view_size, shuffled=shuffled)
        self.access_points = AccessPoints(own, rng, send, self._waker(BASE))
        self._topic_count = Size()
        self._probes = Probes(send)
        self._base_probes = Probes(send, probe_s=BASE_PROBE_S)
        self._next_probe_s = now_s + PROBE_S
        self._next_base_probe_s = now_s + BASE_PROBE_S
        self.joined: dict[str, TopicOverlay] = {}
        """The topics that this peer is a member of. Limit: MAX_TOPICS."""
        self._sources: dict[str, _Source] = {}
        """What this peer publishes, by topic. Limit: MAX_TOPICS, the one that was silent longest first."""
        self._next_round_s = now_s + rng.random() * round_s
        self._wake_at(self._next_round_s, BASE)
        self._wake_at(self._next_probe_s, BASE)

    # --- one timer ---------------------------------------------------------

    def _waker(self, name: str) -> Callable[[float], None]:
        return lambda at_s: self._wake_at(at_s, name)

    def _wake_at(self, at_s: float, name: str) -> None:
        slot = ceil(at_s / SLOT_S), name
        if slot in self._slots:
            return
        self._slots.add(slot)
        at_s = slot[0] * SLOT_S
        heapq.heappush(self._due, (at_s, name))
        if at_s < self._woken_s:
            self._woken_s = at_s
            self._wake(at_s)

    def advance(self, now_s: float) -> None:
        """Do what is due, in all overlays."""
        if now_s < self._woken_s:
            return
        due: dict[str, None] = {}
        while self._due and self._due[0][0] <= now_s:
            at_s, name = heapq.heappop(self._due)
            self._slots.discard((round(at_s / SLOT_S), name))
            due[name] = None
        self._woken_s = inf
        for name in due:
            if name != BASE:
                if (overlay := self.joined.get(name)) is not None:
                    overlay.advance(now_s)
                continue
            self.base.advance(now_s)
            self.access_points.advance(now_s)
            if self._next_round_s <= now_s:
                self._begin_round(now_s)
            if self._next_probe_s <= now_s:
                self._probe(now_s)
        if self._due and self._due[0][0] < self._woken_s:
            self._woken_s = self._due[0][0]
            self._wake(self._woken_s)

    def _probe(self, now_s: float) -> None:
        self._next_probe_s = now_s + PROBE_S
        self._wake_at(self._next_probe_s, BASE)
        neighbours = {peer: contact for overlay in self.joined.values() for peer, contact in overlay.neighbours.active.items()}
        silent = self._probes.probe(list(neighbours.values()), now_s)
        if self._next_base_probe_s <= now_s:
            self._next_base_probe_s = now_s + BASE_PROBE_S
            others = {peer: contact for peer, contact in self.base.neighbours.active.items() if peer not in neighbours}
            silent += self._base_probes.probe(list(others.values()), now_s)
            neighbours |= others
        for peer in silent:
            for overlay in self._overlays():
                if peer in overlay.neighbours.active:
                    self._send(neighbours[peer], DropNeighbour(overlay.name))  # it may only be slow, and is to know
            self.peer_lost(peer, now_s)

    def _overlays(self) -> Iterator[Overlay]:
        yield self.base
        yield from self.joined.values()

    # --- rounds ------------------------------------------------------------

    def _begin_round(self, now_s: float) -> None:
        self._next_round_s = now_s + self._round_s * self._rng.uniform(0.9, 1.1)
        self._wake_at(self._next_round_s, BASE)
        self._topic_count.count_as([topic.encode() for topic in self.joined])
        self._topic_count.begin_round()
        self.access_points.topics = max(1.0, self._topic_count.estimate)
        self.access_points.forget_late(now_s)
        for topic in [topic for topic, source in self._sources.items() if source.published_s + 2 * LIFE_S < now_s]:
            del self._sources[topic]
        parts: dict[bytes, tuple[Contact, list[Shuffle]]] = {}
        for overlay in self._overlays():
            begun = overlay.begin_round(now_s)
            if begun is not None:
                partner, shuffle = begun
                if overlay is self.base:
                    shuffle.sketches.append(self._topic_count.tell())
                parts.setdefault(partner.id, (partner, []))[1].append(shuffle)
        for partner, shuffles in parts.values():
            self._send(partner, Round(shuffles, self._adverts(now_s) if shuffles[0].topic == BASE else []))

    def _adverts(self, now_s: float, heard: Iterable[Advert] = ()) -> list[Advert]:
        """Adverts of own topics, each about ADVERTS times in a round of all its members, and some of other topics. Where ``heard``,
        the adverts of the other side, name a member of an own topic, that member may be dead: this peer is told as another one."""
        told_of = {advert.topic for advert in heard}
        own = [
            Advert(name, self.own)
            for name, overlay in self.joined.items()
            if name in told_of or self._rng.random() * max(1.0, overlay.size.estimate) < ADVERTS
        ]
        if len(own) > MAX_ADVERTS - ADVERTS:
            own = self._rng.sample(own, MAX_ADVERTS - ADVERTS)
        # What the cache has of own topics is from before they were joined, and may be dead.
        return own + [advert for advert in self.access_points.sample(ADVERTS, now_s) if advert.topic not in self.joined]

    def _received_round(self, sender: Contact, message: Round, now_s: float) -> None:
        answers = []
        for shuffle in _one_each(message.shuffles):
            overlay = self._overlay(shuffle.topic)
            if overlay is not None:
                answer = overlay.answer(sender, _bounded(shuffle), now_s)
                if overlay is self.base:
                    self._hear_topic_count(shuffle)
                    answer.sketches.append(self._topic_count.tell())
                answers.append(answer)
        adverts = self._adverts(now_s, message.adverts[:MAX_ADVERTS]) if message.adverts else []
        self._hear_adverts(message.adverts, now_s)
        self._send(sender, RoundBack(answers, adverts))

    def _received_back(self, sender: Contact, message: RoundBack, now_s: float) -> None:
        for shuffle in _one_each(message.shuffles):
            overlay = self._overlay(shuffle.topic)
            if overlay is not None:
                overlay.answered(sender, _bounded(shuffle), now_s)
                if overlay is self.base:
                    self._hear_topic_count(shuffle)
        self._hear_adverts(message.adverts, now_s)

    def _hear_topic_count(self, shuffle: Shuffle) -> None:
        if len(shuffle.sketches) > 1:
            self._topic_count.hear(shuffle.sketches[1])

    def _hear_adverts(self, adverts: list[Advert], now_s: float) -> None:
        for advert in adverts[:MAX_ADVERTS]:
            overlay = self.joined.get(advert.topic)
            if overlay is None:
                self.access_points.learn_member(advert, now_s)
            elif advert.contact.id not in overlay.view:
                overlay.learn_peers([advert.contact], now_s)  # it may be of another part: parts grow together by this

    def _overlay(self, name: str) -> Overlay | None:
        return self.base if name == BASE else self.joined.get(name)

    # --- what comes from others --------------------------------------------

    def received(self, sender: Contact, message: TopicMessage, now_s: float) -> None:
        """A message of another peer. Raises PeerMisbehaved for what ends its link (:mod:`checks`)."""
        check(message)
        if len(getattr(message, "topic", BASE)) > MAX_NAME:
            return
        message = self._without_claims(message)
        for probes in (self._probes, self._base_probes):
            probes.heard(sender.id, now_s)
        match message:
            case Probe():
                self._send(sender, ProbeBack())
            case ProbeBack():
                pass
            case Round():
                self._received_round(sender, message, now_s)
            case RoundBack():
                self._received_back(sender, message, now_s)
            case Walk():
                overlay = self.joined.get(message.topic)
                onward = self.base.view.sample(1, (sender.id, message.origin.id)) or self.base.view.sample(1)
                self.access_points.receive_walk(message, [] if overlay is None else [self.own], onward, now_s)
            case WalkEnd():
                self.access_points.receive_walk_end(message, now_s)
            case _:
                overlay_of = self._overlay(message.topic)
                if overlay_of is not None:
                    overlay_of.received(sender, message, now_s)
                elif isinstance(message, AskNeighbour):
                    known = self.access_points.member_of(message.topic)
                    self._send(sender, not_a_member(message.topic, [] if known is None else [known]))
                elif not isinstance(message, DropNeighbour):
                    self._send(sender, DropNeighbour(message.topic, leaves=True))

    def _without_claims(self, message: TopicMessage) -> TopicMessage:
        """A message without what it says of events that this peer itself is to have published, and has not: its own next ones would
        be taken for known."""
        if isinstance(message, Payload):
            return ProbeBack() if self._is_claim(message.topic, message.source, message.number) else message
        if isinstance(message, Marks | TakeNeighbour) and message.marks:
            honest = [mark for mark in message.marks if not self._is_claim(message.topic, mark.source, mark.high)]
            return message if len(honest) == len(message.marks) else structs.replace(message, marks=honest)
        return message

    def _is_claim(self, topic: str, source: bytes, number: int) -> bool:
        own = self._sources.get(topic)
        return own is not None and own.name == source and number > own.last

    def peer_lost(self, peer: bytes, now_s: float) -> None:
        """A peer cannot be reached, or is dead."""
        self.access_points.forget_peer(peer)
        for overlay in self._overlays():
            overlay.peer_lost(peer, now_s)

    def link_broke(self, peer: bytes, now_s: float) -> None:
        """The link to a peer is gone."""
        for overlay in self._overlays():
            if peer in overlay.neighbours.active:
                overlay.peer_lost(peer, now_s, suddenly=True)

    def learn_peers(self, contacts: Iterable[Contact], now_s: float) -> None:
        """Other peers have been heard of."""
        self.base.learn_peers(contacts, now_s)

    # --- what users ask ----------------------------------------------------

    def join(
        self,
        topic: str,
        *,
        tell: Callable[[Payload], None],
        tell_gap: Callable[[bytes, int], None],
        on_joined: Callable[[], None],
        on_alone: Callable[[], None] = lambda: None,
    ) -> TopicOverlay:
        """Become a member. Members are to be met (:meth:`Overlay.learn_peers`), or found (:meth:`search`), or there are none
        (:meth:`TopicOverlay.join_alone`). Raises LocalError for a topic that is joined already, and for one too many."""
        if topic in self.joined:
            raise LocalError(f"topic {topic!r} is joined already; leave it first")
        if len(self.joined) >= MAX_TOPICS:
            raise LocalError(
                f"topic {topic!r} would be one more than the {MAX_TOPICS:,} that a peer may join; leave another one first"
            )
        self.end_life(topic)  # a new member does not know its own earlier events, and would wait for them
        overlay = TopicOverlay(
            topic,
            self.own,
            self._rng,
            self._send,
            self._waker(topic),
            tell=tell,
            tell_gap=tell_gap,
            on_joined=on_joined,
            on_alone=on_alone,
            view_size=self._view_size,
            shuffled=self._shuffled,
            wider=self.base.view,
        )
        self.joined[topic] = overlay
        return overlay

    def leave(self, topic: str) -> None:
        """Be a member no more."""
        overlay = self.joined.pop(topic, None)
        if overlay is not None:
            overlay.neighbours.leave()

    def search(self, topic: str, now_s: float, on_end: Callable[[Found], None]) -> None:
        """Look for members of a topic: in the cache, then by walks."""
        self.access_points.search(topic, self.base.view.sample(WALKS), now_s, on_end)

    def make_payload(self, topic: str, body: bytes, now_s: float) -> Payload:
        """The next event of this peer for a topic, member or not."""
        source = self._sources.pop(topic, None)
        if source is None or source.published_s + LIFE_S < now_s:
            if len(self._sources) >= MAX_TOPICS:
                del self._sources[next(iter(self._sources))]
            source = _Source(self.own.id, self._rng.getrandbits(48), now_s)
        self._sources[topic] = source
        source.published_s = now_s
        source.last += 1
        return Payload(topic, source.name, source.last, body)

    def end_life(self, topic: str) -> None:
        """What was made last may have reached nobody: what follows is of another source, that nobody may wait for it."""
        self._sources.pop(topic, None)

    def publish(self, payload: Payload, now_s: float) -> bool:
        """Spread an event of :meth:`make_payload`, or one that was injected; False where this peer is no member."""
        overlay = self.joined.get(payload.topic)
        if overlay is None:
            return False
        overlay.diffusion.received_payload(payload, None, now_s)
        return True


def _one_each(shuffles: list[Shuffle]) -> list[Shuffle]:
    """The last shuffle of each topic, of those that are read: an honest message has one."""
    return list({shuffle.topic: shuffle for shuffle in shuffles[:MAX_SHUFFLES]}.values())


def _bounded(shuffle: Shuffle) -> Shuffle:
    entries: list[Known] = shuffle.entries
    return shuffle if len(entries) <= MAX_ENTRIES else Shuffle(shuffle.topic, entries[:MAX_ENTRIES], shuffle.sketches)
