"""The ways from a publisher to a subscriber that benchmarks/stream.py compares: each says how a stamped number travels.

A message is its number and the moment in which it was made, with so much beside it that it takes 100 bytes on the wire of its way.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import gsg
from dht import Framer
from dht.links.frames import frame

if TYPE_CHECKING:
    from gsg.subscriptions.live import LiveSubscription

MESSAGE_BYTES = 100
READ = 1_000
"""Rows that a subscriber takes at once."""

Stamped: TypeAlias = tuple[int, int]
"""A message's number and the nanosecond of the monotonic clock in which it was made, which the processes of a machine share."""


def text_of(stamped: Stamped, size: int) -> str:
    """A message as text of so many characters."""
    return f"{stamped[0]} {stamped[1]} ".ljust(size, "x")


def stamp_of(text: str) -> Stamped:
    """What a text says."""
    number, made_ns, _ = text.split(" ", 2)
    return int(number), int(made_ns)


class Way(ABC):
    """One end of a way: a publisher's or a subscriber's."""

    @abstractmethod
    async def publish(self, messages: Sequence[Stamped]) -> None:
        """Send these in order; returns when whoever serves has them, where the way acknowledges, or has room for more."""

    @abstractmethod
    async def receive(self) -> list[Stamped]:
        """What has come, at least one."""


class Tuples(Way):
    """Through the overlay: by a peer in this process, or by a client of one, as events or as facts."""

    def __init__(self, node: gsg.Peer | gsg.AsyncClient, name: str, *, facts: bool) -> None:
        self._node = node
        self._name = gsg.Symbol(name)
        self._facts = facts
        self._subscription: LiveSubscription | None = None
        # What a tuple takes beside its text: arities, kinds and lengths.
        self._text_bytes = MESSAGE_BYTES - len(name) - 11

    async def subscribe(self, **options: Any) -> None:  # Any: what subscribe() takes
        """Ask for all of them."""
        self._subscription = await self._node.subscribe(f"(^{self._name}, ?number, ?text)", **options)

    async def publish(self, messages: Sequence[Stamped]) -> None:
        size = self._text_bytes
        tuples = [(self._name, stamped[0], text_of(stamped, size)) for stamped in messages]
        if self._facts:
            await self._node.insert(tuples)
        else:
            await self._node.notify(tuples)

    async def receive(self) -> list[Stamped]:
        assert self._subscription is not None, "subscribe() comes first"
        return [stamp_of(row["text"]) for _, row in await self._subscription.batch(READ)]  # type: ignore[arg-type]  # a str


class Relayed(Way):
    """Through the bare relay."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._framer = Framer()

    async def publish(self, messages: Sequence[Stamped]) -> None:
        self._writer.write(b"".join([frame(text_of(one, MESSAGE_BYTES).encode()) for one in messages]))
        await self._writer.drain()

    async def receive(self) -> list[Stamped]:
        payloads: list[bytes] = []
        while not payloads:
            data = await self._reader.read(256 * 1024)
            if not data:
                raise ConnectionError("the relay is gone")
            payloads = self._framer.feed(data)
        return [stamp_of(payload.decode()) for payload in payloads]


class Nats(Way):
    """Through nats-server, by nats-py."""

    def __init__(self, client: Any) -> None:  # Any: nats-py is imported only where it is there
        self._client = client
        self._came: asyncio.Queue[Stamped] = asyncio.Queue()

    async def subscribe(self) -> None:
        """Ask for all of them; the client may keep as many as there are, since none is to be dropped."""

        async def came(message: Any) -> None:  # Any: as above
            self._came.put_nowait(stamp_of(message.data.decode()))

        await self._client.subscribe("stream", cb=came, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await self._client.flush()

    async def publish(self, messages: Sequence[Stamped]) -> None:
        for one in messages:
            await self._client.publish("stream", text_of(one, MESSAGE_BYTES).encode())
        await self._client.flush()

    async def receive(self) -> list[Stamped]:
        return await _some(self._came)


class Mqtt(Way):
    """Through mosquitto, by paho-mqtt, which has a thread of its own; ``qos`` 0, as events are sent once here too."""

    def __init__(self, client: Any) -> None:  # Any: paho-mqtt is imported only where it is there
        self._client = client
        self._came: asyncio.Queue[Stamped] = asyncio.Queue()

    async def subscribe(self) -> None:
        """Ask for all of them; returns when the broker has acknowledged."""
        loop = asyncio.get_running_loop()
        acknowledged = asyncio.Event()
        self._client.on_subscribe = lambda *_: loop.call_soon_threadsafe(acknowledged.set)
        self._client.on_message = lambda _client, _data, message: loop.call_soon_threadsafe(
            self._came.put_nowait, stamp_of(message.payload.decode())
        )
        self._client.subscribe("stream", qos=0)
        await acknowledged.wait()

    async def publish(self, messages: Sequence[Stamped]) -> None:
        last = None
        for one in messages:
            last = self._client.publish("stream", text_of(one, MESSAGE_BYTES).encode(), qos=0)
        if last is not None:
            await asyncio.to_thread(last.wait_for_publish)

    async def receive(self) -> list[Stamped]:
        return await _some(self._came)


async def _some(queue: asyncio.Queue[Stamped]) -> list[Stamped]:
    some = [await queue.get()]
    while not queue.empty():
        some.append(queue.get_nowait())
    return some


@contextlib.asynccontextmanager
async def open_broker(kind: str, address: str, *, subscribes: bool) -> AsyncIterator[Way]:
    """One end of a way by the relay or a broker at an address."""
    host, _, port = address.rpartition(":")
    if kind == "relay":
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"S" if subscribes else b"P")
        if subscribes:
            await reader.readexactly(len(frame(b"ready")))
        yield Relayed(reader, writer)
        writer.close()
    elif kind == "nats":
        import nats

        connection = await nats.connect(f"nats://{address}")
        by_nats = Nats(connection)
        if subscribes:
            await by_nats.subscribe()
        yield by_nats
        await connection.close()
    elif kind == "mqtt":
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion

        made = paho.Client(CallbackAPIVersion.VERSION2)
        made.max_queued_messages_set(0)
        made.connect(host, int(port))
        made.loop_start()
        by_mqtt = Mqtt(made)
        if subscribes:
            await by_mqtt.subscribe()
        yield by_mqtt
        made.loop_stop()
        made.disconnect()
    else:
        raise ValueError(f"{kind} is no broker; expected relay, nats or mqtt")
