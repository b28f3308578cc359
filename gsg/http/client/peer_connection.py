"""A client's connection to a peer: each request has a number, under which its reply comes, and the rows of a subscription.

    new ──open──> open ──closed here, the peer stopped or is lost, or it sent what is no reply──> lost

Whoever waits for a reply then, or reads a subscription, is told why, and what to do about it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from itertools import count
from typing import Final, Protocol, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from ...errors import DoorClosed, GsgError, LocalError, PeerMisbehaved, PeerUnreachable, TooLarge
from ..protocol import (
    MAX_MESSAGE_BYTES,
    Ended,
    Failed,
    OfSubscription,
    Publishing,
    Reply,
    Request,
    Subscribe,
    Subscribed,
    SubscribeEvents,
    SubscribeTopic,
    error_of,
)
from .opening import open_websocket, why_closed

log = logging.getLogger(__name__)

CONNECT_AGAIN = "connect again, here or at another peer"
SUBSCRIBE_AGAIN = (
    "connect and subscribe again, here or at another peer: rows begin again with a snapshot, and events in between are not told"
)
SUBSCRIBE_TO_EVENTS_AGAIN = "connect and subscribe again, here or at another peer: events in between are not told"
ASK_AGAIN = (
    "what it was asked may have been done or not: connect and ask again, here or at another peer; facts that are there already "
    "change nothing, and an event may be told twice"
)
"""What whoever calls, reads or waits for an answer can do when its connection has ended."""
_NEXT_STEPS: Final[dict[type[Request], str]] = {
    Subscribe: SUBSCRIBE_AGAIN,
    SubscribeEvents: SUBSCRIBE_TO_EVENTS_AGAIN,
    SubscribeTopic: SUBSCRIBE_TO_EVENTS_AGAIN,
}
"""The same by what was asked; ASK_AGAIN for the rest."""

Wanted = TypeVar("Wanted", bound=Reply)

_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_reply = msgspec.msgpack.Decoder(Reply).decode


class SubscriptionReader(Protocol):
    """Who hears what the peer tells of one subscription."""

    again: str
    """What to do where its connection has ended."""

    def begin(self, subscribed: Subscribed) -> None:
        """The peer has made it."""

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""


class PeerConnection:
    """One WebSocket to the door of a peer, and what is asked and told over it."""

    def __init__(self, url: str) -> None:
        self.lost: GsgError | None = None
        """Why the connection has ended."""
        self.subscriptions: dict[int, SubscriptionReader] = {}
        """By the number of the request that makes each; an entry goes when it is closed, or has ended."""
        self._url = url
        self._websocket: ClientConnection | None = None
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        """Requests under way: bounded by the callers who await them."""
        self._group = asyncio.TaskGroup()
        """Reads what comes, and tells the peer of subscriptions that nobody waited for; :meth:`close` ends it."""
        self._closing = False

    async def open(self) -> None:
        """Connect. Raises PeerUnreachable, or LocalError for a URL that is none."""
        self._websocket = await open_websocket(self._url)
        await self._group.__aenter__()
        self._group.create_task(self._read(self._websocket))

    async def close(self) -> None:
        """Leave; every subscription ends. Closing twice is allowed."""
        if self._websocket is None or self._closing:
            return
        self._closing = True
        self.end(DoorClosed("this client is closed"))
        try:
            await self._websocket.close()
        finally:
            # The caller's own error is the caller's: the group is to wait for our tasks, not to wrap it.
            await self._group.__aexit__(None, None, None)

    def next_number(self) -> int:
        """A number for a request."""
        return next(self._numbers)

    def start_task(self, work: Coroutine[None, None, None]) -> None:
        """Do what nobody waits for, unless the connection has ended."""
        if self.lost is None:
            self._group.create_task(work)
        else:
            work.close()

    async def ask(self, request: Request, wanted: type[Wanted]) -> Wanted:
        """Send a request and wait for its reply. Raises what the peer says, and why the connection has ended where it has."""
        if self._websocket is None:
            raise DoorClosed("this client is not connected; use it inside `async with gsg.connect(url) as client:`")
        if self.lost is not None:
            raise _with_next_step(self.lost, CONNECT_AGAIN)
        encoded = _encode(request)
        if not isinstance(request, Publishing):  # whose tuples were checked
            _check_request(encoded)
        if len(encoded) > MAX_MESSAGE_BYTES:
            raise TooLarge(
                f"a request of {len(encoded):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: it would end the connection"
            )
        future = self._waiting[request.request] = asyncio.get_running_loop().create_future()
        try:
            await self._websocket.send(encoded)
            reply = await future
        except (ConnectionClosed, PeerUnreachable) as error:
            lost = error if isinstance(error, PeerUnreachable) else self._lost_by(why_closed(error))
            raise _with_next_step(self.lost or lost, _NEXT_STEPS.get(type(request), ASK_AGAIN)) from None
        finally:
            self._waiting.pop(request.request, None)
            if future.done() and not future.cancelled():
                # Told already by a failing send: asyncio is not to complain that nobody looked.
                future.exception()
        if isinstance(reply, Failed):
            raise error_of(reply)
        if not isinstance(reply, wanted):
            raise PeerMisbehaved(f"the peer answered {type(request).__name__} with {type(reply).__name__}")
        return reply

    async def _read(self, websocket: ClientConnection) -> None:
        try:
            async for data in websocket:
                self.receive(_decode_reply(data if isinstance(data, bytes) else data.encode()))
        except ConnectionClosed as error:
            self.end(self._lost_by(why_closed(error)))
        except asyncio.CancelledError:
            # As asyncio.run does with all tasks when a program ends: who closes a subscription then must not wait for an answer.
            self.end(DoorClosed("this client is closed"))
            raise
        except Exception as error:
            # What a peer sends must not raise in whoever reads it: each of its users is told, and a defect of ours is in the log.
            if not isinstance(error, (msgspec.MsgspecError, PeerMisbehaved, RecursionError)):
                log.exception("a message of the peer at %s could not be taken", self._url)
            self.end(PeerMisbehaved(f"the peer at {self._url} sent what is no reply: {error}"))
            # 1002: a protocol error (RFC 6455, section 7.4.1).
            await websocket.close(1002)
        else:
            self.end(self._lost_by("has stopped"))

    def _lost_by(self, why: str) -> PeerUnreachable:
        return PeerUnreachable(f"the peer at {self._url} {why}")

    def receive(self, reply: Reply) -> None:
        """A message has come. Raises PeerMisbehaved for what a subscription cannot be told."""
        subscription = self.subscriptions.get(reply.request)
        if isinstance(reply, OfSubscription):
            if isinstance(reply, Ended):
                self.subscriptions.pop(reply.request, None)
            if subscription is not None:
                subscription.receive(reply)
            return
        if isinstance(reply, Subscribed) and subscription is not None:
            subscription.begin(reply)
        future = self._waiting.get(reply.request)
        if future is not None and not future.done():
            future.set_result(reply)

    def end(self, error: GsgError) -> None:
        """The connection has ended: whoever waits or reads is told why."""
        if self.lost is not None:
            return
        self.lost = error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        subscriptions, self.subscriptions = self.subscriptions, {}
        for subscription in subscriptions.values():
            subscription.end(_with_next_step(error, subscription.again))


def _with_next_step(lost: GsgError, next_step: str) -> GsgError:
    """Why a connection has ended, with what to do about it where that is the network's doing."""
    return PeerUnreachable(f"{lost}; {next_step}") if isinstance(lost, PeerUnreachable) else lost


def _check_request(encoded: bytes) -> None:
    """Raise LocalError for what a peer would take for no request, before it is sent."""
    try:
        _decode_request(encoded)
    except msgspec.MsgspecError as error:
        raise LocalError(f"not a request: {error}; see the method's arguments for what is expected") from None
