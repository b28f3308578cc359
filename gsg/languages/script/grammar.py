"""The parser of GSG script: lark's tables and what each rule makes.

Imported on first use, since lark and the grammar take 120 ms. The parser runs the transformer as it reduces, so no tree is built;
mistakes that only a rule's meaning shows are raised as Mistake with their offset and get their line and caret in __init__.py.
"""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

import rete

from ...tuples.terms import IRI, MAX_ARITY, XSD_INTEGER, BlankNode, Symbol, Term, Tuple, literal, python_value, term
from ..bad_text import Mistake
from ..blocks import Block, Delete, Insert, Notify, Subscribe
from ..expressions.aggregates import AGGREGATES
from ..expressions.signatures import wrong_call
from ..expressions.strings import wrong_constants
from ..query import Query
from ..scope import MAX_DEPTH
from .mistakes import BLOCKS, Place, describe, quote
from .syntax import (
    Body,
    CallNode,
    ConstantNode,
    Element,
    ExistsNode,
    ExpressionNode,
    Filter,
    Grouping,
    Having,
    Item,
    Let,
    Limits,
    NotGroup,
    OptionalGroup,
    Ordering,
    Sort,
    Subscription,
    UnionGroup,
    VariableNode,
)
from .translation import translate
from .windows import window_of

MAX_BRACES = 32
"""Groups inside groups: queries are walked by recursion further on, and nobody reads a deeper one."""

_PLAIN_PART = re.compile(r"""[^\s,()"<]+|"[^"]*"|<[^>]*>|\)""")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def parse_script(text: str) -> tuple[Block, ...]:
    """All blocks of a script; raises Mistake."""
    said: list[tuple[int, Insert | Delete | Notify | Subscription]] = _parse(text, "script")
    blocks: list[Block] = []
    end = len(text)
    for position, block in reversed(said):
        blocks.append(Subscribe(translate(block), text[position:end].rstrip()) if isinstance(block, Subscription) else block)
        end = position
    return tuple(reversed(blocks))


def parse_subscription(text: str) -> Query:
    """One subscription; raises Mistake."""
    parsed: tuple[int, Subscription] | Body = _parse(text, "subscription")
    if isinstance(parsed, tuple):
        return translate(parsed[1])
    if len(parsed.elements) == 1 and isinstance(parsed.elements[0], UnionGroup) and len(parsed.elements[0].bodies) == 1:
        (parsed,) = parsed.elements[0].bodies
    return translate(Subscription(len(text) - len(text.lstrip()), parsed))


def build() -> None:
    """Build the parser, unless there is one."""
    _parser()


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
        open_braces = closed_braces = 0
        for value in stopped.parser_state.value_stack:
            if isinstance(value, Token):
                if value.type in BLOCKS:
                    keyword, keyword_position = value.type, value.start_pos or 0
                open_braces += value.type == "LBRACE"
                closed_braces += value.type == "RBRACE"
        if open_braces and open_braces == closed_braces:
            keyword = ""
    raise Mistake(position, describe(Place(text, position, accepted, keyword, keyword_position))) from None


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("script.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=["script", "subscription"], transformer=_Builder())


class _Builder(Transformer[Token, Any]):  # Any: every rule and terminal makes its own kind
    """What each terminal (upper case) and rule (lower case) of script.lark makes."""

    def script(self, blocks: list[Any]) -> list[Any]:
        return blocks

    def insert(self, children: list[Any]) -> tuple[int, Insert]:
        return children[0].start_pos, Insert(children[1])

    def delete(self, children: list[Any]) -> tuple[int, Delete]:
        return children[0].start_pos, Delete(children[1])

    def notify(self, children: list[Any]) -> tuple[int, Notify]:
        return children[0].start_pos, Notify(children[1])

    def subscribe(self, children: list[Any]) -> tuple[int, Subscription]:
        keyword, distinct, selection, body, *modifiers = children
        position = keyword.start_pos
        said = {type(modifier): modifier for modifier in modifiers}
        around = (said.get(Grouping), said.get(Having), said.get(Ordering), said.get(Limits))
        return position, Subscription(position, body, distinct is not None, selection or (), *around)

    def subscription(self, children: list[Any]) -> Any:
        return children[0]

    def selection(self, items: list[Item]) -> tuple[Item, ...]:
        return tuple(items)

    def plain(self, children: list[Token]) -> Item:
        return Item(children[0].start_pos or 0, children[0][1:])

    def computed(self, children: list[Any]) -> Item:
        expression, _, name = children
        return Item(name.start_pos, name[1:], expression)

    def grouping(self, children: list[Any]) -> Grouping:
        return Grouping(children[0].start_pos, tuple(children[1:]))

    def having(self, children: list[Any]) -> Having:
        return Having(children[0].start_pos, children[1])

    def ordering(self, children: list[Any]) -> Ordering:
        return Ordering(children[0].start_pos, tuple(children[1:]))

    def sort(self, children: list[Any]) -> Sort:
        direction, expression = children
        return Sort(expression, direction is not None and direction.type == "DESC")

    def slice(self, children: list[Any]) -> Limits:
        numbers = {children[at].type: _count(children[at], children[at + 1]) for at in range(0, len(children), 2)}
        return Limits(numbers.get("OFFSET", 0), numbers.get("LIMIT"))

    def facts(self, children: list[list[Tuple]]) -> tuple[Tuple, ...]:
        return tuple(chain.from_iterable(children))

    def fact(self, children: list[Any]) -> list[Tuple]:
        return [_bounded(children)]

    def condition(self, children: list[Any]) -> rete.Condition:
        window = children.pop() if isinstance(children[-1], rete.Window) else None
        return rete.Condition(tuple(map(_item, _bounded(children))), window)

    def window(self, children: list[Any]) -> rete.Window:
        keyword, number, unit = children
        return window_of(keyword.start_pos, python_value(number), unit.start_pos, unit)

    def body(self, elements: list[Element]) -> Body:
        depths, braces = zip((0, 0), *map(_nesting, elements), strict=True)
        return Body(tuple(elements), max(depths), max(braces))

    def without(self, children: list[Any]) -> NotGroup:
        body = _checked_group(children, "this NOT group is empty and would refuse every row; expected a tuple in it")
        return NotGroup(children[0].start_pos, body)

    def optional(self, children: list[Any]) -> OptionalGroup:
        body = _checked_group(children, "this OPTIONAL group is empty and adds nothing; expected a tuple in it")
        return OptionalGroup(children[0].start_pos, body)

    def braces(self, children: list[Any]) -> Body:
        return _checked_group(children, "")

    def either(self, children: list[Any]) -> UnionGroup:
        return UnionGroup(tuple(child for child in children if isinstance(child, Body)))

    def filter(self, children: list[Any]) -> Filter:
        return Filter(children[0].start_pos, children[1])

    def let(self, children: list[Any]) -> Let:
        _, name, expression = children
        return Let(name.start_pos, name[1:], expression)

    def name(self, children: list[Token]) -> VariableNode:
        return VariableNode(children[0].start_pos or 0, children[0][1:])

    def value(self, children: list[Term]) -> ConstantNode:
        return ConstantNode(children[0])

    def parenthesised(self, children: list[Any]) -> ExpressionNode:
        inner: ExpressionNode = children[1]
        return inner

    def prefixed(self, children: list[Any]) -> ExpressionNode:
        sign, operand = children
        return _call_node(sign, {"!": "!", "-": "MINUS", "+": "PLUS"}[sign], operand)

    def sum(self, children: list[Any]) -> ExpressionNode:
        left, symbol, right = children
        return _call_node(symbol, str(symbol), left, right)

    product = comparison = sum

    def disjunction(self, children: list[Any]) -> ExpressionNode:
        return _call_node(children[1], str(children[1]), *children[::2])

    conjunction = disjunction

    def contained(self, children: list[Any]) -> ExpressionNode:
        wanted, keyword, _, *listed = children
        made = _call_node(keyword, "IN", wanted, *(item for item in listed if item is not None))
        return made if keyword.type == "IN" else _call_node(keyword, "!", made)

    def call(self, children: list[Any]) -> ExpressionNode:
        name, _, distinct, *arguments = children
        return _checked_call(name, distinct, arguments)

    def exists(self, children: list[Any]) -> ExistsNode:
        keyword = children[0]
        body = _checked_group(children, "this EXISTS group is empty and says the same of every row; expected a tuple in it")
        return ExistsNode(keyword.start_pos, body, keyword.type == "NOT_EXISTS", body.depth + 1, body.braces + 1)

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


def _item(item: Any) -> object:
    """What stands in a tuple; variables and wildcards are tokens up to here, since expressions need to know where they stand."""
    if not isinstance(item, Token):
        return item
    return rete.Variable(item[1:]) if item.type == "VARIABLE" else rete.WILDCARD


def _nesting(element: Element) -> tuple[int, int]:
    """The depth of an element of a body, and how many groups are nested in it."""
    match element:
        case NotGroup(body=body) | OptionalGroup(body=body):
            return body.depth + 1, body.braces + 1
        case UnionGroup(bodies=bodies):
            return max(body.depth for body in bodies) + 1, max(body.braces for body in bodies) + 1
        case Filter(expression=expression) | Let(expression=expression):
            return expression.depth, expression.braces
    return 0, 0


def _checked_group(children: list[Any], problem_if_empty: str) -> Body:  # Any: a token and a Body
    opening: Token = children[0]
    body: Body = children[1]
    if problem_if_empty and not body.elements:
        raise Mistake(opening.start_pos or 0, problem_if_empty)
    if body.braces >= MAX_BRACES:
        raise Mistake(opening.start_pos or 0, f"groups in braces are nested more than {MAX_BRACES} deep")
    return body


def _call_node(token: Token, function: str, *arguments: ExpressionNode, distinct: bool = False) -> CallNode:
    depth = max((argument.depth for argument in arguments), default=0) + 1
    if depth > MAX_DEPTH:
        raise Mistake(token.start_pos or 0, f"operators are nested more than {MAX_DEPTH} deep; name a part of it with LET")
    braces = max((argument.braces for argument in arguments), default=0)
    return CallNode(token.start_pos or 0, function, arguments, depth, braces, distinct)


def _checked_call(name: Token, distinct: Token | None, arguments: list[Any]) -> ExpressionNode:
    function = name.upper()
    whole = len(arguments) == 1 and isinstance(arguments[0], Token)
    if whole and function == "COUNT":
        return _call_node(name, function, distinct=distinct is not None)
    problem = wrong_call(function, len(arguments))
    if not problem and whole:
        problem = f"only COUNT is of *; expected an expression, such as {function}(?x)"
    if not problem and distinct is not None and function not in AGGREGATES:
        problem = f"DISTINCT belongs to aggregates, such as COUNT(DISTINCT ?x), and {function} is none"
    if not problem and function == "BOUND" and not isinstance(arguments[0], VariableNode):
        problem = "BOUND is of a variable, such as BOUND(?x)"
    if not problem:
        constants = [argument.term if isinstance(argument, ConstantNode) else None for argument in arguments]
        problem = wrong_constants(function, constants)
        problem = problem and f"{function} with {problem}"
    if problem:
        raise Mistake(name.start_pos or 0, problem)
    return _call_node(name, function, *arguments, distinct=distinct is not None)


def _count(keyword: Token, number: Term) -> int:
    if type(number) is not int or not 0 <= number < 10**18:
        raise Mistake(keyword.start_pos or 0, f"{keyword.type} {number} is no number of rows; expected a whole number below 10^18")
    return number


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
