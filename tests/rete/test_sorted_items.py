"""Items in the order of their ranks, few and many."""

from __future__ import annotations

from random import Random

import pytest

from rete import sorted_items
from rete.sorted_items import SortedItems


@pytest.mark.parametrize("large", [1_000, 20], ids=["a list", "a list of lists"])
@pytest.mark.parametrize("seed", range(3))
def test_items_are_found_in_the_order_of_their_ranks(seed: int, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_items, "LARGE", large)
    rng, items = Random(seed), SortedItems[int]()
    there: list[tuple[int, int]] = []
    for number in range(400):
        rank = rng.randrange(50)
        there.append((rank, number))
        place = items.insert(rank, number)
        assert items[place] == (rank, number)
        if rng.random() < 0.4:
            gone = there.pop(rng.randrange(len(there)))
            place = items.first_place(gone[0])
            while items[place] != gone:
                place += 1
            del items[place]

        assert sorted(items) == sorted(there)
        assert [rank for rank, _ in items] == sorted(rank for rank, _ in there)
        assert len(items) == len(there)
        assert items.first_place(25) == sum(rank < 25 for rank, _ in there)
    assert items.between(3, 6) == list(items)[3:6]
    assert items.between(3, None) == list(items)[3:]
