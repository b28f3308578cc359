"""What ``gsg subscribe --topic`` does with events as they come, and with what it is told of others that were lost.

A reader that is too slow is told of losses some hundred times a second: they are added up, and said once a second at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from ...errors import Overrun, Reconnected

if TYPE_CHECKING:
    from ...topics.backlog import Losses, TopicEvent

SAY_EVERY_S: Final = 1.0
"""Losses are said no more often than that; those that come meanwhile are said together, and at the end."""


class Events(Protocol):
    """A subscription of a topic."""

    async def __anext__(self) -> TopicEvent:
        """The next event. Raises Overrun where some were lost before it, StopAsyncIteration at the end."""


class LossTeller:
    """Adds up losses until they are to be said. The clock is handed in."""

    def __init__(self, tell: Callable[[Losses], None]) -> None:
        self._tell = tell
        self._losses: Losses | None = None
        self._next_s = float("-inf")

    @property
    def due_s(self) -> float | None:
        """When those that have not been said are to be said; None where there are none."""
        return None if self._losses is None else self._next_s

    def add(self, error: Overrun) -> None:
        """A reader was told of losses."""
        from ...topics.backlog import Losses

        self._losses = self._losses or Losses()
        self._losses.add(error.lost, unread=error.unread, missing=error.missing)

    def tell_due(self, now_s: float) -> None:
        """Say what is due."""
        if self._losses is not None and now_s >= self._next_s:
            self._next_s = now_s + SAY_EVERY_S
            self.tell_rest()

    def tell_rest(self) -> None:
        """Say what has not been said."""
        losses, self._losses = self._losses, None
        if losses is not None:
            self._tell(losses)


async def follow(
    events: Events,
    show: Callable[[TopicEvent], Awaitable[None]],
    tell: Callable[[Losses | Reconnected], None],
    *,
    count: int | None,
) -> None:
    """Show events, until so many have come or they end, and tell of those that were lost, and where there is another peer."""
    losses, clock = LossTeller(tell), asyncio.get_running_loop().time
    try:
        while count is None or count > 0:
            losses.tell_due(clock())
            try:
                async with asyncio.timeout_at(losses.due_s) as until_due:
                    event = await events.__anext__()
            except TimeoutError:
                if not until_due.expired():
                    raise
                losses.tell_due(max(clock(), losses.due_s or 0.0))  # uvloop rounds to milliseconds
            except Overrun as error:
                losses.add(error)
            except Reconnected as error:
                tell(error)
            except StopAsyncIteration:
                return
            else:
                await show(event)
                count = None if count is None else count - 1
    finally:
        losses.tell_rest()
