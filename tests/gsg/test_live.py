"""A subscription whose differences come while others work."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

from gsg import LiveSubscription, Overrun, PeerUnreachable, Row, Sign
from gsg.rows import Change
from gsg.subscription import Callback


def changes(*values: int) -> list[Change]:
    return [(Sign.PLUS, Row({"x": value})) for value in values]


class Made:
    """A subscription, and how often it has told its maker that it was closed."""

    def __init__(self, callback: Callback | None = None, limit: int = 100) -> None:
        self.closed = 0
        self.subscription = LiveSubscription(
            ("x",), rows_now=lambda: Counter({Row({"x": 7}): 1}), on_close=self._close, callback=callback, limit=limit
        )

    async def _close(self) -> None:
        self.closed += 1


async def test_a_reader_waits_for_what_comes_next() -> None:
    subscription = Made().subscription
    waiting = asyncio.create_task(subscription.batch(10))
    await asyncio.sleep(0)
    assert not waiting.done()

    subscription.deliver(changes(1, 2))

    assert await waiting == changes(1, 2)
    assert subscription.pending == 0


async def test_a_batch_is_the_oldest_and_no_more_than_asked_for() -> None:
    subscription = Made().subscription
    subscription.deliver(changes(1, 2, 3))

    assert await subscription.batch(2) == changes(1, 2)
    assert await subscription.batch(2) == changes(3)


async def test_reading_in_a_loop_ends_when_the_subscription_is_closed() -> None:
    made = Made()
    made.subscription.deliver(changes(1, 2))
    await made.subscription.close()
    await made.subscription.close()

    assert [change async for change in made.subscription] == changes(1, 2)
    assert made.closed == 1
    assert await made.subscription.batch(1) == []


async def test_closing_wakes_a_reader() -> None:
    async with Made().subscription as subscription:
        waiting = asyncio.create_task(subscription.batch(1))
        await asyncio.sleep(0)

    assert await waiting == []


async def test_what_ended_a_subscription_is_raised_after_what_had_come() -> None:
    made = Made()
    made.subscription.deliver(changes(1))
    made.subscription.ended(PeerUnreachable("gone"))

    assert await made.subscription.batch(1) == changes(1)
    with pytest.raises(PeerUnreachable, match="gone"):
        await made.subscription.batch(1)
    await made.subscription.close()
    assert made.closed == 0


async def test_a_reader_that_was_too_slow_for_events_is_told_once() -> None:
    subscription = Made(limit=1).subscription
    subscription.deliver([(Sign.EVENT, Row({"x": value})) for value in (1, 2, 3)])

    with pytest.raises(Overrun, match="2 events were dropped"):
        await subscription.batch(5)
    assert await subscription.batch(5) == [(Sign.EVENT, Row({"x": 3}))]


async def test_a_callback_takes_the_place_of_reading(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Change] = []
    subscription = Made(callback=lambda sign, row: heard.append((sign, row)) or 1 // (row["x"] - 2)).subscription  # type: ignore[operator, func-returns-value]  # fails at 2

    with caplog.at_level(logging.ERROR, logger="gsg.live"):
        subscription.deliver(changes(1, 2, 3))

    assert heard == changes(1, 2, 3)
    assert (subscription.failures, subscription.pending) == (1, 0)
    assert "callback of a subscription to ('x',) failed on + ?x=2" in caplog.text


def test_rows_are_those_of_its_maker() -> None:
    async def rows() -> Counter[Row]:
        return Made().subscription.rows()

    assert asyncio.run(rows()) == Counter({Row({"x": 7}): 1})
