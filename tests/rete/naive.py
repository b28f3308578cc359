"""What a query means, by the book: try every combination of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import rete

Fact = tuple[str, ...]
Binding = Mapping[str, str]


def unify(condition: rete.Condition, fact: Fact, bound: Binding) -> Binding | None:
    """The binding extended so that the condition is the fact, or None."""
    if len(condition.pattern) != len(fact):
        return None
    extended = dict(bound)
    for wanted, item in zip(condition.pattern, fact, strict=True):
        if isinstance(wanted, rete.Variable):
            if extended.setdefault(wanted.name, item) != item:
                return None
        elif wanted is not rete.WILDCARD and wanted != item:
            return None
    return extended


def solutions(group: rete.Group, facts: Sequence[Fact], bound: Binding) -> Iterator[Binding]:
    """One binding for each way to choose a fact for each condition while no negated group has a solution."""
    if group.conditions:
        first, *rest = group.conditions
        for fact in facts:
            extended = unify(first, fact, bound)
            if extended is not None:
                yield from solutions(rete.Group(tuple(rest), group.negated), facts, extended)
    elif not any(True for negated in group.negated for _ in solutions(negated, facts, bound)):
        yield bound


def answer(group: rete.Group, facts: Sequence[Fact]) -> Counter[Fact]:
    """The rows, selecting every variable that the group binds; a bag."""
    return Counter(tuple(found[name] for name in group.variables()) for found in solutions(group, facts, {}))
