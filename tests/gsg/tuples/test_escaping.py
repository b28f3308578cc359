"""What people and terminals are shown of texts that strangers wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.tuples.escaping import ERRORS, JSON_ERRORS, json_line, lines, one_line

SPEAKING = "\n\r\x1b\x9b\x85\u2028\u202e\u2069\ufeff"


def test_one_line_stays_one_and_lines_keep_their_ends() -> None:
    assert one_line("a\n+ b\t\x1b[31m\u202ec\x9b") == "a\\u000A+ b\\u0009\\u001B[31m\\u202Ec\\u009B"
    assert lines("a\n\tb\r\x1b]0;title\x07") == "a\n\tb\\u000D\\u001B]0;title\\u0007"
    assert one_line("Zo\u00eb \U0001f600 \u200d") == "Zo\u00eb \U0001f600 \u200d"


@given(st.text(st.characters() | st.sampled_from(SPEAKING)))
def test_nothing_is_left_that_speaks(text: str) -> None:
    shown = one_line(text)

    assert not set(shown) & set(SPEAKING)
    assert len(shown.splitlines()) <= 1


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(SPEAKING)))
def test_json_means_what_it_meant(text: str) -> None:
    line = json_line(json.dumps({text: text}, ensure_ascii=False))

    assert json.loads(line) == json.loads(line.encode("ascii", JSON_ERRORS)) == {text: text}
    assert not set(line) & set(SPEAKING)


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", b"Zo\\u00EB \\U0001F600"), ("latin-1", b"Zo\xeb \\U0001F600")])
def test_what_an_encoding_lacks_is_escaped(encoding: str, shown: bytes) -> None:
    assert "Zo\u00eb \U0001f600".encode(encoding, ERRORS) == shown


def test_what_was_read_wrongly_is_not_made_up_for() -> None:
    for handler in (ERRORS, JSON_ERRORS):
        with pytest.raises(UnicodeDecodeError):
            b"\xff".decode("utf-8", handler)
