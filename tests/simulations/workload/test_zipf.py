"""Ranks by Zipf's law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.engine.randomness import Stream
from simulations.errors import BadParameter
from simulations.workload.zipf import Zipf


@given(st.integers(1, 3_000), st.floats(0, 3))
def test_the_table_has_the_law_exactly(ranks: int, exponent: float) -> None:
    law = Zipf(ranks, exponent)

    kept = (law._table >> np.uint64(32)) / 2.0**32
    alias = law._table.astype(np.uint32) ^ np.arange(ranks, dtype=np.uint32)
    stood_for = kept.copy()
    np.add.at(stood_for, alias, 1 - kept)

    assert np.allclose(stood_for / ranks, law.chance, atol=1e-8)
    assert np.allclose(law.chance / law.chance[0], np.arange(1, ranks + 1.0) ** -exponent)


@pytest.mark.parametrize("exponent", [0, 0.8, 1.2])
def test_ranks_come_as_often_as_the_law_says(exponent: float) -> None:
    law = Zipf(50, exponent)

    seen = np.bincount(law.draw(Stream(1, "zipf"), 0, 400_000), minlength=50) / 400_000

    assert np.abs(seen - law.chance).max() < 0.003


def test_a_part_is_the_same_by_itself() -> None:
    law, stream = Zipf(1_000, 1.0), Stream(2, "zipf")

    assert law.draw(stream, 300, 100).tolist() == law.draw(stream, 0, 1_000)[300:400].tolist()


@pytest.mark.parametrize(("ranks", "exponent"), [(0, 1.0), (10, -0.1), (10, float("nan")), (1 << 28, 1.0)])
def test_impossible_laws_are_refused(ranks: int, exponent: float) -> None:
    with pytest.raises(BadParameter, match="expected"):
        Zipf(ranks, exponent)
