"""One member's part in a topic: each event once, each source's in order, gaps told, everything bounded."""

from __future__ import annotations

from random import Random

import pytest

from dht import Contact
from gsg.topics import diffusion as module
from gsg.topics.diffusion import GAP_S, Diffusion
from gsg.wire.topic_messages import Graft, Mark, Marks, Payload, Prune, TopicMessage

SOURCE = b"s" * 26


def contact(number: int) -> Contact:
    return Contact(number.to_bytes(20, "big"), "10.0.0.1", 1 + number)


class Member:
    """A member whose neighbours are played by the test."""

    def __init__(self, *neighbours: int) -> None:
        self.sent: list[tuple[int, TopicMessage]] = []
        self.told: list[int] = []
        self.gaps: list[int] = []
        self.wakes: list[float] = []
        self.takes = True
        self.diffusion = Diffusion(
            "t",
            Random(1),
            self._send,
            self.wakes.append,
            tell=lambda payload: self.told.append(payload.number),
            tell_gap=lambda source, count: self.gaps.append(count),
        )
        self.diffusion.is_joined = True
        for number in neighbours:
            self.diffusion.neighbour_came(contact(number), lazy=False)

    def _send(self, to: Contact, message: TopicMessage) -> bool:
        if not self.takes and isinstance(message, Payload):
            return False
        self.sent.append((int.from_bytes(to.id, "big"), message))
        return True

    def comes(self, number: int, by: int, now_s: float = 0.0, *, age_ms: int = 0, body: bytes = b"") -> None:
        self.diffusion.received_payload(Payload("t", SOURCE, number, body, age_ms), contact(by).id, now_s)

    def marked(self, by: int, high: int, now_s: float = 0.0, *, low: int = 1) -> None:
        self.diffusion.received_marks(contact(by).id, [Mark(SOURCE, low, high)], now_s)

    def sent_to(self, kind: type[TopicMessage]) -> list[int]:
        return sorted(to for to, message in self.sent if isinstance(message, kind))


def test_an_event_goes_to_all_neighbours_but_the_one_it_came_from() -> None:
    member = Member(1, 2, 3)

    member.comes(1, by=2)

    assert (member.told, member.sent_to(Payload)) == ([1], [1, 3])


def test_who_sends_what_is_known_is_pruned_and_gets_marks_from_then_on() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.sent.clear()

    member.comes(1, by=2)
    member.comes(2, by=1)
    member.diffusion.advance(1.0)

    assert (member.told, member.sent_to(Prune), member.sent_to(Payload)) == ([1, 2], [2], [])
    assert member.sent_to(Marks) == [1, 2]


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

    assert (before, [message for to, message in member.sent if isinstance(message, Graft)]) == ([], [Graft("t", SOURCE, 2, 3)])


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


def test_a_neighbour_that_reads_slowly_gets_marks_and_no_events() -> None:
    member = Member(1, 2)
    member.takes = False
    member.comes(1, by=2)
    member.takes = True

    member.comes(2, by=2)
    member.diffusion.advance(1.0)

    assert (member.sent_to(Payload), member.sent_to(Marks)) == ([], [1, 2])


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
