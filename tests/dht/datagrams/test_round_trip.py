"""How long to wait is learned from the answers."""

from __future__ import annotations

from dht.datagrams.round_trip import CEILING_S, FLOOR_S, FOR_LOOKUP, INITIAL_S, RoundTrip


def test_the_first_wait_is_half_a_second() -> None:
    assert RoundTrip().timeout_s == INITIAL_S == 0.5


def test_quick_steady_answers_shorten_it_to_the_floor() -> None:
    trip = RoundTrip()

    for _ in range(50):
        trip.sample(0.001)

    assert trip.timeout_s == FLOOR_S


def test_slow_answers_lengthen_it_to_the_ceiling() -> None:
    trip = RoundTrip()

    for _ in range(50):
        trip.sample(3.0)

    assert trip.timeout_s == CEILING_S


def test_answers_that_vary_leave_room_above_their_mean() -> None:
    trip = RoundTrip()

    for taken_s in (0.1, 0.2) * 50:
        trip.sample(taken_s)

    assert 0.2 < trip.timeout_s < 0.5


def test_each_transmission_of_a_lookup_has_time_for_its_answer_and_a_dead_peer_costs_three_times_that() -> None:
    left = [sum(FOR_LOOKUP[number:]) for number in range(len(FOR_LOOKUP))]

    assert min(left) == 1.0
    assert left[0] == 3.0
