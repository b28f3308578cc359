"""What this peer passes on to others as a head: a feed of its own goes on to the other subscribers of the same condition.

    fed ──Lead──> leading: who comes posts here, and gets the facts that came by the feed, then what comes ──Lead ended──> fed
                     └──the feed ends, or its link breaks──> all that are fed here lose theirs, and post again at the rendezvous

The rendezvous says whom it has sent here, and when it is over (gsg/rendezvous/fan_out/parts.py). What comes by the feed goes on as
it arrives, before it is put in order here: whoever gets it puts it in order for itself. A condition that is passed on is a posting
under no key, and its feeds are those of a rendezvous, with their limits: a slow reader is held, and told of a gap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from math import inf

from ...background import StartTask
from ...errors import PeerUnreachable, Refused
from ...rendezvous.delivery import Delivery
from ...rendezvous.fan_out.kept_events import KeptEvents
from ...rendezvous.feed import AnyFeed, Feed, Posting
from ...rendezvous.progress import Progress
from ...rendezvous.rendezvous import Rendezvous
from ...tuples.terms import Tuple
from ...wire.exchange import ANSWER_TIMEOUT_S, PeerLink, show
from ...wire.messages import AskPassed, Deltas, Done, Happened, InsertCondition, Lead, Missed, Passed, Snapshot
from ...wire.waiting import ALL_BYTES, Room
from ..alpha_memory import Source
from ..feed import FeedState
from ..ordered_delivery import NOBODY_BYTES, OrderedDelivery
from ..resync import Resync

MAX_PART = 1_000
"""Feeds that one feed is passed on to; one more is refused, and its rendezvous finds another head, or feeds it itself."""
RECENT = 1_000
RECENT_FACTS = 10_000
"""Messages with changes of facts that are remembered of a feed, and their facts, for whoever is sent here before them. Beyond, the
oldest go, and who would need them gets the facts as they are by now, and then the events since."""
HEARD_OUT_EACH = 16
"""Questions of one subscriber that wait until a rendezvous is heard out; one more is not answered, and whoever asked gives up
by itself."""
MAX_LED = 1_000
"""Feeds that a peer passes on; one more is not, and whoever is sent here for it is refused."""


class _Led:
    """A feed that is passed on."""

    def __init__(self, source: Source, position: int, room: Room) -> None:
        self.source = source
        self.posting = Posting(source.memory.template, source.memory.test, None)
        self.posting.facts = lambda: self.shown
        self.shown: dict[Tuple, int] = {}
        """What the next snapshot says: the facts, mostly."""
        self.facts: dict[Tuple, int] = {}
        """What came by the feed, in order of arrival, when it was last whole."""
        self.is_whole = False
        """Whether nothing is missing of it."""
        self.expected = 0
        """The sequence number of the next changes."""
        self.parts: dict[Tuple, int] = {}
        """Of a snapshot that is not whole."""
        self.waiting = 0
        """How many subscribers are about to be fed. Limit: MAX_PART, those that are fed included."""
        self.position = position
        """How many messages of events there were."""
        self.recent: deque[tuple[int, Deltas]] = deque()
        """The last changes, each with how many messages of events came before it. Limits: RECENT, RECENT_FACTS."""
        self._recent_facts = 0
        self.kept = KeptEvents(room)
        """For whoever is sent here by the rendezvous before events that come earlier than it."""

    def take_part(self, part: Snapshot) -> tuple[list[Tuple], list[int]] | None:
        """A part of a snapshot; once it is whole, what has changed, with signs."""
        if part.first:
            self.parts = {}
        self.parts.update(dict.fromkeys(part.facts, 0))
        if not part.last:
            return None
        before, self.facts, self.parts = self.facts, self.parts, {}
        self.shown, self.is_whole = self.facts, True
        self.recent.clear()
        self._recent_facts = 0
        self.expected = part.sequence
        gone = [fact for fact in before if fact not in self.facts]
        come = [fact for fact in self.facts if fact not in before]
        return [*gone, *come], [-1] * len(gone) + [1] * len(come)

    def take_deltas(self, deltas: Deltas) -> tuple[list[Tuple], list[int]] | None:
        """The next changes: those that are some; None where others are missing before them, for which there will be a snapshot."""
        if not self.is_whole or deltas.sequence != self.expected:
            self.is_whole = self.is_whole and deltas.sequence < self.expected
            return None
        self.expected += 1
        facts: list[Tuple] = []
        signs: list[int] = []
        for fact, sign in zip(deltas.facts, deltas.signs, strict=True):
            if (sign > 0) != (fact in self.facts):
                facts.append(fact)
                signs.append(sign)
                if sign > 0:
                    self.facts[fact] = 0
                else:
                    del self.facts[fact]
        self.recent.append((self.position, Deltas(deltas.feed, deltas.sequence, facts, signs, deltas.origin)))
        self._recent_facts += len(facts)
        while len(self.recent) > RECENT or self._recent_facts > RECENT_FACTS:
            self._recent_facts -= len(self.recent.popleft()[1].facts)
        return facts, signs

    def changes_since(self, sequence: int) -> list[tuple[int, Deltas]] | None:
        """The changes from a sequence number on; None where not all of them are remembered."""
        since = [(position, deltas) for position, deltas in self.recent if deltas.sequence >= sequence]
        return since if len(since) == self.expected - sequence else None

    def facts_before(self, changes: Sequence[tuple[int, Deltas]]) -> dict[Tuple, int]:
        """The facts as they were before these changes."""
        facts = dict(self.facts)
        for _, deltas in reversed(changes):
            for fact, sign in zip(reversed(deltas.facts), reversed(deltas.signs), strict=True):
                if sign > 0:
                    facts.pop(fact, None)
                else:
                    facts[fact] = 0
        return facts


class _LedLink:
    """What is passed on of one rendezvous's link, and how far each publisher has come by it."""

    def __init__(self) -> None:
        self.feeds: dict[int, _Led] = {}
        """By the number of the feed that is passed on. Limit: MAX_LED of all links together."""
        self.progress = Progress()
        self.hearing_out: Counter[PeerLink] = Counter()
        """Questions of each subscriber that wait until the rendezvous is heard out. Limit: HEARD_OUT_EACH."""


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
        self._room = Room(ALL_BYTES)
        """Of the events that are kept for all of them."""

    # --- beginning and ending -------------------------------------------------------------------------------------------------

    def lead(self, link: PeerLink, message: Lead) -> None:
        """A rendezvous says that one of its feeds is to be passed on, or not any more."""
        if not message.leads:
            self.end_feed(link, message.feed)
            return
        source = self._source_of(link, message.feed)
        if self._led(link, message.feed) is not None:
            return
        if source is None or sum(len(led.feeds) for led in self._links.values()) >= MAX_LED:
            return  # whoever is sent here is refused, and says so to the rendezvous
        led = _Led(source, message.position, self._room)
        if not source.memory.events_only:
            if source.feed.state is FeedState.LIVE:
                led.facts, led.expected = self._order.arrived_facts(link, source), source.feed.expected
                led.shown, led.is_whole = led.facts, True
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
        self._start_task(self._pass_on_to(link, asked, *found))

    async def _pass_on_to(self, link: PeerLink, asked: InsertCondition, of: PeerLink, led: _Led) -> None:
        if not asked.events_only:
            # Whoever asks may know by another way what has not come here yet.
            led.waiting += 1
            try:
                await self._until_heard_out(of)
            finally:
                led.waiting -= 1
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

    def _tell_since(self, link: PeerLink, asked: InsertCondition, led: _Led, feed: AnyFeed) -> None:
        """Tell a new feed the facts as they were when the rendezvous sent it here, and then all since, in order."""
        changes = [] if asked.events_only else led.changes_since(asked.sequence)
        led.shown = led.facts_before(changes or [])
        self._delivery.send_snapshot(link, feed)
        led.shown = led.facts
        if type(feed) is Feed and feed.gap:
            changes = None  # its turn comes later: the facts are told as they are then
        rest = deque(changes or ())

        def tell_changes(position: float) -> None:
            while rest and rest[0][0] <= position:
                _, deltas = rest.popleft()
                self._rendezvous.pass_on_changes([feed], deltas.facts, deltas.signs, deltas.origin)

        for message in led.kept.since(asked.came_to, asked.feed, self._rendezvous.clock()):
            if isinstance(message, Happened):
                tell_changes(message.position)
            self._rendezvous.add_events([(link, message)])
        tell_changes(inf)
        self._delivery.flush()

    def _led(self, link: PeerLink, number: int) -> _Led | None:
        of_link = self._links.get(link)
        return None if of_link is None else of_link.feeds.get(number)

    # --- what comes by the feeds ----------------------------------------------------------------------------------------------

    def receive(self, link: PeerLink, message: object) -> None:
        """Something has come by a link that may bring what is passed on."""
        of_link = self._links.get(link)
        if of_link is None:
            return
        match message:
            case Happened():
                self._pass_on_events(link, of_link, message)
            case Deltas() if (led := of_link.feeds.get(message.feed)) is not None:
                changed = led.take_deltas(message)
                if changed is not None:
                    self._rendezvous.pass_on_changes(led.posting.feeds, *changed, message.origin)
                if message.origin is not None and not message.more:
                    of_link.progress.advance(message.origin.publisher, message.origin.number)
            case Snapshot() if (led := of_link.feeds.get(message.feed)) is not None:
                changed = led.take_part(message)
                if changed is not None:
                    self._rendezvous.pass_on_changes(led.posting.feeds, *changed, None)
            case Missed() if (led := of_link.feeds.get(message.feed)) is not None:
                self._rendezvous.add_events([(feed.subscriber, Missed(feed.number, message.events)) for feed in led.posting.feeds])
            case Passed():
                of_link.progress.advance(message.publisher, message.number)
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
                    self._rendezvous.add_events(
                        (subscriber, Happened(publisher, some, [numbers] * len(some), message.after, message.position))
                        for subscriber, numbers in led.posting.feed_numbers().items()
                    )
        # What was passed on to the rendezvous has overtaken what its publisher sends there.
        if not any(named == link.contact.id for named, _, _ in message.after):
            of_link.progress.advance(publisher, events[-1].number)

    # --- how far publishers have come -------------------------------------------------------------------------------------------

    def ask_passed(self, link: PeerLink, asked: AskPassed) -> None:
        """A subscriber asks whether everything of a publisher has been passed on that its rendezvous has sent up to a number."""
        for of, of_link in self._links.items():
            if of.contact.id == asked.of:
                if asked.number == 0 and len(asked.publisher) == NOBODY_BYTES:
                    if of_link.hearing_out[link] < HEARD_OUT_EACH:
                        of_link.hearing_out[link] += 1
                        self._start_task(self._hear_out(link, of, of_link, asked))
                    return
                of_link.progress.ask(link, asked.publisher, asked.number)
                if of_link.progress.last(asked.publisher) < asked.number:
                    with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
                        of.send(AskPassed(asked.publisher, asked.number))
                self._answer(of, of_link)
                return
        # Of what is passed on here no more, whoever asks has lost this feed, or is about to: it goes on with the next one.

    async def _hear_out(self, link: PeerLink, of: PeerLink, of_link: _LedLink, asked: AskPassed) -> None:
        try:
            await self._until_heard_out(of)
        finally:
            of_link.hearing_out -= Counter((link,))
        of_link.progress.ask(link, asked.publisher, 0)
        self._answer(of, of_link)
        self._delivery.flush()

    async def _until_heard_out(self, of: PeerLink) -> None:
        """Wait until all has come that a rendezvous has sent by now, ANSWER_TIMEOUT_S at most: whoever waits has the same limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._order.hear_out(of)

    def _answer(self, of: PeerLink, of_link: _LedLink) -> None:
        answers: Sequence[tuple[object, Passed]] = of_link.progress.take_answers()
        if answers:
            self._rendezvous.add_events([(to, Passed(passed.publisher, passed.number, of.contact.id)) for to, passed in answers])

    # --- figures ----------------------------------------------------------------------------------------------------------------

    def feeds(self) -> int:
        """How many feeds of others come from here."""
        return sum(len(led.posting.feeds) for of_link in self._links.values() for led in of_link.feeds.values())
