"""What goes to one client of the HTTP door: one message after the other, none longer than a message may be.

Whoever has something to send waits until the socket has taken what was sent before; rows stay in their bounded backlogs meanwhile.
So what waits for a client besides is one message, and one long answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ...errors import Overrun, RemoteError, Stale, TooLarge
from ...languages.rows import Change
from ...subscriptions.live import LiveSubscription
from ..protocol import BYTES_PER_MESSAGE, MAX_MESSAGE_BYTES, Dropped, OutOfDate, Reply, failed

log = logging.getLogger(__name__)

MAX_ROW_BYTES = MAX_MESSAGE_BYTES - 1024
"""The longest row: it travels in a message with what that says of it."""

_encode_msgpack = msgspec.msgpack.Encoder().encode
_encode_json = msgspec.json.Encoder().encode


class _EncodedRows(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """A Rows message whose rows have been encoded, since their lengths had to be known."""

    request: int
    signs: list[int]
    values: list[msgspec.Raw]


class Sender:
    """Sends to one WebSocket."""

    def __init__(self, socket: WebSocket, client: str = "") -> None:
        self.text = False
        """Whether the client speaks JSON in text frames."""
        self.left = False
        """Whether nobody is there any more to answer to: what is under way is carried out, and not told."""
        self._socket = socket
        self._client = client
        self._turn = asyncio.Lock()
        """Held by whoever has something to send until the socket has taken it. Bounded by subscriptions and requests under way."""

    async def send(self, reply: Reply) -> None:
        """Send one message; of a reply that is too long, that it failed."""
        async with self._turn:
            await self._write(reply)

    async def send_rows(self, number: int, subscription: LiveSubscription, most: int) -> int:
        """Send what there is of a subscription, at most so many rows and about one message; returns how many.

        Raises what has ended it, and TooLarge for a row that fits into no message.
        """
        async with self._turn:
            try:
                batch = subscription.take(most, BYTES_PER_MESSAGE)
            except Overrun as error:
                if subscription.has_ended:
                    raise
                await self._write(Dropped(number, failed(number, error)))
                return 0
            except Stale as error:
                await self._write(OutOfDate(number, failed(number, error)))
                return 0
            if batch:
                for message in self._messages(number, subscription.variables, batch):
                    await self._write(message)
            return len(batch)

    async def _write(self, reply: Reply | _EncodedRows) -> None:
        if self.left:
            return
        message = self._message(reply)
        try:
            if self.text:
                await self._socket.send_text(message.decode())
            else:
                await self._socket.send_bytes(message)
        except (WebSocketDisconnect, RuntimeError) as error:
            # Starlette and uvicorn say with a RuntimeError that the connection was closed. The reader is about to see it.
            log.info("a client at %s is gone: %s", self._client, error, extra={"client": self._client})
            self.left = True

    def _message(self, reply: Reply | _EncodedRows) -> bytes:
        try:
            encoded = self._encode(reply)
        except (UnicodeEncodeError, OverflowError, RecursionError) as error:
            return self._encode(failed(reply.request, RemoteError(f"the answer cannot be sent: {error!a}; ask for less of it")))
        if len(encoded) <= MAX_MESSAGE_BYTES:
            return encoded
        problem = f"the answer has {len(encoded):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: ask for less of it"
        return self._encode(failed(reply.request, TooLarge(problem)))

    def _encode(self, reply: object) -> bytes:
        return (_encode_json if self.text else _encode_msgpack)(reply)

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
            if len(encoded) > MAX_ROW_BYTES:
                raise TooLarge(
                    f"the subscription has ended because of a row of {len(encoded):,} bytes in {len(names)} values; expected at "
                    f"most {MAX_ROW_BYTES:,}, what a message may have: subscribe to fewer of its names, or publish references to "
                    "what is long"
                )
            signs.append(int(sign))
            values.append(msgspec.Raw(encoded))
            filled += len(encoded)
        yield _EncodedRows(number, signs, values)
