"""Links that feed this peer are asked whether they stand, and peers tell each other what time it is.

A feed goes one way: whoever only reads never hears that the other side has lost the link, as in a short partition, or when its
machine lost power for a moment; it would wait for ever, with rows that are not true any more. So a link by which nothing has come
for BEAT_S is asked. Where the other side has lost it, TCP says so (RFC 9293 s. 3.10.7.1), and what was fed is set up anew; where
even that is lost on its way, as at a router that has forgotten the connection, the link is ended after SILENT_S. All links to a
peer that comes are asked at once: they may be those of a former life, which knew what the new one does not.

The question and its answer have the latest stamp that each side knows (:mod:`gsg.storage.clock`), and some other links are asked
for its sake alone: so a peer that holds nothing hears of it too, and is not behind when it is the only one that is left.

The question also says where the HTTP door is (:mod:`gsg.wire.known_doors`). A door that opens is told to some others at once, and
whoever hears of a door that it did not know says where its own is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from random import Random

from dht.liveness.late_timers import late_s

from ..errors import PeerUnreachable, Refused
from ..placement.holders import Holders
from ..storage.clock import HybridClock
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, PeerLink
from ..wire.known_doors import KnownDoors
from ..wire.messages import Beat, Done

log = logging.getLogger(__name__)

BEAT_S = 10.0
"""How often links are looked at."""
SILENT_S = ANSWER_TIMEOUT_S
"""How long a link may bring nothing while it owes an answer."""
CONGESTED_S = 4 * SILENT_S
"""The same where our question waits behind what else we send: whoever reads slowly, and only reads, says nothing before it has come
to the question. Beyond, its feed would be stale for as long as TCP goes on trying, a quarter of an hour."""
TOLD = 2
"""Links that are asked for the sake of the time alone, each time, and that are made where there are fewer: rumours reach all of N
peers in some log N times (Demers and others 1987, "Epidemic algorithms for replicated database maintenance")."""


class Heartbeats:
    """Those of one peer. ``feeding()`` are the links by which feeds come; ``rng`` chooses who is told the time."""

    def __init__(
        self,
        holders: Holders,
        exchange: Exchange,
        clock: HybridClock,
        feeding: Callable[[], Collection[PeerLink]],
        rng: Random,
        doors: KnownDoors,
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self._hybrid_clock = clock
        self._feeding = feeding
        self._rng = rng
        self._doors = doors
        self._asked: dict[PeerLink, tuple[asyncio.Future[Answer], float]] = {}
        """What each link owes, and since when. Bounded by the links: a link is asked once at a time."""

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            due_s = asyncio.get_running_loop().time() + BEAT_S
            await asyncio.sleep(BEAT_S)
            was_stopped = late_s(due_s) > 0
            try:
                await self._find_links()
                self.beat(asyncio.get_running_loop().time(), was_stopped=was_stopped)
            except Exception:
                # A defect that one beat brings out is no reason for there to be no more: links would be lost unnoticed.
                log.exception("not all links were asked whether they stand")

    async def _find_links(self) -> None:
        """Who has nothing to do with anybody is to hear the time all the same."""
        if len(self._exchange.links()) < TOLD and (others := self._holders.others()):
            with contextlib.suppress(PeerUnreachable):
                await self._exchange.link(self._rng.choice(others))

    def ask_links_of_peer(self, peer: bytes) -> None:
        """A peer has come, or was started anew: what stood to its former life is to be found out before anybody relies on it."""
        now = asyncio.get_running_loop().time()
        for link in self._exchange.links_of(peer):
            self._ask(link, now)

    def beat(self, now: float, *, was_stopped: bool = False) -> None:
        """Ask the links that have been silent, and end those that owe an answer for too long: not where this side was stopped."""
        feeding = self._feeding()
        for link, (answer, since_s) in list(self._asked.items()):
            if answer.done():
                del self._asked[link]
            elif link in feeding:
                patience_s = CONGESTED_S if link.congested else SILENT_S
                if max(since_s, link.heard_s) + patience_s <= now and not was_stopped:
                    link.abort(f"nothing has come by it for {patience_s:g} s")
        others = self._exchange.links()
        told = self._rng.sample(others, min(TOLD, len(others)))
        silent = [link for link in feeding if link.heard_s + BEAT_S <= now]
        for link in dict.fromkeys([*silent, *told]):
            self._ask(link, now)

    def _ask(self, link: PeerLink, now: float) -> None:
        asked = self._asked.get(link)
        if asked is None or asked[0].done():
            answer = link.ask(lambda request: Beat(request, self._hybrid_clock.latest, self._doors.own))
            answer.add_done_callback(self._answered)
            self._asked[link] = answer, now

    async def tell_door(self) -> None:
        """This peer's door has opened: some others hear of it at once, and say where theirs are."""
        others = self._holders.others()
        for contact in self._rng.sample(others, min(TOLD, len(others))):
            with contextlib.suppress(PeerUnreachable):
                self._ask(await self._exchange.link(contact), asyncio.get_running_loop().time())

    def answer(self, link: PeerLink, beat: Beat) -> Done:
        """Another peer asks. Raises Refused for an absurd time."""
        if self._doors.hear(link.contact, beat.door) and self._doors.own:
            self._ask(link, asyncio.get_running_loop().time())
        self._hybrid_clock.see_stamp(beat.stamp)
        return Done(beat.request, stamp=self._hybrid_clock.latest)

    def _answered(self, answer: asyncio.Future[Answer]) -> None:
        if answer.cancelled() or answer.exception() is not None or not isinstance(done := answer.result(), Done):
            return
        try:
            self._hybrid_clock.see_stamp(done.stamp)
        except Refused as error:
            log.warning("a peer has told an absurd time: %s", error)
