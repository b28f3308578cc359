"""Subscriptions: what is refused, what a rendezvous peer is told, and the test that it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_replay import subscription
from pedro_terms import terms

from gsg.tuples.features import Template
from gsg.tuples.terms import Compound, List, Symbol
from pedro_compat import (
    PAPER,
    V1_14,
    BadLine,
    BadSubscription,
    compile_subscription,
    compile_test,
    parse,
    template,
    to_tuple,
    write,
)
from pedro_compat.goals.covers import _JustCompiled, just_compiled
from pedro_compat.terms.unification import MAX_STEPS

F = Symbol("f")


@pytest.mark.parametrize("head", ["1", "-1.5", '"f"'])
@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])
def test_head_that_no_notification_is_is_refused(dialect, head):
    with pytest.raises(BadSubscription):
        subscription(f"{head},true", dialect)


def test_list_head_is_the_papers_only():
    assert subscription("[a|_],true", PAPER).covers(parse("[a,b]"))
    with pytest.raises(BadSubscription):
        subscription("[a|_],true", V1_14)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("f(X,a,1)", Template((F, None, None, None))),
        ("alarm", Template((Symbol("alarm"),))),
        ("'B 1'(X)", Template((Symbol("B 1"), None))),
        ("_", None),
        ("[a|X]", None),
        ("'$iri'(X)", None),
        ("'$tuple'(X,Y)", None),
        (f"f({','.join('a' * 255)})", None),
    ],
)
def test_template_is_functor_and_arity(head, expected):
    assert template(subscription(f"{head},true", PAPER)) == expected


@given(terms().filter(lambda made: type(made) in (str, tuple)), st.data())
def test_template_meets_all_that_is_covered(notification, data):
    arguments = [data.draw(st.sampled_from([argument, parse("_")])) for argument in notification[1:]]
    head = (notification[0], *arguments) if type(notification) is tuple else notification
    # Read anew, since no subscription shares a variable with a notification.
    tested = compile_subscription(parse(write(head)), "true")

    met = template(tested)

    assert tested.covers(notification)
    assert met is None or met.matches(to_tuple(notification))


def test_source_does_not_depend_on_names_of_variables():
    assert subscription("f(X,Y),X > Y", PAPER).source() == subscription("f(Q,_b),Q > _b", PAPER).source()


def test_source_tells_dialects_and_shared_variables_apart():
    sources = {
        subscription(source, dialect).source()
        for source in ("f(X,Y),X > Y", "f(X,Y),Y > X", "f(X,X),X > X", "f(X,Y),true")
        for dialect in (PAPER, V1_14)
    }

    assert len(sources) == 8


TESTED = [
    # head and body, notification, covered
    ("temp(K,T),(T > 20)", "temp(kitchen, 25)", True),
    ("temp(K,T),(T > 20)", "temp(kitchen, 15)", False),
    ("ask(area(kitchen,_),_),true", "ask(area(R,A),ag@russet)", True),
    ("L,member(b,L)", "[a,b]", True),
    ('s(S),splitstring(S,"\\x",_)', 's("\\x41")', True),
    ("f(-),true", "f(-)", True),
    ("f(X,X),true", "f(g(1),g(1))", True),
    ("_,true", "alarm", True),
]


@pytest.mark.parametrize(("source", "line", "expected"), TESTED, ids=[case[0] for case in TESTED])
def test_rendezvous_decides_alike_by_line_and_by_tuple(source, line, expected):
    test = compile_test(subscription(source, PAPER).source())
    items = to_tuple(parse(line))

    assert [test(items, line), test(items, None), test(items, line)] == [expected, expected, expected]


def test_each_notification_is_read_anew():
    test = compile_test(subscription("f(X),X > 1", PAPER).source())

    assert [test((F, value), f"f({value})") for value in (1, 2, 1, 3)] == [False, True, False, True]
    assert [test((F, value)) for value in (1, 2, 1, 3)] == [False, True, False, True]


def test_many_subscriptions_test_the_same_notification():
    tests = [compile_test(subscription(f"f(X),X > {least}", PAPER).source()) for least in range(4)]
    items, line = (F, 2), "f(2)"

    assert [test(items, line) for test in tests] == [True, True, False, False]
    assert [test(items) for test in tests] == [True, True, False, False]


def test_variable_head_covers_what_is_larger_than_any_budget():
    large = parse("f(" + "[a]," * MAX_STEPS + "X)")

    assert subscription("_,true", PAPER).covers(large)


def test_variable_of_a_notification_meets_constants_of_the_head():
    tested = subscription("f(a,1,X),X = 2", PAPER)

    assert [tested.covers(parse(line)) for line in ("f(V,W,V)", "f(V,W,W)", "f(V,W,X)", "f(V,V,X)")] == [False, False, True, False]


def test_line_of_another_dialect_is_taken_from_its_tuple():
    test = compile_test(subscription("f(rem(X,Y)),true", V1_14).source())

    assert test(to_tuple(parse("f(a rem b)")), "f(a rem b)")


def test_command_from_another_door_is_never_covered():
    test = compile_test(subscription("_,true", PAPER).source())

    assert not test((Symbol("p2pmsg"), 1, 2, 3))
    assert test((Symbol("p2pmsg"),))


def test_tuple_that_cannot_be_read_is_not_covered():
    nested = F
    for _ in range(300):
        nested = Compound((F, List((nested,))))

    assert not compile_test(subscription("_,true", PAPER).source())((F, nested))


def test_counters_say_why_nothing_was_covered():
    test = compile_test(subscription("f(X),X > 1", PAPER).source())
    failures = test.subscription.failures
    before = failures.type_faults, failures.exhausted

    test((F, Symbol("a")))
    test((F, 3))
    test((F, 0))

    assert (failures.type_faults - before[0], failures.exhausted - before[1]) == (1, 0)


@pytest.mark.parametrize(
    "source", ["", "paper", "paper f(", "paper f(a,b)", "paper covers(a)", "1.15 covers(a,true)", "1.14 covers(a,foo)"]
)
def test_source_that_is_none_is_refused(source):
    with pytest.raises((BadLine, BadSubscription)):
        compile_test(source)


def test_what_a_door_has_just_compiled_is_taken_once_and_not_read_again() -> None:
    made, known = subscription("f(X),X > 1", PAPER), _JustCompiled()
    known.remember(made.source(), made)

    assert [known.take(made.source()) for _ in range(2)] == [made, None]


def test_of_what_a_door_has_just_compiled_all_is_forgotten_where_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_JustCompiled, "limit", 2)
    monkeypatch.setattr(_JustCompiled, "characters", 100)
    made, known = subscription("f(X),X > 1", PAPER), _JustCompiled()

    for source in ("a", "b", "c"):
        known.remember(source, made)
    by_number = list(known)
    known.remember("d" * 99, made)
    by_characters = [len(source) for source in known]
    known.remember("e" * 2, made)
    known.remember("f" * 101, made)

    assert (by_number, by_characters, list(known), known.left) == (["c"], [1, 99], [], 100)


def test_test_of_what_a_door_has_just_compiled_is_that_of_its_source() -> None:
    made = subscription("f(kitchen,X),X > 1", PAPER)
    read = compile_test(made.source())
    just_compiled.remember(made.source(), made)

    known = compile_test(made.source())

    assert known.subscription is made
    assert (known.demands, known.requires) == (read.demands, read.requires)
