"""The client for programs without ``async``: :class:`AsyncClient` on a loop in a thread of its own, with the same verbs.

    with gsg.Client("http://127.0.0.1:8470") as client:
        client.insert([("lamp", gsg.Symbol("is"), "on")])
        with client.subscribe("(?what, ^is, ?how)") as subscription:
            for sign, row in subscription:
                print(sign, row)

Each verb waits for its answer, whichever thread calls it, also where a loop runs already, as in a notebook. Callbacks run in one
further thread of the client, one after the other, so they may call verbs themselves. Closing the client ends whatever waits.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import inf
from ssl import SSLContext
from types import TracebackType
from typing import Self

from ...errors import DoorClosed
from ...languages.query import MAX_TOKENS
from ...subscriptions.backlog import LIMIT, Overflow
from ...subscriptions.subscription import Callback
from ..client_thread import ClientThread, blocking
from .blocking_reading import BlockingSubscription, hearing
from .channel import ClientChannel
from .client import AsyncClient, OnState
from .opening import DEFAULT_URL
from .peer_connection import ConnectionState, Token
from .topic import ClientTopic


class Client:
    """A connection to a peer, and where that is lost to the next one; a context manager.

    Arguments are those of :func:`gsg.connect`, and what verbs do and raise is what :class:`gsg.AsyncClient` says. ``on_state`` is
    called in the client's thread, which must not wait for a verb. Instead of a ``with`` block, :meth:`open` and :meth:`close` do.
    """

    def __init__(
        self,
        url: str | Sequence[str] = DEFAULT_URL,
        *,
        wait_for_quota: bool = False,
        reconnect: bool = True,
        reconnect_s: float = inf,
        on_state: OnState | None = None,
        tls: SSLContext | None = None,
        token: Token | None = None,
    ) -> None:
        def make() -> AsyncClient:
            return AsyncClient(
                url,
                wait_for_quota=wait_for_quota,
                reconnect=reconnect,
                reconnect_s=reconnect_s,
                on_state=on_state,
                tls=tls,
                token=token,
            )

        self._make = make
        self._running: tuple[ClientThread, AsyncClient] | None = None
        self._opening = threading.Lock()
        """Held while it connects: two threads that open it get one connection."""

    def _parts(self) -> tuple[ClientThread, AsyncClient]:
        if self._running is None:
            raise DoorClosed("this client is not connected; use it inside `with gsg.Client(url) as client:`, or call open() first")
        return self._running

    def open(self) -> Self:
        """Connect to the first peer that answers. Raises PeerUnreachable, or LocalError for a URL that is none."""
        with self._opening:
            if self._running is None:
                thread = ClientThread()
                self._running = thread, thread.open(self._make)
        return self

    def close(self) -> None:
        """Leave; every subscription ends, and whatever waits in another thread. Closing twice is allowed."""
        if self._running is not None:
            self._running[0].close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The door of the peer that it is connected to, or was at last; empty before."""
        return "" if self._running is None else self._running[1].url

    @property
    def state(self) -> ConnectionState:
        """Where its connection stands."""
        return ConnectionState.NEW if self._running is None else self._running[1].state

    insert = blocking(AsyncClient.insert)
    retract = blocking(AsyncClient.retract)
    notify = blocking(AsyncClient.notify)
    topics = blocking(AsyncClient.topics)
    report = blocking(AsyncClient.report)
    explain = blocking(AsyncClient.explain)
    subscriptions = blocking(AsyncClient.subscriptions)
    keys = blocking(AsyncClient.keys)
    vocabulary = blocking(AsyncClient.vocabulary)
    why = blocking(AsyncClient.why)
    why_not = blocking(AsyncClient.why_not)
    drawing = blocking(AsyncClient.drawing)
    network = blocking(AsyncClient.network)
    route = blocking(AsyncClient.route)

    def subscribe(
        self,
        text: str,
        language: str = "gsg",
        callback: Callback | None = None,
        *,
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: str = Overflow.RESYNC,
    ) -> BlockingSubscription:
        """A standing query; returns when its first answer is complete. With a callback, differences go there as they come."""
        thread, client = self._parts()
        live = thread.call(client.subscribe(text, language, limit=limit, max_tokens=max_tokens, overflow=overflow))
        return BlockingSubscription(thread, live, callback)

    def run(self, script: str) -> list[BlockingSubscription]:
        """Run a GSG script; returns the subscriptions that its SUBSCRIBE blocks made, in order."""
        thread, client = self._parts()
        return [BlockingSubscription(thread, live, None) for live in thread.call(client.run(script))]

    def topic(self, name: str) -> BlockingTopic:
        """A topic, to publish to and to subscribe to, or a filter, to subscribe to. Raises LocalError for what is neither."""
        thread, client = self._parts()
        return BlockingTopic(thread, client.topic(name))

    @property
    def channel(self) -> BlockingChannel:
        """The channel of the peer."""
        thread, client = self._parts()
        return BlockingChannel(thread, client.channel)


class BlockingTopic:
    """A topic; see :class:`gsg.http.client.topic.ClientTopic`."""

    def __init__(self, thread: ClientThread, topic: ClientTopic) -> None:
        self._of = thread, topic

    def _parts(self) -> tuple[ClientThread, ClientTopic]:
        return self._of

    publish = blocking(ClientTopic.publish)
    publish_all = blocking(ClientTopic.publish_all)
    size = blocking(ClientTopic.size)
    subscribe = hearing(ClientTopic.subscribe)


class BlockingChannel:
    """A channel; see :class:`gsg.http.client.channel.ClientChannel`."""

    def __init__(self, thread: ClientThread, channel: ClientChannel) -> None:
        self._of = thread, channel

    def _parts(self) -> tuple[ClientThread, ClientChannel]:
        return self._of

    publish = blocking(ClientChannel.publish)
    report = blocking(ClientChannel.report)
    subscribe = hearing(ClientChannel.subscribe)
