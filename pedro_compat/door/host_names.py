"""Addresses of host names in messages: asked of the system in threads, remembered, and never for long.

What a system's resolver takes for a name that nobody answers for may be half a minute, and it cannot be told to stop. So that a
client which writes to many such names keeps nobody else's from being looked up

* a client waits for one name at a time (connection.py), and no longer than PATIENCE_S: then the name has no address for a while;
* clients at one address have at most LOOKUPS_OF_ADDRESS under way together, all together LOOKUPS, and the rest wait for those;
* a name is looked up once for all who ask for it meanwhile.

A name is forgotten after its time, whether it has an address or not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import NamedTuple

HELD_HOSTS = 1_000
"""Names that are remembered; at the limit the oldest goes."""
KNOWN_S = 300.0
"""How long an address is remembered."""
UNKNOWN_S = 30.0
"""How long it is remembered that there is none."""
PATIENCE_S = 5.0
"""How long a client waits for an address."""
LOOKUPS = 16
"""Threads that look names up at the same time."""
LOOKUPS_OF_ADDRESS = 4
"""Those of them that are for clients at one address."""
MAX_NAME = 253
"""Longest name that the DNS has (RFC 1035, section 2.3.4); a longer one has no address."""


class _Remembered(NamedTuple):
    address: str | None
    until_s: float


def ask_system(name: str) -> str | None:
    """The address of a name, as gethostbyname has it; None where there is none. It blocks."""
    try:
        found = socket.getaddrinfo(name, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


class HostNames:
    """The addresses of one door's messages. ``clock`` gives seconds and never goes back; ``ask`` is called in a thread."""

    def __init__(self, clock: Callable[[], float], ask: Callable[[str], str | None] = ask_system) -> None:
        self.unknown = 0
        """Lookups that found no address, or not in time."""
        self._clock = clock
        self._ask = ask
        self._known: dict[str, _Remembered] = {}
        self._under_way: dict[str, asyncio.Event] = {}
        """Name -> set when it has been looked up; limit: LOOKUPS."""
        self._places = asyncio.Semaphore(LOOKUPS)
        self._places_of: dict[str, asyncio.Semaphore] = {}
        """Address of clients -> its places. Gone with the last lookup for it."""
        self._concerned: Counter[str] = Counter()
        """Address of clients -> lookups that are under way or wait for a place."""

    def known_address(self, name: str) -> tuple[bool, str | None]:
        """Whether the address of a name is known, and the address; None where there is none."""
        known = self._known.get(name)
        if known is not None and self._clock() < known.until_s:
            return True, known.address
        if len(name) > MAX_NAME:
            return True, None
        try:
            return True, str(IPv4Address(name))
        except ValueError:
            return False, None

    async def resolve(self, name: str, client: str) -> str | None:
        """The address of a name, for a client at an address; None where there is none, or none was found in time."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    is_known, address = self.known_address(name)
                    if is_known:
                        return address
                    await self._await_lookup(name, client)
        except TimeoutError:
            self.unknown += 1
            if name in self._under_way:
                self._remember(name, None)
            return None

    async def _await_lookup(self, name: str, client: str) -> None:
        """Wait until somebody's lookup of the name is over, or a place for one of our own, which is begun then."""
        done = self._under_way.get(name)
        if done is not None:
            await done.wait()
            return
        self._concerned[client] += 1
        try:
            places = self._places_of.setdefault(client, asyncio.Semaphore(LOOKUPS_OF_ADDRESS))
            await places.acquire()
            try:
                await self._places.acquire()
            except BaseException:
                places.release()
                raise
        except BaseException:
            self._leave(client)
            raise
        if self.known_address(name)[0] or name in self._under_way:
            # Another client's lookup was begun while this one waited.
            self._free_places(client)
            return
        self._under_way[name] = asyncio.Event()
        # A daemon, because nobody is to wait for a resolver when the process ends; nobody else stops it.
        threading.Thread(
            target=self._in_thread, args=(name, client, asyncio.get_running_loop()), name="pedro host name", daemon=True
        ).start()

    def _in_thread(self, name: str, client: str, loop: asyncio.AbstractEventLoop) -> None:
        address = self._ask(name)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
            loop.call_soon_threadsafe(self._end_lookup, name, client, address)

    def _end_lookup(self, name: str, client: str, address: str | None) -> None:
        self.unknown += address is None
        self._remember(name, address)
        self._under_way.pop(name).set()
        self._free_places(client)

    def _free_places(self, client: str) -> None:
        self._places.release()
        self._places_of[client].release()
        self._leave(client)

    def _leave(self, client: str) -> None:
        self._concerned[client] -= 1
        if not self._concerned[client]:
            del self._concerned[client]
            self._places_of.pop(client, None)

    def _remember(self, name: str, address: str | None) -> None:
        self._known.pop(name, None)
        if len(self._known) >= HELD_HOSTS:
            del self._known[next(iter(self._known))]
        self._known[name] = _Remembered(address, self._clock() + (UNKNOWN_S if address is None else KNOWN_S))
