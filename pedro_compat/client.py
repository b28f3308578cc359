"""A client of Pedro's door, or of an original Pedro server: the verbs of the protocol with async/await (manual, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import NamedTuple, Self

from gsg.errors import DoorClosed, PeerMisbehaved, PeerUnreachable, Refused

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The longest delivery that is read."""


class Delivery(NamedTuple):
    """A notification or message, as it was sent, with the rock of the subscription that covers it (0 for a message)."""

    rock: int
    line: str


class AsyncClient:
    """One connection; an async context manager. One task at a time may await a command's answer; another may read deliveries.

    Entering raises PeerUnreachable when nobody answers at the info port, PeerMisbehaved when what answers is no Pedro server.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 4550) -> None:
        self.host = host
        self.port = port
        self._commands = asyncio.Lock()
        """Answers carry no number: they come in the order of the lines, so one command waits for the other."""
        self._closed = False
        self._ack_reader: asyncio.StreamReader
        self._ack_writer: asyncio.StreamWriter | None = None
        self._data_reader: asyncio.StreamReader
        self._data_writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._closed = False
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            told = (await reader.readline()).split()
            writer.close()
            if len(told) != 3:
                raise PeerMisbehaved(
                    f"{self.host}:{self.port} said {told!r}; expected a host and two ports: is it a Pedro info port?"
                )
            host = told[0].decode()
            self._ack_reader, self._ack_writer = await asyncio.open_connection(host, int(told[1]))
            client = await self._ack_reader.readline()
            self._data_reader, self._data_writer = await asyncio.open_connection(host, int(told[2]), limit=MAX_LINE_BYTES)
            self._data_writer.write(client)
            said = await self._data_reader.readline()
        except OSError as error:
            await self.close()
            raise PeerUnreachable(f"no pedro door answers at {self.host}:{self.port}: {error.strerror or error}") from None
        except (ValueError, OverflowError) as error:
            await self.close()
            raise self._problem(error) from None
        except BaseException:
            await self.close()
            raise
        if said != b"ok\n":
            await self.close()
            raise PeerUnreachable(f"the pedro door at {self.host}:{self.port} did not accept this client: {said!r}")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave: the door ends this client's subscriptions and name. Closing twice is allowed."""
        self._closed = True
        for writer in (self._data_writer, self._ack_writer):
            if writer is not None:
                writer.close()

    async def send(self, line: str) -> int:
        """Send one line and return its answer, a number.

        Raises PeerUnreachable when the connection is gone, PeerMisbehaved when the answer is no number. When it is cancelled the
        client is closed: the answer would be taken for that of the next line.
        """
        if self._data_writer is None:
            raise DoorClosed("this client is not connected; use it inside `async with AsyncClient(...) as client:`")
        if "\n" in line:
            raise Refused(f"{line!r} holds a newline, which ends a line; write it as \\n inside quotes")
        async with self._commands:
            if self._closed:
                raise DoorClosed("this client is closed, or a command of its was cancelled; connect anew")
            try:
                self._data_writer.write(line.encode() + b"\n")
                answer = await self._ack_reader.readline()
            except asyncio.CancelledError:
                await self.close()
                raise
            except (ConnectionError, ValueError) as error:
                await self.close()
                raise self._problem(error) from None
        if not answer.endswith(b"\n"):
            raise PeerUnreachable(f"the pedro door at {self.host}:{self.port} is gone")
        try:
            return int(answer)
        except ValueError as error:
            await self.close()
            raise self._problem(error) from None

    async def notify(self, term: str) -> None:
        """Notify everybody whose subscription covers the term. Raises Refused for what is no notification."""
        await self._expect(term)

    async def subscribe(self, head: str, body: str = "true", rock: int = 0) -> int:
        """Subscribe to notifications that unify with ``head`` where ``body`` then holds; returns the subscription's id."""
        return await self._expect(f"subscribe({head}, ({body}), {rock})")

    async def unsubscribe(self, subscription: int) -> None:
        """End a subscription of this client."""
        await self._expect(f"unsubscribe({subscription})")

    async def register(self, name: str) -> None:
        """Take a name. Raises Refused when another client of this host has it."""
        await self._expect(f"register({name})")

    async def deregister(self, name: str) -> None:
        """Give the name back."""
        await self._expect(f"deregister({name})")

    async def p2p(self, to: str, sender: str, message: str) -> None:
        """Send a message to ``name@host``; variables in it address all who fit. ``sender`` is this client's own ``name@host``."""
        await self._expect(f"p2pmsg({to}, {sender}, {message})")

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """What is delivered to this client, in order, until it or the door closes.

        Raises PeerUnreachable when the connection is lost, PeerMisbehaved for what is no delivery.
        """
        while True:
            try:
                line = await self._data_reader.readline()
                if not line:
                    return
                rock, _, said = line.decode().removesuffix("\n").partition(" ")
                delivery = Delivery(int(rock), said)
            except (ConnectionError, ValueError) as error:
                raise self._problem(error) from None
            yield delivery

    def _problem(self, error: Exception) -> PeerUnreachable | PeerMisbehaved:
        if isinstance(error, ConnectionError):
            return PeerUnreachable(f"the pedro door at {self.host}:{self.port} is gone: {error}")
        return PeerMisbehaved(f"the pedro door at {self.host}:{self.port} sent what is not Pedro's protocol: {error}")

    async def _expect(self, line: str) -> int:
        answer = await self.send(line)
        if not answer:
            raise Refused(f"the pedro door refused {line!r}: check its syntax, or for a name whether it is taken")
        return answer
