"""What the door does over HTTP: one operation is a method, a path, the role that it takes and the function that answers it.

The table of all operations is that of application.py. Methods that a path does not have are answered 405 with Allow; a principal
without the role 403, and one that is nobody where somebody is asked for 401 (RFC 9110, sections 15.5.2, 15.5.4 and 15.5.6).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from ..peer import Peer
from ..quotas import Allowance
from ..subscriptions.backlog import Pool
from ..tuples.audiences import Audience
from .access.authentication import Authentication
from .access.principals import Role, principal_of
from .json.streams import Streams
from .problems import MEDIA_TYPE as PROBLEM
from .problems import ProblemDetails
from .serving.bodies import Bodies
from .serving.clients import Clients
from .websocket.channel_subscription import PeerChannel

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class Services(NamedTuple):
    """What operations are carried out with."""

    peer: Peer
    channel: PeerChannel
    unread: Pool
    """Shared by all who are sent rows, for those that wait."""
    clients: Clients
    """Those that are served for long."""
    bodies: Bodies
    """Those of requests that are being read."""
    authentication: Authentication
    """Who it is that asks."""
    streams: Streams
    """Subscriptions that are told as events, some of which wait for their clients to come back."""


def allowance_of(services: Services, request: HTTPConnection) -> Allowance:
    """What whoever sends this request may publish, and how many subscriptions it may have.

    It counts by the name of a token. Without one a WebSocket is a client of its own, since programs of one host are not to pay for
    each other, and of other requests an address is.
    """
    host, port = request.client or ("", 0)
    address = f"{host}:{port}" if request.scope["type"] == "websocket" else host
    return services.peer.quotas.of_client(principal_of(request.scope).name or address)


def client_of(request: HTTPConnection) -> str:
    """The address of whoever sends this request, and its name before that, for those who ask who subscribes to what."""
    name, address = principal_of(request.scope).name, f"{request.client.host}:{request.client.port}" if request.client else ""
    return f"{name}@{address}" if name else address


class Asker(NamedTuple):
    """Who sends a request, as those see it who carry it out."""

    name: str
    """For those who ask who subscribes to what."""
    allowance: Allowance
    readers: Audience | None
    """Who alone may read what it publishes; None where everybody may."""
    check_still_valid: Callable[[], None]
    """Raises AccessDenied where its token was taken back since it asked."""

    def admit(self, tuples: int, size_bytes: int) -> None:
        """Count what is about to be published. Raises Refused where that is too much, and AccessDenied where its token was taken
        back."""
        self.check_still_valid()
        self.allowance.publish(tuples, size_bytes, asyncio.get_running_loop().time())


def asker_of(services: Services, request: HTTPConnection) -> Asker:
    """Who sends this request."""
    principal = principal_of(request.scope)
    check = partial(services.authentication.check_still_valid, principal)
    return Asker(client_of(request), allowance_of(services, request), principal.readers, check)


class Described(NamedTuple):
    """What programs read of an operation (gsg/http/json/openapi.py): types that msgspec knows."""

    parameters: Mapping[str, tuple[Any, object]] = {}  # Any: a type, or a union of some
    """Of its query: type and default of each; MISSING where it has to be given, OPTIONAL where leaving it out says something else
    than any value."""
    bodies: Mapping[str, Any] = {}  # Any: as above
    """What it takes, by media type; what comes line by line is of the type of a line. None for what has no schema."""
    answers: Mapping[str, Any] = {}  # Any: as above
    """What it answers, by media type; None as above."""
    statuses: Mapping[int, str] = {200: "done"}
    """With which statuses it answers so, and what each means; 204 is without content, as is 201."""
    failures: Mapping[str, Any] = {PROBLEM: ProblemDetails}  # Any: as above
    """What it says otherwise, by media type."""
    roles: str = ""
    """Which role it takes when, where that depends on what is sent, and the operation's own role is None."""
    headers: Mapping[str, str] = {}
    """Of its request, what each is for; it may be left out."""


MISSING: Final = object()
"""In the place of a default."""
OPTIONAL: Final = object()
"""The same."""
NOT_DESCRIBED: Final = Described()


@dataclass(frozen=True, slots=True)
class Operation:
    """One of them."""

    method: str
    path: str
    role: Role | None
    """Whoever asks has it; None where everybody may ask."""
    summary: str
    endpoint: Endpoint = field(repr=False)
    described: Described = NOT_DESCRIBED


def template_of(path: str) -> str:
    """A path as people and OpenAPI write it: ``/graph/{name}`` where Starlette has ``/graph/{name:path}``."""
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", path)
