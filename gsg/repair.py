"""Repair: holders of the same keys compare what they have, and send each other what differs.

    every COMPARE_S, to each peer that holds keys with us
      AskRanges: a digest for each of 256 ranges of keys ──────────>
      <────────── Differ: those that are not the same there
      AskKeys: the keys of those ranges, each with its digest ─────>
      <────────── Differ: those whose facts are not the same there
      Replicate: what we know of these keys ───────────────────────>

The other side does the same, so each learns what the other knows better (:mod:`gsg.entries`). A digest is made of the stamps of the
facts alone: the same stamps are the same changes. What has changed since the last round is on its way to all holders anyhow, and is
left to the next round. Everything that replication and hand-over do at once, this does in the end, whatever went wrong before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import dht

from .errors import GsgError, Refused
from .exchange import Channel, Exchange, show
from .features import Key, key
from .handover import Handover
from .holders import Holders
from .messages import AskKeys, AskRanges, Differ
from .placement import point_of, scattered
from .rendezvous import Rendezvous

log = logging.getLogger(__name__)

COMPARE_S = 10.0
"""Pause between two rounds."""
RANGES = 256
"""Into so many ranges the keys are cut, by the first byte."""
KEYS_PER_TURN = 500
"""Keys that are looked at before others get their turn."""
CHUNK_KEYS = 1_000

_MASK = (1 << 64) - 1

Ranges: TypeAlias = list[int]


class Repair:
    """Compares and mends, for as long as the peer lives: :meth:`run` is its one task."""

    def __init__(self, own: dht.Contact, holders: Holders, exchange: Exchange, rendezvous: Rendezvous, handover: Handover) -> None:
        self._own = own.id
        self._holders = holders
        self._exchange = exchange
        self._held = rendezvous.held
        self._handover = handover
        self._ranges: dict[bytes, Ranges] = {}
        """For each peer that holds keys with us, what the last round found. Bounded by the peers there are."""
        self._digests: dict[Key, int] = {}
        self._before: dict[Key, int] = {}
        """The digests of the last two rounds: a key that has the same in both is settled. Bounded by what is held."""
        self.mended = 0
        """Keys that were sent to a holder that had other facts, since the start."""

    async def run(self) -> None:
        """Compare, round after round."""
        while True:
            await asyncio.sleep(COMPARE_S)
            if self._holders.others() and not self._handover.leaving:
                try:
                    await self.round()
                except Exception:
                    # A defect that one round brings out is no reason for there to be no more rounds.
                    log.exception("a round of repair was not finished")

    async def round(self) -> None:
        """Compare with everybody once."""
        peers = await self._look()
        for contact in peers:
            try:
                await self._compare(contact)
            except GsgError as error:
                log.debug("nothing compared with %s: %s", show(contact), error)

    async def _look(self) -> list[dht.Contact]:
        """Compute all digests; the peers that hold something with us."""
        ranges: dict[dht.Contact, Ranges] = {}
        digests: dict[Key, int] = {}
        strays = False
        for keys in _chunks(self._held.known_keys(), KEYS_PER_TURN):
            for each in keys:
                digest = digests[each] = self._held.digest(each)
                holders = self._holders.all_of(each)
                if not any(holder.id == self._own for holder in holders):
                    # Nobody tells us what happens to it: it would grow old here, and be fed to templates without constants.
                    strays = strays or bool(holders)
                    continue
                point = point_of(key(*each))
                for holder in holders:
                    if holder.id != self._own:
                        of_holder = ranges.get(holder)
                        if of_holder is None:
                            of_holder = ranges[holder] = [0] * RANGES
                        # A sum, so that the order of keys does not matter; nothing is added where there is nothing.
                        if digest:
                            of_holder[point >> 56] = (of_holder[point >> 56] + scattered(point ^ digest, 0)) & _MASK
            await asyncio.sleep(0)
        if strays:
            self._handover.strays()
        self._before, self._digests = self._digests, digests
        self._ranges = {contact.id: of_holder for contact, of_holder in ranges.items()}
        return list(ranges)

    async def _compare(self, contact: dht.Contact) -> None:
        mine = self._ranges.get(contact.id)
        if mine is None:
            return
        found = await self._exchange.ask(contact, lambda request: AskRanges(request, mine), Differ)
        differing = set(found.numbers)
        if not differing:
            return
        settled = [
            each
            for each, digest in self._digests.items()
            if self._before.get(each) == digest
            and key(*each)[0] in differing
            and any(holder.id == contact.id for holder in self._holders.all_of(each))
        ]
        for keys in _chunks(settled, CHUNK_KEYS):
            digests = [self._held.digest(each) for each in keys]
            answer = await self._exchange.ask(contact, lambda request, k=keys, d=digests: AskKeys(request, k, d), Differ)  # type: ignore[misc]  # bound now
            wanted = [keys[number] for number in answer.numbers if number < len(keys)]
            if wanted:
                await self._handover.copy(contact, wanted)
                self.mended += len(wanted)

    # --- what others ask ----------------------------------------------------------------------------------------------------

    def ranges_differ(self, channel: Channel, asked: AskRanges) -> Differ:
        """Which ranges of keys that we hold with the asker are not the same here. Raises Refused."""
        if len(asked.digests) != RANGES:
            raise Refused(f"digests of {len(asked.digests)} ranges; expected {RANGES}")
        ours = self._ranges.get(channel.contact.id, _NOTHING)
        return Differ(asked.request, [number for number in range(RANGES) if ours[number] != asked.digests[number]])

    def keys_differ(self, asked: AskKeys) -> Differ:
        """Which keys do not have the same facts here, unless they are just changing. Raises Refused."""
        if len(asked.keys) != len(asked.digests) or len(asked.keys) > CHUNK_KEYS:
            raise Refused(f"{len(asked.keys)} keys with {len(asked.digests)} digests; expected as many, and at most {CHUNK_KEYS}")
        differ = []
        for number, (each, digest) in enumerate(zip(asked.keys, asked.digests, strict=True)):
            ours = self._held.digest(each)
            if ours != digest and self._digests.get(each, 0) == ours:
                differ.append(number)
        return Differ(asked.request, differ)


def _chunks(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    rest = iter(keys)
    while chunk := list(islice(rest, size)):
        yield chunk


_NOTHING: Ranges = [0] * RANGES
