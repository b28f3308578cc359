"""The fact store against a plain set."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gsg.storage.facts_by_template
import rete
from gsg.storage.facts_by_template import FactsByTemplate
from gsg.tuples.features import Template
from gsg.tuples.terms import Symbol, Term, Tuple

constants: st.SearchStrategy[Term] = st.sampled_from(["a", "b", 1, Symbol("a")])
facts = st.lists(constants, min_size=1, max_size=3).map(tuple)
variables = st.sampled_from("xy").map(rete.Variable)
templates: st.SearchStrategy[Template] = st.lists(st.one_of(constants, variables), min_size=1, max_size=3).map(
    lambda items: rete.Condition(tuple(items)).template  # type: ignore[arg-type, return-value]  # its constants are terms
)
steps = st.one_of(
    st.tuples(st.just("add"), facts),
    st.tuples(st.just("add"), facts),
    st.tuples(st.just("remove"), facts),
    st.tuples(st.just("ask"), templates),
)


@pytest.fixture(params=[0, 2, 256], ids="indexes beyond {} facts".format)
def scan_limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits make small stores use indexes."""
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", request.param)


class Both:
    """A store and the set that it should equal."""

    def __init__(self) -> None:
        self.store = FactsByTemplate()
        self.naive: set[Tuple] = set()

    def add(self, fact: Tuple) -> None:
        assert self.store.add(fact) is (fact not in self.naive)
        self.naive.add(fact)

    def remove(self, fact: Tuple) -> None:
        assert self.store.remove(fact) is (fact in self.naive)
        self.naive.discard(fact)

    def ask(self, template: Template) -> None:
        found = list(self.store.matching(template))
        assert len(found) == len(set(found))
        assert set(found) == set(filter(template.matches, self.naive))
        assert self.store.count(template) >= len(found)


@pytest.mark.usefixtures("scan_limit")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(steps, max_size=40))
def test_a_store_is_a_set_found_by_template(history: list[tuple[str, object]]) -> None:
    both = Both()

    for verb, argument in history:
        getattr(both, verb)(argument)

    assert set(both.store) == both.naive
    assert len(both.store) == len(both.naive)
    assert [fact in both.store for fact in both.naive] == [True] * len(both.naive)
    assert ("never", "was", "there", "at", "all") not in both.store


def test_indexes_are_built_for_what_is_asked_and_the_smallest_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", 4)
    store = FactsByTemplate()
    for number in range(10):
        store.add((number, "on", "even" if number % 2 == 0 else "odd"))

    assert store.count(rete.Template((None, "on", None))) == 10
    assert store.count(rete.Template((None, "on", "odd"))) == 5
    assert store.count(rete.Template((3, "on", "odd"))) == 1
    assert store.count(rete.Template((3, "on", "nowhere"))) == 0
    assert store.count(rete.Template((None, "on"))) == 0


def test_an_index_keeps_what_is_left_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", 0)
    store = FactsByTemplate()
    store.add(("a", "b"))
    store.add(("a", "c"))
    assert store.count(rete.Template(("a", None))) == 2

    store.remove(("a", "b"))

    assert list(store.matching(rete.Template(("a", None)))) == [("a", "c")]


def test_a_store_that_was_emptied_holds_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", 0)
    store = FactsByTemplate()
    store.add(("a", "b"))
    assert list(store.matching(rete.Template(("a", None)))) == [("a", "b")]

    store.remove(("a", "b"))

    assert (store._by_arity, store._by_position) == ({}, {})


def test_dropped_indexes_are_built_again_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.facts_by_template, "SCAN_LIMIT", 0)
    store = FactsByTemplate()
    store.add(("a", "b"))
    template = rete.Template(("a", None))
    list(store.matching(template))

    store.drop_indexes()

    assert not store.is_indexed
    assert (list(store.matching(template)), store.is_indexed) == ([("a", "b")], True)
