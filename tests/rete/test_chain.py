"""From a group of conditions to a chain of joins."""

from __future__ import annotations

import pytest
from notation import alpha, group, none_of, template

import rete
from rete.chain import Chain, JoinSpec


def chain(query: rete.Group, **facts: int) -> Chain:
    """The chain where a template with the constant ``name`` has so many facts."""

    def estimate(asked: rete.AlphaSpec) -> int:
        return next((facts[constant] for constant in asked.template.pattern if constant in facts), 0)

    return rete.chain_of(query, estimate)


def order(made: Chain) -> list[rete.AnyTemplate]:
    return [spec.alpha.template for spec in made.specs]


def test_each_join_asks_for_what_is_bound_and_appends_what_is_new() -> None:
    made = chain(group("?x on ?y", "?y left ?z"))

    assert made == Chain(
        (
            JoinSpec(alpha("* on *"), (), (), (0, 2)),
            JoinSpec(alpha("* left *"), (1,), (0,), (2,)),
        ),
        ("x", "y", "z"),
    )


def test_queries_that_differ_in_names_alone_have_equal_joins() -> None:
    one = chain(group("?x on ?y", "?y left ?z"))
    other = chain(group("?a on ?b", "?b left ?c"))

    assert one.specs == other.specs
    assert one.layout != other.layout


@pytest.mark.parametrize(
    ("conditions", "facts", "expected"),
    [
        (["?x on ?y", "?y left a"], {}, ["* left a", "* on *"]),
        (["?x on ?y", "?y left ?z"], {"on": 9, "left": 3}, ["* left *", "* on *"]),
        (["?x on ?y", "?y left ?z"], {"on": 3, "left": 3}, ["* on *", "* left *"]),
        (["?x a ?y", "?p b ?q", "?y c ?p"], {"a": 1, "b": 2, "c": 3}, ["* a *", "* c *", "* b *"]),
        (["?x a ?y", "b c", "?p d ?q"], {"a": 5}, ["b c", "* d *", "* a *"]),
        (["?x a ?y", "?x b ?y ?z", "?z c"], {"a": 5, "b": 5, "c": 1}, ["* c", "* b * *", "* a *"]),
        (["?x a b", "?x c ?y", "?y d ?z"], {"a": 900, "c": 50, "d": 7}, ["* d *", "* c *", "* a b"]),
        (["?x a ?y", "?x b c", "?y d ?z"], {"a": 9, "b": 8, "d": 70}, ["* b c", "* a *", "* d *"]),
        (["?x a ?y", "?y b ?z", "?x c ?y"], {"a": 5, "b": 9, "c": 900}, ["* a *", "* c *", "* b *"]),
        (["?x a ?y", "?y b ?z", "?w c"], {"a": 5, "b": 900, "c": 40}, ["* a *", "* b *", "* c"]),
    ],
    ids=[
        "most constants first",
        "then fewest facts",
        "then as written",
        "connected before few facts",
        "without variables costs nothing",
        "through what is bound",
        "few facts before constants",
        "constants where counts are about the same",
        "what binds nothing more is asked first",
        "a product comes last",
    ],
)
def test_joins_are_ordered_by_selectivity(conditions: list[str], facts: dict[str, int], expected: list[str]) -> None:
    assert order(chain(group(*conditions), **facts)) == [template(text) for text in expected]


def test_below_arguments_joins_do_not_make_a_product_of_what_two_of_them_give() -> None:
    one, two = rete.Parameter(0), rete.Parameter(1)
    film, who = rete.Variable("film"), rete.Variable("who")
    query = rete.Group(tuple(map(rete.Condition, ((film, "starring", one), (who, "born", two), (film, "director", who)))))
    facts = {"starring": 100, "born": 100, "director": 9_000}

    made = rete.chain_of(query, lambda asked: facts[str(asked.template.pattern[1])], ("$0", "$1"))

    assert [spec.alpha.template.pattern[1] for spec in made.specs] == ["starring", "director", "born"]


TOO_MANY = [f"?x c{number}" for number in range(rete.MAX_CONDITIONS + 1)]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (group(), "a query needs at least one condition outside NOT: there is nothing to bind its variables"),
        (group(none_of("?x a")), "a query needs at least one condition outside NOT: there is nothing to bind its variables"),
        (group("?x a", none_of()), "an empty NOT group would refuse every row; expected at least one condition in it"),
        (group("?x a", none_of("?x b", none_of())), "an empty NOT group would refuse every row; expected at least one"),
        (group(*TOO_MANY), "a query of 129 conditions; expected at most 128: split it into several"),
        (group("?x a", none_of(*TOO_MANY[1:])), "a query of 129 conditions; expected at most 128: split it into several"),
    ],
    ids=["empty", "only NOT", "empty NOT", "empty NOT inside NOT", "too many", "too many inside NOT"],
)
def test_a_query_without_meaning_is_refused(query: rete.Group, problem: str) -> None:
    with pytest.raises(rete.BadQuery) as caught:
        rete.chain_of(query, lambda _: 0)

    assert str(caught.value).startswith(problem)
    assert isinstance(caught.value, rete.ReteError)


def test_as_many_conditions_as_allowed_are_taken() -> None:
    assert len(chain(group(*TOO_MANY[1:])).specs) == rete.MAX_CONDITIONS
