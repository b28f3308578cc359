"""Lines to terms: what parses, into what, and what a refusal says."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_terms import terms

from pedro_compat import PAPER, V1_14, BadLine, parse, write
from pedro_compat.terms.terms import Frozen, Var
from pedro_compat.terms.writing import NumberedNames

DIALECTS = pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])

SAME = [
    # a line, and its canonical form
    ("temp(kitchen, 25)", "temp(kitchen,25)"),
    ("  f( 1 ,\t2 )  ", "f(1,2)"),
    ("f (1)", "f(1)"),
    ("a,b;c->d", ";(','(a,b),->(c,d))"),
    ("a:b:c@d@e", "@(@(:(:(a,b),c),d),e)"),
    ("1-2-3", "-(-(1,2),3)"),
    ("1-(2-3)", "-(1,-(2,3))"),
    ("-(1,2)", "-(1,2)"),
    ("- (1,2)", "-(','(1,2))"),
    ("-(a)", "-(a)"),
    ("f(-(-(a)))", "f(-(-(a)))"),
    ("f(-(1),- 2,-3,-4.5)", "f(-1,-2,-3,-4.5)"),
    ("-a*b", "*(-(a),b)"),
    ("3 -2", "-(3,2)"),
    ("3-(2)", "-(3,2)"),
    ("3 - -2", "-(3,-2)"),
    ("2*3**2", "*(2,**(3,2))"),
    ("a = b + c mod d", "=(a,+(b,mod(c,d)))"),
    ("1 '+' 2", "+(1,2)"),
    ("'-'(1,2)", "-(1,2)"),
    ("+(1,2,3)", "+(1,2,3)"),
    ("+ (1,2)", "+(1,2)"),
    ("mod(a,b)", "mod(a,b)"),
    ("f(+,is,=,;,mod,!,{},[])", "f(+,is,=,;,mod,!,{},[])"),
    ("f('+','is',';','[]','abc')", "f(+,is,;,[],abc)"),
    ("f('!','{}','a b','','A')", "f('!','{}','a b','','A')"),
    ("f([1,2|[3,4]],[ ],[a|b])", "f([1,2,3,4],[],[a|b])"),
    (".(a,.(b,[]))", "[a,b]"),
    (".(a)", ".(a)"),
    ("[](a)", "[](a)"),
    ("f(1e2,1.5E+2,1e400,-1e400)", "f(100.0,150.0,1e999,-1e999)"),
    ("f(007,12345678901234567890)", "f(7,12345678901234567890)"),
    ("f(\"a\\\"b\",'c\\'d')", "f(\"a\\\"b\",'c\\'d')"),
    ('f("hé","x\ty")', 'f("hé","x\ty")'),
    ("f(Xa,_b,Xa)", "f(Xa,_b,Xa)"),
    ("((a))", "a"),
    ("==>", "==>"),
    ("\\", "\\"),
]


@DIALECTS
@pytest.mark.parametrize(("line", "canonical"), SAME, ids=[case[0] for case in SAME])
def test_line_is_read_as_its_canonical_form(dialect, line, canonical):
    assert write(parse(line, dialect)) == canonical
    assert write(parse(canonical, dialect)) == canonical


PAPER_ONLY = [
    ("f(-)", "f(-)"),
    ("f(+,-)", "f(+,-)"),
    ("-", "-"),
    ("+", "+"),
    ("mod", "mod"),
    ("'-'", "-"),
    ("- = a", "=(-,a)"),
    ("[-|-]", "[-|-]"),
    ("a rem b", "rem(a,b)"),
    ("\\ 5 + 1", "+(\\(5),1)"),
    ("a + + b", "+(a,+(b))"),
]


@pytest.mark.parametrize(("line", "canonical"), PAPER_ONLY, ids=[case[0] for case in PAPER_ONLY])
def test_line_is_read_in_the_paper_only(line, canonical):
    assert write(parse(line, PAPER)) == canonical
    with pytest.raises(BadLine):
        parse(line, V1_14)


NO_TERMS = """
f( | f(1 | f(1)) | f(1). | f(1), | ,a | f(,a) | f(a,) | f(,) | () | f(()) | f(a b) | X(1) | 1(2) | f(1)(2) | "s"(1) | foo[1]
[a | [a|b,c] | [|a] | [a,] | [,a] | [a b] | [a|] | [a|b|c] | a] | (a] | [a) | f(a|b) | a|b | { | } | {a} | %c | f(1) /* c */
a = b = c | a < b < c | 2 ** 3 ** 4 | 2 ** -1 | -2 ** 2 | -(2)**2 | - - 1 | 3--2 | X=-1 | a:-b | a == b | a =:= b | a ^ b | \\+ a
f(a;b) | f(a->b) | [a->b] | f(a:-b) | 1. | .5 | 1.e5 | 0x1f | 1_000 | 0'a | é | f(é) | 'a | "a | f('a) | 'it''s' | f(a\rb) | f(a\0b)
"""
REFUSED = [line.strip(" ") for row in NO_TERMS.strip("\n").split("\n") for line in row.split(" | ")]


@DIALECTS
@pytest.mark.parametrize("line", [*REFUSED, "", " ", "|", "2 ** -(1)", "'a\\'", '"\\"'])
def test_line_is_no_term(dialect, line):
    with pytest.raises(BadLine):
        parse(line, dialect)


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("f(a b)", 5, "'b' where an operator or the end must stand"),
        ("f(1", 4, "the line ends inside brackets"),
        ("f(é)", 3, "'é' where a term must stand"),
        ('f("a)', 3, "a quote that does not end"),
        ("a = b = c", 7, "the operator = here needs parentheses"),
        ("2 ** -1", 6, "the prefix operator - here needs parentheses"),
        ("", 1, "the end where a term must stand"),
        ("1" * 5000, 1, "an integer of 5000 digits; expected at most 4200"),
    ],
)
def test_refusal_says_where_and_what(line, column, message):
    with pytest.raises(BadLine) as refused:
        parse(line)

    assert (refused.value.column, refused.value.problem) == (column, message)


def test_refusal_shows_a_window_of_a_long_line():
    with pytest.raises(BadLine) as refused:
        parse("f(" + "a," * 400_000 + ")")

    assert len(str(refused.value)) < 500
    assert refused.value.column == 800_003


def test_variables_of_a_line_are_the_same_by_name_and_underscores_differ():
    _, first, second, third, fourth = parse("f(X,X,_,_)")

    assert first is second
    assert third is not fourth


def test_variables_are_written_by_distinct_names():
    x, another_x, anonymous, named = Var("X"), Var("X"), Var("_"), Var("_0_1")

    line = write(("f", x, another_x, anonymous, Var("lower"), named, x))

    assert len(set(line[2:-1].split(","))) == 5
    assert line.startswith("f(X,")
    assert line.endswith(",X)")


@pytest.mark.parametrize("name", ["_1", "_1_4", "V0", "_"])
def test_variables_of_one_name_are_written_by_many(name):
    line = write(("f", Var(name), Var(name), Var("_1"), Var("_2"), Var("_3")))

    assert len(set(line[2:-1].split(","))) == 5


def test_bound_variables_are_written_as_what_they_are_bound_to():
    x, tail = Var("X"), Var("T")
    x.ref, tail.ref = "a", parse("[b]")

    assert write(("f", x, (".", x, tail))) == "f(a,[a,b])"


def test_frozen_variables_are_constants():
    assert type(parse("f(X)", frozen=True)[1]) is Frozen


DEEP = 10_000
DEEP_LINES = {
    "compounds": "f(" * DEEP + "a" + ")" * DEEP,
    "lists": "[" * DEEP + "a" + "]" * DEEP,
    "tails": "[a|" * DEEP + "b" + "]" * DEEP,
    "minus": "-(" * DEEP + "a" + ")" * DEEP,
    "left operators": "a-" * DEEP + "a",
    "right operators": "a;" * DEEP + "a",
}


@pytest.mark.parametrize("line", DEEP_LINES.values(), ids=DEEP_LINES.keys())
def test_deep_term_is_read_and_written(line):
    canonical = write(parse(line))

    assert write(parse(canonical)) == canonical


MEGABYTE = 1_000_000
LONG_LINES = {
    "parentheses": "(" * MEGABYTE,
    "brackets": "[" * (MEGABYTE // 4),
    "quotes": "'" * MEGABYTE,
    "escaped quotes": "\\'" * (MEGABYTE // 2),
    "mixed quotes": "'\"" * (MEGABYTE // 2),
    "digits": "1" * MEGABYTE,
    "minus": "- " * (MEGABYTE // 2),
    "commas": "f(" + "a," * (MEGABYTE // 4),
}


@pytest.mark.parametrize("line", LONG_LINES.values(), ids=LONG_LINES.keys())
def test_long_line_is_refused_without_effort(line):
    with pytest.raises(BadLine):
        parse("f(" + line)


@given(terms())
def test_written_term_is_read_as_the_same(term):
    line = write(term, NumberedNames())

    assert write(parse(line), NumberedNames()) == line


@given(terms(minus=False))
def test_written_term_is_read_as_the_same_in_the_server(term):
    line = write(term, NumberedNames())

    assert write(parse(line, V1_14), NumberedNames()) == line


ALPHABET = "abfXY_019.,;|()[]{}'\"\\ \t+-*/<>=:@!~é%emodis"


@given(st.text(st.sampled_from(ALPHABET)) | st.text(), st.sampled_from([PAPER, V1_14]))
def test_any_text_is_a_term_or_a_bad_line(text, dialect):
    with contextlib.suppress(BadLine):
        line = write(parse(text, dialect))

        assert write(parse(line, PAPER)) == line


def test_compound_without_arguments_is_read_as_in_the_server_and_not_as_in_the_manual() -> None:
    assert write(parse("f()", V1_14)) == "f('$none_')"
    with pytest.raises(BadLine, match="a compound without arguments; expected at least one"):
        parse("register()", PAPER)


def test_leading_zeros_are_no_digits() -> None:
    assert parse("f(" + "0" * 5_000 + "1, " + "0" * 5_000 + ")") == ("f", 1, 0)
    with pytest.raises(BadLine, match="an integer of 4201 digits; expected at most 4200"):
        parse("f(" + "0" * 10 + "1" * 4_201 + ")")
