"""What a client asks for when it subscribes, checked, and made at the peer: one way for the WebSocket and for streams of events."""

from __future__ import annotations

from ..errors import BadQuery, LocalError
from ..peer import Peer
from ..subscriptions.backlog import check_limit
from ..subscriptions.live import LiveSubscription
from .protocol import MAX_LIMIT, MAX_MAX_TOKENS, Subscribe

MAX_QUERY_CHARACTERS = 64 * 1024
"""The longest text of a query: it is parsed while everybody else waits. A longer one is refused."""


def check_length(text: str) -> None:
    """Raises BadQuery for a text that is too long."""
    if len(text) > MAX_QUERY_CHARACTERS:
        raise BadQuery(f"a query of {len(text)} characters; expected at most {MAX_QUERY_CHARACTERS}: split it")


def check_subscribe(request: Subscribe) -> None:
    """Raises BadQuery or LocalError for limits that a client may not ask for."""
    check_length(request.text)
    check_limit(request.limit, MAX_LIMIT)
    if not 1 <= request.max_tokens <= MAX_MAX_TOKENS:
        raise LocalError(f"max_tokens={request.max_tokens}; expected 1 to {MAX_MAX_TOKENS}")


async def subscribe(peer: Peer, request: Subscribe, client: str) -> LiveSubscription:
    """The standing query of a client at this address. Raises what :meth:`gsg.Peer.subscribe` raises."""
    return await peer.subscribe(
        request.text,
        request.language,
        limit=request.limit,
        max_tokens=request.max_tokens,
        overflow=request.overflow,
        client=client,
    )
