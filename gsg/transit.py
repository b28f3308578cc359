"""What came by links and takes long to match: each link's has its slice in turn, so that nobody waits for all of them.

What a link brings for the rendezvous while something of it is under way waits behind that, because it was published later. It is
not answered meanwhile, so it is bounded by what its publishers send without waiting for an answer, and by its room
(:mod:`gsg.behind`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from .behind import Behind, OnMessage
from .errors import Refused
from .exchange import Channel, show
from .messages import Flash, Message, Publish
from .outgoing import Outgoing
from .passages import SLICE_S, Passage
from .rendezvous import Rendezvous
from .room import ALL_BYTES, Room

log = logging.getLogger(__name__)

Done: TypeAlias = Callable[[], object]
"""Called when all events of a message have been forwarded, or all of its facts have come or gone."""
FACTS_SLICE_S = 0.02
"""How long one slice of facts takes, about: a message of as many as publishers send at once is mostly done in one."""
TURN_S = 0.05
"""How long messages, each of which takes less than a slice, are carried out at a stretch, whichever links brought them, about: one
read may have thousands. What comes then waits for its slice."""
LOOK_S = 0.005
"""A turn of the loop is looked at so long after the last one that was: a stretch may be longer by that."""
DEFECT = "this peer failed on it; its log says more"
"""What whoever sent a message is told where it brought out a defect of ours."""


def _nothing() -> None:
    """Events that are not passed on leave nothing behind."""


class _UnderWay:
    """A message that is being carried out; ``go_on()`` does one slice of that, and says whether it was the last one."""

    __slots__ = ("done", "give_up", "go_on", "message")

    def __init__(self, message: Message, go_on: Callable[[], bool], done: Done, give_up: Done) -> None:
        self.message = message
        self.go_on = go_on
        self.done = done
        self.give_up = give_up


class _Link:
    """What one link has brought: the message under way, and what waits behind it."""

    __slots__ = ("_channel", "_is_paused", "behind", "under_way")

    def __init__(self, channel: Channel, under_way: _UnderWay, all_links: Room) -> None:
        self._channel = channel
        self._is_paused = False
        self.under_way: _UnderWay | None = under_way
        now = asyncio.get_running_loop().time
        self.behind = Behind(channel, "what came before them, which takes long to match", now, all_links)

    def pause_reading(self) -> None:
        """Read no more while each message takes less than its slice: its publisher is to be slowed down, not refused."""
        if not self._is_paused:
            self._is_paused = True
            self._channel.pause_reading()

    def resume_reading(self) -> None:
        """Read again: nothing is left, or a message takes so long that answers by this link are not to wait for it."""
        if self._is_paused:
            self._is_paused = False
            self._channel.resume_reading()


class Transit:
    """What is under way at one rendezvous.

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
        """Those of which something is under way, the next one first. Bounded by the links."""
        self._room = Room(ALL_BYTES)
        """Of what waits behind them, by all links."""
        self._due: asyncio.Handle | None = None
        """The next slice, while anything is under way; :meth:`stop` ends it."""
        self._turn: asyncio.Handle | None = None
        """The end of this turn of the loop, where something was begun in it; :meth:`stop` ends it."""
        self._turn_ends_s = 0.0
        """When nothing more is begun in it."""
        self._look_s = 0.0
        """When the next turn is looked at: not each of them, as most are short."""

    def hold_back(self, channel: Channel, message: Message) -> bool:
        """Keep a message until what is under way before it is done, if anything is; whether it is.

        Raises Refused where too much waits for them.
        """
        link = self._links.get(channel)
        if link is None or link.under_way is None:
            return False
        link.behind.add(message)
        return True

    def flash(self, channel: Channel, flash: Flash, done: Done, places: Sequence[bytes] | None = None) -> None:
        """Events have come: matched now as far as one slice goes, the rest in turn; then ``done()``.

        ``places`` are those under which they pass here, where that is not all of the message's.
        """
        there = flash.places if places is None else places
        passage = Passage(self._rendezvous, flash.publisher, flash.events, there, flash.after, flash.audience)
        is_begun = self.begun_s() is not None
        if is_begun and self._rendezvous.pass_on(passage, SLICE_S):
            self._passed(flash, done)
            return
        under_way = _UnderWay(
            flash, lambda: self._rendezvous.pass_on(passage, SLICE_S), partial(self._passed, flash, done), _nothing
        )
        self._wait(channel, under_way, is_begun=is_begun)

    def publish(
        self,
        channel: Channel,
        message: Publish,
        go_on: Callable[[float], bool],
        *,
        done: Done,
        give_up: Done = _nothing,
        is_begun: bool,
    ) -> None:
        """Facts have come that take longer than a slice (FACTS_SLICE_S), or come where there is no time for one
        (:meth:`begun_s`, which is what ``is_begun`` says): they come or go in turn; then ``done()``.

        ``go_on(ends_s)`` makes some of the change until then, and says whether that was all; ``give_up()`` leaves the rest.
        """
        clock = self._rendezvous.clock
        self._wait(channel, _UnderWay(message, lambda: go_on(clock() + FACTS_SLICE_S), done, give_up), is_begun=is_begun)

    def _wait(self, channel: Channel, under_way: _UnderWay, *, is_begun: bool) -> None:
        link = self._links.get(channel)
        if link is None:
            link = self._links[channel] = _Link(channel, under_way, self._room)
        else:
            link.under_way = under_way
        if not is_begun:
            link.pause_reading()
        if self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._go_on)

    def begun_s(self) -> float | None:
        """The time by the rendezvous's clock, where one more message may be begun in this turn of the loop; else None."""
        now_s = self._rendezvous.clock()
        if self._turn is not None:
            return now_s if now_s < self._turn_ends_s else None
        if now_s >= self._look_s:
            self._turn = asyncio.get_running_loop().call_soon(self._turn_over)
            self._turn_ends_s, self._look_s = now_s + TURN_S, now_s + LOOK_S
        return now_s

    def _turn_over(self) -> None:
        self._turn = None

    def lost(self, channel: Channel) -> None:
        """A link is gone: whoever sent by it sends again what was not answered."""
        link = self._links.pop(channel, None)
        if link is not None:
            link.behind.forget()
            if link.under_way is not None:
                link.under_way.give_up()

    def stop(self) -> None:
        """The peer stops."""
        self._links.clear()
        for handle in (self._due, self._turn):
            if handle is not None:
                handle.cancel()
        self._due = self._turn = None

    def _go_on(self) -> None:
        """One slice for the link whose turn it is."""
        self._due = None
        channel = next(iter(self._links), None)
        if channel is None:
            return
        link = self._links[channel] = self._links.pop(channel)
        under_way = link.under_way
        assert under_way is not None, "between slices something is under way"
        try:
            if under_way.go_on():
                link.under_way = None
                under_way.done()
            else:
                link.resume_reading()
        except Exception as error:
            under_way.give_up()
            link.under_way = None
            if not isinstance(error, Refused):
                # A defect of ours must not keep the others waiting, nor whoever sent this.
                log.exception("a %s from %s was not carried out", type(under_way.message).__name__, show(channel.contact))
            self._refuse(channel, under_way.message, str(error) if isinstance(error, Refused) else DEFECT)
        # What takes long again takes the place of what is done, and the others wait on.
        link.behind.go_on(self._on_message, holds=lambda: link.under_way is not None)
        if link.under_way is None and self._links.get(channel) is link:
            del self._links[channel]
            link.resume_reading()
        self._outgoing.flush()
        if self._links and self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._go_on)

    def _passed(self, flash: Flash, done: Done) -> None:
        # What was passed on came by another way than what its publisher sends here, some of which may still be under way.
        if flash.events and not flash.forwarded:
            self._rendezvous.passing.passed(flash.publisher, flash.events[-1].number)
        done()
