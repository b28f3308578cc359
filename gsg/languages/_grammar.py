"""The parser behind script.py: lark's tables and what each rule makes.

Imported on first use, since lark and the grammar take 60 ms. The parser runs the transformer as it reduces, so no tree is built;
mistakes that only a rule's meaning shows are raised as Mistake with their offset and get their line and caret in script.py.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

import rete

from ..model import IRI, MAX_ARITY, XSD_INTEGER, BlankNode, Symbol, Term, Tuple, literal, term
from ..query import Query
from ._mistakes import BLOCKS, Place, describe, quote
from .blocks import Block, Delete, Insert, Notify, Subscribe

MAX_DEPTH = 32
"""NOT inside NOT: queries are walked by recursion further on, and nobody reads a deeper one."""

_PLAIN_PART = re.compile(r"""[^\s,()"<]+|"[^"]*"|<[^>]*>|\)""")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Mistake(Exception):
    """Something that does not parse, by its offset in the text."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Body:
    """What stands between the braces of SUBSCRIBE or NOT; ``depth`` counts the NOTs nested in it."""

    conditions: tuple[rete.Condition, ...]
    negated: tuple[rete.Group, ...]
    depth: int


def parse_script(text: str) -> tuple[Block, ...]:
    """All blocks of a script; raises Mistake."""
    return tuple(_parse(text, "script"))


def parse_subscription(text: str) -> Query:
    """One subscription; raises Mistake."""
    parsed: Subscribe | Body = _parse(text, "subscription")
    if isinstance(parsed, Subscribe):
        return parsed.query
    return _query(len(text) - len(text.lstrip()), parsed)


def _parse(text: str, start: str) -> Any:  # Any: lark's result is whatever the start rule's method returns
    try:
        return _parser().parse(text, start=start)
    except UnexpectedInput as error:
        _explain(text, error)


def _explain(text: str, error: UnexpectedInput) -> NoReturn:
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        position = error.token.start_pos or 0
    else:
        position = len(text.rstrip())
    accepted: frozenset[str] = frozenset()
    keyword, keyword_position = "", 0
    if isinstance(error, UnexpectedToken | UnexpectedCharacters):
        stopped = error.interactive_parser
        accepted = frozenset(stopped.accepts())  # type: ignore[no-untyped-call]  # lark leaves it unannotated
        for value in stopped.parser_state.value_stack:
            if isinstance(value, Token) and value.type in BLOCKS:
                keyword, keyword_position = value.type, value.start_pos or 0
    raise Mistake(position, describe(Place(text, position, accepted, keyword, keyword_position))) from None


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("script.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=["script", "subscription"], transformer=_Meaning())


class _Meaning(Transformer[Token, Any]):  # Any: every rule and terminal makes its own kind
    """What each terminal (upper case) and rule (lower case) of script.lark makes."""

    def script(self, blocks: list[Block]) -> list[Block]:
        return blocks

    def insert(self, children: list[Any]) -> Insert:
        return Insert(children[1])

    def delete(self, children: list[Any]) -> Delete:
        return Delete(children[1])

    def notify(self, children: list[Any]) -> Notify:
        return Notify(children[1])

    def subscribe(self, children: list[Any]) -> Subscribe:
        return Subscribe(_query(children[0].start_pos, children[1]))

    def subscription(self, children: list[Any]) -> Any:
        return children[0]

    def facts(self, children: list[list[Tuple]]) -> tuple[Tuple, ...]:
        return tuple(chain.from_iterable(children))

    def fact(self, children: list[Any]) -> list[Tuple]:
        return [_bounded(children)]

    def condition(self, children: list[Any]) -> rete.Condition:
        return rete.Condition(_bounded(children))

    def body(self, children: list[Any]) -> Body:
        negated = [child for child in children if isinstance(child, tuple)]
        return Body(
            conditions=tuple(child for child in children if isinstance(child, rete.Condition)),
            negated=tuple(group for group, _ in negated),
            depth=max((depth for _, depth in negated), default=0),
        )

    def group(self, children: list[Any]) -> tuple[rete.Group, int]:
        body: Body = children[1]
        if not body.conditions and not body.negated:
            raise Mistake(children[0].start_pos, "this NOT group is empty and would refuse every row; expected a tuple in it")
        if body.depth >= MAX_DEPTH:
            raise Mistake(children[0].start_pos, f"NOT groups are nested more than {MAX_DEPTH} deep")
        return rete.Group(body.conditions, body.negated), body.depth + 1

    def tagged(self, children: list[Any]) -> Term:
        return literal(children[0], "", children[1][1:])

    def typed(self, children: list[Any]) -> Term:
        lexical, separator, datatype = children
        if not datatype.value:
            raise Mistake(separator.start_pos + 2, "the datatype is empty; expected an IRI between < and >")
        return literal(lexical, datatype.value)

    def PLAIN_FACTS(self, token: Token) -> list[Tuple]:  # noqa: N802  # lark calls a terminal's method by its name
        facts = []
        items: list[Term] = []
        # Names and attributes repeat from tuple to tuple: each is made once per run.
        terms: dict[str, Term] = {}
        for part in _PLAIN_PART.findall(token):
            if part == ")":
                facts.append(tuple(items))
                items.clear()
                continue
            made = terms.get(part)
            if made is None:
                made = terms[part] = _plain_term(part)
            items.append(made)
        return facts

    def VARIABLE(self, token: Token) -> rete.Variable:  # noqa: N802  # as above
        return rete.Variable(token[1:])

    def WILDCARD(self, token: Token) -> object:  # noqa: N802  # as above
        return rete.WILDCARD

    def SYMBOL(self, token: Token) -> Symbol:  # noqa: N802  # as above
        return Symbol(str(token))

    def ATTRIBUTE(self, token: Token) -> Symbol:  # noqa: N802  # as above
        return Symbol(_unescape(token, 2, -1) if token[1] == "'" else token[1:])

    def QUOTED(self, token: Token) -> Symbol:  # noqa: N802  # as above
        return Symbol(_unescape(token, 1, -1))

    def STRING(self, token: Token) -> str:  # noqa: N802  # as above
        return _unescape(token, 1, -1)

    def IRI(self, token: Token) -> IRI:  # noqa: N802  # as above
        return IRI(_unescape(token, 1, -1, others=False))

    def BLANK(self, token: Token) -> BlankNode:  # noqa: N802  # as above
        return BlankNode(token[2:])

    def INTEGER(self, token: Token) -> Term:  # noqa: N802  # as above
        # Not int(): Python refuses, and would be slow for, texts of thousands of digits.
        digits = token.lstrip("+-").lstrip("0") or "0"
        return literal("-" + digits if token[0] == "-" and digits != "0" else digits, XSD_INTEGER)

    def FLOAT(self, token: Token) -> Term:  # noqa: N802  # as above
        number = float(token)
        if math.isinf(number):
            raise Mistake(token.start_pos or 0, f"{quote(token)} is beyond the range of a double, which ends at 1.8e308")
        return term(number)


def _plain_term(part: str) -> Term:
    first = part[0]
    if first == '"':
        return part[1:-1]
    if first == "<":
        return IRI(part[1:-1])
    if first == "^":
        return Symbol(part[1:])
    if first == "-" or "0" <= first <= "9":
        return int(part)
    return Symbol(part)


def _query(position: int, body: Body) -> Query:
    if not body.conditions:
        raise Mistake(
            position,
            "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
        )
    group = rete.Group(body.conditions, body.negated)
    count = sum(1 for _ in group.every_condition())
    if count > rete.MAX_CONDITIONS:
        raise Mistake(position, f"a subscription of {count} tuples; expected at most {rete.MAX_CONDITIONS}: split it into several")
    return Query.selecting_all(group)


def _bounded(children: list[Any]) -> tuple[Any, ...]:
    opening, *items = children
    if len(items) > MAX_ARITY:
        raise Mistake(opening.start_pos, f"a tuple of {len(items)} terms; expected at most {MAX_ARITY}")
    return tuple(items)


def _unescape(token: Token, start: int, end: int, *, others: bool = True) -> str:
    """The characters between the quotes; ``others`` says whether escapes besides \\u and \\U are allowed (not in IRIs)."""
    inside = token[start:end]
    if "\\" not in inside:
        return inside

    def replaced(found: re.Match[str]) -> str:
        position = (token.start_pos or 0) + start + found.start()
        if found[3] is not None:
            if others and found[3] in _ESCAPED:
                return _ESCAPED[found[3]]
            known = "\\\\ \\\" \\' \\n \\t \\r \\b \\f \\uXXXX \\UXXXXXXXX" if others else "\\uXXXX \\UXXXXXXXX"
            raise Mistake(position, f"{quote(found[0])} is no escape; expected one of {known}, or \\\\ for a backslash")
        code = int(found[1] or found[2], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise Mistake(
                position, f"{quote(found[0])} is no character; expected a code up to 10FFFF that is no surrogate (D800 to DFFF)"
            )
        return chr(code)

    return _ESCAPE.sub(replaced, inside)
