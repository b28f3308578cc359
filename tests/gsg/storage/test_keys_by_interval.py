"""The keys that lie in an interval: those that are known here, however facts came and went."""

from __future__ import annotations

from random import Random

import pytest

from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.audiences import restricted
from gsg.tuples.features import Interval, Key
from gsg.tuples.ordered_attributes import OrderedAttributes, attribute_from

ORDERED = OrderedAttributes([attribute_from("_,0..10/5")])
SECOND = b"\x01"


def intervals(held: FactsByKey) -> dict[Key, set[Key]]:
    """By the definition."""
    found: dict[Key, set[Key]] = {}
    for key in set(held.known_keys()):
        if (interval := ORDERED.interval_key(key)) is not None:
            found.setdefault(interval, set()).add(key)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_covers_the_keys_that_have_facts_or_tombstones(seed: int) -> None:
    rng = Random(seed)
    now_s = 0.0
    held = FactsByKey(lambda: now_s, ORDERED)
    held.remembering = seed % 2 == 0
    for stamp in range(1, 200):
        fact = (rng.choice("abc"), rng.choice((-1, 1, 2, 3, 8, "no number")))
        [variant] = rng.choice(([fact], [fact], restricted([fact], frozenset((b"r" * 20,)))))
        match rng.randrange(7):
            case 0:
                held.drop((2, 1, fact[1]))
            case 1:
                rows = held.rows([variant])
                held.drop((2, 1, fact[1]))
                held.restore(rows)
            case 2:
                now_s += 1_000.0
                held.buried.forget_before(now_s - 2_000.0)
            case 3 | 4:
                held.change_all(variant, SECOND, -1, stamp)
            case _:
                held.change_all(variant, SECOND, 1, stamp)

        right = intervals(held)
        for number in range(ORDERED.by_place[2, 1].of_long + 1):
            interval = (2, 1, Interval(number))
            assert set(held.covered_by(interval)) == right.get(interval, set())
            there = {fact for key in right.get(interval, ()) for fact in held.visible(key, b"r" * 20)}
            assert set(held.visible(interval, b"r" * 20)) == there


def test_any_other_key_covers_itself() -> None:
    assert list(FactsByKey().covered_by((2, 1, 3))) == list(FactsByKey(ordered=ORDERED).covered_by((2, 1, 3))) == [(2, 1, 3)]
