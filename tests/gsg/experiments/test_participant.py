"""What one participant has still to tell and to do: each row comes once, each act is done once, and neither waits without bound."""

from __future__ import annotations

import pytest

from gsg.errors import PeerMisbehaved
from gsg.experiments import participant as module
from gsg.experiments.clocks import UNKNOWN_US
from gsg.experiments.participant import MAX_LEAD_US, ROWS_A_REPORT, Participant
from gsg.wire.experiment_messages import Act, ActKind, Orders, Row, RowKind

NEWS = "experiment/news"


def row(number: int) -> Row:
    return Row(RowKind.TOLD, number, "news", b"p" * 20, number)


def numbers(rows: list[Row]) -> list[int]:
    return [each.number for each in rows]


def test_rows_are_told_until_an_answer_comes_and_then_no_more() -> None:
    one = Participant()
    one.note(row(1))
    lost = one.report(1, 0)
    one.note(row(2))
    again = one.report(2, 10)
    one.answered(Orders(2, 0), 10, 20)
    one.note(row(3))

    assert (lost.first, numbers(lost.rows)) == (1, [1])
    assert (again.first, numbers(again.rows)) == (1, [1, 2])
    assert ((last := one.report(3, 30)).first, numbers(last.rows)) == (3, [3])


def test_what_is_noted_while_a_report_is_on_its_way_is_of_the_next_one() -> None:
    one = Participant()
    one.note(row(1))
    one.report(1, 0)
    one.note(row(2))
    one.answered(Orders(1, 0), 0, 10)

    assert numbers(one.report(2, 20).rows) == [2]


def test_a_report_takes_some_rows_and_says_whether_there_are_more() -> None:
    one = Participant()
    for number in range(ROWS_A_REPORT + 1):
        one.note(row(number))

    assert one.has_much
    assert len(one.report(1, 0).rows) == ROWS_A_REPORT
    one.answered(Orders(1, 0), 0, 0)
    assert not one.has_much


def test_the_oldest_rows_go_when_too_many_wait_and_their_numbers_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Participant()
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    one._rows = type(one._rows)(maxlen=3)
    for number in (1, 2):
        one.note(row(number))
    one.report(1, 0)
    for number in (3, 4, 5):
        one.note(row(number))
    one.answered(Orders(1, 0), 0, 0)

    report = one.report(2, 0)

    assert (report.first, numbers(report.rows)) == (3, [3, 4, 5])


def test_acts_come_at_times_of_the_own_clock_and_once() -> None:
    one = Participant()
    acts = [Act(1, 1_000_500, ActKind.PUBLISH, NEWS, 7), Act(2, 1_000_900, ActKind.LEAVE, NEWS)]

    first = one.answered(Orders(1, 1_000_050, acts), 0, 100)
    again = one.answered(Orders(2, 1_000_250, acts), 200, 300)

    assert [(at_us, act.number) for at_us, act in first] == [(500, 1), (900, 2)]
    assert again == []
    assert one.report(3, 400).done == 2


def test_what_is_to_be_done_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ACTS", 2)
    one = Participant()
    acts = [Act(1, MAX_LEAD_US + 1, ActKind.END, NEWS), *(Act(number, 5, ActKind.COUNT, NEWS) for number in (2, 3, 4))]

    found = one.answered(Orders(1, 0, acts), 0, 0)

    assert [act.number for _, act in found] == [2, 3]
    assert one.report(2, 0).done == 4


@pytest.mark.parametrize("topic", ["", "house/kitchen", "experiment"])
def test_a_topic_that_is_none_of_an_experiment_is_left_alone(topic: str) -> None:
    one = Participant()

    assert one.answered(Orders(1, 0, [Act(1, 5, ActKind.SUBSCRIBE, topic)]), 0, 0) == []


@pytest.mark.parametrize("now_us", [-(2**63), -1, 2**62, 2**64 - 1])
def test_a_clock_that_is_none_is_a_breach_and_not_measured(now_us: int) -> None:
    one = Participant()

    with pytest.raises(PeerMisbehaved, match="expected microseconds since 1970"):
        one.answered(Orders(1, now_us, [Act(1, 5, ActKind.COUNT, NEWS)]), 5, 10)

    assert one.clock.best(10) == (0, UNKNOWN_US)
