"""From a group of conditions to a chain of joins: pure data, equal for queries that may share nodes.

The chain fixes the order of the joins and the layout of tokens. A token is a flat tuple of bindings; each join appends the
values of the variables that it binds. Names are gone: two queries that differ in names alone have equal chains and share nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .conditions import MAX_CONDITIONS, AlphaSpec, Condition, Group, Template, is_parameter
from .errors import BadQuery
from .functions import Test, unnamed

AnyTemplate: TypeAlias = Template[Any]  # Any: constants are opaque to this package


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """Join tokens with the facts of one alpha memory.

    ``token_key`` positions of the token equal ``fact_key`` positions of the fact; ``new`` positions of the fact extend the token.
    ``tests`` are made of the extended token, at these places of it, by whoever stands below.
    """

    alpha: AlphaSpec
    token_key: tuple[int, ...]
    fact_key: tuple[int, ...]
    new: tuple[int, ...]
    tests: tuple[tuple[Test, tuple[int, ...]], ...] = ()


Estimate: TypeAlias = Callable[[AlphaSpec], int]
TESTED = 16
"""Of so many facts of a condition one is taken to pass a test with a constant, where the order of joins depends on it."""
NO_TESTS: Mapping[Condition, tuple[Test, ...]] = {}


@dataclass(frozen=True, slots=True)
class Chain:
    """Joins as data: ``layout`` names the positions of the last token."""

    specs: tuple[JoinSpec, ...]
    layout: tuple[str, ...]


def chain_of(group: Group, estimate: Estimate, given: tuple[str, ...] = ()) -> Chain:
    """The joins of a group's own conditions, to be built below tokens that bind the ``given`` names. Raises BadQuery like
    :func:`check_group`; ``estimate`` tells how many facts an alpha memory has now, 0 where nothing is known."""
    check_group(group)
    return joins_of(group.conditions, given, estimate)


def check_group(group: Group) -> None:
    """Raises BadQuery when the group has no condition, a negated group is empty, or there are more than MAX_CONDITIONS."""
    count = sum(1 for _ in group.every_condition())
    if count > MAX_CONDITIONS:
        raise BadQuery(f"a query of {count} conditions; expected at most {MAX_CONDITIONS}: split it into several")
    if not group.conditions:
        raise BadQuery("a query needs at least one condition outside NOT: there is nothing to bind its variables")
    waiting = list(group.negated)
    while waiting:
        negated = waiting.pop()
        if not negated.conditions and not negated.negated:
            raise BadQuery("an empty NOT group would refuse every row; expected at least one condition in it")
        waiting += negated.negated


def joins_of(
    conditions: tuple[Condition, ...],
    layout: tuple[str, ...],
    estimate: Estimate,
    tests: Mapping[Condition, tuple[Test, ...]] = NO_TESTS,
    tested: Collection[Condition] = (),
) -> Chain:
    """The joins to append to tokens of this layout, in the order that ``estimate`` decides. Alpha memories make the ``tests``.
    Facts of conditions in ``tested`` meet only those tokens whose tests they may pass."""
    specs: list[JoinSpec] = []
    alphas = {condition: alpha_of(condition, tests.get(condition, ())) for condition in conditions}

    def facts_met(condition: Condition) -> int:
        facts = estimate(alphas[condition])
        return facts // TESTED if condition in tested else facts

    for condition in ordered(conditions, set(layout), facts_met):
        bound = [(layout.index(name), position) for name, position in condition.variables if name in layout]
        new = [(name, position) for name, position in condition.variables if name not in layout]
        specs.append(
            JoinSpec(
                alpha=alphas[condition],
                token_key=tuple(place for place, _ in bound),
                fact_key=tuple(position for _, position in bound),
                new=tuple(position for _, position in new),
            )
        )
        layout += tuple(name for name, _ in new)
    return Chain(tuple(specs), layout)


def alpha_of(condition: Condition, tests: tuple[Test, ...]) -> AlphaSpec:
    """The alpha memory of a condition and the tests that it makes."""
    position = dict(condition.variables)
    return AlphaSpec(
        condition.template,
        tuple((unnamed(test), tuple(position[name] for name in test.names)) for test in tests),
        condition.window,
    )


def ordered(conditions: tuple[Condition, ...], bound: set[str], estimate: Callable[[Condition], int]) -> list[Condition]:
    """The order of joins, one after the other, whichever is best then.

    First those that share a variable with the joins before them, so that a product is made only where nothing else is left; of
    them those whose variables are all bound, which refuse tokens and make none; then the fewest facts. Counts of about the same
    size (to a factor of two) are no reason: most fixed positions, then fewest facts after all, then as written. A parameter counts
    as the constant that it stands for.
    """
    remaining = list(conditions)
    if len(remaining) < 2:
        return remaining
    ordered: list[Condition] = []
    given, joined = frozenset(name for name in bound if not is_parameter(name)), set[str]()
    while remaining:

        def cost(condition: Condition) -> tuple[int, bool, int, int, int]:
            names = {name for name, _ in condition.variables if not is_parameter(name)}
            if not names or not names.isdisjoint(joined) or (not joined and (not given or not names.isdisjoint(given))):
                apart = 0
            else:
                apart = 1 if not names.isdisjoint(given) else 2
            constants = len(condition.template.anchors()) + len(condition.variables) - len(names)
            facts = estimate(condition)
            return apart, not names <= joined | given, facts.bit_length(), -constants - len(names & (joined | given)), facts

        best = min(remaining, key=cost)
        remaining.remove(best)
        ordered.append(best)
        joined.update(name for name, _ in best.variables if not is_parameter(name) and name not in given)
    return ordered
