"""In which constants the queries of one network differ."""

from __future__ import annotations

import pytest

from gsg.languages import parse_query
from gsg.languages.expressions.operators import Computed, Holds
from gsg.languages.expressions.tree import Call, Constant, Name
from gsg.languages.query import Query
from rete import Condition, Group, Network, Parameter, Variable
from rete import algebra as a
from rete.compile.sharing import fixed_parameters

T, R = Variable("t"), Variable("r")
TEMP, IN = Condition(("temp", R, T)), Condition((R, "in", Variable("s")))
ABOVE = Holds(Call(">", (Name("t"), Name("$0"))))
OTHER = Holds(Call("!=", (Name("t"), Name("$0"))))
DOUBLE = Computed(Call("*", (Name("t"), Constant(2))))
DOUBLED = a.Extend(a.Basic((TEMP, IN)), "u", DOUBLE)
ABOVE_DOUBLE = Holds(Call(">", (Name("u"), Name("$0"))))
COUNTED = a.Grouped(a.Basic((TEMP, IN)), ("t",), ())
COUNTED_IN = a.Grouped(a.Basic((TEMP, Condition((R, "in", Parameter(1))))), ("r",), ())


@pytest.mark.parametrize(
    ("tree", "fixed"),
    [
        pytest.param(Group((Condition(("temp", Parameter(0), T)),)), set(), id="of a condition"),
        pytest.param(a.Filter(a.Basic((TEMP,)), ABOVE), set(), id="of a test that is looked up"),
        pytest.param(a.Filter(a.Basic((TEMP, IN)), ABOVE), set(), id="of a test that is looked up, of several conditions"),
        pytest.param(a.Filter(a.Basic((TEMP,)), OTHER), set(), id="of a test that is tried, of one condition"),
        pytest.param(a.Filter(a.Basic((TEMP, IN)), OTHER), {0}, id="of a test that is tried, of several conditions"),
        pytest.param(
            a.Filter(a.Basic((TEMP, Condition((R, "in", Parameter(1))))), OTHER), set(), id="of a test where a condition differs"
        ),
        pytest.param(a.Filter(COUNTED, ABOVE), set(), id="of a test of groups that are the same for all"),
        pytest.param(a.Filter(COUNTED, OTHER), {0}, id="of a test of groups that is tried"),
        pytest.param(a.Filter(COUNTED_IN, ABOVE), {0}, id="of a test of groups that are others for each"),
        pytest.param(a.Join(a.Basic((TEMP, IN)), a.Values(("r",), ((Parameter(0),),))), set(), id="of inline data"),
        pytest.param(a.Filter(a.Slice(a.Basic((TEMP, IN)), None, 0, 2), OTHER), {0}, id="of a test of a slice that is tried"),
        pytest.param(a.Filter(a.LeftJoin(a.Basic((IN,)), a.Basic((TEMP,))), ABOVE), {0}, id="of a test of what is optional"),
        pytest.param(a.Filter(a.LeftJoin(a.Basic((TEMP,)), a.Basic((IN,))), ABOVE), set(), id="of a test beside what is optional"),
        pytest.param(a.Filter(DOUBLED, ABOVE_DOUBLE), {0}, id="of a test of what is computed"),
        pytest.param(
            a.Filter(a.Extend(a.Basic((TEMP,)), "u", DOUBLE), ABOVE_DOUBLE),
            {0},
            id="of a test of what is computed of one condition",
        ),
        pytest.param(
            a.Join(a.Basic((TEMP, IN)), a.Values(("x",), ((Parameter(0),),))), {0}, id="of inline data that nothing joins"
        ),
        pytest.param(a.Filter(a.Union(a.Basic((TEMP, IN)), a.Basic((IN,))), ABOVE), {0}, id="of a test of one side of a union"),
    ],
)
def test_a_parameter_differs_where_facts_find_the_queries_by_it(tree: a.Algebra | Group, fixed: set[int]) -> None:
    assert fixed_parameters(tree, (20, "kitchen"), by_feed=False) == fixed


def test_tests_are_those_of_each_query_where_facts_come_by_feeds() -> None:
    tree = a.Filter(a.Basic((Condition(("temp", Parameter(1), T)),)), ABOVE)

    assert fixed_parameters(tree, (20, "kitchen"), by_feed=True) == {0}


def test_constants_are_put_back_where_queries_do_not_differ() -> None:
    tree = a.Filter(a.Basic((Condition(("temp", Parameter(1), T)),)), ABOVE)

    query = Query(tree, ("t",), (20, "kitchen")).bound_at(frozenset({0}))

    assert query.arguments == ("kitchen",)
    assert query.body == a.Filter(a.Basic((Condition(("temp", Parameter(0), T)),)), Holds(Call(">", (Name("t"), Constant(20)))))
    assert query.bound() == Query(tree, ("t",), (20, "kitchen")).bound()


def test_rows_of_a_template_of_inline_data_are_those_of_its_arguments() -> None:
    facts = [("temp", "hall", 20), ("temp", "attic", 5)]
    network = Network(lambda alpha: [fact for fact in facts if alpha.template.matches(fact)])
    tree = a.Join(a.Values(("r", "n"), ((Parameter(0), 1), (Parameter(1), None))), a.Basic((TEMP,)))

    _, hall = network.subscribe_template(tree, ("hall", "hut"), ("r", "n", "t"), lambda rows: None)
    _, both = network.subscribe_template(tree, ("hall", "attic"), ("r", "n", "t"), lambda rows: None)

    assert hall == [(("hall", 1, 20), 1)]
    assert sorted(both, key=str) == [(("attic", None, 5), 1), (("hall", 1, 20), 1)]


def test_a_text_says_what_it_says_wherever_its_constants_are_arguments() -> None:
    texts = [f"(temp, ?r, ?t) FILTER ?t > {n} LET ?u = ?t + {n}" for n in range(12)]

    queries = [parse_query(text, "gsg") for text in texts]

    assert len(queries[-1].arguments) == 2
    assert [query.bound().body for query in queries] == [parse_query(text + " ", "gsg").bound().body for text in texts]
