"""The alpha network: the table finds exactly the templates that match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import template

import rete
from rete.alpha import AlphaMemory, shape_of

constants = st.sampled_from("ab")
facts = st.lists(constants, min_size=1, max_size=3).map(tuple)
variables = st.sampled_from("xy").map(rete.Variable)
templates = st.lists(st.one_of(constants, variables, st.just(rete.WILDCARD)), min_size=1, max_size=3).map(
    lambda items: rete.Condition(tuple(items)).template
)


def table_of(*posted: rete.AnyTemplate) -> rete.TemplateTable[rete.AnyTemplate]:
    """Each template under itself."""
    table: rete.TemplateTable[rete.AnyTemplate] = rete.TemplateTable()
    for each in posted:
        table.post(each, each)
    return table


def removed(table: rete.TemplateTable[rete.AnyTemplate], gone: set[rete.AnyTemplate]) -> None:
    for each in gone:
        table.remove(each)


@given(st.sets(templates, max_size=12), st.sets(templates, max_size=12), facts)
def test_a_tuple_finds_the_templates_that_match_it(
    posted: set[rete.AnyTemplate], gone: set[rete.AnyTemplate], fact: tuple[str]
) -> None:
    table = table_of(*posted | gone)
    removed(table, gone)
    left = posted - gone

    found = table.matching(fact)

    assert sorted(found, key=repr) == sorted((each for each in left if each.matches(fact)), key=repr)
    assert set(table) == left
    assert len(table) == len(left)


@given(st.sets(templates, max_size=8), templates)
def test_only_the_same_template_gets_what_is_posted(posted: set[rete.AnyTemplate], asked: rete.AnyTemplate) -> None:
    assert table_of(*posted).get(asked) == (asked if asked in posted else None)


@given(st.sets(templates, max_size=8), st.sets(facts, max_size=4))
def test_a_table_without_templates_is_like_a_fresh_one(posted: set[rete.AnyTemplate], asked: set[tuple[str]]) -> None:
    table = table_of(*posted)
    removed(table, posted)

    assert [found for fact in asked for found in table.matching(fact)] == []
    assert (len(table), list(table), table._by_shape, table._by_arity) == (0, [], {}, {})


def test_templates_of_one_shape_differ_in_constants_alone() -> None:
    assert shape_of(template("?x on ?y")) == shape_of(template("?p left *"))
    assert shape_of(template("?x on ?y")) != shape_of(template("?x on ?x"))
    assert shape_of(template("?x on ?y")) != shape_of(template("on ?x ?y"))
    assert shape_of(template("?x on ?y")) != shape_of(template("?x on"))


def test_what_was_removed_cannot_be_removed_again() -> None:
    table = table_of(template("?x on"))
    table.remove(template("?x on"))

    with pytest.raises(KeyError):
        table.remove(template("?x on"))


def test_users_of_the_same_positions_share_an_index() -> None:
    memory = AlphaMemory(template("* on *"))
    first, first_is_new = memory.acquire((0,), (2,))

    second, second_is_new = memory.acquire((0,), (2,))
    other, other_is_new = memory.acquire((2,), (0,))

    assert second is first
    assert other is not first
    assert (first_is_new, second_is_new, other_is_new) == (True, False, True)


def test_an_index_goes_with_its_last_user() -> None:
    memory = AlphaMemory(template("* on *"))
    memory.acquire((0,), (2,))
    memory.acquire((0,), (2,))

    memory.release((0,), (2,))
    assert list(memory.indexes) == [((0,), (2,))]

    memory.release((0,), (2,))
    assert memory.indexes == {}
