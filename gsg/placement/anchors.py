"""Where a template could be posted: its candidates, the loads that their rendezvous report, and which it is to be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import dht

from ..errors import LocalError, PeerUnreachable
from ..tuples.features import Load, Template, key
from ..tuples.terms import Term
from ..wire.exchange import Exchange
from ..wire.load_messages import AskLoads, Loads
from .holders import Holders
from .rules import Anchor, choose_anchor, drawn, predicate_anchor, random_anchor


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a template that has a constant; ``load`` is None where its rendezvous did not answer."""

    position: int
    holder: dht.Contact
    load: Load | None


def rule_of(name: str) -> Anchor:
    """The rule of this name. Raises LocalError for another one."""
    try:
        return Anchor(name)
    except ValueError:
        raise LocalError(f"unknown rule {name!r} for anchors; expected {', '.join(Anchor)}") from None


def feature_of(template: Template, position: int) -> tuple[int, int, Term]:
    """The feature that a template requires at a position with a constant."""
    constant = template.pattern[position]
    assert constant is not None, "an anchor is a constant"
    return (len(template.pattern), position, constant)


class Anchors:
    """Asks rendezvous what lies with them, where the rule wants to know."""

    def __init__(self, holders: Holders, exchange: Exchange, rule: Anchor = Anchor.RAREST) -> None:
        self._holders = holders
        self._exchange = exchange
        self._rule = rule

    async def choose(self, template: Template) -> int:
        """The position to post a template at; nobody is asked where there is no choice."""
        if len(template.anchors()) < 2 or self._rule is not Anchor.RAREST:
            return self.chosen(template, [])
        return self.chosen(template, await self.places(template))

    def chosen(self, template: Template, places: list[Place]) -> int:
        """The position to post a template at, of its places."""
        candidates = template.anchors()
        if len(candidates) < 2 or self._rule is Anchor.RAREST:
            return choose_anchor(template, {place.position: place.load for place in places if place.load is not None})
        if self._rule is Anchor.PREDICATE:
            return predicate_anchor(candidates)
        arity = len(template.pattern)
        keys = [None if constant is None else key(arity, position, constant) for position, constant in enumerate(template.pattern)]
        return random_anchor(candidates, drawn(keys))

    async def places(self, template: Template, among: Sequence[int] | None = None) -> list[Place]:
        """Every position with a constant, or some of them, with its load. Raises PeerUnreachable when no holder can be found."""
        candidates = template.anchors() if among is None else among
        features = [feature_of(template, position) for position in candidates]
        holders = await self._holders.primaries_of(features)
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
