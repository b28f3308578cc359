"""What comes late is told to the log: not each by itself, all of it, and with the right reason."""

from __future__ import annotations

import asyncio

import pytest
from line import Line, NoEvents

import gsg.feeds.publisher_order
from dht.simnet import SimNet, run
from gsg.feeds.ordered_delivery import OrderedDelivery
from gsg.feeds.publisher_order import ORDER_WAIT_S
from gsg.wire.messages import Event, Happened

HERE, MISSING = Line("here"), Line("missing")


def after_another(number: int) -> Happened:
    """An event before which one is to come by another rendezvous, which says nothing."""
    return Happened(b"p", [Event(number, ("x", number))], [[1]], [(MISSING.contact.id, number - 1, number - 1)])


def logged(caplog: pytest.LogCaptureFixture, *waits_s: float) -> tuple[int, list[int]]:
    """How many events came late, each arriving so long after the one before, and the numbers that the log was told."""

    async def main(net: SimNet) -> int:
        order = OrderedDelivery(lambda peer: [MISSING] if peer == MISSING.contact.id else [HERE], lambda peer: [], NoEvents())
        for number, wait_s in enumerate(waits_s, 1):
            await asyncio.sleep(wait_s)
            order.take_events(HERE, after_another(2 * number))
        await asyncio.sleep(ORDER_WAIT_S + 0.1)
        order.stop()
        return order.late

    late = run(main, seed=1)
    return late, [int(record.getMessage().split()[0]) for record in caplog.records if "has not come within" in record.getMessage()]


def test_what_comes_late_soon_after_is_logged_together_and_at_the_end_at_the_latest(caplog: pytest.LogCaptureFixture) -> None:
    late, told = logged(caplog, 0.0, 1.0, 0.5, 0.5)

    assert (late, sum(told)) == (late, late)
    assert late > 1
    assert len(told) == 2


def test_what_leaves_for_want_of_room_is_not_said_to_have_waited(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.feeds.publisher_order, "HELD", 1)

    late, told = logged(caplog, 0.0, 0.0, 0.0)

    assert late > sum(told)
