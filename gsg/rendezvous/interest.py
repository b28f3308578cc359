"""Interest: publishers learn under which keys something is posted here, and rely on it by lease (:mod:`gsg.publisher.quenching`).

While its lease lasts a publisher is told of each new key, and a subscriber is answered only when all have acknowledged that:
so whoever publishes after a subscription was acknowledged reaches it.

While keys are changing hands nobody can say which of them are here, so everything is asked for; but a publisher that asks all peers
can be told of all that is here, whosever the keys are. What is posted anywhere is among what some peer tells it, if there is none
that it has not asked: so it is told as well whom this peer knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import chain

from ..background import StartTask
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..tuples.features import Interval
from ..tuples.long_constants import ShortTerm
from ..wire.exchange import Answer, PeerLink
from ..wire.interest_messages import Interest, Interested, KeyTold
from .conditions import Conditions, KeyInUse

LEASE_S = 10.0
"""How long what a rendezvous said may be relied on. It waits no longer for a publisher that does not acknowledge a new key."""
MAX_PEERS = 256
"""Other peers that a publisher asks at most. Who knows of more asks for everything while keys change hands."""
NAMED_KEYS = 256
"""Constants that are told one by one for each arity and position; where there are more, everything there is asked for."""


class InterestLeases:
    """The publishers that were told what is asked for here, and must hear of more while their leases last."""

    def __init__(self, conditions: Conditions, holders: Holders, responsibility: Responsibility, start_task: StartTask) -> None:
        self._conditions = conditions
        self._holders = holders
        self._responsibility = responsibility
        self._start_task = start_task
        self._until_s: dict[PeerLink, float] = {}
        """Until when each may rely on what it was told. Bounded by the links."""
        self._with_standby: set[PeerLink] = set()
        """Those among them that are told of all that stands by here, too."""
        self._unacknowledged: dict[asyncio.Future[Answer], float] = {}
        """What was told and not acknowledged, and until when that is waited for. Bounded by what comes into use within LEASE_S."""

    def answer(self, link: PeerLink, *, standby: bool = False, is_sure: bool = True) -> None:
        """A publisher asks, and where ``standby`` for all that stands by here as well; ``is_sure``: whether this peer may know all
        that is asked for here."""
        self.drop_link(link)
        knows = self._everybody() if standby else []
        can_say = bool(knows) if standby else not self._responsibility.settling
        if self._responsibility.leaving or not is_sure or not can_say:
            link.send(Interest(True, []))
            return
        self._until_s[link] = asyncio.get_running_loop().time() + LEASE_S
        if standby:
            self._with_standby.add(link)
        link.send(Interest(False, self._keys(standby=standby), knows))

    def _everybody(self) -> list[bytes]:
        """All peers that there are as far as known here, this one included; none where these may not be all, or are too many."""
        everybody = self._holders.everybody()
        return [] if self._holders.passes_over or len(everybody) > MAX_PEERS + 1 else [contact.id for contact in everybody]

    def _keys(self, *, standby: bool) -> list[KeyTold]:
        by_place: dict[tuple[int, int], list[ShortTerm | None]] = {}
        on_standby = self._conditions.keys_on_standby()
        here = on_standby if standby else [key for key in on_standby if self._is_primary(key)]
        for arity, position, constant in map(_told, chain(self._conditions.keys_in_use(), here)):
            by_place.setdefault((arity, position), []).append(constant)
        keys: list[KeyTold] = []
        for (arity, position), constants in by_place.items():
            keys.extend((arity, position, one) for one in (constants if len(constants) <= NAMED_KEYS else [None]))
        return keys

    def call_when_known(self, do: Callable[[], None]) -> None:
        """Do something once all that rely on what they were told know of the keys that came into use: mostly at once.

        Also of those that somebody else brought into use, of which they are just hearing.
        """
        if keys := self._conditions.take_new_keys():
            self._tell(False, keys)
        if self._unacknowledged:
            self._start_task(self._wait_for(dict(self._unacknowledged), do))
        else:
            do()

    def _is_for_publishers(self, key: KeyInUse) -> bool:
        """Whether all publishers are to know that something is asked for under a key: not where it stands by for another peer."""
        arity, position, constant = key
        return constant is None or self._conditions.has_templates((arity, position, constant)) or self._is_primary(key)

    def _is_primary(self, key: KeyInUse) -> bool:
        """Whether this peer is the primary of a key under which something stands by, as when that of before has died."""
        arity, position, constant = key
        return constant is not None and self._responsibility.other_primary((arity, position, constant)) is None

    def revoke(self) -> None:
        """Keys are about to change hands, and there may be a peer more than was told: what was told does not hold any more."""
        self._tell(True, [])
        self._until_s.clear()
        self._with_standby.clear()

    def drop_link(self, link: PeerLink) -> None:
        """A link is gone, and what was told by it."""
        self._until_s.pop(link, None)
        self._with_standby.discard(link)

    def _tell(self, anything: bool, keys: list[KeyInUse]) -> None:
        now = asyncio.get_running_loop().time()
        self._until_s = {link: until_s for link, until_s in self._until_s.items() if until_s > now}
        self._with_standby &= self._until_s.keys()
        of_primaries = [_told(key) for key in keys if self._is_for_publishers(key)]
        of_all = list(map(_told, keys))
        for link, until_s in self._until_s.items():
            told = of_all if link in self._with_standby else of_primaries
            if not told and not anything:
                continue
            answer = link.ask(partial(Interested, anything=anything, keys=told))
            if not answer.done():
                self._unacknowledged[answer] = until_s
                answer.add_done_callback(self._acknowledge)

    def _acknowledge(self, answer: asyncio.Future[Answer]) -> None:
        self._unacknowledged.pop(answer, None)

    async def _wait_for(self, asked: dict[asyncio.Future[Answer], float], do: Callable[[], None]) -> None:
        for answer, until_s in asked.items():
            # Several may wait for one, so none of them may cancel it.
            await asyncio.wait([answer], timeout=max(0.0, until_s - asyncio.get_running_loop().time()))
            self._acknowledge(answer)  # or its lease has ended
        do()


def _told(key: KeyInUse) -> KeyTold:
    """A key as publishers are told of it: of one of an interval, anything at its position, of which only the numbers of intervals
    whose keys this peer holds come here."""
    arity, position, constant = key
    return arity, position, None if isinstance(constant, Interval) else constant
