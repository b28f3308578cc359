"""Which limits may differ between queries of one network."""

from __future__ import annotations

import pytest

from rete import Condition, Parameter, Variable, algebra
from rete.compile.sharing import fixed_parameters

X, Y = Variable("x"), Variable("y")


def of(*pattern: object) -> algebra.Algebra:
    return algebra.Basic((Condition(pattern),))


def first(child: algebra.Algebra) -> algebra.Algebra:
    return algebra.Slice(child, None, 0, Parameter(1))


@pytest.mark.parametrize("by_feed", [False, True])
@pytest.mark.parametrize(
    ("tree", "fixed"),
    [
        (first(of(X, Parameter(0))), set()),
        (first(algebra.Join(of(X, Y), of(Y, Parameter(0)))), set()),
        (algebra.Join(of(X, Parameter(0)), first(of(X, Y))), {1}),
        (algebra.Join(of(X, "a"), first(of(X, Y))), {1}),
    ],
    ids=["sliced", "sliced, joined", "beside what is sliced", "limits alone"],
)
def test_a_limit_may_differ_where_what_is_sliced_does(tree: algebra.Algebra, fixed: set[int], *, by_feed: bool) -> None:
    assert fixed_parameters(tree, ("b", 3), by_feed=by_feed) == fixed
