"""What leaves a rendezvous: snapshots (snapshot_queue.py), events, deltas, and answers after what they answer for.

A link that takes no more is *held*: its feeds keep their deltas, and its events are kept here, both within bounds. Beyond, deltas
become a gap, after which the subscriber asks for a snapshot when it has read up to there: from then on it is the subscriber that
sets the pace. Events beyond are counted, and the count is told in their place. Nobody else waits for a link that is held.

    taking ──congested──> held ──drained──> what was kept, then Missed and Gap ──> taking
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from ..background import StartTask, Worker
from ..errors import GsgError, PeerUnreachable, Refused
from ..wire.exchange import PeerLink, show
from ..wire.messages import Done, Failed, Happened, Message
from ..wire.status_messages import Count
from ..wire.waiting import ALL_BYTES, Room
from .broken_links import AGAIN, BACK_S, FEEDS, BrokenLink, BrokenLinks
from .changes import Held
from .feed import AnyFeed, Feed, Subscriber
from .rendezvous import Rendezvous
from .slow_links import HeldEvents
from .snapshot_queue import SnapshotQueue

log = logging.getLogger(__name__)


class Delivery:
    """Sends what the messages of one read have caused; ``start_task`` runs a coroutine while the peer lives."""

    def __init__(self, rendezvous: Rendezvous, start_task: StartTask) -> None:
        self._rendezvous = rendezvous
        self._conditions = rendezvous.conditions
        self._start_task = start_task
        self._held: dict[PeerLink, HeldEvents] = {}
        """Links that take no more now, and their events. Bounded by the links, and each as HeldEvents says."""
        self._room = Room(ALL_BYTES)
        """Of the events of all of them."""
        self._times_held = 0
        self._missed = 0
        self._done: list[tuple[PeerLink, Done]] = []
        """Answers to publishers, due at the end of the read under way."""
        self._snapshots = SnapshotQueue(rendezvous, start_task, self.flush)
        self._broken_links = BrokenLinks()
        self._expiring = Worker(start_task, self._expire)
        """Ends broken links whose subscribers do not come back."""
        self._resuming: dict[Feed, PeerLink] = {}
        """Feeds whose subscribers ask for a snapshot, due then too."""

    def answer(self, link: PeerLink, done: Done) -> None:
        """Answer a publisher after its tuples have been forwarded."""
        self._done.append((link, done))

    def answer_when_held(self, link: PeerLink, request: int, held: Held) -> None:
        """Answer a publisher once all holders have its tuples."""
        if held.everywhere is None:
            self.answer(link, _done(request, held))
        else:
            self._start_task(self._answer_later(link, request, held, held.everywhere))

    async def _answer_later(self, link: PeerLink, request: int, held: Held, everywhere: Callable[[], Awaitable[None]]) -> None:
        answer: Done | Failed
        try:
            await everywhere()
            answer = _done(request, held)
        except GsgError as error:
            answer = Failed(request, str(error))
        link.send(answer)

    def refuse(self, link: PeerLink, request: int, why: str) -> None:
        """Answer that something is not done. Raises PeerUnreachable."""
        link.send(Failed(request, why))

    def resync_feed(self, link: PeerLink, feed: Feed) -> None:
        """A subscriber asks for a fresh snapshot: once at the end of the read, however often it asks."""
        self._resuming[feed] = link

    def send_snapshot(self, link: PeerLink, feed: AnyFeed) -> None:
        """Send what is stored for a feed, then let it speak."""
        if isinstance(feed, Feed):  # nothing is stored for the others, and nothing kept
            self._snapshots.send_snapshot(link, feed)

    def flush(self) -> None:
        """Send what the messages of one read have caused; publishers are answered after their tuples have been forwarded."""
        resuming, self._resuming = self._resuming, {}
        for feed, link in resuming.items():
            with contextlib.suppress(PeerUnreachable):  # the feed ends with its link
                self.send_snapshot(link, feed)
        done, self._done = self._done, []
        for subscriber, message in [*self._rendezvous.take_messages(), *done]:
            self.send(subscriber, message)

    def send(self, subscriber: Subscriber, message: Message) -> None:
        """One message to whom it concerns; who takes no more for now is held."""
        if isinstance(subscriber, BrokenLink):
            subscriber.add(message, _now())
            return
        assert isinstance(subscriber, PeerLink)
        if self._held and isinstance(message, Happened) and (kept := self._held.get(subscriber)) is not None:
            kept.add(message)
            return
        self._put(subscriber, message)
        if subscriber.congested and subscriber not in self._held:
            kept = self._held[subscriber] = HeldEvents(self._room)
            self._times_held += 1
            self._rendezvous.hold_subscriber(subscriber)
            self._start_task(self._release(subscriber, kept))

    def _put(self, subscriber: PeerLink, message: Message) -> None:
        try:
            subscriber.send(message)
        except PeerUnreachable:
            pass  # its feeds end when the loss of the link is told
        except Refused as error:
            log.error("%s", error)
            subscriber.abort(str(error))
            return
        if subscriber.is_remote and isinstance(message, Happened):
            # Also where the link is gone already: the next one tells of it.
            self._broken_links.add_sent(subscriber, message, subscriber.sent_bytes, _now)

    async def _release(self, subscriber: PeerLink, kept: HeldEvents) -> None:
        try:
            while True:
                await subscriber.drained()
                while not subscriber.congested and (message := kept.take_next()) is not None:
                    self._put(subscriber, message)
                if not subscriber.congested:
                    break
        except PeerUnreachable:
            self.end_link(subscriber)  # it may have been held after the loss of the link was told
            raise
        finally:
            self._missed += kept.missed
            if self._held.get(subscriber) is kept:
                del self._held[subscriber]
        self._rendezvous.unhold_subscriber(subscriber)
        self.flush()

    # --- links that break -------------------------------------------------------------------------------------------------

    def acknowledge(self, link: PeerLink, messages: int) -> None:
        """So many messages of events have arrived by a link."""
        self._broken_links.acknowledge(link, messages)

    def end_link(self, link: PeerLink) -> None:
        """A link is gone: its feeds end, and for a while events that they match are kept for its peer, which may be back."""
        # What was on the way to them is theirs: nothing is sent to a link of which nothing is remembered any more.
        self.flush()
        broken = self._broken_links.end_link(link, self._held.pop(link, None), _now())
        if not 0 < (feeds := self._most_feeds(link)) <= FEEDS:
            # Of feeds that have ended nobody misses anything.
            if feeds:
                self._broken_links.untold += (lost := broken.untold())
                log.warning(
                    "the link to %s broke, which had %d feeds: events are kept for at most %d, so %d that were on their way "
                    "are lost, and those that happen until it is back",
                    *(show(link.contact), feeds, FEEDS, lost),
                )
            self._rendezvous.drop_subscriber(link)
            return
        self._rendezvous.break_link(link, broken)
        for one in self._broken_links.keep_events(link, broken):
            log.info("of links that broke too many wait: events for %s are kept no longer", show(one.contact))
            self._rendezvous.drop_subscriber(one)
        self._expiring.wake()

    async def _expire(self) -> None:
        """End those that have waited for BACK_S, while there are any."""
        while (oldest := self._broken_links.oldest()) is not None:
            if (left_s := oldest.since_s + BACK_S - _now()) > 0:
                await asyncio.sleep(left_s)
            else:
                self._end(oldest)

    def _end(self, broken: BrokenLink) -> None:
        self._broken_links.end(broken)
        self._rendezvous.drop_subscriber(broken)

    @staticmethod
    def check_replaced(feeds: Sequence[int]) -> None:
        """Raises Refused where more feeds are named in whose place a new one is than a subscriber may name."""
        if len(feeds) > AGAIN:
            raise Refused(f"{len(feeds)} feeds are named that broke; expected at most {AGAIN}, those that broke last")

    def replay_events(self, link: PeerLink, feeds: Sequence[int], instead: int) -> None:
        """A subscriber is back with a feed in the place of others: it is told what those had not brought."""
        # What came in the same read is on the way to them still.
        self.flush()
        for other in self._broken_links.other_links(link):
            if any(self._are_alike(other, feed, link, instead) for feed in feeds):
                # The other side knows that it broke, and this one does not yet.
                self.end_link(other)
                other.abort("its feeds come by another one now")
        for broken in self._broken_links.of_peer(link.contact.id):
            for feed in feeds:
                if self._are_alike(broken, feed, link, instead):
                    for message in broken.take_messages(feed, instead, _now()):
                        self.send(link, message)
                    self._conditions.remove_condition(broken, feed)
            if not self._most_feeds(broken):
                self._end(broken)

    def replay_passed_on(self, link: PeerLink, feed: AnyFeed, came_to: int) -> None:
        """A subscriber whose head has passed on no more is told the events since the last position that came."""
        fan_out = self._rendezvous.fan_outs.fanned.get(feed.posting)
        if fan_out is not None:
            self.flush()
            for message in fan_out.kept.since(came_to, feed.number, self._rendezvous.clock()):
                self.send(link, message)
                if isinstance(message, Happened):
                    self._rendezvous.fan_outs.note_sent(message.publisher, message.events[-1].number, by_heads=False, directly=True)

    def _most_feeds(self, subscriber: Subscriber) -> int:
        """How many feeds it has, or how many stand by for it, whichever is more."""
        return max(self._conditions.feeds(subscriber), self._conditions.feeds(subscriber, standby=True))

    def _are_alike(self, one: Subscriber, feed: int, other: Subscriber, instead: int) -> bool:
        """Whether two feeds are there and match the same: a peer in a new life begins to number its feeds anew."""
        before, now = self._conditions.any_feed(one, feed), self._conditions.any_feed(other, instead)
        if before is None or now is None:
            return False
        return before.posting.template == now.posting.template and before.posting.test == now.posting.test

    def counts(self) -> list[Count]:
        """What limits have cost, for ``gsg status``."""
        missed = self._missed + sum(kept.missed for kept in self._held.values())
        return [
            Count("links_held", self._times_held),
            Count("events_missed_by_slow_links", missed),
            Count("events_missed_by_broken_links", self._broken_links.untold),
            Count("gaps_of_slow_links", self._rendezvous.gaps),
            Count("templates_fanned_out", self._rendezvous.fan_outs.cut),
            Count("heads_dismissed", self._rendezvous.fan_outs.dismissed),
            Count("retractions_forgotten", self._rendezvous.held.buried.forgotten),
        ]


def _now() -> float:
    return asyncio.get_running_loop().time()


def _done(request: int, held: Held) -> Done:
    return Done(request, held.changed, held.latest, held.behind, held.unchanged)
