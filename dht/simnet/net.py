"""A network in memory and in virtual time, under the real code.

    async def main(net: SimNet) -> None:
        async with Overlay(id, net.host(), 7400, rng=...) as overlay: ...

    simnet.run(main, seed=7, loss=0.05)

Each simulated host is an address; whoever listens at it is that host. The same seed gives the same run, event for event: compare
``net.digest``. What callbacks raise and nobody catches fails the run. It has no bandwidth, no IPv6, and no real sockets or threads.
"""

from __future__ import annotations

import asyncio
import errno
import marshal
import socket
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from hashlib import blake2b
from ipaddress import ip_address
from random import Random
from typing import Any, TypeVar

from ..errors import Address
from .loop import PROGRAM, SimLoop, Stalled
from .sockets import WINDOW_BYTES, SimDatagrams, SimServer, SimStream

__all__ = ["SimNet", "Stalled", "run"]

FIRST_FREE_PORT = 49152
RETRY_CONNECT_S = 1.0
NOTED = 256
"""Events that are written down together."""

T = TypeVar("T")


class SimNet:
    """The hosts and what goes on between them.

    ``latency_s`` is the range that each message's delay is drawn from, in seconds; ``loss`` the share of datagrams that vanish,
    ``duplication`` the share that arrive twice; they overtake each other as their delays have it. ``window_bytes`` is what one
    direction of a stream holds on its way. All may be changed at any time. Hosts that a partition does not name reach everybody.
    """

    def __init__(self, seed: int, *, latency_s: tuple[float, float] = (0.005, 0.05), loss: float = 0.0) -> None:
        self.seed = seed
        self.latency_s = latency_s
        self.loss = loss
        self.duplication = 0.0
        self.window_bytes = WINDOW_BYTES
        self.names: dict[str, str] = {}
        """Host names that resolve, with their address."""
        self.counts: Counter[str] = Counter()
        """How many events of each kind there were."""
        self.trace: list[tuple[object, ...]] | None = None
        """Set it to a list to have every event recorded."""
        self.loop = SimLoop()
        # Whoever asks asyncio for a socket gets one of this network.
        self.loop.getaddrinfo = self._getaddrinfo  # type: ignore[assignment,method-assign]
        self.loop.create_datagram_endpoint = self.bind_datagrams  # type: ignore[assignment,method-assign]
        self.loop.create_server = self.listen  # type: ignore[assignment,method-assign]
        self.loop.create_connection = self.connect  # type: ignore[assignment,method-assign]
        self._own = Context()
        """In which the network calls itself: what is under way is nobody's program, and arrives while programs stand still."""
        self._rng = Random(seed)
        self._hash = blake2b(digest_size=16)
        self._noted: list[tuple[object, ...]] = []
        """What is not in the fingerprint yet. Limit: NOTED, where it enters it."""
        self._hosts = 0
        self._next_port: Counter[str] = Counter()
        self._datagrams: dict[Address, SimDatagrams] = {}
        self._servers: dict[Address, SimServer] = {}
        self._streams: dict[SimStream, None] = {}
        self._held_back: dict[SimStream, None] = {}
        self._down: set[str] = set()
        self._stalled: set[str] = set()
        self._group: dict[str, int] = {}
        self._walls: Counter[frozenset[str]] = Counter()
        """Between which two hosts there are walls, and how many. Goes with the last one."""

    # What tests order

    def host(self) -> str:
        """An address that no one has had yet: 10.0.0.1, 10.0.0.2, ..."""
        self._hosts += 1
        return f"10.{self._hosts >> 16 & 255}.{self._hosts >> 8 & 255}.{self._hosts & 255}"

    def rng(self) -> Random:
        """A source of randomness of its own for a peer, drawn from the seed."""
        return Random(self._rng.getrandbits(64))

    def program(self, host: str) -> Context:
        """A context for what runs at a host: a task that begins in it belongs to the host's program, with all that it starts."""
        context = copy_context()
        context.run(PROGRAM.set, host)
        return context

    def partition(self, groups: Iterable[Iterable[str]]) -> None:
        """From now on hosts of different groups do not hear each other: datagrams vanish, streams stand still."""
        self._group = {host: number for number, group in enumerate(groups) for host in group}
        self.record_event("partition", self._group)

    def heal(self) -> None:
        """The partition ends; streams go on with what was under way."""
        self._group = {}
        self.record_event("heal")
        self._deliver_held_back()

    def wall(self, a: str, b: str) -> None:
        """From now on these two do not hear each other, though others may hear both; until each wall is taken down."""
        self.record_event("wall", a, b)
        self._walls[frozenset((a, b))] += 1

    def take_down(self, a: str, b: str) -> None:
        """A wall between two hosts goes; streams go on with what was under way."""
        self.record_event("take down", a, b)
        self._walls -= Counter((frozenset((a, b)),))
        self._deliver_held_back()

    def cut(self, a: str, b: str) -> None:
        """Break every connection between two hosts, as a router that forgot them would."""
        self.record_event("cut", a, b)
        for stream in list(self._streams):
            if stream in self._streams and {stream.local[0], stream.remote[0]} == {a, b}:
                stream.reset_by_peer()

    def stall(self, host: str) -> None:
        """The host reads nothing from its streams, as a program that is busy: what is sent to it fills the windows."""
        self.record_event("stall", host)
        self._stalled.add(host)

    def read_on(self, host: str) -> None:
        """It reads again."""
        self.record_event("read on", host)
        self._stalled.discard(host)
        self._deliver_held_back()

    def suspend(self, host: str) -> None:
        """The host's program stands still, as by SIGSTOP: it neither reads nor does what is due. What it has sent arrives, and
        what comes waits for it; its datagrams too, however many."""
        self.record_event("suspend", host)
        self.loop.suspend(host)

    def resume(self, host: str) -> None:
        """It goes on, with all that was due meanwhile, and then reads."""
        self.record_event("resume", host)
        self.loop.resume(host)
        self._deliver_held_back()

    def crash(self, host: str, *, quietly: bool = False) -> None:
        """The host stops: its sockets are gone, others' connections to it are reset; ``quietly``, as when its power fails, they
        are not.

        Tasks of the host's peer go on, cut off; end them if their noise disturbs. :meth:`restart` lets a new peer listen there.
        """
        self.record_event("crash", host)
        self._down.add(host)
        self.loop.resume(host)
        for endpoint in [each for each in self._datagrams.values() if each.local[0] == host]:
            endpoint.close()
        for server in [each for each in self._servers.values() if each.address[0] == host]:
            server.close()
        for stream in list(self._streams):
            if stream.local[0] == host and stream in self._streams:
                stream.reset_by_peer()
                if stream.other is None:
                    continue
                if quietly:
                    stream.other.drop_incoming()
                else:
                    self.call_later(self.delay_s(), stream.other.reset_by_peer)

    def restart(self, host: str) -> None:
        """The host's network works again; whatever listened there before the crash does not."""
        self.record_event("restart", host)
        self._down.discard(host)
        self._deliver_held_back()

    @property
    def digest(self) -> str:
        """A fingerprint of all that happened so far, with its times."""
        hashed = self._hash.copy()
        hashed.update(marshal.dumps(self._noted, 2))
        return hashed.hexdigest()

    # What sockets ask

    def record_event(self, kind: str, *facts: object, data: bytes = b"") -> None:
        """Something happened, with these bytes."""
        event = (round(self.loop.time(), 9), kind, *facts, data)
        self.counts[kind] += 1
        self._noted.append(event)
        if len(self._noted) >= NOTED:
            self._hash_noted()
        if self.trace is not None:
            self.trace.append(event)

    def _hash_noted(self) -> None:
        # Version 2 writes equal events alike; later ones write down which objects are the same one, which differs by chance.
        self._hash.update(marshal.dumps(self._noted, 2))
        self._noted.clear()

    def call_at(self, when_s: float, callback: Callable[..., object], *args: object) -> None:
        """Call back for the network itself, whoever sends."""
        self.loop.call_at(when_s, callback, *args, context=self._own)

    def call_later(self, delay_s: float, callback: Callable[..., object], *args: object) -> None:
        """The same, when so many seconds have passed."""
        self.loop.call_later(delay_s, callback, *args, context=self._own)

    def delay_s(self) -> float:
        """How long the next message takes."""
        # As random.uniform has it; this is asked for each message.
        least, most = self.latency_s
        return least + (most - least) * self._rng.random()

    def resolve(self, host: str) -> str:
        """The address of a host by literal or name."""
        if host in self.names:
            return self.names[host]
        if host == "localhost":
            return "127.0.0.1"
        try:
            return str(ip_address(host))
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None

    async def _getaddrinfo(
        self, host: str, port: int, *, type: int = 0, proto: int = 0, **_: object
    ) -> list[tuple[int, int, int, str, Address]]:
        return [(socket.AF_INET, type, proto, "", (self.resolve(host), port))]

    def separated(self, a: str, b: str) -> bool:
        """Whether nothing gets from one host to the other."""
        if self._walls and frozenset((a, b)) in self._walls:
            return True
        if not self._group and not self._down:
            return False
        if a in self._down or b in self._down:
            return True
        return a != b and self._group.get(a, -1) != self._group.get(b, -1) and a in self._group and b in self._group

    def holds_back(self, stream: SimStream) -> bool:
        """Whether what is under way to a stream cannot arrive now; it will be asked to try again."""
        host = stream.local[0]
        if host in self._stalled or host in self.loop.suspended or self.separated(stream.local[0], stream.remote[0]):
            self._held_back[stream] = None
            return True
        return False

    def _deliver_held_back(self) -> None:
        waiting, self._held_back = self._held_back, {}
        for stream in waiting:
            self.call_later(self.delay_s(), stream.arrive)

    def reset_stream(self, stream: SimStream) -> None:
        """Tell a stream that its other end is gone: what was under way from there is not sent again."""
        if self.separated(stream.local[0], stream.remote[0]):
            stream.drop_incoming()
        else:
            self.call_later(self.delay_s(), stream.reset_by_peer)

    def remove_stream(self, stream: SimStream) -> None:
        """A stream has ended."""
        # What is held back goes on to wait: its sender is told that nobody is there when it arrives.
        self._streams.pop(stream, None)
        self.record_event("closed", stream.local, stream.remote)

    def send_datagram(self, sender: SimDatagrams, data: bytes, target: Address) -> None:
        """Carry one datagram, or lose it."""
        if self.separated(sender.local[0], target[0]) or self._rng.random() < self.loss:
            self.record_event("datagram lost", sender.local, target, len(data))
            return
        self.call_later(self.delay_s(), self._deliver, sender.local, data, target)
        if self.duplication and self._rng.random() < self.duplication:
            self.call_later(self.delay_s(), self._deliver, sender.local, data, target)

    def _deliver(self, source: Address, data: bytes, target: Address) -> None:
        endpoint = self._datagrams.get(target)
        if endpoint is None or self.separated(source[0], target[0]):
            self.record_event("datagram lost", source, target, len(data))
            return
        self.record_event("datagram", source, target, data=data)
        if target[0] in self.loop.suspended:
            self.loop.call_soon(endpoint.protocol.datagram_received, data, source, context=endpoint.context)
        else:
            endpoint.context.run(endpoint.protocol.datagram_received, data, source)

    async def bind_datagrams(
        self, factory: Callable[[], asyncio.DatagramProtocol], local_addr: Address | None = None, **_: object
    ) -> tuple[SimDatagrams, asyncio.DatagramProtocol]:
        """A bound datagram socket and its protocol."""
        address = self._take(local_addr or ("127.0.0.1", 0), self._datagrams)
        protocol = factory()
        transport = SimDatagrams(self, protocol, address)
        self._datagrams[address] = transport
        protocol.connection_made(transport)
        return transport, protocol

    def unbind_datagrams(self, transport: SimDatagrams) -> None:
        """The port is free again."""
        if self._datagrams.get(transport.local) is transport:
            del self._datagrams[transport.local]

    async def listen(
        self, factory: Callable[[], asyncio.Protocol], host: str | None = None, port: int | None = None, **_: object
    ) -> SimServer:
        """A listening address."""
        address = self._take((host or "127.0.0.1", port or 0), self._servers)
        server = SimServer(self, factory, address)  # type: ignore[abstract]  # nobody asks more of one
        self._servers[address] = server
        return server

    def unlisten(self, server: SimServer) -> None:
        """The port is free again."""
        if self._servers.get(server.address) is server:
            del self._servers[server.address]

    async def connect(
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int, *, local_addr: Address | None = None, **_: object
    ) -> tuple[SimStream, asyncio.Protocol]:
        """A connection to a listening address."""
        here = self._take(local_addr or ("127.0.0.1", 0), {})
        there = (self.resolve(host), port)
        await asyncio.sleep(self.delay_s() + self.delay_s())
        while self.separated(here[0], there[0]):
            if here[0] in self._down:
                raise OSError(errno.ENETDOWN, "Network is down")
            await asyncio.sleep(RETRY_CONNECT_S)
        server = self._servers.get(there)
        self.record_event("connect", here, there, server is not None)
        if server is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        protocols = (factory(), server.context.run(server.factory))
        near = SimStream(self, protocols[0], here, there, copy_context())
        far = SimStream(self, protocols[1], there, here, server.context.copy())
        near.other, far.other = far, near
        self._streams[near] = self._streams[far] = None
        self.loop.call_soon(protocols[1].connection_made, far, context=server.context)
        protocols[0].connection_made(near)
        return near, protocols[0]

    def _take(self, wanted: Address, taken: dict[Address, Any]) -> Address:  # Any: whichever kind of socket
        host, port = wanted
        if ip_address(host).is_unspecified:
            raise OSError(errno.EADDRNOTAVAIL, "a simulated peer listens at its own address; take one from net.host()")
        if host in self._down:
            raise OSError(errno.ENETDOWN, "Network is down")
        if port == 0:
            self._next_port[host] += 1
            port = FIRST_FREE_PORT + self._next_port[host]
        if (host, port) in taken:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        return (host, port)


def run(
    main: Callable[[SimNet], Coroutine[Any, Any, T]],  # Any: as coroutines have it
    *,
    seed: int,
    latency_s: tuple[float, float] = (0.005, 0.05),
    loss: float = 0.0,
) -> T:
    """Run ``main(net)`` to its end in a new network and return what it returns.

    Raises Stalled when nothing can happen any more, and an ExceptionGroup of what callbacks raised that nobody caught.
    """
    net = SimNet(seed, latency_s=latency_s, loss=loss)
    with asyncio.Runner(loop_factory=lambda: net.loop) as runner:
        try:
            result = runner.run(main(net))
        finally:
            # As the end of a process would: both ends of whatever is still connected are gone.
            for stream in list(net._streams):
                stream.abort()
    if net.loop.errors:
        raise BaseExceptionGroup(f"callbacks failed in the simulation with seed {seed}", net.loop.errors)
    return result
