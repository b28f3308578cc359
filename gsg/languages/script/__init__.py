"""GSG script: INSERT, DELETE, NOTIFY and SUBSCRIBE blocks (docs/script.md).

BlockScope is all or nothing: a script with a mistake gives BadText with its place, and no block of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from ...errors import BadTerm
from ...tuples.terms import BlankNode, Compound, List, Term, Tuple, Variable, n3, show
from ..bad_text import Mistake, bad_text
from ..blocks import Block, Delete, Insert, Notify, Subscribe
from ..query import Query

__all__ = [
    "Block",
    "Delete",
    "Insert",
    "Notify",
    "Subscribe",
    "is_bare",
    "parse",
    "parse_bare",
    "parse_or_insert",
    "parse_query",
    "prepare",
    "write_insert",
]

_BARE = re.compile(r"\s*(?:(?:\ufeff|#[^\n]*\n)\s*)*\(")
_BLANK_LABEL = re.compile(r"\w(?:[\w.-]*[\w-])?")
_Result = TypeVar("_Result")


def parse(text: str, *, what: str = "script") -> tuple[Block, ...]:
    """The blocks of a script, in order.

    ``what`` names the text in messages, such as a file's name. Raises BadText.
    """
    from .grammar import parse_script

    return _placed(parse_script, text, what)


def parse_or_insert(text: str, *, what: str = "script") -> tuple[Block, ...]:
    """As :func:`parse`, and of a text of tuples alone an INSERT of them: what a person types first."""
    return parse_bare(text, what=what) if is_bare(text) else parse(text, what=what)


def is_bare(text: str) -> bool:
    """Whether a text begins with a tuple, and not with a block."""
    return _BARE.match(text) is not None


def parse_bare(text: str, *, what: str = "script") -> tuple[Block, ...]:
    """The INSERT of tuples that stand without it. Raises BadText."""
    from .grammar import parse_script

    before = "INSERT {"

    def parse_inside(bare: str) -> tuple[Block, ...]:
        try:
            return parse_script(f"{before}{bare}\n}}")
        except Mistake as mistake:
            position, problem = mistake.position - len(before), mistake.problem
            if position > len(bare):
                # The brace that was put behind the text, of which whoever wrote it knows nothing.
                problem = problem.replace('unexpected "}"', "the text ends too early", 1)
            raise Mistake(min(max(0, position), len(bare)), problem) from None

    return _placed(parse_inside, text, what)


def parse_query(text: str, *, what: str = "subscription") -> Query:
    """The query of one SUBSCRIBE block, of its body in braces, or of the bare body; the latter select every variable.

    ``what`` names the text in messages. Raises BadText.
    """
    from .grammar import parse_subscription

    return _placed(parse_subscription, text, what)


def prepare() -> None:
    """Build the parser before the first text comes."""
    from .grammar import build

    build()


def write_insert(tuples: Iterable[Tuple]) -> str:
    """A script that inserts the tuples, one per line: ``parse(write_insert(tuples))`` gives them back.

    Raises BadTerm for what the language has no words for: variables, Pedro's compounds and lists, odd blank node labels.
    """
    lines = [_line(items) for items in tuples]
    text = "INSERT {\n" + ",\n".join(lines) + ("\n" if lines else "") + "}\n"
    surrogate = _surrogate(text)
    if surrogate >= 0:
        raise BadTerm(
            f"U+{ord(text[surrogate]):04X} is half of a surrogate pair, which no file can hold; expected whole characters"
        )
    return text


def _placed(parse_text: Callable[[str], _Result], text: str, what: str) -> _Result:
    surrogate = _surrogate(text)
    if surrogate >= 0:
        problem = f"U+{ord(text[surrogate]):04X} is half of a surrogate pair; expected whole characters (is this text UTF-8?)"
        raise bad_text(text, surrogate, problem, what=what)
    try:
        return parse_text(text)
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what=what) from None


def _surrogate(text: str) -> int:
    """Where the first character stands that cannot be sent as UTF-8, or -1."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return -1


def _line(items: Tuple) -> str:
    for item in items:
        if not _has_words(item):
            raise BadTerm(
                f"{n3(item)} in {show(items)} cannot be written in GSG script; expected names, strings, numbers and RDF terms"
            )
    return "    " + show(items)


def _has_words(item: Term) -> bool:
    if isinstance(item, Variable | Compound | List):
        return False
    return not isinstance(item, BlankNode) or _BLANK_LABEL.fullmatch(item.label) is not None
