"""What a publisher says has passed by other rendezvous, and what a rendezvous says has passed by it, without a network."""

from __future__ import annotations

import pytest

from gsg.rendezvous.passed import NAMED_S, Passing, Sent
from gsg.wire.admission import NAMED
from gsg.wire.messages import Passed

P, Q = b"publisher", b"another"


def test_a_publisher_that_uses_one_rendezvous_names_none() -> None:
    sent = Sent()
    sent.sending(b"r1", 5, 0.0)

    assert sent.others(b"r1", 0.0) == []


def test_a_message_names_the_last_number_that_went_to_each_other_rendezvous() -> None:
    sent = Sent()
    for rendezvous, number in [(b"r1", 1), (b"r2", 2), (b"r1", 3), (b"r3", 4), (b"r1", 2)]:
        sent.sending(rendezvous, number, 0.0)

    assert sent.others(b"r2", 0.0) == [(b"r1", 3, 0), (b"r3", 4, 0)]


def test_a_rendezvous_is_named_until_a_while_after_it_has_acknowledged_everything() -> None:
    sent = Sent()
    sent.sending(b"r1", 1, 0.0)
    sent.sending(b"r2", 2, 0.0)
    sent.acknowledged(b"r1", 1, 1.0)

    assert sent.others(b"r2", 1.0 + NAMED_S) == [(b"r1", 1, 0)]
    assert sent.others(b"r2", 1.1 + NAMED_S) == []
    assert sent.others(b"r1", 1000.0) == [(b"r2", 2, 0)]


def test_a_rendezvous_that_cannot_be_reached_is_not_named() -> None:
    sent = Sent()
    sent.sending(b"r1", 1, 0.0)
    sent.sending(b"r2", 2, 0.0)

    sent.forget(b"r1")

    assert sent.others(b"r2", 0.0) == []


def test_beyond_the_limit_the_rendezvous_that_has_acknowledged_the_longest_ago_is_forgotten() -> None:
    sent = Sent()
    for number in range(NAMED):
        sent.sending(b"r%d" % number, number + 1, 0.0)
    sent.acknowledged(b"r7", 8, 2.0)
    sent.acknowledged(b"r5", 6, 1.0)

    sent.sending(b"more", NAMED + 1, 3.0)

    named = [rendezvous for rendezvous, _, _ in sent.others(b"more", 3.0)]
    assert len(named) == NAMED - 1
    assert b"r5" not in named


def test_the_last_event_is_named_beside_the_last_of_all() -> None:
    sent = Sent()
    sent.sending(b"r1", 3, 0.0, is_event=True)
    sent.sending(b"r1", 5, 0.0)
    sent.sending(b"r1", 2, 0.0, is_event=True)

    assert sent.others(b"r2", 0.0) == [(b"r1", 5, 3)]
    assert sent.passed(b"r2", 6, 0.0) == [(b"r1", 5, 3)]
    assert sent.others(b"r1", 0.0) == [(b"r2", 6, 6)]


def answers(passing: Passing) -> list[tuple[object, int]]:
    """Who is answered, and with which number."""
    return [(subscriber, passed.number) for subscriber, passed in passing.take()]


def test_a_rendezvous_answers_when_the_number_has_passed() -> None:
    passing = Passing()
    passing.asked("s", P, 5)

    passing.passed(P, 4)
    assert answers(passing) == []
    passing.passed(P, 6)
    assert answers(passing) == [("s", 6)]
    passing.passed(P, 7)
    assert answers(passing) == []


def test_a_rendezvous_answers_at_once_what_has_passed_already() -> None:
    passing = Passing()
    passing.passed(P, 6)
    passing.passed(P, 3)  # sent again, after a failure

    passing.asked("s", P, 5)

    assert answers(passing) == [("s", 6)]


def test_beyond_the_limit_of_questions_a_rendezvous_says_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.passed.WAITING", 1)
    passing = Passing()
    passing.passed(P, 1)
    passing.asked("s", P, 5)

    passing.asked("t", P, 5)
    passing.asked("s", P, 7)

    assert answers(passing) == [("t", 1)]


def test_one_subscriber_asks_so_much_and_others_are_answered_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.passed.WAITING", 3)
    monkeypatch.setattr("gsg.rendezvous.passed.WAITING_EACH", 2)
    passing = Passing()
    for number in range(10):
        passing.asked("greedy", b"%d" % number, 5)
    assert len(answers(passing)) == 8

    passing.asked("modest", P, 5)
    assert answers(passing) == []
    passing.passed(P, 5)
    assert answers(passing) == [("modest", 5)]

    passing.drop("greedy")
    passing.asked("other", P, 6)
    passing.asked("other", Q, 6)
    assert answers(passing) == []


def test_questions_about_publishers_that_died_take_no_place_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.passed.WAITING_EACH", 3)
    passing = Passing()
    for dead in (b"dead 1", b"dead 2", b"dead 3"):
        passing.asked("s", dead, 5)

    passing.asked("s", P, 5)
    assert [passed.publisher for _, passed in passing.take()] == [b"dead 1"]
    passing.asked("s", b"dead 2", 6)
    passing.asked("s", Q, 5)
    assert [passed.publisher for _, passed in passing.take()] == [b"dead 3"]
    passing.passed(P, 5)
    passing.passed(Q, 5)

    assert passing.take() == [("s", Passed(P, 5)), ("s", Passed(Q, 5))]


def test_answers_that_are_kept_for_who_reads_nothing_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.passed.WAITING_EACH", 2)
    passing = Passing()
    passing.hold("s")

    for number in range(10):
        passing.asked("s", b"%d" % (number % 5), 0)
    passing.unhold("s")

    assert [passed.publisher for _, passed in passing.take()] == [b"3", b"4"]


def test_questions_go_with_whoever_asked() -> None:
    passing = Passing()
    passing.asked("s", P, 5)
    passing.hold("s")

    passing.drop("s")
    passing.passed(P, 6)

    assert answers(passing) == []


def test_who_is_congested_is_answered_after_what_was_kept() -> None:
    passing = Passing()
    passing.hold("s")
    passing.asked("s", P, 5)
    passing.asked("t", P, 5)

    passing.passed(P, 6)
    assert answers(passing) == [("t", 6)]
    passing.unhold("s")

    assert answers(passing) == [("s", 6)]


def test_a_rendezvous_forgets_the_publisher_unheard_of_for_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.passed.PUBLISHERS", 2)
    passing = Passing()
    for publisher in (P, Q, b"third"):
        passing.passed(publisher, 6)

    passing.asked("s", P, 6)
    passing.asked("t", Q, 6)

    assert answers(passing) == [("t", 6)]
