"""Pedro's door: the three sockets of the original server, in front of a peer.

    info socket    the port that clients know: tells them the other two
    ack socket     gives a client its id, and later one answer a line
    data socket    takes the id, then lines; deliveries come back here

The rules of the handshake are in handshake.py, those of a connection in session.py; connection.py carries commands out. Each socket
is an asyncio protocol: what a read brings is carried out in it, without a task.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from ipaddress import ip_address
from random import SystemRandom
from types import TracebackType
from typing import Self, cast

from dht.errors import show
from dht.links.closing import close_in_time
from dht.links.handles import HANDLES
from dht.liveness.late_timers import Timer
from dht.log_rate import LogRate
from gsg.doors.handshakes import handshakes_of
from gsg.doors.tls import DoorTls
from gsg.errors import DoorClosed, reason
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.peer import Peer
from gsg.wire.status_messages import Count

from ..dialect import PAPER, Dialect
from ..lines import DEFAULT_SIZE
from .access import Allowed, Gate, RefusedHosts, checked_secret
from .admin import all_notifications
from .arrival_stamps import Arrivals
from .connection import Connection
from .counts import DoorCounts
from .deliveries import DoorDeliveries
from .fair_turns import FairTurns
from .handshake import COMPLETE_WITHIN_S, COMPLETE_WITHIN_TLS_S, FAILED, OK, FirstLine, Handshakes, information
from .host_names import HostNames
from .session import Session, acknowledgement

log = logging.getLogger(__name__)
_refused = LogRate(log)

MAX_CLIENTS = 10_000
"""Sockets served at once: info and data connections, those that have not sent their id included. One more is closed at once. Ack
sockets whose client is still to come are bounded by the handshake (``MAX_PENDING`` there)."""
FIRST_LINE_S = 10.0
"""How long a data connection may take to send its id. Ids last a second, so whoever is later is answered FAILED or closed here."""
ANSWER_BYTES = 64 * 1024
"""Unread answers from which a client is not read from any more."""


class PedroDoor:
    """Serves Pedro clients; an async context manager.

    ``port`` is the info port, 0 takes a free one; the other two are always free ones. ``size`` limits a line to ``size - 1``
    bytes, its newline included. ``admin_host``: whose ``admin`` hears everything. ``allow``: the networks whose clients are
    served, all without any. ``secret``: what each client must say first. ``extensions``: whether subscriptions may have options;
    ``remember_s``: for how long notifications are remembered for those that ask for it (it brings the extensions with it). ``tls``:
    what all three sockets speak TLS with; without it, they are plain.

    Raises LocalError for a network or a secret that is none, and files that hold no certificate; entering raises DoorClosed when
    the port is taken, or nobody knows the admin's host.
    """

    def __init__(
        self,
        peer: Peer,
        host: str = "127.0.0.1",
        port: int = 4550,
        *,
        dialect: Dialect = PAPER,
        size: int = DEFAULT_SIZE,
        admin_host: str | None = None,
        allow: Iterable[str] = (),
        secret: str | None = None,
        extensions: bool = False,
        remember_s: float = 0.0,
        tls: DoorTls | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.peer = peer
        self.deliveries = DoorDeliveries()
        self.turns = FairTurns()
        self.hosts = HostNames(time.monotonic)
        self.counts = DoorCounts()
        self._tls = handshakes_of(tls, "pedro", self._admits)
        self._asks_for_certificates = tls is not None and tls.client_ca is not None
        self.handshakes = Handshakes(SystemRandom(), COMPLETE_WITHIN_S if tls is None else COMPLETE_WITHIN_TLS_S)
        self.half_open: dict[int, AckSocket] = {}
        """Ack sockets of clients that have not sent their id yet; bounded by Handshakes, which says which to close."""
        self.ports = (0, 0)
        self.admin_host = admin_host
        self.arrivals = Arrivals(time.time, remember_s) if extensions or remember_s else None
        self.allowed = Allowed(allow)
        self.secret = None if secret is None else checked_secret(secret)
        self._dialect, self._size = dialect, size
        self._expiry: asyncio.TimerHandle | None = None
        self._servers: list[asyncio.Server] = []
        self._sockets: dict[_Socket, None] = {}
        self._served = 0
        self._closing = False
        self._remembering: AlphaMemory | None = None
        self._refused_hosts = RefusedHosts()
        self._all_closed: asyncio.Future[None] | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._group = asyncio.TaskGroup()

    @property
    def clients(self) -> int:
        """Info and data connections that are being served, those included that have not sent their id yet."""
        return self._served

    async def __aenter__(self) -> Self:
        if self.admin_host is not None:
            name, self.admin_host = self.admin_host, await self.hosts.resolve(self.admin_host, self.host)
            if self.admin_host is None:
                raise DoorClosed(
                    f"the admin's host {name!r} has no address; expected a name that this machine knows, or an address"
                )
        await self._tls.__aenter__()
        try:
            info = await self._listen(InfoSocket, self.port)
            ack = await self._listen(AckSocket, 0)
            data = await self._listen(DataSocket, 0)
        except OSError as error:
            for server in self._servers:
                server.close()
            await self._tls.__aexit__(None, None, None)
            raise DoorClosed(
                f"the pedro door cannot listen on {self.host}:{self.port}: {reason(error)}; {_advice(error)}"
            ) from None
        self.port = info
        self.ports = (ack, data)
        if self._is_open:
            log.warning(
                "the pedro door at %s serves whoever reaches it, without a secret: bind it to loopback with "
                "--pedro 127.0.0.1:PORT, or say whom it serves with --pedro-allow or --pedro-secret",
                show(self.host, self.port),
            )
        await self._group.__aenter__()
        self.peer.counters.add(self._counted)
        self.peer.doors.add("pedro", lambda: all(server.is_serving() for server in self._servers))
        if self.arrivals is not None and self.arrivals.remember_s:
            try:
                self._remembering = await all_notifications(self._dialect, self.arrivals.remember).post(self.peer)
            except BaseException:
                await self.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing = True
        self.peer.counters.remove(self._counted)
        self.peer.doors.remove("pedro")
        if self._remembering is not None:
            self.peer.end_listening(self._remembering)
        for server in self._servers:
            server.close()
        if self._expiry is not None:
            self._expiry.cancel()
        for work in list(self._work):
            work.cancel()
        self.deliveries.write_all()
        for connected in self._sockets:
            connected.transport.close()
        await self._tls.__aexit__(None, None, None)
        try:
            await self._group.__aexit__(None, None, None)
        finally:
            if self._sockets:
                self._all_closed = asyncio.get_running_loop().create_future()
                # What a client has not read is lost with its door; whoever read it all has it by then.
                asyncio.get_running_loop().call_soon(self._abort_all)
                await self._all_closed

    def _abort_all(self) -> None:
        for connected in self._sockets:
            connected.transport.abort()

    async def _listen(self, make: Callable[[PedroDoor], _Socket], port: int) -> int:
        accept = partial(self._tls.protocol, partial(make, self))
        server = await asyncio.get_running_loop().create_server(accept, self.host, port)
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    @property
    def _is_open(self) -> bool:
        """Whether strangers are served: from other hosts, with no secret."""
        hosts = [ip_address(listening.getsockname()[0]) for server in self._servers for listening in server.sockets]
        return (
            self.allowed.everybody
            and self.secret is None
            and not self._asks_for_certificates
            and not all(host.is_loopback for host in hosts)
        )

    # --- what the sockets tell ---------------------------------------------------------------------------------------------

    def _counted(self) -> list[Count]:
        return self.counts.read(
            tls_handshakes_failed=self._tls.failed,
            clients_cut_off=self.deliveries.cut_off,
            hosts_unknown=self.hosts.unknown,
            notifications_forgotten=0 if self.arrivals is None else self.arrivals.forgotten,
        )

    def add_socket(self, connected: _Socket, *, served: bool) -> bool:
        """One socket more; whether it is to be served, or closed at once because there are too many, or its host is not allowed."""
        self._sockets[connected] = None
        self._served += served
        host = (connected.transport.get_extra_info("peername") or ("",))[0]
        if not self._admits(host):
            connected.transport.abort()
            return False
        beyond = served and HANDLES.beyond() > 0
        if served and (beyond or self._served > MAX_CLIENTS):
            self.counts.connections_refused += 1
            problem = HANDLES.problem() if beyond else f"{MAX_CLIENTS} are served already"
            _refused.warning("a connection from %s is refused: %s", host, problem, client=str(host))
            connected.transport.abort()
            return False
        return True

    def _admits(self, host: str) -> bool:
        """Whether clients at this address are served; counts those that are not, and logs each of their addresses once."""
        if self.allowed.admits(host):
            return True
        self.counts.connections_refused += 1
        if self._refused_hosts.add(host):
            log.warning("connections from %s are closed: clients are served from %s", host, self.allowed)
        return False

    def remove_socket(self, connected: _Socket, *, served: bool) -> None:
        """One socket fewer."""
        del self._sockets[connected]
        self._served -= served
        if not self._sockets and self._all_closed is not None and not self._all_closed.done():
            self._all_closed.set_result(None)

    def expire(self) -> None:
        """Close the ack sockets whose time is over, and wake up for the next."""
        loop = asyncio.get_running_loop()
        for client in self.handshakes.expired(loop.time()):
            close_in_time(self.half_open.pop(client).transport)
            self.counts.handshakes_given_up += 1
        soonest = self.handshakes.next_expiry()
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = None if soonest is None else loop.call_at(soonest, self.expire)

    def connection(self, data: asyncio.Transport, ack: asyncio.Transport) -> Connection:
        """A client whose handshake is complete."""
        session = Session(
            ack.get_extra_info("peername")[0],
            dialect=self._dialect,
            size=self._size,
            admin_host=self.admin_host,
            extensions=self.arrivals is not None,
        )
        return Connection(session, self.peer, self, data, ack)

    # --- what connections need ---------------------------------------------------------------------------------------------

    def start_work(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Run this for as long as the door is open; what it raises is for whoever awaits it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._closing:
            work.close()
            done.cancel()
            return done
        task = self._group.create_task(_carried_out(work, done))
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return done


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "stop the program that holds it or choose another port with --pedro"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "expected an address or a name of this machine, or 0.0.0.0 for all of its addresses"
    return "choose another address or port with --pedro"


async def _carried_out(work: Coroutine[None, None, None], done: asyncio.Future[None]) -> None:
    """One failing connection must not take the door with it."""
    try:
        await work
    except Exception as error:
        # In a TaskGroup it would end all other tasks; it goes to whoever awaits this one instead.
        done.set_exception(error)
        # Whoever started it may have left meanwhile: an exception that nobody fetches is no news then.
        done.exception()
    else:
        done.set_result(None)
    finally:
        done.cancel()


class _Socket(asyncio.Protocol):
    """One socket of a client."""

    served = True
    """Whether it counts as a client."""

    def __init__(self, door: PedroDoor) -> None:
        self.door = door
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio's methods without being of its class.
        self.transport = cast(asyncio.Transport, transport)
        if self.door.add_socket(self, served=self.served):
            self.begin()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            log.info("a pedro client is gone: %s", exc)
        self.door.remove_socket(self, served=self.served)

    def begin(self) -> None:
        """The socket is open."""


class InfoSocket(_Socket):
    """Tells the other two ports, and is closed."""

    def begin(self) -> None:
        # The address that the client dialled is one that it can reach, also where the door listens at all of them.
        self.transport.write(information(self.transport.get_extra_info("sockname")[0], *self.door.ports))
        close_in_time(self.transport)


class AckSocket(_Socket):
    """Gives a client its id, then its answers. Clients say nothing here; when they close it, they have left."""

    served = False

    def __init__(self, door: PedroDoor) -> None:
        super().__init__(door)
        self.data: DataSocket | None = None

    def begin(self) -> None:
        self.transport.set_write_buffer_limits(high=ANSWER_BYTES)
        client = self.door.handshakes.begin(asyncio.get_running_loop().time())
        self.door.half_open[client] = self
        self.door.expire()
        self.transport.write(acknowledgement(client))

    def pause_writing(self, unread: bool = True) -> None:
        if self.data is not None and self.data.connection is not None:
            self.data.connection.answers_unread(unread)

    def resume_writing(self) -> None:
        self.pause_writing(unread=False)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.data is not None:
            self.data.transport.abort()
        super().connection_lost(exc)


class DataSocket(_Socket):
    """Takes the id of a client, then its secret where one is asked for, then its lines."""

    def __init__(self, door: PedroDoor) -> None:
        super().__init__(door)
        self.connection: Connection | None = None
        self._first = FirstLine()
        self._ack: AckSocket | None = None
        self._gate = None if door.secret is None else Gate(door.secret)
        self._silence: Timer | None = None

    def begin(self) -> None:
        self._silence = Timer(FIRST_LINE_S, self._silent)

    def _silent(self) -> None:
        log.info("a pedro client has not sent its id within %g seconds: closed", FIRST_LINE_S)
        self.door.counts.handshakes_given_up += 1
        close_in_time(self.transport)

    def data_received(self, data: bytes) -> None:
        if self.connection is not None:
            self.connection.received(data)
            return
        if self.transport.is_closing():
            return
        if self._ack is None:
            rest = self._handshake(data)
            if rest is None:
                return
            data = rest
        assert self._ack is not None, "a handshake has both sockets"
        if self._gate is not None:
            said = self._gate.feed(data)
            if said is None:
                return
            right, data = said
            self._ack.transport.write(acknowledgement(int(right)))
            if not right:
                self.door.counts.connections_refused += 1
                _refused.warning("a pedro client at %s has not said the secret: closed", self.transport.get_extra_info("peername"))
                close_in_time(self.transport)
                return
        if self._silence is not None:
            self._silence.cancel()
        self.connection = self.door.connection(self.transport, self._ack.transport)
        if data:
            self.connection.received(data)

    def _handshake(self, data: bytes) -> bytes | None:
        """What comes after the id, once it has come and is somebody's; until then, None."""
        found = self._first.feed(data)
        if found is None:
            return None
        line, rest = found
        client = self.door.handshakes.finish(line, asyncio.get_running_loop().time())
        ack = None if client is None else self.door.half_open.pop(client)
        if ack is None or ack.transport.is_closing():
            self.door.counts.handshakes_given_up += 1
            self.transport.write(FAILED)
            close_in_time(self.transport)
            return None
        self._ack, ack.data = ack, self
        self.transport.write(OK)
        return rest

    def connection_lost(self, exc: Exception | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        if self.connection is not None:
            self.connection.leave()
        if self._ack is not None:
            close_in_time(self._ack.transport)
        super().connection_lost(exc)
