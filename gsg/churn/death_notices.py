"""Death notices: that all holders of some keys died, told to peers far away, who may have the facts under other keys.

Where few peers know each other, each finds out by itself who died. In a large network whoever has a fact under one key knows
nobody near its other keys; but whoever is now the closest to a key that was lost is a neighbour of those that died. It tells some
peers, and each tells some others, of each of the dead once (Demers and others 1987, "Epidemic algorithms for replicated database
maintenance", rumour mongering). What those then bring back is :mod:`gsg.churn.restoring`.

A notice is believed of peers that the receiver does not know to live. One that is wrong costs look-ups of keys near them, and
copies of facts that are there already: it loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from random import Random

import dht
from dht.identity.ids import as_int

from ..background import StartTask
from ..errors import PeerUnreachable
from ..placement.holders import Holders
from ..placement.rules import REPLICAS
from ..wire.exchange import Channel, Exchange
from ..wire.messages import NOTICED, Died

log = logging.getLogger(__name__)

FANOUT = 8
"""Peers to whom each tells a notice: of a thousand, less than one does not hear of it. They are the same ones while they live, as a
link costs more than many notices."""
GATHERING_S = 0.3
"""How long a notice waits for more of them, which go with it."""
SAMPLES = 256
"""Points near us of which it is looked whether they were lost; a smaller part of what is ours than that may be missed, until the
next peer dies."""
REACHING = 4
"""What is closer to us than to all our neighbours is hardly ever farther than the fourth of them."""
TOLD_S = 120.0
TOLD = 1_000
"""How long, and how many of the dead, it is remembered that they were told of; beyond, the one told first is forgotten."""


class Notices:
    """Tells and hears of them. ``on_deaths(peers)`` hears of those that died far away."""

    def __init__(
        self, holders: Holders, exchange: Exchange, start_task: StartTask, rng: Random, on_deaths: Callable[[Sequence[bytes]], None]
    ) -> None:
        self._own = exchange.own.contact.id
        self._holders = holders
        self._exchange = exchange
        self._start_task = start_task
        self._rng = rng
        self._on_deaths = on_deaths
        self._told_s: dict[bytes, float] = {}
        """When each of the dead was told of, the first in front. Limits: TOLD and TOLD_S."""
        self._untold: list[bytes] = []
        """Those of them that are to be told yet, while a task waits for more. Limit: TOLD; beyond, they are not told on."""
        self._audience: dict[bytes, None] = {}
        """The peers that are told. Limit: FANOUT."""

    def look(self, dead: Iterable[bytes]) -> None:
        """These died of late: tell others, where keys that are ours now had all their holders among them."""
        near = [as_int(each.id) for each in self._holders.neighbours()]
        found = lost_near(as_int(self._own), near, [as_int(peer) for peer in dead], self._rng)
        self._tell([peer.to_bytes(dht.ID_BYTES, "big") for peer in sorted(found)])

    def heard(self, channel: Channel, notice: Died) -> None:
        """A peer tells us."""
        news = self._tell([peer for peer in notice.peers if peer != self._own and self._holders.known(peer) is None])
        if news:
            self._on_deaths(news)

    def _tell(self, peers: Sequence[bytes]) -> list[bytes]:
        """Tell some others of those that were not told of; who those are."""
        now = asyncio.get_running_loop().time()
        while self._told_s and now - next(iter(self._told_s.values())) > TOLD_S:
            del self._told_s[next(iter(self._told_s))]
        news = [peer for peer in peers if peer not in self._told_s]
        for peer in news:
            if len(self._told_s) >= TOLD:
                del self._told_s[next(iter(self._told_s))]
            self._told_s[peer] = now
        if news and not self._untold:
            self._start_task(self._tell_soon())
        self._untold += news[: TOLD - len(self._untold)]
        return news

    async def _tell_soon(self) -> None:
        await asyncio.sleep(GATHERING_S)
        peers, self._untold = self._untold, []
        for contact in self._to_tell():
            for begin in range(0, len(peers), NOTICED):
                self._start_task(self._send(contact, Died(peers[begin : begin + NOTICED])))

    def _to_tell(self) -> list[dht.Contact]:
        """Whom to tell: those told before, and others in the place of those that died."""
        others = {contact.id: contact for contact in self._holders.others()}
        chosen = [peer for peer in self._audience if peer in others]
        left = [peer for peer in others if peer not in self._audience]
        chosen += self._rng.sample(left, min(FANOUT - len(chosen), len(left)))
        self._audience = dict.fromkeys(chosen)
        return [others[peer] for peer in chosen]

    async def _send(self, contact: dht.Contact, notice: Died) -> None:
        try:
            (await self._exchange.channel(contact)).send(notice)
        except PeerUnreachable as error:
            # Others are told as well.
            log.debug("a notice was not told: %s", error)


def lost_near(own: int, living: Sequence[int], dead: Sequence[int], rng: Random) -> set[int]:
    """The dead that were all holders of a key whose closest living peer we are; ``living`` are our nearest neighbours."""
    reach = dht.ID_BITS if len(living) < REACHING else max(own ^ peer for peer in living[:REACHING]).bit_length()
    found: set[int] = set()
    for _ in range(SAMPLES):
        point = own ^ rng.getrandbits(reach)
        distance = own ^ point
        if all(peer ^ point > distance for peer in living):
            closer = sorted(peer ^ point for peer in dead if peer ^ point < distance)
            if len(closer) >= REPLICAS:
                found.update(each ^ point for each in closer)
    return found
