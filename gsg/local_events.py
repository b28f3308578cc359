"""Events whose rendezvous is this very peer: matched and passed on at once, without a message to ourselves and without encoding.

It is the way of :class:`gsg.wire.messages.Flash` and :class:`gsg.wire.messages.Happened` made short, and taken only where it is
the same: this peer holds all keys that matter to the event, no key is changing hands, and nothing that came before is still on its
way. Whatever else is the case, the caller goes the long way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from .background import SLICE_S
from .placement.responsibility import Responsibility
from .publisher.publisher import Publisher
from .publisher.quenching import Interests
from .rendezvous.feed import Subscriber as Receiver
from .rendezvous.matching import EventBatch
from .rendezvous.rendezvous import Rendezvous
from .subscriptions.subscriber import Subscriber
from .tuples.terms import Tuple
from .wire.exchange import PeerLink
from .wire.messages import Happened, Message

log = logging.getLogger(__name__)

MAX_TEXT = 64 * 1024
"""Longest text of an event that goes this way: what is longer is measured first, so that it fits into a frame."""


class LocalEvents:
    """Matches events of this peer's doors here. ``send(subscriber, message)`` is how other peers hear of them."""

    def __init__(
        self,
        interests: Interests,
        own: PeerLink,
        publisher: Publisher,
        rendezvous: Rendezvous,
        subscriber: Subscriber,
        responsibility: Responsibility,
        send: Callable[[Receiver, Message], None],
    ) -> None:
        self._interests = interests
        self._own = own
        self._publisher = publisher
        self._rendezvous = rendezvous
        self._subscriber = subscriber
        self._responsibility = responsibility
        self._send = send

    def flash(self, events: Sequence[tuple[Tuple, str | None]], via: Sequence[int] | None = None) -> EventBatch | None:
        """Pass events on, in order, as far as one slice goes; None, and nothing done, when they have to go the long way."""
        if not events or self._responsibility.settling or self._publisher.sending or self._own.queued or not self._rendezvous.quiet:
            return None
        if self._rendezvous.fan_outs.fanned or self._publisher.spans.are_made:
            return None
        for _, text in events:
            if text is None or len(text) > MAX_TEXT:
                return None
        places: Sequence[Sequence[int] | None]
        if self._interests.alone:
            places = [via] * len(events)
        else:
            places, here = self._interests.places([items for items, _ in events], via)
            if not here:
                return None
        publisher = self._publisher
        numbered = publisher.record.number_events(events)
        batch = EventBatch(
            self._rendezvous, publisher.record.own_id, numbered, places, publisher.note_passed_here(numbered[-1].number)
        )
        self.pass_on(batch)
        return batch

    def pass_on(self, batch: EventBatch) -> None:
        """Match what one slice has time for, and tell whom it concerns; to be called until the batch is done."""
        own, feeds_here = self._own, self._subscriber.feeds
        publisher, after, last = batch.publisher, batch.after, batch.events[-1].number
        # What was sent to other rendezvous before these may come back to this peer: its own subscribers hear of that first.
        passes = feeds_here.order.passes(own, publisher, last, after)
        held = None if passes else Happened(publisher, [], [], after)
        for event, reached in batch.match_slice(SLICE_S):
            for receiver, feeds in reached.items():
                if receiver is own:
                    if held is not None:
                        held.events.append(event)
                        held.feeds.append(feeds)
                        continue
                    try:
                        feeds_here.events.tell(own, publisher, event, feeds)
                    except Exception:
                        # A defect of ours in one listener must not keep the others waiting, nor the publisher.
                        log.exception("an event was not carried out")
                else:
                    self._send(receiver, Happened(publisher, [event], [feeds], after))
        if held is not None:
            feeds_here.order.hold_events(own, held)
        if batch.done:
            rendezvous = self._rendezvous
            rendezvous.progress.advance(publisher, last)
            self._publisher.published += len(batch.events)
            # Whoever waits for these numbers is told now.
            if not rendezvous.quiet:
                for receiver, message in rendezvous.take_messages():
                    self._send(receiver, message)
