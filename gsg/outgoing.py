"""What leaves a rendezvous: snapshots (:mod:`gsg.snapshots`), events, deltas, and answers after what they answer for.

A link that takes no more is *held*: its feeds keep their deltas, and its events are kept here, both within bounds. Beyond, deltas
become a gap, after which the subscriber asks for a snapshot when it has read up to there: from then on it is the subscriber that
sets the pace. Events beyond are counted, and the count is told in their place. Nobody else waits for a link that is held.

    taking ──congested──> held ──drained──> what was kept, then Missed and Gap ──> taking
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable

from .errors import GsgError, PeerUnreachable, Refused
from .exchange import Channel
from .kept import Kept
from .messages import Count, Done, Failed, Happened, Message
from .posting import AnyFeed, Feed, Subscriber
from .rendezvous import Rendezvous
from .replication import Held
from .snapshots import Snapshots
from .standbys import StartTask

log = logging.getLogger(__name__)


class Outgoing:
    """Sends what the messages of one read have caused; ``start_task`` runs a coroutine while the peer lives."""

    def __init__(self, rendezvous: Rendezvous, start_task: StartTask) -> None:
        self._rendezvous = rendezvous
        self._start_task = start_task
        self._held: dict[Channel, Kept] = {}
        """Links that take no more now, and their events. Bounded by the links, and each as Kept says."""
        self._times_held = 0
        self._missed = 0
        self._done: list[tuple[Channel, Done]] = []
        """Answers to publishers, due at the end of the read under way."""
        self._snapshots = Snapshots(rendezvous, start_task, self.flush)
        self._resuming: dict[Feed, Channel] = {}
        """Feeds whose subscribers ask for a snapshot, due then too."""

    def answer(self, channel: Channel, done: Done) -> None:
        """Answer a publisher after its tuples have been forwarded."""
        self._done.append((channel, done))

    def answer_when_held(self, channel: Channel, request: int, held: Held) -> None:
        """Answer a publisher once all holders have its tuples."""
        if held.everywhere is None:
            self.answer(channel, _done(request, held))
        else:
            self._start_task(self._answer_later(channel, request, held, held.everywhere))

    async def _answer_later(self, channel: Channel, request: int, held: Held, everywhere: Callable[[], Awaitable[None]]) -> None:
        answer: Done | Failed
        try:
            await everywhere()
            answer = _done(request, held)
        except GsgError as error:
            answer = Failed(request, str(error))
        channel.send(answer)

    def resume(self, channel: Channel, feed: Feed) -> None:
        """A subscriber asks for a fresh snapshot: once at the end of the read, however often it asks."""
        self._resuming[feed] = channel

    def snapshot(self, channel: Channel, feed: AnyFeed) -> None:
        """Send what is stored for a feed, then let it speak."""
        if isinstance(feed, Feed):  # nothing is stored for the others, and nothing kept
            self._snapshots.begin(channel, feed)

    def flush(self) -> None:
        """Send what the messages of one read have caused; publishers are answered after their tuples have been forwarded."""
        resuming, self._resuming = self._resuming, {}
        for feed, channel in resuming.items():
            with contextlib.suppress(PeerUnreachable):  # the feed ends with its link
                self.snapshot(channel, feed)
        done, self._done = self._done, []
        for subscriber, message in [*self._rendezvous.take(), *done]:
            self.send(subscriber, message)

    def send(self, subscriber: Subscriber, message: Message) -> None:
        """One message to whom it concerns; who takes no more for now is held."""
        assert isinstance(subscriber, Channel)
        if self._held and isinstance(message, Happened) and (kept := self._held.get(subscriber)) is not None:
            kept.add(message)
            return
        self._put(subscriber, message)
        if subscriber.congested and subscriber not in self._held:
            self._held[subscriber] = Kept()
            self._times_held += 1
            self._rendezvous.hold(subscriber)
            self._start_task(self._release(subscriber))

    @staticmethod
    def _put(subscriber: Channel, message: Message) -> None:
        try:
            subscriber.send(message)
        except PeerUnreachable:
            return  # its feeds end when the loss of the link is told
        except Refused as error:
            log.error("%s", error)
            subscriber.abort(str(error))

    async def _release(self, subscriber: Channel) -> None:
        kept = self._held[subscriber]
        try:
            while True:
                await subscriber.drained()
                while not subscriber.congested and (message := kept.next()) is not None:
                    self._put(subscriber, message)
                if not subscriber.congested:
                    break
        except PeerUnreachable:
            self._rendezvous.drop(subscriber)  # it may have been held after the loss of the link was told
            raise
        finally:
            self._missed += kept.missed
            del self._held[subscriber]
        self._rendezvous.unhold(subscriber)
        self.flush()

    def counts(self) -> list[Count]:
        """What limits have cost, for ``gsg status``."""
        missed = self._missed + sum(kept.missed for kept in self._held.values())
        return [
            Count("links_held", self._times_held),
            Count("events_missed_by_slow_links", missed),
            Count("gaps_of_slow_links", self._rendezvous.gaps),
            Count("retractions_forgotten", self._rendezvous.held.forgotten),
        ]


def _done(request: int, held: Held) -> Done:
    return Done(request, held.changed, held.latest, held.behind, held.unchanged)
