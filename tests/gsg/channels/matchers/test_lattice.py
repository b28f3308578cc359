"""Required sets in the order of inclusion."""

from __future__ import annotations

from itertools import combinations

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.lattice import Lattice


def test_every_set_is_reached_whatever_the_order_of_insertion_and_removal() -> None:
    sets = [names for size in range(1, 5) for names in combinations("abcd", size)]
    matcher = Lattice(Relations())
    for number in [*range(0, 15, 2), *range(1, 15, 2)]:
        matcher.insert(number, parse(f"(and {' '.join(f'(exists {name})' for name in sets[number])})"))
    for number in (0, 3, 5):
        matcher.remove(number)

    found = {names: sorted(matcher.match(dict.fromkeys(names, 1), {})) for names in sets}

    kept = [number for number in range(15) if number not in (0, 3, 5)]
    assert found == {names: [number for number in kept if set(sets[number]) <= set(names)] for names in sets}
