"""Hosts made of this machine: network namespaces with real sockets, and cables between them that lose, delay and are cut.

A host is a thread that has gone to a network namespace of its own (unshare(2)) and runs a peer there. Its network card is a TUN
device (the kernel's Documentation/networking/tuntap.rst): the packets that the host sends are read here, in the test's event loop,
and written to the card of the host that they are for, later or not at all. So the kernel's own TCP and UDP meet the loss, and
neither a bridge nor netem is needed. A namespace ends with its thread and its card: nothing is left behind, whatever happens.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from random import Random
from typing import Any, TypeVar

from gsg import Peer

PORT = 7400
CLONE_NEWNET = 0x40000000
"""linux/sched.h."""
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""linux/if_tun.h: packets without a header of the device's own."""
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP = 0x8914, 0x8916, 0x891C, 0x1
"""linux/sockios.h."""
PACKET_BYTES = 65_536
PATIENCE_S = 60.0
"""After this, what should have come by then is a failure rather than a test that hangs."""
DESTINATION = slice(16, 20)
"""RFC 791 section 3.1."""

T = TypeVar("T")


class Unplugged(Exception):
    """Ends a peer without its hand-over."""


class Host:
    """One host with one peer."""

    def __init__(self, address: str, join: list[tuple[str, int]]) -> None:
        self.address = address
        self.loss = 0.0
        """The share of packets that vanish on the way from it and to it, each way."""
        self.delay_s = 0.0
        """How long they take on its cable, each way."""
        self.is_partial = False
        self.lost = 0
        """Packets from it that vanished."""
        self.card = -1
        self.peer: Peer
        self._join = join
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self._plugged: Future[int] = Future()
        self._entered: Future[None] = Future()
        # Daemon: a host that hangs is the test's failure, not its runner's end.
        self._thread = threading.Thread(target=self._live, name=address, daemon=True)

    async def boot(self) -> int:
        """Its network card. Raises OSError where this process may not make one."""
        self._thread.start()
        self.card = await asyncio.wrap_future(self._plugged)
        return self.card

    async def entered(self) -> None:
        """Wait until its peer is one of the overlay."""
        await asyncio.wait_for(asyncio.wrap_future(self._entered), PATIENCE_S)

    async def ask(self, work: Callable[[Peer], Coroutine[Any, Any, T]]) -> T:  # Any: as coroutines have it
        """Let its peer do something, in its own thread."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(self.peer), self._loop))

    async def shut_down(self) -> None:
        """End it."""
        if self._plugged.done() and self._plugged.exception() is None:
            await asyncio.wrap_future(self._entered)
            self._loop.call_soon_threadsafe(self._over.set)
            await asyncio.to_thread(self._thread.join)

    def _live(self) -> None:
        try:
            self._plugged.set_result(_plug_in(self.address))
        except OSError as error:
            self._plugged.set_exception(error)
        else:
            with suppress(Unplugged):
                asyncio.run(self._run())

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with Peer((self.address, PORT), self._join) as self.peer:
                self._entered.set_result(None)
                await self._over.wait()
                raise Unplugged
        except Exception as error:
            if not self._entered.done():
                self._entered.set_exception(error)
            raise


class Wires:
    """What all cables meet in: carries packets between hosts as the hosts' cables say."""

    def __init__(self, hosts: list[Host], rng: Random) -> None:
        self._hosts = {socket.inet_aton(host.address): host for host in hosts}
        self._rng = rng

    def connect(self, host: Host) -> None:
        """Carry what this host sends."""
        asyncio.get_running_loop().add_reader(host.card, self._carry, host)

    def disconnect(self, host: Host) -> None:
        """Carry nothing more, and give the card back."""
        asyncio.get_running_loop().remove_reader(host.card)
        os.close(host.card)
        host.card = -1

    def _carry(self, sender: Host) -> None:
        with suppress(BlockingIOError):
            while True:
                packet = os.read(sender.card, PACKET_BYTES)
                receiver = self._hosts.get(packet[DESTINATION])
                if receiver is None:
                    continue  # multicast, or IPv6 that the kernel tries by itself
                if self._is_lost(sender, receiver):
                    sender.lost += 1
                else:
                    delay_s = sender.delay_s + receiver.delay_s
                    asyncio.get_running_loop().call_later(delay_s, self._deliver, sender, receiver, packet)

    def _is_lost(self, sender: Host, receiver: Host) -> bool:
        return any(host.is_partial or self._rng.random() < host.loss for host in (sender, receiver))

    def _deliver(self, sender: Host, receiver: Host, packet: bytes) -> None:
        if receiver.card >= 0 and not (sender.is_partial or receiver.is_partial):
            os.write(receiver.card, packet)


@asynccontextmanager
async def hosts(count: int, *, seed: int) -> AsyncIterator[list[Host]]:
    """So many hosts, whose peers all join by the first. Raises OSError where this process may not make hosts."""
    first = ("10.77.0.1", PORT)
    made = [Host(f"10.77.0.{number}", [first] if number > 1 else []) for number in range(1, count + 1)]
    wires = Wires(made, Random(seed))
    async with AsyncExitStack() as stack:
        for host in made:
            await host.boot()
            stack.callback(wires.disconnect, host)
            wires.connect(host)
            stack.push_async_callback(host.shut_down)
            await host.entered()
        yield made


def _plug_in(address: str) -> int:
    """Take this thread to a namespace of its own, with a network card of that address; the card's other end."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "this process may not make network namespaces")
    try:
        card = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise OSError(error.errno, "this process may not make network cards: /dev/net/tun cannot be opened") from None
    try:
        fcntl.ioctl(card, TUNSETIFF, _request(b"cable", struct.pack("H", IFF_TUN | IFF_NO_PI)))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for name, ip in ((b"lo", "127.0.0.1"), (b"cable", address)):
                for call, text in ((SIOCSIFADDR, ip), (SIOCSIFNETMASK, "255.255.255.0")):
                    fcntl.ioctl(control, call, _request(name, struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(text))))
                fcntl.ioctl(control, SIOCSIFFLAGS, _request(name, struct.pack("H", IFF_UP)))
    except OSError:
        os.close(card)
        raise
    return card


def _request(name: bytes, rest: bytes) -> bytes:
    """A struct ifreq."""
    return struct.pack("16s24s", name, rest)


LACKING = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOSYS, errno.EINVAL)
"""What the kernel says where it, or this user, has no namespaces or no such cards."""
