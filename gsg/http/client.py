"""A client of a peer's HTTP door, with the verbs of :class:`gsg.Peer`."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from ssl import SSLError
from types import TracebackType
from typing import Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

from dht.resolving import resolve

from ..errors import DoorClosed, GsgError, LocalError, Overrun, PeerMisbehaved, PeerUnreachable, Refused, Stale, TooLarge, reason
from ..explain.explanations import HeldKey, Holding, Plan, Why, WhyNot
from ..languages import Delete as DeleteBlock
from ..languages import Insert as InsertBlock
from ..languages import Notify as NotifyBlock
from ..languages import parse_script
from ..languages.query import MAX_TOKENS
from ..languages.rows import Row
from ..subscriptions.backlog import LIMIT, Overflow, check_limit, overflow_of
from ..subscriptions.live import LiveSubscription
from ..subscriptions.subscription import Callback
from ..tuples import terms as model
from ..tuples.audiences import audience_of
from ..tuples.features import Key
from ..tuples.sizes import size_bytes
from ..tuples.terms import Tuple
from .client_subscription import ClientSubscription
from .protocol import (
    BYTES_PER_REQUEST,
    MAX_LIMIT,
    MAX_MESSAGE_BYTES,
    TUPLES_PER_REQUEST,
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
    Failed,
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
    Rows,
    Subscribe,
    Subscribed,
    Unsubscribe,
    UpToDate,
    error_of,
)

log = logging.getLogger(__name__)

DEFAULT_URL = "http://127.0.0.1:8470"
_PLACE = re.compile(r"[\w.-]+:[0-9]{1,5}")
OPEN_TIMEOUT_S = 5.0
SHOWN_BYTES = 1_000
"""How much is repeated of what a server says that lets a client not in."""
CONNECT_AGAIN = "connect again, here or at another peer"
SUBSCRIBE_AGAIN = (
    "connect and subscribe again, here or at another peer: rows begin again with a snapshot, and events in between are not told"
)
ASK_AGAIN = (
    "what it was asked may have been done or not: connect and ask again, here or at another peer; facts that are there already "
    "change nothing, and an event may be told twice"
)
"""What whoever calls, reads or waits for an answer can do when its connection has ended."""
Wanted = TypeVar("Wanted", bound=Reply)
MakeRequest: TypeAlias = Callable[[int, list[Tuple], "list[str] | None"], Request]


class Client:
    """A connection to a peer; an async context manager. Made by :func:`connect`."""

    def __init__(self, url: str = DEFAULT_URL, *, wait_for_quota: bool = False) -> None:
        self.url = url
        self._waits_for_quota = wait_for_quota
        self._websocket: ClientConnection | None = None
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        """Requests under way: bounded by the callers who await them."""
        self._streams: dict[int, ClientSubscription] = {}
        self._group = asyncio.TaskGroup()
        """Reads what comes, and tells the peer of subscriptions that nobody waited for; :meth:`close` ends it."""
        self._closing = False
        self._encode = msgspec.msgpack.Encoder().encode
        self._lost: GsgError | None = None

    async def __aenter__(self) -> Self:
        """Connect. Raises PeerUnreachable, or LocalError for a URL that is none."""
        try:
            parts = urlsplit(self.url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            fits = False
        if not fits:
            example = f"http://{self.url}" if _PLACE.fullmatch(self.url) else DEFAULT_URL
            raise LocalError(f"{self.url!r} is no address of a peer; expected one like {example}")
        target = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}/v1"
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                self._websocket = await _connected(target, str(parts.hostname), parts.port or (443 if target[:3] == "wss" else 80))
        except TimeoutError:
            raise PeerUnreachable(
                f"nobody answers at {self.url} within {OPEN_TIMEOUT_S:g} s, and nothing refuses the connection either: "
                "a peer there is stopped or hangs (continue it or start it again), or something on the way drops what is sent; "
                "name another with --peer URL or GSG_PEER"
            ) from None
        except InvalidMessage as error:
            raise PeerUnreachable(
                f"what answers at {self.url} is no HTTP door: {error}; expected the address that `gsg peer` prints after "
                "`http door at` (its --http), not that of --listen or --pedro; name it with --peer URL or GSG_PEER"
            ) from None
        except InvalidStatus as error:
            status, body = error.response.status_code, bytes(error.response.body or b"")[:SHOWN_BYTES].decode("utf-8", "replace")
            said = " ".join(body.split()) or error.response.reason_phrase
            raise PeerUnreachable(
                f"what answers at {self.url} lets this client not in (HTTP {status}): {said if said.isprintable() else ascii(said)}"
            ) from None
        except (OSError, InvalidHandshake, InvalidURI, EOFError, UnicodeError) as error:
            # TLS has no words of the system's.
            said = reason(error) if isinstance(error, OSError) and not isinstance(error, SSLError) else str(error)
            problem = said or "no answer"
            raise PeerUnreachable(
                f"no peer answers at {self.url}: {problem}; start one with `gsg peer`, or name another with --peer URL or GSG_PEER"
            ) from None
        await self._group.__aenter__()
        self._group.create_task(self._read())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave; every subscription ends. Closing twice is allowed."""
        if self._websocket is None or self._closing:
            return
        self._closing = True
        self._end(DoorClosed("this client is closed"))
        try:
            await self._websocket.close()
        finally:
            # The caller's own error is the caller's: the group is to wait for our tasks, not to wrap it.
            await self._group.__aexit__(None, None, None)

    async def insert(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples true; see :meth:`gsg.Peer.insert`. The readers are peers: whoever is at a door of theirs reads along.

        Where the peer refuses more from a client for now (docs/delivery.md, Quotas), a call that has been taken in part waits and
        goes on, at the rate that it may; one of which nothing was taken raises Refused, with ``again_s``.
        """
        return await self._publish(tuples, Insert, audience)

    async def retract(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples untrue; see :meth:`gsg.Peer.retract`."""
        return await self._publish(tuples, Retract, audience)

    async def notify(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> None:
        """Events; see :meth:`gsg.Peer.notify`."""
        await self._publish(tuples, Notify, audience)

    async def run(self, script: str) -> list[LiveSubscription]:
        """Run a GSG script; see :meth:`gsg.Peer.run`. The whole script is checked before any of it is sent."""
        made = []
        for block in parse_script(script):
            if isinstance(block, InsertBlock):
                await self.insert(block.tuples)
            elif isinstance(block, DeleteBlock):
                await self.retract(block.tuples)
            elif isinstance(block, NotifyBlock):
                await self.notify(block.tuples)
            else:
                made.append(await self.subscribe(block.text))
        return made

    async def subscribe(
        self,
        text: str,
        language: str = "gsg",
        callback: Callback | None = None,
        *,
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: str = Overflow.RESYNC,
    ) -> LiveSubscription:
        """A standing query; returns when its first answer is complete. See :meth:`gsg.Peer.subscribe`.

        Raises LocalError for a ``limit`` above a million.
        """
        choice = overflow_of(overflow)
        check_limit(limit, MAX_LIMIT)
        # The oldest go here, where they were counted into rows() before; a peer that dropped rows would leave it wrong for good.
        at_peer = Overflow.RESYNC if choice is Overflow.DROP_OLDEST else choice
        number = next(self._numbers)
        stream = self._streams[number] = ClientSubscription(text)
        try:
            await self._ask(Subscribe(number, text, language, limit, max_tokens, at_peer), Subscribed)
            await stream.complete.wait()
            if stream.error is not None and not stream.up_to_date:
                raise stream.error
        except BaseException as error:
            self._streams.pop(number, None)
            if isinstance(error, asyncio.CancelledError) and self._lost is None:
                self._group.create_task(self._forget(number))
            raise

        async def close() -> None:
            self._streams.pop(number, None)
            if self._lost is None:
                await self._forget(number)

        def full() -> None:
            self._streams.pop(number, None)
            if self._lost is None:
                self._group.create_task(self._forget(number))

        subscription = LiveSubscription(
            stream.names,
            rows_now=lambda: Counter(stream.rows),
            on_close=close,
            callback=callback,
            limit=limit,
            warnings=stream.warnings,
            number=stream.number,
            overflow=choice,
            on_full=full,
        )
        stream.begin(subscription)
        return subscription

    async def report(self) -> Report:
        """How the peer and those it knows are doing."""
        return await self._ask(AskReport(next(self._numbers)), Report)

    async def explain(self, text: str, language: str = "gsg") -> Plan:
        """How the peer would answer a query; see :meth:`gsg.monitoring.inspection.Inspection.explain`."""
        return (await self._ask(Explain(next(self._numbers), text, language), Explained)).plan

    async def subscriptions(self) -> list[Holding]:
        """The subscriptions of the peer, of whatever client, and what each holds."""
        return (await self._ask(AskHoldings(next(self._numbers)), Holdings)).subscriptions

    async def keys(self, keys: Sequence[Key], *, find: bool = False) -> list[HeldKey]:
        """What lies at the peer under each key, and who holds it; see :meth:`gsg.monitoring.inspection.Inspection.keys`.

        Raises LocalError for more than 10,000 keys, or 16 with ``find``.
        """
        return (await self._ask(AskKeys(next(self._numbers), list(keys), find), Keys)).keys

    async def why(self, subscription: int, row: Mapping[str, object]) -> Why:
        """Which tuples make a row of the subscription with this number at the peer. Some of the row's names will do."""
        reasons = await self._reasons(subscription, row, refused=False)
        if reasons.why is None:
            raise PeerMisbehaved("the peer was asked why a row holds, and did not say it")
        return reasons.why

    async def why_not(self, subscription: int, row: Mapping[str, object]) -> WhyNot:
        """Which part of a subscription's query leaves nothing of a row."""
        reasons = await self._reasons(subscription, row, refused=True)
        if reasons.why_not is None:
            raise PeerMisbehaved("the peer was asked why a row does not hold, and did not say it")
        return reasons.why_not

    async def drawing(self, subscription: int | None = None) -> str:
        """The network of the peer, or the part of it that a subscription uses, as SVG."""
        return (await self._ask(AskDrawing(next(self._numbers), subscription), Drawing)).svg

    async def _reasons(self, subscription: int, row: Mapping[str, object], *, refused: bool) -> Reasons:
        bound = row if isinstance(row, Row) else Row(row)
        return await self._ask(AskWhy(next(self._numbers), subscription, tuple(bound), bound.terms, refused), Reasons)

    async def _forget(self, number: int) -> None:
        # Where the peer does not know the subscription, or is gone, it has ended already.
        with suppress(LocalError, PeerUnreachable, PeerMisbehaved):
            await self._ask(Unsubscribe(next(self._numbers), number), Done)

    async def _publish(self, tuples: Iterable[Iterable[object]], make: MakeRequest, audience: Iterable[bytes | str] | None) -> int:
        changed = 0
        readers = audience_of(audience)
        named = None if readers is None else sorted(reader.hex() for reader in readers)
        # All parts are checked before the first is sent.
        for number, part in enumerate(list(_parts([model.fact(items) for items in tuples]))):
            while True:
                try:
                    changed += (await self._ask(make(next(self._numbers), part, named), Done)).count
                    break
                except Refused as error:
                    # Whoever was taken in part and came again with all of it would pay for that part each time.
                    if error.again_s is None or not (number or self._waits_for_quota):
                        raise
                    again_s = error.again_s
                await asyncio.sleep(again_s)
        return changed

    async def _ask(self, request: Request, wanted: type[Wanted]) -> Wanted:
        if self._websocket is None:
            raise DoorClosed("this client is not connected; use it inside `async with gsg.connect(url) as client:`")
        if self._lost is not None:
            raise _then(self._lost, CONNECT_AGAIN)
        encoded = self._encode(request)
        if not isinstance(request, (Insert, Retract, Notify)):  # whose tuples were checked
            _check(encoded)
        if len(encoded) > MAX_MESSAGE_BYTES:
            raise TooLarge(
                f"a request of {len(encoded):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: it would end the connection"
            )
        future = self._waiting[request.request] = asyncio.get_running_loop().create_future()
        try:
            await self._websocket.send(encoded)
            reply = await future
        except (ConnectionClosed, PeerUnreachable) as error:
            lost = error if isinstance(error, PeerUnreachable) else PeerUnreachable(f"the peer at {self.url} {_what_became(error)}")
            next_step = SUBSCRIBE_AGAIN if isinstance(request, Subscribe) else ASK_AGAIN
            raise _then(self._lost or lost, next_step) from None
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

    async def _read(self) -> None:
        assert self._websocket is not None
        decode = msgspec.msgpack.Decoder(Reply).decode
        try:
            async for data in self._websocket:
                self._received(decode(data if isinstance(data, bytes) else data.encode()))
        except ConnectionClosed as error:
            self._end(PeerUnreachable(f"the peer at {self.url} {_what_became(error)}"))
        except asyncio.CancelledError:
            # As asyncio.run does with all tasks when a program ends: who closes a subscription then must not wait for an answer.
            self._end(DoorClosed("this client is closed"))
            raise
        except Exception as error:
            # What a peer sends must not raise in whoever reads it: each of its users is told, and a defect of ours is in the log.
            if not isinstance(error, (msgspec.MsgspecError, PeerMisbehaved, RecursionError)):
                log.exception("a message of the peer at %s could not be taken", self.url)
            self._end(PeerMisbehaved(f"the peer at {self.url} sent what is no reply: {error}"))
            # 1002: a protocol error (RFC 6455, section 7.4.1).
            await self._websocket.close(1002)
        else:
            self._end(PeerUnreachable(f"the peer at {self.url} has stopped"))

    def _received(self, reply: Reply) -> None:
        stream = self._streams.get(reply.request)
        if isinstance(reply, Rows):
            if stream is not None:
                stream.arrived(reply)
        elif isinstance(reply, UpToDate):
            if stream is not None:
                stream.up_to_date = True
                stream.complete.set()
        elif isinstance(reply, Dropped):
            error = error_of(reply.why)
            if not isinstance(error, Overrun):
                raise PeerMisbehaved(f"events are said to be dropped because of {error!r}; expected an Overrun")
            if stream is not None:
                stream.dropped(error)
        elif isinstance(reply, OutOfDate):
            why = error_of(reply.why)
            if not isinstance(why, Stale):
                raise PeerMisbehaved(f"rows are said to be out of date because of {why!r}; expected a Stale")
            if stream is not None:
                stream.stale(why)
        elif isinstance(reply, Ended):
            self._streams.pop(reply.request, None)
            if stream is not None:
                stream.ended(error_of(reply.why))
        else:
            if isinstance(reply, Subscribed) and stream is not None:
                stream.names = reply.variables
                stream.warnings = reply.warnings
                stream.number = reply.number
            future = self._waiting.get(reply.request)
            if future is not None and not future.done():
                future.set_result(reply)

    def _end(self, error: GsgError) -> None:
        if self._lost is not None:
            return
        self._lost = error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.ended(_then(error, SUBSCRIBE_AGAIN))


def _then(lost: GsgError, next_step: str) -> GsgError:
    """Why a connection has ended, with what to do about it where that is the network's doing."""
    return PeerUnreachable(f"{lost}; {next_step}") if isinstance(lost, PeerUnreachable) else lost


def _what_became(error: ConnectionClosed) -> str:
    """What became of a peer whose connection is closed."""
    code, why = (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else (0, "")
    # 1001 and 1012: the peer goes away, or is started anew (RFC 6455, section 7.4.1, and the registry of its codes).
    if code in (1001, 1012):
        return "has stopped"
    if code == 1011 and "ping" in why:
        return (
            "has cut this client off, which did not answer for 20 s or more; let nothing keep its event loop waiting so long "
            f"({error})"
        )
    if error.rcvd is None and error.sent is None:
        return "is lost without a word: it died, the connection broke, or it cut this client off for not reading"
    if error.rcvd is None and error.sent is not None and error.sent.code == 1011:
        return "has not answered for 20 s or more: it hangs, or the connection is broken"
    return f"is lost: {error}"


_decode_request = msgspec.msgpack.Decoder(Request).decode


def _check(encoded: bytes) -> None:
    """Raise LocalError for what a peer would take for no request, before it is sent."""
    try:
        _decode_request(encoded)
    except msgspec.MsgspecError as error:
        raise LocalError(f"not a request: {error}; see the method's arguments for what is expected") from None


def _parts(tuples: list[Tuple]) -> Iterator[list[Tuple]]:
    """The tuples cut into requests, each short enough in number and in bytes."""
    part: list[Tuple] = []
    filled = 0
    for items in tuples:
        filled += size_bytes(items)
        part.append(items)
        if len(part) >= TUPLES_PER_REQUEST or filled >= BYTES_PER_REQUEST:
            yield part
            part, filled = [], 0
    if part:
        yield part


async def _connected(target: str, host: str, port: int) -> ClientConnection:
    """A WebSocket to the first address of the host that takes one. Raises what websockets raises, and OSError."""
    # Looked up here, and not by the loop, which would wait for a silent name server as it ends.
    *others, last = dict.fromkeys(await resolve(host, port))
    for address in others:
        try:
            return await _open(target, *address)
        except TimeoutError:
            raise
        except OSError:
            continue
    return await _open(target, *last)


async def _open(target: str, host: str, port: int) -> ClientConnection:
    return await websocket_connect(
        target, host=host, port=port, max_size=MAX_MESSAGE_BYTES, compression=None, open_timeout=None, proxy=None
    )


@asynccontextmanager
async def connect(url: str = DEFAULT_URL, *, wait_for_quota: bool = False) -> AsyncIterator[Client]:
    """A client of the peer at ``url``: ``async with gsg.connect() as client``. Raises PeerUnreachable.

    ``wait_for_quota``: what it publishes waits until the peer takes more from it, instead of raising Refused.
    """
    async with Client(url, wait_for_quota=wait_for_quota) as client:
        yield client
