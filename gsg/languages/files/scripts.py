"""GSG scripts from files and pipes: as a whole, or block by block as they come.

A script is right as a whole or not at all, which asks for all of it. What comes on a pipe for a while, and what may have
mistakes, is taken block by block instead. Tuples that stand outside of blocks are inserted: so the shortest thing that one can
say is a script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...errors import BadText, Unsupported
from ..bad_text import excerpt
from ..blocks import Block
from .chunks import Blocks, Chunk, chunks
from .encoding import decoded

Parse: TypeAlias = "Callable[..., tuple[Block, ...]]"

_OPENING = re.compile(rb"\s*(?:(?:\xef\xbb\xbf|#[^\n]*\n)\s*)*(INSERT|DELETE|NOTIFY)\s*\{", re.IGNORECASE)
"""How blocks begin whose tuples say by themselves what they say together."""
_TRIPLES = re.compile(
    r"\s*(?:(?:\ufeff|#[^\n]*\n)\s*)*(?:@prefix\s|@base\s|PREFIX\s+[^\s:]*:|BASE\s*<|<[^<>\n]*>\s|_:\S+\s)", re.IGNORECASE
)
_COMMA = re.compile(rb"\A(\s*(?:#[^\n]*\n\s*)*),")


def whole_script(read: Callable[[int], bytes], name: str) -> tuple[Block, ...]:
    """The blocks of a script. Raises BadText for any mistake in it, LocalError for what is no text."""
    from ..script import parse_or_insert

    text = decoded(b"".join(iter(lambda: read(-1), b"")), name)
    _refuse_triples(text, name)
    return parse_or_insert(text, what=name)


def read_blocks(read: Callable[[int], bytes], name: str, complain: Callable[[BadText], None]) -> Iterator[Block]:
    """The blocks of a script as they come.

    ``complain`` is given each mistake. Where it does not raise it, those tuples of the block are taken that have none.
    """
    from ..script import is_bare, parse, parse_bare

    parse_unit: Parse | None = None
    for chunk in chunks(read, Blocks(), name=name):
        for unit in chunk.units():
            # As in a script that is read as a whole: of tuples alone, or of blocks.
            if parse_unit is None:
                begin = unit.text.decode("utf-8", "replace")
                _refuse_triples(begin, name)
                parse_unit = parse_bare if is_bare(begin) else parse
            text = unit.text if parse_unit is parse else _COMMA.sub(rb"\1 ", unit.text)
            try:
                yield from _parsed(unit, text, name, parse_unit)
            except BadText as mistake:
                keyword, inside = _inside(unit) if parse_unit is parse else (b"", None)
                if inside is None:
                    complain(mistake)
                else:
                    yield from _right_ones(keyword, list(inside.units(Blocks().ends(inside.text, True))), name, complain)


def _refuse_triples(text: str, name: str) -> None:
    """Raise Unsupported for a text that begins as Turtle and N-Triples do, and no script."""
    if _TRIPLES.match(text):
        raise Unsupported(f"{name} looks like Turtle or N-Triples, and was to be GSG script; name it .ttl, or say --format ttl")


def _parsed(unit: Chunk, text: bytes, name: str, parse: Parse) -> tuple[Block, ...]:
    """The blocks of a text that stands in a unit. Raises BadText with the place in the whole."""
    undecodable = unit.undecodable(what=name)
    if undecodable is not None:
        raise undecodable
    try:
        return parse(text.decode(), what=name)
    except BadText as error:
        added = len(text) - len(unit.text) if text.endswith(unit.text + b"\n}") else 0
        raise _placed(error, unit, name, max(0, added - 2)) from None


def _right_ones(keyword: bytes, units: list[Chunk], name: str, complain: Callable[[BadText], None]) -> Iterator[Block]:
    """What is right among tuples, found by halves: one mistake among a thousand costs ten parsings, not a thousand."""
    from ..script import parse

    if not units:
        return
    first = units[0]
    # The comma before the first of them was behind another; a blank in its place keeps the columns.
    text = _COMMA.sub(rb"\1 ", b"".join(unit.text for unit in units))
    together = Chunk(text, [], first.line, first.head, first.column, first.offset)
    try:
        yield from _parsed(together, keyword + b"{" + together.text + b"\n}", name, parse)
    except BadText as mistake:
        if len(units) == 1:
            complain(mistake)
            return
        half = len(units) // 2
        yield from _right_ones(keyword, units[:half], name, complain)
        yield from _right_ones(keyword, units[half:], name, complain)


def _inside(unit: Chunk) -> tuple[bytes, Chunk | None]:
    """The keyword of a block, and what stands between its braces; None of any other text."""
    found = _OPENING.match(unit.text)
    if found is None or not unit.text.rstrip().endswith(b"}"):
        return b"", None
    _, inside = unit.units([found.end(), unit.text.rindex(b"}")])
    return found[1], inside


def _placed(error: BadText, unit: Chunk, name: str, added: int) -> BadText:
    """The mistake of a unit, before whose first line so many characters were put, at its place in the whole text."""
    if error.line > 1:
        return BadText(
            error.problem, line=unit.line + error.line - 1, column=error.column, source_line=error.source_line, what=name
        )
    column = max(1, error.column - added)
    head = unit.head.decode("utf-8", "replace")
    known = error.source_line and (head or unit.column == 1)
    return BadText(
        error.problem,
        line=unit.line,
        column=unit.column - 1 + column,
        source_line=excerpt(head + error.source_line[added:], unit.column - 1 + column) if known else "",
        what=name,
    )
