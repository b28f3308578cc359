"""A grammar that tries only the alternatives that can begin with the next character.

Of each alternative it is worked out once with which characters it can begin: the FIRST sets of parsing theory (Aho, Lam, Sethi and
Ullman, "Compilers", section 4.4.2), of characters instead of tokens. The one rule: where that cannot be told, it can begin with
anything, and is tried. So what is read, and the token at which a mistake is found, is what it would be without.

What it is worth: the first text of a skeleton (further ones are not parsed) is read as fast as without where it has triples alone,
2 to 3 times as fast with a few expressions, and 3 to 8 times with 2,000 characters of them, which would keep a peer from all else
for half a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyparsing import (
    And,
    CaselessKeyword,
    CaselessLiteral,
    DelimitedList,
    Forward,
    Keyword,
    Literal,
    MatchFirst,
    OneOrMore,
    Opt,
    ParseException,
    ParserElement,
    Regex,
    TokenConverter,
    ZeroOrMore,
)

WHITE = " \n\t\r"
"""What elements skip before they begin."""
NOTHING, BEYOND_ASCII = "", "\x80"
"""What an element can begin with that may match no character at all; and all characters that are not ASCII, as one."""
ANYTHING = frozenset([NOTHING, *map(chr, range(0x80)), BEYOND_ASCII])

_CLASS_OR_ESCAPE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_FIRST_OF_PATTERN = re.compile(r"(\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\.^$*+?{}\[\]|()])(?![*?{])")


def use_first_sets(root: ParserElement) -> ParserElement:
    """The grammar, changed in place; its elements may refer to each other in circles."""
    # As pyparsing does before it parses: "a | b | c" becomes one choice out of three.
    root.streamline()
    known: dict[int, frozenset[str]] = {}
    seen = {id(root)}
    pending = [root]
    while pending:
        element = pending.pop()
        if type(element) is MatchFirst:
            element.__class__ = _Alternatives
            element.choices = [(each, first_set(each, known)) for each in element.exprs]  # type: ignore[attr-defined]  # it is one
            element.by_character = {}  # type: ignore[attr-defined]
        for part in vars(element).values():
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, ParserElement) and id(each) not in seen:
                    seen.add(id(each))
                    pending.append(each)
    return root


class _Alternatives(MatchFirst):
    """Alternatives of which the first that matches counts."""

    choices: list[tuple[ParserElement, frozenset[str]]]
    by_character: dict[str, list[ParserElement]]
    """What is tried, by the next character; at most one list for each of ANYTHING."""

    def parseImpl(self, instring: str, loc: int, do_actions: bool = True) -> Any:  # noqa: N802  # pyparsing's name, and its results
        """Try those that can begin here. Calls nothing else on the way: calls are what limits how deep a query may be nested."""
        at = loc
        while at < len(instring) and instring[at] in WHITE:
            at += 1
        character = min(instring[at], BEYOND_ASCII) if at < len(instring) else NOTHING
        possible = self.by_character.get(character)
        if possible is None:
            possible = [each for each, begins in self.choices if character in begins or NOTHING in begins]
            self.by_character[character] = possible
        furthest = failed = None
        for each in possible:
            try:
                return each._parse(instring, loc, do_actions)
            except ParseException as error:
                # With its traceback it would hold this frame, which holds it: all that was read waited for the cyclic collector.
                error.__traceback__ = None
                failed = error
            except IndexError:
                failed = ParseException(instring, len(instring), each.errmsg, self)
            if furthest is None or failed.loc > furthest.loc:
                furthest = failed
        try:
            raise furthest or ParseException(instring, at, self.errmsg, self)
        finally:
            furthest = failed = None


def first_set(element: ParserElement, known: dict[int, frozenset[str]] | None = None) -> frozenset[str]:
    """The characters that an element can begin with, after white space."""
    known = {} if known is None else known
    if id(element) not in known:
        # What begins with itself again could begin with anything.
        known[id(element)] = ANYTHING
        found = _first_set(element, known)
        skips_as_others = element.whiteChars == set(WHITE) and not found.intersection(WHITE)
        known[id(element)] = found if skips_as_others else ANYTHING
    return known[id(element)]


def _first_set(element: ParserElement, known: dict[int, frozenset[str]]) -> frozenset[str]:
    match element:
        case Opt() | ZeroOrMore():
            return first_set(element.expr, known) | {NOTHING}
        case Forward() | TokenConverter() | OneOrMore() | DelimitedList():
            return ANYTHING if element.expr is None else first_set(element.expr, known)
        case MatchFirst():
            return frozenset().union(*(first_set(each, known) for each in element.exprs))
        case And():
            return _of_sequence(first_set(each, known) for each in element.exprs)
        case Regex():
            return _of_pattern(element.pattern, element.flags)
        case CaselessKeyword() | CaselessLiteral():
            # Some characters beyond ASCII are an ASCII letter in capitals: the long s, the dotless i.
            return frozenset([element.match[0].upper(), element.match[0].lower(), BEYOND_ASCII])
        case Keyword() | Literal() if element.match:
            return frozenset([min(element.match[0], BEYOND_ASCII)])
    return ANYTHING


def _of_sequence(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    for part in parts:
        found |= part - {NOTHING}
        if NOTHING not in part:
            return frozenset(found)
    return frozenset(found | {NOTHING})


def _of_pattern(pattern: Any, flags: int) -> frozenset[str]:  # Any: a text, or a pattern that is compiled already
    """Of a regular expression that begins with a character or with a class of them that must be there, and has no alternatives."""
    first = _FIRST_OF_PATTERN.match(pattern) if isinstance(pattern, str) else None
    if first is None or flags & (re.IGNORECASE | re.VERBOSE) or _has_alternatives(pattern):
        return ANYTHING
    one = re.compile(first[1])
    return frozenset([BEYOND_ASCII, *filter(one.fullmatch, map(chr, range(0x80)))])


def _has_alternatives(pattern: str) -> bool:
    depth = 0
    for sign in _CLASS_OR_ESCAPE.sub("", pattern):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            return True
    return False
