"""A client's connection to a peer: each request has a number, under which its reply comes, and the rows of a subscription.

    new ──open──> connected ──the peer is lost──> reconnecting ──here or at another peer──> connected
                      │                                │
                      └──────────> closed <────────────┘  closed here, given up, or the peer sent what is no reply

While it is reconnecting, what is asked waits. What was under way is sent again under its number where that does no harm: facts,
since they are a set, events with a key, questions and subscriptions. Another event might be told twice, so whoever waits for its
acknowledgement is told that it may have been told or not. Subscriptions are made again under the numbers that they had. A
connection that does not reconnect ends when its peer is lost, and whoever waits for a reply then, or reads a subscription, is told
why, and what to do. What reads a subscription and fails at that ends its subscription alone (subscription_reader.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from enum import Enum
from itertools import count
from random import Random
from ssl import SSLContext
from typing import TypeAlias, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from ...errors import AccessDenied, DoorClosed, GsgError, LocalError, PeerMisbehaved, PeerUnreachable, Reconnected, RemoteError
from ..failures import error_of
from ..protocol import (
    AskDoors,
    Done,
    Doors,
    Ended,
    Failed,
    OfSubscription,
    Reply,
    Request,
    Subscribed,
    Unsubscribe,
)
from .door_choice import DoorChoice, GiveUp, Pause, pause_s
from .opening import check_token, check_url, open_websocket, why_closed
from .subscription_reader import SubscriptionReader, end_reader, failure_of
from .under_way import CONNECT_AGAIN, Asked, asked_for, may_be_sent_again, next_step, with_next_step

log = logging.getLogger(__name__)

Wanted = TypeVar("Wanted", bound=Reply)

Token: TypeAlias = str | Callable[[], str]
"""What is shown to a peer, or what says it each time."""

_decode_reply = msgspec.msgpack.Decoder(Reply).decode


class ConnectionState(Enum):
    """Where the connection of a client stands."""

    NEW = "new"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    CLOSED = "closed"


class PeerConnection:
    """One WebSocket after the other to doors of peers, and what is asked and told over it.

    ``reconnects``: whether a peer that is lost is to be followed by the next one; ``on_state`` is called when the state changes,
    with what has happened, in words. ``pause`` waits for so many seconds. ``tls`` is for doors that speak it, ``token``
    for those that were given.
    """

    def __init__(
        self,
        doors: DoorChoice,
        *,
        reconnects: bool = True,
        on_state: Callable[[ConnectionState, str], object] | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: Random,
        tls: SSLContext | None = None,
        token: Token | None = None,
    ) -> None:
        self.lost: GsgError | None = None
        """Why the connection has ended."""
        self.state = ConnectionState.NEW
        self.url = ""
        """The door that it is connected to, or was at last."""
        self.subscriptions: dict[int, SubscriptionReader] = {}
        """By the number of the request that makes each; an entry goes when it is closed, or has ended."""
        self._lost_url = ""
        """The door of the peer that was lost at last."""
        self._doors = doors
        self._reconnects = reconnects
        self._on_state = on_state
        self._pause = pause
        self._rng = rng
        self._tls = tls
        self._token = token if token is None or callable(token) else check_token(token)
        self._websocket: ClientConnection | None = None
        """None where there is none that stands."""
        self._returned = asyncio.Event()
        """Set unless it is reconnecting."""
        self._reconnected: Reconnected | None = None
        """The last time that it was back."""
        self._numbers = count(1)
        self._waiting: dict[int, Asked] = {}
        """Requests under way: bounded by the callers who await them, and the subscriptions that are made again."""
        self._refused_again: set[int] = set()
        """Subscriptions that the peer could not make again yet, each with a task that waits to ask again."""
        self._ask_doors = 0
        """The number of the request for other doors."""
        self._group = asyncio.TaskGroup()
        """Reads what comes, connects again, and asks what nobody waits for; :meth:`close` ends it."""
        self._background: set[asyncio.Task[None]] = set()
        """Those of its tasks that end at once when the connection is closed."""
        self._closing = False

    async def open(self) -> None:
        """Connect to the first door that answers. Raises PeerUnreachable, or LocalError for a URL that is none."""
        urls = self._doors.first()
        for url in urls:
            check_url(url)
        problems: list[str] = []
        for url in urls:
            try:
                self._websocket = await self._open(url)
                break
            except (RemoteError, AccessDenied) as error:
                if len(urls) == 1:
                    raise
                problems.append(str(error))
        else:
            raise PeerUnreachable(f"none of {len(urls)} peers answers: {' | '.join(problems)}")
        await self._group.__aenter__()
        self._connected(url)
        self._returned.set()
        self._set_state(ConnectionState.CONNECTED, f"connected to {url}")
        self._run_in_background(self._serve(self._websocket))
        self._run_in_background(self._hear_of_doors())

    async def close(self) -> None:
        """Leave; every subscription ends. Closing twice is allowed."""
        if self.state is ConnectionState.NEW or self._closing:
            return
        self._closing = True
        self.end(DoorClosed("this client is closed"))
        try:
            if self._websocket is not None:
                await self._websocket.close()
        finally:
            for task in list(self._background):
                task.cancel()
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

    def _run_in_background(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def ask(self, request: Request, wanted: type[Wanted]) -> Wanted:
        """Send a request and wait for its reply; while the connection is reconnecting, for a peer to send it to.

        Raises what the peer says, and why the connection has ended where it has; PeerUnreachable where the peer was lost before it
        answered, of what is not sent again to another one.
        """
        if self.state is ConnectionState.NEW:
            raise DoorClosed("this client is not connected; use it inside `async with gsg.connect(url) as client:`")
        self._check_open()
        asked = asked_for(request)
        while not self._returned.is_set():
            await self._returned.wait()
        self._check_open()
        self._waiting[request.request] = asked
        try:
            await self._send(asked)
            reply = await asked.reply
        except PeerUnreachable as error:
            raise with_next_step(error, next_step(request, is_open=self.lost is None)) from None
        finally:
            self._waiting.pop(request.request, None)
            if asked.reply.done() and not asked.reply.cancelled():
                # Told already by a failing send: asyncio is not to complain that nobody looked.
                asked.reply.exception()
        if isinstance(reply, Failed):
            raise error_of(reply)
        if not isinstance(reply, wanted):
            raise PeerMisbehaved(f"the peer answered {type(request).__name__} with {type(reply).__name__}")
        return reply

    def _check_open(self) -> None:
        if self.lost is not None:
            raise with_next_step(self.lost, CONNECT_AGAIN)

    async def _send(self, asked: Asked) -> None:
        """Where the WebSocket does not take it, whoever reads from that is about to see why, and deals with what is under way."""
        assert self._websocket is not None, "none is lost without a pause"
        with suppress(ConnectionClosed):
            await self._websocket.send(asked.encoded)

    # --- what comes ---------------------------------------------------------------------------------------------------------

    async def _serve(self, websocket: ClientConnection) -> None:
        """Read until the connection has ended for good."""
        try:
            while True:
                why = await self._read(websocket)
                if self.lost is not None or not self._reconnects or not isinstance(why, PeerUnreachable):
                    self.end(why)
                    return
                self._lose(why)
                found = await self._find_door(why)
                if isinstance(found, PeerUnreachable):
                    self.end(found)
                    return
                websocket = found
                self._come_back(websocket, why)
        except asyncio.CancelledError:
            # As asyncio.run does with all tasks when a program ends: who closes a subscription then must not wait for an answer.
            self.end(DoorClosed("this client is closed"))
            raise

    async def _read(self, websocket: ClientConnection) -> GsgError:
        """Take what comes until nothing more does; returns why."""
        try:
            async for data in websocket:
                self.receive(_decode_reply(data if isinstance(data, bytes) else data.encode()))
        except ConnectionClosed as error:
            return self._lost_by(why_closed(error))
        except (msgspec.MsgspecError, PeerMisbehaved, RecursionError) as error:
            why: GsgError = PeerMisbehaved(f"the peer at {self.url} sent what is no reply: {error}")
            code = 1002  # a protocol error (RFC 6455, section 7.4.1)
        except Exception as error:
            # What a peer sends must not raise in whoever reads it: each of its users is told, and a defect of ours is in the log.
            log.exception("a message of the peer at %s could not be taken", self.url)
            why = LocalError(
                f"this client failed at a message of the peer at {self.url}: {type(error).__name__}: {error}; its log says more: "
                "please report that, and connect again"
            )
            code = 1011  # an unexpected condition (the same)
        else:
            return self._lost_by("has stopped")
        self.end(why)
        await websocket.close(code)
        return why

    def _lost_by(self, why: str) -> PeerUnreachable:
        return PeerUnreachable(f"the peer at {self.url} {why}")

    def receive(self, reply: Reply) -> None:
        """A message has come. Raises PeerMisbehaved for what a subscription cannot be told."""
        subscription = self.subscriptions.get(reply.request)
        try:
            if isinstance(reply, OfSubscription):
                if isinstance(reply, Ended):
                    self.subscriptions.pop(reply.request, None)
                if subscription is not None:
                    subscription.receive(reply)
                return
            if isinstance(reply, Subscribed) and subscription is not None:
                subscription.begin(reply, self._reconnected)
        except PeerMisbehaved:
            raise
        except Exception as error:
            log.exception("what reads a subscription at %s failed at what the peer told it", self.url)
            self._abandon(reply.request, failure_of(error))
            return
        if isinstance(reply, Doors) and reply.request == self._ask_doors:
            self._doors.learn(reply.urls)
        asked = self._waiting.get(reply.request)
        if asked is not None and not asked.reply.done():
            asked.reply.set_result(reply)

    def _abandon(self, number: int, failure: LocalError) -> None:
        """What reads a subscription has failed: that ends, here and at the peer, and nothing else does."""
        if (reader := self.subscriptions.pop(number, None)) is not None:
            end_reader(reader, failure)
            self._run_in_background(self._unsubscribe(number))
        if (asked := self._waiting.get(number)) is not None and not asked.reply.done():
            asked.reply.set_exception(failure)

    async def _unsubscribe(self, number: int) -> None:
        with suppress(LocalError, RemoteError):  # the peer does not know it, or is gone
            await self.ask(Unsubscribe(self.next_number(), number), Done)

    def end(self, error: GsgError) -> None:
        """The connection has ended for good: whoever waits or reads is told why."""
        if self.lost is not None:
            return
        self.lost = error
        self._returned.set()
        for asked in self._waiting.values():
            if not asked.reply.done():
                asked.reply.set_exception(error)
        subscriptions, self.subscriptions = self.subscriptions, {}
        for subscription in subscriptions.values():
            end_reader(subscription, with_next_step(error, subscription.again))
        self._set_state(ConnectionState.CLOSED, str(error))

    # --- another peer -------------------------------------------------------------------------------------------------------

    def _lose(self, why: PeerUnreachable) -> None:
        """The peer is lost; it is about to be looked for another one."""
        self._websocket = None
        self._lost_url = self.url
        self._returned.clear()
        self._doors.lost(asyncio.get_running_loop().time())
        for asked in self._waiting.values():
            if not may_be_sent_again(asked.request) and not asked.reply.done():
                asked.reply.set_exception(why)
        self._set_state(ConnectionState.RECONNECTING, str(why))

    async def _find_door(self, problem: GsgError) -> ClientConnection | PeerUnreachable:
        """A WebSocket to the next peer that answers, or why there is none: at first, why the last one was lost."""
        while True:
            match self._doors.next(asyncio.get_running_loop().time()):
                case Pause(seconds):
                    await self._pause(seconds)
                case GiveUp(tried_s):
                    return PeerUnreachable(f"{problem}; tried for {tried_s:.1f} s to connect again")
                case order:
                    try:
                        websocket = await self._open(order.url)
                    except GsgError as error:
                        if isinstance(error, AccessDenied) and str(error) != str(problem):
                            # Waiting alone will hardly help: whoever runs this is to know.
                            self._set_state(ConnectionState.RECONNECTING, str(error))
                        problem = error
                    else:
                        self._connected(order.url)
                        return websocket

    async def _open(self, url: str) -> ClientConnection:
        token = self._token if self._doors.was_given(url) else None
        return await open_websocket(url, self._tls, check_token(token()) if callable(token) else token)

    def _connected(self, url: str) -> None:
        self.url = url
        self._doors.connected(url, asyncio.get_running_loop().time())

    def _come_back(self, websocket: ClientConnection, why: PeerUnreachable) -> None:
        self._websocket = websocket
        self._reconnected = Reconnected(f"{why}; connected to {self.url}", lost_url=self._lost_url, url=self.url)
        self._run_in_background(self._resume(websocket))

    async def _resume(self, websocket: ClientConnection) -> None:
        """Send again what was under way, and make subscriptions again, in the order in which they were asked for."""
        if self._websocket is not websocket:
            return  # lost again
        for number, reader in self.subscriptions.items():
            if number not in self._waiting and number not in self._refused_again:
                self._waiting[number] = made_again = asked_for(reader.request)
                made_again.reply.add_done_callback(lambda reply, number=number: self._made_again(number, reply))  # type: ignore[misc]  # binds it
        for number in sorted(self._waiting):
            asked = self._waiting.get(number)  # whoever asked may have given up meanwhile
            if asked is not None and not asked.reply.done():
                await self._send(asked)
            if self._websocket is not websocket:
                return  # lost again
        self._returned.set()
        self._set_state(ConnectionState.CONNECTED, f"connected to {self.url}")
        await self._hear_of_doors()

    def _made_again(self, number: int, reply: asyncio.Future[Reply]) -> None:
        """The peer has answered to a subscription that was made again, or the connection has ended."""
        self._waiting.pop(number, None)
        if reply.cancelled() or reply.exception() is not None or not isinstance(failed := reply.result(), Failed):
            return
        self._refuse_again(number, error_of(failed))

    def _refuse_again(self, number: int, error: GsgError) -> None:
        reader = self.subscriptions.get(number)
        if reader is None:
            return
        if isinstance(error, RemoteError):
            # Peers that have just lost one of them may not be able to answer at once.
            log.warning("the peer at %s cannot make a subscription again, and is asked again: %s", self.url, error)
            self._refused_again.add(number)
            self._run_in_background(self._make_again(number, reader))
        else:
            del self.subscriptions[number]
            end_reader(reader, error)

    async def _make_again(self, number: int, reader: SubscriptionReader) -> None:
        """Ask for a subscription until the peer makes it, with pauses."""
        try:
            for attempt in count():
                await self._pause(pause_s(attempt, self._rng))
                if self.subscriptions.get(number) is not reader:
                    return
                try:
                    await self.ask(reader.request, Subscribed)
                except RemoteError as error:
                    log.warning("the peer at %s cannot make a subscription again, and is asked again: %s", self.url, error)
                except LocalError as error:
                    if self.subscriptions.pop(number, None) is reader:
                        end_reader(reader, error)
                    return
                else:
                    return
        finally:
            self._refused_again.discard(number)

    async def _hear_of_doors(self) -> None:
        """Ask the peer for others' doors; earlier versions say that this is no request."""
        if not self._reconnects:
            return
        self._ask_doors = self.next_number()
        try:
            await self.ask(AskDoors(self._ask_doors), Doors)
        except (RemoteError, LocalError) as error:
            log.info("the peer at %s tells of no other doors: %s", self.url, error)

    def _set_state(self, state: ConnectionState, why: str) -> None:
        self.state = state
        if self._on_state is None:
            log.log(logging.WARNING if state is ConnectionState.RECONNECTING else logging.INFO, "%s: %s", state.value, why)
        else:
            try:
                self._on_state(state, why)
            except Exception:
                # The callback is the user's: what it raises must not end the connection.
                log.exception("a callback for the state of a connection failed at %s", state)
