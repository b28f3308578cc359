"""The vocabulary of the space: which constants facts have where, under how many facts and templates each.

Each key is told of by its primary alone, since the copies of other holders are the same facts. What only named readers may read
counts nowhere here, as whoever may ask a peer is told; intervals of ordered attributes are no constants, and left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

import dht

from ..background import StartTask, in_turns
from ..errors import LocalError
from ..placement.holders import Holders
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import HOME, Interval, Key
from ..tuples.long_constants import constant_text
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange, PeerLink
from ..wire.messages import Failed
from ..wire.status_messages import MOST_CONSTANTS, ArityCount, AskStatus, ConstantCount, SilentPeer, Vocabulary
from .shared_walk import SharedWalk, Walk
from .survey import ask_for

KEYS = 50
"""Keys that are looked at between two looks at the clock: to find the primary of one may take some 20 us."""
PIECE = 1_000
"""The same of facts under one key, where some of them are for named readers."""
DEFAULT_MOST = 100
"""Constants that are told where nobody says how many."""

Rank: TypeAlias = tuple[int, str, int, int]


class MostFacts:
    """Of the constants that are added those with the most facts, among equals the first by their texts.

    Limit: twice ``most``; then those that have the fewest go.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Key, tuple[Rank, ConstantCount]] = {}
        self._least = 0
        """What has fewer facts is not among them."""

    def add(self, one: ConstantCount) -> None:
        """One more. While a key changes hands two peers may say that it is theirs: whoever has more under it counts."""
        if one.facts < self._least:
            return
        key = (one.arity, one.position, one.constant)
        known = self._kept.get(key)
        if known is not None and (known[1].facts, known[1].templates) >= (one.facts, one.templates):
            return
        self._kept[key] = (-one.facts, constant_text(one.constant), one.arity, one.position), one
        if len(self._kept) >= 2 * self._most:
            self._cut()

    def _cut(self) -> list[ConstantCount]:
        best = sorted(self._kept.items(), key=lambda kept: kept[1][0])[: self._most]
        self._kept = dict(best)
        if len(best) == self._most:
            self._least = best[-1][1][1].facts
        return [one for _, (_, one) in best]

    def in_order(self) -> list[ConstantCount]:
        """Those that are left, the one with the most facts first."""
        return self._cut()


class _Totals:
    """What there is by arity."""

    def __init__(self) -> None:
        self.facts: Counter[int] = Counter()
        self.keys: Counter[int] = Counter()

    def add(self, arity: int, facts: int, keys: int) -> None:
        self.facts[arity] += facts
        self.keys[arity] += keys

    def by_arity(self) -> list[ArityCount]:
        return [ArityCount(arity, self.facts[arity], self.keys[arity]) for arity in sorted(self.keys)]


def vocabulary_of(rendezvous: Rendezvous, is_primary: Callable[[Key], bool]) -> Walk[Vocabulary]:
    """Walk through the keys that are there now. What lies under each counts as it is when its turn comes, since facts come and go
    meanwhile; a key that comes meanwhile may be left out."""
    held, posted = rendezvous.held, rendezvous.conditions.by_key
    most, totals = MostFacts(MOST_CONSTANTS), _Totals()
    told: set[Key] = set()
    """Keys with templates that were told with their facts. Bounded by the keys with templates."""
    walked = 0
    for with_facts, keys in ((True, list(held.keys())), (False, list(posted))):
        for key in keys:
            walked += 1
            if walked % KEYS == 0:
                yield None
            arity, position, constant = key
            if (key in held) is not with_facts or key in told or isinstance(constant, Interval) or not is_primary(key):
                continue
            facts = len(held.under(key))
            if key in held.variants:
                facts = 0
                for piece in _pieces(held.under(key)):
                    facts += sum(type(fact) is tuple for fact in piece)
                    yield None
            postings = posted.get(key)
            if postings is not None:
                told.add(key)
            elif not facts:
                continue
            totals.add(arity, facts if position == HOME else 0, 1)
            most.add(ConstantCount(arity, position, constant, facts, 0 if postings is None else postings.size))
    yield Vocabulary(0, most.in_order(), totals.by_arity())


def _pieces(facts: Iterable[Tuple]) -> Iterator[list[Tuple]]:
    there = list(facts)
    for start in range(0, len(there), PIECE):
        yield there[start : start + PIECE]


class OwnVocabulary:
    """Answers whoever asks a peer for its part of the vocabulary."""

    def __init__(self, own: dht.Contact, rendezvous: Rendezvous, holders: Holders, start_task: StartTask) -> None:
        def is_primary(key: Key) -> bool:
            primary = holders.primary_now(key)
            return primary is not None and primary.id == own.id

        self._counting = SharedWalk(lambda: vocabulary_of(rendezvous, is_primary), lambda: rendezvous.clock(), start_task)

    def answer(self, link: PeerLink, asked: AskStatus) -> None:
        """Somebody asks. Raises Refused where too many wait already."""

        def tell(found: Vocabulary) -> None:
            constants = found.constants[: max(0, asked.vocabulary)]
            link.send(msgspec.structs.replace(found, request=asked.request, constants=constants))

        self._counting.ask(tell, lambda problem: link.send(Failed(asked.request, problem)))


class SpaceVocabulary(NamedTuple):
    """That of all peers that have answered, and those that have not."""

    constants: list[ConstantCount]
    """The one with the most facts first, and among equals by their texts."""
    totals: list[ArityCount]
    silent: list[SilentPeer]


async def space_vocabulary(everybody: Sequence[dht.Contact], exchange: Exchange, most: int) -> SpaceVocabulary:
    """Ask these peers for the ``most`` constants with the most facts; for more than MOST_CONSTANTS, for so many. Raises LocalError
    for less than one."""
    if most < 1:
        raise LocalError(f"most={most} constants; expected at least 1, and {MOST_CONSTANTS:,} at most are told")
    most = min(most, MOST_CONSTANTS)

    found, totals = MostFacts(most), _Totals()

    async def ask(contact: dht.Contact) -> SilentPeer | None:
        answer = await ask_for(Vocabulary, contact, exchange, lambda request: AskStatus(request, vocabulary=most))
        if isinstance(answer, SilentPeer):
            return answer
        for total in answer.totals:
            totals.add(total.arity, total.facts, total.keys)
        async for one in in_turns(answer.constants):
            found.add(one)
        return None

    silent = await asyncio.gather(*map(ask, everybody))
    return SpaceVocabulary(found.in_order(), totals.by_arity(), [one for one in silent if one is not None])
