"""One that publishes through a peer, a program or a client of a door: its calls in order, large ones cut into parts.

What a call brings is looked at, and sent, part after part, and others have their turn between two parts: a call of a million tuples
keeps nobody waiting for longer than one part takes. What the same caller publishes afterwards waits until the last part of it has
left, so that its order is kept; what other callers publish may go between. Events with a key are in line, too, until they have left
or are known to be told, and are looked at one by one, as their hash is needed first (keyed_events.py).

    called ──nobody in line, few tuples──> sent at once
       └────────────in line──────────────> looked at, part by part ──> sent, part by part, PARTS_UNDER_WAY at once ──> the next one
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from ..background import in_turns
from ..errors import LocalError
from ..storage.event_keys import PROGRAM, EventsHash, record_of
from ..tuples import terms as model
from ..tuples.audiences import Audience
from ..tuples.sizes import PART_BYTES, parts, size_bytes, total_bytes
from ..tuples.terms import Tuple
from ..wire.trace_context import EVENT, Span, kind_of
from .publisher import Publisher

PART_TUPLES = 1_000
"""Tuples in one part, and no more bytes than go into one message (``PART_BYTES``): some ten milliseconds of work."""
PART_TERMS = 10_000
"""Terms in one part of events with a key, whose terms are counted as they are looked at: again some ten milliseconds."""
PARTS_UNDER_WAY = 16
"""Parts of one call that may be unanswered; the next one waits for the first of them."""

Returned = TypeVar("Returned")
Send: TypeAlias = Callable[[Sequence[Tuple], Span | None], Awaitable[Returned]]
"""Sends one part of a call; the span is that of the call, None where the part is all of it."""


class Caller:
    """The calls of one who publishes. ``publisher()`` is the peer's, or raises DoorClosed."""

    def __init__(self, publisher: Callable[[], Publisher]) -> None:
        self._publisher = publisher
        self._turn = asyncio.Lock()
        """Of the first call in line. The others wait in order; those who make calls bound how many they are."""
        self._in_line = 0

    async def facts(self, sign: int, tuples: Iterable[Iterable[object]], audience: Audience | None = None) -> int:
        """Make tuples true (1) or untrue (-1); returns how many changed.

        Raises BadTerm, and sends nothing, for what is no tuple of constants; otherwise as
        :meth:`gsg.publisher.publisher.Publisher.facts`, and then parts before and behind the one that failed may have been sent.
        """
        publisher = self._publisher()
        if not self._in_line and type(tuples) is list and len(tuples) <= PART_TUPLES:
            # As most calls are, which are not to pay for those that are not.
            return await publisher.facts(sign, [model.fact(items) for items in tuples], audience)

        def send(part: Sequence[Tuple], span: Span | None) -> Awaitable[int]:
            return publisher.facts(sign, part, audience, span=span)

        return sum(await self._publish(tuples, send, publisher, kind_of(sign)))

    async def events(
        self, tuples: Iterable[Iterable[object]], audience: Audience | None = None, *, key: str | None = None, owner: str = PROGRAM
    ) -> int:
        """Events, in order; returns how many. ``key`` names them, PART_TUPLES at most: where ``owner``, the name of a client, had
        them told under it before, nothing is told again (keyed_events.py).

        Raises as :meth:`facts`, and LocalError for what is no key, for more events with one, or for others than before.
        """
        publisher = self._publisher()
        if key is not None:
            return await self._events_once(publisher, tuples, audience, key, owner)
        return sum(await self._publish(tuples, _send_events(publisher, audience), publisher, EVENT))

    async def _events_once(
        self, publisher: Publisher, tuples: Iterable[Iterable[object]], audience: Audience | None, key: str, owner: str
    ) -> int:
        said = tuples if isinstance(tuples, Sequence) else list(tuples)
        if len(said) > PART_TUPLES:
            raise LocalError(f"{len(said):,} events with one key; expected at most {PART_TUPLES:,}: cut them, each part with a key")
        with contextlib.ExitStack() as place:
            # While it is looked at, and while its key is under way for somebody else, others of this caller do not overtake it.
            await self._line_up(place)
            found, said_hash = await _hashed(said)
            asked = record_of(owner, key, said_hash, audience, publisher.wall_clock())
            return await publisher.keyed.publish(asked, lambda: self._send_once(publisher, found, audience, place.close))

    async def _send_once(
        self, publisher: Publisher, found: Sequence[Sequence[Tuple]], audience: Audience | None, all_sent: Callable[[], None]
    ) -> int:
        send = _send_events(publisher, audience)
        if len(found) <= 1:
            # It takes its place among all that is published before it waits for anything.
            all_sent()
            return await send(found[0] if found else [], None)
        with publisher.spans.publish(EVENT, sum(map(len, found))) as span:
            return sum(await _in_parts(found, lambda part: send(part, span), all_sent))

    async def _publish(
        self,
        tuples: Iterable[Iterable[object]],
        send: Send[Returned],
        publisher: Publisher,
        kind: str,
    ) -> list[Returned]:
        said = tuples if isinstance(tuples, Sequence) else list(tuples)
        if not self._in_line and len(said) <= PART_TUPLES:
            return [await send([model.fact(items) for items in said], None)]
        with publisher.spans.publish(kind, len(said)) as span, contextlib.ExitStack() as place:
            await self._line_up(place)
            return await _in_parts(await _checked(said), lambda part: send(part, span), place.close)

    async def _line_up(self, place: contextlib.ExitStack) -> None:
        """Wait until it is the turn of one more call; ``place`` leaves the line."""
        self._in_line += 1
        place.callback(self._leave_line)
        await self._turn.acquire()
        place.callback(self._turn.release)

    def _leave_line(self) -> None:
        self._in_line -= 1


def _send_events(publisher: Publisher, audience: Audience | None) -> Send[int]:
    async def send(part: Sequence[Tuple], span: Span | None) -> int:
        await publisher.events([(items, None) for items in part], audience=audience, span=span)
        return len(part)

    return send


async def _hashed(said: Iterable[Iterable[object]]) -> tuple[list[list[Tuple]], EventsHash]:
    """Events in parts, all of them looked at, and their hash: 1,000 long ones take 200 ms, and others have their turn meanwhile.
    Raises BadTerm."""
    found: list[list[Tuple]] = []
    made = EventsHash()
    filled = terms = 0
    async for items in in_turns(said):
        if not found or filled >= PART_BYTES or terms >= PART_TERMS:
            found.append([])
            filled = terms = 0
        fact = model.fact(items)
        filled += size_bytes(fact)
        terms += len(fact)
        made.add(fact)
        found[-1].append(fact)
    return found, made


async def _checked(said: Sequence[Iterable[object]]) -> list[list[Tuple]]:
    """The tuples in parts, all of them looked at. Raises BadTerm."""
    found: list[list[Tuple]] = []
    async for begin in in_turns(range(0, len(said), PART_TUPLES), most=1):
        facts = [model.fact(items) for items in said[begin : begin + PART_TUPLES]]
        total_bytes(facts)
        found += [facts[part] for part in parts(facts, PART_TUPLES)]
    return found


async def _in_parts(
    found: Sequence[Sequence[Tuple]], send: Callable[[Sequence[Tuple]], Awaitable[Returned]], all_sent: Callable[[], None]
) -> list[Returned]:
    """Send part after part and wait for all; ``all_sent()`` when the last one has begun. Raises the first error."""
    places = asyncio.Semaphore(PARTS_UNDER_WAY)

    async def one(part: Sequence[Tuple]) -> Returned:
        try:
            return await send(part)
        finally:
            places.release()

    try:
        async with asyncio.TaskGroup() as tasks:
            under_way: list[asyncio.Task[Returned]] = []
            for part in found:
                await places.acquire()
                under_way.append(tasks.create_task(one(part)))
                # A part has its place among all that is published when its task has begun.
                await asyncio.sleep(0)
            all_sent()
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in under_way]
