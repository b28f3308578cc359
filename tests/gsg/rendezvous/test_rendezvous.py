"""The rendezvous: facts and templates meet, and everything goes with its last user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from place import ANYTHING, ON, X_ON_Y, A, B, Place, everywhere

import gsg.rendezvous.feed
import gsg.rendezvous.snapshot
import rete
from gsg.errors import Refused
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.changes import Change
from gsg.tuples.features import Load, Template
from gsg.tuples.terms import Symbol, Term, Tuple, Variable
from gsg.wire.messages import Deltas, Event, Happened, Origin, Passed, Snapshot
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_snapshot_comes_first_then_deltas_in_order(place: Place) -> None:
    place.insert(A)

    assert place.follow("s", 1) == [A]
    assert place.take() == []
    place.insert(B)
    place.retract(A)
    assert place.take() == [("s", Deltas(1, 0, [B, A], [1, -1]))]
    place.insert(A)
    assert place.take() == [("s", Deltas(1, 1, [A], [1]))]


def test_an_empty_snapshot_is_one_part_that_is_last(place: Place) -> None:
    assert list(filter(None, place.rendezvous.snapshot(place.post("s", 1, X_ON_Y, 1)))) == [Snapshot(1, [], True, True, 0)]


def test_a_long_snapshot_comes_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SNAPSHOT_FACTS", 2)
    facts: list[Tuple] = [(number, ON, "x") for number in range(5)]
    place.insert(*facts)

    parts = list(filter(None, place.rendezvous.snapshot(place.post("s", 1, X_ON_Y, 1))))

    assert parts == [
        Snapshot(1, facts[:2], True, False, 0),
        Snapshot(1, facts[2:4], False, False, 0),
        Snapshot(1, facts[4:], False, True, 0),
    ]


def test_what_happens_while_a_snapshot_is_under_way_follows_it(place: Place) -> None:
    feed = place.post("s", 1, X_ON_Y, 1)
    place.rendezvous.snapshot(feed)
    place.insert(A)
    assert place.take() == []

    place.rendezvous.release_feed(feed)

    assert place.take() == [("s", Deltas(1, 0, [A], [1]))]


def test_a_fact_counts_once_however_often_it_is_published(place: Place) -> None:
    place.follow("s", 1)

    assert (place.insert(A), place.insert(A), place.insert(A, B)) == (1, 0, 1)
    assert (place.retract(A), place.retract(A)) == (1, 0)
    assert place.heard() == {"s": ["+a on b", "+b on c", "-a on b"]}


def test_a_fact_that_reaches_this_peer_under_two_keys_is_fed_once(place: Place) -> None:
    place.follow("s", 1, rete.Template(("a", ON, None)), 0)

    place.insert(A)

    assert place.heard() == {"s": ["+a on b"]}


def test_a_change_is_counted_where_the_home_of_the_fact_is(place: Place) -> None:
    assert place.rendezvous.publish(1, [A, B], [b"\x01\x02", b"\x00"]) == 1
    assert place.rendezvous.publish(-1, [A, B], [b"\x01\x02", b"\x00"]) == 1


def test_what_was_there_already_is_named_where_its_home_is(place: Place) -> None:
    place.rendezvous.publish(1, [A], [b"\x00\x01\x02"], stamp=1)

    change = Change(1, [B, A, B, A], [b"\x00", b"\x00", b"\x00\x01", b"\x01"], stamp=2)

    place.rendezvous.publish_until(inf, change, range(4), None)

    assert change.unchanged == [1, 2]


def test_equal_templates_of_several_subscribers_are_stored_once(place: Place) -> None:
    place.follow("s", 1)
    place.follow("t", 1)
    place.follow("t", 2)

    assert (place.rendezvous.conditions.templates(), place.rendezvous.conditions.feeds()) == (1, 3)
    place.insert(A)
    assert sorted((who, message.feed) for who, message in place.take() if isinstance(message, Deltas)) == [
        ("s", 1),
        ("t", 1),
        ("t", 2),
    ]


def test_a_template_goes_with_its_last_feed(place: Place) -> None:
    place.follow("s", 1)
    place.follow("t", 1)

    place.rendezvous.conditions.remove_condition("s", 1)
    assert (place.rendezvous.conditions.templates(), place.rendezvous.keys()) == (1, 1)
    place.rendezvous.conditions.remove_condition("t", 1)
    assert (place.rendezvous.conditions.templates(), place.rendezvous.keys(), place.rendezvous.conditions.feeds()) == (0, 0, 0)


def test_removing_what_is_not_there_is_nothing(place: Place) -> None:
    place.follow("s", 1)

    place.rendezvous.conditions.remove_condition("s", 2)
    place.rendezvous.conditions.remove_condition("t", 1)
    place.rendezvous.drop_subscriber("t")

    assert place.rendezvous.conditions.feeds() == 1


def test_a_subscriber_that_is_gone_takes_all_of_its_feeds(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, ON, "b")), 2)
    place.follow("s", 3, ANYTHING, NOWHERE)
    place.follow("t", 1)

    place.rendezvous.drop_subscriber("s")
    place.insert(A)

    assert place.heard() == {"t": ["+a on b"]}
    assert (place.rendezvous.conditions.templates(), place.rendezvous.conditions.feeds()) == (1, 1)
    assert place.rendezvous.conditions.feed("s", 1) is None


def test_a_feed_that_was_removed_says_nothing_more(place: Place) -> None:
    place.follow("s", 1)
    place.insert(A)

    place.rendezvous.conditions.remove_condition("s", 1)

    assert place.take() == []


def test_templates_that_share_a_key_are_told_apart(place: Place) -> None:
    place.follow("s", 1, rete.Template((None, ON, "b")), 1)
    place.follow("s", 2, rete.Template((None, ON, None), ((0, 2),)), 1)
    place.follow("s", 3, rete.Template((None, ON)), 1)

    place.insert(A, ("c", ON, "c"), ("d", ON))

    assert [message for _, message in place.take()] == [
        Deltas(1, 0, [A], [1], more=True),
        Deltas(2, 0, [("c", ON, "c")], [1], more=True),
        Deltas(3, 0, [("d", ON)], [1]),
    ]


def test_deltas_leave_in_the_order_in_which_they_were_said_whichever_feeds_they_go_by(place: Place) -> None:
    place.follow("s", 1, X_ON_Y)
    place.follow("s", 2, rete.Template(("b", None, None)), 0)
    place.follow("t", 3, X_ON_Y)
    said = [Origin(b"publisher", number, [(b"other", number - 1, 0)]) for number in (1, 2, 3)]

    place.rendezvous.progress.ask("s", b"publisher", 2)
    place.rendezvous.publish(1, [A, B], [b"\x01", b"\x00\x01"], origin=said[0])
    place.rendezvous.publish(-1, [B], [b"\x00\x01"], origin=said[1])
    place.rendezvous.publish(-1, [A], [b"\x01"], origin=said[2])

    assert [message for who, message in place.take() if who == "s"] == [
        Deltas(1, 0, [A, B], [1, 1], said[0], more=True),
        Deltas(2, 0, [B], [1], said[0]),
        Deltas(1, 1, [B], [-1], said[1], more=True),
        Deltas(2, 1, [B], [-1], said[1]),
        Deltas(1, 2, [A], [-1], said[2]),
        Passed(b"publisher", 2),
    ]


def test_facts_of_one_message_come_in_slices_and_each_says_that_more_follows(place: Place) -> None:
    place.follow("s", 1, X_ON_Y)
    said, facts = Origin(b"publisher", 7), [A, B, ("c", ON, "d")]
    place.rendezvous.progress.ask("s", b"publisher", 7)

    change = Change(1, facts, [b"\x00\x01"] * 3, 5)
    made = place.rendezvous.publish_until(-inf, change, range(3), said)
    first, quiet = place.take(), place.rendezvous.quiet
    place.rendezvous.publish(1, [("x", ON, "y")], [b"\x01"], origin=Origin(b"other", 1))
    rest = place.rendezvous.publish_until(-inf, change, range(1, 3), said)
    last = place.rendezvous.publish_until(inf, change, range(2, 3), said)

    assert (made, rest, last, change.changed) == (1, 1, 1, 3)
    assert (first, quiet) == ([("s", Deltas(1, 0, [A], [1], said, more=True))], False)
    assert [message for _, message in place.take()] == [
        Deltas(1, 1, [("x", ON, "y")], [1], Origin(b"other", 1)),
        Deltas(1, 2, [B, ("c", ON, "d")], [1, 1], said),
        Passed(b"publisher", 7),
    ]
    assert place.rendezvous.quiet


def test_a_feed_that_is_held_between_slices_says_once_that_all_has_come(place: Place) -> None:
    place.follow("s", 1, X_ON_Y)
    said = Origin(b"publisher", 7)
    place.rendezvous.hold_subscriber("s")
    change = Change(1, [A, B], [b"\x01"] * 2, 5)

    place.rendezvous.publish_until(-inf, change, range(2), said)
    place.rendezvous.publish(1, [("x", ON, "y")], [b"\x01"], origin=Origin(b"other", 1))
    place.rendezvous.publish_until(inf, change, range(1, 2), said)
    place.rendezvous.unhold_subscriber("s")

    assert [message.more for _, message in place.take() if isinstance(message, Deltas)] == [True, False, False]


def test_what_is_given_up_between_slices_is_waited_for_no_more(place: Place) -> None:
    said = Origin(b"publisher", 7)
    place.rendezvous.publish_until(-inf, Change(1, [A, B], [b"\x01"] * 2, 5), range(2), said)

    place.rendezvous.give_up(said)

    assert place.rendezvous.quiet


def test_who_is_congested_hears_what_has_passed_after_its_deltas(place: Place) -> None:
    place.follow("s", 1, X_ON_Y)
    place.rendezvous.hold_subscriber("s")
    said = Origin(b"publisher", 1)

    place.rendezvous.progress.ask("s", b"publisher", 1)
    place.rendezvous.publish(1, [A], [b"\x01"], origin=said)
    assert place.take() == []
    assert place.rendezvous.quiet
    place.rendezvous.unhold_subscriber("s")

    assert place.take() == [("s", Deltas(1, 0, [A], [1], said)), ("s", Passed(b"publisher", 1))]


def test_a_template_without_constants_meets_every_fact_at_its_home(place: Place) -> None:
    place.insert(A, ("too", "short"))

    assert place.follow("s", 1, ANYTHING, NOWHERE) == [A]
    place.insert(B)
    place.rendezvous.publish(1, [("c", ON, "d")], [b"\x01\x02"])
    assert place.heard() == {"s": ["+b on c"]}


def test_figures_say_what_is_held(place: Place) -> None:
    place.insert(A, B)
    place.follow("s", 1)
    place.follow("s", 2, ANYTHING, NOWHERE)
    place.retract(A)

    rendezvous = place.rendezvous
    assert (
        rendezvous.held.distinct(),
        len(rendezvous.held),
        rendezvous.keys(),
        rendezvous.conditions.templates(),
        rendezvous.conditions.feeds(),
    ) == (
        1,
        3,
        3,
        2,
        2,
    )
    assert rendezvous.matched == 2
    assert rendezvous.conditions.feed("s", 9) is None


def test_loads_are_told_for_each_position(place: Place) -> None:
    template: Template = rete.Template(("a", ON, None))
    place.insert(A, B)
    place.follow("s", 1, template, 1)
    place.follow("s", 2, template, 1, test=TupleTest("longer", "1"))

    assert place.rendezvous.loads(template, [0, 1]) == [Load(1, 0, False), Load(2, 2, True)]
    assert place.rendezvous.loads(X_ON_Y, [1]) == [Load(2, 2, False)]


@pytest.mark.parametrize("position", [0, 3, -1], ids=["no constant", "beyond the end", "negative"])
def test_a_load_is_asked_where_the_template_has_a_constant(place: Place, position: int) -> None:
    with pytest.raises(Refused, match=rf"position {position} is no constant of template .*; expected one of \(1,\)"):
        place.rendezvous.loads(X_ON_Y, [position])


# --- events -------------------------------------------------------------------------------------------------------------------


# --- tests --------------------------------------------------------------------------------------------------------------------


def test_a_test_decides_over_facts_and_snapshots(place: Place) -> None:
    place.insert(("a", ON, "short"), ("a", ON, "rather long"))

    assert place.follow("s", 1, test=TupleTest("longer", "6")) == [("a", ON, "rather long")]
    place.insert(("b", ON, "s"), ("b", ON, "rather long"))
    assert place.heard() == {"s": ["+b on rather long"]}


def test_a_test_sees_the_text_of_an_event(place: Place) -> None:
    place.follow("s", 1, test=TupleTest("as text", "on(a, b)\n"))

    place.flash(A, text="on(a, b)\n")
    place.flash(A, text="on(a,b)\n")

    assert place.take() == [("s", Happened(b"publisher", [Event(1, A, "on(a, b)\n")], [[1]]))]


def test_a_test_that_raises_does_not_match_and_is_counted(place: Place) -> None:
    place.insert(A)

    assert place.follow("s", 1, test=TupleTest("fails", "")) == []
    place.follow("t", 1)
    place.insert(B)
    place.flash(A)
    assert [who for who, _ in place.take()] == ["t", "t"]
    assert place.rendezvous.conditions.tests.failed == 3


def test_templates_with_different_tests_are_kept_apart(place: Place) -> None:
    place.follow("s", 1, test=TupleTest("longer", "1"))
    place.follow("t", 1, test=TupleTest("longer", "2"))
    place.follow("u", 1, test=TupleTest("longer", "1"))
    assert place.rendezvous.conditions.templates() == 2

    place.rendezvous.drop_subscriber("s")
    place.rendezvous.drop_subscriber("t")
    place.insert(("a", ON, "xxx"))

    assert place.heard() == {"u": ["+a on xxx"]}
    assert place.rendezvous.conditions.templates() == 1


# --- refusals -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "anchor", "problem"),
    [
        (X_ON_Y, 0, "position 0 is no constant of template"),
        (X_ON_Y, 3, "position 3 is no constant of template"),
        (X_ON_Y, NOWHERE, "position -1 is no constant of template"),
        (X_ON_Y, -2, "position -2 is no constant of template"),
        (ANYTHING, 0, "position 0 is no constant of template"),
        (rete.Template(()), NOWHERE, "has no positions, or repeats some that it does not have"),
        (rete.Template((None, ON), ((0, 2),)), 1, "has no positions, or repeats some that it does not have"),
        (rete.Template((None, ON), ((1, 1),)), 1, "has no positions, or repeats some that it does not have"),
        (rete.Template((None, ON), ((-1, 1),)), 1, "has no positions, or repeats some that it does not have"),
        (rete.Template((Variable("x"), ON)), 1, "holds a variable; expected constants and nothing"),
    ],
    ids=[
        "no constant there",
        "beyond the end",
        "everywhere, with a constant",
        "below everywhere",
        "nowhere constant",
        "no position",
        "repeats beyond the end",
        "repeats itself",
        "repeats before the start",
        "a variable",
    ],
)
def test_a_template_that_makes_no_sense_is_refused(place: Place, template: Template, anchor: int, problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        place.post("s", 1, template, anchor)

    assert (place.rendezvous.conditions.templates(), place.rendezvous.keys(), place.rendezvous.conditions.feeds()) == (0, 0, 0)


def test_a_number_in_use_is_refused(place: Place) -> None:
    place.post("s", 1, X_ON_Y, 1)

    with pytest.raises(Refused, match="feed 1 is in use already; expected a new number"):
        place.post("s", 1, ANYTHING, NOWHERE)


def test_an_unknown_test_is_refused_and_leaves_nothing(place: Place) -> None:
    with pytest.raises(Refused, match="unknown test 'nobody knows'"):
        place.post("s", 1, X_ON_Y, 1, test=TupleTest("nobody knows", ""))

    assert (place.rendezvous.conditions.templates(), place.rendezvous.keys()) == (0, 0)


def test_an_exclusive_place_is_taken_until_it_is_left(place: Place) -> None:
    name: Template = rete.Template((Symbol("register"), Symbol("anna")))
    place.post("s", 1, name, 1, exclusive=True)

    with pytest.raises(Refused, match="somebody has this already"):
        place.post("t", 1, name, 1, exclusive=True)
    place.rendezvous.drop_subscriber("s")
    assert place.post("t", 1, name, 1, exclusive=True).number == 1


# --- they meet ----------------------------------------------------------------------------------------------------------------

constants: st.SearchStrategy[Term] = st.sampled_from(["a", 1, Symbol("a")])
facts = st.lists(constants, min_size=1, max_size=3).map(tuple)
conditions = st.lists(
    st.one_of(constants, st.sampled_from("xy").map(rete.Variable), st.just(rete.WILDCARD)), min_size=1, max_size=3
).map(lambda items: rete.Condition(tuple(items)))


@given(st.data(), conditions, st.lists(st.tuples(facts, st.sampled_from([1, -1])), max_size=12), st.integers(0, 12))
def test_a_subscriber_holds_exactly_the_facts_that_match_wherever_its_template_stands(
    data: st.DataObject, condition: rete.Condition, history: Sequence[tuple[Tuple, int]], before: int
) -> None:
    place = Place()
    template: Template = condition.template  # type: ignore[assignment]  # its constants are terms
    anchor = data.draw(st.sampled_from(template.anchors() or (NOWHERE,)))
    stored: dict[Tuple, None] = {}

    held: Counter[Tuple] = Counter()
    for number, (fact, sign) in enumerate([*history, (("end",), 1)]):
        if number == min(before, len(history)):
            held.update(place.follow("s", 1, template, anchor))
        assert place.rendezvous.publish(sign, [fact], [everywhere(fact)]) == ((fact in stored) == (sign < 0))
        stored |= {fact: None}
        stored = {each: None for each in stored if sign > 0 or each != fact}
        for _, message in place.take():
            assert isinstance(message, Deltas)
            held.update(dict(zip(message.facts, message.signs, strict=True)))

    assert held == Counter(filter(template.matches, stored))


@given(conditions, facts)
def test_an_event_meets_exactly_the_templates_that_it_matches(condition: rete.Condition, event: Tuple) -> None:
    place = Place()
    template: Template = condition.template  # type: ignore[assignment]  # its constants are terms
    for feed, anchor in enumerate(template.anchors() or (NOWHERE,)):
        place.follow("s", feed, template, anchor)

    place.flash(event)

    assert bool(place.take()) == template.matches(event)
