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
from ..failures import failed
from ..protocol import BYTES_PER_MESSAGE, MAX_MESSAGE_BYTES, Dropped, OutOfDate, Reply
from .forms import PLAIN, Arrays, Form

log = logging.getLogger(__name__)

MAX_ROW_BYTES = MAX_MESSAGE_BYTES - 1024
"""The longest row: it travels in a message with what that says of it."""


class Sender:
    """Sends to one WebSocket."""

    def __init__(self, socket: WebSocket, client: str = "", form: Form | None = None) -> None:
        self.form: Form = Arrays() if form is None else form
        """How messages are written."""
        self.left = False
        """Whether nobody is there any more to answer to: what is under way is carried out, and not told."""
        self._socket = socket
        self._client = client
        self._turn = asyncio.Lock()
        """Held by whoever has something to send until the socket has taken it. Bounded by subscriptions and requests under way."""

    async def send(self, reply: Reply) -> None:
        """Send one message; of a reply that is too long, that it failed."""
        async with self._turn:
            await self._write(self._message(reply))

    async def send_rows(self, number: int, subscription: LiveSubscription, most: int, terms: str = PLAIN) -> int:
        """Send what there is of a subscription, at most so many rows and about one message; returns how many. ``terms``: how they
        are written, as the subscription has asked.

        Raises what has ended it, and TooLarge for a row that fits into no message.
        """
        async with self._turn:
            try:
                batch = subscription.take(most, BYTES_PER_MESSAGE)
            except Overrun as error:
                if subscription.has_ended:
                    raise
                await self._write(self._message(Dropped(number, failed(number, error))))
                return 0
            except Stale as error:
                await self._write(self._message(OutOfDate(number, failed(number, error))))
                return 0
            if batch:
                for message in self._messages(number, subscription.variables, batch, terms):
                    await self._write(message)
            return len(batch)

    async def _write(self, message: bytes) -> None:
        if self.left:
            return
        try:
            if self.form.is_text:
                await self._socket.send_text(message.decode())
            else:
                await self._socket.send_bytes(message)
        except (WebSocketDisconnect, RuntimeError) as error:
            # Starlette and uvicorn say with a RuntimeError that the connection was closed. The reader is about to see it.
            log.info("a client at %s is gone: %s", self._client, error, extra={"client": self._client})
            self.left = True

    def _message(self, reply: Reply) -> bytes:
        encode = self.form.encode
        try:
            encoded = encode(reply)
        except (UnicodeEncodeError, OverflowError, RecursionError) as error:
            return encode(failed(reply.request, RemoteError(f"the answer cannot be sent: {error!a}; ask for less of it")))
        if len(encoded) <= MAX_MESSAGE_BYTES:
            return encoded
        problem = f"the answer has {len(encoded):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: ask for less of it"
        return encode(failed(reply.request, TooLarge(problem)))

    def _messages(self, number: int, names: tuple[str, ...], batch: list[Change], terms: str) -> Iterator[bytes]:
        """The rows cut into messages by bytes; by number they are already."""
        signs: list[int] = []
        rows: list[msgspec.Raw] = []
        filled = 0
        for change in batch:
            encoded = self.form.encode_row(change, names, terms)
            if signs and filled + len(encoded) > BYTES_PER_MESSAGE:
                yield self.form.encode_rows(number, signs, rows)
                signs, rows, filled = [], [], 0
            if len(encoded) > MAX_ROW_BYTES:
                raise TooLarge(
                    f"the subscription has ended because of a row of {len(encoded):,} bytes in {len(names)} values; expected at "
                    f"most {MAX_ROW_BYTES:,}, what a message may have: subscribe to fewer of its names, or publish references to "
                    "what is long"
                )
            signs.append(int(change[0]))
            rows.append(msgspec.Raw(encoded))
            filled += len(encoded)
        yield self.form.encode_rows(number, signs, rows)
