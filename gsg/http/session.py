"""One client of the HTTP door: its requests in order, its subscriptions, its pace."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..audiences import audience_of
from ..backlog import check_limit
from ..errors import BadQuery, GsgError, LocalError, Overrun, Stale
from ..languages import is_prepared, prepare
from ..live import LiveSubscription
from ..peer import Peer
from ..rows import Change, Row
from .protocol import (
    BYTES_PER_MESSAGE,
    MAX_KEYS,
    MAX_KEYS_FOUND,
    MAX_LIMIT,
    MAX_MAX_TOKENS,
    ROWS_PER_MESSAGE,
    UNANSWERED,
    AskDrawing,
    AskHoldings,
    AskKeys,
    AskReport,
    AskWhy,
    Done,
    Drawing,
    Dropped,
    Ended,
    Explain,
    Explained,
    Holdings,
    Insert,
    Keys,
    Notify,
    OutOfDate,
    Reasons,
    Reply,
    Report,
    Request,
    Retract,
    Subscribe,
    Subscribed,
    Unsubscribe,
    UpToDate,
    failed,
)

log = logging.getLogger(__name__)

MAX_QUERY_CHARACTERS = 64 * 1024
"""The longest text of a query: it is parsed while everybody else waits. A longer one is refused."""

_MSGPACK = (msgspec.msgpack.Decoder(Request), msgspec.msgpack.Encoder())
_JSON = (msgspec.json.Decoder(Request), msgspec.json.Encoder())


class _EncodedRows(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """A Rows message whose rows have been encoded, since their lengths had to be known."""

    request: int
    signs: list[int]
    values: list[msgspec.Raw]


class _Standing:
    """A subscription of the client, from its request on."""

    __slots__ = ("subscription", "unwanted")

    def __init__(self) -> None:
        self.subscription: LiveSubscription | None = None
        """None while it is being made."""
        self.unwanted = False
        """Whether the client has ended it before it was made."""


class Session:
    """Serves one WebSocket until its client leaves."""

    def __init__(self, peer: Peer, socket: WebSocket, client: str = "") -> None:
        self._peer = peer
        self._calls = peer.caller()
        self._socket = socket
        self._text = False
        self._client = client
        """Its address, for those who ask who subscribes to what."""
        self._first = True
        self._left = False
        """Whether nobody is there any more to answer to: what is under way is carried out, and not told."""
        self.lost = False
        """Whether its connection ended without a goodbye: it died, the network broke, or it did not answer and was cut off."""
        self._subscriptions: dict[int, _Standing] = {}
        self._allowance = peer.quotas.of_client()
        # Each request under way holds a place; the reader waits for one, which is what slows the client down.
        self._places = asyncio.Semaphore(UNANSWERED)
        self._sending = asyncio.Lock()
        self._size_bytes = 0
        """Of the last message; in text, its characters."""

    async def serve(self) -> None:
        """Read requests until the client leaves or says what is no request."""
        try:
            await self._socket.accept()
        except (WebSocketDisconnect, RuntimeError) as error:
            log.info("a client was gone before it was served: %s", error)
            return
        try:
            async with asyncio.TaskGroup() as tasks:
                try:
                    while (request := await self._receive()) is not None:
                        await self._places.acquire()
                        tasks.create_task(self._carry_out(request, self._size_bytes, tasks))
                finally:
                    self._left = True
                    for standing in list(self._subscriptions.values()):
                        if standing.subscription is not None:
                            await standing.subscription.close()
        except* WebSocketDisconnect:
            pass

    async def _receive(self) -> Request | None:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            # 1006: no close frame has come (RFC 6455, section 7.1.5). Uvicorn may say 1005 then, without even an empty reason.
            code = message.get("code")
            self.lost = code == 1006 or (code == 1005 and "reason" not in message)
            if self.lost:
                log.info("a client at %s is gone without a word: it died, or did not answer and was cut off", self._client)
            return None
        text = message.get("text")
        self._size_bytes = len(message["bytes"] if text is None else text)
        if self._first:
            self._text, self._first = text is not None, False
        try:
            request: Request = _JSON[0].decode(text) if text is not None else _MSGPACK[0].decode(message["bytes"])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            log.warning("a client sent what is no request: %s", error)
            async with self._sending:
                left, self._left = self._left, True
                if not left:
                    # 1007: data that is not consistent with the type of the message (RFC 6455, section 7.4.1).
                    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                        await self._socket.close(1007, f"not a request: {error}"[:120])
            return None
        return request

    def _encode(self, reply: object) -> bytes:
        return (_JSON if self._text else _MSGPACK)[1].encode(reply)

    async def _send(self, reply: Reply | _EncodedRows) -> None:
        encoded = self._encode(reply)
        async with self._sending:
            if self._left:
                return
            try:
                if self._text:
                    await self._socket.send_text(encoded.decode())
                else:
                    await self._socket.send_bytes(encoded)
            except (WebSocketDisconnect, RuntimeError) as error:
                # Starlette and uvicorn say with a RuntimeError that the connection was closed. The reader is about to see it.
                log.info("a client is gone: %s", error)
                self._left = True

    async def _carry_out(self, request: Request, size_bytes: int, tasks: asyncio.TaskGroup) -> None:
        try:
            try:
                reply = await self._answer(request, size_bytes, tasks)
            except GsgError as error:
                reply = failed(request.request, error)
            if reply is not None:
                await self._send(reply)
        finally:
            self._places.release()

    async def _answer(self, request: Request, size_bytes: int, tasks: asyncio.TaskGroup) -> Reply | None:
        number = request.request
        if isinstance(request, (Insert, Retract, Notify)):
            self._allowance.publish(len(request.tuples), size_bytes, asyncio.get_running_loop().time())
        match request:
            case Insert():
                return Done(number, await self._calls.facts(1, request.tuples, audience_of(request.audience)))
            case Retract():
                return Done(number, await self._calls.facts(-1, request.tuples, audience_of(request.audience)))
            case Notify():
                return Done(number, await self._calls.events(request.tuples, audience_of(request.audience)))
            case Subscribe():
                await self._subscribe(request, tasks)
                return None
            case Unsubscribe():
                await self._unsubscribe(request.subscription)
                return Done(number)
            case AskReport():
                return await report(number, self._peer)
            case Explain():
                _check_length(request.text)
                return Explained(number, await self._peer.inside.explain(request.text, request.language))
            case AskHoldings():
                return Holdings(number, self._peer.inside.subscriptions())
            case AskWhy():
                if len(request.names) != len(request.values):
                    raise LocalError(f"{len(request.names)} names for {len(request.values)} values; expected one for each")
                row, inside = Row.of(request.names, request.values), self._peer.inside
                if request.refused:
                    return Reasons(number, why_not=inside.why_not(request.subscription, row))
                return Reasons(number, why=inside.why(request.subscription, row))
            case AskDrawing():
                return Drawing(number, self._peer.inside.drawing(request.subscription))
            case AskKeys():
                most = MAX_KEYS_FOUND if request.find else MAX_KEYS
                if len(request.keys) > most:
                    raise LocalError(f"{len(request.keys)} keys asked about at once; expected at most {most}")
                return Keys(number, await self._peer.inside.keys(request.keys, find=request.find))

    async def _subscribe(self, request: Subscribe, tasks: asyncio.TaskGroup) -> None:
        if request.request in self._subscriptions:
            raise LocalError(f"request {request.request} has made a subscription already; expected a new number")
        self._allowance.post(len(self._subscriptions))
        _check_length(request.text)
        check_limit(request.limit, MAX_LIMIT)
        if not 1 <= request.max_tokens <= MAX_MAX_TOKENS:
            raise LocalError(f"max_tokens={request.max_tokens}; expected 1 to {MAX_MAX_TOKENS}")
        # The number is taken before anything is awaited: other requests are carried out meanwhile.
        standing = self._subscriptions[request.request] = _Standing()
        try:
            if not is_prepared(request.language):
                # What a peer does at a stretch keeps it from answering probes: on a busy machine it would be taken for dead.
                await asyncio.to_thread(prepare, request.language)
            subscription = await self._peer.subscribe(
                request.text,
                request.language,
                limit=request.limit,
                max_tokens=request.max_tokens,
                overflow=request.overflow,
                client=self._client,
            )
        except BaseException:
            del self._subscriptions[request.request]
            raise
        if self._left or standing.unwanted:
            del self._subscriptions[request.request]
            await subscription.close()
            raise LocalError(f"the subscription of request {request.request} was ended before it was made")
        standing.subscription = subscription
        await self._send(Subscribed(request.request, subscription.variables, subscription.warnings, subscription.number))
        tasks.create_task(self._pump(request.request, subscription, subscription.pending))

    async def _unsubscribe(self, number: int) -> None:
        standing = self._subscriptions.get(number)
        if standing is None or standing.unwanted:
            raise LocalError(f"no subscription was made by request {number}; it may have ended")
        if standing.subscription is None:
            standing.unwanted = True
            return
        del self._subscriptions[number]
        await standing.subscription.close()

    async def _pump(self, number: int, subscription: LiveSubscription, stored: int) -> None:
        """Send a subscription's rows at the client's pace; what it does not take waits in the subscription's bounded backlog."""
        try:
            # What came and went again while the client was slow is not pending any more.
            while stored and subscription.pending:
                batch = await self._batch(number, subscription, min(stored, ROWS_PER_MESSAGE))
                if not batch:
                    break
                stored = min(stored - len(batch), subscription.pending)
                await self._send_rows(number, subscription.variables, batch)
            await self._send(UpToDate(number))
            while batch := await self._batch(number, subscription, ROWS_PER_MESSAGE):
                await self._send_rows(number, subscription.variables, batch)
        except GsgError as error:
            self._subscriptions.pop(number, None)
            await subscription.close()
            await self._send(Ended(number, failed(number, error)))

    async def _batch(self, number: int, subscription: LiveSubscription, most: int) -> list[Change]:
        while True:
            try:
                return await subscription.batch(most)
            except Overrun as error:
                if subscription.has_ended:
                    raise
                await self._send(Dropped(number, failed(number, error)))
            except Stale as error:
                await self._send(OutOfDate(number, failed(number, error)))

    async def _send_rows(self, number: int, names: tuple[str, ...], batch: list[Change]) -> None:
        for message in self._messages(number, names, batch):
            await self._send(message)

    def _messages(self, number: int, names: tuple[str, ...], batch: list[Change]) -> Iterator[_EncodedRows]:
        """The rows cut into messages by bytes; by number they are already."""
        signs: list[int] = []
        values: list[msgspec.Raw] = []
        filled = 0
        for sign, row in batch:
            encoded = self._encode(row.aligned(names))
            if signs and filled + len(encoded) > BYTES_PER_MESSAGE:
                yield _EncodedRows(number, signs, values)
                signs, values, filled = [], [], 0
            signs.append(int(sign))
            values.append(msgspec.Raw(encoded))
            filled += len(encoded)
        yield _EncodedRows(number, signs, values)


def _check_length(text: str) -> None:
    if len(text) > MAX_QUERY_CHARACTERS:
        raise BadQuery(f"a query of {len(text)} characters; expected at most {MAX_QUERY_CHARACTERS}: split it")


async def report(number: int, peer: Peer) -> Report:
    """How a peer and those it knows are doing."""
    peers = await peer.status()
    shares = peer.shares()
    return Report(number, peers, [shares.get(status.peer, 0.0) for status in peers])
