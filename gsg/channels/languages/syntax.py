"""Cambridge prefix form: from a text to nested lists of atoms, each with its place in the text.

    (and (or (= type 'error) (= type 'warning)) (> |response time| 2.5) (prefix path "/api/"))

An atom is a symbol (``type``, or ``|any characters|``, where ``\\`` quotes), a text in double quotes (escapes as in JSON), a quoted
symbol (``'error``, the same constant as ``"error"``), a number, or a variable (``?user``). ``;`` begins a comment to the end of its
line. The reader knows no operators: each language reads the lists in its own way. It keeps its own stack, so that no text can
exhaust Python's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ...languages.bad_text import Mistake

MAX_CHARACTERS: Final = 256 * 1024
"""Of a subscription's text; a longer one is refused."""
MAX_DEPTH: Final = 64
"""Lists within lists; deeper ones are refused."""
MAX_ATOMS: Final = 50_000
"""Of one text; beyond, it is refused."""
MAX_DIGITS: Final = 400
"""Of a number, more than any finite float has before its point; a longer one is refused."""


class Kind(Enum):
    """What an atom is."""

    SYMBOL = "a symbol"
    TEXT = "a text"
    NUMBER = "a number"
    VARIABLE = "a variable"


@dataclass(frozen=True, slots=True)
class Atom:
    """One word of a text. ``value`` is the symbol's or variable's name, the text or the number; ``bare`` where a symbol was written
    without bars, so that it may be a keyword."""

    kind: Kind
    value: str | int | float
    start: int
    bare: bool = True

    def is_keyword(self, *words: str) -> bool:
        """Whether this is one of these symbols, written without bars."""
        return self.kind is Kind.SYMBOL and self.bare and self.value in words


@dataclass(frozen=True, slots=True)
class Form:
    """A list in brackets, from the offset of the bracket that opens it."""

    items: tuple[Node, ...]
    start: int

    @property
    def operator(self) -> str | None:
        """The bare symbol that it begins with, if it does."""
        first = self.items[0] if self.items else None
        return str(first.value) if isinstance(first, Atom) and first.kind is Kind.SYMBOL and first.bare else None


Node = Atom | Form

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|;[^\n]*)+)
    | (?P<open>\() | (?P<close>\))
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<quoted>'(?:\|(?:[^|\\]|\\.)*\||[^\s()"'|;]+))
    | (?P<barred>\|(?:[^|\\]|\\.)*\|)
    | (?P<word>[^\s()"'|;]+)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def read(text: str) -> Node:
    """The one list or atom of a text. Raises Mistake."""
    nodes = read_all(text)
    if not nodes:
        raise Mistake(0, 'an empty subscription; expected a condition, such as (= type "error")')
    if len(nodes) > 1:
        raise Mistake(nodes[1].start, "a second expression; expected one: put (and ...) or (or ...) around them")
    return nodes[0]


def read_all(text: str, *, shorten: str = "cut it into several subscriptions") -> list[Node]:
    """All lists and atoms of a text, in order; ``shorten`` says what to do about one that is too long. Raises Mistake."""
    if len(text) > MAX_CHARACTERS:
        raise Mistake(MAX_CHARACTERS, f"{len(text):,} characters; expected at most {MAX_CHARACTERS:,}: {shorten}")
    _refuse_half_pairs(text, 0)
    done: list[Node] = []
    open_lists: list[tuple[int, list[Node]]] = []
    at = atoms = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Mistake(at, f"{_NEVER_CLOSED[text[at]]} that is never closed")
        kind, begin, at = token.lastgroup, at, token.end()
        if kind == "open":
            if len(open_lists) >= MAX_DEPTH:
                raise Mistake(begin, f"lists nested more than {MAX_DEPTH} deep; expected fewer")
            open_lists.append((begin, []))
        elif kind == "close":
            if not open_lists:
                raise Mistake(begin, 'a ")" that closes nothing; expected one for each "("')
            start, items = open_lists.pop()
            (open_lists[-1][1] if open_lists else done).append(Form(tuple(items), start))
        elif kind != "space":
            atoms += 1
            if atoms > MAX_ATOMS:
                raise Mistake(begin, f"more than {MAX_ATOMS:,} words; expected fewer: {shorten}")
            (open_lists[-1][1] if open_lists else done).append(_atom(kind, token.group(), begin))
    if open_lists:
        raise Mistake(open_lists[-1][0], 'a "(" that is never closed; expected one ")" more')
    return done


_NEVER_CLOSED = {'"': 'a text in "', "|": "a name in |", "'": "a quote without a word, or a name in |"}


def _atom(kind: str | None, word: str, start: int) -> Atom:
    if kind == "text":
        try:
            value = str(json.loads(word, strict=False))
        except ValueError:
            raise Mistake(start, r"a text with an escape that JSON has not; expected \" \\ \n \t or \u and four digits") from None
        _refuse_half_pairs(value, start)
        return Atom(Kind.TEXT, value, start)
    if kind == "barred":
        return Atom(Kind.SYMBOL, _ESCAPE.sub(r"\1", word[1:-1]), start, bare=False)
    if kind == "quoted":
        name = word[1:]
        return Atom(Kind.TEXT, _ESCAPE.sub(r"\1", name[1:-1]) if name[0] == "|" else name, start)
    if _NUMBER.fullmatch(word):
        return Atom(Kind.NUMBER, _number(word, start), start)
    if word[0] == "?" and len(word) > 1:
        return Atom(Kind.VARIABLE, word[1:], start)
    return Atom(Kind.SYMBOL, word, start)


def _refuse_half_pairs(text: str, start: int) -> None:
    """Half a surrogate pair is no character (RFC 3629 s. 3): it could not be sent to anybody."""
    if not text.isascii() and (found := _HALF_PAIR.search(text)):
        raise Mistake(start or found.start(), f"{found.group()!r}, half a surrogate pair; expected a character")


def _number(word: str, start: int) -> int | float:
    if len(word) > MAX_DIGITS:
        raise Mistake(start, f"a number of {len(word):,} characters; expected at most {MAX_DIGITS}")
    try:
        return int(word)
    except ValueError:
        return float(word)
