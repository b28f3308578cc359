"""What came by links and takes long to match: each link's has its slice in turn, so that nobody waits for all of them.

A message is carried out by a generator, which does a slice of it between two yields. What a link brings for the rendezvous while
something of it is under way waits behind that (:mod:`gsg.wire.waiting`), because it was published later. It is not answered
meanwhile, so it is bounded by what its publishers send without waiting for an answer, and by its room.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from ..background import DEFECT, SLICE_S
from ..errors import Refused
from ..wire.exchange import PeerLink, show
from ..wire.messages import Flash, Message, Publish
from ..wire.waiting import WaitingLines
from .delivery import Delivery
from .matching import EventBatch
from .rendezvous import Rendezvous

log = logging.getLogger(__name__)

Work: TypeAlias = Generator[None, None, None]
"""Carries out a message, a slice between two yields; closed where its link is gone."""

FACTS_SLICE_S = 0.02
"""How long one slice of facts takes, about: a message of as many as publishers send at once is mostly done in one."""
TURN_S = 0.05
"""How long messages, each of which takes less than a slice, are carried out at a stretch, whichever links brought them, about: one
read may have thousands. What comes then waits for its slice."""
LOOK_S = 0.005
"""A turn of the loop is looked at so long after the last one that was: a stretch may be longer by that."""


class TimeSlices:
    """What is under way at one rendezvous, and what its links have brought behind that.

    ``refuse(link, message, why)`` answers what cannot be carried out.
    """

    def __init__(
        self, rendezvous: Rendezvous, delivery: Delivery, lines: WaitingLines, refuse: Callable[[PeerLink, Message, str], None]
    ) -> None:
        self._rendezvous = rendezvous
        self._delivery = delivery
        self._lines = lines
        self._refuse = refuse
        self._under_way: dict[PeerLink, tuple[Message, Work]] = {}
        """The message of each link that is being carried out, the next one first. Bounded by the links."""
        self._paused: set[PeerLink] = set()
        """Links that are not read now, as each of their messages takes less than its slice: their publishers are to be slowed down,
        not refused. Bounded by the links."""
        self._next: asyncio.Handle | None = None
        """The next slice, while anything is under way; :meth:`stop` ends it."""
        self._turn: asyncio.Handle | None = None
        """The end of this turn of the loop, where something was begun in it; :meth:`stop` ends it."""
        self._turn_ends_s = 0.0
        """When nothing more is begun in it."""
        self._look_s = 0.0
        """When the next turn is looked at: not each of them, as most are short."""

    def forward(self, link: PeerLink, flash: Flash, done: Callable[[], object], places: Sequence[bytes] | None = None) -> None:
        """Events have come: match and forward them, then call ``done``.

        ``places`` are those under which they pass here, where that is not all of the message's.
        """
        there = flash.places if places is None else places
        batch = EventBatch(self._rendezvous, flash.publisher, flash.events, there, flash.after, flash.audience, flash.trace)
        self.carry_out(link, flash, self._forward(flash, batch, done))

    def _forward(self, flash: Flash, batch: EventBatch, done: Callable[[], object]) -> Work:
        while not batch.forward(SLICE_S):
            yield
        # What was passed on came by another way than what its publisher sends here, some of which may still be under way.
        if flash.events and not flash.forwarded:
            self._rendezvous.progress.advance(flash.publisher, flash.events[-1].number)
        done()

    def carry_out(self, link: PeerLink, message: Flash | Publish, work: Work) -> None:
        """Do the first slice of some work now, where there is time for one, and the rest in turn with that of other links."""
        has_time = self._has_time()
        if has_time and not _is_under_way(work):
            return
        self._under_way[link] = message, work
        self._lines.block(link, "what came before them, which takes long to match")
        if not has_time and link not in self._paused:
            self._paused.add(link)
            link.pause_reading()
        self._call_soon()

    def facts_end_s(self) -> float:
        """When a slice of facts that begins now is over, by the rendezvous's clock."""
        return self._rendezvous.clock() + FACTS_SLICE_S

    def _has_time(self) -> bool:
        """Whether one more message may be begun in this turn of the loop."""
        now_s = self._rendezvous.clock()
        if self._turn is not None:
            return now_s < self._turn_ends_s
        if now_s >= self._look_s:
            self._turn = asyncio.get_running_loop().call_soon(self._end_turn)
            self._turn_ends_s, self._look_s = now_s + TURN_S, now_s + LOOK_S
        return True

    def _end_turn(self) -> None:
        self._turn = None

    def drop_link(self, link: PeerLink) -> None:
        """A link is gone: whoever sent by it sends again what was not answered."""
        if link in self._under_way:
            _, work = self._under_way.pop(link)
            work.close()
        self._paused.discard(link)

    def stop(self) -> None:
        """The peer stops."""
        self._under_way.clear()
        for handle in (self._next, self._turn):
            if handle is not None:
                handle.cancel()
        self._next = self._turn = None

    def _call_soon(self) -> None:
        if self._under_way and self._next is None:
            self._next = asyncio.get_running_loop().call_soon(self._do_slice)

    def _do_slice(self) -> None:
        """One slice for the link whose turn it is."""
        self._next = None
        link = next(iter(self._under_way), None)
        if link is None:
            return
        message, work = self._under_way.pop(link)
        try:
            if _is_under_way(work):
                self._under_way[link] = message, work
                # It takes so long that answers by this link are not to wait for it.
                self._resume_reading(link)
        except Exception as error:
            if not isinstance(error, Refused):
                # A defect of ours must not keep the others waiting, nor whoever sent this.
                log.exception("a %s from %s was not carried out", type(message).__name__, show(link.contact))
            self._refuse(link, message, str(error) if isinstance(error, Refused) else DEFECT)
        if link not in self._under_way:
            # What takes long again takes the place of what is done, and the others wait on.
            self._lines.unblock(link)
            if link not in self._under_way:
                self._resume_reading(link)
        self._delivery.flush()
        self._call_soon()

    def _resume_reading(self, link: PeerLink) -> None:
        if link in self._paused:
            self._paused.discard(link)
            link.resume_reading()


def _is_under_way(work: Work) -> bool:
    """Do a slice of some work; whether more is to follow."""
    return next(work, _DONE) is not _DONE


_DONE = object()
