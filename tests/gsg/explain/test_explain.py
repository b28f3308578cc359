"""Plans, reasons and refusals in words, in a space: the same code explains at a peer."""

from __future__ import annotations

import random

import pytest

from gsg import IRI, BadText, DoorClosed, LocalError, Row, Space, Symbol
from gsg.cli.row_text import read_row
from gsg.explain.explain import explain_plan
from gsg.languages import parse_query

BLOCKS = """
INSERT {
    (B1, ^on, B2), (B1, ^on, B3), (B4, ^on, B2),
    (B2, ^left-of, B3), (B2, ^left-of, B5),
    (B3, ^color, red), (B5, ^color, green)
}
"""
QUERY = "(?x, ^on, ?y), (?y, ^left-of, ?z), NOT { (?z, ^color, red) }"


@pytest.fixture
def space() -> Space:
    made = Space()
    made.run(BLOCKS)
    return made


def test_the_plan_has_the_order_of_joins_with_counts_and_what_each_joins_on(space: Space) -> None:
    assert str(space.explain(QUERY)).splitlines() == [
        "gsg query, rows of ?x ?y ?z",
        "joined in this order (facts are those of this space):",
        "  1. (?y, left-of, ?z)  2 facts",
        "  2. (?x, on, ?y)  3 facts  on ?y",
        "  NOT",
        "    1. (?z, color, red)  1 fact  on ?z",
    ]


def test_without_counts_the_plan_says_so() -> None:
    plan = explain_plan(parse_query("(?x, ^on, ?y), (?z, ^color, red)"), "gsg")

    assert str(plan).splitlines()[1:] == [
        "joined in this order (nobody was asked for counts, so the order may change):",
        "  1. (?z, color, red)",
        "  2. (?x, on, ?y)  on nothing: a cross product",
        "warning: cross product: (?x, on, ?y) and (?z, color, red) share no variable, so each solution of one is joined with each "
        "of the other",
    ]


def test_a_filter_that_no_index_can_look_up_is_told(space: Space) -> None:
    plan = space.explain("(?x, age, ?a) FILTER ?a != 18 && ?a > 3")

    assert sorted(line.strip() for line in str(plan).splitlines() if "with" in line) == [
        "with ?a != 18, decided on each fact where it lies; of many like it, each is tried",
        "with ?a > 3, decided on each fact where it lies",
    ]


def test_operators_are_a_tree_and_filters_stand_where_they_are_decided(space: Space) -> None:
    plan = space.explain(
        """SELECT ?p (COUNT(?k) AS ?n) {
            ?p <x:knows> ?q . ?q <x:age> ?a FILTER(?a > 18)
            OPTIONAL { ?q <x:nick> ?k FILTER(STRLEN(?k) < ?a) }
            MINUS { ?q <x:left> true }
        } GROUP BY ?p HAVING (COUNT(?k) > 1) ORDER BY DESC(?n) LIMIT 3""",
        "sparql",
    )

    assert str(plan).splitlines()[2:] == [
        "  ORDER BY ?n descending LIMIT 3",
        "    show ?p, ?n",
        "      BIND COUNT(?k) AS ?n",
        "        group by ?p: COUNT(?k)",
        "          1. (?p, <x:knows>, ?q)  0 facts",
        "          2. (?q, <x:age>, ?a)  0 facts  on ?q",
        "             with ?a > 18, decided on each fact where it lies",
        "          OPTIONAL with STRLEN(?k) < ?a",
        "            1. (?q, <x:nick>, ?k)  0 facts  on ?q",
        "          MINUS",
        "            show ?q",
        '              1. (?q, <x:left>, "true"^^<http://www.w3.org/2001/XMLSchema#boolean>)  0 facts  on ?q',
        "        FILTER COUNT(?k) > 1",
    ]


def test_a_query_that_cannot_be_has_no_plan(space: Space) -> None:
    with pytest.raises(BadText):
        space.explain("(?x, on")


def test_why_names_the_tuples_of_each_way(space: Space) -> None:
    subscription = space.subscribe(QUERY)

    why = subscription.why(read_row("?z=B5"))

    assert (why.total, why.complete) == (2, True)
    assert str(why).splitlines() == [
        "?z=B5 holds, in 2 ways:",
        "1.",
        "  (B2, left-of, B5)  meets (?y, left-of, ?z)",
        "  (B1, on, B2)  meets (?x, on, ?y)",
        "  NOT: there is no solution",
        "2.",
        "  (B2, left-of, B5)  meets (?y, left-of, ?z)",
        "  (B4, on, B2)  meets (?x, on, ?y)",
        "  NOT: there is no solution",
    ]


@pytest.mark.parametrize(
    ("row", "because"),
    [
        ("?x=B1 ?z=B3", "NOT has a solution: (B3, color, red)"),
        ("?x=B7", "of 3 tuples that match (?x, on, ?y) none has the values of the row"),
        (
            "?x=B1 ?y=B3",
            "of 2 tuples that match (?y, left-of, ?z) none has the values of the row",
        ),
    ],
)
def test_why_not_names_the_part_that_fails(space: Space, row: str, because: str) -> None:
    refused = space.subscribe(QUERY).why_not(read_row(row))

    assert (refused.holds, refused.because) == (False, (because,))
    assert "<- here" in str(refused)


def test_a_row_that_holds_is_not_refused_and_one_that_does_not_has_no_reasons(space: Space) -> None:
    subscription = space.subscribe(QUERY)

    assert str(subscription.why_not({"x": Symbol("B1")})) == "?x=B1 holds; gsg explain --why says which tuples make it"
    assert str(subscription.why({"x": Symbol("B9")})) == "?x=B9 does not hold; gsg explain --why-not says why"


PEOPLE = [(IRI(f"x:{name}"), IRI("x:age"), age) for name, age in (("a", 17), ("b", 20), ("c", 40))] + [
    (IRI("x:a"), IRI("x:knows"), IRI("x:b")),
    (IRI("x:a"), IRI("x:knows"), IRI("x:c")),
    (IRI("x:b"), IRI("x:knows"), IRI("x:c")),
    (IRI("x:c"), IRI("x:nick"), "cee"),
]


@pytest.mark.parametrize(
    ("text", "row", "because"),
    [
        ("SELECT * { ?p <x:age> ?a FILTER(?a > 18) }", "?p=<x:a>", ["FILTER ?a > 18 does not hold for ?a=17"]),
        (
            "SELECT * { ?p <x:age> ?a OPTIONAL { ?p <x:nick> ?n } }",
            '?p=<x:c> ?n="see"',
            ["OPTIONAL gives other values than asked for ?a=40 ?p=<x:c>"],
        ),
        (
            "SELECT * { ?p <x:age> ?a OPTIONAL { ?p <x:nick> ?n } }",
            '?p=<x:b> ?n="bee"',
            ["OPTIONAL has no match for ?a=20 ?p=<x:b>, so ?n is unbound"],
        ),
        (
            "SELECT * { ?p <x:age> ?a OPTIONAL { ?p <x:nick> ?n } OPTIONAL { ?p <x:fax> ?f } }",
            "?p=<x:c> ?f=1",
            ['OPTIONAL has no match for ?a=40 ?n="cee" ?p=<x:c>, so ?f is unbound'],
        ),
        (
            "SELECT * { { ?p <x:age> ?v } UNION { ?p <x:nick> ?n } }",
            '?p=<x:b> ?n="bee"',
            [
                "(?p, <x:age>, ?v) can hold, and binds no ?n",
                "of 1 tuple that match (?p, <x:nick>, ?n) none has the values of the row",
            ],
        ),
        (
            "SELECT * { ?p <x:age> ?a VALUES (?a ?w) { (17 UNDEF) (20 2) } }",
            "?p=<x:a> ?w=2",
            ["join has no value for ?a=17 ?p=<x:a>, so ?w is unbound"],
        ),
        (
            "SELECT * { ?p <x:nick> ?n BIND(?n + 1 AS ?s) }",
            "?p=<x:c> ?s=1",
            ['BIND ?n + 1 AS ?s gives no value for ?n="cee" ?p=<x:c>, so ?s is unbound'],
        ),
        (
            "SELECT ?p (SUM(?q) AS ?n) { ?p <x:knows> ?q } GROUP BY ?p",
            "?p=<x:a> ?n=2",
            ["BIND SUM(?q) AS ?n gives no value for ?p=<x:a>, so ?n is unbound"],
        ),
        ("SELECT ?p ?none { ?p <x:age> ?a }", "?p=<x:a> ?none=1", ["(?p, <x:age>, ?a) can hold, and binds no ?none"]),
        (
            "SELECT ?p (COUNT(*) AS ?n) { ?p <x:knows> ?q } GROUP BY ?p HAVING (COUNT(*) > 1)",
            "?p=<x:b>",
            ["FILTER COUNT(*) > 1 does not hold for COUNT(*)=1"],
        ),
        (
            "SELECT ?p (COUNT(*) AS ?n) { ?p <x:knows> ?q } GROUP BY ?p",
            "?p=<x:a> ?n=3",
            ["BIND gives another value: ?n=2"],
        ),
        (
            "SELECT * { ?p <x:knows> ?q MINUS { ?q <x:nick> ?n } }",
            "?q=<x:c>",
            ["MINUS takes it away: ?p=<x:a> ?q=<x:c>; ?p=<x:b> ?q=<x:c>"],
        ),
        (
            "SELECT * { ?p <x:age> ?a FILTER EXISTS { ?p <x:knows> ?q } }",
            "?p=<x:c>",
            [
                "EXISTS has no solution for ?a=40 ?p=<x:c>",
                "of 3 tuples that match (?p, <x:knows>, ?q) none has the values of the row",
            ],
        ),
        (
            "SELECT * { { ?p <x:nick> ?v } UNION { ?p <x:none> ?v } }",
            "?p=<x:a>",
            [
                "of 1 tuple that match (?p, <x:nick>, ?v) none has the values of the row",
                "no tuple matches (?p, <x:none>, ?v)",
            ],
        ),
        ("SELECT * { ?p <x:age> ?a } ORDER BY ?a LIMIT 1", "?p=<x:c>", ["ORDER BY ?a LIMIT 1 leaves it out: ?a=40 ?p=<x:c>"]),
        ("SELECT DISTINCT ?a { ?p <x:age> ?a } ORDER BY ?p LIMIT 1", "?a=40", ["ORDER BY first LIMIT 1 leaves it out: ?a=40"]),
        ("SELECT * { ?p <x:knows>+ ?q }", "?p=<x:c>", ["there is no walk: path (?p, (<x:knows>)+, ?q)"]),
        ("SELECT * { ?p <x:age> ?a VALUES ?a { 17 } }", "?p=<x:c>", None),
    ],
)
def test_each_operator_says_what_it_refuses(text: str, row: str, because: list[str] | None) -> None:
    space = Space()
    space.insert(PEOPLE)

    refused = space.subscribe(text, "sparql").why_not(read_row(row))

    assert not refused.holds
    assert refused.because
    assert because is None or list(refused.because) == because


@pytest.mark.parametrize(("asked", "holds"), [(17, True), (17.0, False), ("17", False), (Symbol("17"), False)])
def test_a_value_of_another_kind_is_another_value(asked: object, holds: bool) -> None:
    space = Space()
    space.insert(PEOPLE)
    ages = space.subscribe("SELECT ?a { ?p <x:age> ?a }", "sparql")

    assert (ages.why({"a": asked}).total > 0, ages.why_not({"a": asked}).holds) == (holds, holds)


EXPLAINED = [
    "SELECT ?s ?v ?w { ?s <x:p> ?v OPTIONAL { ?s <x:q> ?w } }",
    "SELECT ?s ?v ?w { ?s <x:p> ?v OPTIONAL { ?s <x:q> ?w FILTER(?v != ?w) } OPTIONAL { ?s <x:r> ?w } }",
    "SELECT ?s ?v ?w { { ?s <x:p> ?v } UNION { ?s <x:q> ?w } }",
    "SELECT ?s ?v ?w { { ?s <x:p> ?v } UNION { ?s <x:q> ?w } ?s <x:r> ?w }",
    "SELECT ?s ?v ?w { ?s <x:p> ?v VALUES (?v ?w) { (1 UNDEF) (UNDEF 2) (2 2.0) } }",
    "SELECT ?s ?v ?w { ?s <x:p> ?v BIND(?v + 1 AS ?w) }",
    "SELECT ?s (MAX(?v) AS ?w) (SUM(?v) AS ?v1) { ?s <x:p> ?v } GROUP BY ?s",
    "SELECT ?w (COUNT(?s) AS ?v) { ?s <x:p> ?x OPTIONAL { ?s <x:q> ?w } } GROUP BY ?w",
    "SELECT ?s ?w { ?s <x:p> ?v { SELECT (MIN(?y) AS ?w) { ?z <x:q> ?y } } }",
    "SELECT DISTINCT ?w { ?s <x:p> ?v OPTIONAL { ?s <x:q> ?w } }",
    "SELECT ?s ?w { ?s <x:p> ?v OPTIONAL { ?s <x:q> ?w } } ORDER BY ?s LIMIT 1",
    "SELECT ?s ?w { ?s <x:p> ?v MINUS { ?s <x:r> ?w } OPTIONAL { ?s <x:q> ?w } }",
    "SELECT ?s ?w { ?s <x:p> ?v OPTIONAL { ?s <x:q> ?w } FILTER NOT EXISTS { ?t <x:r> ?w } }",
    "SELECT ?s ?w { ?s <x:p>* ?w }",
    "SELECT ?s ?v ?w { ?s (<x:p>|<x:q>)/<x:r>? ?w }",
]


@pytest.mark.parametrize("text", EXPLAINED)
def test_a_row_is_said_to_hold_where_some_row_has_its_values_and_not_elsewhere(text: str) -> None:
    choose = random.Random(text)
    values = [1, 2, 1.0, "one", IRI("x:a"), IRI("x:b")]
    for _ in range(12):
        space = Space()
        space.insert((IRI(f"x:{choose.choice('ab')}"), IRI(f"x:{choose.choice('pqr')}"), choose.choice(values)) for _ in range(6))
        subscription = space.subscribe(text, "sparql")
        rows = [Row(row) for row in subscription.rows()]
        for _ in range(8):
            names = choose.sample(subscription.variables, choose.randint(1, len(subscription.variables)))
            # Often a value that some row has, so that many hold.
            like = choose.choice(rows) if rows and choose.random() < 0.6 else {}
            asked = Row({name: like[name] if name in like and choose.random() < 0.8 else choose.choice(values) for name in names})

            holds = any(row.aligned(tuple(asked)) == asked.terms for row in rows)

            assert (subscription.why(asked).total > 0, subscription.why_not(asked).holds) == (holds, holds), (asked, rows)
            assert bool(subscription.why_not(asked).because) != holds


def test_a_group_shows_its_solutions_and_how_many_there_are() -> None:
    space = Space()
    space.insert((IRI("x:a"), IRI("x:knows"), number) for number in range(8))
    subscription = space.subscribe("SELECT ?p (SUM(?q) AS ?n) { ?p <x:knows> ?q } GROUP BY ?p", "sparql")

    lines = str(subscription.why({"n": 28})).splitlines()

    assert lines[:2] == ["?n=28 holds, in one way:", "  group by ?p: SUM(?q): 8 solutions"]
    assert lines[2] == "    1. (<x:a>, <x:knows>, 0)  meets (?p, <x:knows>, ?q)"
    assert lines[-1].strip() == "and 3 more"


def test_events_in_a_window_are_reasons() -> None:
    space = Space(clock=lambda: 0.0)
    subscription = space.subscribe("(?room, ^temp, ?t) WINDOW 10 s, (?room, ^floor, ?f)")
    space.insert([("hall", Symbol("floor"), 1)])
    space.notify([("hall", Symbol("temp"), 25)])

    assert str(subscription.why({"room": "hall"})).splitlines() == [
        '?room="hall" holds, in one way:',
        '  ("hall", temp, 25)  meets (?room, temp, ?t) WINDOW 10 s',
        '  ("hall", floor, 1)  meets (?room, floor, ?f)',
    ]
    assert not subscription.why_not({"room": "hall", "t": 26}).holds


def test_memory_is_accounted_for(space: Space) -> None:
    one, other = space.subscribe(QUERY), space.subscribe(QUERY)

    assert (one.memory().rows, one.memory().own_tokens) == (2, 0)
    other.close()
    assert one.memory().own_tokens == one.memory().tokens > 0
    with pytest.raises(DoorClosed):
        other.memory()


def test_names_that_rows_do_not_have_are_refused(space: Space) -> None:
    with pytest.raises(LocalError, match=r"rows of this query have no \?q; they have \?x \?y \?z"):
        space.subscribe(QUERY).why({"q": 1})


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("?x=a", {"x": Symbol("a")}),
        ('?x="b c" ?n=1 ?d=1.5', {"x": "b c", "n": 1, "d": 1.5}),
        ('?x="say \\"?y=1\\""', {"x": 'say "?y=1"'}),
        ("?x=<http://example.org/a?b=c>", {"x": IRI("http://example.org/a?b=c")}),
        ("?x='left of' ?y=^on", {"x": Symbol("left of"), "y": Symbol("on")}),
        ('{"x": "<x:a>", "n": 1}', {"x": IRI("x:a"), "n": 1}),
        ('{"sign": "+", "row": {"x": "a"}}', {"x": Symbol("a")}),
        ("", {}),
        ("?left-of=B1 ?n=2", {"left-of": Symbol("B1"), "n": 2}),
        ("(true)", {}),
    ],
)
def test_a_row_is_read_as_it_is_printed(text: str, row: dict[str, object]) -> None:
    assert read_row(text) == Row(row)


@pytest.mark.parametrize("text", ["x=1", "?x=", "?x=(a, b)", '{"x": ', "?x", '{"x": "), (b"}', "[1]"])
def test_what_is_no_row_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        read_row(text)
