"""What a rendezvous says of how far it has come with a publisher, without a network."""

from __future__ import annotations

import pytest

from gsg.rendezvous.progress import Progress
from gsg.wire.messages import Passed

P, Q = b"publisher", b"another"


def answers(progress: Progress) -> list[tuple[object, int]]:
    """Who is answered, and with which number."""
    return [(subscriber, passed.number) for subscriber, passed in progress.take_answers()]


def test_a_rendezvous_answers_when_the_number_has_passed() -> None:
    progress = Progress()
    progress.ask("s", P, 5)

    progress.advance(P, 4)
    assert answers(progress) == []
    progress.advance(P, 6)
    assert answers(progress) == [("s", 6)]
    progress.advance(P, 7)
    assert answers(progress) == []


def test_a_rendezvous_answers_at_once_what_has_passed_already() -> None:
    progress = Progress()
    progress.advance(P, 6)
    progress.advance(P, 3)  # sent again, after a failure

    progress.ask("s", P, 5)

    assert answers(progress) == [("s", 6)]


def test_beyond_the_limit_of_questions_a_rendezvous_says_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.WAITING", 1)
    progress = Progress()
    progress.advance(P, 1)
    progress.ask("s", P, 5)

    progress.ask("t", P, 5)
    progress.ask("s", P, 7)

    assert answers(progress) == [("t", 1)]


def test_one_subscriber_asks_so_much_and_others_are_answered_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.WAITING", 3)
    monkeypatch.setattr("gsg.rendezvous.progress.WAITING_EACH", 2)
    progress = Progress()
    for number in range(10):
        progress.ask("greedy", b"%d" % number, 5)
    assert len(answers(progress)) == 8

    progress.ask("modest", P, 5)
    assert answers(progress) == []
    progress.advance(P, 5)
    assert answers(progress) == [("modest", 5)]

    progress.drop_subscriber("greedy")
    progress.ask("other", P, 6)
    progress.ask("other", Q, 6)
    assert answers(progress) == []


def test_questions_about_publishers_that_died_take_no_place_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.WAITING_EACH", 3)
    progress = Progress()
    for dead in (b"dead 1", b"dead 2", b"dead 3"):
        progress.ask("s", dead, 5)

    progress.ask("s", P, 5)
    assert [passed.publisher for _, passed in progress.take_answers()] == [b"dead 1"]
    progress.ask("s", b"dead 2", 6)
    progress.ask("s", Q, 5)
    assert [passed.publisher for _, passed in progress.take_answers()] == [b"dead 3"]
    progress.advance(P, 5)
    progress.advance(Q, 5)

    assert progress.take_answers() == [("s", Passed(P, 5)), ("s", Passed(Q, 5))]


def test_answers_that_are_kept_for_who_reads_nothing_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.WAITING_EACH", 2)
    progress = Progress()
    progress.hold_answers("s")

    for number in range(10):
        progress.ask("s", b"%d" % (number % 5), 0)
    progress.release_answers("s")

    assert [passed.publisher for _, passed in progress.take_answers()] == [b"3", b"4"]


def test_what_is_answered_at_once_leaves_a_question_for_a_later_number() -> None:
    progress = Progress()
    progress.advance(P, 3)
    progress.ask("s", P, 5)

    progress.ask("s", P, 0)
    assert answers(progress) == [("s", 3)]
    progress.advance(P, 5)

    assert answers(progress) == [("s", 5)]


def test_questions_go_with_whoever_asked() -> None:
    progress = Progress()
    progress.ask("s", P, 5)
    progress.hold_answers("s")

    progress.drop_subscriber("s")
    progress.advance(P, 6)

    assert answers(progress) == []


def test_who_is_congested_is_answered_after_what_was_kept() -> None:
    progress = Progress()
    progress.hold_answers("s")
    progress.ask("s", P, 5)
    progress.ask("t", P, 5)

    progress.advance(P, 6)
    assert answers(progress) == [("t", 6)]
    progress.release_answers("s")

    assert answers(progress) == [("s", 6)]


def test_a_rendezvous_forgets_the_publisher_unheard_of_for_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.PUBLISHERS", 2)
    progress = Progress()
    for publisher in (P, Q, b"third"):
        progress.advance(publisher, 6)

    progress.ask("s", P, 6)
    progress.ask("t", Q, 6)

    assert answers(progress) == [("t", 6)]


def test_what_a_head_asks_for_others_is_not_what_it_asks_for_itself() -> None:
    progress = Progress()
    progress.ask("head", P, 2)
    progress.ask("head", P, 1_000, b"rendezvous")

    progress.advance(P, 2)
    assert progress.take_answers() == [("head", Passed(P, 2))]
    assert progress.first_wanted(P) == 1_000
    progress.advance(P, 1_000)

    assert progress.take_answers() == [("head", Passed(P, 1_000, b"rendezvous"))]
    assert progress.first_wanted(P) is None


def test_of_whom_is_gone_nothing_is_asked() -> None:
    progress = Progress()
    progress.ask("gone", P, 1)
    progress.ask("gone", P, 1, b"rendezvous")

    progress.drop_subscriber("gone")
    progress.advance(P, 1)

    assert progress.take_answers() == []


def test_an_answer_for_others_is_kept_beside_ones_own() -> None:
    progress = Progress()
    progress.hold_answers("slow")
    progress.answer("slow", Passed(P, 1))
    progress.answer("slow", Passed(P, 2, b"rendezvous"))

    progress.release_answers("slow")

    assert progress.take_answers() == [("slow", Passed(P, 1)), ("slow", Passed(P, 2, b"rendezvous"))]
