"""The text of temporal subscriptions: what it says, and what is said of mistakes."""

from __future__ import annotations

import pytest

from gsg.channels.languages.expressions import And, Comparison, Constant, Exists, Field, Origin
from gsg.channels.languages.predicate import parse as predicate
from gsg.channels.temporal import TemporalQuery, parse
from gsg.channels.temporal.query import Absence, Column, Pattern, Window
from gsg.errors import BadText

TIME, USER = Field(("time",)), Field(("userid",))


def _before(one: str, other: str) -> Comparison:
    return Comparison("<", Field((one,)), Field((other,)))


def test_the_example_of_the_paper() -> None:
    query = parse("""
        (event (time ?t1) (userid ?u1))
        (event (time ?t2) (userid ?u2))
        (event (time ?t3) (userid ?u3))
        (test (< ?t1 ?t2 ?t3))
        (test (eq ?u1 ?u2 ?u3))
    """)

    exist = And((Exists(TIME), Exists(USER)))
    assert query == TemporalQuery(
        tuple(Pattern(exist, (Column(f"t{n}", TIME), Column(f"u{n}", USER))) for n in (1, 2, 3)),
        (
            _before("t1", "t2"),
            _before("t2", "t3"),
            Comparison("=", Field(("u1",)), Field(("u2",))),
            Comparison("=", Field(("u2",)), Field(("u3",))),
        ),
    )


def test_a_pattern_has_constants_conditions_and_the_arrival() -> None:
    query = parse("(event (type 'error) (|a b| ?x) (file.size ?s) ((env host) ?h) (where (> size 3) (exists path)) (arrival ?n))")

    [pattern] = query.patterns
    assert pattern.columns == (
        Column("x", Field(("a b",))),
        Column("s", Field(("file", "size"))),
        Column("h", Field(("host",), Origin.ENVIRONMENT)),
        Column("n", None),
    )
    assert pattern.condition == predicate(
        "(and (= type 'error) (exists |a b|) (exists file.size) (exists (env host)) (> size 3) (exists path))"
    )


def test_an_absence_is_after_the_event_before_it() -> None:
    query = parse("(event (u ?u)) (event (v ?v)) (absent 2.5m (event (u ?u) (w ?w)) (test (> ?w ?v))) (event)")

    late = Pattern(And((Exists(Field(("u",))), Exists(Field(("w",))))), (Column("u", Field(("u",))), Column("w", Field(("w",)))))
    assert query.absences == (Absence(late, 150.0, 1, (Comparison(">", Field(("w",)), Field(("v",))),)),)
    assert query.patterns[2] == Pattern(And(()))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("(event)", Window()),
        ("(event) (last 100)", Window(100)),
        ("(within 300ms) (event)", Window(None, 0.3)),
        ("(within 1h) (event) (last 7)", Window(7, 3_600.0)),
        ("(event) (within 2d)", Window(None, 172_800.0)),
    ],
)
def test_windows(text: str, window: Window) -> None:
    assert parse(text).window == window


def test_fields_may_have_the_names_of_keywords() -> None:
    [pattern] = parse("(event (|where| ?w) (|arrival| 1) (test ?t) (last 'one))").patterns

    assert [column.variable for column in pattern.columns] == ["w", "t"]
    assert Comparison("=", Field(("arrival",)), Constant(1)) in pattern.condition.parts  # type: ignore[union-attr]  # an And


def test_interest_is_in_each_event_that_matters() -> None:
    query = parse("(event (type 'a)) (absent 1s (event (type 'b)))")

    assert query.interest == predicate("(in type 'a 'b)")


MISTAKES = {
    "empty": ("", 1, "a subscription to no event; expected one or more such as (event (time ?t) (userid ?u))"),
    "no event": ("(last 3)", 1, "a subscription to no event"),
    "atom": ("(event) time", 9, "time outside of a list; expected (event ...), (absent ...), (test ...), (last ...), (within ...)"),
    "variable outside": ("?x (event)", 1, "?x outside of a list"),
    "unknown item": ("(evnt (time ?t))", 1, "unknown item 'evnt'; did you mean event?; expected (event ...)"),
    "empty list": ("()", 1, "unknown item '()'"),
    "condition outside": ("(event (a ?a)) (< ?a 3)", 16, "(< ...) outside of an event; expected (test (< ...)) for variables"),
    "relation outside": ("(contains path 'x)", 1, "(contains ...) outside of an event; expected (test (contains ...))"),
    "never closed": ("(event (a ?a)", 1, 'a "(" that is never closed'),
    "name in an event": ("(event type)", 8, "type in an event; expected (field ?variable), (field constant), (where ...)"),
    "condition in an event": ("(event (> size 3))", 8, "(> ...) in an event; expected a field, or (where (> ...))"),
    "relation in an event": ("(event (prefix path 'x))", 8, "(prefix ...) in an event; expected a field, or (where (prefix ...))"),
    "empty list in an event": ("(event ())", 8, "() in an event; expected a field"),
    "field without a value": (
        "(event (time))",
        8,
        "time with 0 values; expected one, a constant or a ?variable, or (where (exists time))",
    ),
    "field with two values": ("(event (time 1 2))", 8, "time with 2 values; expected one"),
    "name as a value": ("(event (type error))", 14, 'error as a value; expected ?error for a variable, or "error" for a text'),
    "list as a value": ("(event (size (> 3)))", 14, "a list as the value of a field; expected a constant or a ?variable"),
    "variable as a field": ("(event (?x 1))", 9, "the variable ?x; expected a field"),
    "variable in where": ("(event (where (= a 1)\n (> size ?s)))", 10, "the variable ?s in (where ...), which is about one event"),
    "where of nothing": ("(event (where))", 8, "(where ...) with 0 operands; expected 1 or more"),
    "arrival as a constant": (
        "(event (arrival 5))",
        17,
        "5 as an arrival; expected (arrival ?n), or (|arrival| ...) for such a field",
    ),
    "arrival of nothing": ("(event (arrival))", 8, "(arrival ...) with 0 operands; expected 1"),
    "unbound variable": (
        "(event (u ?user)) (test (= ?user ?usr))",
        34,
        "the variable ?usr is bound by no event; did you mean user?; expected one that is (?user), or (event (field ?usr))",
    ),
    "no variable at all": ("(event) (test (= ?t 1))", 18, "the variable ?t is bound by no event; expected one that is (none is)"),
    "variable of an absence": ("(event) (absent 1s (event (a ?a))) (test (= ?a 1))", 45, "the variable ?a is bound by no event"),
    "field in a test": (
        "(event (time ?t)) (test (< time 3))",
        28,
        "the field time in a test; expected a ?variable, bound by (event (time ?time))",
    ),
    "environment in a test": ("(event (a ?a)) (test (= ?a (env b)))", 28, "(env ...) in a test; expected a ?variable, a constant"),
    "test of nothing": ("(event) (test)", 9, "(test ...) with 0 operands; expected 1 or more"),
    "unknown operator": ("(event (a ?a)) (test (=< ?a 1))", 22, "unknown operator '=<'"),
    "no condition": ("(event (a ?a)) (test ?a)", 22, "?a is no condition; expected a list such as (= ?a 1)"),
    "two constants": ("(event (a ?a)) (test (< 1 2))", 22, "(< ...) of two constants; expected a ?variable"),
    "relation of a constant": ("(event (a ?a)) (test (prefix 'x 'y))", 30, "a constant where a ?variable is expected"),
    "element outside": ("(event (a ?a)) (test (= it 1))", 25, '"it" is the element of a list'),
    "list without an operator": ("(event (a ?a)) (test ((= ?a 1)))", 22, "a list that begins with no operator"),
    "absence at first": (
        "(absent 5s (event)) (event)",
        1,
        "an absence before any event; expected the event that begins its time first",
    ),
    "absence without a time": ("(event) (absent (event))", 9, "(absent ...) with 1 operands; expected 2 or more"),
    "absence of a test": (
        "(event) (absent 5s (test true))",
        20,
        "what is to be absent is no event; expected (absent 5s (event ...))",
    ),
    "absence of two events": (
        "(event) (absent 5s (event) (event))",
        28,
        "an absence takes one event, and tests; expected (test ...)",
    ),
    "number as a duration": (
        "(event) (within 10)",
        17,
        "10 is no duration; expected a number and one of ms, s, m, h, d, such as 10s",
    ),
    "list as a duration": ("(event) (within (s))", 17, "(s ...) is no duration"),
    "negative duration": ("(event) (within -1s)", 17, "-1s is no duration"),
    "no duration": ("(event) (absent 0s (event))", 17, "a duration of 0s; expected more than 0s, and at most 366d"),
    "long duration": ("(event) (within 99999d)", 17, "a duration of 99999d; expected more than 0s"),
    "two windows": ("(event) (last 3) (last 4)", 18, "a second (last ...); expected one"),
    "two times": ("(event) (within 1s) (within 2s)", 21, "a second (within ...); expected one"),
    "last of a time": (
        "(event) (last 10s)",
        15,
        "10s is no number of events; expected one such as (last 100); for a time, (within 10s)",
    ),
    "last of nothing": ("(event) (last 0)", 15, "0 is no number of events"),
    "last of too many": ("(event) (last 10001)", 15, "the last 10,001 events; expected at most 10,000, which are remembered"),
    "too many patterns": ("(event) " * 9, 65, "more than 8 patterns of events; expected fewer"),
    "too many tests": ("(event (a ?a))" + "".join(f"(test (> ?a {n}))" for n in range(257)), None, "more than 256 tests"),
    "bad constant": ("(event (a ?a)) (test (cidr ?a 'x))", 31, "'x' is no network"),
}


@pytest.mark.parametrize(("text", "column", "problem"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_place(text: str, column: int | None, problem: str) -> None:
    with pytest.raises(BadText) as caught:
        parse(text)

    assert problem in str(caught.value)
    assert column is None or caught.value.column == column
    assert caught.value.line == 1 + text.count("\n")


def test_a_mistake_shows_the_line() -> None:
    with pytest.raises(BadText) as caught:
        parse("(event (time ?t))\n(test (< ?t ?u))")

    assert str(caught.value) == (
        "temporal subscription line 2, column 13: the variable ?u is bound by no event; expected one that is (?t), "
        "or (event (field ?u))\n"
        "    (test (< ?t ?u))\n"
        "                ^"
    )


def test_a_window_is_at_most_what_is_remembered() -> None:
    with pytest.raises(BadText, match="the last 21 events; expected at most 20"):
        parse("(event) (last 21)", max_events=20)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadText, match="nested more than 64 deep"):
        parse("(" * 100_000)
