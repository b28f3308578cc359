"""The client for programs without async/await: :class:`pedro_compat.AsyncClient` on a loop in a thread of its own.

Every verb waits for its answer. It may be used from several threads; one of them may wait for deliveries while others send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from ssl import SSLContext
from types import TracebackType
from typing import Self

from gsg.errors import DoorClosed
from gsg.http.client_thread import ClientThread, blocking

from .client import AsyncClient, State
from .client_lines import Delivery


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
        self._thread: ClientThread | None = None

    def _parts(self) -> tuple[ClientThread, AsyncClient]:
        if self._thread is None:
            raise DoorClosed("this client is not connected; use it inside `with Client(...) as client:`")
        return self._thread, self._client

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
        self._thread = ClientThread("pedro")
        self._thread.open(lambda: self._client)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave: the door ends this client's subscriptions and name. Closing twice is allowed."""
        if self._thread is not None:
            self._thread.close()

    send = blocking(AsyncClient.send)
    notify = blocking(AsyncClient.notify)
    subscribe = blocking(AsyncClient.subscribe)
    unsubscribe = blocking(AsyncClient.unsubscribe)
    register = blocking(AsyncClient.register)
    deregister = blocking(AsyncClient.deregister)
    p2p = blocking(AsyncClient.p2p)

    def delivery(self, timeout_s: float | None = None) -> Delivery | None:
        """The next delivery, oldest first; None when there was none within the time (None: wait), or the client was closed."""
        thread, client = self._parts()
        try:
            return thread.call(_delivery_within(timeout_s, client))
        except DoorClosed:
            return None

    def deliveries(self) -> Iterator[Delivery]:
        """What is delivered, in order, until the client is closed."""
        while (delivery := self.delivery()) is not None:
            yield delivery


async def _delivery_within(timeout_s: float | None, client: AsyncClient) -> Delivery | None:
    try:
        async with asyncio.timeout(timeout_s):
            return await client.delivery()
    except TimeoutError:
        return None
