"""What a query says: conditions, groups and their templates."""

from __future__ import annotations

import pytest
from notation import condition, group, none_of

import rete


@pytest.mark.parametrize(
    ("text", "pattern", "same", "anchors"),
    [
        ("?x on ?y", (None, "on", None), (), (1,)),
        ("a on b", ("a", "on", "b"), (), (0, 1, 2)),
        ("* on *", (None, "on", None), (), (1,)),
        ("?x ?x", (None, None), ((0, 1),), ()),
        ("?x a ?x ?y ?x ?y", (None, "a", None, None, None, None), ((0, 2), (0, 4), (3, 5)), (1,)),
        ("?x", (None,), (), ()),
    ],
    ids=["variables", "constants", "wildcards", "a repeated variable", "several repeated", "one position"],
)
def test_a_template_is_what_is_left_without_names(
    text: str, pattern: tuple[str | None, ...], same: tuple[tuple[int, int], ...], anchors: tuple[int, ...]
) -> None:
    template = condition(text).template

    assert template == rete.Template(pattern, same)
    assert template.anchors() == anchors


@pytest.mark.parametrize(
    ("text", "items", "matches"),
    [
        ("?x on ?y", ("a", "on", "b"), True),
        ("?x on ?y", ("a", "in", "b"), False),
        ("?x on ?y", ("a", "on"), False),
        ("?x on ?y", ("a", "on", "b", "c"), False),
        ("?x on ?x", ("a", "on", "a"), True),
        ("?x on ?x", ("a", "on", "b"), False),
        ("* *", ("a", "b"), True),
    ],
)
def test_a_template_matches_tuples_with_its_constants_and_repetitions(text: str, items: tuple[str, ...], matches: bool) -> None:
    assert condition(text).template.matches(items) is matches


def test_a_condition_lists_each_variable_with_its_first_position() -> None:
    assert condition("?y a ?x ?y *").variables == (("y", 0), ("x", 2))


def test_conditions_are_equal_when_their_patterns_are() -> None:
    assert condition("?x on ?y") == condition("?x on ?y")
    assert condition("?x on ?y") != condition("?x on ?z")
    assert len({condition("?x on ?y"), condition("?x on ?y")}) == 1


def test_a_condition_needs_a_term() -> None:
    with pytest.raises(rete.BadQuery, match="a condition of no terms; expected at least one"):
        rete.Condition(())


def test_a_wildcard_shows_what_it_is() -> None:
    assert repr(rete.WILDCARD) == "WILDCARD"


def test_a_group_binds_the_variables_of_its_own_conditions_in_order() -> None:
    query = group("?y on ?x", "?x left ?z", none_of("?z color ?c", none_of("?c ?d")))

    assert query.variables() == ("y", "x", "z")
    assert query.mentioned() == {"x", "y", "z", "c", "d"}


def test_a_group_walks_the_conditions_of_negated_groups_at_any_depth() -> None:
    query = group("?x a", none_of("?x b", none_of("?x c")), none_of("?x d"))

    assert list(query.every_condition()) == [condition(f"?x {name}") for name in "abcd"]
