"""Who is a member of which topic, as a holder of the topic's key knows it."""

from __future__ import annotations

from random import Random

import pytest
from contacts import contact

from gsg.errors import Refused
from gsg.topics import enrolment
from gsg.topics.enrolment import LEASE_S, SAMPLE, Enrolments


def enrolled(*members: int, topic: str = "t", now_s: float = 0.0) -> Enrolments:
    enrolments = Enrolments(Random(1))
    for member in members:
        enrolments.enrol(topic, contact(member), now_s)
    return enrolments


def test_members_are_counted_and_some_of_them_named() -> None:
    enrolments = enrolled(*range(20))

    count, named = enrolments.members("t", 1.0, without=contact(3).id)

    assert (count, len(named), len({each.id for each in named})) == (20, SAMPLE, SAMPLE)
    assert contact(3) not in named


def test_who_enrols_twice_is_one_member_and_who_does_not_again_is_none() -> None:
    enrolments = enrolled(1, 2)

    enrolments.enrol("t", contact(1), LEASE_S / 2)

    assert enrolments.members("t", LEASE_S + 1) == (1, [contact(1)])
    assert len(enrolments) == 1


def test_who_leaves_or_dies_is_no_member() -> None:
    enrolments = enrolled(1, 2, 3)
    enrolments.enrol("u", contact(3), 0.0)

    enrolments.leave("t", contact(1).id)
    enrolments.leave("t", contact(9).id)
    enrolments.forget(contact(3).id)

    assert enrolments.topics() == {"t": 1}
    assert enrolments.members("u", 0.0) == (0, [])


def test_late_ones_are_forgotten_without_being_asked_for() -> None:
    enrolments = enrolled(1, 2)

    assert list(enrolments.forget_late(LEASE_S + 1)) == ["t"]

    assert (len(enrolments), enrolments.topics()) == (0, {})


def test_late_ones_are_forgotten_topic_by_topic_and_others_may_leave_meanwhile() -> None:
    enrolments = enrolled(1)
    enrolments.enrol("u", contact(2), 0.0)
    enrolments.enrol("v", contact(3), 0.0)
    forgetting = enrolments.forget_late(LEASE_S + 1)

    first = next(forgetting)
    enrolments.forget(contact(2).id)

    assert (first, enrolments.topics()) == ("t", {"v": 1})
    assert list(forgetting) == ["u", "v"]
    assert len(enrolments) == 0


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolment, "MAX_TOPICS_OF_PEER", 1)
    monkeypatch.setattr(enrolment, "MAX_ENROLLED", 2)
    enrolments = enrolled(1, 2)

    with pytest.raises(Refused, match="too many members of topics"):
        enrolments.enrol("t", contact(3), 0.0)
    with pytest.raises(Refused, match="this peer in 1 topics"):
        enrolments.enrol("u", contact(1), 0.0)

    assert enrolments.topics() == {"t": 2}


def test_whoever_is_refused_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolment, "MAX_ENROLLED", 1)
    enrolments = enrolled(1)

    for number in range(2, 10):
        with pytest.raises(Refused):
            enrolments.enrol("u", contact(number), 0.0)

    assert list(enrolments._topics_of) == [contact(1).id]
    assert enrolments.topics() == {"t": 1}
