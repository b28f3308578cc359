"""What rendezvous bring is told in the order of its publishers: the shell around :mod:`gsg.feeds.publisher_order`.

It sends the questions, has the timer that ends the waiting, and keeps one failing listener from stopping the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import count
from typing import Protocol

from dht.liveness.late_timers import late_s

from ..errors import PeerUnreachable
from ..tuples.sizes import size_bytes
from ..tuples.terms import Tuple
from ..wire.exchange import PeerLink
from ..wire.messages import After, AskPassed, Deltas, Event, Happened, Origin, Passed, encode
from .alpha_memory import Source
from .publisher_order import NOBODY, ORDER_WAIT_S, PublisherOrder, Way

log = logging.getLogger(__name__)


class EventReceiver(Protocol):
    """Who hears of events."""

    def tell_all(self, link: PeerLink, message: Happened) -> None:
        """It is the turn of the events that a link has brought."""

    def hold(self, link: PeerLink, message: Happened, event: Event, feeds: Sequence[int]) -> Callable[[], None]:
        """One of a message's events, which these feeds match, has come before its turn; returns what is to be done then."""


WARN_EVERY_S = 5.0
"""How often the log is told of late ones at most: a death makes many tuples late, each at its own moment."""

NOBODY_BYTES = 8
"""The length of what is put in the place of a publisher where nobody in particular is asked for; the ids of peers are longer."""
_NOBODY = Origin(NOBODY, 0)
"""Of what no publisher has just said: it waits for nothing but what its feed brought before."""
_NO_ORDER = Origin(b"everywhere", 0)
"""The same where all peers feed, and no order is promised: it waits for nothing but what concerns the same facts."""


class OrderedDelivery:
    """Hands on what rendezvous bring, in the order of each publisher.

    ``links_from(peer)`` are the links by which a peer feeds us, ``events_by(peer)`` those by which only events may come from it.
    """

    def __init__(
        self,
        links_from: Callable[[bytes], Collection[Way]],
        events_by: Callable[[bytes], Collection[PeerLink]],
        receiver: EventReceiver,
    ) -> None:
        self._order: PublisherOrder[Callable[[], None]] = PublisherOrder(links_from, events_by)
        self._receiver = receiver
        self._timer: asyncio.TimerHandle | None = None
        """There while anything is held; :meth:`stop` ends it."""
        self._unlogged = 0
        """How many have come late that are not in the log yet."""
        self._pause: asyncio.TimerHandle | None = None
        """There while the log was told of late ones less than WARN_EVERY_S ago; :meth:`stop` ends it."""
        self._asked: dict[tuple[Way, bytes], asyncio.Future[bool]] = {}
        """Who is being heard out, by a number that the answer repeats. Bounded by those who wait for it."""
        self._numbers = count()
        self._turn: asyncio.Future[None] | None = None
        """Done when something that was held is told, while somebody waits for that."""

    @property
    def late(self) -> int:
        """How many events and messages of facts were told without what was to come before them, since the start."""
        return self._order.late

    def passes(self, link: PeerLink, publisher: bytes, last: int, after: After) -> bool:
        """Whether events up to a number, which arrive by a link, may be told at once; otherwise :meth:`hold_events`."""
        return self._order.passes(link, publisher, last, after)

    def take_events(self, link: PeerLink, message: Happened, by: Way | None = None) -> None:
        """Events have come: they are told now, or in their turn. ``by``: the way where it is not the link alone."""
        if not message.events:
            return
        way = by or _way(link, message.after)
        if self._order.passes(way, message.publisher, message.events[-1].number, message.after):
            self._receiver.tell_all(link, message)
        else:
            self.hold_events(link, message, way)

    def hold_events(self, link: PeerLink, message: Happened, by: Way | None = None) -> None:
        """Hold events that do not pass until it is their turn."""
        publisher = message.publisher
        things = [
            (
                event.number,
                self._receiver.hold(link, message, event, feeds),
                size_bytes(event.items) + len(event.text or "") + 8 * len(feeds),
            )
            for event, feeds in zip(message.events, message.feeds, strict=True)
        ]
        self._deliver(self._order.hold(self._now(), by or _way(link, message.after), publisher, message.after, things))

    def take_deltas(self, link: Way, message: Deltas, apply: Callable[[], None], *, one_of_all: bool = False) -> None:
        """Facts of a feed have come and gone: ``apply`` is called now, or in its turn. It may be one of those from all peers."""
        origin = message.origin or (_NO_ORDER if one_of_all else _NOBODY)
        concerns = ((link, message.feed), message.facts)
        order = self._order
        if order.passes(link, origin.publisher, origin.number, origin.after, more=message.more) and not (
            len(order) and order.conflicts(origin.publisher, concerns)
        ):
            apply()
            return
        thing = (origin.number, apply, len(encode(message)))
        self._deliver(order.hold(self._now(), link, origin.publisher, origin.after, [thing], concerns))

    def note_passed(self, link: PeerLink, message: Passed) -> None:
        """A rendezvous says how far a publisher has come by it."""
        way: Way = link if message.of is None else (link, message.of)
        heard_out = self._asked.get((way, message.publisher))
        if heard_out is not None and not heard_out.done():
            heard_out.set_result(True)
        self._deliver(self._order.note_passed(way, message.publisher, message.number))

    def note_broken(self, link: PeerLink) -> None:
        """A link is gone: nobody is heard out by it. What it had still to bring may come by the next one (:meth:`forget_link`)."""
        for (asked, _), heard_out in self._asked.items():
            if _asked_by(asked)[0] is link and not heard_out.done():
                heard_out.set_result(False)
        self._deliver(self._order.forget_way(_passed_on(link)))

    def forget_link(self, link: Way) -> None:
        """What a link that is gone had still to bring, or a head, is not waited for any more."""
        self._deliver(self._order.forget_way(link))

    async def hear_out(self, link: Way) -> bool:
        """Wait until all changes of facts are told that the other side has sent by now; False where the link breaks before.

        Whoever waits sets a limit, as the other side may read nothing; what waits for its turn does so for ORDER_WAIT_S at most.
        """
        nobody = next(self._numbers).to_bytes(NOBODY_BYTES, "big")
        answer = self._asked[link, nobody] = asyncio.get_running_loop().create_future()
        try:
            with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
                _ask_passed(link, nobody, 0)
            if not await answer:
                return False
        finally:
            del self._asked[link, nobody]
        held = self._order.held_facts(link)
        while held:
            if held[-1].done:
                held.pop()
                continue
            if self._turn is None:
                self._turn = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._turn])
        return True

    def arrived_facts(self, link: PeerLink, source: Source) -> dict[Tuple, int]:
        """The facts of a feed that have come by a link, also where that waits for its turn."""
        facts = dict(source.facts)
        for held in self._order.held_facts(link):
            if isinstance(held.payload, partial) and held.payload.args[0] is source:
                deltas: Deltas = held.payload.args[-1]
                for fact, sign in zip(deltas.facts, deltas.signs, strict=True):
                    if sign > 0:
                        facts[fact] = 0
                    else:
                        facts.pop(fact, None)
        return facts

    def stop(self) -> None:
        """The peer stops."""
        for timer in (self._timer, self._pause):
            if timer is not None:
                timer.cancel()
        self._log()

    def _deliver(self, turn: Sequence[Callable[[], None]]) -> None:
        questions, self._order.questions = self._order.questions, []
        for way, publisher, number in questions:
            with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
                _ask_passed(way, publisher, number)
        for tell in turn:
            try:
                tell()
            except Exception:
                # A defect of ours in one listener must not keep the others waiting.
                log.exception("what a rendezvous told was not carried out")
        if turn and self._turn is not None:
            self._turn.set_result(None)
            self._turn = None
        self._wake_up_later()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _wake_up_later(self) -> None:
        due_s = self._order.due_s
        if due_s is None or self._timer is not None:
            return
        self._timer = asyncio.get_running_loop().call_at(due_s, self._expire, due_s)

    def _expire(self, due_s: float) -> None:
        self._timer = None
        if late_s(due_s):
            # What is waited for may have come, and lie unread.
            self._order.restart_waits(self._now())
            self._wake_up_later()
            return
        before = self._order.late
        turn = self._order.expire(self._now())
        self._unlogged += self._order.late - before
        if self._pause is None:
            self._warn()
        self._deliver(turn)

    def _warn(self) -> None:
        self._pause = None
        if self._unlogged:
            self._log()
            self._pause = asyncio.get_running_loop().call_later(WARN_EVERY_S, self._warn)

    def _log(self) -> None:
        if self._unlogged:
            log.warning(
                "%d events or changes were told without what their publisher sent before them by another rendezvous: "
                "it has not come within %g s; gsg status counts them as told_out_of_order",
                *(self._unlogged, ORDER_WAIT_S),
            )
            self._unlogged = 0


def _way(link: PeerLink, after: After) -> Way:
    """By what way events come: those that name the peer that brings them were passed on to it, past what their publisher sent there
    (:mod:`gsg.churn.forward_events`)."""
    peer = link.contact.id
    return _passed_on(link) if any(named == peer for named, _, _ in after) else link


def _asked_by(way: Way) -> tuple[PeerLink, bytes | None]:
    """Whom to ask about a way: its link, and of which rendezvous, where a head passes on what that sends."""
    if isinstance(way, PeerLink):
        return way, None
    assert isinstance(way, tuple), "the way by a head"
    link, of = way
    return link, of


def _ask_passed(way: Way, publisher: bytes, number: int) -> None:
    link, of = _asked_by(way)
    link.send(AskPassed(publisher, number, of))


def _passed_on(link: PeerLink) -> Way:
    return (link,)
