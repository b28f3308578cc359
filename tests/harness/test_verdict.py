"""What the verdict says of histories that are written by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from history import History, Published, Session, Trouble
from schedule import BY, ON, RANG
from verdict import violations

AB, BA = ("Aa", ON, "Ab"), ("Ab", ON, "Aa")


def inserted(*facts: Any, at_s: float = 1.0, **more: Any) -> Published:  # Any: tuples, fields of Published
    return Published("A", 1, facts, at_s, **{"ended_s": at_s + 0.1, "via": "1.1", **more})


def retracted(*facts: Any, at_s: float, **more: Any) -> Published:  # Any: as above
    return Published("A", -1, facts, at_s, **{"ended_s": at_s + 0.1, "via": "1.1", **more})


def rung(number: int, at_s: float, **more: Any) -> Published:  # Any: as above
    return Published("A", 0, ((RANG, "A", number),), at_s, **{"ended_s": at_s + 0.1, "via": "1.1", **more})


def told(query: str, *changes: tuple[float, int, str], **more: Any) -> Session:  # Any: fields of Session
    return Session("B", query, 2, **{"begun_s": 0.5, "whole_s": 0.6, "changes": list(changes), **more})


def history(published: list[Published], sessions: list[Session], *, everything: str = "", **more: Any) -> History:  # Any: as above
    """One in which a new subscription to all facts is told these in the end, separated by commas."""
    rows = Counter(filter(None, everything.split(", ")))
    return History(published, sessions, {"all": rows}, **more)


def test_a_history_as_promised_has_no_violations() -> None:
    session = told("pairs", (1.05, 1, "Aa Ab"), (2.05, -1, "Aa Ab"), (2.95, 1, "Ab Aa"), rows=Counter(["Ab Aa"]))
    published = [inserted(AB), retracted(AB, at_s=2.0), inserted(BA, at_s=2.9)]

    assert violations(history(published, [session], everything="Ab on Aa")) == []


@pytest.mark.parametrize(
    ("everything", "said"),
    [("", "all, asked at the end: lost Aa on Ab"), ("Aa on Ab, Ab by Ab", "all, asked at the end: invented Ab by Ab")],
    ids=["lost", "invented"],
)
def test_rows_that_are_lost_or_invented_are_named(everything: str, said: str) -> None:
    assert violations(history([inserted(AB)], [], everything=everything)) == [said]


@pytest.mark.parametrize("everything", ["", "Aa on Ab"])
def test_what_nobody_knows_of_is_as_the_world_shows_and_then_for_everybody(everything: str) -> None:
    unknown = inserted(AB, ended_s=None)
    seen = told("all", (1.05, 1, "Aa on Ab"), rows=Counter(["Aa on Ab"]))

    assert violations(history([unknown], [], everything=everything)) == []
    assert bool(violations(history([unknown], [seen], everything=everything))) == (everything == "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(1.05, 1, "Aa Ab"), (1.06, 1, "Aa Ab")], "is there 2 times"),
        ([(1.05, -1, "Aa Ab")], "is there -1 times"),
        ([(1.05, 1, "Aa Ac")], "+ Aa Ac was not published"),
        ([(0.7, 1, "Aa Ab")], "+ Aa Ab was not published"),
        ([(1.05, 1, "Aa Ab"), (3.0, -1, "Aa Ab")], "- Aa Ab was not published"),
        ([(2.55, 1, "Ab Aa"), (2.6, 1, "Aa Ab")], "+ Aa Ab of 1.00 comes after what was published at 2.50"),
    ],
    ids=["twice", "gone before it came", "invented", "before it was published", "gone by itself", "out of order"],
)
def test_each_change_needs_its_cause_and_its_turn(changes: list[tuple[float, int, str]], said: str) -> None:
    published = [inserted(AB), inserted(BA, at_s=2.5), inserted(("Aa", BY, "Ac"), at_s=2.8)]
    session = told("pairs", *changes, ended_s=4.0)

    found = violations(history(published, [session], everything="Aa on Ab, Ab on Aa, Aa by Ac"))

    assert any(said in line for line in found)


def test_what_is_not_acknowledged_yet_may_go_and_come_again_where_a_peer_dies_meanwhile() -> None:
    slow = inserted(AB, at_s=1.0, ended_s=1.9)
    seen = told("pairs", (1.05, 1, "Aa Ab"), (1.3, -1, "Aa Ab"), (1.6, 1, "Aa Ab"), rows=Counter(["Aa Ab"]))

    assert violations(history([slow], [seen], everything="Aa on Ab")) != []
    slow.met_death = True
    assert violations(history([slow], [seen], everything="Aa on Ab")) == []


def test_what_comes_late_and_excused_is_explained_by_what_leaves_a_cause_for_the_rest() -> None:
    published = [inserted(AB), retracted(AB, at_s=2.0), inserted(BA, at_s=3.0), inserted(AB, at_s=4.0)]
    late = [(4.5, 1, "Ab on Aa"), (4.6, 1, "Aa on Ab"), (4.6, -1, "Aa on Ab"), (4.6, 1, "Aa on Ab")]
    session = told("all", *late, rows=Counter(["Aa on Ab", "Ab on Aa"]))
    trouble = [Trouble("stall", 0.5, 9.0)]

    assert violations(history(published, [session], everything="Aa on Ab, Ab on Aa", troubles=trouble)) == []
    assert violations(history(published, [session], everything="Aa on Ab, Ab on Aa")) != []


def test_what_a_cut_network_tells_without_a_cause_explains_nothing_before() -> None:
    published = [inserted(AB), retracted(AB, at_s=2.0), inserted(BA, at_s=3.0), inserted(AB, at_s=4.0)]
    pairs = [(3.05, 1, "Ab Aa"), (4.05, 1, "Aa Ab"), (8.0, -1, "Aa Ab"), (9.0, 1, "Aa Ab")]
    session = told("pairs", *pairs, begun_s=2.5, whole_s=2.6, rows=Counter(["Aa Ab", "Ab Aa"]))

    cut = [Trouble("partition", 7.0, 9.5)]
    assert violations(history(published, [session], everything="Aa on Ab, Ab on Aa", troubles=cut)) == []


def test_what_went_by_two_peers_may_be_told_as_the_first_said_it_and_then_gone() -> None:
    twice = inserted(AB, at_s=1.0, ended_s=1.5, attempts=2, by_several=True)
    published = [twice, inserted(BA, at_s=2.0), retracted(AB, at_s=3.0), inserted(AB, at_s=4.0)]
    late = [(2.05, 1, "Ab Aa"), (5.0, 1, "Aa Ab"), (5.0, -1, "Aa Ab"), (5.0, 1, "Aa Ab")]
    rows = Counter(["Aa Ab", "Ab Aa"])

    assert violations(history(published, [told("pairs", *late, rows=rows)], everything="Aa on Ab, Ab on Aa")) == []
    twice.by_several = False
    assert violations(history(published, [told("pairs", *late, rows=rows)], everything="Aa on Ab, Ab on Aa")) != []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(1.05, 0, "A 0"), (1.2, 0, "A 0"), (2.05, 0, "A 1")], "A 0 came again"),
        ([(2.05, 0, "A 1"), (2.1, 0, "A 0")], "A 0 comes after number 1"),
        ([(1.05, 0, "A 0")], "A 1, published at 2.00 and acknowledged at 2.10, did not come"),
        ([(1.05, 0, "A 0"), (2.05, 0, "A 1"), (2.1, 0, "A 7")], "A 7 was not published"),
    ],
    ids=["twice", "out of order", "lost", "invented"],
)
def test_events_come_once_and_in_order(changes: list[tuple[float, int, str]], said: str) -> None:
    (violation,) = violations(history([rung(0, 1.0), rung(1, 2.0)], [told("rings", *changes)]))

    assert said in violation


def test_an_event_of_the_moment_in_which_somebody_subscribes_may_have_been_said_before() -> None:
    assert violations(history([rung(0, 0.6)], [told("rings")])) == []
    assert violations(history([rung(0, 0.61)], [told("rings")])) != []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(2.05, 0, "A 1"), (2.1, 0, "A 0")], "A 0 comes after number 1"),
        ([(1.05, 0, "A 0")], "A 1, published at 2.00 and acknowledged at 2.10, did not come"),
    ],
    ids=["out of order", "lost"],
)
def test_no_death_and_no_link_that_breaks_excuses_what_becomes_of_events(changes: list[tuple[float, int, str]], said: str) -> None:
    troubles = [Trouble(kind, 0.9, 9.0) for kind in ("crash", "strike", "cut", "interrupt")]

    (violation,) = violations(history([rung(0, 1.0), rung(1, 2.0)], [told("rings", *changes)], troubles=troubles))

    assert said in violation


def test_what_was_said_long_before_somebody_asked_is_not_told() -> None:
    asked = told("rings", (9.0, 0, "A 0"), begun_s=8.0, whole_s=8.1)

    (violation,) = violations(history([rung(0, 1.0)], [asked], troubles=[Trouble("cut", 0.9, 20.0)]))

    assert "A 0 was said at 1.10, before anybody asked for it" in violation


def test_a_fault_excuses_what_is_on_its_way_but_nothing_that_is_told_twice() -> None:
    published, trouble = [rung(0, 1.0), rung(1, 2.0)], [Trouble("stall", 0.9, 9.0)]

    assert violations(history(published, [told("rings", (1.05, 0, "A 0"))], troubles=trouble)) == []
    assert violations(history(published, [told("rings", (1.05, 0, "A 0"))], troubles=trouble), strict=True) != []
    assert violations(history(published, [told("rings", (1.05, 0, "A 0"), (1.1, 0, "A 0"))], troubles=trouble)) != []
