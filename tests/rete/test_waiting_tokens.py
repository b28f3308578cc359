"""Tokens that wait by what they require: all that a fact may concern are found, with their weights, and few others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from rete.bag import FEW
from rete.predicates import Between, Required
from rete.waiting_tokens import WaitingTokens, enter_waiting


def itself(value: Any) -> Any:
    return value


def at_least_its_bound(partner: tuple[Any, ...]) -> list[Required[int]]:
    _, bound = partner
    return [(0, (Between(itself, bound, None),))]


def test_a_fact_finds_the_tokens_whose_bound_it_passes() -> None:
    tokens = WaitingTokens(at_least_its_bound, {("join", bound): 1 for bound in range(100)})

    assert tokens.partners((2,)) == {("join", 0): 1, ("join", 1): 1, ("join", 2): 1}
    assert tokens.partners((-1,)) == {}


def test_what_requires_nothing_is_always_found() -> None:
    tokens = WaitingTokens(lambda partner: (), {("join", bound): 1 for bound in range(20)})

    assert len(tokens.partners((7,))) == 20


def test_the_buckets_hold_few_tokens_as_a_bag_and_many_by_what_they_require() -> None:
    waiting: dict[str, Any] = {}

    kinds = []
    for bound in range(FEW + 1):
        enter_waiting(waiting, "key", ("join", bound), 1, at_least_its_bound)
        kinds.append(type(waiting["key"]))

    assert set(kinds[:-1]) <= {tuple, list, dict}
    assert kinds[-1] is WaitingTokens


@pytest.mark.parametrize("seed", range(20))
def test_tokens_that_come_and_go_are_found_as_often_as_they_are_there(seed: int) -> None:
    rng = Random(seed)
    waiting: dict[str, Any] = {}
    counts: dict[tuple[Any, ...], int] = {}
    looked_up = 0
    for _ in range(300):
        partner = "join", rng.randrange(12)
        weight = rng.choice([1, 2, -counts.get(partner, 0) or 1])
        counts[partner] = counts.get(partner, 0) + weight
        enter_waiting(waiting, "key", partner, weight, at_least_its_bound)
        bag = waiting.get("key")
        value = rng.randrange(-1, 13)
        if isinstance(bag, WaitingTokens):
            looked_up += 1
            there = {each: count for each, count in counts.items() if count}
            found = bag.partners((value,))
            assert {each: count for each, count in there.items() if each[1] <= value}.items() <= found.items() <= there.items()

    assert looked_up > 0
    for partner, count in counts.items():
        if count:
            enter_waiting(waiting, "key", partner, -count, at_least_its_bound)
    assert waiting == {}
