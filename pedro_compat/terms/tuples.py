"""Between Pedro's terms and the tuples of the tuple space: one thing seen through two doors.

    f(a, b)                 (f, a, b)           a compound is the tuple of its functor and arguments
    alarm                   (alarm,)            an atom the tuple of itself
    [1,2|T]                 (List,)             a list, or a compound of 255 arguments or more, the tuple of itself
    g(x), inside            Compound, List, Variable, Symbol, str, int; a float is its xsd:double, as everywhere in the space

What Pedro has no syntax for is a compound whose functor it will not meet by chance:

    '$iri'("http://x")   '$blank'("b1")   '$literal'("1","http://t")   '$language'("chat","fr")
    '$tuple'(1,2)           a tuple that does not begin with a symbol, or that would read as something else in plain form

The two directions are each other's inverse. A string's text has its escapes taken off where exactly one string is written so; one
that holds others, such as ``"a\\x41"``, is a literal of the type PEDRO_STRING. What is nested deeper than MAX_DEPTH is a literal
of the type PEDRO_TERM. Quoted atoms: :func:`pedro_compat.terms.terms.text_of`.
"""

from __future__ import annotations

import logging
import math

from gsg.errors import BadTerm
from gsg.tuples.terms import (
    INT_MAX,
    INT_MIN,
    IRI,
    MAX_ARITY,
    BlankNode,
    List,
    Literal,
    Symbol,
    Tuple,
    Variable,
    is_label,
    literal,
    python_value,
)
from gsg.tuples.terms import Compound as GsgCompound
from gsg.tuples.terms import Term as GsgTerm
from gsg.tuples.terms import term as gsg_term

from ..errors import BadLine
from .syntax import MAX_INTEGER_DIGITS, parse
from .terms import CONS, NIL, Frozen, Term, Var, atom_of, escaped, is_closed_string, is_cons, make_list, text_of, unescaped
from .writing import Names, write

log = logging.getLogger(__name__)

MAX_DEPTH = 64
"""Deepest nesting of compounds in a tuple: the space hashes and encodes recursively. What is deeper is written as one literal."""

MAX_FOREIGN_DEPTH = 200
"""Deepest nesting that is taken from other doors. Beyond: BadTerm."""

PEDRO_STRING = "urn:gsg:pedro-string"
"""The datatype of a string of Pedro whose escapes stand for themselves, by its text between the quotes."""

PEDRO_TERM = "urn:gsg:pedro-term"
"""The datatype of a term that is nested too deeply for the space, by its line."""

_TUPLE = Symbol("$tuple")
_MINUS = Symbol("-")
_CONS = Symbol(CONS)


def to_tuple(term: Term) -> Tuple:
    """The tuple for a notification, or for any other term."""
    flat = _flat(term)
    if flat is not None:
        return flat
    whole = _to_gsg(term, Names(), 0)
    if type(whole) is GsgCompound and not _stands_single(whole):
        return whole.items
    return (whole,)


def from_tuple(items: Tuple, *, frozen: bool = False) -> Term:
    """The term for a tuple from any door; ``frozen`` as in :func:`parse`.

    Raises BadTerm beyond MAX_FOREIGN_DEPTH, and for what holds nothing: our doors refuse it, a peer that is not ours may say it.
    """
    variables: dict[str, Var | Frozen] = {}
    make = Frozen if frozen else Var
    if len(items) == 1 and _stands_single(items[0]):
        return _from_gsg(items[0], variables, make, 0)
    return _from_gsg(GsgCompound(items), variables, make, 0)


def line_of_tuple(items: Tuple) -> str | None:
    """The line for what was said at another door; None, which the log tells, where it has no form in Pedro."""
    try:
        return write(from_tuple(items))
    except BadTerm as error:
        log.debug("an event from another door has no form in Pedro: %s", error)
        return None


def _flat(term: Term) -> Tuple | None:
    # Nearly every notification: bare atoms, numbers and strings without escapes. Special functors begin with a quote.
    if type(term) is not tuple or len(term) > MAX_ARITY or is_cons(term):
        return None
    items: list[GsgTerm] = []
    for item in term:
        if type(item) is str and item[0] != "'":
            items.append(Symbol(item))
        elif type(item) is int and INT_MIN <= item <= INT_MAX:
            items.append(item)
        elif type(item) is float:
            items.append(gsg_term(item))
        elif type(item) is bytes and b"\\" not in item:
            items.append(item.decode(errors="replace"))
        else:
            return None
    return tuple(items)


def _stands_single(value: GsgTerm) -> bool:
    """Whether ``(value,)`` is the tuple of a term that reads as ``value`` itself, else of ``'$tuple'(...)``."""
    if type(value) is GsgCompound:
        if len(value.items) == 1:
            return _stands_single(value.items[0])
        return len(value.items) > MAX_ARITY
    return type(value) is not Variable and type(value) is not str and type(value) is not int and not _is_simple(value)


def _is_simple(value: GsgTerm) -> bool:
    """Whether a literal is a number or a string in Pedro."""
    return type(value) is Literal and simple_value(value) is not None


def simple_value(value: Literal) -> int | float | bytes | None:
    """The number or string of Pedro that a literal is; None for any other."""
    if value.datatype == PEDRO_STRING and is_closed_string(value.lexical) and unescaped(value.lexical, '"') is None:
        return value.lexical.encode()
    plain = python_value(value)
    if type(plain) is float:
        return None if math.isnan(plain) else plain
    return plain if type(plain) is int and len(value.lexical) <= MAX_INTEGER_DIGITS else None


def _to_gsg(term: Term, names: Names, depth: int) -> GsgTerm:
    if type(term) is str:
        return Symbol(text_of(term))
    if type(term) is bytes:
        body = term.decode(errors="replace")
        text = unescaped(body, '"')
        return Literal(body, PEDRO_STRING) if text is None else text
    if type(term) is Var or type(term) is Frozen:
        return Variable(names.name_of(term))
    if type(term) is not tuple:
        return gsg_term(term)
    if depth > MAX_DEPTH:
        return Literal(write(term, names), PEDRO_TERM)
    if not is_cons(term):
        items = tuple([_to_gsg(item, names, depth + 1) for item in term])
        return _special(items) or GsgCompound(items)
    members: list[GsgTerm] = []
    rest: Term = term
    while type(rest) is tuple and is_cons(rest):
        members.append(_to_gsg(rest[1], names, depth + 1))
        rest = rest[2]
    return List(tuple(members), None if type(rest) is str and rest == NIL else _to_gsg(rest, names, depth + 1))


def _special(items: Tuple) -> GsgTerm | None:
    """What a compound stands for that is not itself."""
    functor = items[0]
    assert type(functor) is Symbol
    if not functor.name.startswith("$"):
        return None
    if functor == _TUPLE:
        return GsgCompound(items[1:]) if _needs_tuple(items[1:]) else None
    texts = [item for item in items[1:] if type(item) is str]
    if len(texts) < len(items) - 1:
        return None
    match functor.name, texts:
        case "$iri", [text]:
            return IRI(text)
        case "$blank", [text] if is_label(text):
            return BlankNode(text)
        case "$language", [text, language] if language:
            return Literal(text, "", language)
        case "$literal", [text, datatype]:
            made = literal(text, datatype)
            return made if type(made) is Literal and not _is_simple(made) else None
    return None


def _needs_tuple(items: Tuple) -> bool:
    """Whether a compound has no plain form, or one that reads as something else."""
    start = 0
    # A loop over '$tuple'('$tuple',...): each is read by what is left of it.
    while len(items) - start > 1 and items[start] == _TUPLE:
        start += 1
    items = items[start:]
    functor = items[0]
    if len(items) == 1 or type(functor) is not Symbol or (functor == _CONS and len(items) == 3):
        return True
    if functor == _MINUS and len(items) == 2:
        value = items[1]
        return type(value) is int or (type(value) is Literal and type(simple_value(value)) in (int, float))
    return _special(items) is not None


def _from_gsg(value: GsgTerm, variables: dict[str, Var | Frozen], make: type[Var] | type[Frozen], depth: int) -> Term:
    if depth > MAX_FOREIGN_DEPTH:
        raise BadTerm(f"a term nested deeper than {MAX_FOREIGN_DEPTH} levels; nest it less")
    if type(value) is Symbol:
        return atom_of(value.name)
    if type(value) is str:
        return escaped(value, '"').encode(errors="replace")
    if type(value) is int:
        return value
    if type(value) is Variable:
        found = variables.get(value.name)
        if found is None:
            found = variables[value.name] = make(value.name)
        return found
    if type(value) is GsgCompound:
        if not value.items:
            raise BadTerm("a compound without items; expected at least one")
        items = [_from_gsg(item, variables, make, depth + 1) for item in value.items]
        return (atom_of(_TUPLE.name), *items) if _needs_tuple(value.items) else tuple(items)
    if type(value) is List:
        tail = NIL if value.tail is None else _from_gsg(value.tail, variables, make, depth + 1)
        return make_list([_from_gsg(item, variables, make, depth + 1) for item in value.items], tail)
    if type(value) is Literal:
        return _from_literal(value, variables, make, depth)
    name, text = ("$iri", value.value) if type(value) is IRI else ("$blank", str(value))
    return (atom_of(name), escaped(text, '"').encode(errors="replace"))


def _from_literal(value: Literal, variables: dict[str, Var | Frozen], make: type[Var] | type[Frozen], depth: int) -> Term:
    plain = literal(value.lexical, value.datatype, value.language)
    if type(plain) is not Literal:
        return _from_gsg(plain, variables, make, 0)
    simple = simple_value(plain)
    if simple is not None:
        return simple
    # Where nothing is nested too deeply it is a literal like any other: what matches a tuple can be told from its terms.
    if plain.datatype == PEDRO_TERM and depth > MAX_DEPTH:
        try:
            return parse(plain.lexical, variables=variables, frozen=make is Frozen)
        except BadLine:
            pass  # made by hand: a literal like any other
    name, second = ("$language", plain.language) if plain.language else ("$literal", plain.datatype)
    return (atom_of(name), *(escaped(text, '"').encode(errors="replace") for text in (plain.lexical, second)))
