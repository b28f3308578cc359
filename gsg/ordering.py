"""The order of each publisher, put together again at the subscriber's peer from what several rendezvous bring.

A link brings in order what one rendezvous forwards, so of each way in it is known how far a publisher has come by it. Each message
names the last numbers that its publisher sent by other rendezvous (:class:`gsg.passing.Sent`). Where one of those feeds this peer
too and has not come so far, what the message brings is held, and that rendezvous is asked once: it says when the number has passed,
on the same link and after all that it forwarded. Held things leave by number.

    arrives ──nothing outstanding before it──> delivered
       └──something is──> held ──it has arrived, or passed──> delivered
                            ├──its way is lost──> not waited for
                            └──ORDER_WAIT_S──> delivered in order of number, and counted as late

How far a way has come counts by arrival, whether what came is held or not, so two messages that name each other do not wait for
each other to be delivered. Nothing is dropped here, and nothing waits for longer than ORDER_WAIT_S.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from heapq import heappop, heappush
from typing import Generic, TypeAlias, TypeVar

from .messages import After
from .passing import NAMED

ORDER_WAIT_S = 5.0
"""How long something waits for what its publisher sent before it by another rendezvous."""
HELD = 10_000
HELD_BYTES = 32 * 1024 * 1024
"""So much is held at a peer; beyond, what has waited the longest is delivered, with what comes before it, and counted as late."""
PUBLISHERS = 4_096
"""Publishers of whom it is remembered how far they have come; beyond, the one unheard of for the longest is forgotten."""

Way: TypeAlias = Hashable
"""What brings things in order: a link from a rendezvous."""
Payload = TypeVar("Payload")

_GIVEN_UP = 1 << 64
"""Further than any number: this way is not waited for until it brings something of the publisher."""


class _Held(Generic[Payload]):
    """Something that waits."""

    __slots__ = ("after", "number", "payload", "publisher", "since_s", "size", "way")

    def __init__(self, publisher: bytes, number: int, way: Way, after: After, payload: Payload, size: int, since_s: float) -> None:
        self.publisher = publisher
        self.number = number
        self.way = way
        self.after = after
        self.payload = payload
        self.size = size
        self.since_s = since_s


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
        self.held: list[tuple[int, int, _Held[Payload]]] = []
        """A heap by number, then by arrival."""


class Ordering(Generic[Payload]):
    """Holds what comes too early. ``ways(rendezvous)`` are those by which a rendezvous feeds this peer now.

    Whoever uses it tells what arrives, delivers what it is given back, in order, and sends the :attr:`questions`.
    """

    def __init__(self, ways: Callable[[bytes], Collection[Way]]) -> None:
        self._ways = ways
        self._streams: dict[bytes, _Stream[Payload]] = {}
        """By publisher. Limit: PUBLISHERS, and those of which something is held."""
        self._oldest: OrderedDict[int, _Held[Payload]] = OrderedDict()
        """All that is held, by arrival. Limit: HELD, HELD_BYTES."""
        self._bytes = 0
        self._arrivals = 0
        self.questions: list[tuple[Way, bytes, int]] = []
        """To be sent, and taken out, by the owner: by this way, has everything of this publisher up to this number passed?"""
        self.late = 0
        """How many were delivered without what they waited for, since the start."""

    def __len__(self) -> int:
        return len(self._oldest)

    def passes(self, way: Way, publisher: bytes, last: int, after: After) -> bool:
        """Something of a publisher arrives, up to a number: whether it may be delivered at once. If not, it is to be held."""
        stream = self._streams.pop(publisher, None)
        if stream is None:
            stream = _Stream()
            if len(self._streams) >= PUBLISHERS:
                self._forget_one()
        self._streams[publisher] = stream
        _has_come(stream, way, last)
        return not stream.held and (not after or not self._outstanding(stream, way, last, after))

    def hold(
        self, now: float, way: Way, publisher: bytes, after: After, things: Sequence[tuple[int, Payload, int]]
    ) -> list[Payload]:
        """Hold what did not pass: numbers, payloads and sizes in bytes, in order. Returns what is to be delivered now."""
        stream = self._streams[publisher]
        after = after[:NAMED]
        for number, payload, size in things:
            self._arrivals += 1
            held = _Held(publisher, number, way, after, payload, size, now)
            heappush(stream.held, (number, self._arrivals, held))
            self._oldest[self._arrivals] = held
            self._bytes += size
        if things:
            for other, number in self._outstanding(stream, way, things[-1][0], after):
                stream.wanted[other] = max(number, stream.wanted.get(other, 0))
                self._ask(publisher, stream, other)
        delivered = self._ready(stream)
        while len(self._oldest) > HELD or self._bytes > HELD_BYTES:
            delivered.extend(self._hurry(next(iter(self._oldest.values()))))
        return delivered

    def passed(self, way: Way, publisher: bytes, number: int) -> list[Payload]:
        """A rendezvous says how far a publisher has come by it; returns what is to be delivered now."""
        stream = self._streams.get(publisher)
        if stream is None:
            return []
        asked = stream.asked.pop(way, 0)
        # It says less than it was asked for only where it will not say more.
        _has_come(stream, way, number if number >= asked else _GIVEN_UP)
        if stream.held and stream.wanted.get(way, 0) > stream.come.get(way, 0):
            self._ask(publisher, stream, way)
        return self._ready(stream)

    def lost(self, way: Way) -> list[Payload]:
        """A link is gone, and is not to be waited for; returns what is to be delivered now."""
        delivered: list[Payload] = []
        for stream in self._streams.values():
            stream.come.pop(way, None)
            stream.asked.pop(way, None)
            stream.wanted.pop(way, None)
            if stream.held:
                delivered.extend(self._ready(stream))
        return delivered

    @property
    def due_s(self) -> float | None:
        """When :meth:`expire` is to be called; None while nothing is held."""
        for held in self._oldest.values():
            return held.since_s + ORDER_WAIT_S
        return None

    def expire(self, now: float) -> list[Payload]:
        """Give up what has been waited for long enough; returns what is to be delivered now."""
        delivered: list[Payload] = []
        while self._oldest:
            held = next(iter(self._oldest.values()))
            if now - held.since_s < ORDER_WAIT_S:
                break
            delivered.extend(self._hurry(held))
        return delivered

    # --- one publisher ----------------------------------------------------------------------------------------------------

    def _outstanding(self, stream: _Stream[Payload], way: Way, number: int, after: After) -> list[tuple[Way, int]]:
        """The ways that have not come as far as they must for a number to be the next, each with the number that is missing."""
        missing: list[tuple[Way, int]] = []
        for rendezvous, last in after:
            # What was sent there later than this need not be waited for: only what comes before.
            needed = last if last < number else number - 1
            for other in self._ways(rendezvous):
                if other is not way and stream.come.get(other, 0) < needed:
                    missing.append((other, needed))
        return missing

    def _ask(self, publisher: bytes, stream: _Stream[Payload], way: Way) -> None:
        if way not in stream.asked:
            stream.asked[way] = stream.wanted[way]
            self.questions.append((way, publisher, stream.wanted[way]))

    def _ready(self, stream: _Stream[Payload]) -> list[Payload]:
        """Take out, by number, what waits for nothing any more."""
        ready: list[Payload] = []
        while stream.held:
            number, arrival, held = stream.held[0]
            if self._outstanding(stream, held.way, number, held.after):
                break
            ready.append(self._take_out(stream, arrival))
        return ready

    def _hurry(self, late: _Held[Payload]) -> list[Payload]:
        """Take out something, and all that comes before it, without what they wait for; that is not waited for any more."""
        stream = self._streams[late.publisher]
        hurried: list[Payload] = []
        while stream.held and stream.held[0][0] <= late.number:
            number, arrival, held = stream.held[0]
            missing = self._outstanding(stream, held.way, number, held.after)
            stream.come.update((way, _GIVEN_UP) for way, _ in missing)
            self.late += bool(missing)
            hurried.append(self._take_out(stream, arrival))
        return hurried + self._ready(stream)

    def _take_out(self, stream: _Stream[Payload], arrival: int) -> Payload:
        heappop(stream.held)
        held = self._oldest.pop(arrival)
        self._bytes -= held.size
        if not stream.held:
            stream.wanted.clear()
        return held.payload

    def _forget_one(self) -> None:
        for publisher, stream in self._streams.items():
            if not stream.held:
                del self._streams[publisher]
                return


def _has_come(stream: _Stream[Payload], way: Way, number: int) -> None:
    """A way has come to a number; one that was given up is heard of again."""
    before = stream.come.get(way, 0)
    if number > before or before == _GIVEN_UP:
        stream.come[way] = number
