"""Arguments in tests, computations and inline data: together, queries have the rows that each has by itself, however few it takes
for tokens to wait by what they require, and in whatever form the template is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from naive import Fact
from test_algebra_equivalence import constants, names, one_more
from test_parameters import Coming, Step, Trial, arguments, basics, paths, steps

from rete import Parameter, Variable, algebra, bag, waiting_tokens
from rete.compile.canonical import _renamed, canonical
from rete.compile.substitution import bound
from rete.conditions import Condition, is_parameter
from rete.operators import join, pair_join
from rete.predicates import Between, OneOf, Requirement, test_index


@dataclass(frozen=True)
class _OfArgument:
    """Reads a name, and a value that may be an argument."""

    name: str
    value: Any

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.value.name) if isinstance(self.value, Variable) else (self.name,)

    def with_constants(self, replacement: Callable[[Any], Any]) -> Any:
        return type(self)(self.name, replacement(self.value))

    def values(self, read: tuple[Any, ...]) -> tuple[Any, Any]:
        return read if isinstance(self.value, Variable) else (read[0], self.value)

    def with_names(self, rename: Callable[[str], str]) -> Any:
        if not isinstance(self.value, Variable):
            return type(self)(rename(self.name), self.value)
        name = rename(self.value.name)
        return type(self)(rename(self.name), Parameter.of_name(name) if is_parameter(name) else Variable(name))


class Since(_OfArgument):
    """A test: what comes after a value in the order of how they are shown."""

    @property
    def requires(self) -> tuple[tuple[int, Requirement], ...]:
        return () if isinstance(self.value, Variable) else ((0, (Between(repr, repr(self.value), None),)),)

    def __call__(self, read: tuple[Any, ...]) -> bool:
        one, other = self.values(read)
        return one is not None and repr(one) >= repr(other)


class Same(_OfArgument):
    """A test: that value."""

    @property
    def requires(self) -> tuple[tuple[int, Requirement], ...]:
        return () if isinstance(self.value, Variable) else ((0, (OneOf(repr, (repr(self.value),)),)),)

    def __call__(self, read: tuple[Any, ...]) -> bool:
        one, other = self.values(read)
        return bool(one == other)


class Unlike(_OfArgument):
    """A test that says nothing of what it requires."""

    def __call__(self, read: tuple[Any, ...]) -> bool:
        one, other = self.values(read)
        return one is not None and one != other


class Beside(_OfArgument):
    """A computation: both values, in words."""

    def __call__(self, read: tuple[Any, ...]) -> Any:
        one, other = self.values(read)
        return None if one is None else f"{one} {other}"


NAMES = ["u", "v", "w", "x", "y", "z"]
values = st.one_of(constants, st.sampled_from((Parameter(0), Parameter(1))))
tests = st.one_of(st.builds(Since, names, values), st.builds(Same, names, values), st.builds(Unlike, names, values))
rows = st.lists(st.tuples(values, st.one_of(values, st.none())), min_size=1, max_size=3)
inline = st.builds(
    lambda columns, made: algebra.Values(tuple(columns), tuple(made)), st.lists(names, min_size=2, max_size=2, unique=True), rows
)


def one_more_of_arguments(inner: st.SearchStrategy[algebra.Algebra]) -> st.SearchStrategy[algebra.Algebra]:
    filtered = st.builds(algebra.Filter, inner, tests)
    return st.one_of(
        one_more(inner),
        filtered,
        filtered,
        filtered,
        st.builds(algebra.LeftJoin, inner, inner, tests),
        st.builds(algebra.Extend, inner, st.sampled_from(("x", "y")), st.builds(Beside, names, values)),
        st.builds(algebra.Join, inner, inline),
    )


trees = st.recursive(st.one_of(basics, basics, basics, inline, paths), one_more_of_arguments, max_leaves=5)


@pytest.fixture(scope="module", autouse=True)
def _few_are_many() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for module in (bag, waiting_tokens, pair_join, join, test_index):
            patch.setattr(module, "FEW", 1)
        yield


class InEitherForm(Trial):
    """Queries of a template, of its canonical form, and each by itself."""

    def come(self, tree: algebra.Algebra, values: Fact) -> None:
        before = len(self.queries)
        super().come(tree, values)
        if len(self.queries) == before:
            return
        shared, _ = self.queries[-1]
        form = canonical(tree, shared.select, len(values))
        made = tuple(values[number] for number in form.arguments)
        production, first = self.world.network.subscribe_template(form.body, made, form.select, lambda _: None)

        assert production.rows() == dict(first) == shared.production.rows()
        self.world.network.unsubscribe(production)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(trees, min_size=1, max_size=2),
    st.lists(st.builds(Coming, st.integers(0, 1), arguments), min_size=3, max_size=6),
    st.lists(steps, min_size=5, max_size=20),
)
def test_arguments_mean_what_constants_in_their_places_mean(
    templates: list[algebra.Algebra], first: list[Coming], history: list[Step]
) -> None:
    trial = InEitherForm(templates)

    for step in [*first, *history]:
        trial.take(step)

    trial.finish()


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(trees, arguments, st.permutations(NAMES))
def test_the_form_of_a_query_does_not_depend_on_names(tree: algebra.Algebra, made: Fact, others: list[str]) -> None:
    query = bound(tree, made)
    assume(not has_slice(query))
    rename = dict(zip(NAMES, others, strict=True))

    one = canonical(query, ("u",), 0)
    assume(one.body != query)  # it has a test that does not say how it is of other names, or no names

    assert one == canonical(_renamed(query, lambda name: rename.get(name, name)), (rename["u"],), 0)


def test_conditions_have_one_form_however_their_joins_are_grouped() -> None:
    one, two, three = (algebra.Basic((Condition((Variable("u"), name, Variable("v"))),)) for name in "pqr")

    assert canonical(algebra.Join(one, algebra.Join(two, three)), ("u",), 0) == canonical(
        algebra.Join(algebra.Join(one, two), three), ("u",), 0
    )


def has_slice(tree: algebra.Algebra) -> bool:
    return isinstance(tree, algebra.Slice) or any(map(has_slice, algebra.parts_of(tree).values()))
