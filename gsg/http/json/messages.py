"""The object of each message of protocol.py: derived from it, field by field, so that the two cannot drift apart.

The name of a message is its class in lower case with underscores (``SubscribeTopic`` is ``{"type": "subscribe_topic"}``), but for
those of NAMED; a field is called as there, but for those of RENAMED. What arrays say by place alone has names here: FIELDS has such
fields, objects.py their parts, and the classes below such messages. A request may leave out what has a default; a field that there
is not is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Struct

import dht

from ...explain.explanations import HeldKey
from ...explain.tuple_route import TupleRoute
from ...tuples.long_constants import Hashed
from ...tuples.terms import Term, term
from ...wire import status_messages
from .. import protocol
from ..protocol import NUMBER, Reply, Request, Said
from .objects import (
    AskedKey,
    Change,
    ChannelEvent,
    CountedConstant,
    Holder,
    KeyInJson,
    RouteInJson,
    RouteKeyInJson,
    SilentPeer,
    TopicEvent,
    TopicSize,
)
from .terms import SaidInJson, plain, said

RENAMED: Final = {"request": "id", "text": "query"}
"""Fields of messages that have another name in objects."""
NAMED: Final[Mapping[type[Struct], str]] = {protocol.Dropped: "overrun", protocol.OutOfDate: "stale"}
"""Messages that are called by the kind of error that they tell of."""


def object_name(kind: type[Struct]) -> str:
    """What messages of a class have as their type."""
    return NAMED.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


# --- what is written by hand -----------------------------------------------------------------------------------------------------


class MembershipChange(Struct, frozen=True):
    """What the peer has noticed of another one."""

    time: str
    """When (RFC 3339, UTC), by its clock."""
    peer: str
    address: str
    what: str
    """came, suspected, back, or went."""
    why: str


class _Object(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag=lambda name: name.lower()):
    id: NUMBER


class Rows(_Object, frozen=True):
    """Differences of an answer, oldest first."""

    rows: list[Change]


class Events(_Object, frozen=True):
    """Events of a subscription of the peer's channel."""

    events: list[ChannelEvent]


class TopicEvents(_Object, frozen=True, tag="topic_events"):
    """Events of a topic."""

    events: list[TopicEvent]


class Topics(_Object, frozen=True):
    """Topics that the peer knows of."""

    topics: list[TopicSize]


class Report(_Object, frozen=True):
    """How the peers are, this one first: the fields of PeerStatus; ``share``, the fraction of all keys that each has; ``state``,
    alive, or suspected where it may be dead."""

    peers: list[dict[str, Any]]  # Any: numbers, texts, and the counts by name
    silent: list[SilentPeer]
    """Those that did not say."""
    membership: list[MembershipChange]
    """What this peer has noticed of the others of late, the oldest change first: a hundred at most."""
    suspected: list[str]
    """The ids of those that may be dead now: that is found out in some seconds."""


class AskWhy(_Object, frozen=True, tag="ask_why"):
    """Why does a row of a subscription hold, or with ``refused`` why does it not? Some of its names and their values will do."""

    subscription: int
    row: dict[str, SaidInJson]
    refused: bool = False


def _ask_why(found: AskWhy) -> protocol.AskWhy:
    return protocol.AskWhy(found.id, found.subscription, tuple(found.row), tuple(map(said, found.row.values())), found.refused)


def _events(told: protocol.Events) -> Events:
    return Events(
        id=told.request,
        events=[ChannelEvent(source, number, msgspec.Raw(text.encode())) for source, number, text in told.events],  # type: ignore[arg-type]  # it is JSON already
    )


def _topic_events(told: protocol.TopicEvents) -> TopicEvents:
    topics = told.topics or [""] * len(told.events)
    return TopicEvents(
        id=told.request,
        events=[
            TopicEvent(publisher.hex(), number, [*map(plain, values)], topic)
            for (publisher, number, values), topic in zip(told.events, topics, strict=True)
        ],
    )


def _topics(told: protocol.Topics) -> Topics:
    return Topics(id=told.request, topics=[TopicSize(topic, members) for topic, members in told.sizes])


def _report(told: protocol.Report) -> Report:
    return msgspec.convert({"type": "report", "id": told.request, **told.as_dict()}, Report)


def _silent(told: list[status_messages.SilentPeer]) -> list[SilentPeer]:
    return [SilentPeer(one.peer.hex(), one.address, one.why) for one in told]


# --- what is derived ----------------------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    """A field that arrays say by place: its type in objects, and how it is read or written."""

    type: Any  # Any: a type, or a union of some
    convert: Callable[[Any], Any]  # Any: from one representation to the other
    default: Any = None  # Any: of that type
    """Where it has one."""


def _derived(kind: type[Struct], name: str = "", *, omits_defaults: bool = False) -> type[Struct]:
    """The object form of a message, or with a ``name`` of what stands in one."""
    is_message = not name
    fields: list[tuple[str, Any, Any]] = []
    names: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):
        if field.name == "request" and not is_message:
            continue
        other = FIELDS.get((kind, field.name))
        if is_message:
            names[field.name] = RENAMED.get(field.name, field.name)
        default, factory = field.default, field.default_factory
        if other is not None and other.default is not None:
            default, factory = other.default, msgspec.NODEFAULT
        made = msgspec.field(default=default) if factory is msgspec.NODEFAULT else msgspec.field(default_factory=factory)
        fields.append((field.name, other.type if other else field.type, made))
    return msgspec.defstruct(
        name or kind.__name__,
        fields,
        rename=names,
        tag_field="type" if is_message else None,
        tag=object_name(kind) if is_message else None,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=omits_defaults,
        namespace={"__doc__": kind.__doc__},
        module=__name__,
    )


def _object_of(value: Struct, form: type[Struct]) -> Struct:
    """What stands in a message, as an object."""
    kind = type(value)
    made = {}
    for name in form.__struct_fields__:
        found = getattr(value, name)
        other = FIELDS.get((kind, name))
        made[name] = found if other is None else other.convert(found)
    return form(**made)


def _tuples(found: list[list[SaidInJson]]) -> list[tuple[Said, ...]]:
    return [tuple(map(said, items)) for items in found]


def _texts(found: list[str | dict[str, Any]]) -> list[str]:
    return [event if isinstance(event, str) else _text(event) for event in found]


def _text(found: object) -> str:
    return msgspec.json.encode(found).decode()


def _keys(found: list[AskedKey]) -> list[tuple[int, int, Term]]:
    return [(key.arity, key.position, term(said(key.constant))) for key in found]


def _held_keys(keys: list[HeldKey]) -> list[KeyInJson]:
    return [KeyInJson(key.facts, [_holder(contact) for contact in key.holders]) for key in keys]


def _pattern(found: list[SaidInJson | None]) -> tuple[Said | None, ...]:
    return tuple(None if item is None else said(item) for item in found)


def _route(route: TupleRoute) -> RouteInJson:
    return RouteInJson(
        [
            RouteKeyInJson(
                key.position,
                key.constant,
                key.key,
                [_holder(contact) for contact in key.holders],
                key.facts,
                key.templates,
                key.subscribers,
                key.is_partial,
                key.problem,
            )
            for key in route.keys
        ]
    )


def _counted(told: list[status_messages.ConstantCount]) -> list[CountedConstant]:
    return [
        CountedConstant(one.arity, one.position, None, one.facts, one.templates, str(one.constant))
        if isinstance(one.constant, Hashed)
        else CountedConstant(one.arity, one.position, plain(one.constant), one.facts, one.templates)
        for one in told
    ]


def _holder(contact: dht.Contact) -> Holder:
    return Holder(contact.id.hex(), contact.host, contact.port)


FIELDS: dict[tuple[type[Struct], str], _Field] = {}
"""Filled below, as some are of types that are derived."""
_LISTS = list[list[SaidInJson]]
for _kind in (protocol.Insert, protocol.Retract, protocol.Notify):
    FIELDS[_kind, "tuples"] = _Field(_LISTS, _tuples)
FIELDS[protocol.PublishTopic, "events"] = _Field(_LISTS, _tuples)
FIELDS[protocol.PublishEvents, "events"] = _Field(list[str | dict[str, Any]], _texts)
FIELDS[protocol.PublishEvents, "environment"] = _Field(dict[str, Any], _text, {})
FIELDS[protocol.AskKeys, "keys"] = _Field(list[AskedKey], _keys)
FIELDS[protocol.Keys, "keys"] = _Field(list[KeyInJson], _held_keys)

FIELDS[protocol.AskRoute, "pattern"] = _Field(list[SaidInJson | None], _pattern)
FIELDS[protocol.Route, "route"] = _Field(RouteInJson, _route)

Batch = _derived(protocol.Insert, "Batch")
"""What is published over HTTP: tuples, and who alone may read them."""
Problem = _derived(protocol.Failed, "Problem", omits_defaults=True)
"""What has gone wrong, as it stands in messages and in answers over HTTP: fields of which there is nothing to say are left out."""


def problem_object(failed: protocol.Failed) -> Struct:
    """The Problem of an error."""
    return _object_of(failed, Problem)


for _told in (protocol.Ended, protocol.Dropped, protocol.OutOfDate):
    FIELDS[_told, "why"] = _Field(Problem, problem_object)
_ChannelSubscription = _derived(protocol.ChannelSubscription, "ChannelSubscription")
FIELDS[protocol.ChannelReport, "counts"] = _Field(dict[str, int], dict)
FIELDS[protocol.ChannelReport, "subscriptions"] = _Field(
    list[_ChannelSubscription],  # type: ignore[valid-type]  # made as this module is loaded
    lambda those: [_object_of(one, _ChannelSubscription) for one in those],
)

_ArityCount = _derived(status_messages.ArityCount, "ArityCount")
FIELDS[protocol.Vocabulary, "constants"] = _Field(list[CountedConstant], _counted)
FIELDS[protocol.Vocabulary, "totals"] = _Field(
    list[_ArityCount],  # type: ignore[valid-type]  # made as this module is loaded
    lambda those: [_object_of(one, _ArityCount) for one in those],
)
FIELDS[protocol.Vocabulary, "silent"] = _Field(list[SilentPeer], _silent, [])
VocabularyDocument = _derived(protocol.Vocabulary, "VocabularyDocument")
"""What GET /vocabulary answers: the message without its number."""


def vocabulary_document(told: protocol.Vocabulary) -> Struct:
    """The document of an answer."""
    return _object_of(told, VocabularyDocument)


_BY_HAND: Mapping[type[Struct], tuple[type[Struct], Callable[[Any], Any]]] = {  # Any: the message, and its object
    protocol.AskWhy: (AskWhy, _ask_why),
    protocol.Events: (Events, _events),
    protocol.TopicEvents: (TopicEvents, _topic_events),
    protocol.Topics: (Topics, _topics),
    protocol.Report: (Report, _report),
    protocol.Rows: (Rows, lambda rows: rows),
}


def _forms(kinds: Any) -> dict[type[Struct], type[Struct]]:  # Any: a union
    return {
        kind: _BY_HAND[kind][0] if kind in _BY_HAND else _derived(kind, omits_defaults=kind is protocol.Failed)
        for kind in get_args(kinds)
    }


REQUESTS: Final = _forms(Request)
"""The object of each request, by its class in protocol.py."""
REPLIES: Final = _forms(Reply)
"""The same of what the peer says. That of Rows is made from a subscription's rows (form.py)."""
_KINDS: Final = {form: kind for kind, form in REQUESTS.items()}

AnyRequest: TypeAlias = Any  # the union of REQUESTS, which mypy cannot see
REQUEST_TYPE: Final = reduce(or_, REQUESTS.values())
REPLY_TYPE: Final = reduce(or_, REPLIES.values())


def request_of(found: AnyRequest) -> Request:
    """The request that an object says. Raises BadTerm, and RecursionError for terms that are too deep in each other."""
    kind = _KINDS[type(found)]
    if kind in _BY_HAND:
        request: Request = _BY_HAND[kind][1](found)
        return request
    made = {}
    for name in kind.__struct_fields__:
        value = getattr(found, name)
        other = FIELDS.get((kind, name))
        made[name] = value if other is None else other.convert(value)
    return kind(**made)  # type: ignore[return-value]  # it is one of Request


def reply_object(reply: Reply) -> Struct:
    """The object of what the peer says; not of Rows."""
    kind = type(reply)
    if kind in _BY_HAND:
        made: Struct = _BY_HAND[kind][1](reply)
        return made
    return _object_of(reply, REPLIES[kind])


_OF_ROWS = (protocol.Rows, protocol.UpToDate, protocol.Dropped, protocol.OutOfDate, protocol.Ended)
ANSWERS: Final[Mapping[type[Struct], tuple[type[Struct], ...]]] = {
    protocol.Insert: (protocol.Done,),
    protocol.Retract: (protocol.Done,),
    protocol.Notify: (protocol.Done,),
    protocol.Subscribe: (protocol.Subscribed, *_OF_ROWS),
    protocol.Unsubscribe: (protocol.Done,),
    protocol.AskReport: (protocol.Report,),
    protocol.Explain: (protocol.Explained,),
    protocol.AskHoldings: (protocol.Holdings,),
    protocol.AskWhy: (protocol.Reasons,),
    protocol.AskDrawing: (protocol.Drawing,),
    protocol.AskNetwork: (protocol.Network,),
    protocol.AskRoute: (protocol.Route,),
    protocol.AskKeys: (protocol.Keys,),
    protocol.AskVocabulary: (protocol.Vocabulary,),
    protocol.PublishEvents: (protocol.Done,),
    protocol.SubscribeEvents: (protocol.Subscribed, protocol.Events, protocol.Dropped, protocol.Ended),
    protocol.AskChannel: (protocol.ChannelReport,),
    protocol.PublishTopic: (protocol.Done,),
    protocol.SubscribeTopic: (protocol.Subscribed, protocol.TopicEvents, protocol.Dropped, protocol.Ended),
    protocol.AskTopics: (protocol.Topics,),
    protocol.AskDoors: (protocol.Doors,),
}
"""What each request is answered by, where it is not Failed."""
