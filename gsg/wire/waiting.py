"""What waits at a peer, within bounds: room counted in bytes, a queue within such room, and lines of messages that links brought.

A message that a link has brought for the rendezvous may have to wait until something that came before it by the same link is done.
Its link is *blocked* then: what the link brings goes to its line, and is delivered in order when the link is not blocked any more.

    free ──block──> blocked: messages wait ──unblock──> delivered one by one ──none is left──> free
                       ^──────────────────────block─────────────┘
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Generic, TypeAlias, TypeVar

from msgspec.structs import replace

from ..errors import PeerMisbehaved, Refused
from .exchange import PeerLink
from .messages import Event, Flash, Message

WAITING_BYTES = 32 * 1024 * 1024
"""What may wait in one line, each message with MESSAGE_BYTES besides its own; beyond, a message is refused."""
ALL_BYTES = 8 * WAITING_BYTES
"""What may wait in all lines of one kind together, so that it does not follow from how many there are."""
MESSAGE_BYTES = 1_000
"""What a message takes, however short it was on its way."""

OnMessage: TypeAlias = Callable[[PeerLink, Message], None]
Item = TypeVar("Item")


class Room:
    """One place where messages wait. What this peer itself says has no length there: its callers wait for it.

    ``within``: a larger one that it is a part of, as all lines of one kind are; ``each_bytes``: what a message takes besides.
    """

    def __init__(self, limit_bytes: int, within: Room | None = None, *, each_bytes: int = MESSAGE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.each_bytes = each_bytes
        self.within = within
        self.taken_bytes = 0
        """Limit: ``limit_bytes``, where :meth:`has` is asked first."""

    def has(self, size_bytes: int) -> bool:
        """Whether a message of this length may wait as well."""
        fits = not size_bytes or self.taken_bytes + size_bytes + self.each_bytes <= self.limit_bytes
        return fits and (self.within is None or self.within.has(size_bytes))

    def take(self, size_bytes: int) -> None:
        """A message of this length waits."""
        self._add(size_bytes + self.each_bytes if size_bytes else 0)

    def leave(self, size_bytes: int) -> None:
        """It does so no more."""
        self._add(-size_bytes - self.each_bytes if size_bytes else 0)

    def empty(self) -> None:
        """Nothing waits here any more."""
        self._add(-self.taken_bytes)

    def _add(self, more_bytes: int) -> None:
        self.taken_bytes += more_bytes
        if self.within is not None:
            self.within._add(more_bytes)


class BoundedQueue(Generic[Item]):
    """Items in order, bounded by their bytes in a room of their own, and by ``max_count`` of what they count for.

    Whoever appends asks :meth:`fits` first, and decides what becomes of what does not.
    """

    def __init__(self, room: Room, max_count: float = inf) -> None:
        self._room = room
        self._max_count = max_count
        self._count = 0
        self._items: deque[tuple[Item, int, int]] = deque()
        """Each with its bytes and what it counts for."""

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """The items, oldest first."""
        return (item for item, _, _ in self._items)

    def fits(self, size_bytes: int, count: int = 1) -> bool:
        """Whether an item may wait as well. Where none does, only the room of all such queues matters: one that is larger than
        the limit is kept alone."""
        if not self._items:
            return self._room.within is None or self._room.within.has(size_bytes)
        return self._count + count <= self._max_count and self._room.has(size_bytes)

    def append(self, item: Item, size_bytes: int, count: int = 1) -> None:
        """One item more."""
        self._items.append((item, size_bytes, count))
        self._count += count
        self._room.take(size_bytes)

    def popleft(self) -> Item:
        """The oldest item, which waits no more."""
        item, size_bytes, count = self._items.popleft()
        self._count -= count
        self._room.leave(size_bytes)
        return item

    def clear(self) -> None:
        """Let all items go."""
        self._items.clear()
        self._count = 0
        self._room.empty()


class _Line:
    """What one link has brought and waits, and for what."""

    def __init__(self, all_lines: Room) -> None:
        self.blocked_by: str | None = None
        self.messages: BoundedQueue[tuple[Message, int, float]] = BoundedQueue(Room(WAITING_BYTES, all_lines))
        """Each with its length and when it came."""


class WaitingLines:
    """The lines of all links of a peer. ``on_message`` carries out what has waited."""

    def __init__(self, on_message: OnMessage, clock: Callable[[], float]) -> None:
        self._on_message = on_message
        self._clock = clock
        self._lines: dict[PeerLink, _Line] = {}
        """Of links that are blocked, or of which something waits. Bounded by the links."""
        self._room = Room(ALL_BYTES)

    def hold_back(self, link: PeerLink, message: Message) -> bool:
        """Let the message that is being delivered wait, where its link is blocked; whether it is.

        Raises Refused where too much waits already.
        """
        line = self._lines.get(link)
        if line is None or line.blocked_by is None:
            return False
        if not line.messages.fits(link.frame_bytes):
            raise Refused(f"{len(line.messages)} messages wait for {line.blocked_by}; wait for answers before you send more")
        line.messages.append((message, link.frame_bytes, self._clock()), link.frame_bytes)
        return True

    def block(self, link: PeerLink, reason: str) -> None:
        """From now on what a link brings waits, as its publisher is told where too much does: for ``reason``."""
        line = self._lines.get(link)
        if line is None:
            line = self._lines[link] = _Line(self._room)
        line.blocked_by = reason

    def unblock(self, link: PeerLink) -> None:
        """Deliver what waits, in order, until something blocks the link again. What breaks the protocol ends the link."""
        line = self._lines.get(link)
        if line is None:
            return
        line.blocked_by = None
        try:
            while line.blocked_by is None and (message := self.take_next(link)) is not None:
                self._on_message(link, message)
        except PeerMisbehaved as error:
            link.abort(str(error))
            self.drop_link(link)

    def take_next(self, link: PeerLink) -> Message | None:
        """The message that has waited longest, which waits no more and is the one being delivered; None where none does.

        Events say how long they have waited, so that who has subscribed since does not hear of them.
        """
        line = self._lines.get(link)
        if line is None:
            return None
        if not line.messages:
            del self._lines[link]
            return None
        message, link.frame_bytes, came_s = line.messages.popleft()
        if isinstance(message, Flash):
            return replace(message, events=later(message.events, self._clock() - came_s))
        return message

    def drop_link(self, link: PeerLink) -> None:
        """A link is gone, and what it brought with it."""
        line = self._lines.pop(link, None)
        if line is not None:
            line.messages.clear()


def late(event: Event, since_s: float) -> Event:
    """The same event, which was said so long ago: at least a second less than it says."""
    return Event(event.number, event.items, event.text, int(since_s) + 1)


def later(events: Sequence[Event], waited_s: float) -> Sequence[Event]:
    """The same events, which have waited for so long since they came; less than a second is nothing."""
    whole_s = int(waited_s)
    return events if not whole_s else [late(event, max(event.late_s - 1, 0) + whole_s) for event in events]
