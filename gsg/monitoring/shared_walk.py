"""A walk through what lies at a peer, for all who ask for what it finds: a short one at once, a long one in slices.

Whoever asks while one is under way waits for its end, and what a long one has found is told for a while: so what it costs a peer
does not follow from how often it is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, TypeAlias, TypeVar

from ..background import DEFECT, StartTask, in_turns
from ..errors import PeerUnreachable, Refused

AT_ONCE = 10
"""Pieces that are walked while whoever asked waits; the rest in slices of SLICE_S, in turn with others."""
ASKING = 100
"""Who may wait for the end of a walk in slices; beyond, a question is refused."""
REST = 20
"""What was found in slices is told for so many times as long as it took: that costs a peer little, however often it is asked."""

Found = TypeVar("Found")
Walk: TypeAlias = Iterator[Found | None]
"""Nothing after each piece, and in the end what was found."""


class SharedWalk(Generic[Found]):
    """Walks of one kind, which ``begin()`` begins; ``start_task`` runs a coroutine while the peer lives."""

    def __init__(self, begin: Callable[[], Walk[Found]], clock: Callable[[], float], start_task: StartTask) -> None:
        self._begin = begin
        self._clock = clock
        self._start_task = start_task
        self._asking: list[tuple[Callable[[Found], None], Callable[[str], None]]] = []
        """Who waits for the end of the walk under way. Limit: ASKING."""
        self._last: Found | None = None
        self._fresh_until_s = 0.0

    def ask(self, tell: Callable[[Found], None], refuse: Callable[[str], None]) -> None:
        """Call ``tell`` with what is found, at once or later, or ``refuse`` with the reason where the walk fails later. Raises
        Refused where too many wait already."""
        if len(self._asking) >= ASKING:
            raise Refused(f"{ASKING} questions wait for this peer to count what it holds; ask again in a moment")
        if self._last is not None and self._clock() < self._fresh_until_s:
            tell(self._last)
            return
        if not self._asking:
            self._last = None
            walk = self._begin()
            found = next(filter(None, islice(walk, AT_ONCE)), None)
            if found is not None:
                tell(found)
                return
            self._start_task(self._go_on(walk))
        self._asking.append((tell, refuse))

    async def _go_on(self, walk: Walk[Found]) -> None:
        begun_s = self._clock()
        try:
            async for found in in_turns(walk, self._clock):
                self._last = found
            self._fresh_until_s = self._clock() + REST * (self._clock() - begun_s)
            assert self._last is not None, "the walk ends with what it has found"
        finally:
            found, asking, self._asking = self._last, self._asking, []
            for tell, refuse in asking:
                with contextlib.suppress(PeerUnreachable):
                    if found is None:
                        refuse(DEFECT)
                    else:
                        tell(found)
