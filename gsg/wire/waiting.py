"""What one link has brought for the rendezvous and waits behind something that came before it, in order and within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ..errors import PeerMisbehaved, Refused
from .exchange import Channel
from .messages import Event, Flash, Message
from .room import WAITING_BYTES, Room

OnMessage: TypeAlias = Callable[[Channel, Message], None]


def late(event: Event, since_s: float) -> Event:
    """The same event, which was said so long ago: at least a second less than it says."""
    return Event(event.number, event.items, event.text, int(since_s) + 1)


def later(events: Sequence[Event], waited_s: float) -> Sequence[Event]:
    """The same events, which have waited for so long since they came; less than a second is nothing."""
    whole_s = int(waited_s)
    return events if not whole_s else [late(event, max(event.late_s - 1, 0) + whole_s) for event in events]


class Behind:
    """The messages of one link; ``what`` they wait for, as its publisher is told where too much waits, and ``now()`` in seconds.

    ``all_links`` is the room that those of all links have together; who forgets this one says so (:meth:`forget`).
    """

    __slots__ = ("_channel", "_messages", "_now", "_room", "_what")

    def __init__(self, channel: Channel, what: str, now: Callable[[], float], all_links: Room | None = None) -> None:
        self._channel = channel
        self._what = what
        self._now = now
        self._messages: deque[tuple[Message, int, float]] = deque()
        """In order, with the length of each and when it came. Bounded by the room."""
        self._room = Room(WAITING_BYTES, all_links)

    def add(self, message: Message) -> None:
        """The message that is being delivered waits. Raises Refused where too much does already."""
        size_bytes = self._channel.frame_bytes
        if not self._room.has(size_bytes):
            raise Refused(f"{len(self._messages)} messages wait for {self._what}; wait for answers before you send more")
        self._room.take(size_bytes)
        self._messages.append((message, size_bytes, self._now()))

    def next(self) -> Message | None:
        """The message that has waited longest, which does so no more and is the one being delivered; None where none does.

        Events say how long they have waited, so that who has subscribed since does not hear of them.
        """
        if not self._messages:
            return None
        message, self._channel.frame_bytes, came_s = self._messages.popleft()
        self._room.leave(self._channel.frame_bytes)
        if isinstance(message, Flash):
            return replace(message, events=later(message.events, self._now() - came_s))
        return message

    def go_on(self, on_message: OnMessage, holds: Callable[[], bool] = lambda: False) -> None:
        """Deliver what waits, while nothing ``holds`` it again. One that breaks the protocol ends the link, and the rest goes."""
        try:
            while not holds() and (message := self.next()) is not None:
                on_message(self._channel, message)
        except PeerMisbehaved as error:
            self._channel.abort(str(error))
            self.forget()

    def forget(self) -> None:
        """Let what waits go, as its link has."""
        self._messages.clear()
        self._room.empty()
