"""The client for programs without async/await: :class:`pedro_compat.AsyncClient` on a loop in a thread of its own.

Every verb waits for its answer. It may be used from several threads; one of them may wait for deliveries while others send.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from functools import wraps
from ssl import SSLContext
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from gsg.errors import DoorClosed

from .client import AsyncClient, State
from .client_lines import Delivery

Answer = TypeVar("Answer")
Parameters = ParamSpec("Parameters")


def _blocking(
    verb: Callable[Concatenate[AsyncClient, Parameters], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Client, Parameters], Answer]:
    """The verb of a client that waits for its answer."""

    @wraps(verb)
    def blocking(self: Client, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return self._wait_for(verb(self._client, *args, **kwargs))

    return blocking


class Client:
    """One client; a context manager. What it can do and what it raises is what :class:`pedro_compat.AsyncClient` says."""

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
        self._client = AsyncClient(host, port, reconnect_s=reconnect_s, secret=secret, connect_s=connect_s, tls=tls)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Lock()
        """Held for moments only: nothing is given to a loop that is about to stop."""

    @property
    def name(self) -> str | None:
        """The name that is registered."""
        return self._client.name

    @property
    def handle(self) -> str:
        """This client's address ``name@host``, for others to answer to."""
        return self._client.handle

    @property
    def connections(self) -> int:
        """How often the client has connected; each time after the first, deliveries may have been missed."""
        return self._client.connections

    @property
    def state(self) -> State:
        """Where the client stands."""
        return self._client.state

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pedro client", daemon=True)
        self._thread.start()
        try:
            self._wait_for(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave: the door ends this client's subscriptions and name. Closing twice is allowed."""
        if self._loop is not None:
            self._wait_for(self._client.close())
            self._stop()

    send = _blocking(AsyncClient.send)
    notify = _blocking(AsyncClient.notify)
    subscribe = _blocking(AsyncClient.subscribe)
    unsubscribe = _blocking(AsyncClient.unsubscribe)
    register = _blocking(AsyncClient.register)
    deregister = _blocking(AsyncClient.deregister)
    p2p = _blocking(AsyncClient.p2p)

    def delivery(self, timeout_s: float | None = None) -> Delivery | None:
        """The next delivery, oldest first; None when there was none within the time (None: wait), or the client was closed."""
        try:
            return self._wait_for(self._await_delivery(timeout_s))
        except DoorClosed:
            if self.state is not State.CLOSED:
                raise
            return None

    def deliveries(self) -> Iterator[Delivery]:
        """What is delivered, in order, until the client is closed."""
        while (delivery := self.delivery()) is not None:
            yield delivery

    async def _await_delivery(self, timeout_s: float | None) -> Delivery | None:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._client.delivery()
        except TimeoutError:
            return None

    def _wait_for(self, work: Coroutine[Any, Any, Answer]) -> Answer:  # Any: what a coroutine passes to its loop concerns nobody
        with self._ending:
            if self._loop is None:
                work.close()
                raise DoorClosed("this client is not connected; use it inside `with Client(...) as client:`")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise DoorClosed("this client was closed meanwhile; connect with a new one") from None
        except BaseException:
            # Ctrl-C in the caller's thread: the answer is not waited for, and the connection is given up with it.
            future.cancel()
            raise

    def _stop(self) -> None:
        with self._ending:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        assert loop is not None
        assert thread is not None
        asyncio.run_coroutine_threadsafe(_end_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_others() -> None:
    """Cancel what other threads still wait for, and let sockets close."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others)
    await asyncio.sleep(0)
