"""How long an event that was spoken of is waited for."""

from __future__ import annotations

from gsg.topics.diffusion.arrivals import LEAST_S, MOST_S, Arrivals


def test_wait_is_the_least_before_anything_is_measured() -> None:
    assert Arrivals().patience_s == LEAST_S


def test_wait_grows_with_lateness_up_to_the_most() -> None:
    arrivals = Arrivals()

    for number in range(1, 50):
        arrivals.announced(b"s", number, 0.0)
        arrivals.arrived(b"s", number, 5.0, was_asked_for=False)

    assert arrivals.patience_s == MOST_S


def test_event_that_was_asked_for_says_nothing() -> None:
    arrivals = Arrivals()
    arrivals.announced(b"s", 1, 0.0)

    arrivals.arrived(b"s", 1, 5.0, was_asked_for=True)

    assert arrivals.patience_s == LEAST_S


def test_first_mark_counts() -> None:
    arrivals = Arrivals()
    arrivals.announced(b"s", 2, 0.0)
    arrivals.announced(b"s", 3, 4.9)
    arrivals.arrived(b"s", 1, 5.0, was_asked_for=False)

    arrivals.arrived(b"s", 2, 5.0, was_asked_for=False)

    assert arrivals.patience_s == MOST_S


def test_forgotten_source_is_not_waited_for() -> None:
    arrivals = Arrivals()
    arrivals.announced(b"s", 1, 0.0)
    arrivals.forget(b"s")

    arrivals.arrived(b"s", 1, 5.0, was_asked_for=False)

    assert arrivals.patience_s == LEAST_S
