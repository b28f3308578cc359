"""Events of a publisher who is no member of their topic, on their way to a member, which spreads them.

Of each topic one message is under way at a time, so that its events keep their order. What is published meanwhile waits, and goes
together with the next one: the faster events come, the more of them share a message.

    published ──> waiting ──> under way ──> a member has them, or nobody has subscribed
                                  └── refused, or unreachable ──> to another member, ATTEMPTS times in all
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from dht import Contact

from ..background import StartTask
from ..errors import DoorClosed, GsgError, PeerUnreachable, Refused
from ..wire.exchange import Exchange
from ..wire.messages import Done
from ..wire.topic_messages import Inject
from .topics import Topics

ATTEMPTS: Final = 4
"""Members that are tried one after another."""
MAX_INJECTED: Final = 500
"""Events of one message: a member spreads them at a stretch, in some 20 ms. The rest goes in the next one; more end the link."""
INJECTED_BYTES: Final = 256 * 1024
"""Bytes of their bodies, after which another message is begun; only a single event may have more."""
STOPS: Final = "the peer stops; use another one, or start it again"
"""What those are told who wait meanwhile."""
MAX_ACCESS: Final = 10_000
"""Topics of which the member is remembered by which they are published to; beyond, the first one is looked for again."""


class _Part:
    """Events that go together, and whoever waits for them."""

    __slots__ = ("bodies", "done", "numbers", "size_bytes")

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.size_bytes = 0
        self.numbers: list[int] = []
        """What this peer counts them as, once they are under way."""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Injections:
    """The events that one peer injects. ``begin()`` returns its topics, and ``find_member(topic)`` asks the holders of the topic's
    key; ``start_task`` begins work that ends with the peer."""

    def __init__(
        self,
        exchange: Exchange,
        begin: Callable[[], Topics],
        find_member: Callable[[str], Awaitable[Contact | None]],
        start_task: StartTask,
    ) -> None:
        self._exchange = exchange
        self._begin = begin
        self._find_member = find_member
        self._start_task = start_task
        self._waiting: dict[str, deque[_Part]] = {}
        """What waits, by topic, while something of it is under way. Limit: the callers, each of whom waits for its own part."""
        self._access: dict[str, Contact] = {}
        """The member by which a topic is published to. Limit: MAX_ACCESS."""

    async def publish(self, topic: str, bodies: list[bytes]) -> list[int]:
        """Spread events, in order; returns their numbers when a member has them, or there is none. Raises PeerUnreachable."""
        parts = list(_parts(bodies))
        waiting = self._waiting.get(topic)
        if waiting is None:
            waiting = self._waiting[topic] = deque()
            waiting.extend(parts)
            self._start_task(self._work(topic, waiting))
        else:
            waiting.extend(parts)
        try:
            await asyncio.gather(*[part.done for part in parts])
        finally:
            for part in parts:
                if part in waiting:  # the caller has given up, or an earlier part has failed
                    waiting.remove(part)
        return [number for part in parts for number in part.numbers]

    def stop(self) -> None:
        """The peer stops: tell those who wait, of whose work the first step may never come."""
        for waiting in self._waiting.values():
            _end(waiting, DoorClosed(STOPS))

    async def _work(self, topic: str, waiting: deque[_Part]) -> None:
        try:
            while waiting:
                together = _take(waiting)
                try:
                    await self._spread(topic, together)
                except BaseException as error:
                    # Whoever waits behind this task, as the peer stops, is not to wait for ever.
                    _end(together, error if isinstance(error, Exception) else DoorClosed(STOPS))
                    if not isinstance(error, GsgError):
                        raise
                else:
                    _end(together)
        finally:
            del self._waiting[topic]
            _end(waiting, DoorClosed(STOPS))

    async def _spread(self, topic: str, together: list[_Part]) -> None:
        topics, now_s = self._begin(), asyncio.get_running_loop().time()
        payloads = []
        for part in together:
            made = [topics.make_payload(topic, body, now_s) for body in part.bodies]
            part.numbers = [payload.number for payload in made]
            payloads += made
        if topic in topics.joined:  # while they waited
            for payload in payloads:
                topics.publish(payload, now_s)
            return
        problem: GsgError | None = None
        for _ in range(ATTEMPTS):
            member = self._access.get(topic) or await self._find_member(topic)
            if member is None:
                topics.end_life(topic)  # nobody has subscribed
                return
            try:
                await self._exchange.ask(member, lambda request: Inject(request, payloads), Done)
            except (PeerUnreachable, Refused) as error:
                self._access.pop(topic, None)
                topics.access_points.forget_member(topic, member.id)
                problem = error
            else:
                if topic not in self._access and len(self._access) >= MAX_ACCESS:
                    del self._access[next(iter(self._access))]
                self._access[topic] = member
                return
        topics.end_life(topic)
        raise PeerUnreachable(f"no member of topic {topic!r} took the event, of {ATTEMPTS} that were tried: {problem}")


def _parts(bodies: list[bytes]) -> Iterator[_Part]:
    """What one caller publishes, in parts of one message at most."""
    part = _Part()
    for body in bodies:
        if part.bodies and (len(part.bodies) >= MAX_INJECTED or part.size_bytes + len(body) > INJECTED_BYTES):
            yield part
            part = _Part()
        part.bodies.append(body)
        part.size_bytes += len(body)
    if part.bodies:
        yield part


def _take(waiting: deque[_Part]) -> list[_Part]:
    """The first of what waits, and what follows it and goes into the same message."""
    taken = [waiting.popleft()]
    count, size_bytes = len(taken[0].bodies), taken[0].size_bytes
    while waiting and count + len(waiting[0].bodies) <= MAX_INJECTED and size_bytes + waiting[0].size_bytes <= INJECTED_BYTES:
        taken.append(waiting.popleft())
        count, size_bytes = count + len(taken[-1].bodies), size_bytes + taken[-1].size_bytes
    return taken


def _end(parts: list[_Part] | deque[_Part], error: Exception | None = None) -> None:
    """Tell those who wait; some may have given up."""
    for part in parts:
        if part.done.done():
            continue
        if error is None:
            part.done.set_result(None)
        else:
            part.done.set_exception(error)
            part.done.exception()  # whoever waits for several gives up at the first
