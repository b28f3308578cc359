"""What a rendezvous is asked of its keys: what costs it more than was meant is refused."""

from __future__ import annotations

import pytest

import rete
from gsg import Refused
from gsg.tuples.terms import Tuple
from gsg.wire.load_messages import AskLoads, check_positions

TEMPLATE: rete.Template[object] = rete.Template(("a", None, "b"))


@pytest.mark.parametrize("positions", [[], [0], [2, 0], [0, 1, 2]])
def test_each_position_may_be_asked_about_once(positions: list[int]) -> None:
    check_positions(AskLoads(1, TEMPLATE, positions, ("a", "x", "b")))  # type: ignore[arg-type]  # of terms


@pytest.mark.parametrize(
    ("positions", "fact"),
    [([0, 0], None), ([3], None), ([-1], None), ([0] * 1_000, None), ([0], ("a", "b")), ([0], ("a", "x", "b", "c"))],
)
def test_what_is_no_position_or_no_fact_of_the_template_is_refused(positions: list[int], fact: Tuple | None) -> None:
    with pytest.raises(Refused, match="expected"):
        check_positions(AskLoads(1, TEMPLATE, positions, fact))  # type: ignore[arg-type]  # as above
