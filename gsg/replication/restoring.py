"""A fact that is gone under one of its keys, as all holders of that died at once, comes back from its other keys.

A fact of three terms lies under three keys, each with holders of its own, so it is rarely gone under all of them. Round after
round each peer looks at some facts under the keys whose primary it is, and tells each to the primary of the fact's next key:

    key 0 ──> key 1 ──> key 2 ──> key 0

Whoever has the fact takes nothing from that: the later stamp counts, as ever (:mod:`gsg.storage.facts_by_key`). Who lacks it feeds
its subscribers, and tells the other holders by anti-entropy. What is gone under two keys comes back in two looks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import islice

import dht

from ..background import in_turns
from ..errors import GsgError
from ..placement.holders import Holders
from ..storage.facts_by_key import FactsByKey
from ..tuples.features import Key
from ..tuples.long_constants import short
from ..tuples.terms import Tuple
from ..wire.exchange import show
from .copying import Copy, Copying

log = logging.getLogger(__name__)

STEPS_PER_TURN = 500
"""So many of them before others get their turn."""
STEPS_PER_ROUND = 5_000
"""Keys, and facts under those whose primary this peer is, that are looked at in a round: ten thousand facts in a minute or two."""
FOUND_PER_ROUND = 20
"""Keys whose holders are not known, and are asked for after each look; their facts are told in the next one."""


class Restoring:
    """What one peer tells others of."""

    def __init__(self, own: dht.Contact, holders: Holders, held: FactsByKey, copying: Copying) -> None:
        self._own = own.id
        self._holders = holders
        self._held = held
        self._copying = copying
        self._left: Iterator[tuple[Key, Tuple] | None] = iter(())
        """What is to be looked at yet, before all begins anew. Bounded by the keys here, and the facts under one of them."""

    async def tell_other_keys(self, until: int) -> None:
        """Look at some facts more, of those that are older than this stamp: others are on their way to all keys anyhow."""
        copies: dict[dht.Contact, Copy] = {}
        unknown: dict[Key, None] = {}
        steps = 0
        async for step in in_turns(islice(self._left, STEPS_PER_ROUND), most=STEPS_PER_TURN):
            steps += 1
            if step is not None:
                self._look_at(*step, until, copies, unknown)
        if steps < STEPS_PER_ROUND:
            self._left = self._steps()
        await self._holders.look_up_each(list(unknown)[:FOUND_PER_ROUND])
        await asyncio.gather(*(self._tell(holder, copy) for holder, copy in copies.items()))

    def _steps(self) -> Iterator[tuple[Key, Tuple] | None]:
        """A step for each key, and for each fact under a key whose primary this peer is."""
        for key in list(self._held.keys()):
            yield None
            holders = self._holders.holders_of(key)
            if holders and holders[0].id == self._own:
                yield from [(key, fact) for fact in self._held.under(key)]

    def _look_at(self, key: Key, fact: Tuple, until: int, copies: dict[dht.Contact, Copy], unknown: dict[Key, None]) -> None:
        stamp = self._held.under(key).get(fact, until)
        arity, position = len(fact), (key[1] + 1) % len(fact)
        other = (arity, position, short(fact[position]))
        # What is ours too was compared with its other holders; of what went meanwhile there is nothing to tell.
        if stamp >= until or self._held.stamp_of(other, fact) >= stamp:
            return
        if holders := self._holders.holders_of(other):
            copies.setdefault(holders[0], Copy()).facts.append((fact, bytes((position,)), stamp))
        else:
            unknown[other] = None

    async def _tell(self, holder: dht.Contact, copy: Copy) -> None:
        try:
            await self._copying.replicate(holder, copy)
        except GsgError as error:
            log.info("facts under their other keys were not told to %s: %s", show(holder), error)
