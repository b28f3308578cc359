"""A notification meets every subscription that covers it: by look-ups, and never by trying them all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pedro_terms import SPACE_TUPLES

from gsg.rendezvous.demands import MEMBER, WHOLE, constants_at
from gsg.rendezvous.postings import KeyPostings
from gsg.tuples.features import Template
from gsg.tuples.terms import Literal, Symbol, term
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests
from pedro_compat import PAPER, V1_14, compile_test, parse, to_tuple
from pedro_compat.errors import BadLine, BadSubscription
from pedro_compat.goals.covers import compile_subscription, template
from pedro_compat.goals.demands import demands_of
from pedro_compat.terms.tuples import line_of_tuple
from rete.predicates import test_index

ANYTHING = Template(())


def demands(text):
    """The demands of ``Head`` or ``Head,Body``, written as path -> constants."""
    made = parse(f"s({text})")
    return {path: set(constants) for path, constants in demands_of(made[1], made[2] if len(made) > 2 else "true")}


A, B, KITCHEN = Symbol("a"), Symbol("b"), Symbol("kitchen")


@pytest.mark.parametrize(
    ("subscription", "demanded"),
    [
        ("temp(kitchen,T,_)", {(1,): {KITCHEN}}),
        ('f(X,"a\\"b",2.5,-7,[])', {(2,): {'a"b'}, (3,): {term(2.5)}, (4,): {-7}, (5,): {Symbol("[]")}}),
        ("f(0.0,-0.0,0)", {(3,): {0}}),
        ("bid(lot(123),price(P))", {(1, 0): {Symbol("lot")}, (1, 1): {123}, (2, 0): {Symbol("price")}}),
        ("f([X,a|T])", {(1, MEMBER): {A}}),
        ("f([g(a)])", {(1, MEMBER, 0): {Symbol("g")}, (1, MEMBER, 1): {A}}),
        ("f(X,Y),X = kitchen", {(1,): {KITCHEN}}),
        ("f(X,Y),kitchen = Y", {(2,): {KITCHEN}}),
        ("f(g(X)),X = h(a)", {(1, 0): {Symbol("g")}, (1, 1, 0): {Symbol("h")}, (1, 1, 1): {A}}),
        ("f(X),member(X,[a,b])", {(1,): {A, B}}),
        ("f(X),member(X,[a,Y])", {}),
        ("f(X),member(X,[a|_])", {}),
        ("f(X),member(X,[a,g(b)])", {}),
        ("f(X),member(X,[0.0,a])", {}),
        ("f(L),member(kitchen,L)", {(1, MEMBER): {KITCHEN}}),
        ("f(L),member(type = a,L)", {(1, MEMBER, 0): {Symbol("=")}, (1, MEMBER, 1): {Symbol("type")}, (1, MEMBER, 2): {A}}),
        ("f(L),(member(X,L),X = a)", {}),
        ("f(X,Y),(X > 3,once((Y = a,X < 9)))", {(2,): {A}}),
        ("f(X,Y),(X = a;X = b)", {(1,): {A, B}}),
        ("f(X,Y),(X = a;Y = b)", {}),
        ("f(X,Y),(X = a -> Y = b;X = b)", {(1,): {A, B}}),
        ("f(X),not(X = a)", {}),
        ("f(X),(X = a,X = b)", {(1,): {A}}),
        ("X,X = temp(kitchen,_)", {(0,): {Symbol("temp")}, (1,): {KITCHEN}}),
        ("X,X = alarm", {(0,): {Symbol("alarm")}}),
        ("L,member(lot / 123,L)", {(0, MEMBER, 0): {Symbol("/")}, (0, MEMBER, 1): {Symbol("lot")}, (0, MEMBER, 2): {123}}),
        ("f('$iri'(\"http://x\"))", {}),
        ("f(g(g(g(g(g(g(g(a))))))))", {(1,) * depth + (0,): {Symbol("g")} for depth in range(1, 6)}),
    ],
)
def test_constants_that_are_demanded_are_found(subscription, demanded):
    found = demands(subscription)

    inside = {path: constants for path, constants in found.items() if WHOLE not in path}
    assert {path: constants for path, constants in inside.items() if path != (0,) or subscription[0].isupper()} == demanded


@pytest.mark.parametrize(
    ("subscription", "wholes"),
    [
        ("bid(lot(123),[a,g(b)],P)", {1: "lot(123)", 2: "[a,g(b)]"}),
        ("f(X,[]),X = g([1,2.5])", {1: "g([1,2.5])"}),
        (f"f({'g(' * 60}a{')' * 60})", {1: f"{'g(' * 60}a{')' * 60}"}),
        (f"f({'g(' * 62}a{')' * 62})", {}),
        (f"f([{'a,' * 500}b])", {1: f"[{'a,' * 500}b]"}),
        ("f(g(X),g(_),[a|T],[a|b],a,1)", {}),
        ("f(g(0.0),[-0.0])", {}),
        ("f(g('$iri'(\"http://x\")),'$blank'(\"b\"))", {}),
    ],
)
def test_argument_without_variables_is_demanded_as_one_constant(subscription, wholes):
    found = {path[0]: constants for path, constants in demands(subscription).items() if WHOLE in path}

    assert found == {position: {to_tuple(("f", parse(text)))[1]} for position, text in wholes.items()}


DIFFERING = {
    "at the end of a long list": "mu([" + "a," * 400 + "{0}])",
    "in the midst of a list": "mu([" + "a," * 20 + "{0}" + ",a" * 20 + "])",
    "deep inside": "f(" * 40 + "{0}" + ")" * 40,
}


@pytest.mark.parametrize("head", DIFFERING.values(), ids=DIFFERING.keys())
def test_heads_that_differ_in_one_constant_somewhere_are_found_by_it(head):
    stand, tests = posted([(head.format(number), "true") for number in range(300)], PAPER)

    def met(said):
        return meeting(stand, to_tuple(parse(head.format(said))))

    # Only the first few are borne under a constant that all have.
    assert max(len(met(said)) for said in (17, 299, "nothing")) < 40
    assert any(tests[one].covers_term(parse(head.format(299))) for one in met(299))
    assert len(met("X")) == 300


def test_a_literal_made_by_hand_does_not_stand_for_the_term_that_it_holds():
    # Otherwise it would be covered by what its place does not show.
    by_hand = (Symbol("f"), Literal("kitchen", "urn:gsg:pedro-term"))

    assert not compile_test("paper covers(f(kitchen),true)")(by_hand)


# --- the property: look-ups against the plain scan -------------------------------------------------------------------------------

ATOMIC = st.sampled_from(["a", "b", "[]", "'B 1'", "1", "-1", "1.0", "0.0", "-0.0", '"a"', '"a\\x"', '"1"', "1e400"])
VARIABLES = st.sampled_from(["X", "Y", "Z", "_"])


def _deeper(children):
    some = st.lists(children, min_size=1, max_size=3).map(",".join)
    compound = st.tuples(st.sampled_from(["f", "g", "'$iri'", "+"]), some).map(lambda parts: f"{parts[0]}({parts[1]})")
    tails = st.sampled_from(["", "|T", "|X", "|[a]"])
    return compound | st.tuples(some, tails).map(lambda parts: f"[{parts[0]}{parts[1]}]")


ARGUMENTS = st.recursive(ATOMIC | VARIABLES, _deeper, max_leaves=5)
NOTIFICATIONS = st.lists(ARGUMENTS, min_size=1, max_size=3).map(lambda some: f"f({','.join(some)})") | ARGUMENTS.filter(
    lambda text: text not in ("X", "Y", "Z", "_")
)
HEADS = NOTIFICATIONS | VARIABLES
SIMPLE_GOALS = (
    st.tuples(ARGUMENTS, ARGUMENTS).map(lambda pair: f"{pair[0]} = {pair[1]}")
    | st.tuples(VARIABLES, ARGUMENTS).map(lambda pair: f"{pair[0]} = {pair[1]}")
    | st.tuples(ARGUMENTS, ARGUMENTS).map(lambda pair: f"member({pair[0]},{pair[1]})")
    | st.tuples(VARIABLES, st.lists(ATOMIC, min_size=1, max_size=3)).map(lambda pair: f"member({pair[0]},[{','.join(pair[1])}])")
    | st.tuples(VARIABLES | ATOMIC, st.sampled_from(["<", "=<", ">", ">="]), VARIABLES | ATOMIC).map(" ".join)
    | st.just("true")
)
GOALS = st.recursive(
    SIMPLE_GOALS,
    lambda goals: (
        st.tuples(goals, goals, st.sampled_from([",", ";"])).map(lambda parts: f"({parts[0]}{parts[2]}{parts[1]})")
        | goals.map(lambda goal: f"once({goal})")
        | goals.map(lambda goal: f"not({goal})")
        | st.tuples(goals, goals, goals).map(lambda parts: "({} -> {} ; {})".format(*parts))
    ),
    max_leaves=4,
)


def posted(subscriptions, dialect):
    """All that parse, each with its test, under its template, as a rendezvous has them that looks up however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_index, "FEW", 0)
        return posted_many(subscriptions, dialect)


def posted_many(subscriptions, dialect):
    """The same where they are many enough to be looked up, or are tried."""
    stand = KeyPostings(None)
    tests = {}
    for head, body in subscriptions:
        try:
            made = parse(f"s({head},({body}))", dialect)
            test = compile_test(compile_subscription(made[1], made[2], dialect).source())
        except (BadLine, BadSubscription):
            continue
        asked = TupleTest("pedro", test.subscription.source())
        shape = template(test.subscription) or ANYTHING
        known = stand.get(shape, asked, test.demands)
        assert (known is not None) == (asked in {one.test for one in tests})
        if known is None:
            tests[stand.post_template(shape, asked, test.demands, test.requires)] = test
    return stand, tests


def meeting(stand, items):
    found = stand.table.matching(items) + stand.table.matching(())
    return [one for postings in found for one in postings.candidates(items)]


def check(dialect, subscriptions, notifications):
    stand, tests = posted(subscriptions, dialect)
    for line in notifications:
        try:
            items = to_tuple(parse(line, dialect, frozen=not dialect.notification_variables_bind))
        except BadLine:
            continue
        met = meeting(stand, items)
        covering = {one for one, test in tests.items() if test(items, line)}
        assert covering <= set(met)
        assert len(met) == len(set(met))


@settings(max_examples=100)
@given(st.lists(st.tuples(HEADS, GOALS), min_size=1, max_size=8), st.lists(NOTIFICATIONS, min_size=1, max_size=4))
@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=repr)
def test_notification_meets_every_subscription_that_covers_it(dialect, subscriptions, notifications):
    check(dialect, subscriptions, notifications)


SHAPES = [
    "f({0},{1})",
    "f(g({0}),{1},{2})",
    "f([{0},{1}])",
    "f({0},[{1},g({2})])",
    "f(g({0},h({1},[{2}])))",
    "f([{0}|{1}])",
    "[{0},g({1})]",
]
# Most leaves are alike on both sides, so that much is covered.
LEAVES = st.sampled_from(["a", "b", "1", "1.0", "0 + 1", "pi", '"a"', "[]"])


@st.composite
def alike(draw):
    """Notifications and subscriptions of one shape, with variables here and there on either side."""
    shape = draw(st.sampled_from(SHAPES))
    leaves = [draw(LEAVES) for _ in range(3)]

    def blurred(names, mostly):
        return shape.format(*(draw(st.sampled_from([leaf] * mostly + names)) for leaf in leaves))

    bodies = ["true", *(f"{name} = {leaf}" for name in "XYZ" for leaf in leaves)]
    bodies += [f"member({name},[{leaves[0]},{leaves[1]}])" for name in "XYZ"] + [f"member({leaves[0]},{name})" for name in "XYZ"]
    bodies += [f"{name} {symbol} {number}" for name in "XYZ" for symbol in ("<", "=<", ">", ">=") for number in ("0.5", "1", "3")]
    bodies += [f"({one};{other})" for one in bodies[1:4] for other in bodies[4:7]]
    heads = [(blurred(["X", "Y", "Z", "_", "b"], 3), draw(st.sampled_from(bodies))) for _ in range(6)]
    notifications = [blurred(["X", "Y", "_", "[a]", "[a|T]"], 4) for _ in range(3)]
    # A variable where the others have a compound or a list.
    return heads, [*notifications, re.sub(r"g\([^()]*\)|\[[^\[\]]*\]", "V", notifications[0])]


@settings(max_examples=300)
@given(alike())
@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=repr)
def test_notification_like_its_subscriptions_meets_all_that_cover_it(dialect, both):
    check(dialect, *both)


@settings(max_examples=100)
@given(SPACE_TUPLES, st.lists(st.tuples(HEADS, GOALS), max_size=6))
def test_tuple_of_another_door_meets_every_subscription_that_covers_it(items, subscriptions):
    # A head that is the tuple itself as Pedro writes it, and a goal that asks for that.
    whole = line_of_tuple(items)
    stand, tests = posted([(whole, "true"), ("X", f"X = {whole}"), *subscriptions], PAPER)

    covering = {one for one, test in tests.items() if test(items)}

    assert covering <= set(meeting(stand, items))


@given(st.lists(st.tuples(HEADS, GOALS), min_size=1, max_size=12), st.data())
def test_what_is_removed_leaves_nothing_and_the_rest_is_found(subscriptions, data):
    stand, tests = posted(subscriptions, PAPER)
    gone = data.draw(st.sets(st.sampled_from(sorted(tests, key=id))) if tests else st.just(set()))

    for one in gone:
        stand.remove(one)

    assert sorted(stand, key=id) == sorted(set(tests) - gone, key=id)
    for arguments in ("X", "X,Y", "X,Y,Z"):
        assert gone.isdisjoint(meeting(stand, to_tuple(parse(f"f({arguments})"))))
    for one in set(tests) - gone:
        stand.remove(one)
    assert (stand.size, list(stand.table)) == (0, [])


def test_variable_tail_of_a_list_may_be_anything():
    assert constants_at(to_tuple(parse("f([a|T])")), (1, MEMBER)) is None
    assert list(constants_at(to_tuple(parse("f([a,b|c])")), (1, MEMBER)) or ()) == [A, B]
