"""``/asyncapi.json``: what is said over the WebSocket and in streams of events, as AsyncAPI 3.0
(https://www.asyncapi.com/docs/reference/specification/v3.0.0), from the messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from .. import protocol
from ..access.credentials import BEARER_PROTOCOL
from .form import SUBPROTOCOL
from .messages import ANSWERS, REPLIES, REQUESTS, object_name
from .schemas import about, schemas_of
from .stream_events import EVENTS

VERSION: Final = "3.0.0"
_TOKENS: Final = (
    "Where the peer asks for tokens, one is shown as the WebSocket is opened: by the header `Authorization: Bearer TOKEN`, or, by "
    f"clients that cannot set headers, such as web pages, by one subprotocol more that they offer: `{BEARER_PROTOCOL}` and the "
    "token in base64url without padding (RFC 4648, section 5)."
)
"""What is said of tokens where the WebSocket is described."""


def asyncapi() -> dict[str, Any]:  # Any: JSON
    """The document."""
    requests = {object_name(kind): form for kind, form in REQUESTS.items()}
    replies = {object_name(kind): form for kind, form in REPLIES.items()}
    spoken: dict[str, Any] = {**requests, **replies, **{f"event_{name}": form for name, form in EVENTS.items()}}
    found, schemas = schemas_of(spoken.values())
    messages = {
        name: {"name": name.removeprefix("event_"), "contentType": "application/json", "payload": schema}
        for name, schema in zip(spoken, found, strict=True)
    }
    return {
        "asyncapi": VERSION,
        "info": about(),
        "defaultContentType": "application/json",
        "channels": {
            "v1": {
                "address": "/v1",
                "title": f"The WebSocket, with the subprotocol {SUBPROTOCOL}",
                "description": _TOKENS,
                "messages": _refs(requests | replies),
                "bindings": {"ws": {"method": "GET"}},
            },
            "watch": {
                "address": "/watch",
                "title": "A query's rows as server-sent events",
                "messages": _refs(f"event_{name}" for name in EVENTS),
            },
        },
        "operations": {
            **{object_name(kind): _request(kind, answers) for kind, answers in ANSWERS.items()},
            "watch": {"action": "send", "channel": {"$ref": "#/channels/watch"}},
        },
        "components": {"messages": messages, "schemas": schemas},
    }


def _refs(names: Iterable[str]) -> dict[str, dict[str, str]]:
    return {name: {"$ref": f"#/components/messages/{name}"} for name in names}


def _request(kind: type[msgspec.Struct], answers: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:  # Any: JSON
    kinds: list[type[msgspec.Struct]] = [*answers, protocol.Failed]
    told = [{"$ref": f"#/channels/v1/messages/{object_name(each)}"} for each in kinds]
    return {
        "action": "receive",
        "summary": " ".join((kind.__doc__ or "").split()),
        "channel": {"$ref": "#/channels/v1"},
        "messages": [{"$ref": f"#/channels/v1/messages/{object_name(kind)}"}],
        "reply": {"channel": {"$ref": "#/channels/v1"}, "messages": told},
    }
