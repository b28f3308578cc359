"""A subscription whose differences come while others work."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress

import pytest

from gsg import LiveSubscription, Overrun, PeerUnreachable, Row, Sign, Stale
from gsg.languages.rows import Change
from gsg.subscriptions.subscription import Callback


def changes(*values: int) -> list[Change]:
    return [(Sign.PLUS, Row({"x": value})) for value in values]


class Made:
    """A subscription, and how often it has told its maker that it was closed."""

    def __init__(self, callback: Callback | None = None, limit: int = 100) -> None:
        self.closed = 0
        self.subscription = LiveSubscription(("x",), self, callback=callback, limit=limit)

    def rows_now(self) -> Counter[Row]:
        return Counter({Row({"x": 7}): 1})

    async def close(self) -> None:
        self.closed += 1

    def end_unread(self) -> None:
        """Nobody asks for that."""


async def test_a_reader_waits_for_what_comes_next() -> None:
    subscription = Made().subscription
    waiting = asyncio.create_task(subscription.batch(10))
    await asyncio.sleep(0)
    assert not waiting.done()

    subscription.deliver(changes(1, 2))

    assert await waiting == changes(1, 2)
    assert subscription.pending == 0


async def test_a_read_that_is_given_up_loses_nothing_and_one_after_the_end_says_so() -> None:
    subscription = Made().subscription
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await anext(subscription)

    subscription.deliver(changes(1, 2))

    assert [await anext(subscription)] == changes(1)
    assert [await anext(subscription)] == changes(2)
    subscription.end(None)
    assert await anext(subscription, None) is None


async def test_a_batch_is_the_oldest_and_no_more_than_asked_for() -> None:
    subscription = Made().subscription
    subscription.deliver(changes(1, 2, 3))

    assert await subscription.batch(2) == changes(1, 2)
    assert await subscription.batch(2) == changes(3)


async def test_a_closed_subscription_has_no_rows_and_gives_nothing_more() -> None:
    made = Made()
    made.subscription.deliver(changes(1, 2))
    assert made.subscription.rows()
    await made.subscription.close()
    await made.subscription.close()
    made.subscription.deliver(changes(3))

    assert made.subscription.rows() == Counter()
    assert [change async for change in made.subscription] == []
    assert await made.subscription.batch(1) == []
    assert (made.closed, made.subscription.pending) == (1, 0)


async def test_a_callback_hears_nothing_after_the_subscription_was_closed() -> None:
    heard: list[Change] = []
    subscription = Made(callback=lambda sign, row: heard.append((sign, row))).subscription
    await subscription.close()

    subscription.deliver(changes(1))

    assert heard == []


async def test_what_has_come_can_be_read_after_the_maker_has_ended_it() -> None:
    subscription = Made().subscription
    subscription.deliver(changes(1, 2))
    subscription.end(None)

    assert [change async for change in subscription] == changes(1, 2)


async def test_events_dropped_on_their_way_are_told_once_and_reading_goes_on() -> None:
    subscription = Made().subscription
    waiting = asyncio.create_task(subscription.batch(1))
    await asyncio.sleep(0)
    subscription.tell_problem(Overrun("2 events were dropped", lost=2))
    subscription.deliver(changes(1))

    with pytest.raises(Overrun, match="2 events were dropped"):
        await waiting
    assert await subscription.batch(5) == changes(1)


async def test_of_what_was_dropped_several_times_before_it_was_told_the_sum_is_told() -> None:
    subscription = Made().subscription

    for lost in (8_000, 1_000):
        subscription.tell_problem(Overrun(f"{lost} events were dropped because 7 differences were waiting", lost=lost))

    with pytest.raises(Overrun, match="9000 events were dropped because 7 differences") as told:
        await subscription.batch(1)
    assert told.value.lost == 9_000


async def test_whoever_waits_is_told_once_that_rows_may_be_out_of_date_and_reading_goes_on() -> None:
    subscription = Made().subscription
    waiting = asyncio.create_task(subscription.batch(1))
    await asyncio.sleep(0)

    subscription.tell_problem(Stale("no feed"))

    with pytest.raises(Stale, match="no feed"):
        await asyncio.wait_for(waiting, 10)
    subscription.deliver(changes(1))
    assert await subscription.batch(1) == changes(1)


async def test_that_rows_may_be_out_of_date_is_logged_where_a_callback_hears_of_them(caplog: pytest.LogCaptureFixture) -> None:
    Made(callback=lambda sign, row: None).subscription.tell_problem(Stale("no feed"))

    assert "subscription to ('x',): no feed" in caplog.text


async def test_a_closed_subscription_does_not_say_that_rows_may_be_out_of_date() -> None:
    subscription = Made().subscription
    subscription.tell_problem(Stale("no feed"))
    await subscription.close()
    subscription.tell_problem(Stale("no feed"))

    assert await subscription.batch(1) == []


async def test_why_a_subscription_has_ended_is_told_rather_than_that_rows_may_be_out_of_date() -> None:
    subscription = Made().subscription
    subscription.deliver(changes(1))
    subscription.tell_problem(Stale("no feed"))
    subscription.end(PeerUnreachable("gone"))

    assert await subscription.batch(1) == changes(1)
    with pytest.raises(PeerUnreachable, match="gone"):
        await subscription.batch(1)


async def test_events_dropped_before_a_callback_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    Made(callback=lambda sign, row: None).subscription.tell_problem(Overrun("2 events were dropped", lost=2))

    assert "subscription to ('x',): 2 events were dropped" in caplog.text


async def test_closing_wakes_a_reader() -> None:
    async with Made().subscription as subscription:
        waiting = asyncio.create_task(subscription.batch(1))
        await asyncio.sleep(0)

    assert await waiting == []


async def test_what_ended_a_subscription_is_raised_after_what_had_come() -> None:
    made = Made()
    made.subscription.deliver(changes(1))
    made.subscription.end(PeerUnreachable("gone"))

    assert await made.subscription.batch(1) == changes(1)
    with pytest.raises(PeerUnreachable, match="gone"):
        await made.subscription.batch(1)
    await made.subscription.close()
    assert made.closed == 0


async def test_who_goes_on_reading_what_has_ended_keeps_nobody_waiting() -> None:
    subscription = Made().subscription
    subscription.end(Overrun("too slow", lost=1))
    turns = 0

    async def read_on() -> None:
        nonlocal turns
        while True:
            with suppress(Overrun):
                await subscription.batch(1)
            turns += 1

    reading = asyncio.create_task(read_on())
    for _ in range(5):
        await asyncio.sleep(0)
    reading.cancel()

    assert 1 < turns < 10


async def test_a_reader_that_was_too_slow_for_events_is_told_once() -> None:
    subscription = Made(limit=1).subscription
    subscription.deliver([(Sign.EVENT, Row({"x": value})) for value in (1, 2, 3)])

    with pytest.raises(Overrun, match="2 events were dropped"):
        await subscription.batch(5)
    assert await subscription.batch(5) == [(Sign.EVENT, Row({"x": 3}))]


async def test_a_callback_takes_the_place_of_reading(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Change] = []
    subscription = Made(callback=lambda sign, row: heard.append((sign, row)) or 1 // (row["x"] - 2)).subscription  # type: ignore[operator, func-returns-value]  # fails at 2

    with caplog.at_level(logging.ERROR, logger="gsg.subscriptions.subscription"):
        subscription.deliver(changes(1, 2, 3))

    assert heard == changes(1, 2, 3)
    assert (subscription.failures, subscription.pending) == (1, 0)
    assert "callback of a subscription to ('x',) failed on + ?x=2" in caplog.text


def test_rows_are_those_of_its_maker() -> None:
    async def rows() -> Counter[Row]:
        return Made().subscription.rows()

    assert asyncio.run(rows()) == Counter({Row({"x": 7}): 1})


async def test_it_says_how_it_is() -> None:
    made = Made(limit=2).subscription
    made.deliver(changes(1))
    assert repr(made) == "<gsg.LiveSubscription to ?x: open, 1 unread>"

    made.tell_missed(Overrun("events were dropped", lost=1_234))
    made.end(PeerUnreachable("nobody answers"))

    assert repr(made) == "<gsg.LiveSubscription to ?x: ended by PeerUnreachable, 1 unread, 1,234 lost>"
    called = Made(callback=lambda sign, row: None).subscription
    assert repr(called) == "<gsg.LiveSubscription to ?x: open, told by callback>"
    called.end(None)
    assert repr(called) == "<gsg.LiveSubscription to ?x: ended, told by callback>"
