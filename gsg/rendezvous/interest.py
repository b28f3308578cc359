"""Interest: publishers learn under which keys something is posted here, and rely on it by lease (:mod:`gsg.publisher.quenching`).

While its lease lasts a publisher is told of each new key, and a subscriber is answered only when all have acknowledged that:
so whoever publishes after a subscription was acknowledged reaches it. While keys are changing hands, everything is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import chain

from ..background import StartTask
from ..placement.responsibility import Responsibility
from ..tuples.long_constants import ShortTerm
from ..wire.exchange import Answer, PeerLink
from ..wire.messages import Interest, Interested
from .conditions import Conditions, KeyInUse

LEASE_S = 10.0
"""How long what a rendezvous said may be relied on. It waits no longer for a publisher that does not acknowledge a new key."""
NAMED_KEYS = 256
"""Constants that are told one by one for each arity and position; where there are more, everything there is asked for."""


class InterestLeases:
    """The publishers that were told what is asked for here, and must hear of more while their leases last."""

    def __init__(self, conditions: Conditions, responsibility: Responsibility, start_task: StartTask) -> None:
        self._conditions = conditions
        self._responsibility = responsibility
        self._start_task = start_task
        self._until_s: dict[PeerLink, float] = {}
        """Until when each may rely on what it was told. Bounded by the links."""
        self._unacknowledged: dict[asyncio.Future[Answer], float] = {}
        """What was told and not acknowledged, and until when that is waited for. Bounded by what comes into use within LEASE_S."""

    def answer(self, link: PeerLink, *, is_sure: bool = True) -> None:
        """A publisher asks; ``is_sure``: whether this peer may know all that is asked for here."""
        if self._responsibility.settling or not is_sure:
            self._until_s.pop(link, None)
            link.send(Interest(True, []))
            return
        self._until_s[link] = asyncio.get_running_loop().time() + LEASE_S
        link.send(Interest(False, self._keys()))

    def _keys(self) -> list[KeyInUse]:
        by_place: dict[tuple[int, int], list[ShortTerm | None]] = {}
        here = filter(self._is_primary, self._conditions.keys_on_standby())
        for arity, position, constant in chain(self._conditions.keys_in_use(), here):
            by_place.setdefault((arity, position), []).append(constant)
        keys: list[KeyInUse] = []
        for (arity, position), constants in by_place.items():
            keys.extend((arity, position, one) for one in (constants if len(constants) <= NAMED_KEYS else [None]))
        return keys

    def call_when_known(self, do: Callable[[], None]) -> None:
        """Do something once all that rely on what they were told know of the keys that came into use: mostly at once.

        Also of those that somebody else brought into use, of which they are just hearing.
        """
        keys = [key for key in self._conditions.take_new_keys() if self._is_for_publishers(key)]
        if keys:
            self._tell(False, keys)
        if self._unacknowledged:
            self._start_task(self._wait_for(dict(self._unacknowledged), do))
        else:
            do()

    def _is_for_publishers(self, key: KeyInUse) -> bool:
        """Whether publishers are to know that something is asked for under a key: not where it stands by for another peer."""
        arity, position, constant = key
        return constant is None or self._conditions.has_templates((arity, position, constant)) or self._is_primary(key)

    def _is_primary(self, key: KeyInUse) -> bool:
        """Whether this peer is the primary of a key under which something stands by, as when that of before has died."""
        arity, position, constant = key
        return constant is not None and self._responsibility.other_primary((arity, position, constant)) is None

    def revoke(self) -> None:
        """list[KeyInUse] are about to change hands: what was told does not hold any more."""
        self._tell(True, [])
        self._until_s.clear()

    def drop_link(self, link: PeerLink) -> None:
        """A link is gone, and what was told by it."""
        self._until_s.pop(link, None)

    def _tell(self, anything: bool, keys: list[KeyInUse]) -> None:
        now = asyncio.get_running_loop().time()
        self._until_s = {link: until_s for link, until_s in self._until_s.items() if until_s > now}
        for link, until_s in self._until_s.items():
            answer = link.ask(lambda request: Interested(request, anything, keys))
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
