"""Keys are copied to other holders: who has just come is told all, and others are asked first what they lack.

    to be brought up to date ──another copy is under way to it──> later
         └──all is sent, or AskKeys and what differs──confirmed within SOON_S──> has it
                  └──not yet──> later: the look goes on, and ``on_ended`` is called when the copy has ended
                  └──it fails──> failed: to be told again

So whoever is told of one death after the other may ask for the same keys again and again, and they are sent once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import chain

import dht

from ..background import StartTask
from ..errors import GsgError, PeerUnreachable
from ..placement.holders import Holders
from ..storage.facts_by_key import FactsByKey
from ..tuples.audiences import audiences_of
from ..tuples.features import Key
from ..tuples.long_constants import Remains
from ..tuples.sizes import parts
from ..tuples.terms import Tuple
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, LinkBroke, answer_of, show
from ..wire.holder_messages import AskKeys, Buried, Differ, Replicate
from ..wire.messages import Done, Message

log = logging.getLogger(__name__)

SOON_S = 2.0
"""How long a look through the keys waits for one holder: it may be dead, and others who died meanwhile are to be looked at."""
AGAIN_S = 1.0
"""Pause before a holder that takes nothing for now is sent to again."""
CHUNK_FACTS = 1_000
UNDER_WAY = 8
"""Messages of so many facts that one holder is sent before it has confirmed the first of them."""
ASKED_KEYS = 1_000
"""Keys in one question: so many are summed up before others get their turn, too."""
FACTS_PER_TURN = 10_000
"""Facts under one key that are summed up before others get their turn."""
EVER = 1 << 62
"""Later than any stamp: keys are compared as they are, though they are just changing."""


class Outcome(Enum):
    """What came of telling a holder."""

    CONFIRMED = 1
    LATER = 2
    """It is told something still."""
    FAILED = 3


@dataclass(slots=True)
class _Sending:
    """A copy that is under way to a holder."""

    ended: asyncio.Future[Outcome]
    is_late: bool = False
    """Whether nobody waits for it any more."""


class Copying:
    """Tells other holders, each one thing at a time; ``on_ended()`` hears that a holder may be told more."""

    def __init__(
        self, holders: Holders, exchange: Exchange, held: FactsByKey, start_task: StartTask, on_ended: Callable[[], None]
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self._held = held
        self._start_task = start_task
        self._on_ended = on_ended
        self._sending: dict[bytes, _Sending] = {}
        """By holder; bounded by the holders there are. Each ends with the last answer that it waits for."""

    @property
    def is_late(self) -> bool:
        """Whether somebody is told something that takes longer than SOON_S."""
        return any(sending.is_late for sending in self._sending.values())

    async def bring_up_to_date(
        self, holder: dht.Contact, keys: Sequence[Key], doubtful: Sequence[Key] = (), wait_s: float | None = SOON_S
    ) -> Outcome:
        """See to it that a holder has what is known of some keys, unless it is being told something else.

        It is asked first which of the ``doubtful`` ones it has.
        """
        sending = self._sending.get(holder.id)
        is_other = sending is not None
        if sending is None:
            sending = self._sending[holder.id] = _Sending(asyncio.get_running_loop().create_future())
            self._start_task(self._send(holder, keys, doubtful, sending))
        elif sending.is_late and wait_s is not None:
            return Outcome.LATER
        await asyncio.wait([sending.ended], timeout=wait_s)
        if not sending.ended.done():
            sending.is_late = True
            return Outcome.LATER
        if is_other:
            self._on_ended()
            return Outcome.LATER
        return sending.ended.result()

    async def _send(self, holder: dht.Contact, keys: Sequence[Key], doubtful: Sequence[Key], sending: _Sending) -> None:
        outcome = Outcome.FAILED
        try:
            await self.copy_keys(holder, keys)
            for begin in range(0, len(doubtful), ASKED_KEYS):
                await self.copy_keys(
                    holder, await self.differing(holder, doubtful[begin : begin + ASKED_KEYS], self._held.buried.since)
                )
            outcome = Outcome.CONFIRMED
        except GsgError as error:
            log.info("keys not handed over to %s: %s", show(holder), error)
            if isinstance(error, PeerUnreachable):
                self._holders.failed(holder.id, error)
            if isinstance(error, LinkBroke) or not isinstance(error, PeerUnreachable):
                # It may live and take nothing for now, as when its disk is full: to ask again at once would be in vain.
                await asyncio.sleep(AGAIN_S)
        finally:
            del self._sending[holder.id]
            sending.ended.set_result(outcome)
            if sending.is_late:
                self._on_ended()

    async def copy_keys(self, holder: dht.Contact, keys: Sequence[Key]) -> None:
        """Send what is known of keys to one of their holders. Raises PeerUnreachable or Refused."""
        start = 0
        while start < len(keys):
            copy = Copy()
            while start < len(keys) and len(copy) < CHUNK_FACTS:
                copy.add_key(self._held, keys[start])
                start += 1
            await self.replicate(holder, copy)

    async def replicate(self, holder: dht.Contact, copy: Copy) -> None:
        """Tell a holder of facts that came or went, and wait until it has confirmed. Raises PeerUnreachable or Refused."""
        link = await self._exchange.link(holder)
        unanswered: deque[asyncio.Future[Answer]] = deque()
        # One key may have more facts than a link takes at once, or a peer reads soon.
        messages = chain(
            (partial(_replicate, copy.facts[part]) for part in parts([fact for fact, _, _ in copy.facts], CHUNK_FACTS)),
            (partial(_buried, copy.remains[part]) for part in parts([remains for remains, _, _ in copy.remains], CHUNK_FACTS)),
        )
        for make in messages:
            if len(unanswered) == UNDER_WAY:
                await answer_of(link, unanswered.popleft(), Done)
            if link.congested:
                await link.drained(ANSWER_TIMEOUT_S)
            unanswered.append(link.ask(make))
        for answer in unanswered:
            await answer_of(link, answer, Done)

    async def differing(self, holder: dht.Contact, keys: Sequence[Key], since: int, until: int = EVER) -> list[Key]:
        """The keys, of ASKED_KEYS at most, of which a holder does not know the same, as they were before the stamp ``until``.

        Tombstones count from the period ``since`` on. Raises PeerUnreachable or Refused.
        """
        await prepare_digests(self._held, keys)
        digests = [self._held.digest_of_all(each, since, until) for each in keys]
        found = await self._exchange.ask(holder, lambda request: AskKeys(request, list(keys), digests, until, since), Differ)
        return [keys[number] for number in dict.fromkeys(found.numbers) if 0 <= number < len(keys)]


async def prepare_digests(held: FactsByKey, keys: Iterable[Key]) -> None:
    """Sum up what is under some keys, of which the digests are to be had at once then."""
    for key in keys:
        while not held.prepare_digest(key, FACTS_PER_TURN):  # noqa: ASYNC110  # it is done here, part by part
            await asyncio.sleep(0)


@dataclass(slots=True)
class Copy:
    """What a holder is to be told of keys: facts, each with the position of its key and its stamp; what remains of others, too."""

    facts: list[tuple[Tuple, bytes, int]] = field(default_factory=list)
    remains: list[tuple[Remains, bytes, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.facts) + len(self.remains)

    def add_key(self, held: FactsByKey, key: Key) -> None:
        """Add all that is known of a key."""
        there = bytes((key[1],))
        self.facts += [(fact, there, stamp) for fact, stamp in held.under(key).items()]
        self.remains += [(remains, there, stamp) for remains, stamp in held.buried.under(key).items()]


def _replicate(rows: list[tuple[Tuple, bytes, int]], request: int) -> Message:
    facts = [fact for fact, _, _ in rows]
    places, stamps = [there for _, there, _ in rows], [stamp for _, _, stamp in rows]
    return Replicate(request, [1] * len(rows), facts, places, stamps, audiences_of(facts))


def _buried(rows: list[tuple[Remains, bytes, int]], request: int) -> Message:
    facts = [remains for remains, _, _ in rows]
    places, stamps = [there for _, there, _ in rows], [stamp for _, _, stamp in rows]
    return Buried(request, facts, places, stamps, audiences_of(facts))
