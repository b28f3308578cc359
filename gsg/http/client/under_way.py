"""Requests of a client that are under way: what may be sent again to another peer, and what to do where one has ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec

from ...errors import GsgError, LocalError, PeerUnreachable, Reconnected, TooLarge
from ..protocol import (
    MAX_MESSAGE_BYTES,
    AskChannel,
    AskHoldings,
    AskKeys,
    AskReport,
    AskTopics,
    AskVocabulary,
    Explain,
    Insert,
    Notify,
    Publishing,
    Reply,
    Request,
    Retract,
    Subscribe,
    SubscribeEvents,
    SubscribeTopic,
)

CONNECT_AGAIN = "connect again, here or at another peer"
SUBSCRIBE_AGAIN = (
    "connect and subscribe again, here or at another peer: rows begin again with a snapshot, and events in between are not told"
)
SUBSCRIBE_TO_EVENTS_AGAIN = "connect and subscribe again, here or at another peer: events in between are not told"
ASK_AGAIN = (
    "what it was asked may have been done or not: connect and ask again, here or at another peer; facts that are there already "
    "change nothing, and an event may be told twice"
)
ASK_AGAIN_LATER = (
    "what it was asked may have been done or not: this client connects again by itself, so ask again; an event may be told twice"
)
"""What whoever calls, reads or waits for an answer can do when its connection has ended."""
ROWS_FOLLOW = "rows follow as differences to those that were told, and events in between may have been missed: go on reading"
EVENTS_FOLLOW = "events in between may have been missed: go on reading"
"""What whoever reads is told when there is another peer."""

SENT_AGAIN: Final = (
    *(Insert, Retract, Subscribe, SubscribeEvents, SubscribeTopic),
    *(AskReport, AskHoldings, AskKeys, AskVocabulary, AskChannel, AskTopics, Explain),
)
"""Requests that may be carried out twice, and do not name what only the peer that was lost has."""


def may_be_sent_again(request: Request) -> bool:
    """Whether another peer, or the same one, may be asked once more: events only where they have a key."""
    return isinstance(request, SENT_AGAIN) or (isinstance(request, Notify) and request.key is not None)


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode


@dataclass(slots=True)
class Asked:
    """A request under way."""

    request: Request
    encoded: bytes
    reply: asyncio.Future[Reply]


def asked_for(request: Request) -> Asked:
    """A request, encoded. Raises LocalError for what a peer would not take, before it is sent."""
    encoded = _encode(request)
    if not isinstance(request, Publishing):  # whose tuples were checked
        _check_request(encoded)
    if len(encoded) > MAX_MESSAGE_BYTES:
        raise TooLarge(f"a request of {len(encoded):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: it would end the connection")
    return Asked(request, encoded, asyncio.get_running_loop().create_future())


def with_next_step(lost: GsgError, next_step: str) -> GsgError:
    """Why a connection has ended, with what to do about it where that is the network's doing."""
    return PeerUnreachable(f"{lost}; {next_step}") if isinstance(lost, PeerUnreachable) else lost


def what_follows(reconnected: Reconnected, follows: str) -> Reconnected:
    """That there is another peer, with what it means for one reader."""
    return Reconnected(f"{reconnected}; {follows}", lost_url=reconnected.lost_url, url=reconnected.url)


def next_step(request: Request, *, is_open: bool) -> str:
    """What whoever asked can do where the peer was lost before it answered; ``is_open``: the client looks for another one."""
    if is_open:
        return ASK_AGAIN_LATER
    match request:
        case Subscribe():
            return SUBSCRIBE_AGAIN
        case SubscribeEvents() | SubscribeTopic():
            return SUBSCRIBE_TO_EVENTS_AGAIN
        case _:
            return ASK_AGAIN


def _check_request(encoded: bytes) -> None:
    """Raise LocalError for what a peer would take for no request, before it is sent."""
    try:
        _decode_request(encoded)
    except msgspec.MsgspecError as error:
        raise LocalError(f"not a request: {error}; see the method's arguments for what is expected") from None
