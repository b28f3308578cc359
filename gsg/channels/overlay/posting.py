"""What a channel at a peer wants, posted with the rendezvous of the features that it requires.

interests ──features chosen by how much is posted there──> postings to make and to withdraw ──> the peer
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import Final

from ...background import StartTask, Worker
from ...errors import DoorClosed, RemoteError
from ...feeds.alpha_memory import AlphaMemory, OnEvent
from ...peer import Peer
from ...tuples.terms import Term
from .event_tuples import place_of
from .features import candidates_of
from .postings import Interest, Posting, Postings

log = logging.getLogger(__name__)

PLACED_AT_ONCE: Final = 1_000
"""Interests whose features are chosen together, and postings that are made together: others have their turn between."""
POSTED_AT_ONCE: Final = 16
"""Questions and postings that are unanswered at a time."""
MAX_LOADS: Final = 10_000
"""Features of which it is remembered how much is posted there; beyond, all are asked again."""
AGAIN_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""After how long what could not be posted is tried again, each time; the last one holds from then on."""


class InterestPoster:
    """Keeps the interests of one channel posted. ``hear`` is told of events, ``name`` is the channel's, for the log; ``first`` is
    posted whatever is wanted."""

    def __init__(self, peer: Peer, hear: OnEvent, name: str, start_task: StartTask, first: Posting) -> None:
        self._peer = peer
        self._hear = hear
        self._name = name
        self._postings = Postings()
        self._changes: Counter[Interest] = Counter()
        """How many more, or less, have each interest than when it was looked at last. Bounded by the channel's subscriptions, and
        those that ended since."""
        self._loads: dict[Term, int] = {}
        """How much is posted under a feature, as its rendezvous said. Limit: MAX_LOADS."""
        self._listening: dict[Posting, AlphaMemory] = {}
        self._to_post: set[Posting] = {first}
        self._to_withdraw: set[Posting] = set()
        self._is_placing = False
        """Whether features are being chosen for interests that are among the changes no more."""
        self._left = False
        self._worker = Worker(start_task, self._post_changes)
        self._places = asyncio.Semaphore(POSTED_AT_ONCE)
        self._failures = 0
        """How often in a row something could not be posted."""
        self._again: asyncio.TimerHandle | None = None
        self._posted_some = asyncio.Event()

    def begin(self) -> None:
        """Post what is posted whatever is wanted, and what was noted by now."""
        self._worker.wake()

    def note_interest(self, interest: Interest, sign: int) -> None:
        """Somebody wants something (1), or no more (-1)."""
        self._changes[interest] += sign
        if not self._changes[interest]:
            del self._changes[interest]
        self._worker.wake()

    async def posted(self) -> None:
        """Wait until all that is wanted is posted: whatever is published from then on comes. Raises DoorClosed where the channel
        has left its peer."""
        while self._changes or self._is_placing or self._to_post or self._to_withdraw:
            if self._left:
                raise DoorClosed("what is wanted was not posted, as the channel has left its peer")
            self._posted_some.clear()
            await self._posted_some.wait()

    def leave(self) -> None:
        """Withdraw everything."""
        self._left = True
        if self._again is not None:
            self._again.cancel()
        for memory in self._listening.values():
            self._peer.end_listening(memory)
        self._posted_some.set()

    async def _post_changes(self) -> None:
        while self._changes:
            await self._place_some()
        while some := list(islice(self._to_post, PLACED_AT_ONCE)):
            await asyncio.gather(*map(self._post, some))
            if not self._to_post.isdisjoint(some):
                self._again = asyncio.get_running_loop().call_later(self._pause_s(), self._worker.wake)
                return
        self._failures = 0
        # What takes the place of something is posted before that is withdrawn, so that no event is missed between.
        for posting in self._to_withdraw:
            self._peer.end_listening(self._listening.pop(posting))
        self._to_withdraw.clear()
        self._posted_some.set()

    def _pause_s(self) -> float:
        self._failures += 1
        return AGAIN_S[min(self._failures, len(AGAIN_S)) - 1]

    async def _place_some(self) -> None:
        """Choose the features of interests that have come, and what is to be posted and withdrawn."""
        self._is_placing = True
        some = list(islice(self._changes.items(), PLACED_AT_ONCE))
        for interest, _ in some:
            del self._changes[interest]
        choices = {feature for interest, more in some if more > 0 for feature in candidates_of(interest.condition)}
        await asyncio.gather(*map(self._ask_load, choices - self._loads.keys()))
        for interest, more in some:
            self._postings.change(interest, more, lambda feature: self._loads.get(feature, 0))
        to_post, to_withdraw = self._postings.take_changes()
        self._to_post = (self._to_post | to_post) - to_withdraw - self._listening.keys()
        self._to_withdraw = {posting for posting in self._to_withdraw | to_withdraw if posting in self._listening} - to_post
        self._is_placing = False

    async def _ask_load(self, feature: Term) -> None:
        if len(self._loads) >= MAX_LOADS:
            self._loads.clear()
        with suppress(RemoteError):  # where it does not answer, it is chosen as if nothing were posted there
            async with self._places:
                load = await self._peer.inside.load_at(*place_of(feature))
            self._loads[feature] = 0 if load is None else load.templates

    async def _post(self, posting: Posting) -> None:
        template, anchor = place_of(posting.feature)
        try:
            async with self._places:
                self._listening[posting] = await self._peer.listen(template, self._hear, anchor=anchor, test=posting.test)
            self._to_post.discard(posting)
        except RemoteError as error:
            log.warning("channel %s: %s is not posted yet, and tried again: %s", self._name, posting.feature, error)
