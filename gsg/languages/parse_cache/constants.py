"""Where the constants of a query's text stand, found by one regular expression a language: what is left is the text's skeleton.

This is no parser. It finds the plain constants only, in a way that never takes part of another token for one, and says of a text
that is unusual in any way (comments, escapes, functions of chance) that it has no skeleton. What a constant means is found out by
skeletons.py, which asks the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...tuples.terms import IRI, XSD_DOUBLE, Literal, Symbol, Term, literal, term

Make: TypeAlias = Callable[[str], Term]
"""What a constant of the text means."""

MAX_CONSTANTS = 64
"""Constants of a text; one with more is parsed each time."""

_FIXED = "="
"""Begins the kind of what looks like a constant and may be none: all of it is part of its kind."""
_STRING = r'"[^"\\\x00-\x1f\x7f]*"'
_SINGLE = r"'[^'\\\x00-\x1f\x7f]*'"
_IRI = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_INTEGER = r"0|-?[1-9][0-9]{0,17}"
_DECIMAL = r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}"
# Strings and IRIs are taken wherever they stand, as the languages' own lexers do, so that none begins inside another. The rest must
# stand between what cannot be part of it.
_SCRIPT = re.compile(
    rf"({_STRING}|\^?{_SINGLE}|{_IRI}|(?<=[(,\s])(?:\^?[^\W\d]\w*(?:-\w+)*)(?=\s*(?:[,)}}]|&&|\|\||\Z))"
    rf"|(?<=[(,\s=<>])(?:{_DECIMAL}|{_INTEGER})(?=[\s,)}}]|&&|\|\||\Z))"
)
_SPARQL = re.compile(
    rf"({_STRING}|{_SINGLE}|{_IRI}"
    rf"|(?<=[\s,;({{\[])(?:[A-Za-z][A-Za-z0-9_-]*)?:[A-Za-z0-9_][A-Za-z0-9_-]*(?=[\s,;)}}\]]|\.[\s}}]|\.?\Z)"
    rf"|(?<=[\s,;({{\[=<>])(?:{_DECIMAL}|{_INTEGER})"
    rf"(?=[\s,;)}}\]]|\.[\s}}]|\.?\Z))"
)
_PROLOGUE = re.compile(
    rf"(?:[ \t\r\n]*(?:PREFIX[ \t\r\n]+(?:[A-Za-z][A-Za-z0-9_-]*)?:[ \t\r\n]*{_IRI}|BASE[ \t\r\n]*{_IRI}))*", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")
_UNUSUAL = re.compile(r"[\"'#\\]|\b(?:NOW|RAND|UUID|STRUUID|BNODE|FROM\s+NAMED)\b", re.IGNORECASE)
"""What no usual text has between its constants: a quote, comment or escape, functions that differ from text to text, and graphs of
which it matters whether two are the same."""
_QUOTED = frozenset(('"', "'", "^'"))
_NUMBERS = frozenset(("0", "0.0", "-0", "-0.0"))

# fmt: off
SCRIPT_WORDS = frozenset(
    [
        "insert", "delete", "notify", "subscribe", "not", "optional", "union", "filter", "let", "group", "by", "having",
        "order", "limit", "offset", "as", "in", "exists", "distinct", "asc", "desc", "window", "events", "true",
        "false",
    ]
)
# fmt: on
"""Words that may be keywords in a script: where one stands for a constant, it is not taken out."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A text without its constants: hashed and compared for each text, so it is flat.

    ``opening`` is what is not looked at, ``gaps`` what stands before, between and after the constants, ``kinds`` what they are: the
    quote or bracket that a constant begins with, ``0`` for an integer, ``0.0`` for a decimal, each with its minus, a name's prefix
    with its colon, ``a`` for a word.
    """

    opening: str
    gaps: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def is_usual(self) -> bool:
        """Whether this is all that there is to know of its texts. Depends on nothing but the skeleton."""
        if len(self.kinds) > MAX_CONSTANTS or any(_UNUSUAL.search(gap) for gap in self.gaps):
            return False
        # Two strings side by side may be one: a long string, or the beginning of one.
        return all(self.gaps[1:-1])

    def places(self) -> tuple[int, ...]:
        """The constants that another could stand in the place of."""
        return tuple(
            place
            for place, kind in enumerate(self.kinds)
            if not kind.startswith(_FIXED) and not self.gaps[place].rstrip().endswith("^^")
        )

    def text(self, constants: Sequence[str]) -> str:
        """The text with these constants."""
        parts = [self.opening, self.gaps[0]]
        for constant, gap in zip(constants, self.gaps[1:], strict=True):
            parts += (constant, gap)
        return "".join(parts)


Divide: TypeAlias = Callable[[str], tuple[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]]]
"""A text as what a :class:`Skeleton` is made of, and its constants."""


def divide_script(text: str) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]]:
    """A text in GSG script."""
    parts = _SCRIPT.split(text)
    constants = parts[1::2]
    return ("", tuple(parts[::2]), tuple([_script_kind(constant) for constant in constants])), constants


def _script_kind(constant: str) -> str:
    first = constant[0]
    if first in "\"'<":
        return first
    if first == "^":
        return "^'" if constant[1] == "'" else first
    if first == "-" or "0" <= first <= "9":
        return _kind_of_number(constant)
    return _FIXED + constant if constant.lower() in SCRIPT_WORDS else "a"


def divide_sparql(text: str) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]]:
    """A text in SPARQL; its opening is the prologue."""
    found = _PROLOGUE.match(text)
    end = found.end() if found is not None else 0
    parts = _SPARQL.split(text[end:])
    constants = parts[1::2]
    return (text[:end], tuple(parts[::2]), tuple([_sparql_kind(constant) for constant in constants])), constants


def _sparql_kind(constant: str) -> str:
    first = constant[0]
    if first in "\"'":
        return first
    if first == "<":
        return first if _ABSOLUTE.match(constant) else _FIXED + constant
    if first == "-" or "0" <= first <= "9":
        return _kind_of_number(constant)
    return constant[: constant.index(":") + 1]


def _kind_of_number(constant: str) -> str:
    # A number below 0 is no limit: where one may stand the other is a mistake.
    return f"{'-' * (constant[0] == '-')}0{'.0' * ('.' in constant)}"


DIVIDE: dict[str, Divide] = {"gsg": divide_script, "sparql": divide_sparql}
"""By the language's name; a language that is not here is parsed each time."""


def content(kind: str, constant: str) -> str:
    """The characters of a constant that make its meaning."""
    if kind in _QUOTED:
        return constant[len(kind) : -1]
    if kind == "<":
        return constant[1:-1]
    return constant[1:] if kind == "^" else constant[len(kind) :] if kind.endswith(":") else constant


class Markers:
    """Constants that stand in no text but the one that they are made for."""

    def __init__(self, text: str) -> None:
        self._word, self._digits = "gsgplace", "9173648205"
        while self._word in text:
            self._word += "x"
        while self._digits in text and len(self._digits) < 15:
            self._digits += "7"
        self._found = re.compile(f"(?:{self._word}|{self._digits})([0-9]{{3}})")
        self.are_new = self._digits not in text

    def constant(self, kind: str, place: int) -> str:
        """The marker of a place as it is written in the text."""
        word = f"{self._word}{place:03d}"
        if kind in _NUMBERS:
            sign, rest = ("-", kind[2:]) if kind.startswith("-") else ("", kind[1:])
            return f"{sign}{self._digits}{place:03d}{rest}"
        if kind in _QUOTED:
            return f"{kind}{word}{kind[-1]}"
        if kind == "<":
            return f"<urn:{word}>"
        return word if kind == "a" else kind + word

    def places_in(self, value: object) -> list[int]:
        """The places whose markers are in something."""
        return [int(number) for number in self._found.findall(str(value))]

    def make(self, kind: str, place: int, item: object) -> Make | None:
        """What turns a constant of the text into a term, seen from what became of the marker; None where it is nothing plain."""
        marker = self.constant(kind, place)
        inside = content(kind, marker)
        match item:
            case str() if kind in ('"', "'") and item == inside:
                return _unquoted
            case Literal(lexical, datatype, language) if kind in ('"', "'") and lexical == inside:
                return lambda constant: literal(constant[1:-1], datatype, language)
            case int() if kind in _NUMBERS and str(item) == marker:
                return int
            case Literal(lexical, datatype, "") if kind in _NUMBERS and lexical == marker:
                # A script says a number of the machine, whose text is another where the constant has zeros or digits too many.
                return _double if datatype == XSD_DOUBLE else lambda constant: literal(constant, datatype)
            case IRI(value) if kind == "<" and value == inside:
                return lambda constant: IRI(constant[1:-1])
            case IRI(value) if kind.endswith(":") and value.endswith(inside):
                namespace, start = value[: -len(inside)], len(kind)
                return lambda constant: IRI(namespace + constant[start:])
            case Symbol(name) if name == inside:
                return lambda constant: Symbol(content(kind, constant))
        return None


def _double(constant: str) -> Term:
    return term(float(constant))


def _unquoted(constant: str) -> str:
    return constant[1:-1]
