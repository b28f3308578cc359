"""Heads are asked whether they keep up: one that is dead or slow must not hold its part for long.

A head whose link takes no more, or that owes an answer, for SLOW_S, is dismissed, and its part is asked to post again (parts.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...background import StartTask, Worker
from ...wire.exchange import Answer, PeerLink
from ...wire.messages import Beat
from .parts import FanOuts

LOOK_S = 0.5
"""How often heads are looked at, while there are any with members."""
SLOW_S = 1.0
"""How long a head may keep its part waiting. Those that answer late only because this peer was stopped are asked once more."""


class HeadWatch:
    """Watches the heads of one rendezvous; ``flush`` sends what they cause."""

    def __init__(self, fan_outs: FanOuts, start_task: StartTask, flush: Callable[[], None]) -> None:
        self._fan_outs = fan_outs
        self._flush = flush
        self._owed: dict[PeerLink, tuple[float, asyncio.Future[Answer]]] = {}
        """What each head owes, and since when. Bounded by the heads."""
        self._full_s: dict[PeerLink, float] = {}
        """Since when a link has taken no more. Bounded by the heads."""
        self._worker = Worker(start_task, self._watch)

    def wake(self) -> None:
        """There is a head, from now on."""
        self._worker.wake()

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            heads = [
                (posting, head, head.subscriber)
                for posting, fan_out in self._fan_outs.fanned.items()
                for head, part in fan_out.heads.items()
                if part
            ]
            if not heads:
                self._owed.clear()
                self._full_s.clear()
                return
            due_s = clock() + LOOK_S
            await asyncio.sleep(LOOK_S)
            now_s = clock()
            was_stopped = now_s > due_s + LOOK_S
            slow = (
                set()
                if was_stopped
                else {link for _, _, link in heads if isinstance(link, PeerLink) and self._is_slow(link, now_s)}
            )
            for posting, head, link in heads:
                if link in slow and head in self._fan_outs.fanned[posting].heads:
                    self._fan_outs.dismiss(posting, head)
            if slow:
                self._flush()
            self._ask({link for _, _, link in heads if isinstance(link, PeerLink) and link not in slow}, now_s)

    def _is_slow(self, link: PeerLink, now_s: float) -> bool:
        owed = self._owed.get(link)
        if owed is not None and not owed[1].done() and owed[0] + SLOW_S <= now_s:
            return True
        if not link.congested:
            self._full_s.pop(link, None)
            return False
        return self._full_s.setdefault(link, now_s) + SLOW_S <= now_s

    def _ask(self, links: set[PeerLink], now_s: float) -> None:
        self._owed = {link: owed for link, owed in self._owed.items() if link in links and not owed[1].done()}
        for link in links - self._owed.keys():
            self._owed[link] = now_s, link.ask(lambda request: Beat(request, 0))
