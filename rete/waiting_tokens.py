"""Very many tokens that wait for one key of a join, found by what they require of a fact.

In a network that queries share, ``?t > 20`` and ``?t > 30`` are one test of two values: one of the fact, and one of the query's
arguments, which every token begins with. To emit a fact for each token, and to test them below, would cost it a look at every
query. So where many tokens wait for one key, those whose tests a fact may pass are looked up (:mod:`rete.predicates`). The tests
themselves are made below the join, for some more than they let through may be found.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator
from typing import Any

from .bag import FEW, Bag
from .conditions import Parameter
from .functions import Test, requirements_of, with_constants
from .index import Token, enter
from .predicates import Required, TestIndex

Requires = Callable[[Token], Iterable[Required[int]]]
"""What a token requires of what is appended to it, by the place there."""


class WaitingTokens:
    """Tokens with their weights, found by what they require of a fact: a bag of many, which would have to be tried one by one."""

    __slots__ = ("_index", "_weights")

    def __init__(self, requires: Requires, partners: dict[Token, int]) -> None:
        self._weights = partners
        """Limit: the tokens that the queries of its node may hold (:mod:`rete.token_cap`), as for what the index holds of them."""
        self._index: TestIndex[int, Token] = TestIndex(requires)
        for partner in partners:
            self._index.insert(partner)

    def __len__(self) -> int:
        return len(self._weights)

    def items(self) -> ItemsView[Token, int]:
        """All of them, with their weights."""
        return self._weights.items()

    def change_weight(self, partner: Token, weight: int) -> None:
        """A token comes or goes, ``weight`` times."""
        was_there = partner in self._weights
        count = self._weights.pop(partner, 0) + weight
        if count:
            self._weights[partner] = count
        if count and not was_there:
            self._index.insert(partner)
        elif was_there and not count:
            self._index.remove(partner)

    def partners(self, extension: Token) -> dict[Token, int]:
        """Those whose tests may pass what a fact appends, with their weights: all that pass are among them."""
        weights = self._weights
        found = {partner: weights[partner] for partner in self._index.tried}
        for place, waiting in self._index.by_place.items():
            for partner in waiting.candidates(extension[place]):
                found[partner] = weights[partner]
        return found


def required_by(tests: Iterable[tuple[Test, tuple[int, ...]]], token: Token) -> Iterator[Required[int]]:
    """What tests of an extended token, at places of it, require of what extends this one, by the place there."""
    for test, places in tests:
        place_of = dict(zip(test.names, places, strict=True))

        def argument(item: object, place_of: dict[str, int] = place_of) -> object:
            return token[place_of[item.name]] if isinstance(item, Parameter) else item

        made: Test = with_constants(test, argument)
        for at, requirement in requirements_of(made):
            place = place_of[made.names[at]] - len(token)
            if place >= 0:
                yield place, requirement


def enter_waiting(waiting: dict[Any, Any], key: Any, partner: Token, weight: int, requires: Requires) -> None:
    """Like :func:`rete.index.enter`, where many of a key become :class:`WaitingTokens`."""  # Any: keys of any kind, and such bags
    bag: Bag | WaitingTokens | None = waiting.get(key)
    if isinstance(bag, WaitingTokens):
        bag.change_weight(partner, weight)
        if not bag:
            del waiting[key]
        return
    enter(waiting, key, partner, weight)
    bag = waiting.get(key)
    if isinstance(bag, dict) and len(bag) > FEW:
        waiting[key] = WaitingTokens(requires, bag)
