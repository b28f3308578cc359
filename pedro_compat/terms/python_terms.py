"""From what a Python program says to a Pedro term.

    str       the atom of this text, quoted where it has to be: ``"hall"``, ``"a,b"``, ``"X"``, ``"it's"``
    bytes     the string of this UTF-8, its quotes escaped where they have to be
    int       an integer; bool is none
    float     a number; NaN is none
    tuple     a compound: the functor, which is a str, and at least one argument
    list      a list
    Var       a variable, the same one wherever the same object stands

Terms that were heard are such values too and become themselves again: an atom that stands in its quotes already, ``"'a b'"``, and
a string that may stand between quotes as it is, ``b'\\\\n'``, are taken so. Anything else is no term, and refused by name. No value
can leave its place: what is inside a tuple or a list is one argument or item of it, whatever it holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from gsg.errors import BadTerm

from .syntax import MAX_INTEGER_DIGITS
from .terms import Frozen, Term, Var, as_atom, escaped, is_closed_string, make_list

Said: TypeAlias = "str | bytes | int | float | Var | Frozen | tuple[Said, ...] | list[Said]"
"""What is said: a value; but a ``str`` by itself is a text in Pedro's syntax."""

MAX_PARTS = 1_000_000
"""Parts of one value; a list that holds itself has no end. No door takes as many (--pedro-size is at most 1 MiB)."""
MAX_INTEGER = 10**MAX_INTEGER_DIGITS - 1

EXPECTED = "expected a str, bytes, an int, a float, a tuple, a list or a Var"


class _Made(NamedTuple):
    """The last ``parts`` terms are those of one."""

    parts: int
    is_list: bool


def term_of(value: Said) -> Term:
    """The term that a value stands for. Raises BadTerm for what stands for none."""
    # Its own stack: values may nest as deeply as lines do.
    pending: list[object] = [value]
    done: list[Term] = []
    left = MAX_PARTS
    while pending:
        part = pending.pop()
        if type(part) is _Made:
            parts = done[len(done) - part.parts :]
            del done[len(done) - part.parts :]
            done.append(make_list(parts) if part.is_list else tuple(parts))
            continue
        left -= 1
        while isinstance(part, Var) and part.ref is not None:
            part = part.ref
        if isinstance(part, tuple | list):
            left -= len(part)
            if left < 0:
                raise BadTerm(f"a term of more than {MAX_PARTS} parts, or one that holds itself; say it in several")
            if isinstance(part, tuple):
                _check_compound(part)
            pending.append(_Made(len(part), isinstance(part, list)))
            pending.extend(reversed(part))
        else:
            done.append(_plain(part))
    return done[0]


def _check_compound(value: tuple[object, ...]) -> None:
    if not value or not isinstance(value[0], str):
        raise BadTerm(f"{value!r:.80} is no compound; expected its functor first, a str: ('temp', 'hall', 19)")
    if len(value) == 1:
        raise BadTerm(f"{value!r:.80} is no compound: it has no argument; the atom is {value[0]!r:.80} alone")
    if value[0] == "-" and len(value) == 2 and isinstance(value[1], int | float):
        raise BadTerm(f"{value!r:.80} is no compound: Pedro reads the negative number; write that")


def _plain(value: object) -> Term:
    if isinstance(value, str):
        return as_atom(str(value))
    if isinstance(value, bytes):
        return _string(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            raise BadTerm(f"an integer of {value.bit_length()} bits; expected one of at most {MAX_INTEGER_DIGITS} digits")
        return int(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise BadTerm("nan is no term: Pedro has no literal for it; expected a number")
        return float(value)
    if isinstance(value, Var | Frozen):
        return value
    raise BadTerm(f"{value!r:.80}, a {type(value).__name__}, is no Pedro term; {EXPECTED}")


def _string(value: bytes) -> bytes:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise BadTerm(f"{value!r:.80} is no string: byte {error.start} is no UTF-8; expected text, encoded") from None
    return value if is_closed_string(text) else escaped(text, '"').encode()
