"""Holders that live and take no changes: the next closest peer holds their keys, until they confirm again and are told all.

    holder ──owes an answer for DEAF_S, or refuses──> set aside ──confirms a Replicate of nothing──> told everything, holder

One that answers in turn is slow, and waited for; one that gives no answer is deaf.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from math import inf

import dht
from dht.liveness.late_timers import AwakeClock, late_s

from ..background import StartTask
from ..errors import GsgError, Refused
from ..placement.holders import Holders
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, Leaving, PeerLink, show
from ..wire.holder_messages import Replicate
from ..wire.messages import Failed, NotHere

log = logging.getLogger(__name__)

DEAF_S = 5.0
"""How long a holder may owe answers and give none, before the next closest peer takes its place. Each answer begins it anew: one
that is slow, and confirms what it was told in turn, is waited for."""
RETURN_S = 1.0
"""How often a holder that was set aside is asked whether it takes changes again; one that reads nothing is asked once in
ANSWER_TIMEOUT_S, by a new link."""


class DeafHolders:
    """Finds them, for one peer, sets them aside and takes them back.

    ``on_missed(peer)`` hears of a holder that was set aside and takes changes again.
    """

    def __init__(self, holders: Holders, exchange: Exchange, on_missed: Callable[[bytes], None], start_task: StartTask) -> None:
        self._holders = holders
        self._exchange = exchange
        self._on_missed = on_missed
        self._start_task = start_task
        self._owing: dict[bytes, tuple[int, float]] = {}
        """By holder how many answers, and since when it has given none. Bounded by the questions under way."""
        self.clock = AwakeClock()
        """Nobody is deaf, or slow, in a time in which this peer was stopped itself."""

    def expect_answer(self, peer: bytes, answer: asyncio.Future[Answer]) -> None:
        """A holder owes an answer, until that has come or will not."""
        count, since_s = self._owing.get(peer, (0, self.clock.now()))
        self._owing[peer] = count + 1, since_s
        answer.add_done_callback(lambda _: self._answered(peer))

    def _answered(self, peer: bytes) -> None:
        """The others are waited for from now on."""
        count, _ = self._owing.pop(peer)
        if count > 1:
            self._owing[peer] = count - 1, self.clock.now()

    def deaf_at_s(self, peer: bytes) -> float:
        """When a holder that goes on to answer nothing is deaf; infinity where it owes nothing."""
        return self._owing[peer][1] + DEAF_S if peer in self._owing else inf

    def set_aside(self, holder: dht.Contact, why: GsgError, *, level: int = logging.WARNING) -> None:
        """Let others hold the keys of a holder until it takes changes again."""
        if self._holders.set_aside(holder.id, why):
            log.log(level, "%s; the next closest peer holds its keys until it confirms again", why)
            self._start_task(self._take_back(holder))

    async def _take_back(self, holder: dht.Contact) -> None:
        """Wait until a holder that was set aside takes changes again, or is dead."""
        contact: dht.Contact | None = holder
        while (contact := self._holders.contact_of(holder.id)) is not None:
            try:
                link = await self._exchange.link(contact)
                # When this is answered, all that was sent before it has been read.
                await self._read_all(link, link.ask(lambda request: Replicate(request, [], [], [], [])))
            except GsgError:
                await asyncio.sleep(RETURN_S)
            else:
                break
        self._holders.take_back(holder.id)
        if contact is not None:
            self._on_missed(holder.id)

    async def _read_all(self, link: PeerLink, answer: asyncio.Future[Answer]) -> None:
        """Wait for an answer for as long as anything comes by the link. Raises PeerUnreachable or Refused."""
        now = asyncio.get_running_loop().time
        since_s = now()
        while not answer.done():
            left_s = max(since_s, link.heard_s) + ANSWER_TIMEOUT_S - now()
            if left_s <= 0:
                # It may read by another link: the other side can have lost this one, and we were not told.
                link.abort(f"nothing has come by it for {ANSWER_TIMEOUT_S:g} s")
                break
            due_s = now() + left_s
            await asyncio.wait([answer], timeout=left_s)
            if late_s(due_s):
                since_s = now()
        check_confirmed(link.contact, await answer)


def check_confirmed(holder: dht.Contact, answer: Answer) -> None:
    """Raise Leaving or Refused for the answer of a holder that did not take a change."""
    if isinstance(answer, NotHere):
        raise Leaving(f"{show(holder)} is about to stop")
    if isinstance(answer, Failed):
        raise Refused(f"{show(holder)} refused: {answer.reason}")
