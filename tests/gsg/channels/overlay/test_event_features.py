"""They meet: an event of which a condition holds has a feature under which the condition is posted, and passes its test."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels.events import Event
from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.writing import written
from gsg.channels.overlay import event_tests
from gsg.channels.overlay.event_tuples import event_of, source_of, tuples_for_others, tuples_under
from gsg.channels.overlay.features import MAX_CHARACTERS, candidates_of, features_of, required_by
from gsg.channels.overlay.portable import MAX_TESTS, is_portable, portable
from gsg.channels.overlay.portable import tests_in as number_of_tests
from gsg.channels.overlay.postings import MAX_TESTS_AT_ONE, Interest, Postings
from gsg.channels.values import Reference
from gsg.errors import BadTerm, GsgError, LocalError, PeerMisbehaved
from gsg.tuples.terms import Compound, List, Literal, Symbol, Term, Variable

RELATIONS = Relations()
compile_test, make_test = event_tests.compile_source, event_tests.test_of


@pytest.mark.parametrize("seed", range(10))
def test_an_event_meets_each_condition_that_holds_of_it(seed: int) -> None:
    rng = Random(seed)
    events = [event(rng) for _ in range(60)]
    met = 0
    for _ in range(60):
        wanted, crowds = condition(rng), {}

        def crowd(feature: Term, crowds: dict[Term, int] = crowds, rng: Random = rng) -> int:
            return crowds.setdefault(feature, rng.randrange(5))

        posted = required_by(wanted, crowd)
        passes = compile_test(make_test(["Fred"], portable(wanted)).source)
        for fields, environment in events:
            if holds(wanted, fields, environment, RELATIONS):
                met += 1
                published = Event(fields, "s", 1, environment)
                assert set(posted) & set(features_of(fields))
                assert all(passes(items, None) for items in tuples_under(published, posted))
    assert met > 100


def test_a_condition_is_posted_where_least_is_posted() -> None:
    wanted = parse("(and (= type 'error) (= user 'Fred) (> temp 7))")
    crowded = {List(("type", "error")): 9, List(("user", "Fred")): 2}

    assert set(candidates_of(wanted)) == set(crowded)
    assert required_by(wanted, lambda feature: crowded[feature]) == [List(("user", "Fred"))]


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("(> temp 7)", [List(("temp",))]),
        ("(or (= a 1) (= b 2.0))", [List(("a", 1)), List(("b", 2))]),
        ("(not (= a 1))", [Symbol("every")]),
        ("(= a true)", [List(("a", Literal("true", "http://www.w3.org/2001/XMLSchema#boolean")))]),
        ("(= a null)", [List(("a", Symbol("null")))]),
        (f'(= a "{"x" * (MAX_CHARACTERS + 1)}")', [List(("a",))]),
        (f"(= {'n' * (MAX_CHARACTERS + 1)} 1)", [Symbol("every")]),
    ],
    ids=["bound", "or", "not", "truth", "null", "long text", "long name"],
)
def test_what_a_condition_is_posted_under(text: str, features: list[Term]) -> None:
    assert required_by(parse(text), lambda feature: 0) == features


def test_what_is_dear_is_not_tried_for_others() -> None:
    wanted = parse('(and (= a 1) (any tags (= it 1)) (regex b "x+") (or (= c 1) (exactly 2 d true)))')

    assert written(portable(wanted)) == "(= a 1)"
    assert not is_portable(wanted)
    many = parse(f"(and {' '.join(f'(> a{number} 1)' for number in range(MAX_TESTS + 1))})")
    assert number_of_tests(portable(many)) == 0
    for bad in (wanted, many):
        with pytest.raises(LocalError, match="more than a rendezvous tries for others"):
            compile_test(make_test(None, bad).source)


@pytest.mark.parametrize("source", ["", "[]", '[1,"true"]', "[" * 100_000, '[null,"(= a"]'])
def test_a_test_that_is_none_is_refused(source: str) -> None:
    with pytest.raises(GsgError):
        compile_test(source)


def test_what_an_event_says_to_other_doors() -> None:
    published = Event({"type": "error", "n": [1, None], "at": {"x": 2.5}, "r": Reference("http://x"), "ok": True}, "s", 7)

    whole, *single = tuples_for_others(published)

    assert whole[:3] == (Symbol("event"), "s", 7)
    assert event_of((Symbol("event"), whole[3])).fields == published.fields
    assert single[0] == (Symbol("event"), "s", 7, Symbol("type"), "error")
    assert len(single) == 5


def test_an_event_comes_back_from_the_tuple_of_a_feature() -> None:
    published = Event({"a": 2**70, "b": [Reference("x"), {"c": -1}]}, "s", 7, {"user": "Fred"}, frozenset({"r"}))

    (items,) = tuples_under(published, [Symbol("every")])

    assert source_of(items) == ("s", 7)
    assert event_of(items) == published


@pytest.mark.parametrize(
    "items",
    [
        (Symbol("channel"), "f", "s", 1, "\u0100"),
        (Symbol("channel"), "f", "s", 1, "rubbish"),
        (Symbol("channel"), "f", "s", 1, Symbol("x")),
        (Symbol("channel"), "f", "other", 1, tuples_under(Event({}, "s", 1), ["f"])[0][4]),
        (Symbol("channel"), "f", 1, 1, ""),
        (Symbol("event"),),
        (Symbol("event"), List((Compound((Symbol("="), Symbol("a"), Variable("x"))),))),
        (Symbol("event"), List((Symbol("a"),))),
    ],
    ids=["beyond a byte", "no body", "no text", "another source", "no source", "nothing", "variable", "no pairs"],
)
def test_a_tuple_that_is_no_event_is_refused_and_passes_no_test(items: tuple[Term, ...]) -> None:
    with pytest.raises((PeerMisbehaved, BadTerm)):
        event_of(items)
    assert not compile_test(make_test(None, parse("true")).source)(items, None)


def test_many_tests_at_one_feature_are_posted_as_one() -> None:
    postings = Postings()
    interests = [Interest(parse(f"(and (= a 1) (> b {number}))"), f"asker {number}") for number in range(MAX_TESTS_AT_ONE + 1)]

    def crowd(feature: Term) -> int:
        return 0

    for each in interests[1:]:
        postings.change(each, 1, crowd)
    few, _ = postings.take_changes()
    postings.change(interests[0], 1, crowd)
    one, withdrawn = postings.take_changes()
    postings.change(interests[0], -1, crowd)
    again, gone = postings.take_changes()

    assert len(few) == MAX_TESTS_AT_ONE + 1
    assert (withdrawn, gone) == (few, one)
    assert len(one) == 2
    assert again == few


def test_equal_interests_are_posted_once_until_the_last_goes() -> None:
    postings, interest = Postings(), Interest(parse("(= a 1)"), "")

    postings.change(interest, 1, lambda feature: 0)
    postings.change(interest, 1, lambda feature: 9)
    first = postings.take_changes()
    postings.change(interest, -1, lambda feature: 0)
    between = postings.take_changes()
    postings.change(interest, -1, lambda feature: 0)

    assert (len(first[0]), between, postings.take_changes()[1]) == (2, (set(), set()), first[0])
