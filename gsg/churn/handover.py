"""Keys change hands when peers come, leave and die: new holders get the facts, feeds follow the primary, late messages pass on.

    newcomer is among a key's holders now    facts sent and acknowledged; is it the primary ──> the key's feeds are told Moved
    a holder has died                        the facts are sent to whoever is a holder in its place
    we are not among them any more           all that, and once no feed needs them the facts are dropped here
    a publish comes to another than the primary    forwarded to it (gsg/churn/forward_facts.py); events to all holders
                                             (gsg/churn/forward_events.py)
    a condition comes to another             answered NotHere (gsg/placement/responsibility.py)

Of the holders that a key has kept, the closest sends (gsg/churn/plan.py). A peer that leaves in order hands over all its keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import count

import dht

from ..background import in_turns
from ..placement.holders import Holders
from ..placement.membership_log import NAME
from ..placement.responsibility import SETTLING_S, Responsibility
from ..rendezvous.rendezvous import Rendezvous
from ..replication.copying import SOON_S, Copying, Outcome
from ..tuples.features import Key
from .plan import Plan

log = logging.getLogger(__name__)
membership = logging.getLogger(NAME)

KEYS_PER_TURN = 500
"""Keys whose holder is looked up before others get their turn."""
MENDING_S = 10.0
"""How long after a peer died its keys are looked after, at least."""
TRYING_S = 60.0
"""How much longer what was not confirmed is sent again: on a busy machine a holder may take long, and its link break meanwhile."""
GATHERING_S = 0.2
"""How long a look waits for more to look at: deaths come in crowds, and are noticed one after the other."""
DEAD_S = 120.0
"""How long a peer counts as one that died of late: many that die at one moment are found out one after the other."""
MAX_DEAD = 1_000
"""Peers that died of late; a further one is passed over, and anti-entropy finds what its keys lack."""
LEAVING_S = 10.0
"""How long leaving may take; what was not handed over by then is left to the other holders, and said to be."""
FOLLOWING_S = 2.0
"""How long a peer that leaves waits for its feeds to be set up elsewhere."""
FOLLOW_LOOK_S = 0.02
SWEEP_S = 1.0
"""Pause between looks for keys that were handed over and that no feed needs here any more."""


class Handover:
    """Decides and carries out what changes hands at one peer. ``flush`` sends what a change here has caused."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        responsibility: Responsibility,
        rendezvous: Rendezvous,
        copying: Copying,
        *,
        flush: Callable[[], None],
    ) -> None:
        self._own = own
        self._holders = holders
        self._responsibility = responsibility
        self._rendezvous = rendezvous
        self._copying = copying
        self._flush = flush
        self._task: asyncio.Task[None] | None = None
        """That of :meth:`run`, from its first step."""
        self._newcomers: dict[bytes, int] = {}
        """Peers that came and have not been told all yet. Limit: the peers there are."""
        self._coming = count()
        """Numbers the times that somebody came: who does so again while it is told is to be told again."""
        self._died_s: dict[bytes, float] = {}
        """Who died of late, the first in front. Limits: MAX_DEAD and DEAD_S."""
        self._again = asyncio.Event()
        """Set when keys may have to be handed over, once more; whoever clears it looks then: :meth:`run`, or who leaves."""

    # --- what may be a reason to look through the keys ------------------------------------------------------------------------

    def peer_came(self, contact: dht.Contact) -> None:
        """A peer was discovered: some keys may be its own."""
        self._rendezvous.held.remembering = True
        self._expect(contact.id, SETTLING_S)

    def holder_recovered(self, peer: bytes) -> None:
        """A holder that was set aside takes changes again: it is told all that it should know, like a newcomer."""
        self._expect(peer, MENDING_S)

    def _expect(self, peer: bytes, seconds: float) -> None:
        self._newcomers[peer] = next(self._coming)
        self._died_s.pop(peer, None)
        self._look_for(seconds)

    def was_stopped(self) -> None:
        """This peer was stopped for a while: others may hold its keys by now, and their feeds be elsewhere."""
        self._responsibility.begin_anew()
        self._again.set()

    def peer_died(self, peer: bytes) -> None:
        """A peer is gone: keys that it held have another holder."""
        self._newcomers.pop(peer, None)
        if len(self._died_s) < MAX_DEAD:
            self._died_s.setdefault(peer, asyncio.get_running_loop().time())
        self._look_for(MENDING_S)

    def found_strays(self) -> None:
        """Something is here under keys that are others', as when a holder told us late: it is handed over, and dropped here."""
        self._look_for(MENDING_S)

    def _look_for(self, seconds: float) -> None:
        self._responsibility.unsettle(seconds)
        self._again.set()

    def check_keys_again(self) -> None:
        """Something came from a peer that takes us for the holder: if it is wrong, its keys are to be passed on."""
        if self._responsibility.settling:
            self._again.set()

    def retry_in_time(self) -> None:
        """What had failed, or took long, may go on; what nobody confirms is not tried for ever."""
        if self._tries:
            self._again.set()

    @property
    def _tries(self) -> bool:
        """Whether what was not found or confirmed is tried again."""
        return self._responsibility.was_settling_within(TRYING_S)

    # --- looking through the keys ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Hand over what is others' whenever there is reason to, and drop what nobody needs here; :meth:`leave` ends it."""
        self._task = asyncio.current_task()
        while not self._responsibility.leaving:
            is_busy = self._responsibility.settling or self._copying.is_late
            if not is_busy and not self._again.is_set():
                self._newcomers.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S if is_busy else None):
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
                self.retry_in_time()

    async def leave(self) -> None:
        """Hand over everything: this peer is about to stop."""
        self._responsibility.leave()
        try:
            async with asyncio.timeout(LEAVING_S):
                if self._task is not None:
                    # A look under way takes us for a holder, and may hang on one; two at once would each clear what the other is
                    # to look at. What it sends goes on, and is waited for here.
                    self._task.cancel()
                    await asyncio.wait([self._task])
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
        since_s = asyncio.get_running_loop().time() - DEAD_S
        self._died_s = {peer: died_s for peer, died_s in self._died_s.items() if died_s >= since_s}
        dead = set(self._died_s)
        if self._responsibility.leaving:
            dead.add(self._own.id)
        failed: set[bytes] = set()
        unknown = await self._look_through(self._rendezvous.all_keys(), came, dead, failed)
        while unknown:
            # Where many have died, what is known of a region may not be enough to say who holds its keys now.
            await self._holders.look_up_each(unknown)
            unknown = await self._look_through(unknown, came, dead, failed)
            if not unknown or self._responsibility.leaving or self._again.is_set() or not self._tries:
                break
            # Not found, or forgotten again as a lookup has shown that something else was wrong: these alone, until there is news.
            await asyncio.sleep(SWEEP_S)
        for peer in () if unknown else came.keys() - failed:
            if self._newcomers.get(peer) == came[peer]:
                del self._newcomers[peer]

    async def _look_through(
        self, keys: Iterable[Key], newcomers: Mapping[bytes, int], dead: set[bytes], failed: set[bytes]
    ) -> list[Key]:
        """Carry out what these keys need; those whose holders are not known. ``failed`` gets who has not confirmed yet."""
        plan = Plan()
        unknown: list[Key] = []
        async for key in in_turns(keys, most=KEYS_PER_TURN):
            # A key that has moved already is its new holders' to pass on: what is left of it here may be old.
            if key in self._rendezvous.moved:
                continue
            if holders := self._responsibility.holders_of(key):
                posted = self._rendezvous.conditions.has_templates(key)
                plan.decide(key, holders, self._own, newcomers.keys(), dead, place=self._holders.place_of(key), posted=posted)
            else:
                unknown.append(key)
        leaves = self._responsibility.leaving
        wait_s = None if leaves else SOON_S
        targets = list(dict.fromkeys((*plan.copies, *plan.doubtful)))
        sending = (
            self._copying.bring_up_to_date(each, plan.copies.get(each, ()), plan.doubtful.get(each, ()), wait_s) for each in targets
        )
        told = await asyncio.gather(*sending)
        failed.update(holder.id for holder, each in zip(targets, told, strict=True) if each is not Outcome.CONFIRMED)
        for primary, followed in plan.primaries.items():
            if primary.id not in failed:
                self._rendezvous.tell_moved(followed, primary, leaves=leaves)
        if shared := {key for keys in plan.copies.values() for key in keys} - plan.others.keys():
            membership.info("%s keys of this peer were told to newcomers, which hold them as well from now on", f"{len(shared):,}")
        if plan.others:
            membership.info("%s keys of this peer are others' from now on", f"{len(plan.others):,}")
        self._rendezvous.move_keys(key for key, holders in plan.others.items() if not failed.intersection(holders))
        self._flush()
        if Outcome.FAILED in told:
            self.retry_in_time()
        return unknown

    def _drop_what_has_moved(self) -> None:
        for key in list(self._rendezvous.moved):
            if self._responsibility.is_ours(key):
                # Looks have passed it over since it moved.
                self._rendezvous.keep_keys((key,))
                self._again.set()
            elif self._holders.holders_of(key):
                # Where it is not known who holds it now, it may be ours yet.
                self._rendezvous.drop_moved_key(key)
        self._flush()
