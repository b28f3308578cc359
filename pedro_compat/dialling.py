"""How a client reaches a door: the three sockets of the protocol (facts, section 2), opened in their order."""

from __future__ import annotations

import asyncio

from gsg.errors import PeerMisbehaved, PeerUnreachable, Refused, reason

from .trust import checked_secret, secret_line
from .verbs import Delivery, delivery_of

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The longest delivery that is read."""


class Line:
    """An open connection to a door: lines go out and are answered in order, deliveries come in."""

    def __init__(
        self,
        where: str,
        acks: asyncio.StreamReader,
        ack_writer: asyncio.StreamWriter,
        data: asyncio.StreamReader,
        data_writer: asyncio.StreamWriter,
    ) -> None:
        self._where = where
        self._acks = acks
        self._ack_writer = ack_writer
        self._data = data
        self._data_writer = data_writer
        self._answering = asyncio.Lock()
        """Answers carry no number: they come in the order of the lines, and asyncio's locks are given in the order asked for."""

    @property
    def own_host(self) -> str:
        """This end's address, as the door sees it: the host of a name that is registered here."""
        host: str = self._ack_writer.get_extra_info("sockname")[0]
        return host

    @property
    def is_open(self) -> bool:
        """Whether neither side is known to have left."""
        ended = self._acks.at_eof() or self._data.at_eof() or self._ack_writer.is_closing() or self._data_writer.is_closing()
        return not ended

    async def ask(self, text: str) -> int:
        """Send a line at once, and wait for its answer, which comes after those of the lines before it.

        Raises PeerUnreachable when the connection is lost before, PeerMisbehaved when the answer is no number. After either, and
        when it is cancelled, the line is closed: an answer that nobody waits for would be taken for that of the next line.
        """
        try:
            self._data_writer.write(text.encode() + b"\n")
            async with self._answering:
                await self._data_writer.drain()
                answer = await self._acks.readline()
            if not answer.endswith(b"\n"):
                raise ConnectionError("it has closed the connection")
            return int(answer)
        except ConnectionError as error:
            self.close()
            raise PeerUnreachable(f"the pedro door at {self._where} is gone: {error}") from None
        except ValueError as error:
            self.close()
            raise misbehaved(self._where, error) from None
        except BaseException:
            self.close()
            raise

    async def delivery(self) -> Delivery | None:
        """The next delivery; None when there will be none, because either side has left.

        Raises PeerMisbehaved for a line that is no delivery.
        """
        try:
            received = await self._data.readline()
            return delivery_of(received) if received.endswith(b"\n") else None
        except ConnectionError:
            return None
        except ValueError as error:
            raise misbehaved(self._where, error) from None

    def close(self) -> None:
        """Leave. Closing twice is allowed."""
        self._data_writer.close()
        self._ack_writer.close()


def misbehaved(where: str, error: Exception) -> PeerMisbehaved:
    """What answers there does not speak the protocol."""
    return PeerMisbehaved(f"the pedro door at {where} sent what is not Pedro's protocol: {error}")


async def dial(host: str, port: int, secret: str | None = None) -> Line:
    """Connect to the door whose info port this is, and say the secret where one is given.

    Raises PeerUnreachable when nobody answers there or the client is not accepted, PeerMisbehaved when what answers is no Pedro
    server, Refused when the secret is not that of the door, or the door asks for none.
    """
    where = f"{host}:{port}"
    opened: list[asyncio.StreamWriter] = []
    try:
        reader, writer = await asyncio.open_connection(host, port)
        opened.append(writer)
        told = (await reader.readline()).split()
        writer.close()
        if len(told) != 3:
            raise PeerMisbehaved(f"{where} said {told!r}; expected a host and two ports: is it a Pedro info port?")
        server = told[0].decode()
        acks, ack_writer = await asyncio.open_connection(server, int(told[1]))
        opened.append(ack_writer)
        client = await acks.readline()
        data, data_writer = await asyncio.open_connection(server, int(told[2]), limit=MAX_LINE_BYTES)
        opened.append(data_writer)
        data_writer.write(client)
        said = await data.readline()
        if said != b"ok\n":
            raise PeerUnreachable(f"the pedro door at {where} did not accept this client: {said!r}")
        line = Line(where, acks, ack_writer, data, data_writer)
        if secret is not None and not await line.ask(secret_line(checked_secret(secret))):
            raise Refused(f"the pedro door at {where} does not take this secret: it has another one, or asks for none")
    except BaseException as error:
        for each in opened:
            each.close()
        if isinstance(error, OSError):
            raise PeerUnreachable(f"no pedro door answers at {where}: {reason(error)}") from None
        if isinstance(error, ValueError | OverflowError):
            raise misbehaved(where, error) from None
        raise
    return line
