"""One that publishes through a peer, a program or a client of a door: its calls in order, large ones cut into parts.

What a call brings is looked at, and sent, part after part, and others have their turn between two parts: a call of a million tuples
keeps nobody waiting for longer than one part takes. What the same caller publishes afterwards waits until the last part of it has
left, so that its order is kept; what other callers publish may go between.

    called ──nobody in line, few tuples──> sent at once
       └────────────in line──────────────> looked at, part by part ──> sent, part by part, PARTS_UNDER_WAY at once ──> the next one
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from ..background import in_turns
from ..errors import LocalError
from ..storage.event_keys import record_of
from ..tuples import terms as model
from ..tuples.audiences import Audience
from ..tuples.sizes import parts, total_bytes
from ..tuples.terms import Tuple
from ..wire.trace_context import EVENT, Span, kind_of
from .publisher import Publisher

PART_TUPLES = 1_000
"""Tuples in one part, and no more bytes than go into one message (``PART_BYTES``): some ten milliseconds of work."""
PARTS_UNDER_WAY = 16
"""Parts of one call that may be unanswered; the next one waits for the first of them."""

Returned = TypeVar("Returned")


class _Facts(list[Tuple]):
    """Tuples that were looked at: of 1,000 long ones that takes 200 ms, and others are not to wait for it twice."""


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
        self, tuples: Iterable[Iterable[object]], audience: Audience | None = None, *, key: str | None = None, owner: str = ""
    ) -> int:
        """Events, in order; returns how many. ``key`` names them, PART_TUPLES at most: where ``owner``, a client, had them told
        under it before, nothing is told again (keyed_events.py).

        Raises as :meth:`facts`, and LocalError for what is no key, for more events with one, or for others than before.
        """
        publisher = self._publisher()
        if key is not None:
            return await self._events_once(publisher, tuples, audience, key, owner)

        return await self._events(publisher, tuples, audience)

    async def _events(self, publisher: Publisher, tuples: Iterable[Iterable[object]], audience: Audience | None) -> int:
        async def send(part: Sequence[Tuple], span: Span | None) -> int:
            await publisher.events([(items, None) for items in part], audience=audience, span=span)
            return len(part)

        return sum(await self._publish(tuples, send, publisher, EVENT))

    async def _events_once(
        self, publisher: Publisher, tuples: Iterable[Iterable[object]], audience: Audience | None, key: str, owner: str
    ) -> int:
        said = tuples if isinstance(tuples, Sequence) else list(tuples)
        if len(said) > PART_TUPLES:
            raise LocalError(f"{len(said):,} events with one key; expected at most {PART_TUPLES:,}: cut them, each part with a key")
        facts = [model.fact(items) for items in said]
        total_bytes(facts)
        asked = record_of(owner, key, facts, audience, publisher.wall_clock())
        return await publisher.keyed.publish(asked, lambda: self._events(publisher, _Facts(facts), audience))

    async def _publish(
        self,
        tuples: Iterable[Iterable[object]],
        send: Callable[[Sequence[Tuple], Span | None], Awaitable[Returned]],
        publisher: Publisher,
        kind: str,
    ) -> list[Returned]:
        said = tuples if isinstance(tuples, Sequence) else list(tuples)
        if not self._in_line and len(said) <= PART_TUPLES:
            return [await send(said if isinstance(said, _Facts) else [model.fact(items) for items in said], None)]
        with publisher.spans.publish(kind, len(said)) as span, contextlib.ExitStack() as place:
            self._in_line += 1
            place.callback(self._leave_line)
            await self._turn.acquire()
            place.callback(self._turn.release)
            return await _in_parts(await _checked(said), lambda part: send(part, span), place.close)

    def _leave_line(self) -> None:
        self._in_line -= 1


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
