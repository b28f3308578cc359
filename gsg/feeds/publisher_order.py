"""The order of each publisher, put together again at the subscriber's peer from what several rendezvous bring.

A link brings in order what one rendezvous forwards, so of each way in it is known how far a publisher has come by it. Each message
names the last numbers that its publisher sent by other rendezvous (:mod:`gsg.publisher.order`). Where one of those feeds
this peer too and has not come so far, what the message brings is held, and that rendezvous is asked once: it says when the number
has passed, on the same link and after all that it forwarded. Held things leave by number.

    arrives ──nothing outstanding before it──> delivered
       └──something is──> held ──it has arrived, or passed──> delivered
                            ├──its way is lost──> not waited for
                            └──ORDER_WAIT_S──> delivered in order of number, and counted as late

How far a way has come counts by arrival, whether what came is held or not, so two messages that name each other do not wait for
each other to be delivered. Nothing is dropped here, and nothing waits for longer than ORDER_WAIT_S.

Facts of several publishers come by one feed, and what happens to one fact must be delivered as the feed says it, whoever said it:
what concerns the same fact of the same feed waits for what is held of it, also when it is late. What a feed brings without saying
whose word it is, as where keys have changed hands, may be anybody's: it waits for all that is held of the feed, and all that the
feed brings afterwards for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import takewhile
from typing import Generic, TypeAlias, TypeVar

from ..wire.admission import NAMED
from ..wire.messages import After

ORDER_WAIT_S = 5.0
"""How long something waits for what its publisher sent before it by another rendezvous."""
HELD = 50_000
HELD_BYTES = 32 * 1024 * 1024
"""So much is held at a peer; beyond, what has waited the longest is delivered, with what comes before it, and counted as late.
While keys change hands each event comes by all holders of its key, and a publisher at full speed has some 10,000 on their way."""
NOBODY = b""
"""In the place of a publisher where a feed does not say whose word it brings."""
PUBLISHERS = 4_096
"""Publishers of whom it is remembered how far they have come; beyond, the one unheard of for the longest is forgotten."""

Way: TypeAlias = Hashable
"""What brings things in order: a link from a rendezvous."""
Payload = TypeVar("Payload")
Key = TypeVar("Key")
Concerns: TypeAlias = tuple[Hashable, Sequence[Hashable]]
"""A feed, and the facts of it that something changes."""


class Held(Generic[Payload]):
    """Something that waits."""

    __slots__ = (
        "after",
        "arrival",
        "behind",
        "blocking",
        "concerns",
        "done",
        "number",
        "payload",
        "publisher",
        "since_s",
        "size",
        "way",
    )

    def __init__(
        self, arrival: int, publisher: bytes, number: int, way: Way, after: After, payload: Payload, size: int, since_s: float
    ) -> None:
        self.arrival = arrival
        self.publisher = publisher
        self.number = number
        self.way = way
        self.after = after
        self.payload = payload
        self.size = size
        self.since_s = since_s
        self.concerns: Concerns | None = None
        self.behind: Sequence[Held[Payload]] = ()
        """What came before it and it is to follow: of each fact the last, which waits for those before, so it stands for all."""
        self.blocking: dict[bytes, None] = {}
        """Publishers of those that wait behind this one."""
        self.done = False
        """Whether it was handed out."""


class _Stream(Generic[Payload]):
    """What is known of one publisher."""

    __slots__ = ("asked", "come", "held", "wanted")

    def __init__(self) -> None:
        self.come: dict[Way, int] = {}
        """By way, the last number that it has brought, or said to have passed. Bounded by the links, as the two below."""
        self.asked: dict[Way, int] = {}
        """Questions under way: one for each way."""
        self.wanted: dict[Way, int] = {}
        """The last number that something held waits for."""
        self.held: list[tuple[int, int, Held[Payload]]] = []
        """A heap by number, then by arrival; the first is never done."""


class PublisherOrder(Generic[Payload]):
    """Holds what comes too early. ``ways(rendezvous)`` are those by which a rendezvous feeds this peer now, and
    ``events_by(rendezvous)`` those by which only events may come from it.

    Whoever uses it tells what arrives, delivers what it is given back, in order, and sends the :attr:`questions`.
    """

    def __init__(self, ways: Callable[[bytes], Collection[Way]], events_by: Callable[[bytes], Collection[Way]]) -> None:
        self._ways = ways
        self._events_by = events_by
        self._streams: dict[bytes, _Stream[Payload]] = {}
        """By publisher. Limit: PUBLISHERS, and those of which something is held."""
        self._oldest: OrderedDict[int, Held[Payload]] = OrderedDict()
        """All that is held, by arrival. Limit: HELD, HELD_BYTES."""
        self._of_fact: dict[tuple[Hashable, Hashable], dict[int, Held[Payload]]] = {}
        """What is held that concerns a fact of a feed, by arrival."""
        self._of_feed: dict[Hashable, dict[int, Held[Payload]]] = {}
        """What is held that concerns facts of a feed, by arrival."""
        self._nobodys: dict[Hashable, dict[int, Held[Payload]]] = {}
        """Those of them that are nobody's in particular."""
        self._freed: list[bytes] = []
        """Publishers of whom something has waited behind what was delivered."""
        self._bytes = 0
        self._arrivals = 0
        self.questions: list[tuple[Way, bytes, int]] = []
        """To be sent, and taken out, by the owner: by this way, has everything of this publisher up to this number passed?"""
        self.late = 0
        """How many were delivered without what they waited for, since the start."""

    def __len__(self) -> int:
        return len(self._oldest)

    def passes(self, way: Way, publisher: bytes, last: int, after: After, *, more: bool = False) -> bool:
        """Something of a publisher arrives, up to a number: whether it may be delivered at once. If not, it is to be held.

        ``more`` of the last number is still to come by this way.
        """
        stream = self._streams.pop(publisher, None)
        if stream is None:
            stream = _Stream()
            if len(self._streams) >= PUBLISHERS:
                self._forget_one()
        self._streams[publisher] = stream
        _has_come(stream, way, last - more)
        return not stream.held and not (after and next(self._missing(stream, way, last, after), None) is not None)

    def conflicts(self, publisher: bytes, concerns: Concerns) -> bool:
        """Whether what has passed is to wait all the same for something held of its feed, of another publisher."""
        feed, facts = concerns
        if feed not in self._of_feed:
            return False
        return publisher == NOBODY or feed in self._nobodys or any((feed, fact) in self._of_fact for fact in facts)

    def hold(
        self,
        now: float,
        way: Way,
        publisher: bytes,
        after: After,
        things: Sequence[tuple[int, Payload, int]],
        concerns: Concerns | None = None,
    ) -> list[Payload]:
        """Hold what did not pass: numbers, payloads and sizes in bytes, in order. Returns what is to be delivered now."""
        stream = self._streams[publisher]
        after = after[:NAMED]
        come = stream.come.get(way, 0)
        for number, payload, size in things:
            self._arrivals += 1
            # What is sent again, after a failure, keeps its place on its way: its number is an old one.
            number = come if things[-1][0] < come else number
            held = Held(self._arrivals, publisher, number, way, after, payload, size, now)
            if concerns is not None:
                held.concerns = concerns
                held.behind = self._before(publisher, concerns)
                for other in held.behind:
                    other.blocking[publisher] = None
                feed, facts = concerns
                for fact in facts:
                    self._of_fact.setdefault((feed, fact), {})[self._arrivals] = held
                self._of_feed.setdefault(feed, {})[self._arrivals] = held
                if publisher == NOBODY:
                    self._nobodys.setdefault(feed, {})[self._arrivals] = held
            heappush(stream.held, (number, self._arrivals, held))
            self._oldest[self._arrivals] = held
            self._bytes += size
        if things:
            self._want(publisher, stream, self._missing(stream, way, things[-1][0], after))
        delivered = self._ready(stream)
        while len(self._oldest) > HELD or self._bytes > HELD_BYTES:
            self._hurry(next(iter(self._oldest.values())), delivered)
        return self._settled(delivered)

    def note_passed(self, way: Way, publisher: bytes, number: int) -> list[Payload]:
        """A rendezvous answers how far a publisher has come by it; returns what is to be delivered now."""
        stream = self._streams.get(publisher)
        if stream is None or way not in stream.asked:
            return []  # an answer to nothing is nothing
        asked = stream.asked.pop(way)
        # It says less than it was asked for only where it will not say more.
        _has_come(stream, way, max(number, asked))
        if stream.held and stream.wanted.get(way, 0) > stream.come.get(way, 0):
            self._ask(publisher, stream, way)
        return self._settled(self._ready(stream))

    def forget_way(self, way: Way) -> list[Payload]:
        """A link is gone, and is not to be waited for; returns what is to be delivered now."""
        delivered: list[Payload] = []
        for stream in self._streams.values():
            stream.come.pop(way, None)
            stream.asked.pop(way, None)
            stream.wanted.pop(way, None)
            delivered.extend(self._ready(stream))
        return self._settled(delivered)

    def held_facts(self, way: Way) -> list[Held[Payload]]:
        """What has come by a way, changes facts, and waits; each says when it is ``done``."""
        return [held for held in self._oldest.values() if held.way == way and held.concerns is not None]

    @property
    def due_s(self) -> float | None:
        """When :meth:`expire` is to be called; None while nothing is held."""
        for held in self._oldest.values():
            return held.since_s + ORDER_WAIT_S
        return None

    def restart_waits(self, now: float) -> None:
        """Nobody was here for a while: what is held waits from now on."""
        for held in self._oldest.values():
            held.since_s = now

    def expire(self, now: float) -> list[Payload]:
        """Give up what has been waited for long enough; returns what is to be delivered now."""
        delivered: list[Payload] = []
        while self._oldest:
            held = next(iter(self._oldest.values()))
            # As in due_s, to the last bit: a timer that comes then is not to find that it came too early.
            if now < held.since_s + ORDER_WAIT_S:
                break
            self._hurry(held, delivered)
        return self._settled(delivered)

    # --- one publisher ----------------------------------------------------------------------------------------------------

    def _missing(self, stream: _Stream[Payload], way: Way, number: int, after: After) -> Iterator[tuple[Way, int]]:
        """The ways that have not come as far as they must for a number to be the next, each with the number that is missing."""
        come = stream.come
        for rendezvous, last, last_event in after:
            for find, sent in ((self._ways, last), (self._events_by, last_event)):
                # What was sent there later than this need not be waited for: only what comes before.
                needed = sent if sent < number else number - 1
                # Mostly no event at all was sent there.
                if needed > 0:
                    for other in find(rendezvous):
                        if other != way and come.get(other, 0) < needed:
                            yield other, needed

    def _before(self, publisher: bytes, concerns: Concerns) -> list[Held[Payload]]:
        """What is held that something is to wait for, by arrival; each waits for those before it, so it stands for them."""
        feed, facts = concerns
        nobodys = self._nobodys.get(feed)
        last = set() if nobodys is None else {next(reversed(nobodys))}
        if publisher == NOBODY:
            # All since nobody's last one: so each is looked at once.
            last.update(takewhile(lambda arrival: nobodys is None or arrival not in nobodys, reversed(self._of_feed.get(feed, {}))))
        else:
            last.update(next(reversed(of_fact)) for fact in facts if (of_fact := self._of_fact.get((feed, fact))))
        return [self._oldest[arrival] for arrival in sorted(last)]

    def _want(self, publisher: bytes, stream: _Stream[Payload], missing: Iterable[tuple[Way, int]]) -> None:
        for way, number in missing:
            stream.wanted[way] = max(number, stream.wanted.get(way, 0))
            self._ask(publisher, stream, way)

    def _ask(self, publisher: bytes, stream: _Stream[Payload], way: Way) -> None:
        if way not in stream.asked:
            stream.asked[way] = stream.wanted[way]
            self.questions.append((way, publisher, stream.wanted[way]))

    def _ready(self, stream: _Stream[Payload]) -> list[Payload]:
        """Take out, by number, what waits for nothing any more."""
        ready: list[Payload] = []
        while stream.held:
            number, _, held = stream.held[0]
            if missing := list(self._missing(stream, held.way, number, held.after)):
                # A way that was not there when it came may be one of those that it is to wait for by now.
                self._want(held.publisher, stream, missing)
                break
            if not all(other.done for other in held.behind):
                break
            ready.append(self._take_out(stream, held))
        return ready

    def _settled(self, delivered: list[Payload]) -> list[Payload]:
        """Add what waited behind what is delivered."""
        while self._freed:
            freed = self._streams.get(self._freed.pop())
            if freed is not None:
                delivered.extend(self._ready(freed))
        return delivered

    def _hurry(self, late: Held[Payload], delivered: list[Payload]) -> None:
        """Take out something, and all that comes before it, without what they wait for; that is not waited for any more."""
        stream = self._streams[late.publisher]
        while stream.held and stream.held[0][0] <= late.number:
            self._hurry_one(stream.held[0][2], delivered)
        delivered.extend(self._ready(stream))

    def _hurry_one(self, late: Held[Payload], delivered: list[Payload]) -> None:
        # What happened to one fact has one order, which is that of its feed: this is kept where the order of a publisher is not.
        # It ends: who is behind another came after it. No recursion: there may be HELD of them, each behind the one before.
        waiting = [late]
        while waiting:
            held = waiting[-1]
            if before := [other for other in reversed(held.behind) if not other.done]:
                waiting.extend(before)
                continue
            waiting.pop()
            if not held.done:
                stream = self._streams[held.publisher]
                missing = list(self._missing(stream, held.way, held.number, held.after))
                for way, number in missing:
                    _has_come(stream, way, number)
                self.late += bool(missing)
                delivered.append(self._take_out(stream, held))

    def _take_out(self, stream: _Stream[Payload], held: Held[Payload]) -> Payload:
        held.done = True
        del self._oldest[held.arrival]
        self._bytes -= held.size
        while stream.held and stream.held[0][2].done:
            heappop(stream.held)
        if not stream.held:
            stream.wanted.clear()
        if held.concerns is not None:
            feed, facts = held.concerns
            for fact in dict.fromkeys(facts):
                _leave(self._of_fact, (feed, fact), held.arrival)
            _leave(self._of_feed, feed, held.arrival)
            if held.publisher == NOBODY:
                _leave(self._nobodys, feed, held.arrival)
            self._freed.extend(held.blocking)
            held.behind = ()  # else each would keep all that were ever held before it
        return held.payload

    def _forget_one(self) -> None:
        for publisher, stream in self._streams.items():
            if not stream.held:
                del self._streams[publisher]
                return


def _leave(held: dict[Key, dict[int, Held[Payload]]], of: Key, arrival: int) -> None:
    del held[of][arrival]
    if not held[of]:
        del held[of]


def _has_come(stream: _Stream[Payload], way: Way, number: int) -> None:
    """A way has come to a number, or what is missing up to there is not waited for any more."""
    if number > stream.come.get(way, 0):
        stream.come[way] = number
