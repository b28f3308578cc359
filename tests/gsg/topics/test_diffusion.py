"""One member's part in a topic: each event once, each source's in order, gaps told, everything bounded."""

from __future__ import annotations

import pytest
from contacts import contact
from topic_member import SOURCE, Member

from gsg.topics.diffusion import diffusion as module
from gsg.topics.diffusion.arrivals import LEAST_S
from gsg.topics.diffusion.diffusion import FORGET_S, GAP_S, GRAFTED_BYTES, MAX_AHEAD, MAX_HELD, MAX_SOURCES
from gsg.wire.topic_messages import Graft, Mark, Marks, Payload


def test_events_of_one_source_are_told_in_order() -> None:
    member = Member(1)

    for number in (3, 1, 2, 5, 4):
        member.comes(number, by=1)

    assert (member.told, member.gaps) == ([1, 2, 3, 4, 5], [])


def test_what_a_mark_speaks_of_is_asked_for_when_it_does_not_come() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)

    member.marked(by=2, high=3)
    member.diffusion.advance(0.1)
    before = member.sent_to(Graft)
    member.diffusion.advance(max(member.wakes))

    assert (before, [message for to, message in member.sent if isinstance(message, Graft)]) == (
        [],
        [Graft("t", SOURCE, 2, 1 + MAX_AHEAD)],
    )


def test_what_nobody_has_any_more_is_told_as_a_gap() -> None:
    member = Member(1)
    member.comes(1, by=1)
    member.comes(5, by=1)
    member.marked(by=1, high=5, low=5)

    for now_s in range(int(GAP_S) + 2):
        member.diffusion.advance(float(now_s))

    assert (member.told, member.gaps) == ([1, 5], [3])


def test_who_says_to_have_it_and_never_sends_it_is_not_asked_for_ever() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.marked(by=2, high=9)

    for now_s in range(2 * int(GAP_S)):
        member.diffusion.advance(float(now_s))
    asked = len(member.sent_to(Graft))
    for now_s in range(100):
        member.diffusion.advance(20.0 + now_s)

    assert len(member.sent_to(Graft)) == asked
    assert (member.told, member.gaps) == ([1], [])


@pytest.mark.parametrize("number", [0, -1, 2**40, 2**62])
def test_numbers_that_nobody_honest_says_change_nothing(number: int) -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.sent.clear()

    member.comes(number, by=1)
    member.marked(by=2, high=number, low=number)
    for now_s in range(20):
        member.diffusion.advance(float(now_s))
    member.comes(2, by=2, now_s=20.0)

    assert (member.told, member.gaps, member.sent_to(Graft)) == ([1, 2], [], [])


def test_a_graft_of_a_billion_is_answered_with_what_is_there() -> None:
    member = Member(1)
    for number in range(1, 6):
        member.comes(number, by=1)

    member.sent.clear()
    member.diffusion.grafted(contact(1).id, Graft("t", SOURCE, -(2**40), 2**40), 2.0)

    sent = [message for _, message in member.sent if isinstance(message, Payload)]
    assert [(each.number, each.age_ms) for each in sent] == [(number, 2_000) for number in range(1, 6)]


def test_what_was_published_before_a_member_joined_is_not_told() -> None:
    member = Member(1)
    member.diffusion.since_s = 10.0

    member.comes(1, by=1, now_s=11.0, age_ms=3_000)
    member.comes(2, by=1, now_s=11.0, age_ms=500)

    assert member.told == [2]


def test_what_is_kept_is_bounded_by_number_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 100)
    monkeypatch.setattr(module, "CACHE_BYTES", 500)
    member = Member(1)

    for number in range(1, 2_001):
        member.comes(number, by=1, body=bytes(10))

    [mark] = member.diffusion.marks()
    state = member.diffusion._sources[SOURCE]
    assert (mark.low, mark.high, member.told) == (1_951, 2_000, list(range(1, 2_001)))
    assert len(state.events) == len(state.born_s) == len(member.diffusion._cached) == 50


def test_what_is_held_is_bounded_and_beyond_a_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 3)
    member = Member(1)

    for number in range(2, 7):
        member.comes(number, by=1)

    assert (member.told, member.gaps) == ([2, 3, 4, 5, 6], [1])
    assert (member.diffusion._held, member.diffusion._held_bytes) == (0, 0)


def test_sources_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SOURCES", 5)
    member = Member(1)

    for number in range(20):
        member.diffusion.received_payload(Payload("t", bytes([number]) * 26, 1, b"x"), contact(1).id, float(number))

    assert len(member.diffusion._sources) == 5
    assert member.told == [1] * 20


def test_sources_that_were_forgotten_are_bounded() -> None:
    member = Member(1)

    for number in range(2 * MAX_SOURCES + 10):
        member.diffusion.received_payload(Payload("t", number.to_bytes(26, "big"), 1, b""), contact(1).id, 0.0)

    assert len(member.diffusion._sources) == len(member.diffusion._forgotten) == MAX_SOURCES


def test_marks_of_one_neighbour_are_bounded() -> None:
    member = Member(1)

    for start in range(0, 2 * MAX_SOURCES, 1_000):
        marks = [Mark(number.to_bytes(26, "big"), 1, 0) for number in range(start, start + 1_000)]
        member.diffusion.received_marks(contact(1).id, marks, 0.0)

    assert len(member.diffusion._marks[contact(1).id]) <= MAX_SOURCES


def test_events_of_a_source_that_was_forgotten_are_not_told_again() -> None:
    member = Member(1)
    member.comes(1, by=1)
    member.comes(2, by=1)
    member.diffusion.begin_round(FORGET_S)

    member.marked(by=1, high=2, now_s=FORGET_S + 1, is_new=True)
    member.comes(1, by=1, now_s=FORGET_S + 1)
    member.comes(2, by=1, now_s=FORGET_S + 1)
    member.comes(3, by=1, now_s=FORGET_S + 1)

    assert (member.told, member.gaps, member.grafts()) == ([1, 2, 3], [], [])


# --- joining ---------------------------------------------------------------


def test_who_joins_is_not_told_what_its_first_neighbour_had() -> None:
    member = Member(1)
    member.diffusion.is_joined = False

    member.marked(by=1, high=7)
    member.comes(7, by=1)
    member.comes(8, by=1)

    assert member.told == [8]


def test_who_joins_and_was_told_an_event_already_misses_none_behind_it() -> None:
    member = Member(1, 2)
    member.diffusion.is_joined = False
    member.comes(5, by=2)

    member.marked(by=1, high=7, is_new=True)
    member.comes(6, by=1, now_s=0.1)
    member.comes(7, by=1, now_s=0.1)

    assert (member.told, member.grafts()) == ([5, 6, 7], [Graft("t", SOURCE, 6, 5 + MAX_AHEAD)])


@pytest.mark.parametrize("by_mark", [False, True], ids=["event", "mark"])
def test_a_source_that_has_published_very_much_is_heard_by_who_never_heard_of_it(by_mark: bool) -> None:
    member = Member(1)
    last = 3 * MAX_AHEAD

    if by_mark:
        member.marked(by=1, low=last, high=last)
    member.comes(last, by=1)
    member.comes(last + 1, by=1)

    assert (member.told, member.gaps) == ([last, last + 1], [])


# --- what is missing -------------------------------------------------------


def test_what_a_new_neighbour_has_is_asked_for_at_once() -> None:
    member = Member(1)

    member.marked(by=1, high=3, is_new=True)

    assert member.sent == [(1, Graft("t", SOURCE, 1, MAX_AHEAD))]


def test_neighbours_are_asked_in_turns() -> None:
    member = Member(1, 2)
    member.marked(by=1, high=3)
    member.marked(by=2, high=3)

    member.runs(2.0)

    assert set(member.sent_to(Graft)) == {1, 2}


def test_the_next_hole_is_asked_for_as_soon_as_the_one_before_is_filled() -> None:
    member = Member(1, 2)
    for number in (1, 3, 5):
        member.comes(number, by=1)
    member.marked(by=1, high=5)
    member.runs(1.0)
    member.sent.clear()

    member.comes(2, by=1, now_s=1.0)

    assert member.grafts() == [Graft("t", SOURCE, 4, 4)]


def test_nothing_is_given_up_while_what_is_missing_comes() -> None:
    member = Member(1)
    member.comes(11, by=1)

    for number in range(1, 11):
        member.diffusion.advance(number * (GAP_S - 1))
        member.comes(number, by=1, now_s=number * (GAP_S - 1))

    assert (member.told, member.gaps) == (list(range(1, 12)), [])


def test_what_only_a_neighbour_that_went_has_spoken_of_is_no_gap() -> None:
    member = Member(1)
    member.marked(by=1, high=3)
    member.diffusion.neighbour_went(contact(1).id)

    member.runs(2 * GAP_S)

    assert (member.gaps, member.diffusion._missing) == ([], {})


def test_an_event_that_was_given_up_does_not_make_the_next_ones_late() -> None:
    member = Member(1)
    member.comes(1, by=1)
    member.marked(by=1, high=2)
    member.runs(2 * GAP_S)

    member.comes(2, by=1, now_s=100.0)

    assert member.diffusion._arrivals.patience_s == LEAST_S


def test_what_is_held_is_bounded_whatever_a_neighbour_says_to_have() -> None:
    member = Member(1)
    member.marked(by=1, high=MAX_AHEAD)

    for number in range(3, 3 * MAX_HELD):
        member.comes(number, by=1)

    assert member.diffusion._held <= MAX_HELD
    assert (member.told, member.gaps) == (list(range(3, 3 * MAX_HELD)), [2])


def test_bytes_of_what_is_held_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 10)
    member = Member(1)

    for number in (2, 4, 6):
        member.comes(number, by=1, body=bytes(6))

    assert member.diffusion._held_bytes <= 10
    assert member.told == [2, 4]


# --- grafts ----------------------------------------------------------------


def test_a_graft_from_below_a_gap_is_answered_with_what_is_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 2)
    member = Member(1)
    for number in (1, 2, 5):
        member.comes(number, by=1)
    member.runs(GAP_S + 1)
    member.comes(6, by=1, now_s=GAP_S + 1)
    member.sent.clear()

    member.diffusion.grafted(contact(1).id, Graft("t", SOURCE, 1, 6), GAP_S + 1)

    [(_, marks), *rest] = member.sent
    assert marks == Marks("t", [Mark(SOURCE, 5, 6)])
    assert [message.number for _, message in rest if isinstance(message, Payload)] == [5, 6]


@pytest.mark.parametrize("graft", [Graft("t", b"?" * 26, 1, 2), Graft("t", SOURCE, 9, 99)], ids=["of nobody", "not here yet"])
def test_a_graft_of_what_is_not_here_is_answered_with_nothing(graft: Graft) -> None:
    member = Member(1)
    member.comes(1, by=1)
    member.sent.clear()

    member.diffusion.grafted(contact(1).id, graft, 0.0)

    assert member.sent == []


def test_bytes_of_what_a_graft_is_answered_with_are_bounded() -> None:
    member = Member(1)
    for number in range(1, 5):
        member.comes(number, by=1, body=bytes(GRAFTED_BYTES // 2))
    member.sent.clear()

    member.diffusion.grafted(contact(1).id, Graft("t", SOURCE, 1, 4), 0.0)

    assert [message.number for _, message in member.sent if isinstance(message, Payload)] == [1, 2]


def test_strangers_are_neither_answered_nor_believed() -> None:
    member = Member(1)

    member.diffusion.grafted(contact(9).id, Graft("t", SOURCE, 1, 1), 0.0)
    member.marked(by=9, high=5)

    assert (member.sent, member.diffusion.marks()) == ([], [])


# --- marks -----------------------------------------------------------------


def test_marks_go_to_all_neighbours_once_a_flush() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.comes(2, by=1)
    member.sent.clear()

    member.runs(1.0)

    assert member.sent == [(1, Marks("t", [Mark(SOURCE, 1, 2)])), (2, Marks("t", [Mark(SOURCE, 1, 2)]))]
