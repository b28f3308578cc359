"""Events that came by links and take long to match: each link's have their slice in turn, so that nobody waits for all of them.

What a link brings for the rendezvous while its events are under way waits behind them, because it was published later. It is not
answered meanwhile, so it is bounded by what its publishers send without waiting for an answer, and by its room (:mod:`gsg.behind`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .behind import Behind, OnMessage
from .exchange import Channel, show
from .messages import Flash, Message
from .outgoing import Outgoing
from .passages import SLICE_S, Passage
from .rendezvous import Rendezvous
from .room import ALL_BYTES, Room

log = logging.getLogger(__name__)

Done: TypeAlias = Callable[[], object]
"""Called when all events of a message have been forwarded."""
DEFECT = "this peer failed on it; its log says more"
"""What whoever sent a message is told where it brought out a defect of ours."""


class _Link:
    """What one link has brought: the events under way, and what waits behind them."""

    __slots__ = ("behind", "done", "flash", "passage")

    def __init__(self, channel: Channel, passage: Passage, flash: Flash, done: Done, all_links: Room) -> None:
        self.passage: Passage | None = passage
        self.flash = flash
        self.done = done
        now = asyncio.get_running_loop().time
        self.behind = Behind(channel, "the events before them, which take long to match", now, all_links)


class Transit:
    """The events under way at one rendezvous.

    ``on_message`` carries out what has waited, ``refuse(channel, message, why)`` answers what cannot be.
    """

    def __init__(
        self,
        rendezvous: Rendezvous,
        outgoing: Outgoing,
        on_message: OnMessage,
        refuse: Callable[[Channel, Message, str], None],
    ) -> None:
        self._rendezvous = rendezvous
        self._outgoing = outgoing
        self._on_message = on_message
        self._refuse = refuse
        self._links: dict[Channel, _Link] = {}
        """Those whose events are under way, the next one first. Bounded by the links."""
        self._room = Room(ALL_BYTES)
        """Of what waits behind them, by all links."""
        self._due: asyncio.Handle | None = None
        """The next slice, while events are under way; :meth:`stop` ends it."""

    def hold_back(self, channel: Channel, message: Message) -> bool:
        """Keep a message until the events before it have passed, if there are any; whether there are.

        Raises Refused where too much waits for them.
        """
        link = self._links.get(channel)
        if link is None or link.passage is None:
            return False
        link.behind.add(message)
        return True

    def flash(self, channel: Channel, flash: Flash, done: Done, places: Sequence[bytes] | None = None) -> None:
        """Events have come: matched now as far as one slice goes, the rest in turn; then ``done()``.

        ``places`` are those under which they pass here, where that is not all of the message's.
        """
        there = flash.places if places is None else places
        passage = Passage(self._rendezvous, flash.publisher, flash.events, there, flash.after, flash.audience)
        if self._rendezvous.pass_on(passage, SLICE_S):
            self._passed(flash, done)
            return
        link = self._links.get(channel)
        if link is None:
            self._links[channel] = _Link(channel, passage, flash, done, self._room)
        else:
            link.passage, link.flash, link.done = passage, flash, done
        if self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._go_on)

    def lost(self, channel: Channel) -> None:
        """A link is gone: whoever sent by it sends again what was not answered."""
        if (link := self._links.pop(channel, None)) is not None:
            link.behind.forget()

    def stop(self) -> None:
        """The peer stops."""
        self._links.clear()
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _go_on(self) -> None:
        """One slice for the link whose turn it is."""
        self._due = None
        channel = next(iter(self._links), None)
        if channel is None:
            return
        link = self._links[channel] = self._links.pop(channel)
        assert link.passage is not None, "between slices something is under way"
        try:
            passed = self._rendezvous.pass_on(link.passage, SLICE_S)
        except Exception:
            # A defect of ours must not keep the others waiting, nor whoever sent the events.
            log.exception("events from %s were not passed on", show(channel.contact))
            link.passage = None
            self._refuse(channel, link.flash, DEFECT)
        else:
            if passed:
                link.passage = None
                self._passed(link.flash, link.done)
        # What takes long again takes the place of what has passed, and the others wait on.
        link.behind.go_on(self._on_message, holds=lambda: link.passage is not None)
        if link.passage is None and self._links.get(channel) is link:
            del self._links[channel]
        self._outgoing.flush()
        if self._links and self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._go_on)

    def _passed(self, flash: Flash, done: Done) -> None:
        # What was passed on came by another way than what its publisher sends here, some of which may still be under way.
        if flash.events and not flash.forwarded:
            self._rendezvous.passing.passed(flash.publisher, flash.events[-1].number)
        done()
