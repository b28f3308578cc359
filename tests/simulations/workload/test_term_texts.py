"""Terms that are told from their texts alone are those that the parser makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.tuples.terms import IRI, BlankNode, Literal, Symbol
from simulations.workload import term_texts
from simulations.workload.term_texts import parsed_lines, term_of_text

PIECES = st.sampled_from(
    [
        *"<>\"_:@^-.#?%/\\ ab0'[]{}|",
        "http://",
        "x:",
        "%41",
        "%4",
        "é",
        "\u00a0",
        "\u2028",
        "\ufffe",
        "en",
        "^^<",
        '"@',
        "//",
        ":80",
        "\t",
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=8).map(lambda parts: f"<x:{''.join(parts)}>"),
    st.lists(PIECES, max_size=8).map(lambda parts: f"<http://{''.join(parts)}>"),
    st.lists(PIECES, max_size=8).map(lambda parts: f'"{"".join(parts)}"'),
    st.lists(PIECES, max_size=8).map(lambda parts: f'"x"@{"".join(parts)}'),
    st.lists(PIECES, max_size=8).map(lambda parts: f'"x"^^<x:{"".join(parts)}>'),
    st.lists(PIECES, max_size=8).map(lambda parts: f"_:{''.join(parts)}"),
)


def by_the_parser(text: str) -> object:
    """The term that the parser makes of a text in the object's place; None where it makes none."""
    rows, mistake = parsed_lines([f"_:it <x:is> {text} .\n".encode()])
    return rows[0][2] if mistake is None and len(rows) == 1 and "\n" not in text else None


@given(TEXTS)
def test_a_text_that_begins_as_a_term_is_what_the_parser_makes_of_it(text: str) -> None:
    if not text.startswith(("<", '"', "_:")):
        text = f"<{text}"

    try:
        found: object = term_of_text(text)
    except ValueError:
        found = None

    assert found == by_the_parser(text)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("a b", Symbol("a b")),
        ("5", Symbol("5")),
        ("<http://x.example/a%20b?q#f>", IRI("http://x.example/a%20b?q#f")),
        ('"a"', "a"),
        ('"a"@EN-us', Literal("a", "", "en-us")),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', 5),
        ("_:b0", BlankNode("b0")),
    ],
)
def test_plain_texts_need_no_parser(text: str, term: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(term_texts, "parsed_lines")

    assert term_of_text(text) == term


@pytest.mark.parametrize("text", ["", "<open", "<no scheme>", '"a" "b"', "_:", '"a"@', "<a:b> . <c:d> <e:f> <g:h>"])
def test_a_text_that_is_no_term_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"a field is empty|is no term of N-Triples: "):
        term_of_text(text)
