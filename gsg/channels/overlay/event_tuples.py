"""Events as tuples.

    (channel, FEATURE, SOURCE, NUMBER, BODY)     one for each feature that some channel asks for; BODY holds the event as encoded
    (event, SOURCE, NUMBER, [NAME = VALUE, ...]) the event as Pedro's clients and scripts see it
    (event, SOURCE, NUMBER, NAME, VALUE)         one field of it, for joins: (event, ?s, ?n, user, ?u), (?u, phone, ?p)
    (event, [NAME = VALUE, ...])                 what Pedro's clients and scripts say to channels: event([type = error])

Names are symbols; a text is a string, and a symbol is read as its text; a list is a list, an inner event a list of NAME = VALUE, a
reference an IRI; true and false are the literals that they are, null the symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ...errors import BadTerm, PeerMisbehaved
from ...tuples.features import Template
from ...tuples.terms import IRI, XSD_BOOLEAN, BlankNode, Compound, List, Literal, Symbol, Term, Tuple, Variable, python_value, term
from ..encoding import decode_event, encode_event
from ..events import Event, fields_of
from ..values import Reference, Value
from .features import SAID_ELSEWHERE

CHANNEL: Final = Symbol("channel")
EVENT: Final = Symbol("event")
FEATURE_PLACE: Final = 1
"""The position at which channels post what they ask for."""
_EQUALS = Symbol("=")
_EMPTY = Symbol("[]")
"""The list without items, as Pedro's door has it."""


def place_of(feature: Term) -> tuple[Template, int]:
    """The template that a channel posts under a feature, and the position of its anchor."""
    if feature == SAID_ELSEWHERE:
        return Template((EVENT, None)), 0
    return Template((CHANNEL, feature, None, None, None)), FEATURE_PLACE


def tuples_under(event: Event, features: Iterable[Term]) -> list[Tuple]:
    """An event under each of its features."""
    # Bytes are no term: each becomes the character of its number.
    body = encode_event(event).decode("latin-1")
    return [(CHANNEL, feature, event.source, event.number, body) for feature in features]


def tuples_for_others(event: Event) -> Iterator[Tuple]:
    """An event as other doors see it. Raises BadTerm where it nests too deeply for a tuple."""
    pairs = [(Symbol(name), _term(value)) for name, value in event.fields.items()]
    yield (EVENT, event.source, event.number, _list([Compound((_EQUALS, name, value)) for name, value in pairs]))
    for name, value in pairs:
        yield (EVENT, event.source, event.number, name, value)


def source_of(items: Tuple) -> tuple[str, int]:
    """The source and number under which an event comes; none for what other doors say. Raises PeerMisbehaved."""
    if len(items) == 2:
        return "", 0
    if len(items) != 5 or not isinstance(items[2], str) or not isinstance(items[3], int):
        raise PeerMisbehaved(f"a tuple of {len(items)} terms is no event; expected (channel, FEATURE, SOURCE, NUMBER, BODY)")
    return items[2], items[3]


def event_of(items: Tuple) -> Event:
    """The event of a tuple: one that other doors say has no source. Raises PeerMisbehaved, BadTerm."""
    if len(items) == 2 and items[0] == EVENT:
        return Event(fields_of(_fields(items[1])))
    named = source_of(items)
    try:
        body = str(items[4]).encode("latin-1")
    except UnicodeEncodeError:
        raise PeerMisbehaved("the body of an event has characters beyond 255; expected its bytes, each as a character") from None
    event = decode_event(body)
    if (event.source, event.number) != named:
        raise PeerMisbehaved("an event comes under another source or number than its own")
    return event


def _term(value: Value) -> Term:
    if isinstance(value, Reference):
        return IRI(value.address)
    if isinstance(value, dict):
        return _list([Compound((_EQUALS, Symbol(name), _term(each))) for name, each in value.items()])
    if isinstance(value, list):
        return _list([_term(each) for each in value])
    return Symbol("null") if value is None else term(value)


def _list(items: list[Term]) -> Term:
    return List(tuple(items)) if items else _EMPTY


def _fields(value: Term) -> dict[str, Value]:
    if value == _EMPTY:
        return {}
    if not isinstance(value, List) or value.tail is not None or not all(map(_is_pair, value.items)):
        raise BadTerm("an event that is no list of NAME = VALUE; expected one such as event([type = error, count = 3])")
    return _pairs(value.items)


def _is_pair(item: Term) -> bool:
    return (
        isinstance(item, Compound)
        and len(item.items) == 3
        and item.items[0] == _EQUALS
        and isinstance(item.items[1], (Symbol, str))
    )


def _pairs(items: Iterable[Term]) -> dict[str, Value]:
    return {str(pair.items[1]): _value(pair.items[2]) for pair in items if isinstance(pair, Compound)}


def _value(item: Term) -> Value:
    match item:
        case str() | int():
            return item
        case Symbol(name):
            return None if name == "null" else [] if item == _EMPTY else name
        case IRI(address):
            return Reference(address)
        case List(items, None):
            return _pairs(items) if all(map(_is_pair, items)) else [_value(each) for each in items]
        case Literal():
            if item.datatype == XSD_BOOLEAN and item.lexical in ("true", "false"):
                return item.lexical == "true"
            value = python_value(item)
            return value if isinstance(value, (int, float)) else item.lexical
        case Variable() | List():
            raise BadTerm("an event with a variable in it; expected constants")
        case BlankNode() | Compound():
            return item.n3()
