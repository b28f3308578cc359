"""One client of the HTTP door: its requests in order, its subscriptions, its pace."""

from __future__ import annotations

import asyncio
import logging

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import GsgError, LocalError
from ..live import LiveSubscription
from ..peer import Peer
from ..rows import Change
from .protocol import (
    ROWS_PER_MESSAGE,
    UNANSWERED,
    AskReport,
    Done,
    Ended,
    Insert,
    Notify,
    Reply,
    Report,
    Request,
    Retract,
    Rows,
    Subscribe,
    Subscribed,
    Unsubscribe,
    UpToDate,
    failed,
)

log = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 10_000
"""Subscriptions of one client; one more is refused."""

_MSGPACK = (msgspec.msgpack.Decoder(Request), msgspec.msgpack.Encoder())
_JSON = (msgspec.json.Decoder(Request), msgspec.json.Encoder())


class Session:
    """Serves one WebSocket until its client leaves."""

    def __init__(self, peer: Peer, socket: WebSocket) -> None:
        self._peer = peer
        self._socket = socket
        self._text = False
        self._first = True
        self._left = False
        """Whether nobody is there any more to answer to: what is under way is carried out, and not told."""
        self._subscriptions: dict[int, LiveSubscription] = {}
        # Each request under way holds a place; the reader waits for one, which is what slows the client down.
        self._places = asyncio.Semaphore(UNANSWERED)
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Read requests until the client leaves or says what is no request."""
        await self._socket.accept()
        try:
            async with asyncio.TaskGroup() as tasks:
                try:
                    while (request := await self._receive()) is not None:
                        await self._places.acquire()
                        tasks.create_task(self._carry_out(request, tasks))
                finally:
                    self._left = True
                    for subscription in self._subscriptions.values():
                        await subscription.close()
        except* WebSocketDisconnect:
            pass

    async def _receive(self) -> Request | None:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        if self._first:
            self._text, self._first = text is not None, False
        try:
            request: Request = _JSON[0].decode(text) if text is not None else _MSGPACK[0].decode(message["bytes"])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            log.warning("a client sent what is no request: %s", error)
            # 1007: data that is not consistent with the type of the message (RFC 6455, section 7.4.1).
            await self._socket.close(1007, f"not a request: {error}"[:120])
            return None
        return request

    async def _send(self, reply: Reply) -> None:
        async with self._sending:
            if self._left:
                return
            if self._text:
                await self._socket.send_text(_JSON[1].encode(reply).decode())
            else:
                await self._socket.send_bytes(_MSGPACK[1].encode(reply))

    async def _carry_out(self, request: Request, tasks: asyncio.TaskGroup) -> None:
        try:
            try:
                reply = await self._answer(request, tasks)
            except GsgError as error:
                reply = failed(request.request, error)
            if reply is not None:
                await self._send(reply)
        finally:
            self._places.release()

    async def _answer(self, request: Request, tasks: asyncio.TaskGroup) -> Reply | None:
        number = request.request
        match request:
            case Insert():
                return Done(number, await self._peer.insert(request.tuples))
            case Retract():
                return Done(number, await self._peer.retract(request.tuples))
            case Notify():
                await self._peer.notify(request.tuples)
                return Done(number, len(request.tuples))
            case Subscribe():
                await self._subscribe(request, tasks)
                return None
            case Unsubscribe():
                subscription = self._subscriptions.pop(request.subscription, None)
                if subscription is None:
                    raise LocalError(f"no subscription was made by request {request.subscription}; it may have ended")
                await subscription.close()
                return Done(number)
            case AskReport():
                return await report(number, self._peer)

    async def _subscribe(self, request: Subscribe, tasks: asyncio.TaskGroup) -> None:
        if request.request in self._subscriptions:
            raise LocalError(f"request {request.request} has made a subscription already; expected a new number")
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            raise LocalError(f"this client has {MAX_SUBSCRIPTIONS} subscriptions, the most that one may have")
        subscription = await self._peer.subscribe(request.text, request.language)
        if self._left:
            await subscription.close()
            return
        self._subscriptions[request.request] = subscription
        await self._send(Subscribed(request.request, subscription.variables))
        tasks.create_task(self._pump(request.request, subscription, subscription.pending))

    async def _pump(self, number: int, subscription: LiveSubscription, stored: int) -> None:
        """Send a subscription's rows at the client's pace; what it does not take waits in the subscription's bounded backlog."""
        try:
            while stored:
                batch = await subscription.batch(min(stored, ROWS_PER_MESSAGE))
                stored = min(stored - len(batch), subscription.pending)
                await self._send_rows(number, batch)
            await self._send(UpToDate(number))
            while batch := await subscription.batch(ROWS_PER_MESSAGE):
                await self._send_rows(number, batch)
        except GsgError as error:
            self._subscriptions.pop(number, None)
            await subscription.close()
            await self._send(Ended(number, failed(number, error)))

    async def _send_rows(self, number: int, batch: list[Change]) -> None:
        await self._send(Rows(number, [int(sign) for sign, _ in batch], [row.terms for _, row in batch]))


async def report(number: int, peer: Peer) -> Report:
    """How a peer and those it knows are doing."""
    peers = await peer.status()
    shares = peer.shares()
    return Report(number, peers, [shares.get(status.peer, 0.0) for status in peers])
