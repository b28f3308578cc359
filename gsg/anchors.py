"""Where a template could be posted: its candidates, and the loads that their rendezvous report."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import dht

from .errors import PeerUnreachable
from .exchange import Exchange
from .features import Template
from .holders import Holders
from .messages import AskLoads, Load, Loads
from .model import Term
from .placement import choose_anchor


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a template that has a constant; ``load`` is None where its rendezvous did not answer."""

    position: int
    holder: dht.Contact
    load: Load | None


def feature_of(template: Template, position: int) -> tuple[int, int, Term]:
    """The feature that a template requires at a position with a constant."""
    constant = template.pattern[position]
    assert constant is not None, "an anchor is a constant"
    return (len(template.pattern), position, constant)


class Anchors:
    """Asks rendezvous what lies with them."""

    def __init__(self, holders: Holders, exchange: Exchange) -> None:
        self._holders = holders
        self._exchange = exchange

    async def choose(self, template: Template) -> int:
        """The position to post a template at; nobody is asked where there is no choice."""
        if len(template.anchors()) < 2:
            return choose_anchor(template, {})
        return chosen(template, await self.places(template))

    async def places(self, template: Template) -> list[Place]:
        """Every position with a constant, with its load. Raises PeerUnreachable when no holder can be found."""
        candidates = template.anchors()
        features = [feature_of(template, position) for position in candidates]
        holders = await self._holders.of(features)
        by_holder: dict[dht.Contact, list[int]] = {}
        for position, feature in zip(candidates, features, strict=True):
            by_holder.setdefault(holders[feature], []).append(position)
        load_at: dict[int, Load] = {}

        async def ask(holder: dht.Contact, positions: list[int]) -> None:
            try:
                answer = await self._exchange.ask(holder, lambda request: AskLoads(request, template, positions), Loads)
            except PeerUnreachable as error:
                self._holders.failed(holder.id, error)
                return
            load_at.update(zip(positions, answer.loads, strict=False))

        await asyncio.gather(*(ask(holder, positions) for holder, positions in by_holder.items()))
        return [
            Place(position, holders[feature], load_at.get(position)) for position, feature in zip(candidates, features, strict=True)
        ]


def chosen(template: Template, places: list[Place]) -> int:
    """The position to post a template at, of its places."""
    return choose_anchor(template, {place.position: place.load for place in places if place.load is not None})
