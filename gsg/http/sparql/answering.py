"""A query that is asked once: a standing query until its first answer is complete, and then closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from ...background import in_turns
from ...errors import RemoteError, TooLarge
from ...interleaving import in_thread
from ...languages.query import Query
from ...languages.result_form import ResultForm, Solution
from ...peer import Peer
from ...tuples.sizes import total_bytes
from ...tuples.terms import Tuple
from ..operations import Asker

AT_ONCE = 32
"""Questions that are answered at once, until their answers are sent; one more is refused."""
ANSWER_BYTES = 256 * 1024 * 1024
"""Bytes of the rows of one answer, each as often as it is there; a longer one is refused."""
ALL_BYTES = 512 * 1024 * 1024
"""Bytes of the rows of all answers that are under way; beyond, a question is refused until some have been sent."""
ROWS_AT_ONCE = 1_000
"""Rows that are measured while others wait."""
SORTED_AT_ONCE = 2_000
"""Rows that are sorted while others wait; more of them are sorted in a thread."""


class Unanswered(RemoteError):
    """A question that has no answer now, and may have one when it is asked again: too much is asked at once, it has taken too
    long, or some of the facts cannot be had."""


class Found(NamedTuple):
    """The answer of a query."""

    rows: list[tuple[Tuple, int]]
    """The values of each row, and how often it is there."""
    is_complete: bool
    """Whether nothing of it may be out of date."""

    @property
    def solutions(self) -> int:
        """How many there are, each as often as it is there. A join multiplies how often, so few rows may be very many solutions."""
        return sum(weight for _, weight in self.rows)

    def check_complete(self) -> None:
        """Raises Unanswered where some of it may be missing: what replaces or deletes what was found would leave that behind."""
        if not self.is_complete:
            raise Unanswered("some holder of what is asked is silent, so what is to change is not known; ask again in a moment")


class Questions:
    """What is asked of a peer by all clients of a door."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._under_way = 0
        self._held_bytes = 0

    @asynccontextmanager
    async def ask(self, query: Query, text: str, *, timeout_s: float, asker: Asker) -> AsyncIterator[Found]:
        """The answer of a query, which counts as under way, and as a subscription of whoever asks, until the block ends.

        Raises what :meth:`gsg.subscriptions.registry.SubscriptionRegistry.ask` does; Unanswered where too much is asked, or it
        takes longer than ``timeout_s``; Refused where the asker has as many subscriptions as it may; and TooLarge.
        """
        if self._under_way >= AT_ONCE:
            raise Unanswered(f"{AT_ONCE} questions are answered already; ask again in a moment")
        asker.allowance.subscribe()
        self._under_way += 1
        held_bytes = 0
        try:
            try:
                async with asyncio.timeout(timeout_s):
                    rows, stale = await self._peer.registry.ask(query, text=text, language="sparql", client=asker.name)
                    async for part in in_turns(_parts(rows)):
                        size_bytes = _told_bytes(part)
                        held_bytes += size_bytes
                        self._held_bytes += size_bytes
                        self._check(held_bytes)
            except TimeoutError:
                raise Unanswered(f"no answer within {timeout_s:g} s; ask for less, or for longer with timeout=SECONDS") from None
            yield Found(rows, stale is None)
        finally:
            asker.allowance.unsubscribe()
            self._under_way -= 1
            self._held_bytes -= held_bytes

    def _check(self, answer_bytes: int) -> None:
        if answer_bytes > ANSWER_BYTES:
            raise TooLarge(f"an answer of more than {ANSWER_BYTES:,} bytes; ask for less of it, such as with LIMIT")
        if self._held_bytes > ALL_BYTES:
            raise Unanswered(f"answers of {ALL_BYTES:,} bytes are being sent already; ask again in a moment")


def _parts(rows: list[tuple[Tuple, int]]) -> Iterator[list[tuple[Tuple, int]]]:
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[begin : begin + ROWS_AT_ONCE]


def _told_bytes(part: list[tuple[Tuple, int]]) -> int:
    """The bytes of rows, each as often as it is there."""
    once = total_bytes([values for values, _ in part])
    return once + sum(total_bytes([values]) * (weight - 1) for values, weight in part if weight > 1)


async def solutions_of(form: ResultForm, found: Found) -> list[Solution]:
    """The rows in the order that is asked for, each as often as it is there."""

    def ordered() -> list[Solution]:
        return form.ordered(values for values, weight in found.rows for _ in range(weight))

    return ordered() if found.solutions <= SORTED_AT_ONCE else await in_thread(ordered)
