"""How long clients wait, in the form that Prometheus asks for."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from gsg import Peer
from gsg.monitoring.histogram import Histogram
from gsg.monitoring.timings import EVERY, UNDER_WAY, Timings
from gsg.wire.messages import Event

OWN, OTHER = b"o" * 20, b"x" * 20


def test_a_bucket_has_all_that_took_no_longer_than_its_bound() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(seconds)

    assert histogram.buckets() == [("0.1", 2), ("1.0", 3), ("+Inf", 4)]
    assert histogram.sum_s == pytest.approx(7.65)


def test_an_event_is_timed_once_and_only_if_it_is_this_peers() -> None:
    timings = Timings(OWN, clock=count().__next__)
    timings.begin_events(EVERY)
    timings.begin_events(EVERY + 1)
    events = [Event(EVERY - 1, (1,)), Event(EVERY, (1,))]

    timings.events_told(OTHER, events)
    timings.events_told(OWN, events)
    timings.events_told(OWN, events)

    assert timings.event_row.buckets()[-1] == ("+Inf", 1)
    assert timings.event_row.sum_s == 1.0


def test_events_that_nobody_here_asked_for_are_forgotten_at_the_limit() -> None:
    timings = Timings(OWN)
    numbers = range(0, EVERY * (UNDER_WAY + 5), EVERY)
    for number in numbers:
        timings.begin_events(number)

    assert list(timings.under_way) == list(numbers[5:])


async def test_calls_and_events_of_a_peers_own_clients_are_timed() -> None:
    async with Peer() as peer:
        subscription = await peer.subscribe("(?x, 1)")
        await peer.insert([("a", 1), ("b", 1)])
        for number in range(2 * EVERY):
            await peer.notify([(number, 1)])
        while subscription.pending < 2 + 2 * EVERY:  # noqa: ASYNC110  # nothing tells when all have come
            await asyncio.sleep(0)

        timings = peer.vitals.timings
        assert (timings.acknowledge.buckets()[-1], timings.event_row.buckets()[-1]) == (("+Inf", 1 + 2 * EVERY), ("+Inf", 2))
        assert timings.event_row.sum_s > 0
