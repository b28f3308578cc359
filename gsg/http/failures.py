"""Errors as messages, and messages as errors again: what clients are told of what was not carried out."""

from __future__ import annotations

from typing import Any

from .. import errors
from .protocol import Failed

LONGEST_WAIT_S = 86_400.0
"""What a peer says of when it would take something, at most; of more a client says that it cannot be said."""

_ATTRIBUTES = {
    "BadText": ("line", "column", "source_line", "what"),
    "Overrun": ("lost", "unread", "missing"),
    "TooManyTokens": ("tokens", "limit"),
    "Refused": ("again_s",),
    "Unsupported": ("line", "column", "source_line"),
}
"""What errors say besides their text, by their kind: attributes of the error, and fields of Failed."""


def failed(request: int, error: errors.GsgError) -> Failed:
    """The message for an error."""
    kind = type(error).__name__
    return Failed(request, kind, error.problem if isinstance(error, errors.BadText) else str(error), **attributes_of(error))


def attributes_of(error: errors.GsgError) -> dict[str, Any]:  # Any: whatever the attributes are
    """What an error says besides its text."""
    return {name: value for name in _ATTRIBUTES.get(type(error).__name__, ()) if (value := getattr(error, name))}


def error_of(message: Failed) -> errors.GsgError:
    """The error that a message tells of; the nearest class of ours where the peer knows kinds that we do not."""
    kind = getattr(errors, message.kind, None)
    if not isinstance(kind, type) or not issubclass(kind, errors.GsgError):
        return errors.RemoteError(f"{message.kind}: {message.problem}")
    told = {name: getattr(message, name) for name in _ATTRIBUTES.get(message.kind, ())}
    if kind is errors.BadText:
        # A request has one text, but for the report of a subscription, and events.
        told["what"] = message.what if message.what in ("report", "event") else "subscription"
    elif kind is errors.Refused and not 0 < message.again_s <= LONGEST_WAIT_S:
        told["again_s"] = None
    return kind(message.problem, **told)
