"""What a long line may cost: it goes by tokens, and what is remembered of lines by their characters."""

from __future__ import annotations

import pytest
from pedro_replay import subscription

from gsg.tuples.terms import Symbol
from pedro_compat import PAPER, V1_14, Bad, BadSubscription, Notify, Session, Subscribe, compile_test, decode
from pedro_compat.door.commands import ADDRESSES_CHARACTERS, REMEMBERED_ADDRESSES, _messages, decode_extended
from pedro_compat.goals.covers import READ_CHARACTERS, SOURCE_TOKENS, _read_lines, remember_line, term_of
from pedro_compat.terms.plain_lines import REMEMBERED, REMEMBERED_CHARACTERS, _atoms
from pedro_compat.terms.syntax import MAX_TOKENS, has_too_many_tokens

DIALECTS = pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])

MANY = MAX_TOKENS // 2
COSTLY = {
    "flat": f"f({'a,' * MANY}a)",
    "list": f"f([{'a,' * MANY}a])",
    "nested": "f(" * MANY + "a" + ")" * MANY,
    "operators": "1" + "+1" * MANY,
    "escapes": f'f("{chr(92) * 2 * MAX_TOKENS}")',
    "quoted": f"f({chr(39)}{chr(92) * 2 * MAX_TOKENS}{chr(39)})",
    "message": f"p2pmsg(a@b,c@d,f({'a,' * MANY}a))",
}
CHEAP = {
    "blanks at the end": f"f(a) {' ' * 500_000}",
    "string": f'f("{"x" * 500_000}")',
    "atom": f"f({'x' * 500_000})",
    "blanks": f"f({' ' * 500_000}X)",
    "fewer tokens": f"f([{'a,' * (MANY - 10)}a])",
}


@DIALECTS
@pytest.mark.parametrize("line", COSTLY.values(), ids=COSTLY.keys())
def test_line_of_too_many_tokens_is_refused_unread(dialect, line):
    assert decode(line, dialect) == Bad(f"a line of more than {MAX_TOKENS} tokens and escaped characters; say it in several")


@DIALECTS
@pytest.mark.parametrize("line", CHEAP.values(), ids=CHEAP.keys())
def test_long_line_of_few_tokens_is_taken(dialect, line):
    assert type(decode(line, dialect)) is Notify


def test_line_whose_quotes_do_not_end_is_left_to_the_parser_however_long():
    assert not has_too_many_tokens("'\\'" * MAX_TOKENS)
    assert "quote that does not end" in decode("'\\'" * MAX_TOKENS, PAPER).reason


def test_extended_subscription_of_too_many_tokens_is_refused_unread_too():
    session = Session("h", size=10**6, extensions=True)
    session.receive(f"subscribe(f(X),member(X,[{'a,' * MANY}a]),0,[once])\nsubscribe(f,true,0,[once])\n".encode())

    commands = list(iter(session.next_command, None))

    assert [type(command) for command in commands] == [Bad, Subscribe]
    assert decode_extended(COSTLY["list"], PAPER) is None


@pytest.mark.parametrize("body", [f"X = (a{':a' * (MANY - 10)})", f"X = [{'a,' * (MANY - 10)}a]"], ids=["operators", "list"])
def test_longest_subscription_is_understood_by_its_rendezvous(body):
    made = decode(f"subscribe(f(X),{body},0)", PAPER)

    assert compile_test(made.subscription.source()).subscription.source() == made.subscription.source()


def test_rendezvous_refuses_a_test_of_more_tokens_than_any_subscription_has():
    with pytest.raises(BadSubscription, match=f"more than {SOURCE_TOKENS} tokens"):
        compile_test(f"paper covers(f(X),member(X,[{'a,' * SOURCE_TOKENS}a]))")


def test_long_line_from_elsewhere_is_taken_from_its_tuple():
    assert term_of((Symbol("f"), 1), COSTLY["list"], PAPER) == ("f", 1)


def test_terms_of_lines_are_remembered_up_to_so_many_characters():
    longest = "x" * (READ_CHARACTERS + 1)
    for number in range(3_000):
        remember_line(f"f({number})" + " " * 1_000, ("f", number), PAPER)
    remember_line(longest, "x", PAPER)

    assert sum(map(len, _read_lines["paper"])) <= READ_CHARACTERS
    remember_line("f(last)", ("f", "last"), PAPER)
    assert _read_lines["paper"]["f(last)"] == ("f", "last")


def test_long_names_are_not_remembered():
    for number in range(20):
        decode(f"f({'x' * 100_000}{number})", PAPER)
        decode(f"p2pmsg({'x' * 100_000}{number}@b,c@d,m)", PAPER)

    assert sum(map(len, _atoms)) <= REMEMBERED * REMEMBERED_CHARACTERS
    assert sum(len(beginning) for _, beginning in _messages) <= REMEMBERED_ADDRESSES * ADDRESSES_CHARACTERS
    assert not [name for name in _atoms if len(name) > REMEMBERED_CHARACTERS]
    assert not [beginning for _, beginning in _messages if len(beginning) > ADDRESSES_CHARACTERS]


@DIALECTS
def test_long_strings_and_atoms_are_matched(dialect):
    made = subscription(f'f("{"x" * 100_000}", {chr(39)}{"X " * 50_000}{chr(39)}),true', dialect)
    said = decode(f'f("{"x" * 100_000}", {chr(39)}{"X " * 50_000}{chr(39)})', dialect)

    assert compile_test(made.source())(said.items, said.line)
