"""An event loop whose time is virtual: it never sleeps, it moves the clock on to the next timer.

Everything else is asyncio's own loop, so code runs under it unchanged; the network comes from :mod:`dht.simnet`. Work given to an
executor is done at once, in place, so that a run with a database behind it is repeatable as well.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import Address

if TYPE_CHECKING:
    from .simnet import SimNet


class Stalled(RuntimeError):
    """Nothing is left that could ever happen, and the run has not ended: something waits for an event that will not come."""


class _Clock(selectors.DefaultSelector):
    """A selector that answers "nothing yet" at once, and sets the clock on by as long as it was willing to wait."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []
        # The loop's own wake-up pipe is the only real descriptor: written to by threads and signals.
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise Stalled(
                "the simulated network is silent and no timer runs; a task waits for what will never happen "
                "(a reply without a timeout, an event that nobody sets, or a real thread or socket)"
            )
        self.now_s += timeout
        return []


class SimLoop(asyncio.SelectorEventLoop):
    """asyncio's loop in virtual time, with the sockets of a :class:`~dht.simnet.SimNet`."""

    def __init__(self, net: SimNet) -> None:
        self._net = net
        self._clock = _Clock()
        self.errors: list[BaseException] = []
        """What callbacks and forgotten tasks raised."""
        super().__init__(self._clock)
        self.set_exception_handler(self._collect)

    def _collect(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:  # Any: asyncio's own
        error = context.get("exception") or RuntimeError(str(context.get("message")))
        # The end of the run cancels whatever is left, which is nobody's fault.
        if not isinstance(error, asyncio.CancelledError):
            self.errors.append(error)

    def time(self) -> float:
        """Virtual seconds since the run began."""
        return self._clock.now_s

    def run_in_executor(  # type: ignore[override]  # Any: as asyncio has it
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call the function now."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    async def getaddrinfo(  # type: ignore[override]  # the same arguments, as far as they mean anything here
        self, host: str, port: int, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[tuple[int, int, int, str, Address]]:
        """The address of a simulated host, by literal or by a name from ``net.names``."""
        return [(socket.AF_INET, type, proto, "", (self._net.resolve(host), port))]

    async def create_datagram_endpoint(  # type: ignore[override]  # Any: as asyncio has it
        self, protocol_factory: Any, local_addr: Any = None, **_: Any
    ) -> Any:
        """Bind a simulated datagram socket."""
        return await self._net.bind_datagrams(protocol_factory, local_addr)

    async def create_server(  # Any: as asyncio has it
        self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any
    ) -> Any:
        """Listen at a simulated address."""
        return await self._net.listen(protocol_factory, host, port)

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, local_addr: Any = None, **_: Any
    ) -> Any:  # Any: as asyncio has it
        """Connect to a simulated address."""
        return await self._net.connect(protocol_factory, host, port, local_addr)
