"""Unification against the textbook's, and the head of a subscription against unification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pedro_compat import compile_subscription, parse
from pedro_compat.terms.terms import Frozen, Var
from pedro_compat.terms.unification import MAX_STEPS, Exhausted, Work, dereferenced, occurs, unify

NAMES = ["X", "Y", "Z"]
LEAVES = st.sampled_from(["a", "b", b"a", 1, 1.0, 2, "[]", *[("?", name) for name in NAMES]])


def _deeper(children):
    return st.tuples(st.sampled_from("fg"), children) | st.tuples(st.sampled_from("f."), children, children)


SHAPES = st.recursive(LEAVES, _deeper, max_leaves=8)
"""Terms whose variables are ``("?", name)``, so that they are plain values."""


def textbook(left, right, bindings):
    """Robinson's unification by substitution: the bindings, or None."""
    left, right = substituted(left, bindings), substituted(right, bindings)
    if type(left) is type(right) and left == right and not_mixed(left, right):
        return bindings
    for variable, value in ((left, right), (right, left)):
        if type(variable) is tuple and variable[0] == "?":
            return None if inside(variable, value) else {**bindings, variable[1]: value}
    if type(left) is not tuple or type(right) is not tuple or left[0] != right[0] or len(left) != len(right):
        return None
    for one, other in zip(left[1:], right[1:], strict=True):
        bindings = textbook(one, other, bindings)
        if bindings is None:
            return None
    return bindings


def not_mixed(left, right):
    return repr(left) == repr(right)


def substituted(term, bindings):
    if type(term) is not tuple:
        return term
    if term[0] == "?":
        return substituted(bindings[term[1]], bindings) if term[1] in bindings else term
    return (term[0], *[substituted(item, bindings) for item in term[1:]])


def inside(variable, term):
    return term == variable or (type(term) is tuple and term[0] != "?" and any(inside(variable, item) for item in term[1:]))


def built(shape, variables):
    if type(shape) is not tuple:
        return shape
    if shape[0] == "?":
        return variables[shape[1]]
    return (shape[0], *[built(item, variables) for item in shape[1:]])


def resolved(term):
    term = dereferenced(term)
    if type(term) is Var:
        return ("?", term.name)
    return (term[0], *[resolved(item) for item in term[1:]]) if type(term) is tuple else term


@given(SHAPES, SHAPES)
def test_unification_agrees_with_the_textbook(left, right):
    variables = {name: Var(name) for name in NAMES}
    first, second = built(left, variables), built(right, variables)

    unified = unify(first, second, Work())

    assert unified == (textbook(left, right, {}) is not None)
    assert not unified or repr(resolved(first)) == repr(resolved(second))


@given(SHAPES, SHAPES)
def test_undo_takes_every_binding_back(left, right):
    variables = {name: Var(name) for name in NAMES}
    work = Work()

    unify(built(left, variables), built(right, variables), work)
    work.undo(0)

    assert [variable.ref for variable in variables.values()] == [None, None, None]


@given(SHAPES, SHAPES, SHAPES, SHAPES)
def test_head_covers_what_unifies_with_it(first, second, third, fourth):
    head = built(("h", first, second), {name: Var(name) for name in NAMES})
    notification = built(("h", third, fourth), {name: Var(name) for name in NAMES})

    covers = compile_subscription(head, "true").covers(notification)

    assert covers is unify(head, notification, Work())


def test_frozen_variable_is_equal_to_itself_only():
    frozen, other = Frozen("X"), Frozen("X")

    outcomes = [unify(frozen, value, Work()) for value in (frozen, other, 1, "X", ("f", frozen), Var("Y"))]

    assert outcomes == [True, False, False, False, False, True]


def test_occurs_check_looks_through_bindings():
    x, y = Var("X"), Var("Y")
    y.ref = ("f", x)

    assert occurs(x, ("g", y), Work())
    assert not unify(x, ("g", y), Work())


@pytest.mark.parametrize("walk", [lambda term, work: unify(term, term[:], work), lambda term, work: occurs(Var("X"), term, work)])
def test_walk_of_shared_subterms_ends(walk):
    term = other = "a"
    for _ in range(60):
        term, other = ("f", term, term), ("f", other, other)

    with pytest.raises(Exhausted):
        walk(("g", term, term), Work()) and unify(term, other, Work())


LONG = f"g({','.join('h(a)' for _ in range(100))})"
LAST = Var("Last")


@pytest.mark.parametrize(
    "walk",
    [
        lambda work: unify(parse(f"f({LONG},a)"), parse(f"f({LONG},b)"), work),
        lambda work: unify(parse(f"f({LONG},a)"), parse(f"f({LONG},1)"), work),
        lambda work: unify(parse(f"f({LONG},g(a))"), parse(f"f({LONG},h(a))"), work),
        lambda work: occurs(LAST, ("f", LAST, parse(LONG)), work),
    ],
    ids=["constants", "kinds", "functors", "occurs"],
)
def test_walk_that_ends_without_success_is_paid_for(walk):
    work = Work()

    walk(work)

    assert MAX_STEPS - work.steps > 100


def test_deep_terms_are_unified():
    line = "f(" * 10_000 + "X" + ")" * 10_000

    assert unify(parse(line), parse(line), Work())
