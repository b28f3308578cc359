"""A client of Pedro's door, or of an original Pedro server, with async/await: the verbs of the protocol (manual, section 4).

    fresh ──entered──> connected ──connection lost──> reconnecting ──name and subscriptions stand again──> connected
                           │                               │
                           └────────────closed <───────────┘  closed by its owner, or given up after ``reconnect_s``

The client has one task of its own, which waits for the connection to be lost and restores it, whether or not anybody sends or
reads meanwhile. A line whose answer did not come is never sent again, because it may have been carried out; its sender is told.
What was delivered before the connection was lost is read first. What others said while it was lost is lost too: ``connections``
counts how often that may have been.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import Enum
from itertools import count
from ssl import SSLContext
from types import TracebackType
from typing import Self

from gsg.errors import DoorClosed, PeerUnreachable, Refused, RemoteError

from ..door.extensions import Options
from ..terms.python_terms import Said
from ..terms.terms import atom_of
from .client_lines import (
    Delivery,
    address,
    deregister_line,
    line_of,
    notification_line,
    p2p_line,
    refusal,
    register_line,
    subscribe_line,
)
from .client_sockets import Line, dial

log = logging.getLogger(__name__)

RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Pauses between attempts to restore a connection, each no longer than what is left of ``reconnect_s``; the last repeats."""
SHORT_S = 1.0
"""Of connections that are lost sooner than this one after another, the second and further ones are not restored at once, but after
the pauses of RETRY_S, one longer each time."""
MAX_UNREAD_LINES = 16
"""Lost connections whose deliveries are still unread; of one more, those of the oldest are let go, which the log says."""
MAX_UNANSWERED = 1_000
"""Lines sent whose answers are still to come; one more waits for the first of them."""


class State(Enum):
    """Where a client stands."""

    FRESH = "fresh"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    CLOSED = "closed"


@dataclass(slots=True)
class _Standing:
    """A subscription as it was made, and its number at the door."""

    line: str
    number: int


class AsyncClient:
    """One client; an async context manager. Any number of tasks may send; one may read deliveries.

    Lines are sent at once and answered in order, so tasks that send together pipeline. ``reconnect_s``: how long a lost
    connection is tried to be restored, with this client's name and subscriptions, before the client gives up; 0 never tries. From
    then on each verb raises what stood against it. ``secret``: what a door that asks for one is told first. ``connect_s``: how
    long the door may take until the client is connected. ``tls``: whom to trust, of a door that speaks TLS, such as
    ``ssl.create_default_context(cafile="ca.pem")``; its certificate is to be one of ``host``.

    Entering raises PeerUnreachable when nobody answers at the info port, PeerMisbehaved when what answers is no Pedro server or
    stays silent, Refused when the door does not take the secret.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 4550,
        *,
        reconnect_s: float = 30.0,
        secret: str | None = None,
        connect_s: float = 10.0,
        tls: SSLContext | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.reconnect_s = reconnect_s
        self.connect_s = connect_s
        self.name: str | None = None
        """The name that is registered."""
        self.connections = 0
        """How often the client has connected; each time after the first, deliveries may have been missed."""
        self.state = State.FRESH
        self._secret = secret
        self._tls = tls
        self._line: Line | None = None
        self._unread: deque[Line] = deque()
        """Connections whose deliveries are to be read, oldest first; the last is ``_line``. Limit: MAX_UNREAD_LINES before it."""
        self._given_up: RemoteError | None = None
        """Why the connection is not restored any more."""
        self._group: asyncio.TaskGroup | None = None
        """Owns the one task, which ends when the client is closed or has given up."""
        self._restoring: asyncio.Task[None] | None = None
        self._standing: dict[int, _Standing] = {}
        self._made = 0
        self._unanswered = asyncio.Semaphore(MAX_UNANSWERED)

    @property
    def handle(self) -> str:
        """This client's address ``name@host``, for others to answer to. Raises Refused while no name is registered."""
        if self.name is None:
            raise Refused("this client has no name, and so no handle; register one first")
        return address(self.name, self._connected().own_host)

    async def __aenter__(self) -> Self:
        self._use_line(await dial(self.host, self.port, self._secret, connect_s=self.connect_s, tls=self._tls))
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._restoring = self._group.create_task(self._restore_when_lost())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave: the door ends this client's subscriptions and name. Closing twice is allowed."""
        self.state = State.CLOSED
        for line in self._unread:
            line.close()
            line.replaced.set()
        group, self._group = self._group, None
        if group is not None and self._restoring is not None:
            self._restoring.cancel()
            await group.__aexit__(None, None, None)
        for line in list(self._unread):
            await line.wait_closed()

    async def send(self, said: Said) -> int:
        """Send one line and return its answer, a number.

        Raises PeerUnreachable when the connection was lost before the answer came: whether the line was carried out is not
        known then. When it is cancelled the connection is given up: the answer would be taken for that of another line.
        """
        _, answer = await self._send(line_of(said))
        return answer

    async def notify(self, said: Said) -> None:
        """Notify everybody whose subscription covers the term.

        Raises Refused for what is no notification, commands included, and BadTerm for what is no term.
        """
        await self._send_accepted(notification_line(said))

    async def subscribe(self, head: Said, body: Said = "true", rock: int = 0, *, options: Options | None = None) -> int:
        """Subscribe to notifications that unify with ``head`` where ``body`` then holds; returns the subscription's number.

        The number is this client's own, and stays when a connection is restored. ``options`` ask for more than Pedro does; doors
        without extensions refuse them.
        """
        line = subscribe_line(head, body, rock, options)
        number = await self._send_accepted(line)
        self._made += 1
        self._standing[self._made] = _Standing(line, number)
        return self._made

    async def unsubscribe(self, subscription: int) -> None:
        """End a subscription of this client. Raises Refused for one that it does not have."""
        standing = self._standing.get(subscription)
        if standing is None:
            raise Refused(f"this client has no subscription {subscription}; expected one of {sorted(self._standing) or 'none'}")

        def line() -> str:
            # Said only now: while a connection is restored the subscription gets another number.
            self._standing.pop(subscription, None)
            return f"unsubscribe({standing.number})"

        await self._send_accepted(line)

    async def register(self, name: str) -> None:
        """Take a name. Raises Refused when another client of this host has it, or this one has another."""
        await self._send_accepted(register_line(name))
        self.name = name

    async def deregister(self) -> None:
        """Give the name back. Raises Refused while there is none."""
        if self.name is None:
            raise Refused("this client has no name to give back; register one first")
        name = self.name

        def line() -> str:
            self.name = None
            return deregister_line(name)

        try:
            await self._send_accepted(line)
        except Refused:
            self.name = name
            raise

    async def p2p(self, to: Said, message: Said, *, thread: str | None = None) -> None:
        """Send a message to ``name@host``; variables in it address all who fit. Needs a name of one's own.

        ``thread``: a part of this client that answers go to, which the door passes on and ignores.
        """
        sender = self.handle if thread is None else f"{atom_of(thread)}:{self.handle}"
        await self._send_accepted(p2p_line(to, sender, message))

    async def delivery(self) -> Delivery | None:
        """The next delivery, oldest first; None once the client is closed. May be cancelled: nothing is lost by that.

        Raises PeerUnreachable when a lost connection could not be restored, PeerMisbehaved for what is no delivery.
        """
        if self._line is None:
            self._connected()
        while not self._is_closed():
            line = self._unread[0]
            delivery = await line.delivery()
            if delivery is not None:
                return delivery
            if line is self._line:
                await line.replaced.wait()
                if self._given_up is not None:
                    self._connected()
            if self._unread[0] is line and not self._is_closed():
                self._unread.popleft()
        return None

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """What is delivered to this client, in order, until it is closed. Raises what :meth:`delivery` raises."""
        while (delivery := await self.delivery()) is not None:
            yield delivery

    def _is_closed(self) -> bool:
        """Whether its owner has closed it."""
        return self.state is State.CLOSED and self._given_up is None

    async def _send_accepted(self, line: str | Callable[[], str]) -> int:
        said, answer = await self._send(line)
        if not answer:
            raise Refused(refusal(said))
        return answer

    async def _send(self, line: str | Callable[[], str]) -> tuple[str, int]:
        """Send a line once there is a connection; returns it with its answer. One that depends on what stands then is made then."""
        async with self._unanswered:
            while (connection := self._connected()).ended.is_set():
                await connection.replaced.wait()
            said = line if isinstance(line, str) else line()
            return said, await connection.ask(said)

    # --- the connection ------------------------------------------------------------------------------------------------------

    async def _restore_when_lost(self) -> None:
        """Restore the connection whenever it is lost, until that does not succeed."""
        clock = asyncio.get_running_loop().time
        short = 0
        while self._given_up is None:
            line = self._connected()
            began_s = clock()
            await line.ended.wait()
            line.close()
            short = short + 1 if clock() - began_s < SHORT_S else 0
            self.state = State.RECONNECTING
            # One short connection is no pattern yet.
            self._given_up = await self._restore(max(short - 1, 0))
            if self._given_up is not None:
                self.state = State.CLOSED
                log.warning("a pedro client gives up: %s", self._given_up)
            line.replaced.set()

    async def _restore(self, short: int) -> RemoteError | None:
        """Connect anew in place of a lost connection; what stands against it, when that does not succeed within ``reconnect_s``."""
        where = f"the pedro door at {self.host}:{self.port}"
        problem: RemoteError = PeerUnreachable(f"{where} is gone")
        if not self.reconnect_s:
            return problem
        try:
            async with asyncio.timeout(self.reconnect_s):
                for attempt in count(short):
                    if attempt:
                        await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S)) - 1])
                    try:
                        await self._connect_anew()
                        return None
                    except RemoteError as error:
                        # Also one that refuses: it may not have noticed yet that this client, which has the name, is gone. Also
                        # one that misbehaves: what answers while a peer is started again may be no door yet.
                        problem = error
        except TimeoutError:
            pass
        return type(problem)(f"{problem}; tried for {self.reconnect_s:g} s to connect anew")

    async def _connect_anew(self) -> None:
        line = await dial(self.host, self.port, self._secret, connect_s=self.connect_s, tls=self._tls)
        try:
            if self.name is not None:
                await self._ask_again(line, register_line(self.name))
            for standing in list(self._standing.values()):
                standing.number = await self._ask_again(line, standing.line)
        except BaseException:
            line.close()
            raise
        self._use_line(line)

    def _use_line(self, line: Line) -> None:
        unread = [lost for lost in self._unread if not lost.is_read]
        if len(unread) > MAX_UNREAD_LINES:
            log.warning("a pedro client has not read what was delivered by %d connections: the oldest is let go", len(unread))
            del unread[0]
        self._unread = deque([*unread, line])
        self._line = line
        self.connections += 1
        self.state = State.CONNECTED

    async def _ask_again(self, line: Line, text: str) -> int:
        answer = await line.ask(text)
        if not answer:
            raise Refused(f"the pedro door at {self.host}:{self.port} refused {text!r}, which stood before the connection was lost")
        return answer

    def _connected(self) -> Line:
        if self._line is None:
            raise DoorClosed("this client is not connected; use it inside a `with` block")
        if self._given_up is not None:
            raise type(self._given_up)(str(self._given_up))
        if self._is_closed():
            raise DoorClosed("this client is closed; connect with a new one")
        return self._line
