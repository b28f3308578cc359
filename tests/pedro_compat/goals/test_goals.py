"""Goals and arithmetic: what the manual's tables say, in both dialects and where they part."""

from __future__ import annotations

import logging

import pytest
from pedro_replay import covered, subscription

from pedro_compat import PAPER, V1_14, BadSubscription, CoverTest, parse, write
from pedro_compat.goals.failures import WARN_EVERY_S, Failures

DIALECTS = pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])

VALUES = [
    ("2 + 3", "5"),
    ("2 - 3", "-1"),
    ("2 * 3.0", "6.0"),
    ("6 / 2", "3.0"),
    ("-7 // 2", "-3"),
    ("2 ** 100", "1267650600228229401496703205376"),
    ("2 ** (-1)", "0.5"),
    ("0 ** 0", "1"),
    ("(-1) ** 3", "-1"),
    ("12 /\\ 10", "8"),
    ("12 \\/ 10", "14"),
    ("\\(5)", "-6"),
    ("1 << 70", "1180591620717411303424"),
    ("-5 >> 1", "-3"),
    ("1 << (-1)", "0"),
    ("8 >> (-1)", "16"),
    ("0 << (1 << 60)", "0"),
    ("-1 >> (1 << 60)", "-1"),
    ("abs(-5000000000)", "5000000000"),
    ("round(2.5)", "3"),
    ("round(-2.5)", "-3"),
    ("round(0.49999999999999994)", "0"),
    ("round(7)", "7"),
    ("floor(-2.5)", "-3"),
    ("ceiling(2.1)", "3"),
    ("sqrt(9)", "3.0"),
    ("sin(0)", "0.0"),
    ("cos(0)", "1.0"),
    ("tan(0)", "0.0"),
    ("asin(1) * 2", "3.141592653589793"),
    ("acos(1)", "0.0"),
    ("atan(1) * 4", "3.141592653589793"),
    ("log(e)", "1.0"),
    ("pi", "3.141592653589793"),
    ("9223372036854775807 + 1", "9223372036854775808"),
    ("- (3)", "-3"),
    ("-(pi)", "-3.141592653589793"),
]


@DIALECTS
@pytest.mark.parametrize(("expression", "value"), VALUES, ids=[case[0] for case in VALUES])
def test_value(dialect, expression, value):
    assert covered(f"e(X),X is {expression}", f"e({value})", dialect)


PARTED = [
    ("-7 mod 3", "2", "-1"),
    ("7 mod -3", "-2", "1"),
]


@pytest.mark.parametrize(("expression", "in_paper", "in_server"), PARTED, ids=[case[0] for case in PARTED])
def test_mod_follows_prolog_in_the_paper_and_c_in_the_server(expression, in_paper, in_server):
    assert covered(f"e(X),X is {expression}", f"e({in_paper})", PAPER)
    assert covered(f"e(X),X is {expression}", f"e({in_server})", V1_14)


@pytest.mark.parametrize(("expression", "value"), [("-7 rem 3", "-1"), ("\\ 5", "-6"), ("+ 5", "5")])
def test_operator_of_the_paper_only(expression, value):
    assert covered(f"e(X),X is {expression}", f"e({value})", PAPER)


@pytest.mark.parametrize("goal", ["Y is sqrt(-1)", "1 / 0.0 > 1", "Y is 1e400", "Y is 1e400 + 1"])
def test_undefined_value_is_a_number_in_the_server(goal):
    assert covered(f"e(X),{goal}", "e(1)", V1_14)


@pytest.mark.parametrize("goal", ["Y is sqrt(-1)", "1 / 0.0 > 1", "Y is 1e400 + 1", "Y is 0 / 0.0"])
def test_undefined_value_is_a_type_error_in_the_paper(goal):
    assert not covered(f"e(X),({goal} ; true)", "e(1)", PAPER)


@pytest.mark.parametrize("comparison", ["<", "=<", ">", ">="])
def test_not_a_number_compares_with_nothing(comparison):
    assert not covered(f"e(X),sqrt(X) {comparison} 1", "e(-1)", V1_14)


@DIALECTS
@pytest.mark.parametrize(
    "goal",
    [
        "Y is X + 1",
        "Y is foo",
        "Y is foo(1)",
        'Y is "5"',
        "Y is [1]",
        "Y is Z",
        "X < 1",
        "1 < X",
        "1 // 0 > 0",
        "1 mod 0 > 0",
        "1 / 0 > 0",
        "0 ** (-1) > 0",
        "(-8) ** 0.5 > 0",
        "log(0) < 0",
        "asin(2) < 9",
        "1.5 // 1 > 0",
        "1 /\\ 1.0 > 0",
        "\\(1.0) < 0",
        "+(1,2,3) > 0",
        "pi(1) > 0",
        "e(1) > 0",
        "floor(1e400) > 0",
        "round(1e400) > 0",
        "10.0 ** 400 > 0",
        "splitstring(X,_,_)",
        "splitstring([],_,_)",
    ],
)
def test_type_error_fails_the_whole_match(dialect, goal):
    failing = subscription(f"e(X),(not({goal}) ; true)", dialect)
    before = failing.failures.type_faults

    assert not failing.covers(parse("e(a)"))
    assert failing.failures.type_faults == before + 1


HOLDS = [
    # body, notification n(...), covered
    ("member(X,[1,2,3])", "n(3)", True),
    ("member(X,[1,2|3])", "n(3)", False),
    ("member(X,a)", "n(a)", False),
    ("(member(Y,[1,2,3]), member(Y,[3,4]), X = Y)", "n(3)", True),
    ("(member(Y,[1,2,3]), member(Y,[3,4]))", "n(0)", True),
    ("(member(Y,[1,2]), member(Y,[3,4]))", "n(0)", False),
    ("(X = f(Y), member(Y,[1,2]))", "n(f(2))", True),
    ("member(Y,[])", "n(0)", False),
    ("member(1,[1.0,a])", "n(0)", False),
    ("split(X,[a],B)", "n([a,b])", True),
    ("split(X,[],B)", "n([])", True),
    ("(split(X,A,B), A = [a,b|_], B = [c])", "n([a,b,c])", True),
    ("(split(X,A,A), A = [a])", "n([a,a])", True),
    ("split(X,[a|T],[c])", "n([a,b,c])", True),
    ("split(X,[a,b,c,d],_)", "n([a,b,c])", False),
    ("split(X,A,[b|c])", "n([a,b|c])", True),
    ("split(X,A,c)", "n([a,b|c])", True),
    ("split(X,A,B)", "n(a)", False),
    ('splitstring(X,A,"c")', 'n("abc")', True),
    ('splitstring(X,"abcd",_)', 'n("abc")', False),
    ('splitstring(X,_,"abcd")', 'n("abc")', False),
    ("(splitstring(X,A,A))", 'n("abab")', True),
    ("splitstring(X,a,_)", 'n("abc")', False),
    ('(splitstring(X,A,B), A = "é")', 'n("éa")', True),
    ('splitstring(X,_,"n")', 'n("a\\n")', True),
    ("number(X)", "n(1.5)", True),
    ("number(1)", "n(a)", True),
    ("number(f(1))", "n(1)", False),
    ("atom(X)", "n([])", True),
    ("atom(X)", 'n("a")', False),
    ("string(X)", 'n("")', True),
    ("string(X)", "n(a)", False),
    ("list(X)", "n([1|2])", True),
    ("list(X)", "n(.(1,2))", True),
    ("list(X)", "n('.'(1))", False),
    ("(not(X = 1), X = 2)", "n(2)", True),
    ("not((Y = 1, X = Y))", "n(1)", False),
    ("(not(fail), X = 1)", "n(2)", False),
    ("(not((X = Y, fail)), atom(X))", "n(a)", True),
    ("(once(member(Y,[1,2])), X = Y)", "n(2)", False),
    ("once((member(Y,[1,2]), X = Y))", "n(2)", True),
    ("(member(Y,[1,2]), once(member(Z,[5,6])), X = Y)", "n(2)", True),
    ("((X = 1 ; X = 2) -> true ; fail)", "n(2)", True),
    ("((member(Y,[1,2]) -> true ; fail), X = Y)", "n(2)", False),
    ("((true -> member(Y,[1,2]) ; fail), X = Y)", "n(2)", True),
    ("(member(Y,[1,2]), (Y > 5 -> true ; Y > 0 -> Y = 2 ; fail))", "n(0)", True),
    ("((fail -> true ; fail) ; X = 1)", "n(1)", True),
    ("(X = 1 -> fail ; true)", "n(1)", False),
    ("((X = 1 ; X = 2), (X = 2 ; X = 3))", "n(2)", True),
    ("((X = 1 ; X = 2), (X = 3 ; X = 4))", "n(2)", False),
    ("(Y = f(Z), Z = X, Y = f(1))", "n(1)", True),
    ("Y = f(Y)", "n(1)", False),
    ("(A = f(B), B = g(A))", "n(1)", False),
    ("1 = 1.0", "n(1)", False),
    ("1 =< 1.0", "n(1)", True),
    ('abc = "abc"', "n(1)", False),
    ("0.0 = -0.0", "n(1)", True),
    ("9007199254740992 < 9007199254740993", "n(1)", True),
    ("9007199254740993 > 9007199254740992.0", "n(1)", True),
    ("2 + 3 is 5", "n(1)", False),
]


@DIALECTS
@pytest.mark.parametrize(("body", "notification", "expected"), HOLDS, ids=[f"{body} with {said}" for body, said, _ in HOLDS])
def test_goal(dialect, body, notification, expected):
    assert covered(f"n(X),{body}", notification, dialect) is expected


@DIALECTS
@pytest.mark.parametrize(
    "body",
    [
        "false",
        "foo",
        "foo(1)",
        "X",
        "1",
        '"true"',
        "[]",
        "[true]",
        "call(true)",
        "(true -> true)",
        "((true -> true), true)",
        "not(X)",
        "not(true,true)",
        "once(1)",
        "(number(X), foo(X))",
        "(fail, foo)",
        "(true ; 1)",
        "(foo -> true ; true)",
        "number(X,1)",
        "member(X)",
        "var(X)",
        "{}",
    ],
)
@pytest.mark.parametrize("head", ["go", "_", "g(X)"])
def test_invalid_body_is_refused_under_any_head(dialect, head, body):
    with pytest.raises(BadSubscription):
        subscription(f"{head},{body}", dialect)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("foo(1)", "foo/1 is no goal of Pedro paper; see section 5 of its manual"),
        ("foo", "foo is no goal of Pedro paper; see section 5 of its manual"),
        ("X", "a variable is no goal of Pedro paper; see section 5 of its manual"),
        ("1", "a number is no goal of Pedro paper; see section 5 of its manual"),
    ],
)
def test_refusal_names_the_goal(body, message):
    with pytest.raises(BadSubscription) as refused:
        subscription(f"f(X),{body}", PAPER)

    assert str(refused.value) == message


def test_nonvar_is_the_papers_only():
    with pytest.raises(BadSubscription):
        subscription("f(X),nonvar(X)", V1_14)


@pytest.mark.parametrize(
    ("notification", "body", "in_paper", "in_server"),
    [
        ("n(V)", "X = 5", True, False),
        ("n(V)", "X = X", True, True),
        ("n(f(V,W))", "X = f(Y,Y)", True, False),
        ("n(f(V,V))", "X = f(Y,Y)", True, True),
        ("n(f(V,V))", "X = f(1,2)", False, False),
        ("n(V)", "X > 1", False, False),
        ("n(V)", "(X = 5, X > 1)", True, False),
        ("n([A|B])", "(member(1,X), list(X))", True, False),
        ("n(V)", "member(1,X)", False, False),
        ("n([V,b])", "member(a,X)", True, False),
        ("n([a|V])", "member(b,X)", False, False),
        ("n(V)", "member(X,[a,b])", True, False),
        ("n([f(V,V),f(1,V)])", "member(f(1,2),X)", True, False),
        ("n([f(V,V),f(V,V)])", "member(f(1,2),X)", False, False),
        ("n([V,V])", "(member(a,X), member(b,X))", False, False),
        ("n([V,W])", "(member(a,X), member(b,X))", True, False),
        ("n([V,c])", "(X = [b|_], member(b,X))", True, False),
        ("n([V,c])", "(X = [b|_], member(a,X))", False, False),
        ("n(V)", "(X = f(X))", False, False),
        ("n(V)", "list(X)", False, False),
        ("n(V)", "number(X)", False, False),
        ("n([V,b])", "(split(X,A,B), A = [a])", True, False),
        ("n([V,b])", "(split(X,A,B), A = [_])", True, True),
        ("n([V,W])", "split(X,A,A)", True, False),
    ],
)
def test_notification_variable_is_bound_in_the_paper_and_a_constant_in_the_server(notification, body, in_paper, in_server):
    assert covered(f"n(X),{body}", notification, PAPER) is in_paper
    assert covered(f"n(X),{body}", notification, V1_14) is in_server


def test_covering_leaves_no_binding_behind():
    tested = subscription("f(X,Y,g(Z)),(X = Y ; X = Z)", PAPER)
    notification = parse("f(A,B,C)")

    assert [tested.covers(notification), tested.covers(parse("f(1,2,g(3))")), tested.covers(notification)] == [True, False, True]


@pytest.mark.parametrize("body", ["member(f(1,2),X)", "member(a,X)"])
def test_looking_for_a_member_leaves_no_binding_behind(body):
    tested = subscription(f"n(X),{body}", PAPER)
    notification = parse("n([f(V,V),W])")

    assert [tested.covers(notification), tested.covers(parse("n([b])")), tested.covers(notification)] == [True, False, True]
    assert write(notification) == "n([f(V,V),W])"


STALLING = {
    "a power of a power": ("X is 10 ** (10 ** 10)", "1"),
    "a shift": ("X is 1 << (1 << 60)", "1"),
    "squares of squares": ("(A is 3 ** 4000, B is A * A, C is B * B)", "1"),
    "three splits of a string": ("(splitstring(X,A,B), splitstring(B,C,D), splitstring(D,E,F), fail)", '"' + "a" * 1000 + '"'),
    "splits of a megabyte": ("(splitstring(X,A,B), fail)", '"' + "a" * 1_000_000 + '"'),
    "three splits of a list": ("(split(X,A,B), split(B,C,D), split(D,E,F), fail)", "[" + "a," * 500 + "a]"),
    "one member of a long list": ("member(g(a),X)", "[" + "f(a)," * 50_000 + "a]"),
    "four members": ("(member(A,X), member(B,X), member(C,X), member(D,X), fail)", "[" + "a," * 500 + "a]"),
    "members under not": ("not((member(A,X), member(B,X), member(C,X), A = b))", "[" + "a," * 500 + "a]"),
    "a tree of shared subterms": (
        ",".join(f"X{i} = f(X{i - 1},X{i - 1}), Y{i} = f(Y{i - 1},Y{i - 1})" for i in range(1, 40)).join(("(", ",X39 = Y39)")),
        "1",
    ),
    "unifications that fail late": (
        "(X14 = a, Y14 = a,"
        + ",".join(f"X{i} = f(X{i + 1},X{i + 1}), Y{i} = f(Y{i + 1},Y{i + 1})" for i in range(14))
        + ",member(A,X), g(X0,a) = g(Y0,b))",
        "[" + "a," * 50 + "a]",
    ),
    "a sum of shared sums": ("(X0 = 1," + ",".join(f"X{i} = X{i - 1} + X{i - 1}" for i in range(1, 40)) + ",X39 > 3)", "1"),
}


@DIALECTS
@pytest.mark.parametrize(("body", "argument"), STALLING.values(), ids=STALLING.keys())
def test_evaluation_without_end_fails_and_is_counted(dialect, body, argument):
    stalling = subscription(f"n(X),{body}", dialect)
    before = stalling.failures.exhausted

    assert not stalling.covers(parse(f"n({argument})"))
    assert stalling.failures.exhausted == before + 1


DEEP = 10_000
DEEP_BODIES = {
    "conjunction": ("(true," * DEEP + "true" + ")" * DEEP, True),
    "disjunction": ("(fail;" * DEEP + "true" + ")" * DEEP, True),
    "if-then-else": ("(fail -> true ; " * DEEP + "true" + ")" * DEEP, True),
    "not": ("not(" * DEEP + "true" + ")" * DEEP, True),
    "once": ("once(" * DEEP + "fail" + ")" * DEEP, False),
    "conditions": ("(" * DEEP + "true" + " -> true ; fail)" * DEEP, True),
    "expression": ("1 < " + "(1+" * DEEP + "1" + ")" * DEEP, True),
}


@pytest.mark.parametrize(("body", "expected"), DEEP_BODIES.values(), ids=DEEP_BODIES.keys())
def test_body_may_nest_deeply(body, expected):
    assert covered(f"n(X),{body}", "n(1)", PAPER) is expected


ONCE_AND_AGAIN = {
    "two splits of a string, as in the manual": (
        'f(S),(splitstring(S,_,S2),splitstring(S2,"hello",_))',
        f'f("{"a" * 945}hello")',
    ),
    "every pair of two lists (paper 5.1)": (
        "f(L),not((member(X,L),not((member(Y,L),Y = X))))",
        f"f([{','.join(f'a{number}' for number in range(60))}])",
    ),
    "the last of 200": ("f(L),(member(X,L),X > 198)", f"f([{','.join(map(str, range(200)))}])"),
}


@pytest.mark.parametrize(("head", "line"), ONCE_AND_AGAIN.values(), ids=ONCE_AND_AGAIN.keys())
def test_goal_holds_however_often_it_is_tried_at_once(head, line):
    test, said = CoverTest(subscription(head, PAPER)), parse(line)

    assert all(test.covers_term(said) for _ in range(200))


def test_want_of_steps_is_logged_now_and_then_with_the_subscription(caplog):
    now_s = [100.0]
    caplog.set_level(logging.WARNING)
    failures = Failures(lambda: now_s[0])

    for _ in range(3):
        failures.count_exhausted(lambda: "paper covers(f(V0),true)")
    now_s[0] += WARN_EVERY_S
    failures.count_exhausted(lambda: "1.14 covers(g,true)")

    assert [record.getMessage() for record in caplog.records] == [
        "goals of Pedro subscriptions need more steps than one may take: 1 matches failed; the last of paper covers(f(V0),true)",
        "goals of Pedro subscriptions need more steps than one may take: 4 matches failed; the last of 1.14 covers(g,true)",
    ]
