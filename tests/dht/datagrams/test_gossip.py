"""What peers say of each other: who is believed, what is refuted, what is passed on, and how it travels."""

from __future__ import annotations

import pytest
from suspects import OWN, SIZE, X, contact, deaths, living, says, suspecting

from dht import BadAnswer, PeerDied
from dht.datagrams.gossip import MAX_INCARNATION, RUMOURS, Rumour, Word, incarnation_from, rumours_from
from dht.liveness.incarnations import REFUTATIONS
from dht.liveness.swim import Probe, ProbeVia

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


def test_a_farewell_counts_also_where_others_have_made_up_a_refutation_of_it() -> None:
    liveness = living(X, *(contact(number) for number in range(2, 9)), now=5.0)
    liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 50)], 5.0)

    orders = liveness.heard(X.id, [Rumour(Word.DEAD, X.id, 0)], 5.1)

    assert orders == [Probe(X)]
    assert liveness.silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_counts_also_in_a_life_whose_clock_is_behind_that_of_the_one_before() -> None:
    liveness = living(X, *(contact(number) for number in range(2, 9)), now=4.0)
    liveness.answered(X, 4.5, incarnation=1_000_000)
    liveness.answered(X, 5.0, incarnation=500_000)

    orders = liveness.heard(X.id, [Rumour(Word.DEAD, X.id, 500_000)], 5.1)

    assert orders == [Probe(X)]
    assert liveness.silent(X, 5.5) == [PeerDied(X)]


def test_a_farewell_of_an_earlier_life_says_nothing() -> None:
    liveness = living(X, *(contact(number) for number in range(2, 9)), now=5.0)
    liveness.answered(X, 5.0, incarnation=7)

    liveness.heard(X.id, [Rumour(Word.DEAD, X.id, 6)], 5.1)

    assert isinstance(liveness.silent(X, 5.5)[0], ProbeVia)


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


def test_a_refutation_that_others_pass_on_has_the_suspect_asked_anew_and_clears_nobody() -> None:
    liveness = suspecting(now=10.0)

    probe, via = liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 11.0)

    assert probe == Probe(X)
    assert isinstance(via, ProbeVia)
    assert len(via.helpers) == 3
    assert liveness.suspects(X.id)
    assert says(liveness, X) == [(Word.LIVES, 1)]


def test_where_nobody_can_be_asked_to_vouch_the_suspect_itself_is_asked() -> None:
    liveness = suspecting(helpers=0)

    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 11.0) == [Probe(X)]


def test_a_refutation_by_the_suspect_itself_clears_it() -> None:
    liveness = suspecting(now=10.0)

    assert liveness.heard(X.id, [Rumour(Word.LIVES, X.id, 1)], 11.0) == [Probe(X)]
    assert not liveness.suspects(X.id)


def test_a_suspect_whose_refutation_others_pass_on_has_as_long_again_to_answer() -> None:
    liveness = suspecting(now=10.0)
    for number in (2, 3, 4):
        liveness.heard(contact(number).id, [Rumour(Word.SUSPECTED, X.id, 0)], 10.5)
    liveness.heard(contact(5).id, [Rumour(Word.LIVES, X.id, 1)], 11.5)

    assert [now for now in range(11, 20) if deaths(liveness.tick(float(now), [], SIZE))] == [16]


def test_a_suspect_that_answers_when_it_is_asked_anew_is_well() -> None:
    liveness = suspecting(now=10.0)
    liveness.heard(contact(5).id, [Rumour(Word.LIVES, X.id, 1)], 13.5)

    assert liveness.answered(X, 15.0, incarnation=1) is None

    assert not liveness.suspects(X.id)
    assert [now for now in range(11, 20) if deaths(liveness.tick(float(now), [], SIZE))] == []


@pytest.mark.parametrize("beyond", [0, 10**12], ids=["believed", "not believed"])
def test_a_silent_suspect_dies_however_often_others_say_that_it_lives(beyond: int) -> None:
    liveness = suspecting(now=10.0)
    died_at = []
    for now in range(11, 30):
        for order in liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, beyond + now)], now):
            if isinstance(order, ProbeVia):
                liveness.nobody_vouched(order.contact, now)
        liveness.silent(X, now)
        died_at += [now for _ in deaths(liveness.tick(now, [], SIZE))]

    assert died_at == [11 + 4]


def test_what_one_suspicion_was_longer_the_next_one_is_not() -> None:
    liveness = suspecting(now=10.0)
    liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 13.5)
    liveness.heard(X.id, [Rumour(Word.LIVES, X.id, 2)], 13.6)
    for now in range(11, 21):
        liveness.tick(float(now), [], SIZE)
    for order in liveness.silent(X, 20.0):
        assert isinstance(order, ProbeVia)
        liveness.nobody_vouched(order.contact, 20.0)

    assert [now for now in (21, 22, 23, 24, 25) if deaths(liveness.tick(float(now), [], SIZE))] == [24]


def test_a_suspect_that_others_reach_once_it_is_said_to_have_refuted_it_is_well() -> None:
    liveness = suspecting(now=10.0)

    liveness.vouched(X, 1, 10.5)
    assert liveness.suspects(X.id)

    liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 11.0)
    liveness.vouched(X, 1, 11.5)
    assert not liveness.suspects(X.id)


def test_who_is_silent_in_the_incarnation_too_that_it_is_said_to_live_in_is_spoken_of_again() -> None:
    liveness = suspecting(now=10.0)
    liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 11.0)

    liveness.nobody_vouched(X, 11.5)

    assert says(liveness, X) == [(Word.SUSPECTED, 1)]


def test_a_refutation_that_others_pass_on_leaves_a_doubt_to_the_helpers() -> None:
    liveness = living(X, *(contact(number) for number in range(2, 5)))
    liveness.silent(X, 10.0)

    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1)], 10.2) == []
    liveness.nobody_vouched(X, 10.5)

    assert liveness.suspects(X.id)


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


# Incarnations that nobody can have come to


@pytest.mark.parametrize("word", [Word.SUSPECTED, Word.DEAD])
@pytest.mark.parametrize("forged", [MAX_INCARNATION, MAX_INCARNATION - 1, 5 + REFUTATIONS + 1])
def test_who_is_suspected_in_an_incarnation_to_come_can_refute_the_next_suspicion(word: Word, forged: int) -> None:
    liveness = living(X)

    liveness.heard(X.id, [Rumour(word, OWN, forged)], 1.0)
    assert liveness.incarnation == 5
    assert liveness.counts == {"rumours of lives to come": 1}

    liveness.heard(X.id, [Rumour(Word.SUSPECTED, OWN, 5)], 2.0)
    assert liveness.rumours(X.id) == [Rumour(Word.LIVES, OWN, 6)]


def test_whoever_drives_an_incarnation_up_leaves_more_to_refute_with() -> None:
    liveness = living(X)
    for now in (1.0, 2.0):
        liveness.tick(now, [], SIZE)
        for forged in range(5, 3 * REFUTATIONS + 1_000):
            liveness.heard(X.id, [Rumour(Word.SUSPECTED, OWN, forged)], now)
    driven = liveness.incarnation

    liveness.heard(contact(2).id, [Rumour(Word.SUSPECTED, OWN, driven)], 2.1)

    assert driven == 5 + 1_000 + REFUTATIONS + 1
    assert liveness.incarnation == driven + 1


def test_an_incarnation_beyond_what_a_peer_has_told_is_not_believed_of_it_but_it_is_asked() -> None:
    liveness = living(X, contact(2))
    liveness.answered(X, 1.0, incarnation=5)

    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, MAX_INCARNATION)], 2.0) == [Probe(X)]

    assert says(liveness, X) == []
    assert liveness.counts == {"rumours of lives to come": 1}
    liveness.heard(contact(2).id, [Rumour(Word.SUSPECTED, X.id, 5)], 3.0)
    assert says(liveness, X) == []


def test_of_a_peer_that_has_told_nothing_what_our_own_clock_explains_is_believed() -> None:
    liveness = living(X, contact(2))
    liveness.tick(1.0, [], SIZE)
    latest = 5 + 2_000 + REFUTATIONS

    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, latest + 1)], 3.0) == []
    assert says(liveness, X) == []
    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, latest)], 3.0) == []
    assert says(liveness, X) == [(Word.LIVES, latest)]


def test_an_incarnation_that_a_helper_makes_up_is_not_believed() -> None:
    liveness = living(X, contact(2))
    liveness.answered(X, 1.0, incarnation=5)
    liveness.silent(X, 2.0)

    liveness.vouched(X, MAX_INCARNATION, 2.5)
    liveness.silent(X, 9.0)
    liveness.nobody_vouched(X, 9.5)

    assert says(liveness, X) == [(Word.SUSPECTED, 5)]


def test_what_is_made_up_of_the_dead_does_not_keep_its_true_return_from_being_seen() -> None:
    liveness = living(X, contact(2))
    liveness.answered(X, 1.0, incarnation=5)
    liveness.lost(X, 10.0)

    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, MAX_INCARNATION)], 20.0) == [Probe(X)]
    assert liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 6)], 31.0) == [Probe(X)]
    returned = liveness.answered(X, 32.0, incarnation=1_000)

    assert returned is not None
    assert not returned.was_apart


def test_the_dead_are_not_asked_again_and_again_at_others_word() -> None:
    liveness = living(X, contact(2))
    liveness.lost(X, 10.0)

    asked = [liveness.heard(contact(2).id, [Rumour(Word.LIVES, X.id, 1 + number)], 11.0 + number) for number in range(12)]

    assert [number for number, orders in enumerate(asked) if orders] == [0, 11]


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
