"""What each holder has confirmed of which keys, so that it is told once, though one death after the other is noticed.

    to be told ──confirmed before, and nothing changed──> has it
         │     ──under way to it already────────────────> later
         └──sent──confirmed within SOON_S──> has it
                  └──not yet──> later: the look goes on, and ``on_ended`` is called when it has ended
                  └──it fails──> failed: to be told again

To have confirmed a key means to have what was known here when it was sent; once it changes, that says nothing any more. And who
lets go of a key, since a closer peer came, has it no more: what was confirmed of keys near a newcomer is forgotten.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import chain

import dht

from ..background import StartTask
from ..errors import GsgError, PeerUnreachable
from ..placement.holders import Holders
from ..storage.facts_by_key import Entries
from ..tuples.audiences import audiences_of
from ..tuples.features import Key, key
from ..tuples.long_constants import Remains
from ..tuples.sizes import parts
from ..tuples.terms import Tuple
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, LinkBroke, answer_of, show
from ..wire.holder_messages import AskKeys, Buried, Differ, Replicate
from ..wire.messages import Done, Message

log = logging.getLogger(__name__)

SOON_S = 2.0
"""How long a look through the keys waits for one holder: it may be dead, and others who died meanwhile are to be looked at."""
REMEMBERED = 100_000
"""Confirmed keys, of all holders together, that are remembered beyond the time in which keys change hands."""
AGAIN_S = 1.0
"""Pause before a holder that takes nothing for now is sent to again."""
CHUNK_FACTS = 1_000
UNDER_WAY = 8
"""Messages of so many facts that one holder is sent before it has confirmed the first of them."""
ASKED_KEYS = 1_000
"""Keys in one question."""
EVER = 1 << 62
"""Later than any stamp: keys are compared as they are, though they are just changing."""
KEYS_PER_TURN = 500
"""Keys that are summed up before others get their turn."""
FACTS_PER_TURN = 10_000
"""Facts under one key that are summed up before others get their turn."""


class Outcome(Enum):
    """What came of telling a holder."""

    CONFIRMED = 1
    LATER = 2
    """It is told something still."""
    FAILED = 3


@dataclass(slots=True)
class _Sending:
    """What a holder is just being told."""

    ended: asyncio.Future[Outcome]
    came: list[bytes] = field(default_factory=list)
    """Who came since it began. Bounded by the peers there are, and how often they are missed."""
    is_late: bool = False
    """Whether nobody waits for it any more."""


class Copying:
    """Tells other holders, each one thing at a time; ``on_ended()`` hears that a holder may be told more."""

    def __init__(
        self, holders: Holders, exchange: Exchange, held: Entries, start_task: StartTask, on_ended: Callable[[], None]
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self._held = held
        self._start_task = start_task
        self._on_ended = on_ended
        self._confirmed: dict[bytes, dict[Key, int]] = {}
        """By holder what was known of each key when it was sent. Bounded by the keys here, for each of their holders."""
        self._sending: dict[bytes, _Sending] = {}
        """By holder; bounded by the holders there are. Each ends with the last answer that it waits for."""

    @property
    def is_late(self) -> bool:
        """Whether somebody is told something that takes longer than SOON_S."""
        return any(sending.is_late for sending in self._sending.values())

    def died(self, peer: bytes) -> None:
        """What a peer has confirmed is gone with it."""
        self._confirmed.pop(peer, None)

    def came(self, peer: bytes) -> None:
        """A peer is there, with whatever it had; others may let go of what is nearer to it."""
        for sending in self._sending.values():
            sending.came.append(peer)
        self.died(peer)
        for holder, digests in self._confirmed.items():
            for each in [each for each in digests if _is_nearer(peer, holder, each)]:
                del digests[each]

    def settled(self, *, soon_again: bool) -> None:
        """No keys change hands for now."""
        if not soon_again or sum(map(len, self._confirmed.values())) > REMEMBERED:
            self._confirmed.clear()

    async def tell(
        self, holder: dht.Contact, keys: Sequence[Key], doubtful: Sequence[Key] = (), wait_s: float | None = SOON_S
    ) -> Outcome:
        """See to it that a holder has what is known of some keys; the ``doubtful`` ones it may have already."""
        confirmed = self._confirmed.get(holder.id, _NOTHING)
        before = [each for each in (*keys, *doubtful) if each in confirmed]
        digests = await self._digests(before)
        # Somebody may have come meanwhile.
        confirmed = self._confirmed.get(holder.id, _NOTHING)
        has = {each for each, digest in zip(before, digests, strict=True) if confirmed.get(each) == digest}
        lacks, may_lack = [each for each in keys if each not in has], [each for each in doubtful if each not in has]
        if not lacks and not may_lack:
            return Outcome.CONFIRMED
        return await self._carry_out(holder, partial(self._send, holder, lacks, may_lack), wait_s)

    async def _carry_out(self, holder: dht.Contact, send: Callable[[], Awaitable[bool]], wait_s: float | None = SOON_S) -> Outcome:
        """Send a holder something, whose outcome is whether it was confirmed, unless it is being told something else."""
        sending = self._sending.get(holder.id)
        is_other = sending is not None
        if sending is None:
            sending = self._sending[holder.id] = _Sending(asyncio.get_running_loop().create_future())
            self._start_task(self._send_all(holder.id, sending, send))
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

    async def _send_all(self, holder: bytes, sending: _Sending, send: Callable[[], Awaitable[bool]]) -> None:
        told = Outcome.FAILED
        try:
            if await send():
                told = Outcome.CONFIRMED
        finally:
            del self._sending[holder]
            sending.ended.set_result(told)
            if sending.is_late:
                self._on_ended()

    async def _send(self, holder: dht.Contact, lacks: list[Key], may_lack: list[Key]) -> bool:
        came = self._sending[holder.id].came
        keys = lacks + may_lack
        # Before it is sent: what changes meanwhile is not what was confirmed.
        digests = await self._digests(keys)
        if not await self._is_confirmed(holder, self._copy(holder, lacks, may_lack)):
            return False
        if holder.id not in came:
            known = self._confirmed.setdefault(holder.id, {})
            for each, digest in zip(keys, digests, strict=True):
                if not any(_is_nearer(peer, holder.id, each) for peer in came):
                    known[each] = digest
        return True

    async def _copy(self, holder: dht.Contact, keys: list[Key], doubtful: list[Key]) -> None:
        await self.copy_keys(holder, keys + await differing(self._exchange, self._held, holder, doubtful))

    async def copy_keys(self, holder: dht.Contact, keys: list[Key]) -> None:
        """Send what is known of keys to one of their holders. Raises PeerUnreachable or Refused."""
        start = 0
        while start < len(keys):
            copy = Copy()
            while start < len(keys) and len(copy) < CHUNK_FACTS:
                copy.add(self._held, keys[start])
                start += 1
            await replicate(self._exchange, holder, copy)

    async def give(self, holder: dht.Contact, copy: Copy, wait_s: float | None) -> Outcome:
        """See to it that a holder has some facts."""
        return await self._carry_out(holder, lambda: self._is_confirmed(holder, replicate(self._exchange, holder, copy)), wait_s)

    async def _is_confirmed(self, holder: dht.Contact, sending: Coroutine[None, None, None]) -> bool:
        try:
            await sending
        except GsgError as error:
            log.info("keys not handed over to %s: %s", show(holder), error)
            if isinstance(error, PeerUnreachable):
                self._holders.failed(holder.id, error)
            if isinstance(error, LinkBroke) or not isinstance(error, PeerUnreachable):
                # It may live and take nothing for now, as when its disk is full: to ask again at once would be in vain.
                await asyncio.sleep(AGAIN_S)
            return False
        return True

    async def _digests(self, keys: Sequence[Key]) -> list[int]:
        digests = []
        for number, each in enumerate(keys, 1):
            while not self._held.prepare_digest(each, FACTS_PER_TURN):  # noqa: ASYNC110  # it is done here, part by part
                await asyncio.sleep(0)
            digests.append(self._held.digest_of_all(each, 0))
            if number % KEYS_PER_TURN == 0:
                await asyncio.sleep(0)
        return digests


@dataclass(slots=True)
class Copy:
    """What a holder is to be told of keys: facts, each with the position of its key and its stamp; what remains of others, too."""

    facts: list[tuple[Tuple, bytes, int]] = field(default_factory=list)
    remains: list[tuple[Remains, bytes, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.facts) + len(self.remains)

    def add(self, held: Entries, key: Key) -> None:
        """Add all that is known of a key."""
        there = bytes((key[1],))
        self.facts += [(fact, there, stamp) for fact, stamp in held.under(key).items()]
        self.remains += [(remains, there, stamp) for remains, stamp in held.buried.of(key).items()]


async def replicate(exchange: Exchange, holder: dht.Contact, copy: Copy) -> None:
    """Tell a holder of facts that came or went, and wait until it has confirmed. Raises PeerUnreachable or Refused."""
    channel = await exchange.channel(holder)
    unanswered: deque[asyncio.Future[Answer]] = deque()
    # One key may have more facts than a link takes at once, or a peer reads soon.
    messages = chain(
        (partial(_replicate, copy.facts[part]) for part in parts([fact for fact, _, _ in copy.facts], CHUNK_FACTS)),
        (partial(_buried, copy.remains[part]) for part in parts([remains for remains, _, _ in copy.remains], CHUNK_FACTS)),
    )
    for make in messages:
        if len(unanswered) == UNDER_WAY:
            await answer_of(channel, unanswered.popleft(), Done)
        if channel.congested:
            await channel.drained(ANSWER_TIMEOUT_S)
        unanswered.append(channel.ask(make))
    for answer in unanswered:
        await answer_of(channel, answer, Done)


async def differing(exchange: Exchange, held: Entries, holder: dht.Contact, keys: list[Key]) -> list[Key]:
    """The keys of which a holder does not know the same. Raises PeerUnreachable or Refused."""
    differ: list[Key] = []
    for begin in range(0, len(keys), ASKED_KEYS):
        some = keys[begin : begin + ASKED_KEYS]
        digests = [held.digest_of_all(each, held.buried.since, EVER) for each in some]
        found = await exchange.ask(holder, partial(_ask_keys, some, digests, held.buried.since), Differ)
        differ += [some[number] for number in dict.fromkeys(found.numbers) if 0 <= number < len(some)]
    return differ


def _ask_keys(keys: list[Key], digests: list[int], since: int, request: int) -> Message:
    return AskKeys(request, keys, digests, EVER, since)


def _replicate(rows: list[tuple[Tuple, bytes, int]], request: int) -> Message:
    facts = [fact for fact, _, _ in rows]
    places, stamps = [there for _, there, _ in rows], [stamp for _, _, stamp in rows]
    return Replicate(request, [1] * len(rows), facts, places, stamps, audiences_of(facts))


def _buried(rows: list[tuple[Remains, bytes, int]], request: int) -> Message:
    facts = [remains for remains, _, _ in rows]
    places, stamps = [there for _, there, _ in rows], [stamp for _, _, stamp in rows]
    return Buried(request, facts, places, stamps, audiences_of(facts))


def _is_nearer(peer: bytes, than: bytes, to: Key) -> bool:
    place = key(*to)
    return dht.distance(peer, place) < dht.distance(than, place)


_NOTHING: dict[Key, int] = {}
