"""Keys change hands when peers come, leave and die: new holders get the facts, feeds follow the primary, late messages pass on.

    newcomer is among a key's holders now    facts sent and acknowledged; is it the primary ──> the key's feeds are told Moved
    a holder has died                        the facts are sent to whoever is a holder in its place
    all holders of a key have died           its facts come back from their other keys (:mod:`gsg.churn.restoring`)
    we are not among them any more           all that, and once no feed needs them the facts are dropped here
    a publish comes to another than the primary  forwarded to it (gsg/churn/forward_facts.py); events to all holders
    (gsg/churn/forward_events.py) a condition comes to another                 answered NotHere

Of the holders that a key has kept, the closest sends. For SETTLING_S after a peer was discovered, each message is checked for keys
that are another's by now: publishers and subscribers learn of a newcomer within that time. A peer that leaves in order hands over
all its keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from random import Random

import dht

from ..background import StartTask
from ..placement.holders import Holders
from ..placement.responsibility import SETTLING_S, Responsibility
from ..rendezvous.rendezvous import Rendezvous
from ..replication.copying import SOON_S, Copy, Copying, Outcome
from ..tuples.features import Key
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange
from .death_notices import Notices
from .plan import Plan
from .restoring import Lost, Restored, Restoring

log = logging.getLogger(__name__)

MENDING_S = 10.0
"""How long after a peer died its keys are looked after, at least."""
TRYING_S = 60.0
"""How much longer what was not confirmed is sent again: on a busy machine a holder may take long, and its link break meanwhile."""
GATHERING_S = 0.2
"""How long a look waits for more to look at: deaths come in crowds, and are noticed one after the other."""
LEAVING_S = 10.0
"""How long leaving may take; what was not handed over by then is left to the other holders, and said to be."""
FOLLOWING_S = 2.0
"""How long a peer that leaves waits for its feeds to be set up elsewhere."""
FOLLOW_LOOK_S = 0.02
SWEEP_S = 1.0
"""Pause between looks for keys that were handed over and that no feed needs here any more."""
KEYS_PER_TURN = 500
"""Keys whose holder is looked up before others get their turn."""


class Handover:
    """Decides and carries out what changes hands at one peer. ``flush`` sends what a change here has caused."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        responsibility: Responsibility,
        exchange: Exchange,
        rendezvous: Rendezvous,
        copying: Copying,
        *,
        start_task: StartTask,
        flush: Callable[[], None],
        rng: Random,
    ) -> None:
        self._own = own
        self._holders = holders
        self._responsibility = responsibility
        self._rendezvous = rendezvous
        self._copying = copying
        self._start_task = start_task
        self._flush = flush
        self._working = False
        """Whether looks go on in the background, in one task, which ends when all has settled, or by :meth:`leave`."""
        self._looks: asyncio.Task[None] | None = None
        """That task, from its first step to its last."""
        self._newcomers: dict[bytes, int] = {}
        """Peers that came and have not been told all yet. Limit: the peers there are."""
        self._coming = count()
        """Numbers the times that somebody came: who does so again while it is told is to be told again."""
        self._restoring = Restoring(holders, rendezvous)
        self.notices = Notices(holders, exchange, start_task, rng, self._died_far_away)
        self._again = asyncio.Event()
        """Set when keys may have to be handed over, once more; whoever clears it looks then: the background, or who leaves."""

    def newcomer(self, contact: dht.Contact) -> None:
        """A peer was discovered: some keys may be its own."""
        self._rendezvous.held.remembering = True
        self._came(contact.id)
        self._look_for(SETTLING_S)

    def came_back(self) -> None:
        """This peer was stopped for a while: others may hold its keys by now, and their feeds be elsewhere."""
        self._responsibility.begin_anew()
        self._look()

    def _came(self, peer: bytes) -> None:
        self._newcomers[peer] = next(self._coming)
        self._copying.came(peer)
        self._restoring.came(peer, asyncio.get_running_loop().time())

    def died(self, peer: bytes) -> None:
        """A peer is gone: keys that it held have another holder."""
        self._newcomers.pop(peer, None)
        self._copying.died(peer)
        self._died_far_away([peer])

    def _died_far_away(self, peers: Sequence[bytes]) -> None:
        """Somebody tells of peers that died: keys that we do not hold may have lost all holders."""
        for peer in peers:
            self._restoring.died(peer, asyncio.get_running_loop().time())
        self._look_for(MENDING_S)

    def missed(self, peer: bytes) -> None:
        """A holder that was set aside takes changes again: it is told all that it should know, like a newcomer."""
        self._came(peer)
        self._look_for(MENDING_S)

    def strays(self) -> None:
        """Something is here under keys that are others', as when a holder told us late: it is handed over, and dropped here."""
        self._look_for(MENDING_S)

    def _look_for(self, seconds: float) -> None:
        self._responsibility.unsettle(seconds)
        self._look()

    def _look(self) -> None:
        self._again.set()
        if not self._working and not self._responsibility.leaving:
            self._working = True
            self._start_task(self._hand_over_until_settled())

    def look_again_in_time(self) -> None:
        """What had failed, or took long, may go on; what nobody confirms is not tried for ever."""
        if self._tries:
            self._look()

    def look_again(self) -> None:
        """Something came from a peer that takes us for the holder: if it is wrong, its keys are to be passed on."""
        if self._working and self._responsibility.settling:
            self._again.set()

    # --- keys that change hands -------------------------------------------------------------------------------------------

    async def _hand_over_until_settled(self) -> None:
        """Hand over what is others', again whenever a peer came or died meanwhile, and drop what nobody needs here."""
        self._looks = asyncio.current_task()
        try:
            # A look may take longer than it is until all has settled: who died meanwhile is to be looked at all the same.
            while (
                self._responsibility.settling or self._again.is_set() or self._copying.is_late
            ) and not self._responsibility.leaving:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SWEEP_S):
                        await self._again.wait()
                try:
                    if self._again.is_set():
                        await asyncio.sleep(GATHERING_S)
                        self._again.clear()
                        await self._hand_over()
                    else:
                        self._drop_what_has_moved()
                except Exception:
                    # A defect that one look brings out is no reason for nobody to look again.
                    log.exception("a look at what changes hands was not finished")
                    await asyncio.sleep(SWEEP_S)
                    if self._tries:
                        self._again.set()
        finally:
            self._working, self._looks = False, None
            if not self._responsibility.leaving:
                self._newcomers.clear()
                # The next of those that died at one moment may be noticed yet.
                self._copying.settled(soon_again=bool(self._restoring.dead()))

    async def leave(self) -> None:
        """Hand over everything: this peer is about to stop."""
        self._responsibility.leave()
        try:
            async with asyncio.timeout(LEAVING_S):
                if self._looks is not None:
                    # A look under way takes us for a holder, and may hang on one; two at once would each clear what the other is
                    # to look at. What it sends goes on, and is waited for here.
                    self._looks.cancel()
                    await asyncio.wait([self._looks])
                self._again.set()
                while self._again.is_set():
                    # Once more where a new holder turned out to be gone: somebody else is next.
                    self._again.clear()
                    await self._hand_over()
                deadline_s = asyncio.get_running_loop().time() + FOLLOWING_S
                while self._rendezvous.has_moved_feeds() and asyncio.get_running_loop().time() < deadline_s:  # noqa: ASYNC110  # many feeds
                    await asyncio.sleep(FOLLOW_LOOK_S)
        except TimeoutError:
            log.warning(
                "not everything was handed over within %.0f s: what other peers hold as well they give to the next holder by "
                "themselves; what they do not is away until this peer is started again with the same --data, and lost without one",
                LEAVING_S,
            )

    async def _hand_over(self) -> None:
        """Look through all keys: whom are their facts to be sent to, and where do their feeds belong?"""
        came = dict(self._newcomers)
        may_be_lost = self._restoring.begin(asyncio.get_running_loop().time()) and not self._responsibility.leaving
        dead = set(self._restoring.dead())
        if self._responsibility.leaving:
            dead.add(self._own.id)
        if may_be_lost:
            self.notices.look(dead)
        failed: set[bytes] = set()
        unknown = await self._look_through(self._rendezvous.all_keys(), came, dead, failed, restore=may_be_lost)
        while unknown:
            # Where many have died, what is known of a region may not be enough to say who holds its keys now.
            await self._holders.look_up_each(unknown)
            unknown = await self._look_through(unknown, came, dead, failed, restore=may_be_lost)
            if not unknown or self._responsibility.leaving or self._again.is_set() or not self._tries:
                break
            # Not found, or forgotten again as a lookup has shown that something else was wrong: these alone, until there is news.
            await asyncio.sleep(SWEEP_S)
        for peer in () if unknown else came.keys() - failed:
            if self._newcomers.get(peer) == came[peer]:
                del self._newcomers[peer]

    async def _look_through(
        self, keys: Iterable[Key], newcomers: Mapping[bytes, int], dead: set[bytes], failed: set[bytes], *, restore: bool
    ) -> list[Key]:
        """Carry out what these keys need; those whose holders are not known. ``failed`` gets who has not confirmed yet."""
        plan = Plan()
        sent: list[Key] = []
        unknown: list[Key] = []
        for number, key in enumerate(keys):
            if number % KEYS_PER_TURN == KEYS_PER_TURN - 1:
                await asyncio.sleep(0)
            # A key that has moved already is its new holders' to pass on: what is left of it here may be old.
            if key not in self._rendezvous.moved:
                holders = self._responsibility.holders_of(key)
                posted = self._rendezvous.conditions.has_templates(key)
                if not holders:
                    unknown.append(key)
                elif plan.add(key, holders, self._own, newcomers.keys(), dead, posted=posted):
                    sent.append(key)
        targets = list(dict.fromkeys((*plan.copies, *plan.doubtful)))
        telling = (
            self._copying.tell(each, plan.copies.get(each, ()), plan.doubtful.get(each, ()), self._patience_s) for each in targets
        )
        told = await asyncio.gather(*telling)
        failed.update(holder.id for holder, each in zip(targets, told, strict=True) if each is not Outcome.CONFIRMED)
        for primary, followed in plan.primaries.items():
            if primary.id not in failed:
                self._rendezvous.tell_moved(followed, primary, leaves=self._responsibility.leaving)
        self._rendezvous.move_keys(key for key, holders in plan.others.items() if not failed.intersection(holders))
        self._flush()
        if (restore and not await self._restore(sent)) or Outcome.FAILED in told:
            self.look_again_in_time()
        return unknown

    @property
    def _tries(self) -> bool:
        """Whether what was not found or confirmed is tried again."""
        return self._responsibility.was_settling_within(TRYING_S)

    @property
    def _patience_s(self) -> float | None:
        """How long a look waits for one holder."""
        return None if self._responsibility.leaving else SOON_S

    async def _restore(self, keys: Iterable[Key]) -> bool:
        """Bring back what lies under these keys, where others of its keys were lost; whether nobody failed to take it."""
        restored: Restored = {}
        lost: dict[Key, Lost] = {}
        for key in keys:
            if found := await self._restoring.add(key, restored):
                lost[key] = found
        told = await asyncio.gather(*(self._give_back(holder, facts) for holder, facts in restored.items()))
        if all(each is Outcome.CONFIRMED for each in told):
            self._restoring.finished(lost)
        if self._restoring.unsure:
            # Asked at once, who could not say would hardly say more.
            await asyncio.sleep(SWEEP_S)
        return not self._restoring.unsure and Outcome.FAILED not in told

    async def _give_back(self, holder: dht.Contact, facts: list[tuple[Tuple, bytes, int]]) -> Outcome:
        """See to it that a holder has facts under keys that were lost."""
        if holder.id == self._own.id:
            given, places, stamps = (
                [fact for fact, _, _ in facts],
                [there for _, there, _ in facts],
                [stamp for _, _, stamp in facts],
            )
            self._rendezvous.take_over([1] * len(facts), given, places, stamps)
            self._flush()
            return Outcome.CONFIRMED
        return await self._copying.give(holder, Copy(facts), self._patience_s)

    def _drop_what_has_moved(self) -> None:
        for key in list(self._rendezvous.moved):
            if self._responsibility.is_ours(key):
                # Looks have passed it over since it moved.
                self._rendezvous.keep_keys((key,))
                self._again.set()
            elif self._holders.all_of(key):
                # Where it is not known who holds it now, it may be ours yet.
                self._rendezvous.drop_moved_key(key)
        self._flush()
