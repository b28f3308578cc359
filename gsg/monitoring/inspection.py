"""Looking inside a peer: its subscriptions and what they hold, how queries are answered, why rows hold or do not."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

import rete
from rete.inspect import graph

from ..errors import LocalError, PeerUnreachable, Refused
from ..explain.drawing import draw
from ..explain.explain import explain_plan, explain_why, explain_why_not, holding_of, tests_elsewhere, tree_of
from ..explain.explanations import Candidate, HeldKey, Holding, Plan, Why, WhyNot
from ..explain.network_view import NetworkView, Shown, check_can_be_shown, view_of
from ..explain.tuple_route import RouteKey, RouteSubscriber, TupleRoute
from ..interleaving import in_thread
from ..languages import as_long_as, read_query
from ..languages.notation import part_text
from ..languages.query import alphas
from ..languages.rows import Row
from ..placement.anchors import Anchors, Place
from ..placement.holders import Holders
from ..rendezvous.rendezvous import Rendezvous
from ..subscriptions.registry import SubscriptionRegistry
from ..subscriptions.standing_query import StandingQuery
from ..subscriptions.subscriber import Subscriber
from ..tuples.features import Key, Load, Template
from ..tuples.sizes import total_bytes
from ..tuples.terms import Term, Tuple, n3
from ..wire.exchange import Exchange, show
from ..wire.load_messages import AskLoads, Loads
from .vocabulary import DEFAULT_MOST, SpaceVocabulary, space_vocabulary

MAX_ROUTE_BYTES = 65_536
"""Of a tuple whose route is asked for; a longer one is refused."""


class Inspection:
    """What a peer knows of the queries of its users, and of keys. See :attr:`gsg.Peer.inside`."""

    def __init__(
        self,
        subscriber: Subscriber,
        subscriptions: SubscriptionRegistry,
        anchors: Anchors,
        holders: Holders,
        rendezvous: Rendezvous,
        exchange: Exchange,
    ) -> None:
        self._subscriber = subscriber
        self._subscriptions = subscriptions
        self._anchors = anchors
        self._holders = holders
        self._held = rendezvous.held
        self._exchange = exchange
        self._address = show(exchange.own.contact)

    async def load_at(self, template: Template, anchor: int) -> Load | None:
        """What lies with the rendezvous of one of a template's constants; None where it does not answer."""
        return (await self._anchors.places(template, among=(anchor,)))[0].load

    async def explain(self, text: str, language: str = "gsg") -> Plan:
        """How a query would be answered, by the loads that the rendezvous of its conditions report. It is not subscribed to.

        Raises BadText, BadQuery or Unsupported for a text that is no query.
        """
        query = await read_query(text, language)
        specs = await as_long_as(text, partial(alphas, query))
        templates = list(dict.fromkeys(spec.template for spec in specs))
        found = dict(zip(templates, await asyncio.gather(*map(self._anchors.places, templates)), strict=True))
        counts: dict[rete.AlphaSpec, int] = {}
        for spec in specs:
            known = self._subscriber.feeds.memories.known_size(spec)
            loads = [place.load.facts for place in found[spec.template] if place.load is not None]
            if spec.window is None and (known is not None or loads):
                counts[spec] = known if known is not None else min(loads)
        explain = partial(
            explain_plan,
            query,
            language,
            counts=counts,
            candidates={spec: self._candidates(spec.template, found[spec.template]) for spec in specs},
            intervals={
                spec: len(at.numbers) - 1 for spec in specs if (at := self._subscriber.feeds.intervals_of(spec)) is not None
            },
            counted=f"the rendezvous of each condition, as they told {self._address}; at most so many",
            sharing=self._subscriber.count_sharing(query),
        )
        return await as_long_as(text, explain)

    async def until_free(self) -> None:
        """Wait until what subscriptions hold can be looked at without keeping others waiting: no query is being entered then, until
        the loop goes on; and what makes graphs is loaded, which takes most of a second the first time."""
        await in_thread(importlib.import_module, "networkx")
        await self._subscriber.until_free()

    def subscriptions(self) -> list[Holding]:
        """What each subscription of this peer's users holds here, the oldest first."""
        self._subscriber.networks()
        return [self._holding(made) for made in self._subscriptions]

    async def keys(self, keys: Sequence[Key], *, find: bool = False) -> list[HeldKey]:
        """What lies here under each key, and with ``find`` who holds it, by a lookup for each (arity, position and constant make a
        key). Raises PeerUnreachable when the overlay cannot say."""
        found = await asyncio.gather(*map(self._holders.find_anew, keys)) if find else [()] * len(keys)
        return [HeldKey(len(self._held.under(key)), holders) for key, holders in zip(keys, found, strict=True)]

    async def route(self, pattern: Sequence[Term | None]) -> TupleRoute:
        """How a tuple would travel if it were published here: by the keys of its constants, to their rendezvous, to subscribers.
        None stands for anything: who would hear of such a pattern is not asked. Raises PeerUnreachable when the overlay cannot say,
        LocalError for one of more than MAX_ROUTE_BYTES.
        """
        whole = tuple(item for item in pattern if item is not None)
        if (size_bytes := total_bytes([whole])) > MAX_ROUTE_BYTES:
            raise LocalError(f"a tuple of {size_bytes:,} bytes; expected at most {MAX_ROUTE_BYTES:,} to ask for its route")
        fact = whole if len(whole) == len(pattern) else None
        parts = [(place, item) for place, item in enumerate(pattern) if item is not None]
        return TupleRoute(tuple(await asyncio.gather(*(self._route_key(len(pattern), *part, fact) for part in parts))))

    async def _route_key(self, arity: int, place: int, item: Term, fact: Tuple | None) -> RouteKey:
        key = (arity, place, item)
        alone: Template = rete.Template(tuple(item if at == place else None for at in range(arity)))
        holders = await self._holders.find_anew(key)
        found = RouteKey(place, n3(item), self._holders.place_of(key).hex(), holders)
        try:
            told = await self._exchange.ask(holders[0], lambda request: AskLoads(request, alone, [place], fact), Loads)
        except (PeerUnreachable, Refused) as error:
            return structs.replace(found, problem=str(error))
        if len(told.loads) != 1:
            return structs.replace(found, problem=f"it tells {len(told.loads)} loads where one was asked for")
        [load] = told.loads
        # A peer of an earlier version does not say who would hear of it.
        known = None if fact is None else told.reached
        heard = None if known is None else tuple(RouteSubscriber(one.peer.hex(), one.address, one.templates) for one in known)
        return structs.replace(found, facts=load.facts, templates=load.templates, subscribers=heard, is_partial=told.is_partial)

    async def vocabulary(self, most: int = DEFAULT_MOST) -> SpaceVocabulary:
        """The ``most`` constants under which the most facts lie at all peers, 1,000 at most, and how much there is by arity.

        What only named readers may read does not count. Raises LocalError for fewer than one.
        """
        return await space_vocabulary(self._holders.everybody(), self._exchange, most)

    def why(self, number: int, row: Row) -> Why:
        """Which tuples make a row of a subscription. Raises LocalError for a number or a name that there is not."""
        return explain_why(self._subscriptions[number].query, row, self._subscriber.facts_of)

    def why_not(self, number: int, row: Row) -> WhyNot:
        """Which part of a subscription's query leaves nothing of a row. Raises LocalError like :meth:`why`."""
        query = self._subscriptions[number].query
        return explain_why_not(query, row, self._subscriber.facts_of, notes=tests_elsewhere(query))

    async def why_beside(self, number: int, row: Row) -> Why:
        """As :meth:`why`, of the facts as they are now, while others have their turn."""
        made = self._subscriptions[number]
        return await in_thread(explain_why, made.query, row, self._facts_now(made))

    async def why_not_beside(self, number: int, row: Row) -> WhyNot:
        """As :meth:`why_not`, of the facts as they are now, while others have their turn."""
        made = self._subscriptions[number]
        query = made.query
        return await in_thread(explain_why_not, query, row, self._facts_now(made), notes=tests_elsewhere(query))

    def _facts_now(self, made: StandingQuery) -> Callable[[rete.Condition], list[Tuple]]:
        facts_of = self._subscriber.facts_of
        facts = {(alpha.template, alpha.window): list(facts_of(alpha)) for alpha in made.alphas}
        return lambda condition: facts.get((condition.template, condition.window), [])

    def drawing(self, number: int | None = None) -> str:
        """The network of one subscription, or of all, as SVG. Raises as :meth:`network`."""
        return draw(self.network(number))

    def network(self, number: int | None = None) -> NetworkView:
        """The network of one subscription, or of all. Raises LocalError for a number that there is not, or for too many nodes."""
        made = list(self._subscriptions) if number is None else [self._subscriptions[number]]
        check_can_be_shown(one.production for one in made)
        seen = graph(self._subscriber.networks(), None if number is None else [one.production for one in made])
        return view_of(seen, (Shown(one.production, one.number, _text(one), tree_of(one.query)) for one in made))

    @staticmethod
    def _holding(made: StandingQuery) -> Holding:
        return holding_of(
            made.production, made.query, number=made.number, text=_text(made), language=made.language, client=made.client
        )

    def _candidates(self, template: Template, places: list[Place]) -> tuple[Candidate, ...]:
        taken = self._anchors.chosen(template, places)
        made = []
        for place in places:
            constant = template.pattern[place.position]
            assert constant is not None, "a place has a constant"
            load = place.load
            made.append(
                Candidate(
                    place.position,
                    n3(constant),
                    show(place.holder),
                    None if load is None else load.facts,
                    None if load is None else load.templates,
                    load is not None and load.posted,
                    place.position == taken,
                )
            )
        return tuple(sorted(made, key=lambda candidate: not candidate.chosen))


def _text(made: StandingQuery) -> str:
    return made.text or part_text(made.query.bound().body)
