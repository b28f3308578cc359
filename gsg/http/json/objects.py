"""What has names in objects, and places in arrays: the parts of messages.py's messages."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ...explain.tuple_route import RouteSubscriber
from .terms import SaidInJson

SignText: TypeAlias = Literal["+", "-", "!"]


class Change(Struct, frozen=True):
    """A difference of an answer."""

    sign: SignText
    """``+`` for a row that has become true, ``-`` for one that has stopped being true, ``!`` for one of an event's moment."""
    row: dict[str, SaidInJson]
    """The terms by name, without those that are unbound."""
    at: str
    """When the peer told it (RFC 3339, UTC)."""


class AskedKey(Struct, frozen=True, forbid_unknown_fields=True):
    """What a tuple lies under."""

    arity: int
    position: int
    constant: SaidInJson


class Holder(Struct, frozen=True):
    """A peer that holds a key."""

    id: str
    host: str
    port: int


class KeyInJson(Struct, frozen=True):
    """A key as one peer sees it."""

    facts: int
    holders: list[Holder]


class RouteKeyInJson(Struct, frozen=True):
    """A key of a tuple (:class:`gsg.explain.tuple_route.RouteKey`)."""

    position: int
    constant: str
    key: str
    holders: list[Holder]
    facts: int | None
    templates: int | None
    subscribers: tuple[RouteSubscriber, ...] | None
    is_partial: bool
    problem: str


class RouteInJson(Struct, frozen=True):
    """How a tuple travels."""

    keys: list[RouteKeyInJson]


class ChannelEvent(Struct, frozen=True):
    """An event of a channel: who published it, that one's number for it, and its fields."""

    source: str
    number: int
    fields: dict[str, Any]  # Any: JSON's values
    """A reference is ``{"$ref": ...}`` (docs/channels.md)."""


class TopicEvent(Struct, frozen=True, omit_defaults=True):
    """An event of a topic; ``topic`` where a filter was subscribed to."""

    publisher: str
    number: int
    values: list[SaidInJson]
    topic: str = ""


class TopicSize(Struct, frozen=True):
    """A topic, and how many members it has, about; 0 where that is unknown."""

    topic: str
    members: float


class CountedConstant(Struct, frozen=True, omit_defaults=True):
    """A constant at a position of tuples of an arity: under how many facts it is, and under how many templates of subscriptions."""

    arity: int
    position: int
    constant: SaidInJson | None
    """Null for one that is too long to be told."""
    facts: int
    templates: int
    long: str = ""
    """What is known of a long one: its size in bytes, and a hash."""


class SilentPeer(Struct, frozen=True):
    """A peer that did not say how it is."""

    peer: str
    address: str
    why: str
