"""A participant at a peer: the shell around :class:`Participant`.

It takes orders of the facilitator that its user named, and of nobody else: it finds that one among the peers it knows, by the
address that it was told, and asks it every second; what it hears is an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import dht
from dht.resolving import resolve

from ..background import logging_failure
from ..errors import GsgError, Overrun, PeerUnreachable
from ..topics.topic import TopicSubscription
from ..wire.experiment_messages import Act, ActKind, Row, RowKind, TakePart
from .participant import Participant
from .plan import SECOND_US

if TYPE_CHECKING:
    from ..peer import Peer

log = logging.getLogger(__name__)

REPORT_S: Final = 1.0
"""How often the facilitator is asked."""
VIEW_S: Final = 5.0
"""How often the view is logged: once in a round."""
TELL_S: Final = 30.0
"""How often it is logged that the facilitator does not answer."""


class Participation:
    """An async context manager. ``on_end`` ends the process as if it were killed, when the facilitator says so; without it, the
    peer goes on and the facilitator is told that it did. ``say`` is told when the experiment begins, and when it is over, in a
    sentence. ``clock`` must be finer than the loop's, which may count milliseconds."""

    def __init__(
        self,
        peer: Peer,
        facilitator: tuple[str, int],
        on_end: Callable[[], None] | None = None,
        *,
        say: Callable[[str], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._has_begun = False
        self._peer = peer
        self._testbed = peer.testbed
        self._address = facilitator
        self._on_end = on_end
        self._now_s = clock
        self._participant = Participant()
        self._events: dict[str, TopicSubscription | None] = {}
        """Topics that it was told to subscribe to, None while it does. Limit: those of a peer (gsg/topics/topics.py)."""
        self._contact: dht.Contact | None = None
        self._told_s = float("-inf")
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = False
        """Not after the experiment is over, either."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._is_open = True
        self._start(self._report_always())
        self._start(self._note_views())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_open = False
        for task in list(self._tasks):
            task.cancel()
        await self._group.__aexit__(None, None, None)
        for events in self._events.values():
            if events is not None:
                events.close()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(logging_failure(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())

    # --- reports -----------------------------------------------------------

    async def _report_always(self) -> None:
        while self._is_open:
            began_s = self._now_s()
            is_answered = False
            try:
                self._is_open = not await self._report()
                is_answered = True
            except (GsgError, OSError) as error:
                self._contact = None
                self._complain(error)
            if self._is_open and not (is_answered and self._participant.has_much):
                await asyncio.sleep(max(0.0, began_s + REPORT_S - self._now_s()))
        await self._tell("the experiment is over; this peer goes on, and Ctrl-C ends it")

    async def _tell(self, said: str) -> None:
        log.info("%s", said)
        if self._say is not None:
            with contextlib.suppress(OSError):  # nobody may read
                await self._say(f"experiment: {said}")

    def _complain(self, error: Exception) -> None:
        now_s = self._now_s()
        level = logging.DEBUG if now_s - self._told_s < TELL_S else logging.WARNING
        self._told_s = self._told_s if level == logging.DEBUG else now_s
        log.log(level, "the facilitator at %s:%d cannot be told: %s; asking again", *self._address, error)

    async def _report(self) -> bool:
        """Report, and take orders; whether the experiment is over."""
        contact = self._contact = self._contact or await self._find()
        sent_us = 0

        def make(request: int) -> TakePart:
            nonlocal sent_us
            sent_us = self._now_us()  # the link stands by now, so that the round trip is that of the message
            return self._participant.report(request, sent_us)

        orders = await self._testbed.report(contact, make)
        now_us = self._now_us()
        if not self._has_begun and (orders.neighbours or orders.acts):
            self._has_begun = True
            self._start(self._tell("the experiment begins"))
        if orders.neighbours:
            self._testbed.begin_with(orders.neighbours)
        loop = asyncio.get_running_loop()
        for at_us, act in self._participant.answered(orders, sent_us, now_us):
            loop.call_later(max(0, at_us - now_us) / SECOND_US, self._begin, act)
        return orders.is_over

    async def _find(self) -> dht.Contact:
        host, port = self._address
        found = self._testbed.peers_at(await resolve(host, port))
        if not found:
            raise PeerUnreachable("no peer that is known is there; name it by the address that it says when it starts")
        return found[0]

    async def _note_views(self) -> None:
        while self._is_open:
            await asyncio.sleep(VIEW_S)
            if view := self._testbed.view():
                self._participant.note(Row(RowKind.VIEW, self._now_us(), view=view))

    # --- acts --------------------------------------------------------------

    def _begin(self, act: Act) -> None:
        self._participant.waiting -= 1
        if not self._is_open:
            return
        if act.do is ActKind.COUNT:
            self._participant.note(Row(RowKind.COUNTED, self._now_us(), act.topic, b"", act.event, *self._testbed.counts()))
        elif act.do is ActKind.END and self._on_end is not None:
            self._on_end()
        else:
            self._start(self._carry_out(act))

    async def _carry_out(self, act: Act) -> None:
        try:
            match act.do:
                case ActKind.SUBSCRIBE:
                    if act.topic not in self._events:
                        await self._subscribe(act)
                case ActKind.LEAVE:
                    if (left := self._events.pop(act.topic, None)) is not None:
                        left.close()
                        self._note(RowKind.LEFT, act)
                case ActKind.PUBLISH:
                    # Noted before it is published: it may come to others at once.
                    self._note(RowKind.PUBLISHED, act)
                    await self._peer.topic(act.topic).publish(act.event)
                case _:
                    self._note(RowKind.FAILED, act)
        except GsgError as error:
            log.warning("%s %s as the facilitator said: %s", act.do.name.lower(), act.topic, error)
            self._note(RowKind.FAILED, act)

    async def _subscribe(self, act: Act) -> None:
        self._events[act.topic] = None
        try:
            events = await self._peer.topic(act.topic).subscribe()
        except BaseException:
            if act.topic in self._events and self._events[act.topic] is None:
                del self._events[act.topic]
            raise
        if act.topic not in self._events or self._events[act.topic] is not None:
            events.close()  # it was told to leave meanwhile
            return
        self._events[act.topic] = events
        self._start(self._listen(act.topic, events))
        self._note(RowKind.SUBSCRIBED, act)

    def _note(self, what: RowKind, act: Act) -> None:
        number = act.number if what is RowKind.FAILED else act.event
        self._participant.note(Row(what, self._now_us(), act.topic, number=number))

    async def _listen(self, topic: str, events: TopicSubscription) -> None:
        while True:
            try:
                async for event in events:
                    number = event.values[0] if event.values else 0
                    if type(number) is int and number > 0:
                        self._participant.note(Row(RowKind.TOLD, self._now_us(), topic, event.publisher, number))
                return
            except Overrun as error:
                self._participant.note(Row(RowKind.MISSED, self._now_us(), topic, number=error.lost))

    def _now_us(self) -> int:
        return int(self._now_s() * SECOND_US)
