"""The rendezvous: facts and templates meet, feeds are kept in order, and everything goes with its last user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dht
import gsg.posting
import rete
from gsg.errors import Refused
from gsg.features import Template, positions
from gsg.messages import Deltas, Event, Gap, Happened, InsertCondition, Load, Message, Moved, Snapshot
from gsg.messages import Test as TupleTest  # a name that pytest does not take for a class of tests
from gsg.model import Symbol, Term, Tuple, Variable
from gsg.placement import NOWHERE
from gsg.rendezvous import Feed, Predicate, Rendezvous

ON = Symbol("on")
X_ON_Y: Template = rete.Template((None, ON, None))
ANYTHING: Template = rete.Template((None, None, None))
A, B = ("a", ON, "b"), ("b", ON, "c")


def compile_test(test: TupleTest) -> Predicate:
    """``longer N``: the last term is text of more than N letters; ``fails`` raises; ``as text`` wants the text it came as."""
    tests: dict[str, Predicate] = {
        "longer": lambda items, text: len(items[-1]) > int(test.source),  # type: ignore[arg-type]  # a test may fail
        "fails": lambda items, text: bool(1 // 0),
        "as text": lambda items, text: text == test.source,
    }
    if test.name not in tests:
        raise Refused(f"unknown test {test.name!r}")
    return tests[test.name]


def everywhere(fact: Tuple) -> bytes:
    """All positions of a fact: one peer holds all keys."""
    return bytes(positions(fact))


class Place:
    """A rendezvous that holds every key, and what it has sent."""

    def __init__(self) -> None:
        self.rendezvous = Rendezvous(compile_test)
        self.events = 0

    def insert(self, *facts: Tuple) -> int:
        return self.rendezvous.publish(1, facts, list(map(everywhere, facts)))

    def retract(self, *facts: Tuple) -> int:
        return self.rendezvous.publish(-1, facts, list(map(everywhere, facts)))

    def flash(self, *events: Tuple, text: str | None = None, places: bytes | None = None) -> None:
        made = [Event(self.events + number, items, text) for number, items in enumerate(events, 1)]
        self.events += len(made)
        self.rendezvous.flash(b"publisher", made, [everywhere(items) if places is None else places for items in events])

    def post(self, who: str, feed: int, template: Template, anchor: int, **options: object) -> Feed:
        return self.rendezvous.insert_condition(who, InsertCondition(1, feed, template, anchor, **options))  # type: ignore[arg-type]  # as it takes them

    def follow(self, who: str, feed: int, template: Template = X_ON_Y, anchor: int = 1, **options: object) -> list[Tuple]:
        """Post, and take the snapshot."""
        made = self.post(who, feed, template, anchor, **options)
        parts = self.rendezvous.snapshot(made)
        self.rendezvous.release(made)
        return [fact for part in parts for fact in part.facts]

    def take(self) -> list[tuple[str, Message]]:
        return [(str(who), message) for who, message in self.rendezvous.take()]

    def heard(self) -> dict[str, list[str]]:
        """Per subscriber the deltas that were sent, as ``+a on b``, in order."""
        heard: dict[str, list[str]] = {}
        for who, message in self.take():
            assert isinstance(message, Deltas)
            for fact, sign in zip(message.facts, message.signs, strict=True):
                heard.setdefault(who, []).append("+-"[sign < 0] + " ".join(map(str, fact)))
        return heard


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
    assert place.rendezvous.snapshot(place.post("s", 1, X_ON_Y, 1)) == [Snapshot(1, [], True, True, 0)]


def test_a_long_snapshot_comes_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous, "SNAPSHOT_FACTS", 2)
    facts: list[Tuple] = [(number, ON, "x") for number in range(5)]
    place.insert(*facts)

    parts = place.rendezvous.snapshot(place.post("s", 1, X_ON_Y, 1))

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

    place.rendezvous.release(feed)

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


def test_equal_templates_of_several_subscribers_are_stored_once(place: Place) -> None:
    place.follow("s", 1)
    place.follow("t", 1)
    place.follow("t", 2)

    assert (place.rendezvous.templates(), place.rendezvous.feeds()) == (1, 3)
    place.insert(A)
    assert sorted((who, message.feed) for who, message in place.take() if isinstance(message, Deltas)) == [
        ("s", 1),
        ("t", 1),
        ("t", 2),
    ]


def test_a_template_goes_with_its_last_feed(place: Place) -> None:
    place.follow("s", 1)
    place.follow("t", 1)

    place.rendezvous.remove_condition("s", 1)
    assert (place.rendezvous.templates(), place.rendezvous.keys()) == (1, 1)
    place.rendezvous.remove_condition("t", 1)
    assert (place.rendezvous.templates(), place.rendezvous.keys(), place.rendezvous.feeds()) == (0, 0, 0)


def test_removing_what_is_not_there_is_nothing(place: Place) -> None:
    place.follow("s", 1)

    place.rendezvous.remove_condition("s", 2)
    place.rendezvous.remove_condition("t", 1)
    place.rendezvous.drop("t")

    assert place.rendezvous.feeds() == 1


def test_a_subscriber_that_is_gone_takes_all_of_its_feeds(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, ON, "b")), 2)
    place.follow("s", 3, ANYTHING, NOWHERE)
    place.follow("t", 1)

    place.rendezvous.drop("s")
    place.insert(A)

    assert place.heard() == {"t": ["+a on b"]}
    assert (place.rendezvous.templates(), place.rendezvous.feeds()) == (1, 1)
    assert place.rendezvous.feed("s", 1) is None


def test_a_feed_that_was_removed_says_nothing_more(place: Place) -> None:
    place.follow("s", 1)
    place.insert(A)

    place.rendezvous.remove_condition("s", 1)

    assert place.take() == []


def test_templates_that_share_a_key_are_told_apart(place: Place) -> None:
    place.follow("s", 1, rete.Template((None, ON, "b")), 1)
    place.follow("s", 2, rete.Template((None, ON, None), ((0, 2),)), 1)
    place.follow("s", 3, rete.Template((None, ON)), 1)

    place.insert(A, ("c", ON, "c"), ("d", ON))

    assert [message for _, message in place.take()] == [
        Deltas(1, 0, [A], [1]),
        Deltas(2, 0, [("c", ON, "c")], [1]),
        Deltas(3, 0, [("d", ON)], [1]),
    ]


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
    assert (rendezvous.facts(), rendezvous.entries(), rendezvous.keys(), rendezvous.templates(), rendezvous.feeds()) == (
        1,
        3,
        3,
        2,
        2,
    )
    assert rendezvous.matched == 2
    assert rendezvous.feed("s", 9) is None


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


def test_an_event_reaches_a_subscriber_once_with_all_feeds_that_it_matches(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, None, "b")), 2)
    place.follow("s", 3, ANYTHING, NOWHERE)
    place.follow("t", 1)

    place.flash(A)

    taken = dict(place.take())
    assert set(taken) == {"s", "t"}
    assert isinstance(taken["s"], Happened)
    assert sorted(taken["s"].feeds) == [1, 2, 3]
    assert taken["t"] == Happened(b"publisher", Event(1, A), [1])


def test_an_event_is_not_kept(place: Place) -> None:
    place.flash(A)

    assert place.rendezvous.facts() == 0
    assert place.follow("s", 1) == []


def test_an_event_goes_where_its_publisher_sends_it(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, None, "b")), 2)

    place.flash(A, places=b"\x02")

    assert place.take() == [("s", Happened(b"publisher", Event(1, A), [2]))]


def test_a_feed_of_events_only_is_not_fed_facts(place: Place) -> None:
    feed = place.post("s", 1, X_ON_Y, 1, events_only=True)
    place.rendezvous.release(feed)

    place.insert(A)
    place.flash(B)

    assert place.take() == [("s", Happened(b"publisher", Event(1, B), [1]))]


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

    assert place.take() == [("s", Happened(b"publisher", Event(1, A, "on(a, b)\n"), [1]))]


def test_a_test_that_raises_does_not_match_and_is_counted(place: Place) -> None:
    place.insert(A)

    assert place.follow("s", 1, test=TupleTest("fails", "")) == []
    place.follow("t", 1)
    place.insert(B)
    place.flash(A)
    assert [who for who, _ in place.take()] == ["t", "t"]
    assert place.rendezvous.failed_tests == 3


def test_templates_with_different_tests_are_kept_apart(place: Place) -> None:
    place.follow("s", 1, test=TupleTest("longer", "1"))
    place.follow("t", 1, test=TupleTest("longer", "2"))
    place.follow("u", 1, test=TupleTest("longer", "1"))
    assert place.rendezvous.templates() == 2

    place.rendezvous.drop("s")
    place.rendezvous.drop("t")
    place.insert(("a", ON, "xxx"))

    assert place.heard() == {"u": ["+a on xxx"]}
    assert place.rendezvous.templates() == 1


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

    assert (place.rendezvous.templates(), place.rendezvous.keys(), place.rendezvous.feeds()) == (0, 0, 0)


def test_a_number_in_use_is_refused(place: Place) -> None:
    place.post("s", 1, X_ON_Y, 1)

    with pytest.raises(Refused, match="feed 1 is in use already; expected a new number"):
        place.post("s", 1, ANYTHING, NOWHERE)


def test_an_unknown_test_is_refused_and_leaves_nothing(place: Place) -> None:
    with pytest.raises(Refused, match="unknown test 'nobody knows'"):
        place.post("s", 1, X_ON_Y, 1, test=TupleTest("nobody knows", ""))

    assert (place.rendezvous.templates(), place.rendezvous.keys()) == (0, 0)


def test_an_exclusive_place_is_taken_until_it_is_left(place: Place) -> None:
    name: Template = rete.Template((Symbol("register"), Symbol("anna")))
    place.post("s", 1, name, 1, exclusive=True)

    with pytest.raises(Refused, match="somebody has this already"):
        place.post("t", 1, name, 1, exclusive=True)
    place.rendezvous.drop("s")
    assert place.post("t", 1, name, 1, exclusive=True).number == 1


# --- subscribers that are slow ------------------------------------------------------------------------------------------------


def test_a_held_feed_keeps_its_deltas_and_others_go_on(place: Place) -> None:
    place.follow("slow", 1)
    place.follow("fast", 1)
    place.rendezvous.hold("slow")
    place.rendezvous.hold("nobody")

    place.insert(A, B)
    assert place.heard() == {"fast": ["+a on b", "+b on c"]}
    place.rendezvous.unhold("slow")
    assert place.heard() == {"slow": ["+a on b", "+b on c"]}


def test_more_than_a_held_feed_keeps_is_a_gap_that_a_snapshot_closes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.posting, "HELD_DELTAS", 2)
    facts: list[Tuple] = [(number, ON, "x") for number in range(4)]
    place.follow("slow", 1)
    place.rendezvous.hold("slow")
    place.insert(*facts)
    feed = place.rendezvous.feed("slow", 1)
    assert feed is not None

    assert place.take() == []
    place.rendezvous.unhold("slow")
    assert place.take() == [("slow", Gap(1))]
    place.retract(facts[0])
    assert place.take() == []

    assert place.rendezvous.snapshot(feed) == [Snapshot(1, facts[1:], True, True, 0)]
    place.rendezvous.release(feed)
    place.insert(facts[0])
    assert place.take() == [("slow", Deltas(1, 0, [facts[0]], [1]))]


def test_a_feed_that_may_speak_has_no_limit_within_one_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.posting, "HELD_DELTAS", 2)
    place.follow("s", 1)

    place.insert(*((number, ON, "x") for number in range(4)))

    assert [len(message.facts) for _, message in place.take() if isinstance(message, Deltas)] == [4]


def test_room_on_the_link_does_not_let_a_feed_speak_in_the_middle_of_its_snapshot(place: Place) -> None:
    place.insert(A)
    feed = place.post("s", 1, rete.Template((None, ON, None)), 1)
    place.rendezvous.snapshot(feed)
    place.rendezvous.hold("s")

    place.insert(B)
    place.rendezvous.unhold("s")
    assert place.take() == []
    place.rendezvous.release(feed)
    assert place.heard() == {"s": ["+b on c"]}


def test_an_event_follows_the_deltas_of_facts_that_were_published_before_it(place: Place) -> None:
    place.follow("s", 1)

    place.insert(A)
    place.rendezvous.flash(b"publisher", [Event(1, B)], [b"\x01"])

    assert [type(message) for _, message in place.take()] == [Deltas, Happened]


# --- keys that change hands ---------------------------------------------------------------------------------------------------

HOLDER = dht.Contact(bytes(20), "10.0.0.9", 7400)
ON_KEY, HOME_KEY = (3, 1, ON), (3, 0, "a")


def test_feeds_of_a_key_that_moves_are_told_once_and_facts_stay_until_they_have_followed(place: Place) -> None:
    place.insert(A)
    place.follow("s", 1)
    place.follow("t", 1, ANYTHING, NOWHERE)

    place.rendezvous.move([ON_KEY, HOME_KEY], HOLDER)
    assert place.take() == [("s", Moved(1, HOLDER, False)), ("t", Moved(1, HOLDER, False))]
    assert place.rendezvous.followed()
    place.rendezvous.drop_if_unused(ON_KEY)
    assert place.rendezvous.holds(ON_KEY)

    place.rendezvous.drop("s")
    assert not place.rendezvous.followed()
    place.rendezvous.drop_if_unused(ON_KEY)
    assert (place.rendezvous.holds(ON_KEY), place.take()) == (False, [])
    place.rendezvous.drop_if_unused(HOME_KEY)
    assert place.heard() == {"t": ["-a on b"]}
    assert place.rendezvous.moved_keys() == []


def test_a_moved_key_is_ours_again_when_its_owner_writes_here(place: Place) -> None:
    place.insert(A)
    place.rendezvous.move([ON_KEY, HOME_KEY], HOLDER)

    place.rendezvous.publish(1, [B], [b"\x01"], as_holder=False)
    assert place.rendezvous.has_moved(ON_KEY)
    place.rendezvous.publish(1, [("c", ON, "d")], [b"\x01"])
    place.rendezvous.keep(HOME_KEY)

    assert place.rendezvous.moved_keys() == []


@pytest.mark.parametrize(
    ("retracted_at", "told", "there"),
    [(5, (1, 4), False), (5, (1, 6), True), (None, (1, 4), True)],
    ids=["inserted before", "inserted after", "not retracted"],
)
def test_a_fact_handed_over_comes_unless_it_was_retracted_since(
    place: Place, retracted_at: int | None, told: tuple[int, int], there: bool
) -> None:
    sign, stamp = told
    place.rendezvous.remember_retractions()
    place.rendezvous.publish(-1, [A], [b"\x01"] if retracted_at else [b""], stamp=retracted_at or 0)

    place.rendezvous.take_over([sign], [A], [b"\x01"], [stamp])

    assert place.rendezvous.holds(ON_KEY) is there


@pytest.mark.parametrize(("stamp", "there"), [(4, True), (6, False)], ids=["older", "newer"])
def test_a_retraction_handed_over_counts_unless_the_fact_came_since(place: Place, stamp: int, there: bool) -> None:
    place.rendezvous.publish(1, [A], [b"\x01"], stamp=5)

    place.rendezvous.take_over([-1], [A], [b"\x01"], [stamp])

    assert place.rendezvous.holds(ON_KEY) is there


@pytest.mark.parametrize("remembering", [True, False], ids=["while keys change hands", "later"])
def test_what_was_left_of_a_key_goes_when_it_comes_back(place: Place, remembering: bool) -> None:
    place.rendezvous.remember_retractions()
    place.insert(A)
    place.retract(B)
    if not remembering:
        place.rendezvous.forget_retractions()
    place.rendezvous.move([ON_KEY], HOLDER)

    place.rendezvous.take_over([1], [("c", ON, "d")], [b"\x01"], [9])

    assert [fact for sign, fact, _ in place.rendezvous.history(ON_KEY) if sign > 0] == [("c", ON, "d")]


def test_retractions_are_remembered_while_keys_change_hands_up_to_a_limit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous, "REMEMBERED_RETRACTIONS", 2)
    place.rendezvous.remember_retractions()
    place.rendezvous.remember_retractions()
    for number in range(3):
        place.rendezvous.publish(-1, [(number, ON, "x")], [b"\x01"], stamp=number)
    assert place.rendezvous.history(ON_KEY) == [(-1, (2, ON, "x"), 2)]
    assert place.rendezvous.all_keys() == [ON_KEY]

    place.rendezvous.publish(1, [(2, ON, "x")], [b"\x01"], stamp=3)
    place.rendezvous.forget_retractions()

    assert place.rendezvous.history(ON_KEY) == [(1, (2, ON, "x"), 3)]


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
