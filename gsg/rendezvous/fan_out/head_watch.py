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
"""How often heads are looked at, while anything is fanned out."""
SLOW_S = 1.0
"""How long a head may take no more, or owe an answer. With LOOK_S, a part waits so long at most for one that is dead or slow."""


class HeadWatch:
    """Watches the heads of one rendezvous; ``flush`` sends what they cause."""

    def __init__(self, fan_outs: FanOuts, start_task: StartTask, flush: Callable[[], None]) -> None:
        self._fan_outs = fan_outs
        self._flush = flush
        self._owed: dict[PeerLink, tuple[float, asyncio.Future[Answer]]] = {}
        """What each head owes, and since when. Bounded by the heads, as the next."""
        self._full_s: dict[PeerLink, float] = {}
        """Since when a link has taken no more."""
        self._worker = Worker(start_task, self._watch)

    def wake(self) -> None:
        """There is a head, from now on."""
        self._worker.wake()

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._fan_outs.fanned:
            due_s = clock() + LOOK_S
            await asyncio.sleep(LOOK_S)
            self.look(clock(), was_stopped=clock() > due_s + LOOK_S)
        self._owed.clear()
        self._full_s.clear()

    def look(self, now_s: float, *, was_stopped: bool = False) -> None:
        """Dismiss the heads that are slow, unless this peer itself was stopped for a while; ask those that owe nothing."""
        heads = [
            (posting, head, head.subscriber)
            for posting, fan_out in self._fan_outs.fanned.items()
            for head, part in fan_out.heads.items()
            if part and isinstance(head.subscriber, PeerLink)
        ]
        links = {link for _, _, link in heads}
        self._owed = {link: owed for link, owed in self._owed.items() if link in links and not owed[1].done()}
        self._full_s = {link: self._full_s.get(link, now_s) for link in links if link.congested}
        slow = set() if was_stopped else {link for link in links if self._is_slow(link, now_s)}
        for posting, head, link in heads:
            if link in slow:
                self._fan_outs.dismiss(posting, head)
        for fan_out in self._fan_outs.fanned.values():
            fan_out.kept.forget_old(now_s)
        if slow:
            self._flush()
        for link in links - slow - self._owed.keys():
            self._owed[link] = now_s, link.ask(lambda request: Beat(request, 0))

    def _is_slow(self, link: PeerLink, now_s: float) -> bool:
        owed_s, _ = self._owed.get(link, (now_s, None))
        return min(owed_s, self._full_s.get(link, now_s)) + SLOW_S <= now_s
