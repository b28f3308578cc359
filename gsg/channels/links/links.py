"""The links of a channel: sockets around :mod:`.routing`.

    async with Links(channel, listen=("127.0.0.1", 4010), to=[("127.0.0.1", 4011)]) as links:
        channel.publish({"type": "error"})

A link is made by the side that names the other's address, again and again while it is missing; where both sides do, one socket
is kept: the earlier one, and of two made at once that of the side whose origin comes first, as both know. Links are for processes
of one host: they are neither encrypted nor proved, so addresses other than loopback are refused. Channels on several hosts are
joined by peers: see gsg/channels/overlay.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from types import TracebackType
from typing import Final, NamedTuple, Self

from ...errors import DoorClosed, GsgError, LocalError, PeerMisbehaved, reason
from ..channel import Channel
from ..languages.expressions import Condition
from .messages import MAX_FRAME, MAX_NAME, Hello, Interests, Message, Taken, decode, encode
from .routing import KNOWN_CHARACTERS, MAX_CHARACTERS, MAX_ORIGINS, MAX_OWED, OWED_BYTES, Routing

log = logging.getLogger(__name__)

HELLO_S: Final = 5.0
"""How long a neighbour may take to say hello; then its link ends."""
HEARTBEAT_S: Final = 5.0
"""How often something is said on each link; one on which nothing is heard for three times as long is broken."""
AGAIN_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""After how long a link that could not be made is tried again, each time; the last one holds from then on."""
MAX_RESENT: Final = OWED_BYTES + 16 * MAX_OWED + 5 * (KNOWN_CHARACTERS + MAX_CHARACTERS) + (4 * MAX_NAME + 32) * (MAX_ORIGINS + 1)
"""Bytes that are told at most when a link is made: all that is owed, with 16 beside each event, and all interests. A character
takes up to 4 bytes and a name up to 5 more, while one more character is counted for each name."""
MAX_UNSENT: Final = MAX_RESENT + 32 * 1024 * 1024
"""Bytes that wait to be sent on a link, more than are told when it is made, so that this does not break it. At the limit it is
broken, as the neighbour reads too slowly, and goes on where it was when it is made again. Events alone do not come so far: at
OWED_BYTES the link is given up."""


class _Socket(NamedTuple):
    """Of a link that is up."""

    writer: asyncio.StreamWriter
    is_kept: bool
    """Whether this one is kept where both sides have called at once."""


class Links:
    """Links a channel with others while the block is entered. ``to``: whom to link with; ``listen``: where others may. A channel
    has one Links at a time, and may have another one after the block of the first was left."""

    def __init__(
        self,
        channel: Channel,
        *,
        listen: tuple[str, int] = ("127.0.0.1", 0),
        to: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._listen = _loopback(listen)
        self._to = [_loopback(address) for address in to]
        self._sockets: dict[str, _Socket] = {}
        """By the origin of the neighbour."""
        self.routing: Routing
        """There while the block is entered, and after it."""
        self._announcing: asyncio.Handle | None = None
        """What tells others of changed interests, once for all changes of one turn of the loop."""
        self._channel = channel
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.routing = Routing(self._channel, self._send, self._end, self._loop.time)
        await self._group.__aenter__()
        try:
            self._server = await asyncio.start_server(self._accept, *self._listen, limit=MAX_FRAME)
        except BaseException as error:
            self.routing.close()
            await self._group.__aexit__(None, None, None)
            if isinstance(error, OSError):
                raise DoorClosed(f"channel {self._channel.name} cannot listen at {_shown(self._listen)}: {reason(error)}") from None
            raise
        self._channel.on_interest.append(self._interests_changed)
        for address in self._to:
            self._start(self._keep_link(address))
        self._start(self._beat())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()
        for task in self._running:
            task.cancel()
        try:
            await self._group.__aexit__(None, None, None)
            await self._server.wait_closed()
        finally:
            # What the channel hears of from now on is not for these links.
            self._channel.on_interest.remove(self._interests_changed)
            self.routing.close()
            if self._announcing is not None:
                self._announcing.cancel()

    def _interests_changed(self, condition: Condition, asker: str, sign: int) -> None:
        """Tell others at the end of this turn of the loop: the closure takes long where there are many subscriptions, and who
        subscribes once mostly does so again."""
        self.routing.interests_changed()
        if self._announcing is None:
            self._announcing = self._loop.call_soon(self._announce)

    def _announce(self) -> None:
        self._announcing = None
        self.routing.announce()

    @property
    def address(self) -> tuple[str, int]:
        """Where others link with this channel."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def linked_with(self, count: int) -> None:
        """Wait until there are links with so many neighbours."""
        await self._wait_until(lambda: len(self.routing.neighbours) >= count)

    async def knows(self, count: int) -> None:
        """Wait until the interests of so many other channels are known: what they want is sent to them from then on."""
        await self._wait_until(lambda: self.routing.known >= count)

    async def reaches(self, origins: Iterable[str]) -> None:
        """Wait until these other channels are reached and their interests known, and no others, such as earlier lives of theirs."""
        wanted = frozenset(origins)
        await self._wait_until(lambda: self.routing.reached == wanted)

    async def without_links(self) -> None:
        """Wait until there is no link."""
        await self._wait_until(lambda: not self.routing.neighbours)

    async def all_taken(self) -> None:
        """Wait until all that was told was taken, or its link is gone."""
        await self._wait_until(lambda: not self.routing.owed)

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._news.clear()
            await self._news.wait()

    def _start(self, work: object) -> None:
        task: asyncio.Task[None] = self._group.create_task(work)  # type: ignore[arg-type]  # a coroutine
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _keep_link(self, address: tuple[str, int]) -> None:
        missed = 0
        while True:
            try:
                reader, writer = await asyncio.open_connection(*address, limit=MAX_FRAME)
            except OSError as error:
                if not missed:
                    log.info("channel %s: no link to %s yet: %s", self._channel.name, _shown(address), reason(error))
            else:
                origin = await self._serve(reader, writer, dialled=True)
                if origin:
                    missed = 0
                    # Where the neighbour has called as well, the other socket may be the one that is kept.
                    await self._without_link(origin)
            await asyncio.sleep(AGAIN_S[min(missed, len(AGAIN_S) - 1)])
            missed += 1

    async def _without_link(self, origin: str) -> None:
        await self._wait_until(lambda: origin not in self._sockets)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._start(self._serve_accepted(reader, writer))

    async def _serve_accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(reader, writer, dialled=False)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, dialled: bool) -> str:
        """Talk on a link until it ends; with whom there was one, if there was, by this socket or by another one."""
        origin, linked_with, mine = "", "", None
        try:
            first = await self._greet(reader, writer)
            if dialled and first.origin in self._sockets:
                return first.origin  # the neighbour has called before, and hears no second hello: its socket stays as it is
            hello = await self._greet_again(first, reader, writer)
            origin = hello.origin
            mine = _Socket(writer, dialled == (self._channel.source < origin))
            before = self._sockets.get(origin)
            if before is not None and before.is_kept and not mine.is_kept:
                return origin
            self._sockets[origin] = mine
            if before is not None:
                before.writer.close()
            self.routing.link_up(hello)
            linked_with = origin
            self._news.set()
            await self._talk(reader, origin)
        except GsgError as error:
            log.warning("channel %s: a link is ended: %s", self._channel.name, error)
        except (OSError, EOFError, TimeoutError) as error:
            log.info("channel %s: a link broke: %s", self._channel.name, error or type(error).__name__)
        except Exception:  # in a TaskGroup any ends all tasks: a defect that one neighbour brings out must not
            log.exception("channel %s: a link is ended by a defect", self._channel.name)
        finally:
            if origin and self._sockets.get(origin) is mine:
                del self._sockets[origin]
                self.routing.link_broke(origin)
                self._news.set()
            writer.close()
        return linked_with

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello:
        """Exchange who is who."""
        writer.write(encode(self.routing.hello("")))
        async with asyncio.timeout(HELLO_S):
            first = await _frame(reader)
        if not isinstance(first, Hello):
            raise PeerMisbehaved(f"a {type(first).__name__} where a channel says hello; expected the port of a channel's links")
        return first

    async def _greet_again(self, first: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello:
        """Exchange what was taken: that is known only of whom one knows."""
        writer.write(encode(self.routing.hello(first.origin)))
        async with asyncio.timeout(HELLO_S):
            second = await _frame(reader)
        if not isinstance(second, Hello) or second.origin != first.origin:
            raise PeerMisbehaved(f"channel {first.name} does not say what it has taken; expected a second hello")
        return second

    async def _talk(self, reader: asyncio.StreamReader, origin: str) -> None:
        read = 0
        while True:
            async with asyncio.timeout(3 * HEARTBEAT_S):
                message = await _frame(reader)
            self.routing.received(origin, message)
            if isinstance(message, (Interests, Taken)):
                self._news.set()
            read += 1
            if not reader._buffer:  # type: ignore[attr-defined]  # asyncio has no public way to ask
                self.routing.nothing_to_read(origin)
                read = 0
            elif read % 64 == 0:
                await asyncio.sleep(0)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            self.routing.advance()
            for origin in list(self._sockets):
                self._send(origin, Taken(0))

    def _send(self, origin: str, message: Message) -> None:
        socket = self._sockets.get(origin)
        if socket is None or socket.writer.is_closing():
            return  # what is owed is sent when the link is made again
        if socket.writer.transport.get_write_buffer_size() > MAX_UNSENT:
            log.warning("channel %s: a neighbour reads too slowly; its link is broken, and goes on later", self._channel.name)
            socket.writer.transport.abort()
            return
        socket.writer.write(encode(message))

    def _end(self, origin: str) -> None:
        """End the socket of a link that is given up."""
        socket = self._sockets.get(origin)
        if socket is not None:
            log.warning("channel %s: a neighbour takes too little of what it is told; its link is given up", self._channel.name)
            socket.writer.transport.abort()


async def _frame(reader: asyncio.StreamReader) -> Message:
    """The next message. Raises OSError, EOFError, PeerMisbehaved."""
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > MAX_FRAME:
        raise PeerMisbehaved(f"a frame of {length:,} bytes; expected at most {MAX_FRAME:,} from a channel")
    return decode(await reader.readexactly(length))


def _loopback(address: tuple[str, int]) -> tuple[str, int]:
    host, _ = address
    try:
        if ip_address("127.0.0.1" if host == "localhost" else host).is_loopback:
            return address
    except ValueError:
        pass
    raise LocalError(
        f"links at {_shown(address)}: links are for one host, as they are neither encrypted nor proved; expected 127.0.0.1 or ::1"
    )


def _shown(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
