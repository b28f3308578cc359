"""What this peer passes on to others as a head: a feed of its own goes on to the other subscribers of the same condition.

    fed ──Lead──> led: who comes posts here, and gets the facts that came by the feed, then what comes ──Lead ended──> fed
                   └──the feed ends, or its link breaks──> all that are fed here lose theirs, and post again at the rendezvous

The rendezvous says whom it has sent here, and when it is over (gsg/rendezvous/fan_out/parts.py). What comes by the feed goes on as
it arrives, before it is put in order here: whoever gets it puts it in order for itself. A condition that is passed on is a posting
under no key, and its feeds are those of a rendezvous, with their limits: a slow reader is held, and told of a gap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable
from math import inf

from ...background import StartTask, Worker
from ...errors import PeerUnreachable, Refused
from ...placement.rules import NOWHERE
from ...rendezvous.broken_links import BACK_S
from ...rendezvous.delivery import Delivery
from ...rendezvous.feed import AnyFeed, Feed
from ...rendezvous.progress import Progress
from ...rendezvous.rendezvous import Rendezvous
from ...wire.exchange import ANSWER_TIMEOUT_S, PeerLink, show
from ...wire.messages import AskPassed, Deltas, Done, Happened, InsertCondition, Lead, Missed, Passed, Snapshot
from ...wire.waiting import ALL_BYTES, Room
from ..alpha_memory import Source
from ..feed import FeedState
from ..ordered_delivery import OrderedDelivery
from ..resync import Resync
from .led_feed import LedFeed
from .part_feeds import PartSource

MAX_PART = 1_000
"""Feeds that one feed is passed on to; one more is refused, and its rendezvous finds another head, or feeds it itself."""
MAX_LED = 1_000
"""Feeds that a peer passes on; one more is not, and whoever is sent here for it is refused."""
HEARD_OUT_EACH = 16
"""Questions of one subscriber that wait until a rendezvous is heard out; one more is not answered, and whoever asked gives up
by itself."""
ASKED, ASKED_EACH = 1_000, 100
"""Publishers that a rendezvous is asked about at a time for all whom this peer feeds in its place, and for one of them. Of one more
whoever asks hears when something of that publisher comes by, and goes on by itself if nothing does (ORDER_WAIT_S)."""


class _LedLink:
    """What is passed on of one rendezvous's link, and how far each publisher has come by it."""

    def __init__(self) -> None:
        self.feeds: dict[int, LedFeed] = {}
        """By the number of the feed that is passed on. Limit: MAX_LED of all links together."""
        self.progress = Progress()
        self.asked: dict[bytes, tuple[int, PeerLink]] = {}
        """By publisher, up to which number the rendezvous is asked about, and on whose behalf. Limits: ASKED, ASKED_EACH."""
        self.hearing_out: Counter[PeerLink] = Counter()
        """Questions of each subscriber that wait until the rendezvous is heard out. Limit: HEARD_OUT_EACH."""

    def feeds_to(self, subscriber: PeerLink) -> bool:
        """Whether somebody gets any of them."""
        return any(subscriber in led.posting.feed_numbers() for led in self.feeds.values())


class Heads:
    """The feeds that one peer passes on. ``source_of(link, number)`` is the feed of that number that comes by a link."""

    def __init__(
        self,
        source_of: Callable[[PeerLink, int], Source | None],
        order: OrderedDelivery,
        resync: Resync,
        rendezvous: Rendezvous,
        delivery: Delivery,
        start_task: StartTask,
    ) -> None:
        self._source_of = source_of
        self._order = order
        self._resync = resync
        self._rendezvous = rendezvous
        self._delivery = delivery
        self._start_task = start_task
        self._links: dict[PeerLink, _LedLink] = {}
        """Bounded by the feeds that are passed on."""
        self._waiting: dict[PeerLink, dict[int, tuple[InsertCondition, LedFeed]]] = {}
        """Who is about to be fed, by the number of the feed. Limits: MAX_PART, and the quota of each peer."""
        self._room = Room(ALL_BYTES)
        """Of the events that are kept for all of them."""
        self._forgetting = Worker(start_task, self._forget_old)
        """Forgets the events that nobody will ask for any more, while some are kept."""

    # --- beginning and ending -------------------------------------------------------------------------------------------------

    def lead(self, link: PeerLink, message: Lead) -> None:
        """A rendezvous says that one of its feeds is to be passed on, or not any more."""
        if not message.leads:
            self.end_feed(link, message.feed)
            return
        source = self._source_of(link, message.feed)
        if source is None or not _may_be_led(source) or self._led(link, message.feed) is not None:
            return
        if sum(len(of_link.feeds) for of_link in self._links.values()) >= MAX_LED:
            return  # whoever is sent here is refused, and says so to the rendezvous
        led = LedFeed(source, message.position, self._room)
        if not source.memory.events_only:
            if source.feed.state is FeedState.LIVE:
                led.begin_whole(self._order.arrived_facts(link, source), source.feed.expected)
            else:
                self._resync.ask_snapshot(source)
        self._links.setdefault(link, _LedLink()).feeds[message.feed] = led

    def end_feed(self, link: PeerLink, number: int) -> None:
        """A feed has ended, or is not to be passed on any more: so do those that were fed by it."""
        of_link = self._links.get(link)
        led = None if of_link is None else of_link.feeds.pop(number, None)
        if of_link is None or led is None:
            return
        if not of_link.feeds:
            del self._links[link]
        led.kept.clear()
        for feed in list(led.posting.feeds):
            self._rendezvous.conditions.remove_condition(feed.subscriber, feed.number)

    def pass_on_to(self, link: PeerLink, asked: InsertCondition) -> None:
        """A subscriber that a rendezvous has sent here is to be fed. Raises Refused where its condition is not passed on."""
        found = next(
            (
                (of, led)
                for of, of_link in self._links.items()
                if of.contact.id == asked.of
                for led in of_link.feeds.values()
                if led.posting.template == asked.template and led.posting.test == asked.test
                if asked.events_only or led.is_whole
            ),
            None,
        )
        if found is None or len(found[1].posting.feeds) + found[1].waiting >= MAX_PART:
            raise Refused(f"this condition is not passed on here; expected it at {show(link.contact)} to be asked for again")
        waiting = self._waiting.setdefault(link, {})
        if asked.feed in waiting:
            raise Refused(f"feed {asked.feed} is asked for already; expected a new number")
        of, led = found
        led.waiting += 1
        waiting[asked.feed] = asked, led
        self._start_task(self._pass_on_to(link, asked, of, led))

    def waiting(self, link: PeerLink) -> int:
        """How many feeds of a subscriber are about to be passed on."""
        return len(self._waiting.get(link, ()))

    def remove_condition(self, link: PeerLink, number: int) -> None:
        """A subscriber that is about to be fed does not want it any more."""
        waiting = self._waiting.get(link, {})
        if number in waiting:
            _, led = waiting.pop(number)
            led.waiting -= 1
            if not waiting:
                del self._waiting[link]

    def drop_subscriber(self, link: PeerLink) -> None:
        """The link of a subscriber is gone, and with it whatever it waits for."""
        for number in list(self._waiting.get(link, ())):
            self.remove_condition(link, number)
        for of_link in self._links.values():
            of_link.progress.drop_subscriber(link)
            of_link.asked = {publisher: asked for publisher, asked in of_link.asked.items() if asked[1] is not link}

    async def _pass_on_to(self, link: PeerLink, asked: InsertCondition, of: PeerLink, led: LedFeed) -> None:
        if not asked.events_only:
            # Whoever asks may know by another way what has not come here yet.
            await self._until_heard_out(of)
        if self._waiting.get(link, {}).get(asked.feed, (None,))[0] is not asked:
            return  # it does not want it any more
        self.remove_condition(link, asked.feed)
        with contextlib.suppress(PeerUnreachable):  # its feeds end with its link
            try:
                if self._led(of, led.source.number) is not led or not (led.is_whole or asked.events_only):
                    raise Refused("this condition is passed on no more")
                feed = self._rendezvous.conditions.pass_on(link, asked, led.posting)
            except Refused as error:
                self._delivery.refuse(link, asked.request, str(error))
                return
            link.send(Done(asked.request))
            self._tell_since(link, asked, led, feed)

    def _tell_since(self, link: PeerLink, asked: InsertCondition, led: LedFeed, feed: AnyFeed) -> None:
        """Tell a new feed the facts as they were when the rendezvous sent it here, and then all since, in order."""
        changes = [] if asked.events_only else led.changes_since(asked.sequence)
        led.snapshot_facts = led.facts_before(changes or [])
        self._delivery.send_snapshot(link, feed)
        led.snapshot_facts = led.facts
        if type(feed) is Feed and feed.gap:
            changes = None  # its turn comes later: the facts are told as they are then
        rest = deque(changes or ())

        def tell_changes(position: float) -> None:
            while rest and rest[0][0] <= position:
                _, deltas = rest.popleft()
                self._rendezvous.pass_on_changes([feed], list(zip(deltas.facts, deltas.signs, strict=True)), deltas.origin)

        for message in led.kept.since(asked.came_to, asked.feed, self._rendezvous.clock()):
            if isinstance(message, Happened):
                tell_changes(message.position)
            self._rendezvous.add_events([(link, message)])
        tell_changes(inf)
        self._delivery.flush()

    def _led(self, link: PeerLink, number: int) -> LedFeed | None:
        of_link = self._links.get(link)
        return None if of_link is None else of_link.feeds.get(number)

    # --- what comes by the feeds ----------------------------------------------------------------------------------------------

    def receive(self, link: PeerLink, message: object) -> None:
        """A rendezvous has sent something itself, which was checked, and may be passed on."""
        of_link = self._links.get(link)
        if of_link is None:
            return
        match message:
            case Happened():
                self._pass_on_events(link, of_link, message)
            case Deltas() if (led := of_link.feeds.get(message.feed)) is not None:
                changed = led.take_deltas(message)
                if changed is not None:
                    self._rendezvous.pass_on_changes(led.posting.feeds, changed, message.origin)
                if message.origin is not None and not message.more:
                    of_link.progress.advance(message.origin.publisher, message.origin.number)
            case Snapshot() if (led := of_link.feeds.get(message.feed)) is not None:
                changed = led.take_part(message)
                if changed is not None:
                    self._rendezvous.pass_on_changes(led.posting.feeds, changed, None)
            case Missed() if (led := of_link.feeds.get(message.feed)) is not None and message.events > 0:
                self._rendezvous.add_events([(feed.subscriber, Missed(feed.number, message.events)) for feed in led.posting.feeds])
            case Passed() if message.of == link.contact.id:
                self._note_passed(link, of_link, message)
        self._answer(link, of_link)

    def _pass_on_events(self, link: PeerLink, of_link: _LedLink, message: Happened) -> None:
        publisher, events = message.publisher, message.events
        if not events:
            return
        if not message.for_readers:
            for number, led in of_link.feeds.items():
                some = [event for event, feeds in zip(events, message.feeds, strict=True) if number in feeds]
                if some:
                    passed_on = Happened(publisher, some, [], message.after, message.position)
                    led.position = message.position + 1
                    led.kept.keep(message.position, passed_on, self._rendezvous.clock())
                    self._forgetting.wake()
                    after, position, trace = message.after, message.position, message.trace
                    self._rendezvous.add_events(
                        (subscriber, Happened(publisher, some, [numbers] * len(some), after, position, trace=trace))
                        for subscriber, numbers in led.posting.feed_numbers().items()
                    )
        # What was passed on to the rendezvous has overtaken what its publisher sends there.
        if not any(named == link.contact.id for named, _, _ in message.after):
            of_link.progress.advance(publisher, events[-1].number)

    async def _forget_old(self) -> None:
        """Forget, every BACK_S, the events that are older."""
        while kept := [led.kept for of_link in self._links.values() for led in of_link.feeds.values() if led.kept]:
            await asyncio.sleep(BACK_S)
            for events in kept:
                events.forget_old(self._rendezvous.clock())

    # --- how far publishers have come -------------------------------------------------------------------------------------------

    def ask_passed(self, link: PeerLink, asked: AskPassed) -> None:
        """A subscriber asks whether everything of a publisher has been passed on that its rendezvous has sent up to a number."""
        for of, of_link in self._links.items():
            if of.contact.id == asked.of and of_link.feeds_to(link):
                if asked.number:
                    of_link.progress.ask(link, asked.publisher, asked.number)
                    self._ask_rendezvous(of, of_link, asked.publisher, link)
                    self._answer(of, of_link)
                elif of_link.hearing_out[link] < HEARD_OUT_EACH:
                    of_link.hearing_out[link] += 1
                    self._start_task(self._hear_out(link, of, of_link, asked))
                return
        # Of what is passed on here no more, whoever asks has lost this feed, or is about to: it goes on with the next one.

    def _ask_rendezvous(self, of: PeerLink, of_link: _LedLink, publisher: bytes, by: PeerLink) -> None:
        """Ask for the first number that anybody waits for, unless that is asked already."""
        wanted = of_link.progress.first_wanted(publisher)
        number, _ = of_link.asked.get(publisher, (inf, by))
        if wanted is None or number <= wanted:
            return
        if publisher not in of_link.asked:
            of_each = Counter(one for _, one in of_link.asked.values())
            if len(of_link.asked) >= ASKED or of_each[by] >= ASKED_EACH:
                return
        of_link.asked[publisher] = wanted, by
        with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
            of.send(AskPassed(publisher, wanted, of.contact.id))

    def _note_passed(self, of: PeerLink, of_link: _LedLink, passed: Passed) -> None:
        asked, by = of_link.asked.pop(passed.publisher, (0, None))
        if by is not None:
            # It says less than it was asked for only where it will not say more.
            of_link.progress.advance(passed.publisher, max(passed.number, asked))
            self._ask_rendezvous(of, of_link, passed.publisher, by)

    async def _hear_out(self, link: PeerLink, of: PeerLink, of_link: _LedLink, asked: AskPassed) -> None:
        try:
            await self._until_heard_out(of)
        finally:
            of_link.hearing_out[link] -= 1
            if not of_link.hearing_out[link]:
                del of_link.hearing_out[link]
        if of_link.feeds_to(link):
            of_link.progress.ask(link, asked.publisher, 0)
            self._answer(of, of_link)
            self._delivery.flush()

    async def _until_heard_out(self, of: PeerLink) -> None:
        """Wait until all has come that a rendezvous has sent by now, ANSWER_TIMEOUT_S at most: whoever waits has the same limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._order.hear_out(of)

    def _answer(self, of: PeerLink, of_link: _LedLink) -> None:
        for subscriber, passed in of_link.progress.take_answers():
            self._rendezvous.progress.answer(subscriber, Passed(passed.publisher, passed.number, of.contact.id))

    # --- figures ----------------------------------------------------------------------------------------------------------------

    def feeds(self) -> int:
        """How many feeds of others come from here."""
        return sum(len(led.posting.feeds) for of_link in self._links.values() for led in of_link.feeds.values())


def _may_be_led(source: Source) -> bool:
    """Whether a feed is of one rendezvous, which feeds it itself: no other is ever cut into parts."""
    return not isinstance(source, PartSource) and source.memory.anchor != NOWHERE
