"""Figures are said as a reader says them."""

from __future__ import annotations

import pytest

from simulations.engine.findings import part_said, share_said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (12, 11_900, "a thousandth of"),
        (12, 12, "as much as"),
        (11, 12, "as much as"),
        (1, 2, "half of"),
        (33, 100, "a third of"),
        (38, 100, "38% of"),
        (1, 10, "a tenth of"),
        (1, 37, "1/37 of"),
        (4_595, 593_120, "1/129 of"),
        (0, 5, "none of"),
        (0, 0, "as much as"),
    ],
)
def test_a_part_is_said_by_its_name_or_by_its_number(part: float, whole: float, said: str) -> None:
    assert part_said(part, whole) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.5, "50%"),
        (0.1807, "18.1%"),
        (0.0286, "2.9%"),
        (0.01, "1.0%"),
        (0.00123, "0.12%"),
        (0.000012, "0.0012%"),
        (2.5, "2.5 times"),
        (1.2, "120%"),
    ],
)
def test_a_share_has_the_digits_that_count(share: float, said: str) -> None:
    assert share_said(share) == said
