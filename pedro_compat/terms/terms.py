"""Pedro's terms, as the plainest Python that tells them apart.

    atom       str      its text, with its quotes only where they are part of it: ``abc``, ``+``, ``[]``, ``'a b'``
    string     bytes    UTF-8, escapes not decoded: Pedro compares ``"a\\x41"`` as raw text
    number     int, float
    compound   tuple    ``("f", a, b)``; the functor is an atom, there is at least one argument
    list       tuple    cons cells ``(".", head, tail)`` down to the atom ``[]``
    variable   Var      bound by unification and unbound by the trail; Frozen: a variable that is a constant

Terms nest as deeply as a line is long, so nothing here may compare, hash or print a compound by Python's own recursion: every
walk in this package has its own stack. A compound ``-`` of one number does not exist: it is the negative number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias


class Var:
    """A variable. ``ref`` is ``None`` while it is unbound."""

    __slots__ = ("name", "ref")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ref: Term | None = None

    def __repr__(self) -> str:
        return f"Var({self.name!r})"


class Frozen:
    """A variable of a notification where those are constants: equal to itself only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Frozen({self.name!r})"


Term: TypeAlias = "str | bytes | int | float | Var | Frozen | Compound"
Compound: TypeAlias = "tuple[Term, ...]"

NIL = "[]"
CONS = "."
COMMA = "','"
"""The functor of a conjunction: the one operator whose atom keeps its quotes."""
NOTHING = "'$none_'"
"""The argument that ``f()`` stands for [R]."""

NAME = r"[a-z][A-Za-z0-9_]*"
SYMBOL_CHARACTERS = r"\-/+*<=>#@$\\^&~`:.?!"

# Quotes are stripped where the atom would be legal without; `!`, the backquote and {} keep theirs [R].
_STRIPPED = re.compile(NAME + r"|[#$&*+\-./:<=>?@^~\\]+|\[\]|;")
_BARE = re.compile(NAME + rf"|[{SYMBOL_CHARACTERS}]+|\[\]|\{{\}}|;")
_QUOTED = re.compile(r"'([^'\\\n\r\0]*+(?>(?:\\[^\n\r\0][^'\\\n\r\0]*+)*))'")

_STRING = re.compile(r'[^"\\\n\r\0]*+(?>(?:\\[^\n\r\0][^"\\\n\r\0]*+)*)')

_WRITTEN = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_READ = {"\\": "\\", "n": "\n", "r": "\r", "0": "\0"}
_TO_ESCAPE = {quote: re.compile(rf"[{quote}\\\n\r\0]") for quote in ("'", '"')}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def is_number(term: Term) -> bool:
    """Whether a dereferenced term is a number (manual 5)."""
    return type(term) is int or type(term) is float


def is_cons(term: Term) -> bool:
    """Whether a dereferenced term is a list of at least one item, or a pair such as ``[a|b]``."""
    return type(term) is tuple and len(term) == 3 and term[0] == CONS


def make_list(items: Iterable[Term], tail: Term = NIL) -> Term:
    """The list of the items, ending in ``tail``."""
    made = tail
    for item in reversed(list(items)):
        made = (CONS, item, made)
    return made


def unquoted(token: str) -> str:
    """The atom that a quoted token stands for."""
    body = token[1:-1]
    return body if _STRIPPED.fullmatch(body) else token


def is_bare(text: str) -> bool:
    """Whether the text is an atom as it stands, without quotes."""
    return _BARE.fullmatch(text) is not None


def escaped(text: str, quote: str) -> str:
    """The text as it stands between quotes: the quote, the backslash and what ends a line are escaped."""
    return _TO_ESCAPE[quote].sub(lambda found: _WRITTEN.get(found[0]) or "\\" + found[0], text)


def unescaped(body: str, quote: str) -> str | None:
    """The text whose :func:`escaped` form is ``body``, or ``None`` where there is none, as for ``\\x41``."""
    if "\\" not in body:
        return body
    text = _ESCAPE.sub(lambda found: quote if found[1] == quote else _READ.get(found[1], found[0]), body)
    return text if escaped(text, quote) == body else None


def is_closed_string(body: str) -> bool:
    """Whether the text may stand between the quotes of a string as it is."""
    return _STRING.fullmatch(body) is not None


def text_of(atom: str) -> str:
    """The text that other doors see for an atom; :func:`atom_of` is its inverse, and together they are a bijection.

    Quotes and escapes are taken off, ``'B 1'`` is ``B 1``, unless the result would be another atom's: ``'{}'`` keeps its quotes
    because ``{}`` is another atom, and so does what holds escapes that nothing is written as, ``'\\x41'``.
    """
    return atom if not atom.startswith("'") or _keeps_quotes(atom) else unescaped(atom[1:-1], "'") or ""


def atom_of(text: str) -> str:
    """The atom whose text this is: any text has exactly one."""
    if is_bare(text) or _keeps_quotes(text):
        return text
    return "'" + escaped(text, "'") + "'"


def as_atom(text: str) -> str:
    """The atom that a text stands for in a program: itself where it is one, in its quotes or without, else its quoted form."""
    if is_bare(text):
        return text
    return unquoted(text) if _QUOTED.fullmatch(text) else "'" + escaped(text, "'") + "'"


def _keeps_quotes(text: str) -> bool:
    # Recursion is as deep as quotes are nested in quotes, and each level at least doubles the backslashes: its logarithm.
    quoted = _QUOTED.fullmatch(text)
    if quoted is None or _STRIPPED.fullmatch(quoted[1]):
        return False
    plain = unescaped(quoted[1], "'")
    return plain is None or is_bare(plain) or _keeps_quotes(plain)
