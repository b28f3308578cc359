"""Features: what a tuple and a template agree on, and that they meet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.tuples.features import Template, key, positions
from gsg.tuples.terms import IRI, BlankNode, Compound, Literal, Symbol, Term, Tuple, Variable, literal, term

names = st.sampled_from(["a", "b", "1"])
constants: st.SearchStrategy[Term] = st.one_of(
    names,
    st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
    st.sampled_from([1.0, 0.0, -0.0, float("nan")]).map(term),
    st.sampled_from([2**63, True]).map(term),
    names.map(Symbol),
    names.map(IRI),
    names.map(BlankNode),
    st.builds(literal, names, st.sampled_from(["", "x:type", "a"]), st.sampled_from(["", "a", "en"])),
    names.map(lambda name: Compound((Symbol(name), 1))),
)
tuples = st.lists(constants, min_size=1, max_size=4).map(tuple)
patterns = st.lists(
    st.one_of(constants, st.sampled_from(["x", "y"]).map(rete.Variable), st.just(rete.WILDCARD)), min_size=1, max_size=4
)


@st.composite
def meetings(draw: st.DrawFn) -> tuple[Tuple, Template]:
    """A tuple, and a template that is made from it and so matches it."""
    items = draw(tuples)
    names_of = {item: rete.Variable(str(number)) for number, item in enumerate(items)}
    choices = [draw(st.sampled_from([item, names_of[item], rete.WILDCARD])) for item in items]
    return items, rete.Condition(tuple(choices)).template  # type: ignore[return-value]  # its constants are terms


def keys_of(items: Tuple) -> set[bytes]:
    return {key(len(items), position, items[position]) for position in positions(items)}


def naive_match(pattern: list[object], items: Tuple) -> bool:
    """Unification by the book."""
    if len(pattern) != len(items):
        return False
    bound: dict[str, Term] = {}
    for wanted, item in zip(pattern, items, strict=True):
        if isinstance(wanted, rete.Variable):
            if bound.setdefault(wanted.name, item) != item:
                return False
        elif wanted is not rete.WILDCARD and (type(wanted) is not type(item) or wanted != item):
            return False
    return True


@given(meetings())
def test_they_meet(meeting: tuple[Tuple, Template]) -> None:
    items, template = meeting

    assert template.matches(items)
    assert {key(len(template.pattern), p, template.pattern[p]) for p in template.anchors()} <= keys_of(items)  # type: ignore[arg-type]  # anchors are constants


@given(patterns, tuples)
def test_whatever_matches_meets(pattern: list[object], items: Tuple) -> None:
    template = rete.Condition(tuple(pattern)).template

    if template.matches(items):
        assert {key(len(pattern), p, template.pattern[p]) for p in template.anchors()} <= keys_of(items)  # type: ignore[arg-type]  # as above


@given(patterns, tuples)
def test_a_template_matches_as_unification_does(pattern: list[object], items: Tuple) -> None:
    assert rete.Condition(tuple(pattern)).template.matches(items) == naive_match(pattern, items)


@given(constants, constants, st.integers(1, 255), st.integers(0, 254))
def test_keys_are_equal_exactly_for_equal_features(one: Term, other: Term, arity: int, position: int) -> None:
    assert (key(arity, position, one) == key(arity, position, other)) == (one == other)
    assert key(arity, position, one) != key(arity + 1, position, one)
    assert key(arity, position, one) != key(arity, position + 1, one)
    assert len(key(arity, position, one)) == 20


def test_keys_are_the_same_in_every_version() -> None:
    assert key(3, 1, Symbol("on")).hex() == "18dc7b5c64c9cdae297afcc8e563de768936d3ad"
    assert key(3, 2, "B2").hex() == "d53c09c826772f2997f48657fbc3751270b3f1c5"
    assert key(2, 0, Literal("1.5", "x:decimal")).hex() == "c690f8180bb3cf91b56be882c11d0d4f3869ea44"


def test_a_variable_in_an_event_is_no_feature() -> None:
    assert positions((Symbol("temp"), Variable("K"), 25)) == b"\x00\x02"
