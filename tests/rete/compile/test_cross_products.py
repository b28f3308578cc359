"""Cross products are found, and only they."""

from __future__ import annotations

import pytest
from notation import basic, condition, group, none_of

import rete
from rete import algebra as a
from rete.compile.cross_products import cross_products

APART = basic("?x p ?a", "?y q ?b")
ONE = a.Values(("z",), (("1",),))
TWO = a.Values(("z",), (("1",), ("2",)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (group("?x p ?a", "?y q ?b"), ["?x p ?a / ?y q ?b"]),
        (group("?x p ?a", "?y q ?b", "?z r ?c"), ["?x p ?a / ?y q ?b", "?x p ?a / ?z r ?c"]),
        (group("?x p ?a", "?y q ?b", "?a r ?b"), []),
        (group("?x p ?a", "?y q ?b", "?c r ?d", "?a s ?b"), ["?x p ?a / ?c r ?d"]),
        (group("?x p ?a", "a b c"), []),
        (group("?x p ?a", "* q *"), []),
        (group("?x p ?a", none_of("?x q ?b", "?a q ?c")), []),
        (group("?x p ?a", none_of("?x q ?b", "?y q ?c")), ["?x q ?b / ?y q ?c"]),
        (group("?x p ?a", none_of("?y q ?b")), []),
        (a.Join(basic("?x p ?a"), basic("?y q ?b")), ["?x p ?a / ?y q ?b"]),
        (a.Join(basic("?x p ?a"), a.Join(basic("?y q ?b"), basic("?a r ?b"))), []),
        (a.LeftJoin(basic("?x p ?a"), basic("?y q ?b")), ["?x p ?a / ?y q ?b"]),
        (a.LeftJoin(basic("?x p ?a"), basic("?x q ?b")), []),
        (a.Union(APART, basic("?x p ?a")), ["?x p ?a / ?y q ?b"]),
        (a.Minus(basic("?x p ?a"), APART), ["?x p ?a / ?y q ?b"]),
        (a.Exists(basic("?x p ?a"), basic("?y q ?b")), []),
        (a.Distinct(a.Project(a.Slice(APART, None, 0, 5), ("x",))), ["?x p ?a / ?y q ?b"]),
        (a.Join(basic("?x p ?a"), TWO), ["?x p ?a / Values"]),
        (a.Join(basic("?x p ?a"), ONE), []),
        (a.Join(basic("?x p ?a"), a.Grouped(basic("?y q ?b"), (), ())), []),
        (
            a.Join(basic("?x p ?a"), a.Path(rete.Variable("y"), a.Closure(a.Link("q"), False, True), rete.Variable("z"))),
            ["?x p ?a / Path"],
        ),
    ],
)
def test_products_are_found(query: rete.Group | a.Algebra, expected: list[str]) -> None:
    named = {condition(text): text for text in ("?x p ?a", "?y q ?b", "?z r ?c", "?c r ?d", "?x q ?b", "?y q ?c")}

    found = [tuple(named.get(part, type(part).__name__) for part in pair) for pair in cross_products(query)]  # type: ignore[call-overload]

    assert [" / ".join(pair) for pair in found] == expected
