"""What peers say of each other: who is believed, what is refuted, what is passed on, and how it travels."""

from __future__ import annotations

import pytest
from suspects import OWN, SIZE, X, contact, deaths, living, says, suspecting

from dht import BadAnswer, PeerDied
from dht.liveness import Probe, ProbeVia
from dht.rumours import MAX_INCARNATION, RUMOURS, Rumour, Word, incarnation_from, rumours_from

# What others say


@pytest.mark.parametrize("word", [Word.SUSPECTED, Word.DEAD])
def test_the_word_of_others_never_kills_but_makes_us_ask(word: Word) -> None:
    liveness = living(X, contact(2))

    orders = [order for number in range(2, 9) for order in liveness.heard(contact(number).id, [Rumour(word, X.id, 9)], 5.0)]

    assert orders == [Probe(X)]
    assert not liveness.suspects(X.id)
    assert deaths(liveness.tick(100.0, [], SIZE)) == []


def test_who_is_said_to_be_silent_and_is_needs_no_helpers_to_be_suspected() -> None:
    liveness = living(X, contact(2))
    liveness.heard(contact(2).id, [Rumour(Word.SUSPECTED, X.id, 0)], 5.0)

    assert liveness.silent(X, 6.0) == []
    assert liveness.suspects(X.id)


def test_who_asks_us_to_vouch_has_found_it_silent_himself() -> None:
    liveness = living(X, contact(2))
    liveness.asked_to_vouch(X, contact(2).id)

    assert liveness.silent(X, 6.0) == []
    assert liveness.suspects(X.id)


def test_what_is_said_of_one_who_just_answered_is_not_looked_into() -> None:
    liveness = living(X, contact(2), now=5.0)

    assert liveness.heard(contact(2).id, [Rumour(Word.SUSPECTED, X.id, 0)], 5.5) == []


def test_a_peer_that_says_itself_that_it_stops_is_dead_when_it_is_silent() -> None:
    liveness = living(X, *(contact(number) for number in range(2, 9)), now=5.0)

    orders = liveness.heard(X.id, [Rumour(Word.DEAD, X.id, 0)], 5.1)

    assert orders == [Probe(X)]
    assert liveness.silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_in_anothers_name_harms_nobody_who_answers() -> None:
    liveness = living(X, contact(2))
    liveness.heard(X.id, [Rumour(Word.DEAD, X.id, 0)], 5.0)
    liveness.answered(X, 5.1)

    (order,) = liveness.silent(X, 9.0)

    assert isinstance(order, ProbeVia)


def test_what_is_said_of_unknown_peers_is_ignored() -> None:
    liveness = living(X)

    assert liveness.heard(X.id, [Rumour(word, contact(7).id, 1) for word in Word], 1.0) == []
    assert len(liveness) == 1


# Refutation


def test_a_peer_that_hears_of_its_suspicion_says_that_it_lives_in_a_higher_incarnation() -> None:
    liveness = living(X)

    liveness.heard(X.id, [Rumour(Word.SUSPECTED, OWN, 5)], 1.0)

    assert liveness.incarnation == 6
    assert liveness.rumours(X.id) == [Rumour(Word.LIVES, OWN, 6)]


def test_what_was_said_of_our_former_incarnation_needs_no_answer() -> None:
    liveness = living(X)

    liveness.heard(X.id, [Rumour(Word.DEAD, OWN, 4), Rumour(Word.LIVES, OWN, 9)], 1.0)

    assert liveness.incarnation == 5
    assert liveness.rumours(X.id) == []


def test_a_refutation_clears_a_suspect_is_passed_on_and_looked_into() -> None:
    liveness = suspecting(now=10.0)

    orders = liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 11.0)

    assert orders == [Probe(X)]
    assert not liveness.suspects(X.id)
    assert says(liveness, X) == [(Word.LIVES, 1)]


def test_that_it_lives_in_the_incarnation_that_is_suspected_clears_nobody() -> None:
    liveness = suspecting(now=10.0)

    liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 0)], 11.0)

    assert liveness.suspects(X.id)


def test_a_suspicion_of_a_lower_incarnation_is_answered_with_the_refutation() -> None:
    liveness = living(X, contact(2))
    liveness.answered(X, 1.0, incarnation=3)

    assert liveness.heard(contact(2).id, [Rumour(Word.SUSPECTED, X.id, 2)], 9.0) == []
    assert says(liveness, X) == [(Word.LIVES, 3)]


def test_a_suspect_that_answers_is_well_and_what_we_said_of_it_is_taken_back() -> None:
    liveness = suspecting(now=10.0)

    assert liveness.answered(X, 11.0, incarnation=1) is None

    assert not liveness.suspects(X.id)
    assert says(liveness, X) == [(Word.LIVES, 1)]


def test_a_lie_about_an_incarnation_does_not_run_away_with_the_numbers() -> None:
    liveness = living(X)

    liveness.heard(X.id, [Rumour(Word.SUSPECTED, OWN, MAX_INCARNATION)], 1.0)

    assert liveness.incarnation == MAX_INCARNATION


# Passing on


def test_a_rumour_is_said_a_number_of_times_that_grows_with_the_logarithm_of_the_size() -> None:
    liveness = suspecting(now=10.0)

    assert [len(liveness.rumours(contact(99).id)) for _ in range(6)] == [1, 1, 1, 1, 0, 0]


def test_what_was_said_least_is_said_first_and_no_more_than_fits() -> None:
    liveness = living(*(contact(number) for number in range(1, 2 * RUMOURS + 1)))
    for number in range(1, 2 * RUMOURS + 1):
        liveness.lost(contact(number), 1.0)

    first, second = liveness.rumours(contact(99).id), liveness.rumours(contact(99).id)

    assert len(first) == len(second) == RUMOURS
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
        [[1, X.id, 1]] * (RUMOURS + 1),
    ],
)
def test_what_is_no_list_of_rumours_is_refused(raw: object) -> None:
    with pytest.raises(BadAnswer):
        rumours_from(raw)


def test_rumours_are_read_as_they_were_written() -> None:
    assert rumours_from([[1, X.id, 7], (2, OWN, 0)]) == [Rumour(Word.SUSPECTED, X.id, 7), Rumour(Word.DEAD, OWN, 0)]


@pytest.mark.parametrize("raw", [True, -1, MAX_INCARNATION + 1, "1", None, 1.0])
def test_what_is_no_incarnation_is_refused(raw: object) -> None:
    with pytest.raises(BadAnswer, match="is no incarnation"):
        incarnation_from(raw)
