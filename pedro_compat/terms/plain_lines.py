"""Lines that are plain, as most are: a compound of bare atoms, numbers and simple strings, of lists and compounds of those, or a
message between registered clients that holds such a thing.

They are recognised by one pattern and read in one pass, into the term and its tuple at once, with exactly the result that the
parser has (:mod:`.syntax`, :mod:`.tuples`); whatever is not plain is left to it.
"""

from __future__ import annotations

import re

from gsg.tuples.terms import Compound as GsgCompound
from gsg.tuples.terms import List, Symbol, Tuple
from gsg.tuples.terms import Term as GsgTerm
from gsg.tuples.terms import term as gsg_term

from .terms import NAME, Compound, Term, make_list

REMEMBERED = 8_192
"""Atoms, and as many lists and compounds, whose term is remembered, as they stand in lines; at the limit all are forgotten."""
REMEMBERED_CHARACTERS = 64
"""Longest of them."""

# Possessive or atomic throughout: a line that is not plain is given up in one pass. A possessive quantifier of a group goes on
# from where the group failed before Python 3.11.5 (gh-106052), an atomic group does not. No comma stands inside of what is plain.
_PLAIN = rf"""(?:{NAME}+(?!\()|-?[0-9]{{1,18}}+(?>(?:\.[0-9]{{1,18}}+)?)|"[^"\\,()\[\]]*+")"""
_ITEM = rf"[ \t]*+{_PLAIN}[ \t]*+"
_ITEMS = rf"{_ITEM}(?>(?:,{_ITEM})*)"
_NESTED = rf"{NAME}+\({_ITEMS}\)|\[{_ITEMS}\]"
# What most arguments are is tried first.
_ARGUMENT = rf"[ \t]*+(?:{_PLAIN}|{_NESTED})[ \t]*+"
_ARGUMENTS = rf"{_ARGUMENT}(?>(?:,{_ARGUMENT})*)"
_COMPOUND = re.compile(rf"[ \t]*+({NAME}+)\(({_ARGUMENTS})\)[ \t]*+")
_EACH = re.compile(rf"{_NESTED}|{_PLAIN}")

_ADDRESS = rf"(?>(?:{NAME}+:)?){NAME}+@(?:{NAME}+|'[^'\\,()]*+')"
_MESSAGE = re.compile(
    rf"[ \t]*+(p2pmsg\([ \t]*+(?:{_ADDRESS}|_)[ \t]*+,[ \t]*+{_ADDRESS}[ \t]*+,)"
    rf"[ \t]*+(?:{NAME}+\({_ARGUMENTS}\)|{_PLAIN})[ \t]*+\)[ \t]*+"
)

_atoms: dict[str, tuple[str, Symbol]] = {}
_nested: dict[str, tuple[Term, GsgTerm]] = {}


def compound(line: str) -> tuple[Compound, Tuple] | None:
    """The term and the tuple of a line that is a plain compound, else None."""
    found = _COMPOUND.fullmatch(line)
    if found is None:
        return None
    functor, arguments = found.groups()
    atom = _atoms.get(functor) or _atom(functor)
    terms: list[Term] = [atom[0]]
    items: list[GsgTerm] = [atom[1]]
    _read(_EACH.findall(arguments) if "(" in arguments or "[" in arguments else arguments.split(","), terms, items)
    return tuple(terms), tuple(items)


def _read(arguments: list[str], terms: list[Term], items: list[GsgTerm]) -> None:
    """Append what the arguments are."""
    atoms = _atoms
    known: tuple[Term, GsgTerm] | None
    for argument in arguments:
        known = atoms.get(argument)
        if known is None:
            text = argument.strip(" \t")
            first = text[0]
            if first >= "a" and text[-1] != ")":
                known = _atom(argument)
            elif first == '"':
                terms.append(text[1:-1].encode())
                items.append(text[1:-1])
                continue
            elif first == "[" or first >= "a":
                known = _nested.get(text) or _nest(text)
            elif "." in text:
                number = float(text)
                terms.append(number)
                items.append(gsg_term(number))
                continue
            else:
                whole = int(text)
                terms.append(whole)
                items.append(whole)
                continue
        terms.append(known[0])
        items.append(known[1])


def _nest(text: str) -> tuple[Term, GsgTerm]:
    """A list or a compound inside of a line; a short one is remembered, because agents say the same ones again and again."""
    terms: list[Term] = []
    items: list[GsgTerm] = []
    made: tuple[Term, GsgTerm]
    if text[0] == "[":
        _read(text[1:-1].split(","), terms, items)
        made = make_list(terms), List(tuple(items))
    else:
        functor, _, inside = text[:-1].partition("(")
        atom = _atoms.get(functor) or _atom(functor)
        terms.append(atom[0])
        items.append(atom[1])
        _read(inside.split(","), terms, items)
        made = tuple(terms), GsgCompound(tuple(items))
    if len(text) <= REMEMBERED_CHARACTERS:
        if len(_nested) >= REMEMBERED:
            _nested.clear()
        _nested[text] = made
    return made


def message_addresses(line: str) -> str | None:
    """The beginning of a message between registered clients, up to what is said, where that is plain; else None."""
    found = _MESSAGE.fullmatch(line)
    return None if found is None else found[1]


def _atom(argument: str) -> tuple[str, Symbol]:
    name = argument.strip(" \t")
    known = (name, Symbol(name))
    if len(argument) <= REMEMBERED_CHARACTERS:
        if len(_atoms) >= REMEMBERED:
            _atoms.clear()
        _atoms[argument] = known
    return known
