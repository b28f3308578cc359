"""A holder that takes over asks the others what it has missed, before it answers who subscribes.

What was acknowledged has reached all living holders, except those that were set aside, or had just come. One of these may be the
primary all the same, when those before it die; so while keys may be changing hands whoever serves a key compares it once with its
other holders, and is sent what differs there. Facts alone are compared, as a snapshot is of those; where they differ, tombstones
come along.

    subscribed ──settled, or compared already──> snapshot
         └──AskFacts to the other holders──> what they know better ──Done, or WAIT_S──> snapshot
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import dht

from ..background import StartTask, in_turns
from ..errors import GsgError, PeerUnreachable, Refused
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility, Stage
from ..rendezvous.feed import AnyFeed, Feed
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import Interval, Key
from ..tuples.terms import MAX_ARITY
from ..wire.exchange import Exchange, PeerLink, show
from ..wire.holder_messages import AskFacts
from ..wire.messages import Done
from .copying import Copying

log = logging.getLogger(__name__)

WAIT_S = 2.0
"""How long the other holders are waited for: who is dead or slow must not keep subscribers from what is here."""
COMPARED = 10_000
"""Keys of which it is remembered that they were compared; at the limit all are forgotten, and compared again."""
ASKED_KEYS = 100
"""Keys in one question."""
KEYS_PER_TURN = 1_000
"""Keys of an interval that are looked at before others get their turn."""
FINDING = 32
"""Questions for which holders are looked up at once; beyond, one is answered by what is known, and repair does the rest."""


class CatchingUp:
    """Both sides of it at one peer."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        responsibility: Responsibility,
        copying: Copying,
        start_task: StartTask,
    ) -> None:
        self._own = own.id
        self._holders = holders
        self._exchange = exchange
        self._held = rendezvous.held
        self._responsibility = responsibility
        self._copying = copying
        self._start_task = start_task
        self._finding = 0
        self._version = -1
        self._compared: dict[Key, asyncio.Future[None]] = {}
        """Keys that were compared, or are just being, with the holders of this version. Limit: COMPARED."""

    def when_caught_up(self, feed: AnyFeed, do: Callable[[], None]) -> None:
        """Do something once all is here that the snapshot of a feed is to have: mostly at once."""
        key = feed.posting.anchor
        if type(feed) is not Feed or key is None or self._responsibility.stage is not Stage.SETTLING:
            do()
            return
        compared = self._comparing(key)
        if compared.done():
            do()
        else:
            compared.add_done_callback(lambda _: do())

    def under_way(self) -> int:
        """Keys that are being compared: those who subscribe there wait for it."""
        return sum(not compared.done() for compared in self._compared.values())

    def _comparing(self, key: Key) -> asyncio.Future[None]:
        if self._version != self._holders.version or len(self._compared) >= COMPARED:
            self._version = self._holders.version
            self._compared = {}
        compared = self._compared.get(key)
        if compared is None:
            compared = self._compared[key] = asyncio.get_running_loop().create_future()
            holders = self._responsibility.holders_of(key)
            if [holder.id for holder in holders] == [self._own]:
                compared.set_result(None)
            else:
                self._start_task(self._compare(key, compared))
        return compared

    async def _compare(self, key: Key, compared: asyncio.Future[None]) -> None:
        try:
            async with asyncio.timeout(WAIT_S):
                await self._holders.look_up([key])
                others = [holder for holder in self._responsibility.holders_of(key) if holder.id != self._own]
                digest = await self._digest(key)
                await asyncio.gather(*(self._ask(holder, key, digest) for holder in others))
        except TimeoutError:
            log.info("what other holders know of %s has not come within %g s", key, WAIT_S)
        except PeerUnreachable as error:
            log.info("who else holds %s is unknown: %s", key, error)
        finally:
            compared.set_result(None)

    async def _ask(self, holder: dht.Contact, key: Key, digest: int) -> None:
        try:
            await self._exchange.ask(holder, lambda request: AskFacts(request, [key], [digest]), Done)
        except GsgError as error:
            log.info("what %s knows of %s is unknown: %s", show(holder), key, error)

    async def _digest(self, key: Key) -> int:
        """Of the facts under a key, or all keys of an interval: 64 bits that are the same where these are."""
        total = 0
        async for each in in_turns(list(self._held.covered_by(key)), most=KEYS_PER_TURN):
            total += self._held.digest(each)
        return total & ((1 << 64) - 1)

    def _knows(self, key: Key) -> bool:
        return any(map(self._held.knows, self._held.covered_by(key)))

    # --- what others ask --------------------------------------------------------------------------------------------------------

    def answer(self, link: PeerLink, message: AskFacts) -> None:
        """Another holder wants to know what it has missed. Raises Refused."""
        if len(message.keys) != len(message.digests) or len(message.keys) > ASKED_KEYS:
            raise Refused(
                f"{len(message.keys)} keys with {len(message.digests)} digests; expected as many, and at most {ASKED_KEYS}"
            )
        if any(not 0 <= position < arity <= MAX_ARITY for arity, position, _ in message.keys):
            raise Refused(f"a key that is no position of a tuple; expected one below its arity, of {MAX_ARITY} at most")
        # Mostly their holders are known; who has just come back may be asked before it knows the others.
        unknown = [key for key in message.keys if self._knows(key) and not self._holders.holders_if_none_aside(key)]
        if self._finding < FINDING and (unknown or any(type(key[2]) is Interval for key in message.keys)):
            self._start_task(self._answer_later(link, message, unknown))
        else:
            self._answer_now(link, message)

    async def _answer_later(self, link: PeerLink, message: AskFacts, unknown: list[Key]) -> None:
        """Answer when holders are found, and the keys of intervals are looked through."""
        wanted: list[Key] = []
        self._finding += 1
        try:
            await self._holders.look_up_each(unknown)
            for key, digest in dict(zip(message.keys, message.digests, strict=True)).items():
                if type(key[2]) is Interval and self._is_holder(link, key) and await self._digest(key) != digest:
                    # Of one that is not ordered here, which may be no key at all, nothing is known.
                    wanted += filter(self._held.knows, self._held.covered_by(key))
        finally:
            self._finding -= 1
        self._answer_now(link, message, wanted)

    def _answer_now(self, link: PeerLink, message: AskFacts, wanted: Sequence[Key] = ()) -> None:
        differing = [
            key
            for key, digest in zip(message.keys, message.digests, strict=True)
            if self._held.knows(key) and self._held.digest(key) != digest and self._is_holder(link, key)
        ]
        if wanted or differing:
            self._start_task(self._tell(link, message.request, [*wanted, *differing]))
        else:
            link.send(Done(message.request))

    def _is_holder(self, link: PeerLink, key: Key) -> bool:
        """Whether a key may be told to a peer: to holders only, since there may be facts for named readers among them; also where
        one is set aside, and behind for it."""
        holders = self._holders.holders_if_none_aside(key) or self._holders.holders_of(key)
        return any(holder.id == link.contact.id for holder in holders)

    async def _tell(self, link: PeerLink, request: int, keys: list[Key]) -> None:
        # A copy that fails goes again with the next round of repair.
        try:
            await self._copying.copy_keys(link.contact, keys)
        finally:
            link.send(Done(request))
