"""Mistakes in the clauses of a SUBSCRIBE block are told with their place and their remedy."""

from __future__ import annotations

import pytest

from gsg import BadText
from gsg.languages.script import parse

CLAUSES = 'a tuple "(", NOT, OPTIONAL, FILTER, LET, "{"'
BLOCKS = "INSERT, DELETE, NOTIFY, SUBSCRIBE"
MODIFIERS = "GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET"
MISTAKES = [
    (
        "SUBSCRIBE { (?x) FITER ?x = 3 }",
        18,
        f'unexpected "FITER"; expected WINDOW, {CLAUSES}, "," or "}}"; did you mean FILTER?',
    ),
    (
        "SUBSCRIBE { (?x) OPTINAL { (a) } }",
        18,
        f'unexpected "OPTINAL"; expected WINDOW, {CLAUSES}, "," or "}}"; did you mean OPTIONAL?',
    ),
    (
        "SUBSCRIBE { { (a) } UNOIN { (b) } }",
        21,
        f'unexpected "UNOIN"; expected UNION, {CLAUSES}, "," or "}}"; did you mean UNION?',
    ),
    (
        "SUBSCRIBE { (?x) } GROUP ?x",
        20,
        f'unexpected "GROUP"; expected {BLOCKS}, {MODIFIERS} or the end of the text; did you mean GROUP BY?',
    ),
    ("INSERT { (a) FILTER ?x = 3 }", 14, "FILTER in INSERT, which takes tuples only; FILTER belongs in SUBSCRIBE"),
    ("DELETE { OPTIONAL { (a) } }", 10, "OPTIONAL in DELETE, which takes tuples only; OPTIONAL belongs in SUBSCRIBE"),
    (
        "FILTER ?x > 3",
        1,
        "this FILTER stands outside a block; expected SUBSCRIBE { ... } around it and the tuples that it restricts",
    ),
    (
        "LIMIT 3",
        1,
        f"LIMIT stands after the braces of SUBSCRIBE; expected there, in this order, {MODIFIERS}",
    ),
    (
        "SUBSCRIBE ?x { (?x) } LIMIT 3 GROUP BY ?x",
        31,
        f"GROUP BY stands after the braces of SUBSCRIBE; expected there, in this order, {MODIFIERS}",
    ),
    ("SUBSCRIBE { (?x) LIMIT 3 }", 18, "LIMIT stands after the braces of SUBSCRIBE, not in them"),
    ("SUBSCRIBE (?x, ^on, ?y)", 14, "this tuple stands outside the braces of SUBSCRIBE; expected SUBSCRIBE { ... } around it"),
    ("SUBSCRIBE { (?x) FILTER }", 25, 'unexpected "}"; expected an expression'),
    ("SUBSCRIBE { (?x) FILTER ?x > }", 30, 'unexpected "}"; expected an expression'),
    (
        "SUBSCRIBE { (?x) FILTER ?x > 3",
        31,
        f'the text ends too early; expected {CLAUSES} or "}}"; SUBSCRIBE on line 1 is not closed',
    ),
    (
        "SUBSCRIBE { (?x) FILTER ?x > 3 (?y) }",
        32,
        'a tuple follows an expression; expected "," between them, or the name of a function right before "("',
    ),
    ("SUBSCRIBE { (?x) FILTER ?x == 3 }", 29, '"==" is no operator; equality is written ='),
    ("SUBSCRIBE { (?x) FILTER ?x > 3 AND ?x < 5 }", 32, '"AND" is no operator; it is written &&'),
    ("SUBSCRIBE { (?x) FILTER ?x > 3 or ?x < 5 }", 32, '"or" is no operator; it is written ||'),
    (
        "SUBSCRIBE { (?x) FILTER NOT { (?x, a) } }",
        18,
        "this FILTER says the same of every row; expected a variable in it, such as FILTER ?x > 10",
    ),
    (
        "SUBSCRIBE { (?x) FILTER 1 + 1 = 2 }",
        18,
        "this FILTER says the same of every row; expected a variable in it, such as FILTER ?x > 10",
    ),
    ("SUBSCRIBE { (?x) BIND(?x AS ?y) }", 18, "BIND is not of this language; expected LET ?name = expression"),
    (
        "SUBSCRIBE { (?x) MINUS { (?x, a) } }",
        18,
        "MINUS is not of this language; expected NOT { ... }, which sees the variables of its surroundings",
    ),
    ("SUBSCRIBE { (?x) FILTER ?z > 3 }", 25, "?z has no value in this FILTER; variables with a value there: ?x"),
    ("SUBSCRIBE { (?weight) FILTER ?wieght > 3 }", 30, "?wieght has no value in this FILTER; did you mean ?weight?"),
    (
        "SUBSCRIBE { (?x) { (?y) FILTER ?x > 3 } }",
        32,
        "?x has no value in this FILTER; it is bound in other braces or later; variables with a value there: ?y",
    ),
    (
        "SUBSCRIBE { LET ?d = ?x * 2, (?x) }",
        22,
        "?x has no value in this LET, which sees what stands before it in its braces; "
        "it is bound in other braces or later; nothing binds a variable there",
    ),
    (
        "SUBSCRIBE { (?x, ?y) LET ?y = ?x }",
        26,
        "LET gives ?y a value, and ?y has one already; expected a variable that is not in use",
    ),
    (
        "SUBSCRIBE { (?x) FILTER COUNT(?x) > 3 }",
        25,
        "the aggregate COUNT in this FILTER, which is of single rows; "
        "expected it in what SUBSCRIBE selects, in HAVING or in ORDER BY",
    ),
    ("SUBSCRIBE { (?x) FILTER STRLN(?x) > 3 }", 25, "the function STRLN is not known; did you mean STRLEN?"),
    (
        "SUBSCRIBE { (?x) FILTER FROB(?x) }",
        25,
        "the function FROB is not known; expected one of SPARQL's, such as STRLEN, CONTAINS or COUNT",
    ),
    ("SUBSCRIBE { (?x) FILTER STRLEN(?x, 1) > 3 }", 25, "STRLEN with 2 arguments; expected 1"),
    ("SUBSCRIBE { (?x) FILTER SUBSTR(?x) = 1 }", 25, "SUBSTR with 1 argument; expected 2 or 3"),
    ("SUBSCRIBE { (?x) FILTER BOUND(3) }", 25, "BOUND is of a variable, such as BOUND(?x)"),
    (
        "SUBSCRIBE { (?x) FILTER STRLEN(DISTINCT ?x) > 3 }",
        25,
        "DISTINCT belongs to aggregates, such as COUNT(DISTINCT ?x), and STRLEN is none",
    ),
    ("SUBSCRIBE SUM(*) AS ?n { (?x) }", 11, "only COUNT is of *; expected an expression, such as SUM(?x)"),
    (
        "SUBSCRIBE SUM(MAX(?x)) AS ?n { (?x) }",
        15,
        "the aggregate MAX inside the aggregate SUM; expected an expression of single rows",
    ),
    (
        "SUBSCRIBE{(?x)LET?y=" + "+".join(["EXISTS{(?x)}"] * 11) + "}",
        151,
        "more than 10 EXISTS inside expressions; expected fewer, or each by itself, as in FILTER EXISTS { ... }",
    ),
    ("SUBSCRIBE GROUP_CONCAT(?x, 5) AS ?n { (?x) }", 11, 'expected the separator of GROUP_CONCAT as a string, such as ", "'),
    (
        "SUBSCRIBE GROUP_CONCAT(?x; SEPARATOR=5) AS ?n { (?x) }",
        26,
        'unexpected ";"; the separator of GROUP_CONCAT is its second argument, as in GROUP_CONCAT(?x, ", ")',
    ),
    ("SUBSCRIBE COUNT(?x) { (?x) }", 21, 'unexpected "{"; expected AS and a variable'),
    ("SUBSCRIBE ?y { (?x) }", 11, "nothing binds ?y; variables with a value there: ?x"),
    ("SUBSCRIBE ?y { (?x) NOT { (?y) } }", 11, "nothing binds ?y; variables with a value there: ?x"),
    (
        "SUBSCRIBE ?x + 1 AS ?x { (?x) }",
        21,
        "the selection gives ?x a value, and ?x has one already; expected a variable that is not in use",
    ),
    (
        "SUBSCRIBE ?x, COUNT(?y) AS ?n { (?x, ?y) } GROUP BY ?y",
        11,
        "?x has many values in a group; expected it in GROUP BY, or in an aggregate such as SAMPLE(?x)",
    ),
    ("SUBSCRIBE COUNT(?z) AS ?n { (?x) }", 17, "?z has no value in the aggregate COUNT; variables with a value there: ?x"),
    (
        "SUBSCRIBE COUNT(?x) AS ?x { (?x) }",
        24,
        "the selection gives ?x a value, and ?x has one already; expected a variable that is not in use",
    ),
    ("SUBSCRIBE COUNT(?x) AS ?n { (?x) } GROUP BY ?q", 45, "nothing binds ?q; variables with a value there: ?x"),
    (
        "SUBSCRIBE { (?x) } GROUP BY ?x",
        20,
        "groups without a selection; expected what their rows show, as in SUBSCRIBE ?y, COUNT(?x) AS ?n { ... }",
    ),
    (
        "SUBSCRIBE { (?x) } HAVING ?x > 3",
        20,
        "HAVING without groups; expected GROUP BY or an aggregate such as COUNT(?x) AS ?n, or a FILTER inside the braces",
    ),
    (
        "SUBSCRIBE { (?x) } ORDER BY ?x",
        20,
        "ORDER BY without LIMIT or OFFSET: rows are told as they come and go; expected LIMIT and a number after it",
    ),
    (
        "SUBSCRIBE COUNT(?x) AS ?n { (?x, ?y) } GROUP BY ?x + 1 AS ?y",
        59,
        "GROUP BY gives ?y a value, and ?y has one already; expected a variable that is not in use",
    ),
    (
        "SUBSCRIBE { (?x) NOT { (?y) LET ?x = ?y } }",
        33,
        "LET gives ?x a value, and ?x has one already; expected a variable that is not in use",
    ),
    ("SUBSCRIBE { (?x) } ORDER BY ?x DESC LIMIT 1", 32, "DESC stands before what it sorts by, as in ORDER BY DESC ?x"),
    ("SUBSCRIBE { (?x) } LIMIT", 25, "the text ends too early; expected a whole number"),
    ("SUBSCRIBE { (?x) } LIMIT ten", 26, 'unexpected "ten"; expected a whole number'),
    ("SUBSCRIBE { (?x) } LIMIT -1", 20, "LIMIT -1 is no number of rows; expected a whole number below 10^18"),
    ("SUBSCRIBE { (?x) WINDOW }", 25, 'unexpected "}"; expected a number'),
    ("SUBSCRIBE { (?x) WINDOW 10 }", 28, 'unexpected "}"; expected a unit (ms, s, min, h or EVENTS)'),
    ("SUBSCRIBE { (?x) WINDOW 10s }", 25, '"10s" is no number; expected a blank before the unit: 10 s'),
    ("SUBSCRIBE { (?x) WINDOW 10 hours }", 28, '"hours" is no unit of a window; expected ms, s, min, h or EVENTS'),
    (
        "SUBSCRIBE { (?x) WINDOW 10 evnts }",
        28,
        '"evnts" is no unit of a window; expected ms, s, min, h or EVENTS; did you mean EVENTS?',
    ),
    ("SUBSCRIBE { (?x) WINDOW -10 s }", 18, "a window of -10; expected a number above 0"),
    ("SUBSCRIBE { (?x) WINDOW 0 EVENTS }", 18, "a window of 0; expected a number above 0"),
    ("SUBSCRIBE { (?x) WINDOW 1.5 EVENTS }", 18, "a window of 1.5 events; expected a whole number"),
    ("SUBSCRIBE { (?x) WINDOW 1000000 EVENTS }", 18, "a window of 1000000 events; expected 1 to 100000"),
    ("INSERT { (a) WINDOW 10 s }", 14, "WINDOW in INSERT, which takes tuples only; WINDOW belongs in SUBSCRIBE"),
    ("DELETE { (a) WINDOW 10 s }", 14, "WINDOW in DELETE, which takes tuples only; WINDOW belongs in SUBSCRIBE"),
    (
        "SUBSCRIBE { (?x), WINDOW 10 s }",
        19,
        "WINDOW stands right after the tuple of the events that it keeps, as in (?x, ^temp, ?t) WINDOW 10 s",
    ),
    ("SUBSCRIBE { (?x) OPTIONAL { } }", 18, "this OPTIONAL group is empty and adds nothing; expected a tuple in it"),
    (
        "SUBSCRIBE { (?x) FILTER EXISTS { } }",
        25,
        "this EXISTS group is empty and says the same of every row; expected a tuple in it",
    ),
    (
        "SUBSCRIBE { OPTIONAL { NOT { (a) } } }",
        1,
        "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
    ),
    (
        "SUBSCRIBE { FILTER EXISTS { (a) } }",
        1,
        "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
    ),
    (
        "SUBSCRIBE { (?x) " + "FILTER EXISTS { (b) } " * 128 + "}",
        1,
        "a subscription of 129 tuples; expected at most 128: split it into several",
    ),
    (
        "SUBSCRIBE { (?x) " + "FILTER ?x > 1 " * 257 + "}",
        1,
        "a subscription of 257 clauses; expected at most 256: split it into several",
    ),
    ("SUBSCRIBE " + "?x, " * 257 + "{ (?x) }", 1, "a subscription of 257 columns; expected at most 256: split it into several"),
    ("SUBSCRIBE { (?x) FILTER " + "!" * 120 + "?x }", 25, "operators are nested more than 120 deep; name a part of it with LET"),
    ("SUBSCRIBE { (?x) " + "OPTIONAL { (a) " * 33 + "}" * 34, 18, "groups in braces are nested more than 32 deep"),
    (
        "SUBSCRIBE { (?x) " + "OPTIONAL { (a) } " * 125 + "}",
        1,
        "a subscription of more than 120 operators inside each other; split it into several",
    ),
]


@pytest.mark.parametrize(("text", "column", "problem"), MISTAKES, ids=lambda given: str(given)[:60])
def test_a_mistake_is_told_with_its_remedy(text: str, column: int, problem: str) -> None:
    with pytest.raises(BadText) as caught:
        parse(text)

    assert (caught.value.problem, caught.value.line, caught.value.column) == (problem, 1, column)
