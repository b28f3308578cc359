"""Events whose rendezvous is this very peer: matched and passed on at once, without a message to ourselves and without encoding.

It is the way of :class:`gsg.messages.Flash` and :class:`gsg.messages.Happened` made short, and taken only where it is the same:
this peer holds all keys that matter to the event, no key is changing hands, and nothing that came before is still on its way.
Whatever else is the case, the caller goes the long way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from .exchange import Channel
from .handover import Handover
from .interests import Interests
from .messages import Happened, Message
from .model import Tuple
from .posting import Subscriber as Receiver
from .publisher import Publisher
from .rendezvous import Rendezvous
from .subscriber import Subscriber

log = logging.getLogger(__name__)

MAX_TEXT = 64 * 1024
"""Longest text of an event that goes this way: what is longer is measured first, so that it fits into a frame."""


class Nearby:
    """Matches events of this peer's doors here. ``send(subscriber, message)`` is how other peers hear of them."""

    def __init__(
        self,
        interests: Interests,
        own: Channel,
        publisher: Publisher,
        rendezvous: Rendezvous,
        subscriber: Subscriber,
        handover: Handover,
        send: Callable[[Receiver, Message], None],
    ) -> None:
        self._interests = interests
        self._own = own
        self._publisher = publisher
        self._rendezvous = rendezvous
        self._subscriber = subscriber
        self._handover = handover
        self._send = send

    def flash(self, events: Sequence[tuple[Tuple, str | None]], via: Sequence[int] | None = None) -> bool:
        """Pass events on, in order; False, and nothing done, when they have to go the long way."""
        if (
            self._handover.settling
            or self._publisher.sending
            or self._own.queued
            or not self._rendezvous.quiet
            or not events
            or any(text is None or len(text) > MAX_TEXT for _, text in events)
        ):
            return False
        places: Sequence[Sequence[int] | None]
        if self._interests.alone:
            places = [via] * len(events)
        else:
            places, here = self._interests.places([items for items, _ in events], via)
            if not here:
                return False
        own, publisher, reached_by = self._own, self._publisher.own_id, self._rendezvous.reached
        happened, send = self._subscriber.happened, self._send
        numbered = self._publisher.numbered(events)
        after = self._publisher.passed_here(numbered[-1].number)
        passes = self._subscriber.inorder.passes(own, publisher, numbered[-1].number, after)
        # What was sent to other rendezvous before these may come back to this peer: its own subscribers hear of that first.
        held = None if passes else Happened(publisher, [], [], after)
        for event, positions in zip(numbered, places, strict=True):
            for receiver, feeds in reached_by(event, positions).items():
                if receiver is own:
                    if held is not None:
                        held.events.append(event)
                        held.feeds.append(feeds)
                        continue
                    try:
                        happened(own, publisher, event, feeds)
                    except Exception:
                        # As in Peer._message: a defect of ours in one listener must not keep the others waiting, nor the publisher.
                        log.exception("an event was not carried out")
                else:
                    send(receiver, Happened(publisher, [event], [feeds], after))
        if held is not None:
            self._subscriber.inorder.hold(own, held)
        self._rendezvous.passing.passed(publisher, numbered[-1].number)
        # Whoever waits for these numbers is told now.
        if not self._rendezvous.quiet:
            for receiver, message in self._rendezvous.take():
                send(receiver, message)
        self._publisher.published += len(events)
        return True
