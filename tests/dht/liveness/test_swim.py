"""Who lives, decided from events alone."""

from __future__ import annotations

import pytest
from suspects import SIZE, X, contact, deaths, living, probes, says, suspecting

from dht import Contact, PeerReturned
from dht.datagrams.gossip import MAX_INCARNATION, MAX_QUEUED, Rumour, Status
from dht.liveness.local_health import MAX_PATIENCE, suspicion_s
from dht.liveness.members import DOUBT_S
from dht.liveness.orders import Probe, ProbeVia
from dht.liveness.swim import GRAVE_S, MAX_GRAVES, MAX_MEMBERS, SUSPECTS_A_TICK, VISITS_IN_HASTE

# Probes


def test_the_watched_peer_heard_of_longest_ago_is_probed() -> None:
    swim = living(contact(2), contact(3), contact(4))
    swim.report_answer(contact(2), 1.0)

    orders = swim.tick(5.0, [contact(2).id, contact(4).id], SIZE)

    assert probes(orders) == [contact(4)]


def test_who_answered_within_a_period_is_not_asked_again() -> None:
    swim = living(X, now=4.5)

    assert swim.tick(5.0, [X.id], SIZE) == [Probe(X)]
    assert living(X, now=5.0).tick(5.0, [], SIZE) == []


def test_who_is_not_watched_is_asked_for_others_when_its_turn_comes() -> None:
    swim = living(contact(2), contact(3), contact(4))

    asked = [probes(swim.tick(now, [], SIZE), look_around=True) for now in (5.0, 6.0, 7.0, 8.0)]

    assert asked == [[contact(2)], [contact(3)], [contact(4)], []]


def test_after_a_suspicion_more_are_asked_since_deaths_come_in_crowds() -> None:
    swim = living(*(contact(number) for number in range(1, 30)))
    swim.report_asked_to_vouch(X, contact(2).id)
    swim.report_silent(X, 10.0)

    assert len(probes(swim.tick(11.0, [], SIZE), look_around=True)) == VISITS_IN_HASTE
    assert len(probes(swim.tick(40.0, [], SIZE), look_around=True)) == 1


def test_a_probe_that_nobody_reports_of_is_repeated_in_time() -> None:
    swim = living(X)
    swim.tick(5.0, [X.id], SIZE)

    assert swim.tick(6.0, [X.id], SIZE) == []
    assert swim.tick(5.5 + DOUBT_S, [X.id], SIZE) == [Probe(X)]


# Doubt and suspicion


def test_one_silent_probe_kills_nobody_but_asks_three_others() -> None:
    swim = living(X, *(contact(number) for number in range(2, 9)))

    (order,) = swim.report_silent(X, 1.0)

    assert isinstance(order, ProbeVia)
    assert order.contact == X
    assert len(set(order.helpers)) == 3
    assert X not in order.helpers
    assert not swim.suspects(X.id)


def test_helpers_are_near_the_silent_peer() -> None:
    swim = living(X, *(contact(number) for number in range(2, 200)))

    (order,) = swim.report_silent(X, 1.0)

    assert isinstance(order, ProbeVia)
    assert all(int.from_bytes(each.id, "big") < 12 for each in order.helpers)


def test_a_peer_that_a_helper_reaches_is_well() -> None:
    swim = living(X, contact(2))
    swim.report_silent(X, 1.0)

    swim.report_vouched(X, 7, 2.0)

    assert not swim.suspects(X.id)
    assert says(swim, X) == []


def test_a_peer_that_nobody_reaches_is_suspected_and_spoken_of() -> None:
    swim = suspecting()

    assert swim.suspects(X.id)
    assert swim.avoids(X, 10.0)
    assert says(swim, X) == [(Status.SUSPECTED, 0)]


def test_with_no_helper_it_is_suspected_at_once() -> None:
    assert suspecting(helpers=0).suspects(X.id)


def test_a_doubt_that_nobody_reports_of_is_forgotten_in_time() -> None:
    swim = living(X, contact(2), now=0.0)
    swim.report_silent(X, 1.0)

    assert probes(swim.tick(5.0, [X.id], SIZE)) == []
    assert probes(swim.tick(1.5 + DOUBT_S, [X.id], SIZE)) == [X]


def test_the_suspected_are_asked_again_each_period_and_told_of_it() -> None:
    swim = suspecting()

    orders = swim.tick(11.0, [], SIZE)

    assert X in probes(orders)
    assert swim.take_rumours(X.id)[0] == Rumour(Status.SUSPECTED, X.id, 0)


def test_many_suspects_are_asked_in_turn() -> None:
    swim = living(*(contact(number) for number in range(1, 3 * SUSPECTS_A_TICK)))
    for number in range(1, 3 * SUSPECTS_A_TICK):
        for order in swim.report_silent(contact(number), 1.0):
            assert isinstance(order, ProbeVia)
            swim.report_not_vouched(order.contact, 1.0)

    first = probes(swim.tick(1.5, [], 10**6))
    second = probes(swim.tick(2.5, [], 10**6))

    assert len(first) == len(second) == SUSPECTS_A_TICK
    assert not set(first) & set(second)


def test_it_dies_when_its_suspicion_has_run_out() -> None:
    swim = suspecting(now=10.0)
    ticks = {now: deaths(swim.tick(now, [], SIZE)) for now in (11.0, 12.0, 13.0, 13.9, 14.1)}

    assert ticks == {11.0: [], 12.0: [], 13.0: [], 13.9: [], 14.1: [X]}
    assert says(swim, X) == [(Status.DEAD, 0)]
    assert not swim.suspects(X.id)


@pytest.mark.parametrize(
    ("size", "confirmations", "expected_s"),
    [(9, 0, 4.0), (99, 0, 8.0), (256, 0, 9.64), (9, 3, 2.0), (256, 3, 4.82), (256, 9, 4.82), (9, 1, 3.0)],
)
def test_suspicion_lasts_longer_among_many_and_shorter_when_many_suspect(size: int, confirmations: int, expected_s: float) -> None:
    assert suspicion_s(size, confirmations) == pytest.approx(expected_s, abs=0.01)


def test_others_who_suspect_it_too_shorten_the_wait() -> None:
    swim = suspecting(now=10.0)

    for number in (2, 3, 4):
        swim.hear_rumours(contact(number).id, [Rumour(Status.SUSPECTED, X.id, 0)], 10.5)

    assert deaths(swim.tick(11.5, [], SIZE)) == []
    assert deaths(swim.tick(12.1, [], SIZE)) == [X]


def test_one_who_says_it_thrice_counts_once() -> None:
    swim = suspecting(now=10.0)

    for _ in range(3):
        swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, X.id, 0)], 10.5)

    assert deaths(swim.tick(11.5, [], SIZE)) == []
    assert deaths(swim.tick(12.1, [], SIZE)) == []


def test_nobody_is_blamed_for_the_time_that_this_machine_slept() -> None:
    swim = suspecting(now=10.0)

    assert deaths(swim.tick(70.0, [], SIZE)) == []
    assert deaths(swim.tick(71.0, [], SIZE)) == []


def test_who_comes_late_is_patient_with_others_for_a_while() -> None:
    swim = living(X, *(contact(number) for number in range(2, 5)))
    for now in (1.0, 4.0):
        swim.tick(now, [], SIZE)
    swim.report_silent(X, 4.0)
    swim.report_not_vouched(X, 4.0)

    died_at = next(now for now in range(5, 60) if deaths(swim.tick(now, [], SIZE)))

    assert suspicion_s(SIZE, 0) + 4 < died_at <= 3 * suspicion_s(SIZE, 0) + 4


def test_who_suspected_the_living_is_more_patient_each_time_up_to_a_limit() -> None:
    swim = suspecting(now=10.0)
    now, lasted = 10, []
    for _ in range(20):
        swim.report_answer(X, now)
        swim.report_silent(X, now)
        swim.report_not_vouched(X, now)
        now += 1
        assert deaths(swim.tick(now, [], SIZE)) == []
    begun = now - 1
    while not lasted:
        now += 1
        if deaths(swim.tick(now, [], SIZE)):
            lasted.append(now - begun)

    assert 4 * suspicion_s(SIZE, 0) < lasted[0] <= MAX_PATIENCE * suspicion_s(SIZE, 0)


def test_patience_is_lost_while_nothing_is_late_and_nobody_is_wronged() -> None:
    swim = living(X, *(contact(number) for number in range(2, 5)))
    for now in (1.0, 7.0, *map(float, range(8, 400))):
        swim.tick(now, [], SIZE)
    swim.report_silent(X, 399.0)
    swim.report_not_vouched(X, 399.0)

    assert deaths(swim.tick(400.0, [], SIZE)) == []
    assert deaths(swim.tick(401.0, [], SIZE)) == []
    assert deaths(swim.tick(402.0, [], SIZE)) == []
    assert deaths(swim.tick(403.1, [], SIZE)) == [X]


# Graves


def test_who_died_is_not_believed_in_for_a_while_unless_it_answers_itself() -> None:
    swim = living(X)
    swim.report_dead(X, 10.0)

    assert swim.avoids(X, 10.0 + GRAVE_S - 0.1)
    assert not swim.avoids(X, 10.0 + GRAVE_S)
    assert not swim.avoids(contact(1, "10.0.0.2"), 11.0)
    assert swim.report_answer(X, 12.0) == PeerReturned(X)
    assert not swim.avoids(X, 12.0)


@pytest.mark.parametrize(
    ("told", "returned"),
    [
        pytest.param([None, 5_000], [None, None], id="its first"),
        pytest.param([5_000, 5_000, None, 5_001], [None] * 4, id="it has refuted something"),
        pytest.param([5_000, 9_000, 9_000], [None, PeerReturned(X), None], id="another life"),
        pytest.param([5_000, 9_000, 5_000, 9_000], [None, PeerReturned(X), None, None], id="an answer that is late"),
    ],
)
def test_who_answers_in_another_life_has_returned(told: list[int | None], returned: list[PeerReturned | None]) -> None:
    swim = living()

    assert [swim.report_answer(X, 1.0 + number, each) for number, each in enumerate(told)] == returned


def test_who_tells_of_a_new_life_is_asked_and_has_returned_with_its_next_answer() -> None:
    swim = living(X)
    swim.report_answer(X, 1.0, 5_000)

    assert swim.report_new_life(X.id, 9_000, 2.0) == [Probe(X)]

    assert swim.report_answer(X, 3.0) == PeerReturned(X)
    assert swim.report_answer(X, 4.0, 9_000) is None


@pytest.mark.parametrize("told", [None, 5_000], ids=["of whose lives nothing was known", "of another life"])
def test_what_it_is_asked_already_will_do(told: int | None) -> None:
    swim = living(X)
    swim.report_answer(X, 1.0, told)
    assert swim.tick(3.0, [X.id], SIZE) == [Probe(X)]

    assert swim.report_new_life(X.id, 9_000, 3.1) == []

    assert swim.report_answer(X, 3.2, 9_001) == PeerReturned(X)


def test_a_life_that_it_has_answered_in_is_not_new_nor_is_that_of_a_stranger() -> None:
    swim = living(X)
    swim.report_answer(X, 1.0, 9_000)

    assert swim.report_new_life(X.id, 9_000, 2.0) == []
    assert swim.report_new_life(contact(2).id, 9_000, 2.0) == []
    assert swim.report_answer(X, 3.0, 9_000) is None


def test_a_new_life_is_noticed_whatever_the_former_one_has_told() -> None:
    swim = living(X)
    swim.report_answer(X, 1.0, MAX_INCARNATION)  # as where somebody forged a suspicion of a life that is to come

    assert swim.report_new_life(X.id, 9_000, 2.0) == [Probe(X)]

    assert swim.report_answer(X, 3.0, 9_000) == PeerReturned(X)


def test_who_claims_a_new_life_again_and_again_has_returned_once_a_period() -> None:
    swim = living(X)
    swim.report_answer(X, 0.0, 1_000)

    returned = [swim.report_answer(X, 1.0 + number / 10, 2_000 + 1_000 * number) for number in range(15)]

    assert [number for number, each in enumerate(returned) if each] == [0, 10]


def test_a_new_life_is_news_for_those_who_are_far_away_and_they_look() -> None:
    near, far = living(X, contact(2)), living(X)
    for each in (near, far):
        each.report_answer(X, 1.0, 5_000)
    near.report_answer(X, 2.0, 9_000)

    (rumour,) = near.take_rumours(contact(2).id)

    assert rumour == Rumour(Status.ALIVE, X.id, 9_000)
    assert far.hear_rumours(contact(2).id, [rumour], 3.0) == [Probe(X)]
    assert far.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 9_001)], 15.0) == [Probe(X)]


def test_a_refutation_makes_nobody_look() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, 5_000)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 5_001)], 2.0) == []


@pytest.mark.parametrize(
    ("incarnation", "was_apart"),
    [
        pytest.param(5_000, True, id="the same life"),
        pytest.param(5_001, True, id="that has refuted its death"),
        pytest.param(None, True, id="nobody knows which life"),
        pytest.param(9_000, False, id="another life"),
    ],
)
def test_who_returns_in_the_life_in_which_it_was_lost_was_apart(incarnation: int | None, was_apart: bool) -> None:
    swim = living(X)
    swim.report_answer(X, 1.0, 5_000)
    swim.report_dead(X, 10.0)

    returned = swim.report_answer(X, 20.0, incarnation)

    assert returned is not None
    assert returned.was_apart == was_apart


def test_what_others_say_of_its_life_makes_nobody_return() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, 5_000)

    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 9_000)], 2.0)

    assert swim.report_answer(X, 3.0, 5_001) is None
    assert swim.report_answer(X, 4.0, 9_000) == PeerReturned(X)


def test_news_of_a_return_goes_round_and_is_looked_into() -> None:
    told, teller = living(X, contact(2)), living(X)
    told.report_dead(X, 10.0)
    teller.report_dead(X, 10.0)
    teller.report_answer(X, 20.0, incarnation=8)

    (rumour,) = teller.take_rumours(contact(2).id)

    assert rumour == Rumour(Status.ALIVE, X.id, 8)
    assert told.hear_rumours(contact(2).id, [rumour], 21.0) == [Probe(X)]
    assert not told.avoids(X, 21.0)


def test_the_return_of_a_former_life_is_no_news() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, incarnation=8)
    swim.report_dead(X, 10.0)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 8)], 21.0) == []


def test_a_peer_that_moved_is_not_judged_by_its_old_address() -> None:
    swim = living(X)
    swim.report_answer(contact(1, "10.0.0.2"), 1.0)

    assert swim.report_silent(X, 2.0) == []
    swim.report_vouched(X, 1, 2.0)
    swim.report_not_vouched(X, 2.0)
    assert not swim.suspects(X.id)


# What is told of suspicions


def test_a_suspicion_is_told_when_it_begins_and_when_the_peer_lives_after_all() -> None:
    told: list[tuple[Contact, bool]] = []
    swim = suspecting(now=10.0, on_suspected=lambda *news: told.append(news))
    begun = list(told)

    swim.report_answer(X, 11.0)
    swim.report_answer(X, 12.0)

    assert begun == [(X, True)]
    assert told == [(X, True), (X, False)]


def test_the_end_of_a_suspicion_by_death_is_told_as_a_death_alone() -> None:
    told: list[tuple[Contact, bool]] = []
    swim = suspecting(now=10.0, on_suspected=lambda *news: told.append(news))

    died = [deaths(swim.tick(now, [], SIZE)) for now in (11.0, 12.0, 13.0, 14.1)]

    assert died[-1] == [X]
    assert told == [(X, True)]


# Limits


def test_nothing_grows_without_end() -> None:
    swim = living(*(contact(number) for number in range(1, MAX_MEMBERS + 100)))
    assert len(swim) == MAX_MEMBERS

    for number in range(1, MAX_GRAVES + 100):
        swim.report_dead(contact(number), 1.0)

    assert len(swim._graves) == MAX_GRAVES
    assert len(swim._gossip) == MAX_QUEUED
