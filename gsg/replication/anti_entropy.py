"""Repair: holders of the same keys compare what they have, and send each other what differs.

    every COMPARE_S, to each peer that holds keys with us
      AskRanges: a digest for each of 256 ranges of keys ──────────>
      <────────── Differ: those that are not the same there
      AskKeys: the keys of those ranges, each with its digest ─────>
      <────────── Differ: those whose facts are not the same there
      Replicate: what we know of these keys ───────────────────────>

The other side does the same, so each learns what the other knows better (:mod:`gsg.storage.facts_by_key`). A digest is made of
facts and their stamps (:mod:`gsg.storage.checksums`), and of tombstones from the period on since which neither side has forgotten
any: who is asked and has forgotten some that count says so, and is asked again. What has changed since the last round is on its
way to all holders anyhow, and is left to the next round; where a range has differed for PATIENCE rounds, its keys are compared
though they change, as they were COMPARE_S ago. Of ranges in which something changes some are looked into in each round, in turn:
so what a round costs does not follow from how much lies there. Everything that replication and hand-over do at once, this does in
the end, whatever went wrong before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import dht

from ..errors import GsgError, Refused
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..rendezvous.rendezvous import Rendezvous
from ..storage.clock import HybridClock
from ..tuples.features import Key
from ..wire.exchange import Exchange, PeerLink, show
from ..wire.holder_messages import AskKeys, AskRanges, Differ
from .copying import ASKED_KEYS, Copying, prepare_digests
from .digests import RANGES, Digests
from .restoring import Restoring

log = logging.getLogger(__name__)

COMPARE_S = 10.0
"""Pause between two rounds."""
KEYS_PER_TURN = 500
"""Keys that are looked at before others get their turn."""
FOUND_PER_ROUND = 20
"""Keys whose holders are not known, and are asked for after each look; mostly one lookup answers for many of them."""
PATIENCE = 3
"""Rounds in which a range differs before keys are compared there that never stand still."""
KEYS_PER_ROUND = 50_000
"""Keys of ranges that differ as something changes in them, so many are compared with each peer in a round: mostly all is well with
them, and under a steady load they are all that there are. Those of ranges that stand still are compared at once."""
FACTS_PER_ROUND = 10_000
"""Of facts under such keys so many are sent for each round: what is told again in vain is to be little beside what is new."""


class AntiEntropy:
    """Compares and mends, for as long as the peer lives: :meth:`run` is its one task.

    ``on_strays()`` hears that something is here under keys that are others'.
    """

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        responsibility: Responsibility,
        copying: Copying,
        clock: HybridClock,
        on_strays: Callable[[], None],
    ) -> None:
        self._own = own.id
        self._holders = holders
        self._exchange = exchange
        self._held = rendezvous.held
        self._responsibility = responsibility
        self._copying = copying
        self._on_strays = on_strays
        self._restoring = Restoring(own, holders, rendezvous.held, copying)
        self._hybrid_clock = clock
        self._digests = self._none_yet()
        self._version = -1
        """Of the holders, when all keys were looked at."""
        self._restless: Mapping[Key, None] | None = None
        """Keys that changed between the last two looks: they are left to the next round. None before the first, when all are."""
        self._differed: dict[bytes, list[int]] = {}
        """For each peer we hold something with, in how many rounds each range has differed; below 0, how many it is left alone."""
        self._until = self._latest = 0
        """Up to when keys that never stand still are compared, and the latest time that was known when this round began."""
        self.mended = 0
        """Keys that were sent to a holder that had other facts, since the start."""

    async def run(self) -> None:
        """Compare, round after round."""
        while True:
            await asyncio.sleep(COMPARE_S)
            if not self._holders.others():
                self._held.changed = None
            elif not self._responsibility.leaving:
                try:
                    await self.compare_with_all()
                    await self._restoring.tell_other_keys(self._until)
                except Exception:
                    # A defect that one round brings out is no reason for there to be no more rounds.
                    log.exception("a round of repair was not finished")

    async def compare_with_all(self) -> None:
        """Compare with everybody once."""
        # Where stamps run ahead of the clock, what has come since the last round is later than all that was known then.
        self._until = max(self._hybrid_clock.now_us() - int(COMPARE_S * 1_000_000), self._latest)
        self._latest = self._hybrid_clock.latest
        peers = await self._look()
        # The next look has those that are found.
        await self._holders.look_up_each(list(islice(self._digests.unplaced, FOUND_PER_ROUND)))
        self._differed = {contact.id: self._differed.get(contact.id, [0] * RANGES) for contact in peers}
        for contact in peers:
            try:
                await self._compare(contact)
            except GsgError as error:
                log.debug("nothing compared with %s: %s", show(contact), error)

    async def _look(self) -> list[dht.Contact]:
        """Bring all digests up to date; the peers that hold something with us."""
        changed, self._held.changed = self._held.changed, {}
        version, before = self._holders.version, self._version
        # Where this look does not end well, the next one is at everything.
        self._version = -1
        if changed is None or version != before:
            digests, keys = self._none_yet(), self._held.known_keys()
        else:
            digests, keys = self._digests, {**changed, **self._digests.unplaced, **self._digests.strays}.keys()
        digests.stirred.clear()
        for some in _chunks(keys, KEYS_PER_TURN):
            await prepare_digests(self._held, some)
            digests.take_in(some)
            await asyncio.sleep(0)
        digests.forget_before(self._held.buried.since)
        self._digests, self._version, self._restless = digests, version, changed
        if digests.strays:
            # Nobody tells us what happens to them: they would grow old here, and be fed to templates without constants.
            self._on_strays()
        return list(digests.contacts.values())

    def _none_yet(self) -> Digests:
        return Digests(self._own, self._held, self._holders.holders_and_point)

    async def _compare(self, contact: dht.Contact) -> None:
        restless = self._restless
        since = self._held.buried.since
        found = await self._ask_ranges(contact, since)
        if found.since > since:
            since = found.since
            found = await self._ask_ranges(contact, since)
        differing = {number for number in found.numbers if 0 <= number < RANGES}
        differed = self._differed[contact.id]
        differed[:] = [differed[number] + 1 if number in differing else 0 for number in range(RANGES)]
        if not differing or restless is None:
            return
        differing = self._in_turn(differing, differed)
        overdue = {number for number in differing if differed[number] >= PATIENCE}
        still = [each for each in await self._shared(contact, differing - overdue) if each not in restless]
        await self._mend(contact, still, since)
        if overdue:
            sent = await self._mend(contact, await self._shared(contact, overdue), since, self._until)
            for number in overdue:
                differed[number] = -(sent // FACTS_PER_ROUND)

    def _in_turn(self, differing: set[int], differed: list[int]) -> set[int]:
        """The ranges to look into now: those that stand still, and of the others those that have differed for the longest."""
        stirred = differing & self._digests.stirred
        chosen = differing - stirred
        keys = 0
        for number in sorted(stirred, key=lambda number: (-differed[number], number)):
            if keys >= KEYS_PER_ROUND:
                break
            keys += self._digests.count_keys(number)
            chosen.add(number)
        return chosen

    async def _ask_ranges(self, contact: dht.Contact, since: int) -> Differ:
        mine = self._digests.beside_peer(contact.id, since)
        return await self._exchange.ask(contact, lambda request: AskRanges(request, mine, since), Differ)

    async def _shared(self, contact: dht.Contact, ranges: Iterable[int]) -> list[Key]:
        """The keys of some ranges that we hold with a peer."""
        shared = []
        for keys in _chunks(self._digests.keys_in(ranges), KEYS_PER_TURN):
            of_each = self._holders.holders_of_each(keys)
            with_us = {id(holders) for holders in of_each if any(holder.id == contact.id for holder in holders)}
            shared += [each for each, holders in zip(keys, of_each, strict=True) if id(holders) in with_us]
            await asyncio.sleep(0)
        return shared

    async def _mend(self, contact: dht.Contact, all_keys: list[Key], since: int, until: int = 0) -> int:
        """Compare keys with a holder, as they are or were at a moment, and send what differs: how many facts that were."""
        sent = 0
        for keys in _chunks(all_keys, ASKED_KEYS):
            if wanted := await self._copying.differing(contact, keys, since, until):
                sent += sum(len(self._held.under(each)) for each in wanted)
                await self._copying.copy_keys(contact, wanted)
                self.mended += len(wanted)
        return sent

    # --- what others ask ----------------------------------------------------------------------------------------------------

    def ranges_differ(self, link: PeerLink, asked: AskRanges) -> Differ:
        """Which ranges of keys that we hold with the asker are not the same here. Raises Refused."""
        if len(asked.digests) != RANGES:
            raise Refused(f"digests of {len(asked.digests)} ranges; expected {RANGES}")
        since = self._held.buried.since
        if since > asked.since:
            return Differ(asked.request, [], since)
        ours = self._digests.beside_peer(link.contact.id, asked.since)
        return Differ(asked.request, [number for number in range(RANGES) if ours[number] != asked.digests[number]])

    def keys_differ(self, asked: AskKeys) -> Differ:
        """Which keys do not have the same facts here, unless they are just changing. Raises Refused."""
        if len(asked.keys) != len(asked.digests) or len(asked.keys) > ASKED_KEYS:
            raise Refused(f"{len(asked.keys)} keys with {len(asked.digests)} digests; expected as many, and at most {ASKED_KEYS}")
        differ = []
        for number, (each, digest) in enumerate(zip(asked.keys, asked.digests, strict=True)):
            ours = self._held.digest_of_all(each, asked.since, asked.until)
            if ours != digest and (asked.until or self._digests.digest_of(each, asked.since) == ours):
                differ.append(number)
        return Differ(asked.request, differ)


def _chunks(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    rest = iter(keys)
    while chunk := list(islice(rest, size)):
        yield chunk
