"""Scripts that come block by block, and what is left of one with mistakes."""

from __future__ import annotations

import pytest

from gsg.errors import BadText, Unsupported
from gsg.languages import Block, Delete, Insert, Notify
from gsg.languages.files.scripts import read_blocks, whole_script
from gsg.tuples.terms import Symbol

A, B, C = map(Symbol, "abc")


def read(text: str | bytes, *, lenient: bool = True) -> tuple[list[Block], list[BadText]]:
    data = text.encode() if isinstance(text, str) else text
    pieces = iter([data[at : at + 7] for at in range(0, len(data), 7)])
    left_out: list[BadText] = []

    def complain(mistake: BadText) -> None:
        if not lenient:
            raise mistake
        left_out.append(mistake)

    return list(read_blocks(lambda size: next(pieces, b""), "in", complain)), left_out


def test_blocks_come_one_by_one() -> None:
    blocks, left_out = read("\ufeff# why\nINSERT { (a) }\nDELETE{(b)}NOTIFY { (c), }")

    assert blocks == [Insert(((A,),)), Delete(((B,),)), Notify(((C,),))]
    assert left_out == []
    assert read("(a) , (b)")[0] == [Insert(((A,),)), Insert(((B,),))]


def test_tuples_alone_are_inserted() -> None:
    pieces = iter([b"# a comment\n(a, 1)\n(b, 2), # another\n(c)"])

    assert whole_script(lambda size: next(pieces, b""), "in") == (Insert(((A, 1), (B, 2), (C,))),)


@pytest.mark.parametrize(
    ("bad", "column"),
    [("(a, ?x)", 4), ('(a, "\\q")', 5), ("(a, <x:b c>)", 4), ("()", 1), ("(a b)", 3), ("(a, b", 5)],
)
def test_a_mistake_costs_its_tuple_alone(bad: str, column: int) -> None:
    blocks, left_out = read(f"INSERT {{\n  (a, 1),\n  {bad},\n  (b, 2)\n  (c)\n}}\nNOTIFY {{ (c) }}")

    assert (A, 1) in {items for block in blocks for items in block.tuples}  # type: ignore[union-attr]  # none subscribes
    assert blocks[-1] == Notify(((C,),)) or bad == "(a, b"
    assert left_out[0].line == 3 or bad == "(a, b"
    if bad != "(a, b":
        assert [items for block in blocks[:-1] for items in block.tuples] == [(A, 1), (B, 2), (C,)]  # type: ignore[union-attr]  # as above
        assert left_out[0].column >= column


@pytest.mark.parametrize("text", ["INSERT { (a) } (b)", "(a) INSERT { (b) }"])
def test_blocks_and_tuples_alone_do_not_mix_however_they_are_read(text: str) -> None:
    blocks, left_out = read(text)
    pieces = iter([text.encode()])

    assert (blocks, len(left_out)) == ([Insert(((A,),))], 1)
    with pytest.raises(BadText):
        whole_script(lambda size: next(pieces, b""), "in")


@pytest.mark.parametrize("text", ["# why\n@prefix : <x:> .", "PREFIX : <x:>", "<x:a> <x:b> 1 .", "_:b <x:b> 1 .", "base <x:>"])
def test_triples_are_called_by_their_name(text: str) -> None:
    pieces = iter([text.encode()])

    for reading in (lambda: whole_script(lambda size: next(pieces, b""), "in"), lambda: read(text)):
        with pytest.raises(Unsupported, match=r"^in looks like Turtle or N-Triples, and was to be GSG script; name it \.ttl"):
            reading()


def test_each_of_many_mistakes_is_told_with_its_place() -> None:
    text = "INSERT { " + ", ".join("(?x)" if number % 100 == 7 else f"({number})" for number in range(1_000)) + " }"

    blocks, left_out = read(text)

    assert sum(len(block.tuples) for block in blocks) == 990  # type: ignore[union-attr]  # none subscribes
    assert [text[mistake.column - 1 : mistake.column + 1] for mistake in left_out] == ["?x"] * 10


@pytest.mark.parametrize("text", ["(a, b", "(a),\n(b,", "(a, 'b c'", "("])
def test_tuples_alone_that_end_too_early_are_not_told_of_a_brace_that_nobody_wrote(text: str) -> None:
    _, [piecewise] = read(text)
    pieces = iter([text.encode()])

    with pytest.raises(BadText, match="the text ends too early; expected ") as as_a_whole:
        whole_script(lambda size: next(pieces, b""), "in")

    assert '"}"' not in str(as_a_whole.value)
    assert str(piecewise) == str(as_a_whole.value)
    assert (piecewise.line, piecewise.column) == (text.count("\n") + 1, len(text.split("\n")[-1]) + 1)


def test_bytes_that_are_no_utf8_cost_their_tuple() -> None:
    blocks, left_out = read(b'INSERT { (a), ("\xff"), (b) }')

    assert [items for block in blocks for items in block.tuples] == [(A,), (B,)]  # type: ignore[union-attr]  # none subscribes
    assert [(mistake.line, mistake.column) for mistake in left_out] == [(1, 17)]


def test_an_unknown_block_is_left_out_as_a_whole() -> None:
    blocks, left_out = read("INSRT { (a), (b) } INSERT { (c) }")

    assert blocks == [Insert(((C,),))]
    assert "did you mean INSERT?" in str(left_out[0])


def test_what_came_before_a_mistake_is_handed_over_first() -> None:
    pieces = iter([b"INSERT { (a) }\n", b"INSRT { (b) }\n"])

    def complain(mistake: BadText) -> None:
        raise mistake

    blocks = read_blocks(lambda size: next(pieces, b""), "in", complain)

    assert next(blocks) == Insert(((A,),))
    with pytest.raises(BadText, match=r"^in line 2, column 1: unexpected .INSRT"):
        next(blocks)
