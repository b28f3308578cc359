"""Terms and tuples: what a fact and an event are made of.

A term is one immutable, hashable object whose Python equality is the identity of the term, so that terms can be keys
of any dict without an interning table: ``1``, ``"1"`` and ``1.0`` are three terms. To keep that true, the kinds that Python
confuses are stored in another form: a float is the ``xsd:double`` literal that it prints as, an integer beyond 64 bits the
``xsd:integer`` literal, a bool the ``xsd:boolean`` literal. :func:`term` goes in, :func:`python_value` comes out.

The kinds: symbol (a Pedro atom), IRI, blank node, string, number, typed or language-tagged literal; and the
nested terms that only Pedro's syntax writes: compound, list and variable. A tuple is a Python tuple of terms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import astuple

from ..errors import BadTerm
from .datatypes import XSD as XSD  # these are imported from here by those who import terms
from .datatypes import XSD_BOOLEAN as XSD_BOOLEAN
from .datatypes import XSD_DOUBLE as XSD_DOUBLE
from .datatypes import XSD_INTEGER as XSD_INTEGER
from .datatypes import XSD_STRING as XSD_STRING
from .escaping import SPEAKING, escape

if TYPE_CHECKING:
    from .python_values import PythonValue

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""Integers in this range travel as integers; others as their ``xsd:integer`` literal (msgpack has 64 bits)."""


class Symbol(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False, cache_hash=True):
    """A bare name such as ``B1``, ``red`` or ``left-of``; the same thing as a Pedro atom."""

    name: str

    def __str__(self) -> str:
        return self.name

    def n3(self) -> str:
        """As GSG script writes it: bare where the grammar allows, else in single quotes."""
        return self.name if _BARE.fullmatch(self.name) else "'" + _escape(self.name, "'") + "'"


class IRI(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False, cache_hash=True):
    """An internationalised resource identifier (RFC 3987), without its angle brackets."""

    value: str

    def __str__(self) -> str:
        return self.value

    def n3(self) -> str:
        """As N-Triples writes it."""
        return "<" + _IRI_ESCAPED.sub(_escaped, self.value) + ">"


class BlankNode(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False, cache_hash=True):
    """A node without a name of its own; the label is kept as given."""

    label: str

    def __str__(self) -> str:
        return self.label

    def n3(self) -> str:
        """As N-Triples writes it. Of a label that is none, as other programs may say it, what no label has is escaped."""
        return "_:" + (self.label if is_label(self.label) else _NO_LABEL.sub(_escaped, self.label))


class Literal(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False, cache_hash=True):
    """An RDF literal with a datatype or a language (RDF 1.1 Concepts, section 3.3); the lexical form is kept.

    As a term, ``Literal("abc")`` is the string ``"abc"`` and ``Literal("5", XSD_INTEGER)`` the integer 5: see :func:`literal`.
    """

    lexical: str
    datatype: str = ""
    language: str = ""

    def __str__(self) -> str:
        return self.lexical

    def n3(self) -> str:
        """As N-Triples writes it."""
        quoted = '"' + _escape(self.lexical, '"') + '"'
        if self.language:
            return f"{quoted}@{_NO_NAME.sub(_escaped, self.language)}"
        return f"{quoted}^^{IRI(self.datatype).n3()}" if self.datatype else quoted

    def to_python(self) -> PythonValue | Literal:
        """The value that it denotes, of the type that its datatype has in Python: str, bool, int, float, Decimal, bytes, datetime,
        date, time or timedelta (docs/python.md has the table). Itself, where it has a language, or a datatype without one.

        Raises BadTerm for what is no value of its datatype, and for one that Python's type does not hold, as a year beyond 9999.
        """
        from .python_values import READABLE, value_of

        datatype = self.datatype or XSD_STRING
        return self if self.language or datatype not in READABLE else value_of(self.lexical, datatype)


class Variable(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False, cache_hash=True):
    """``?x`` in a condition. In an event that came through Pedro's door, a variable of that notification."""

    name: str

    def __str__(self) -> str:
        return self.name

    def n3(self) -> str:
        """As GSG script writes it; characters that no name has are escaped."""
        return "?" + (self.name if _NAME.fullmatch(self.name) else _NO_NAME.sub(_escaped, self.name))


class Compound(msgspec.Struct, frozen=True, array_like=True, tag=6, gc=False, cache_hash=True):
    """A term inside a tuple that is itself a tuple: Pedro's ``lot(123)`` is ``Compound((Symbol("lot"), 123))``."""

    items: tuple[Term, ...]

    def __str__(self) -> str:
        return self.n3()

    def n3(self) -> str:
        """As Pedro writes it in canonical form, with the other kinds as GSG script writes them."""
        functor, *arguments = self.items
        return f"{n3(functor)}({', '.join(map(n3, arguments))})"


class List(msgspec.Struct, frozen=True, array_like=True, tag=7, gc=False, cache_hash=True):
    """A Pedro list of at least one item; ``tail`` is ``None`` for a proper list, else the term after the bar."""

    items: tuple[Term, ...]
    tail: Term | None = None

    def __str__(self) -> str:
        return self.n3()

    def n3(self) -> str:
        """As Pedro writes it."""
        rest = "" if self.tail is None else "|" + n3(self.tail)
        return "[" + ", ".join(map(n3, self.items)) + rest + "]"


Term: TypeAlias = str | int | Symbol | IRI | BlankNode | Literal | Variable | Compound | List
Tuple: TypeAlias = tuple[Term, ...]

MAX_ARITY = 255
"""Longest tuple: positions travel as one byte."""
MAX_NESTING = 200
"""Terms inside each other: they are hashed, encoded and shown recursively."""

_BARE = re.compile(r"[^\W\d][\w]*(?:-\w+)*")
_IRI_ESCAPED = re.compile(rf'[ <>"{{}}|^`\\{SPEAKING}]')
# RDF 1.1 N-Triples, PN_CHARS_BASE and PN_CHARS, and what Python takes for letters and digits besides, as the script's grammar does.
_FIRST = (
    r"\w:\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LATER = rf"{_FIRST}\-\u00b7\u0300-\u036f\u203f\u2040"
_LABEL = re.compile(rf"(?!.*[{SPEAKING}])[{_FIRST}](?:[{_LATER}.]*[{_LATER}])?")
_NO_LABEL = re.compile(rf"[^{_LATER}.]|[{SPEAKING}]")
_NAME = re.compile(r"\w+(?:-\w+)*")
_NO_NAME = re.compile(r"[^\w-]")
_TEXT_ESCAPED = {quote: re.compile(rf"[\\{quote}{SPEAKING}]") for quote in "\"'"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'"}
LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
"""RDF 1.1 Turtle, LANGTAG: without the lengths of BCP 47, as real data has tags such as zh-classical."""
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def _escape(text: str, quote: str) -> str:
    return _TEXT_ESCAPED[quote].sub(_quoted, text)


def _quoted(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or escape(found[0])


def _escaped(found: re.Match[str]) -> str:
    return escape(found[0])


def is_label(text: str) -> bool:
    """Whether a blank node may have this label."""
    return _LABEL.fullmatch(text) is not None


def literal(lexical: str, datatype: str = "", language: str = "") -> Term:
    """The term for an RDF literal: a ``str`` or ``int`` where one has exactly this lexical form, else a :class:`Literal`."""
    if language:
        # RDF 1.1 Concepts, section 3.3: the value space of language tags is in lower case.
        return Literal(lexical, "", language.lower())
    if datatype in ("", XSD_STRING):
        return lexical
    # The length bound keeps int() away from texts of megabytes; 20 characters hold every 64-bit integer.
    if datatype == XSD_INTEGER and len(lexical) <= 20 and _CANONICAL_INTEGER.fullmatch(lexical):
        number = int(lexical)
        if INT_MIN <= number <= INT_MAX:
            return number
    return Literal(lexical, datatype)


def _from_int(value: int) -> Term:
    if INT_MIN <= value <= INT_MAX:
        return value
    try:
        return Literal(str(value), XSD_INTEGER)
    except ValueError as error:
        # Python bounds the conversion of very large integers to text (sys.set_int_max_str_digits).
        raise BadTerm(f"an integer of {value.bit_length()} bits is too large for a term: {error}") from None


def _from_float(value: float) -> Term:
    if math.isnan(value):
        return Literal("NaN", XSD_DOUBLE)
    if math.isinf(value):
        return Literal("INF" if value > 0 else "-INF", XSD_DOUBLE)
    return Literal(repr(value), XSD_DOUBLE)


def _from_literal(value: Literal) -> Term:
    if any(type(part) is not str for part in astuple(value)):
        raise BadTerm(f"{value!r} is no literal; expected its lexical form, datatype and language as str")
    if value.datatype and value.language:
        raise BadTerm(f"{value!r} has a datatype and a language; expected one of them (RDF 1.1 Concepts, section 3.3)")
    if value.language and not LANGUAGE.fullmatch(value.language):
        raise BadTerm(f"{value.language!r} is no language tag; expected one such as en or pt-BR")
    return literal(value.lexical, value.datatype, value.language)


def _nested_items(value: Compound | List) -> Tuple:
    # A message of another program can hold one without items; neither Pedro nor a script can write it.
    if not value.items:
        raise BadTerm(f"a {type(value).__name__} without items is no term; expected at least one")
    return tuple(map(term, value.items))


def _same(value: Any) -> Any:  # Any: the identity on whichever kind of term it is registered for
    return value


def _named(value: Any) -> Any:  # Any: as above
    # A struct takes whatever it is given; on the wire, and in n3(), only text will do.
    if type(astuple(value)[0]) is not str:
        raise BadTerm(f"{value!r} is no term; expected {type(value).__name__} of a str")
    return value


def _labelled(value: Any) -> Any:  # Any: as above
    if not is_label(_named(value).label):
        raise BadTerm(
            f"{value.label!r:.80} is no label of a blank node; expected letters and digits, with dots and hyphens between them, "
            "such as b1"
        )
    return value


_FROM_PYTHON: dict[type, Callable[[Any], Term]] = {  # Any: each function takes the type that it is registered under
    str: _same,
    int: _from_int,
    float: _from_float,
    bool: lambda value: Literal("true" if value else "false", XSD_BOOLEAN),
    Symbol: _named,
    IRI: _named,
    BlankNode: _labelled,
    Literal: _from_literal,
    Variable: _named,
    Compound: lambda value: Compound(_nested_items(value)),
    List: lambda value: List(_nested_items(value), None if value.tail is None else term(value.tail)),
}
_INSTEAD = {
    "fractions": "XML Schema has no fractions: give a Decimal or a float",
    "numpy": "a number of numpy becomes one of Python by .item()",
    "pandas": "what pandas has becomes Python's by .to_pydatetime() or .to_pytimedelta()",
}
"""What to do with a value of another package that is no term."""


def _from_value(value: object) -> Term | None:
    # Imported by those who say such values: dates and decimals take a third of the time that this module takes.
    from .python_values import VALUE_TYPES, lexical_form

    return Literal(*lexical_form(value)) if type(value) in VALUE_TYPES else None


def _from_rdflib(value: Any) -> Term | None:  # Any: rdflib is imported only by those who use it
    if type(value).__module__.partition(".")[0] != "rdflib":
        return None
    kind = type(value).__name__
    if kind == "URIRef":
        return IRI(str(value))
    if kind == "BNode":
        return term(BlankNode(str(value)))
    if kind == "Literal":
        return literal(str(value), str(value.datatype or ""), value.language or "")
    if kind == "Variable":
        return Variable(str(value))
    return None


def term(value: object) -> Term:
    """The term for a Python value.

    Takes str, int, float, bool, Decimal, bytes, datetime, date, time, timedelta, the kinds of this module, and rdflib's URIRef,
    BNode, Literal and Variable. A value of Python becomes the literal of its datatype in canonical form, a float as it is printed.
    Raises BadTerm for anything else, for what its datatype has no form for, and for a compound or list without items.
    """
    convert = _FROM_PYTHON.get(type(value))
    if convert is not None:
        return convert(value)
    found = _from_value(value) or _from_rdflib(value)
    if found is None:
        instead = _INSTEAD.get(type(value).__module__.partition(".")[0])
        raise BadTerm(
            f"{value!r} of type {type(value).__name__} is no term; expected str, int, float, bool, Decimal, bytes, datetime, date, "
            "time, timedelta, gsg.Symbol, gsg.IRI, gsg.BlankNode, gsg.Literal or a term of rdflib"
            + (f"; {instead}" if instead else "")
        )
    return found


def python_value(value: Term) -> Term | float:
    """What a user sees for a stored term: the inverse of :func:`term` for floats and large integers, else the term itself."""
    if type(value) is Literal:
        if value.datatype == XSD_DOUBLE:
            number = _parse_double(value.lexical)
            return value if number is None or _from_float(number) != value else number
        if value.datatype == XSD_INTEGER and len(value.lexical) > 18 and _CANONICAL_INTEGER.fullmatch(value.lexical):
            return int(value.lexical) if len(value.lexical) <= 4300 else value
    return value


def _parse_double(lexical: str) -> float | None:
    try:
        return float(lexical)
    except ValueError:
        return None


def n3(value: Term | float) -> str:
    """A term as GSG script writes it; IRIs, blank nodes and literals are also N-Triples."""
    if type(value) is str:
        return '"' + _escape(value, '"') + '"'
    if type(value) is float or type(value) is bool:
        value = term(value)
    shown = python_value(value)  # type: ignore[arg-type]  # a float is a Literal by now
    # Infinity and NaN have no number syntax: Python's inf and nan would be read as symbols.
    if type(shown) is int or (type(shown) is float and math.isfinite(shown)):
        return repr(shown)
    return value.n3()  # type: ignore[union-attr]  # str, int and float are handled above


def fact(items: Iterable[object]) -> Tuple:
    """A tuple of constants from Python values.

    Raises BadTerm when an item is no term, holds a variable or is nested too deep, or the tuple is empty, longer than MAX_ARITY, or
    is a string (the usual slip of ``insert(("a", "b", "c"))`` for ``insert([("a", "b", "c")])``).
    """
    if type(items) is tuple and 0 < len(items) <= MAX_ARITY:
        # Nearly every tuple holds terms already, and stays as it is.
        for item in items:
            kind = type(item)
            if kind is str:
                continue
            if kind is IRI or kind is Symbol:
                if type(astuple(item)[0]) is not str:
                    _named(item)
            elif kind is int:
                if not INT_MIN <= item <= INT_MAX:
                    break
            elif kind is BlankNode:
                _labelled(item)
            else:
                break
        else:
            return items
    made = event(items)
    for item in made:
        if type(item) in _NESTED and not is_ground(item):
            raise BadTerm(f"{n3(item)} in {show(made)} is not a constant; a fact holds constants only")
    return made


def event(items: Iterable[object]) -> Tuple:
    """Like :func:`fact`, but variables may stand inside, as in a Pedro notification."""
    if isinstance(items, _NO_TUPLES) or not isinstance(items, Iterable):
        raise BadTerm(f"{items!r} is not a tuple; a single tuple is given as [(subject, predicate, object)]")
    try:
        made = tuple(map(term, items))
    except RecursionError:
        raise BadTerm(_TOO_DEEP) from None
    if not 0 < len(made) <= MAX_ARITY:
        raise BadTerm(f"a tuple of {len(made)} terms; expected 1 to {MAX_ARITY}")
    if not _NESTED.isdisjoint(map(type, made)) and max(map(nesting, made)) > MAX_NESTING:
        raise BadTerm(_TOO_DEEP)
    return made


_NO_TUPLES = (str, bytes, bytearray, Set, Mapping)
"""What can be iterated, and is a slip for a tuple."""
_NESTED = frozenset((Variable, Compound, List))
_TOO_DEEP = f"terms more than {MAX_NESTING} deep in each other; expected less"


def is_ground(value: Term) -> bool:
    """Whether no variable stands anywhere in the term."""
    # A stack, not recursion: nesting is the sender's choice.
    pending = [value]
    while pending:
        item = pending.pop()
        if type(item) is Variable:
            return False
        if type(item) is Compound:
            pending.extend(item.items)
        elif type(item) is List:
            pending.extend(item.items)
            if item.tail is not None:
                pending.append(item.tail)
    return True


def nesting(value: Term) -> int:
    """How many terms stand inside each other, the outermost included."""
    depth, level = 0, [value]
    while level:
        depth += 1
        inside: list[Term] = []
        for item in level:
            if type(item) is Compound or type(item) is List:
                inside.extend(item.items)
            if type(item) is List and item.tail is not None:
                inside.append(item.tail)
        level = inside
    return depth


def show(items: Tuple) -> str:
    """A tuple as GSG script writes it, such as ``(B1, on, B2)``."""
    return "(" + ", ".join(map(n3, items)) + ")"
