"""What the package's clients say, as lines: texts as they are, values of a program as terms, and what is neither."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_terms import terms

import gsg
from pedro_compat.client.client_lines import Delivery, line_of, notification_line, p2p_line, refusal, register_line, subscribe_line
from pedro_compat.terms.python_terms import term_of
from pedro_compat.terms.syntax import parse
from pedro_compat.terms.terms import Term, Var, make_list
from pedro_compat.terms.writing import write


def bound(value: Term) -> Var:
    """A variable that is bound."""
    variable = Var("X")
    variable.ref = value
    return variable


def test_terms_are_written_and_texts_are_taken_as_they_are() -> None:
    assert line_of("f( X )") == "f( X )"
    assert line_of(("temp", "kitchen", 25, b"hot", make_list([1, 2.5]))) == 'temp(kitchen,25,"hot",[1,2.5])'


def test_a_variable_of_head_and_body_keeps_its_name() -> None:
    temperature = Var("T")

    assert subscribe_line(("temp", temperature), (">", temperature, 20), 3) == "subscribe(temp(T), (>(T,20)), 3)"


def test_two_variables_of_one_name_stay_two() -> None:
    assert subscribe_line(("f", Var("X"), Var("X")), "true", 0) == "subscribe(f(X,_1), (true), 0)"


def test_names_are_quoted_where_they_have_to_be() -> None:
    assert register_line("B 1") == "register('B 1')"
    assert p2p_line(("@", Var("_"), "localhost"), "me@here", ("f", 1)) == "p2pmsg(@(_0,localhost), me@here, f(1))"


def test_a_text_of_two_lines_is_refused() -> None:
    with pytest.raises(gsg.Refused, match="holds a newline, which ends a line"):
        line_of("f(1)\nf(2)")


def test_a_delivery_says_its_term() -> None:
    assert Delivery(0, "f(a, [1])").term() == ("f", "a", (".", 1, "[]"))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (("t", [1, 2]), "t([1,2])"),
        (("t", []), "t([])"),
        (("t", [[], ["a", ("f", [b"x"])]]), 't([[],[a,f(["x"])]])'),
        ([1, 2], "[1,2]"),
        (("t", ""), "t('')"),
        (("t", "a,b"), "t('a,b')"),
        (("t", "a), u(1"), "t('a), u(1')"),
        (("t", "X"), "t('X')"),
        (("t", "_"), "t('_')"),
        (("t", "it's"), r"t('it\'s')"),
        (("t", "'"), r"t('\'')"),
        (("t", "two\nlines"), r"t('two\nlines')"),
        (("t", "größe"), "t('größe')"),
        (("Big One", 1), "'Big One'(1)"),
        (("t", "'a b'"), "t('a b')"),
        (("t", "'abc'"), "t(abc)"),
        (("t", "'a', b'"), r"t('\'a\', b\'')"),
        (("t", b'say "hi"'), r't("say \"hi\"")'),
        (("t", b"back\\"), 't("back\\\\")'),
        (("t", b"C:\\new"), 't("C:\\new")'),
        (("t", float("inf")), "t(1e999)"),
        (("t", bound("x")), "t(x)"),
        (("a:b@c", 1), "'a:b@c'(1)"),
    ],
)
def test_what_is_inside_of_a_term_stands_for_itself(said: object, line: str) -> None:
    assert line_of(said) == line
    assert parse(line) == term_of(said)


@given(terms())
def test_terms_that_were_heard_can_be_said(term: Term) -> None:
    line = write(term)

    assert write(term_of(parse(line))) == write(parse(line))


@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"])) | st.binary() | st.integers() | st.floats() | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple),
    )
)
def test_values_are_one_argument_of_the_line_or_refused(value: object) -> None:
    try:
        line = line_of(("t", value, "end"))
    except gsg.BadTerm:
        return

    term = parse(line)
    assert (term[0], len(term), term[2]) == ("t", 3, "end")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "True, a bool, is no Pedro term; expected a str, bytes, an int"),
        (None, "None, a NoneType, is no Pedro term"),
        ({}, "{}, a dict, is no Pedro term"),
        (1j, "1j, a complex, is no Pedro term"),
        (float("nan"), "nan is no term"),
        (b"\xff", r"b'\\xff' is no string: byte 0 is no UTF-8"),
        ("\ud800", "no form in UTF-8"),
        (("f",), r"\('f',\) is no compound: it has no argument; the atom is 'f' alone"),
        ((), r"\(\) is no compound; expected its functor first, a str"),
        ((1, 2), r"\(1, 2\) is no compound"),
        ((b"t", 1), r"\(b't', 1\) is no compound"),
        ((("f", 1), 2), "is no compound"),
        (("-", 5), "Pedro reads the negative number"),
        (10**4200, "an integer of 13953 bits; expected one of at most 4200 digits"),
    ],
)
def test_what_is_no_term_is_refused_by_name(value: object, message: str) -> None:
    for said in (("t", value), ("t", [value])):
        with pytest.raises(gsg.BadTerm, match=message):
            line_of(said)


def test_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless += [endless, endless]

    with pytest.raises(gsg.BadTerm, match="more than 1000000 parts, or one that holds itself"):
        line_of(("t", endless))


def test_values_nest_as_deeply_as_lines() -> None:
    deep: object = "a"
    for _ in range(5_000):
        deep = ("f", [deep])

    assert line_of(deep) == "f([" * 5_000 + "a" + "])" * 5_000


@pytest.mark.parametrize(
    "make", [lambda: register_line(5), lambda: subscribe_line("f(X)", "true", "1), x"), lambda: subscribe_line("f", "true", True)]
)
def test_names_and_rocks_are_checked(make: Callable[[], str]) -> None:
    with pytest.raises(gsg.BadTerm, match=r"is no (name|rock); expected"):
        make()


@pytest.mark.parametrize(
    "said",
    [
        "deregister(b)",
        "subscribe(_,true,0)",
        " ( register(x))",
        "'unsubscribe' (1)",
        "p2pmsg(a@b, c@d, x)",
        "subscribe(1, 2)",
        ("register", "x"),
        "register(" + "a," * 20_000 + "a)",
        "subscribe(f(X), (X == 1), 0)",
    ],
)
def test_commands_are_no_notifications(said: object) -> None:
    with pytest.raises(gsg.Refused, match=r"is a command to the door, no notification; use the client's method \w+\(\), or send"):
        notification_line(said)


@pytest.mark.parametrize(
    "said", ["register", "f(register(x))", "subscribe(a, b, c), d", "'it registers'", "registered(", ("t", "register(x)")]
)
def test_what_only_holds_a_command_is_a_notification(said: object) -> None:
    assert notification_line(said) == line_of(said)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("price(", "refused 'price(': Pedro line 1, column 7: the end where a term must stand"),
        (
            "f(" + "1," * 600 + "1)",
            "... (1204 characters): it has 1205 bytes with its newline, and a door takes lines shorter than its --pedro-size, 1024",
        ),
        ("5", "expected an atom or a compound, not a number"),
        ("register(fred)", "another client of this host has the name"),
        ("deregister(fred)", "it is not this client's name"),
        ("subscribe(f(X), (g(X)), 0)", "none that the door's dialect knows"),
        ("subscribe(f(X), true, 0, [stamp])", "the door has no extensions"),
        ("p2pmsg(a, b@c, x)", "expected the address Name@Host of the receiver"),
        ("unsubscribe(9)", "the door knows no such subscription"),
        ("[1]", "the door's dialect does not take it as a notification"),
        ("f(" + "'" + "a" * 200_000 + "')", "it has 200006 bytes"),
    ],
)
def test_refusals_say_what_may_be_wrong_with_this_line(line: str, message: str) -> None:
    said = refusal(line)

    assert message in said
    assert len(said) < 700
