"""What peers say of each other: who is believed, what is refuted, what is passed on, and how it travels."""

from __future__ import annotations

import pytest
from suspects import OWN, SIZE, X, contact, deaths, living, says, suspecting

from dht import BadAnswer, PeerDied
from dht.datagrams.gossip import MAX_INCARNATION, RUMOURS_PER_DATAGRAM, Rumour, Status, incarnation_from, rumours_from
from dht.liveness.incarnations import REFUTATIONS
from dht.liveness.orders import Probe, ProbeVia

# What others say


@pytest.mark.parametrize("status", [Status.SUSPECTED, Status.DEAD])
def test_the_word_of_others_never_kills_but_makes_us_ask(status: Status) -> None:
    swim = living(X, contact(2))

    orders = [order for number in range(2, 9) for order in swim.hear_rumours(contact(number).id, [Rumour(status, X.id, 9)], 5.0)]

    assert orders == [Probe(X)]
    assert not swim.suspects(X.id)
    assert deaths(swim.tick(100.0, [], SIZE)) == []


def test_who_is_said_to_be_silent_and_is_needs_no_helpers_to_be_suspected() -> None:
    swim = living(X, contact(2))
    swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, X.id, 0)], 5.0)

    assert swim.report_silent(X, 6.0) == []
    assert swim.suspects(X.id)


def test_who_asks_us_to_vouch_has_found_it_silent_himself() -> None:
    swim = living(X, contact(2))
    swim.report_asked_to_vouch(X, contact(2).id)

    assert swim.report_silent(X, 6.0) == []
    assert swim.suspects(X.id)


def test_what_is_said_of_one_who_just_answered_is_not_looked_into() -> None:
    swim = living(X, contact(2), now=5.0)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, X.id, 0)], 5.5) == []


def test_a_peer_that_says_itself_that_it_stops_is_dead_when_it_is_silent() -> None:
    swim = living(X, *(contact(number) for number in range(2, 9)), now=5.0)

    orders = swim.hear_rumours(X.id, [Rumour(Status.DEAD, X.id, 0)], 5.1)

    assert orders == [Probe(X)]
    assert swim.report_silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_counts_also_where_others_have_made_up_a_refutation_of_it() -> None:
    swim = living(X, *(contact(number) for number in range(2, 9)), now=5.0)
    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 50)], 5.0)

    orders = swim.hear_rumours(X.id, [Rumour(Status.DEAD, X.id, 0)], 5.1)

    assert orders == [Probe(X)]
    assert swim.report_silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_counts_also_in_a_life_whose_clock_is_behind_that_of_the_one_before() -> None:
    swim = living(X, *(contact(number) for number in range(2, 9)), now=4.0)
    swim.report_answer(X, 4.5, incarnation=1_000_000)
    swim.report_answer(X, 5.0, incarnation=500_000)

    orders = swim.hear_rumours(X.id, [Rumour(Status.DEAD, X.id, 500_000)], 5.1)

    assert orders == [Probe(X)]
    assert swim.report_silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_of_an_earlier_life_says_nothing() -> None:
    swim = living(X, *(contact(number) for number in range(2, 9)), now=5.0)
    swim.report_answer(X, 5.0, incarnation=7)

    swim.hear_rumours(X.id, [Rumour(Status.DEAD, X.id, 6)], 5.1)

    assert isinstance(swim.report_silent(X, 5.5)[0], ProbeVia)


def test_a_farewell_in_anothers_name_harms_nobody_who_answers() -> None:
    swim = living(X, contact(2))
    swim.hear_rumours(X.id, [Rumour(Status.DEAD, X.id, 0)], 5.0)
    swim.report_answer(X, 5.1)

    (order,) = swim.report_silent(X, 9.0)

    assert isinstance(order, ProbeVia)


def test_what_is_said_of_unknown_peers_is_ignored() -> None:
    swim = living(X)

    assert swim.hear_rumours(X.id, [Rumour(status, contact(7).id, 1) for status in Status], 1.0) == []
    assert len(swim) == 1


# Refutation


def test_a_peer_that_hears_of_its_suspicion_says_that_it_lives_in_a_higher_incarnation() -> None:
    swim = living(X)

    swim.hear_rumours(X.id, [Rumour(Status.SUSPECTED, OWN, 5)], 1.0)

    assert swim.incarnation == 6
    assert swim.take_rumours(X.id) == [Rumour(Status.ALIVE, OWN, 6)]


def test_what_was_said_of_our_former_incarnation_needs_no_answer() -> None:
    swim = living(X)

    swim.hear_rumours(X.id, [Rumour(Status.DEAD, OWN, 4), Rumour(Status.ALIVE, OWN, 9)], 1.0)

    assert swim.incarnation == 5
    assert swim.take_rumours(X.id) == []


def test_a_refutation_that_others_pass_on_has_the_suspect_asked_anew_and_clears_nobody() -> None:
    swim = suspecting(now=10.0)

    probe, via = swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 11.0)

    assert probe == Probe(X)
    assert isinstance(via, ProbeVia)
    assert len(via.helpers) == 3
    assert swim.suspects(X.id)
    assert says(swim, X) == [(Status.ALIVE, 1)]


def test_where_nobody_can_be_asked_to_vouch_the_suspect_itself_is_asked() -> None:
    swim = suspecting(helpers=0)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 11.0) == [Probe(X)]


def test_a_refutation_by_the_suspect_itself_clears_it() -> None:
    swim = suspecting(now=10.0)

    assert swim.hear_rumours(X.id, [Rumour(Status.ALIVE, X.id, 1)], 11.0) == [Probe(X)]
    assert not swim.suspects(X.id)


def test_a_suspect_whose_refutation_others_pass_on_has_as_long_again_to_answer() -> None:
    swim = suspecting(now=10.0)
    for number in (2, 3, 4):
        swim.hear_rumours(contact(number).id, [Rumour(Status.SUSPECTED, X.id, 0)], 10.5)
    swim.hear_rumours(contact(5).id, [Rumour(Status.ALIVE, X.id, 1)], 11.5)

    assert [now for now in range(11, 20) if deaths(swim.tick(float(now), [], SIZE))] == [16]


def test_a_suspect_that_answers_when_it_is_asked_anew_is_well() -> None:
    swim = suspecting(now=10.0)
    swim.hear_rumours(contact(5).id, [Rumour(Status.ALIVE, X.id, 1)], 13.5)

    assert swim.report_answer(X, 15.0, incarnation=1) is None

    assert not swim.suspects(X.id)
    assert [now for now in range(11, 20) if deaths(swim.tick(float(now), [], SIZE))] == []


@pytest.mark.parametrize("beyond", [0, 10**12], ids=["believed", "not believed"])
def test_a_silent_suspect_dies_however_often_others_say_that_it_lives(beyond: int) -> None:
    swim = suspecting(now=10.0)
    died_at = []
    for now in range(11, 30):
        for order in swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, beyond + now)], now):
            if isinstance(order, ProbeVia):
                swim.report_not_vouched(order.contact, now)
        swim.report_silent(X, now)
        died_at += [now for _ in deaths(swim.tick(now, [], SIZE))]

    assert died_at == [11 + 4]


def test_what_one_suspicion_was_longer_the_next_one_is_not() -> None:
    swim = suspecting(now=10.0)
    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 13.5)
    swim.hear_rumours(X.id, [Rumour(Status.ALIVE, X.id, 2)], 13.6)
    for now in range(11, 21):
        swim.tick(float(now), [], SIZE)
    for order in swim.report_silent(X, 20.0):
        assert isinstance(order, ProbeVia)
        swim.report_not_vouched(order.contact, 20.0)

    assert [now for now in (21, 22, 23, 24, 25) if deaths(swim.tick(float(now), [], SIZE))] == [24]


def test_a_suspect_that_others_reach_once_it_is_said_to_have_refuted_it_is_well() -> None:
    swim = suspecting(now=10.0)

    swim.report_vouched(X, 1, 10.5)
    assert swim.suspects(X.id)

    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 11.0)
    swim.report_vouched(X, 1, 11.5)
    assert not swim.suspects(X.id)


def test_who_is_silent_in_the_incarnation_too_that_it_is_said_to_live_in_is_spoken_of_again() -> None:
    swim = suspecting(now=10.0)
    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 11.0)

    swim.report_not_vouched(X, 11.5)

    assert says(swim, X) == [(Status.SUSPECTED, 1)]


def test_a_refutation_that_others_pass_on_leaves_a_doubt_to_the_helpers() -> None:
    swim = living(X, *(contact(number) for number in range(2, 5)))
    swim.report_silent(X, 10.0)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1)], 10.2) == []
    swim.report_not_vouched(X, 10.5)

    assert swim.suspects(X.id)


def test_that_it_lives_in_the_incarnation_that_is_suspected_clears_nobody() -> None:
    swim = suspecting(now=10.0)

    swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 0)], 11.0)

    assert swim.suspects(X.id)


def test_a_suspicion_of_a_lower_incarnation_is_answered_with_the_refutation() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, incarnation=3)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, X.id, 2)], 9.0) == []
    assert says(swim, X) == [(Status.ALIVE, 3)]


def test_a_suspect_that_answers_is_well_and_what_we_said_of_it_is_taken_back() -> None:
    swim = suspecting(now=10.0)

    assert swim.report_answer(X, 11.0, incarnation=1) is None

    assert not swim.suspects(X.id)
    assert says(swim, X) == [(Status.ALIVE, 1)]


# Incarnations that nobody can have come to


@pytest.mark.parametrize("status", [Status.SUSPECTED, Status.DEAD])
@pytest.mark.parametrize("forged", [MAX_INCARNATION, MAX_INCARNATION - 1, 5 + REFUTATIONS + 1])
def test_who_is_suspected_in_an_incarnation_to_come_can_refute_the_next_suspicion(status: Status, forged: int) -> None:
    swim = living(X)

    swim.hear_rumours(X.id, [Rumour(status, OWN, forged)], 1.0)
    assert swim.incarnation == 5
    assert swim.counts == {"rumours of lives to come": 1}

    swim.hear_rumours(X.id, [Rumour(Status.SUSPECTED, OWN, 5)], 2.0)
    assert swim.take_rumours(X.id) == [Rumour(Status.ALIVE, OWN, 6)]


def test_whoever_drives_an_incarnation_up_leaves_more_to_refute_with() -> None:
    swim = living(X)
    for now in (1.0, 2.0):
        swim.tick(now, [], SIZE)
        for forged in range(5, 3 * REFUTATIONS + 1_000):
            swim.hear_rumours(X.id, [Rumour(Status.SUSPECTED, OWN, forged)], now)
    driven = swim.incarnation

    swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, OWN, driven)], 2.1)

    assert driven == 5 + 1_000 + REFUTATIONS + 1
    assert swim.incarnation == driven + 1


def test_an_incarnation_beyond_what_a_peer_has_told_is_not_believed_of_it_but_it_is_asked() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, incarnation=5)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, MAX_INCARNATION)], 2.0) == [Probe(X)]

    assert says(swim, X) == []
    assert swim.counts == {"rumours of lives to come": 1}
    swim.hear_rumours(contact(2).id, [Rumour(Status.SUSPECTED, X.id, 5)], 3.0)
    assert says(swim, X) == []


def test_of_a_peer_that_has_told_nothing_what_our_own_clock_explains_is_believed() -> None:
    swim = living(X, contact(2))
    swim.tick(1.0, [], SIZE)
    latest = 5 + 2_000 + REFUTATIONS

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, latest + 1)], 3.0) == []
    assert says(swim, X) == []
    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, latest)], 3.0) == []
    assert says(swim, X) == [(Status.ALIVE, latest)]


def test_an_incarnation_that_a_helper_makes_up_is_not_believed() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, incarnation=5)
    swim.report_silent(X, 2.0)

    swim.report_vouched(X, MAX_INCARNATION, 2.5)
    swim.report_silent(X, 9.0)
    swim.report_not_vouched(X, 9.5)

    assert says(swim, X) == [(Status.SUSPECTED, 5)]


def test_what_is_made_up_of_the_dead_does_not_keep_its_true_return_from_being_seen() -> None:
    swim = living(X, contact(2))
    swim.report_answer(X, 1.0, incarnation=5)
    swim.report_dead(X, 10.0)

    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, MAX_INCARNATION)], 20.0) == [Probe(X)]
    assert swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 6)], 31.0) == [Probe(X)]
    returned = swim.report_answer(X, 32.0, incarnation=1_000)

    assert returned is not None
    assert not returned.was_apart


def test_the_dead_are_not_asked_again_and_again_at_others_word() -> None:
    swim = living(X, contact(2))
    swim.report_dead(X, 10.0)

    asked = [swim.hear_rumours(contact(2).id, [Rumour(Status.ALIVE, X.id, 1 + number)], 11.0 + number) for number in range(12)]

    assert [number for number, orders in enumerate(asked) if orders] == [0, 11]


# Passing on


def test_a_rumour_is_said_a_number_of_times_that_grows_with_the_logarithm_of_the_size() -> None:
    swim = suspecting(now=10.0)

    assert [len(swim.take_rumours(contact(99).id)) for _ in range(6)] == [1, 1, 1, 1, 0, 0]


def test_what_was_said_least_is_said_first_and_no_more_than_fits() -> None:
    swim = living(*(contact(number) for number in range(1, 2 * RUMOURS_PER_DATAGRAM + 1)))
    for number in range(1, 2 * RUMOURS_PER_DATAGRAM + 1):
        swim.report_dead(contact(number), 1.0)

    first, second = swim.take_rumours(contact(99).id), swim.take_rumours(contact(99).id)

    assert len(first) == len(second) == RUMOURS_PER_DATAGRAM
    assert not {each.peer for each in first} & {each.peer for each in second}


@pytest.mark.parametrize(
    "raw",
    [
        None,
        {},
        [1],
        [[3, X.id, 1]],
        [[1, b"short", 1]],
        [[1, X.id, -1]],
        [[1, X.id, MAX_INCARNATION + 1]],
        [[1, X.id]],
        [[1, X.id, 1]] * (RUMOURS_PER_DATAGRAM + 1),
    ],
)
def test_what_is_no_list_of_rumours_is_refused(raw: object) -> None:
    with pytest.raises(BadAnswer):
        rumours_from(raw)


def test_rumours_are_read_as_they_were_written() -> None:
    assert rumours_from([[1, X.id, 7], (2, OWN, 0)]) == [Rumour(Status.SUSPECTED, X.id, 7), Rumour(Status.DEAD, OWN, 0)]


@pytest.mark.parametrize("raw", [True, -1, MAX_INCARNATION + 1, "1", None, 1.0])
def test_what_is_no_incarnation_is_refused(raw: object) -> None:
    with pytest.raises(BadAnswer, match="is no incarnation"):
        incarnation_from(raw)
