"""A client of Pedro's door, or of an original Pedro server, with async/await: the verbs of the protocol (manual, section 4).

    fresh ──entered──> connected ──connection lost──> reconnecting ──name and subscriptions stand again──> connected
                           │                               │
                           └────────────closed <───────────┘  closed by its owner, or given up after ``reconnect_s``

A lost connection is found by whoever sends or reads next, and restored by them: the client has no task of its own. A line whose
answer did not come is never sent again, because it may have been carried out; its sender is told. What others said while the
connection was lost is lost too: ``connections`` counts how often that may have been.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from itertools import count
from types import TracebackType
from typing import Self

from gsg.errors import DoorClosed, GsgError, PeerUnreachable, Refused

from .dialling import Line, dial
from .extensions import Options
from .terms import atom_of
from .verbs import Delivery, Said, address, deregister_line, line_of, p2p_line, register_line, subscribe_line

RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Pauses between attempts to restore a connection, each no longer than what is left of ``reconnect_s``; the last repeats."""
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
    connection is tried to be restored, with this client's name and subscriptions, before whoever noticed is told; 0 never tries.
    ``secret``: what a door that asks for one is told first.

    Entering raises PeerUnreachable when nobody answers at the info port, PeerMisbehaved when what answers is no Pedro server,
    Refused when the door does not take the secret.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 4550, *, reconnect_s: float = 30.0, secret: str | None = None) -> None:
        self.host = host
        self.port = port
        self.reconnect_s = reconnect_s
        self.name: str | None = None
        """The name that is registered."""
        self.connections = 0
        """How often the client has connected; each time after the first, deliveries may have been missed."""
        self.state = State.FRESH
        self._secret = secret
        self._line: Line | None = None
        self._standing: dict[int, _Standing] = {}
        self._made = 0
        self._restoring = asyncio.Lock()
        self._unanswered = asyncio.Semaphore(MAX_UNANSWERED)

    @property
    def handle(self) -> str:
        """This client's address ``name@host``, for others to answer to. Raises Refused while no name is registered."""
        if self.name is None:
            raise Refused("this client has no name, and so no handle; register one first")
        return address(self.name, self._connected().own_host)

    async def __aenter__(self) -> Self:
        self._line = await dial(self.host, self.port, self._secret)
        self.connections += 1
        self.state = State.CONNECTED
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave: the door ends this client's subscriptions and name. Closing twice is allowed."""
        self.state = State.CLOSED
        if self._line is not None:
            self._line.close()

    async def send(self, said: Said) -> int:
        """Send one line and return its answer, a number.

        Raises PeerUnreachable when the connection was lost before the answer came: whether the line was carried out is not
        known then. When it is cancelled the connection is given up: the answer would be taken for that of another line.
        """
        return await self._send(line_of(said))

    async def notify(self, said: Said) -> None:
        """Notify everybody whose subscription covers the term. Raises Refused for what is no notification."""
        await self._expect(line_of(said))

    async def subscribe(self, head: Said, body: Said = "true", rock: int = 0, *, options: Options | None = None) -> int:
        """Subscribe to notifications that unify with ``head`` where ``body`` then holds; returns the subscription's number.

        The number is this client's own, and stays when a connection is restored. ``options`` ask for more than Pedro does; doors
        without extensions refuse them.
        """
        line = subscribe_line(head, body, rock, options)
        number = await self._expect(line)
        self._made += 1
        self._standing[self._made] = _Standing(line, number)
        return self._made

    async def unsubscribe(self, subscription: int) -> None:
        """End a subscription of this client. Raises Refused for one that it does not have."""
        standing = self._standing.pop(subscription, None)
        if standing is None:
            raise Refused(f"this client has no subscription {subscription}; expected one of {sorted(self._standing) or 'none'}")
        await self._expect(f"unsubscribe({standing.number})")

    async def register(self, name: str) -> None:
        """Take a name. Raises Refused when another client of this host has it, or this one has another."""
        await self._expect(register_line(name))
        self.name = name

    async def deregister(self) -> None:
        """Give the name back. Raises Refused while there is none."""
        if self.name is None:
            raise Refused("this client has no name to give back; register one first")
        name, self.name = self.name, None
        await self._expect(deregister_line(name))

    async def p2p(self, to: Said, message: Said, *, thread: str | None = None) -> None:
        """Send a message to ``name@host``; variables in it address all who fit. Needs a name of one's own.

        ``thread``: a part of this client that answers go to, which the door passes on and ignores.
        """
        sender = self.handle if thread is None else f"{atom_of(thread)}:{self.handle}"
        await self._expect(p2p_line(to, sender, message))

    async def delivery(self) -> Delivery | None:
        """The next delivery, oldest first; None once the client is closed. May be cancelled: nothing is lost by that.

        Raises PeerUnreachable when a lost connection could not be restored, PeerMisbehaved for what is no delivery.
        """
        while True:
            line = self._connected()
            delivery = await line.delivery()
            if delivery is not None:
                return delivery
            if self._is_closed():
                return None
            await self._restore(line)
            if self._is_closed():
                return None

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """What is delivered to this client, in order, until it is closed. Raises what :meth:`delivery` raises."""
        while (delivery := await self.delivery()) is not None:
            yield delivery

    def _is_closed(self) -> bool:
        return self.state is State.CLOSED

    async def _expect(self, line: str) -> int:
        answer = await self._send(line)
        if not answer:
            raise Refused(
                f"the pedro door refused {line!r}: check its syntax, for a name whether it is taken, "
                "for options whether the door has extensions, and whether the door asks for a secret"
            )
        return answer

    async def _send(self, text: str) -> int:
        async with self._unanswered:
            line = self._connected()
            if not line.is_open or self._restoring.locked():
                await self._restore(line)
                line = self._connected()
            return await line.ask(text)

    async def _restore(self, lost: Line) -> None:
        """Connect anew in place of a lost connection; whoever else noticed waits for the first who did.

        Raises PeerUnreachable, and closes the client, when that does not succeed within ``reconnect_s``.
        """
        async with self._restoring:
            if self._line is not lost or self._is_closed():
                return
            lost.close()
            self.state = State.RECONNECTING
            problem: Exception = PeerUnreachable(f"the pedro door at {self.host}:{self.port} is gone")
            if not self.reconnect_s:
                self.state = State.CLOSED
                raise problem
            try:
                async with asyncio.timeout(self.reconnect_s):
                    for attempt in count():
                        try:
                            await self._begin_again()
                            return
                        except (PeerUnreachable, Refused) as error:
                            # Refused: the door has not noticed yet that this client, which has the name, is gone.
                            problem = error
                        await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
            except TimeoutError:
                self.state = State.CLOSED
                raise PeerUnreachable(f"{problem}; tried for {self.reconnect_s:g} s to connect anew") from None
            except GsgError:
                self.state = State.CLOSED
                raise

    async def _begin_again(self) -> None:
        line = await dial(self.host, self.port, self._secret)
        try:
            if self.name is not None:
                await self._again(line, register_line(self.name))
            for standing in self._standing.values():
                standing.number = await self._again(line, standing.line)
        except BaseException:
            line.close()
            raise
        if self._is_closed():
            line.close()
            return
        self._line = line
        self.connections += 1
        self.state = State.CONNECTED

    async def _again(self, line: Line, text: str) -> int:
        answer = await line.ask(text)
        if not answer:
            raise Refused(f"the pedro door at {self.host}:{self.port} refused {text!r}, which stood before the connection was lost")
        return answer

    def _connected(self) -> Line:
        if self._line is None:
            raise DoorClosed("this client is not connected; use it inside a `with` block")
        if self._is_closed():
            raise DoorClosed("this client is closed; connect with a new one")
        return self._line
