"""The plan says what the builder does."""

from __future__ import annotations

import pytest
from naive_algebra import Equals
from notation import basic, group, none_of

import rete
from rete import algebra as a
from rete.explain.plan import Step, plan


def shown(steps: list[Step]) -> list[object]:
    """Conditions as words with the names that they join on, operators by name with what is inside, tests by name."""
    made: list[object] = []
    for step in steps:
        if isinstance(step.what, rete.Condition):
            words = " ".join("?" + one.name if isinstance(one, rete.Variable) else str(one) for one in step.what.pattern)
            made.append(f"{words} on {','.join(step.on) or '-'}{' product' if step.product else ''}")
        elif step.steps:
            made.append((type(step.what).__name__, *shown(step.steps)))
        else:
            made.append(type(step.what).__name__)
    return made


def planned(query: rete.Group | a.Algebra, **facts: int) -> list[object]:
    def estimate(alpha: rete.AlphaSpec) -> int:
        return next((facts[constant] for constant in alpha.template.pattern if constant in facts), 0)

    return shown(plan(query, estimate))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (group("?x p ?y", "?y q ?z"), [("Basic", "?y q ?z on -", "?x p ?y on y")]),
        (group("?x p ?y", "?z q ?w"), [("Basic", "?z q ?w on -", "?x p ?y on - product")]),
        (
            group("?x p ?y", none_of("?y q ?z", none_of("?z r ?x"))),
            [
                (
                    "Exists",
                    ("Basic", "?x p ?y on -"),
                    ("Exists", ("Basic", "?y q ?z on y"), ("Basic", "?z r ?x on z,x")),
                )
            ],
        ),
        (
            a.Filter(a.LeftJoin(basic("?x p ?y"), basic("?y q ?z")), Equals("y", "b")),
            [("LeftJoin", ("Basic", "?x p ?y on -", "Equals"), ("Basic", "?y q ?z on y"))],
        ),
        (
            a.Union(basic("?x p ?y"), basic("?x p ?y")),
            [("Union", ("Basic", "?x p ?y on -"), ("Basic", "?x p ?y on -"))],
        ),
        (
            a.Join(basic("?x p ?y"), a.LeftJoin(basic("?y q ?z"), basic("?z r ?w"))),
            [
                (
                    "Join",
                    ("LeftJoin", ("Basic", "?y q ?z on -"), ("Basic", "?z r ?w on z")),
                    ("Basic", "?x p ?y on y"),
                )
            ],
        ),
    ],
)
def test_steps_stand_in_the_order_in_which_they_are_joined(query: rete.Group | a.Algebra, expected: list[object]) -> None:
    assert planned(query, p=30, q=3, r=300) == expected


def test_a_query_that_cannot_be_built_has_no_plan() -> None:
    with pytest.raises(rete.BadQuery):
        plan(a.Extend(basic("?x p ?y"), "x", None), lambda _: 0)  # type: ignore[arg-type]  # it is not looked at
