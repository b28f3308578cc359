"""Terms as JSON, in two forms: plain values, and those of SPARQL 1.1 Query Results JSON Format.

Plain: a string is a JSON string, an integer a number, true and false themselves, a double the number that it is. All else is an
object with one name that says its kind::

    {"symbol": "kitchen"}  {"iri": "http://..."}  {"blank": "b1"}  {"variable": "X"}
    {"compound": [...]}  {"list": [...], "tail": ...}
    {"value": "2026-01-31", "datatype": "http://www.w3.org/2001/XMLSchema#date"}  {"value": "Haus", "lang": "de"}

The rule that keeps it exact: a number is written as a JSON number only where every reader of JSON reads the same term from it. An
integer beyond 2**53 - 1 (RFC 8259, section 6) and a double without a fraction, which JavaScript writes as an integer, are objects
with their datatype. In a request, a number with a fraction or an exponent is a double, and any other one an integer of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from ...errors import BadTerm, LocalError
from ...languages.results import rdf_terms
from ...languages.results.json_format import json_term
from ...tuples.terms import (
    IRI,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    BlankNode,
    Compound,
    List,
    Literal,
    Symbol,
    Term,
    Variable,
)
from ..protocol import Said

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that readers who have doubles alone read exactly (RFC 8259, section 6; JavaScript has this name for it)."""


class TermForm(StrEnum):
    """How terms are written."""

    PLAIN = "plain"
    SPARQL = "sparql"


def form_of(name: str) -> TermForm:
    """The form of this name. Raises LocalError."""
    try:
        return TermForm(name)
    except ValueError:
        raise LocalError(f"terms={name!r}; expected {' or '.join(TermForm)}") from None


class TermObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A term that is no plain value: exactly one of iri, symbol, blank, value, variable, compound and list says which. With
    "type", it is a term of SPARQL's results in JSON."""

    iri: str | UnsetType = UNSET
    symbol: str | UnsetType = UNSET
    blank: str | UnsetType = UNSET
    value: str | UnsetType = UNSET
    """The lexical form of a literal."""
    datatype: str = ""
    lang: str = ""
    variable: str | UnsetType = UNSET
    compound: list[SaidInJson] | UnsetType = UNSET
    items: list[SaidInJson] | UnsetType = msgspec.field(default=UNSET, name="list")
    tail: SaidInJson | UnsetType = UNSET
    """Of a list: what stands after the bar."""
    type: str | UnsetType = UNSET
    language: Annotated[str, msgspec.Meta(description="as SPARQL names it")] = msgspec.field(default="", name="xml:lang")


SaidInJson: TypeAlias = str | int | float | bool | TermObject
"""A term as a client may say it in JSON."""


def said(value: SaidInJson) -> Said:
    """The term that JSON says, as the protocol takes it. Raises BadTerm."""
    return _of_object(value) if type(value) is TermObject else value  # type: ignore[return-value]  # it is none


_KINDS = ("iri", "symbol", "blank", "value", "variable", "compound", "items")
"""The fields that say which kind it is."""


def _of_object(found: TermObject) -> Term:
    kinds = [name for name in _KINDS if getattr(found, name) is not UNSET]
    if len(kinds) != 1:
        raise _no_term(found, "one of iri, symbol, blank, value, variable, compound and list")
    (kind,) = kinds
    if found.type is not UNSET:
        return _of_sparql(found)
    if (found.datatype or found.lang) and kind != "value":
        raise _no_term(found, "datatype and lang beside value alone")
    if found.tail is not UNSET and kind != "items":
        raise _no_term(found, "tail beside list alone")
    if found.language:
        raise _no_term(found, "lang, and xml:lang beside type alone")
    return _MADE[kind](found)


def _items(items: Any) -> tuple[Any, ...]:  # Any: those of an object that has them; terms once gsg.tuples.terms.term has seen them
    return tuple(map(said, items))


_MADE: Mapping[str, Callable[[Any], Term]] = {  # Any: an object that has the field
    "iri": lambda found: IRI(found.iri),
    "symbol": lambda found: Symbol(found.symbol),
    "blank": lambda found: BlankNode(found.blank),
    "value": lambda found: Literal(found.value, found.datatype, found.lang),
    "variable": lambda found: Variable(found.variable),
    "compound": lambda found: Compound(_items(found.compound)),
    "items": lambda found: List(_items(found.items), None if found.tail is UNSET else said(found.tail)),  # type: ignore[arg-type]  # as above
}


def _of_sparql(found: TermObject) -> Term:
    if found.value is UNSET or found.lang or (found.type != "literal" and (found.datatype or found.language)):
        raise _no_term(found, "type and value, and for a literal datatype or xml:lang")
    match found.type:
        case "uri":
            return IRI(found.value)
        case "bnode":
            return BlankNode(found.value)
        case "literal" | "typed-literal" if found.datatype == rdf_terms.SYMBOL:
            return Symbol(found.value)
        case "literal" | "typed-literal" if found.datatype == rdf_terms.TERM:
            raise _no_term(found, "a compound, list or variable in plain form, which is read again")
        case "literal" | "typed-literal":
            return Literal(found.value, found.datatype, found.language)
        case _:
            raise _no_term(found, "the type uri, bnode or literal")


def _no_term(found: TermObject, expected: str) -> BadTerm:
    return BadTerm(f"{msgspec.json.encode(found).decode():.200} is no term; expected {expected}")


# --- what the peer says -------------------------------------------------------------------------------------------------------


def plain(value: Term) -> Any:  # Any: what msgspec writes as SaidInJson
    """A term in plain form."""
    kind = type(value)
    if kind is str:
        return value
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _typed(str(value), XSD_INTEGER)  # type: ignore[operator]
    return _PLAIN[kind](value)


def _typed(lexical: str, datatype: str) -> dict[str, str]:
    return {"value": lexical, "datatype": datatype} if datatype else {"value": lexical}


def _plain_literal(value: Literal) -> object:
    if value.language:
        return {"value": value.lexical, "lang": value.language}
    if value.datatype == XSD_BOOLEAN and value.lexical in ("true", "false"):
        return value.lexical == "true"
    if value.datatype == XSD_DOUBLE and (number := _fraction(value.lexical)) is not None:
        return number
    return _typed(value.lexical, value.datatype)


def _fraction(lexical: str) -> float | None:
    """The number of a double, where it has a fraction and reads as the same text again."""
    # No double that Python writes has more characters; of a text of megabytes nobody asks for its number.
    if len(lexical) > 24:
        return None
    try:
        number = float(lexical)
    except ValueError:
        return None
    # Infinity and NaN have no whole part that they could be equal to, and no form in JSON.
    return number if repr(number) == lexical and number - number == 0 and not number.is_integer() else None


def _plain_list(value: List) -> object:
    items: dict[str, object] = {"list": [*map(plain, value.items)]}
    return items if value.tail is None else {**items, "tail": plain(value.tail)}


_PLAIN: Mapping[type, Callable[[Any], object]] = {  # Any: each takes the type that it is registered under
    Symbol: lambda value: {"symbol": value.name},
    IRI: lambda value: {"iri": value.value},
    BlankNode: lambda value: {"blank": value.label},
    Literal: _plain_literal,
    Variable: lambda value: {"variable": value.name},
    Compound: lambda value: {"compound": [*map(plain, value.items)]},
    List: _plain_list,
}


WRITERS: Mapping[TermForm, Callable[[Term], Any]] = {TermForm.PLAIN: plain, TermForm.SPARQL: json_term}  # Any: as above
