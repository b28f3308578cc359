"""What is told as server-sent events: the data of each, by the name of the event, which is its type too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from .messages import Problem
from .objects import Change


class _Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """One of them."""


class Snapshot(_Event, frozen=True, tag="snapshot"):
    """The answer follows from its beginning: rows, then up_to_date. What a client held before is void."""

    variables: tuple[str, ...]
    number: int
    """By which the peer can be asked about the subscription."""
    warnings: tuple[str, ...] = ()
    because: str = ""
    """Why the differences to what the client held cannot be told, where it came back."""


class Resumed(_Event, frozen=True, tag="resumed"):
    """The client has come back, and what follows are the differences to what it holds."""

    variables: tuple[str, ...]
    number: int


class Row(Change, frozen=True, tag_field="type", tag="row"):
    """A difference of the answer."""


class UpToDate(_Event, frozen=True, tag="up_to_date"):
    """The rows told are the answer; what follows are its changes."""

    at: str


class _Problem(_Event, frozen=True):
    why: Problem  # type: ignore[valid-type]  # made as its module is loaded


class Overrun(_Problem, frozen=True, tag="overrun"):
    """Events were dropped because the client did not read them, and the stream goes on."""


class Stale(_Problem, frozen=True, tag="stale"):
    """Rows may be out of date, and the stream goes on."""


class Ended(_Event, frozen=True, tag="ended"):
    """The stream is over; why, where its client did not ask for that."""

    why: Problem | None = None  # type: ignore[valid-type]  # as above


EVENTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    str(kind.__struct_config__.tag): kind for kind in (Snapshot, Resumed, Row, UpToDate, Overrun, Stale, Ended)
}
"""By name."""
