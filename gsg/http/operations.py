"""What the door does over HTTP: one operation is a method, a path, the role that it takes and the function that answers it.

The table of all operations is that of application.py. Methods that a path does not have are answered 405 with Allow; a principal
without the role 403, and one that is nobody where somebody is asked for 401 (RFC 9110, sections 15.5.2, 15.5.4 and 15.5.6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from ..peer import Peer
from ..subscriptions.backlog import Pool
from .serving.clients import Clients
from .serving.principals import Role
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


@dataclass(frozen=True, slots=True)
class Operation:
    """One of them."""

    method: str
    path: str
    role: Role | None
    """Whoever asks has it; None where everybody may ask."""
    summary: str
    endpoint: Endpoint = field(repr=False)
