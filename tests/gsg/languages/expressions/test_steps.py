"""A test says how long it takes, in steps of the matcher."""

from __future__ import annotations

import pytest

from gsg.languages import parse_query
from rete import algebra


@pytest.mark.parametrize(
    ("expression", "steps"),
    [("?x > ?y", 1), ("!BOUND(?x)", 1), ("?x", 1), ("?x + ?y < 0", 3), ("REGEX(CONCAT(STR(?x), STR(?y)), 'a')", 5)],
)
def test_each_function_and_operator_of_an_expression_is_a_step(expression: str, steps: int) -> None:
    tree = parse_query(f"SELECT * {{ ?s <urn:p> ?x, ?y BIND({expression} AS ?z) }}", "sparql").body

    assert [algebra.steps_of(part.value) for part in _parts(tree) if isinstance(part, algebra.Extend)] == [steps]


def _parts(tree: object) -> list[object]:
    child = getattr(tree, "child", None)
    return [tree, *(_parts(child) if child is not None else [])]
