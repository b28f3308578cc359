"""How texts are cut: the same wherever the bytes are divided, and nothing ends in a string, an IRI or a comment."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import LocalError
from gsg.languages.files import chunks as module
from gsg.languages.files.chunks import Blocks, Cut, Statements, WholeLines, chunks, lines

TURTLE = [
    b"\n@prefix : <http://e.org/#a.> .",
    b"\nPREFIX b: <http://b.org/>",
    b"\n# a comment. with dots . and ' quotes\nbase <x.>",
    b'\n:a :p "a . b", 1.5, .5, -2.0e3 ; :q.r """long . "q" \\"\\n . """ .',
    b"\n# base <x> .\nbase<y>",
    b"\n:b :p 'it' , '' , '''it's . ''' .",
    b'\n:c :p "\\\\" , "\\". " , "x"@en.',
    b"<x:d>:p<x:e.f>.",
    b" :e :p [ :q (1 2.0) ] , _:b.c , :x\\.y .",
    b"\xef\xbb\xbf\r\n:f :p 1.",
]
SCRIPT = [
    b"INSERT { (a, \"}) {\", 'x}', <http://a/#}>) } # INSERT { }\n".partition(b" #")[0],
    b" # } \n NOTIFY{(b, 1)}",
    b"  (c, d)",
    b', (e, "\\"(")',
    b"\nSUBSCRIBE ?x, COUNT(?y) AS ?n { (?x, on, ?y) NOT { (?x) } FILTER ?n < 3 }",
    b" delete { }",
]


def texts_of(read: Iterable[bytes], cut: type[Cut]) -> list[bytes]:
    pieces = iter([*read, b""])
    return [unit.text for chunk in chunks(lambda size: next(pieces), cut(), name="a") for unit in chunk.units()]


@pytest.mark.parametrize(("cut", "units"), [(Statements, TURTLE), (Blocks, SCRIPT)], ids=["Turtle", "script"])
@given(data=st.data())
def test_units_are_the_same_however_the_bytes_come(cut: type[Cut], units: list[bytes], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(units), min_size=1, max_size=8))
    text = b"".join(chosen) + b"\n"
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True) if start < end]

    found = texts_of(pieces, cut)

    marked = chosen[0].removeprefix(b"\xef\xbb\xbf")
    assert found == [marked, *chosen[1:], b"\n"]


def test_an_open_string_ends_its_statement_where_its_line_ends_in_a_dot() -> None:
    text = b':a :p "open .\n:b :p "fine" .\n:c :p "open\n, 1 .\n:d :p 1 .'

    assert texts_of([text], Statements) == [b':a :p "open .', b'\n:b :p "fine" .', b'\n:c :p "open\n, 1 .', b"\n:d :p 1 ."]


def test_a_long_string_that_is_not_closed_is_no_text_of_statements() -> None:
    assert texts_of([b':a :p """open . <x:a> <x:b> <x:c> .\n:b :p 1 .'], Statements) == [
        b':a :p """open . <x:a> <x:b> <x:c> .\n:b :p 1 .'
    ]


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n"]), max_size=12))
def test_lines_end_at_either_character_or_both(parts: list[bytes]) -> None:
    text = b"".join(parts)
    ends = lines(text)

    assert b"".join(text[start:end] for start, end in zip([0, *ends], ends, strict=False)) == text
    assert [end for end in ends if end < len(text)] == [
        at + 1
        for at in range(len(text) - 1)
        if text[at : at + 1] == b"\n" or (text[at : at + 1] == b"\r" and text[at + 1 : at + 2] != b"\n")
    ]
    assert WholeLines().ends(text, True) == ([len(text)] if text else [])


def test_units_know_their_lines_and_what_stands_before_them() -> None:
    pieces = iter([b":a :p 1 .\n\n:b :p 2 . :c", b" :p \xff .\n", b""])

    *_, last, _ = [unit for chunk in chunks(lambda size: next(pieces), Statements(), name="a") for unit in chunk.units()]
    error = last.undecodable(what="a.ttl")

    assert error is not None
    assert (error.line, error.column, error.source_line) == (3, 17, ":b :p 2 . :c :p \N{REPLACEMENT CHARACTER} .")
    assert "(27 bytes stand before it" in str(error)


@pytest.mark.parametrize("cut", [WholeLines, Statements, Blocks])
def test_what_does_not_end_is_refused_at_its_limit(monkeypatch: pytest.MonkeyPatch, cut: type[Cut]) -> None:
    monkeypatch.setattr(module, "MAX_UNIT_BYTES", 2**20)
    read = 0

    def endless(size: int) -> bytes:
        nonlocal read
        read += size
        return b"a" * size

    with pytest.raises(LocalError, match=r"^cannot read a: what begins in line 1 goes on for more than 1 MiB; expected shorter"):
        list(chunks(endless, cut(), name="a"))
    assert read <= 2**20 + 2 * module.PIECE_BYTES


@pytest.mark.parametrize(
    ("begin", "middle", "end", "cut"),
    [
        (b':a :b """', b'x"\\n . ', b'""" .', Statements),
        (b"INSERT {", b'(a, "}"), ', b"}", Blocks),
        (b"", b"a . ", b"\n", WholeLines),
    ],
    ids=["Turtle", "script", "N-Triples"],
)
def test_a_long_unit_is_looked_at_in_proportion_to_its_length(begin: bytes, middle: bytes, end: bytes, cut: type[Cut]) -> None:
    seen = 0

    class Counted(cut):  # type: ignore[valid-type,misc]  # mypy takes no variable for a class
        def ends(self, text: bytes | bytearray, last: bool) -> list[int]:
            nonlocal seen
            seen += len(text) - self.at
            return super().ends(text, last)  # type: ignore[no-any-return]  # as above

    text = begin + middle * (2**22 // len(middle)) + end
    pieces = iter([*(text[at : at + 2**14] for at in range(0, len(text), 2**14)), b""])

    assert sum(len(chunk.text) for chunk in chunks(lambda size: next(pieces), Counted(), name="a")) == len(text)
    assert seen < 6 * len(text)
