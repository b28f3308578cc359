"""Plain lines are read in one pass, with exactly the parser's result; the others are left to it."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pedro_compat
from pedro_compat import P2P, PAPER, V1_14, Bad, Notify, decode, parse, to_tuple
from pedro_compat.door.commands import _read
from pedro_compat.terms import plain_lines as flat
from pedro_compat.terms.plain_lines import compound, message_addresses
from pedro_compat.terms.terms import Frozen, Var

PLAIN_PIECES = [
    "a",
    "room1",
    "is",
    "mod",
    "rem",
    "e",
    "pi",
    "p2pmsg",
    "subscribe",
    "7",
    "-1",
    "00",
    "1.5",
    "-2.50",
    '"s"',
    '"a b"',
    '"é"',
]
NESTED_PIECES = [
    "g(a)",
    "g( 1,b )",
    "[a, b]",
    "[1.5]",
    "g(g(a))",
    "[[a]]",
    "g([a])",
    "g ()",
    "[a|b]",
    "mod(1,2)",
    "is(a)",
    "[a,]",
    "-(1)",
]
OTHER_PIECES = [
    "X",
    "_",
    "1e5",
    "1.",
    "'a'",
    "''",
    '"a,b"',
    '"\\x"',
    "-",
    "+",
    "[]",
    "[a]",
    "g(a)",
    "()",
    "@",
    ":",
    '"',
    "'",
    "(",
    ")",
]
BLANKS = [" ", "  ", "\t", ","]
LARGE = ["9" * 18, "9" * 19, "-9223372036854775808", "9223372036854775808", "0.0", "-0.0", "-0", "1" * 18 + "." + "2" * 18]
PIECES = st.sampled_from([*PLAIN_PIECES, *NESTED_PIECES, *OTHER_PIECES, *BLANKS, *LARGE])
LINES = st.tuples(st.sampled_from(["f", "temp", " f", "mod", "F", "subscribe", ""]), st.lists(PIECES, max_size=7)).map(
    lambda parts: f"{parts[0]}({''.join(parts[1])})"
) | st.tuples(st.sampled_from(["f", "temp "]), st.lists(PIECES, max_size=5)).map(lambda parts: f"{parts[0]}({','.join(parts[1])})")
PLAIN_ARGUMENTS = st.sampled_from([*PLAIN_PIECES, "g(a)", "g( 1,b )", "[a, b]", "[1.5]", " a", "7\t", "9" * 18, "-0.0", "-0"])
PLAIN_LINES = st.tuples(st.sampled_from(["f", " mod"]), st.lists(PLAIN_ARGUMENTS, min_size=1, max_size=5)).map(
    lambda parts: f"{parts[0]}({','.join(parts[1])})"
)
ADDRESSES = st.sampled_from(
    ["a@b", "t:a@b", "a@'my host'", "_", "_@b", "X", "a", "mod@b", "a@localhost", "'a'@b", " a@b ", "t : a@b", "a@'b,c'"]
)
MESSAGES = st.tuples(ADDRESSES, ADDRESSES, st.lists(PIECES, min_size=1, max_size=3), st.sampled_from(["", " ", ")", "\t"])).map(
    lambda parts: f"p2pmsg({parts[0]},{parts[1]},{''.join(parts[2])}){parts[3]}"
)


def shown(value):
    """A value with its types, and each variable by its name: variables are equal to themselves only."""
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return (type(value), value.name) if isinstance(value, Var | Frozen) else (type(value), repr(value))


def outcome(command):
    if isinstance(command, Notify):
        return Notify, shown(command.term), shown(command.items), command.line
    return Bad if isinstance(command, Bad) else command


# A subscription is made anew each time that it is read, and equals itself only.
COMPARABLE = (LINES | MESSAGES).filter(lambda line: not line.strip().startswith("subscribe"))


@settings(max_examples=1_000)
@given(COMPARABLE)
@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=repr)
def test_every_line_is_read_as_the_parser_reads_it(dialect, line):
    assert outcome(decode(line, dialect)) == outcome(_read(line, dialect))


@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=repr)
@pytest.mark.parametrize(
    "line", ["f(1.)", 'f("s",1.)', "f(-2.,a)", "f([1.])", "f(g(1.))", "f('a\\')", 'f("a\\")', "p2pmsg(a:@b,c@d,f(1.))"]
)
def test_what_ends_too_early_is_read_as_the_parser_reads_it(dialect, line):
    assert outcome(decode(line, dialect)) == outcome(_read(line, dialect)) == Bad


@pytest.mark.parametrize("module", sorted(found.name for found in iter_modules(pedro_compat.__path__)))
def test_no_pattern_has_a_possessive_quantifier_of_a_group(module):
    patterns = [value for value in vars(import_module(f"pedro_compat.{module}")).values() if isinstance(value, re.Pattern)]

    # Before Python 3.11.5 the rest of the pattern goes on from where the last try of the group failed (gh-106052).
    assert not [pattern.pattern for pattern in patterns if re.search(r"\)(?:[?*+]|\{[0-9,]*\})\+", str(pattern.pattern))]


@given(PLAIN_LINES)
def test_plain_compound_is_the_term_and_the_tuple_of_its_line(line):
    assert shown(compound(line)) == shown((parse(line), to_tuple(parse(line))))


@pytest.mark.parametrize("line", ["temp(kitchen, 25, 10)", 'msg("hello world",-3)', " f( a,2.5 ) ", "f(is,mod)", "f([a, 1],g(2))"])
def test_most_lines_are_plain(line):
    assert compound(line) is not None


@pytest.mark.parametrize("line", ["alarm", "f(X)", "f(g(g(a)))", "f([])", 'f("a,b")', 'f("\\n")', "f()", "f(1e5)", "f(a", "f(a,)"])
def test_other_lines_are_left_to_the_parser(line):
    assert compound(line) is None


def test_messages_to_one_receiver_are_told_apart_by_their_lines():
    lines = [f"p2pmsg(fred@localhost, bill@'a host', bid({number}))" for number in range(3)]

    commands = [decode(line, PAPER) for line in lines]

    assert all(message_addresses(line) for line in lines)
    assert commands == [P2P("fred", "localhost", "bill", "a host", line) for line in lines]


@pytest.mark.parametrize("remembered", ["_atoms", "_nested"])
def test_parts_of_lines_are_remembered_up_to_so_many_and_read_alike_beyond(monkeypatch, remembered):
    known = {}
    monkeypatch.setattr(flat, remembered, known)
    monkeypatch.setattr(flat, "REMEMBERED", 3)
    lines = [f"f(a{number},[a{number}],g( b{number} ))" for number in range(5)] * 2

    sizes = []
    for line in lines:
        assert shown(compound(line)) == shown((parse(line), to_tuple(parse(line))))
        sizes.append(len(known))

    assert max(sizes) == 3


def test_long_parts_of_lines_are_not_remembered(monkeypatch):
    atoms, nested = {}, {}
    monkeypatch.setattr(flat, "_atoms", atoms)
    monkeypatch.setattr(flat, "_nested", nested)
    long = "a" * (flat.REMEMBERED_CHARACTERS + 1)

    assert compound(f"f({long},[{long}],g({long}))") == compound(f"f({long}, [{long}], g({long}))")

    assert (list(atoms), list(nested)) == (["f", "g"], [])
