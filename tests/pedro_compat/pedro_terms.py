"""Random terms of Pedro and of the tuple space, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from gsg.tuples.terms import IRI, BlankNode, Compound, List, Literal, Symbol, Variable, is_label, term
from pedro_compat.terms.terms import Var, atom_of, make_list

NASTY = [
    "",
    "'",
    "''",
    "'a'",
    "\\",
    "\\\\",
    "a\nb",
    "'\\x41'",
    "$iri",
    "$tuple",
    "{}",
    "'{}'",
    "!",
    "'!'",
    "-",
    ".",
    "[]",
    ";",
    ",",
]
TEXTS = st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8"), max_size=5)
ATOMS = st.sampled_from(["a", "b", "foo", "+", "=", "is", "mod", "[]", "{}", ";", "!", "','", "'$none_'"]) | TEXTS.map(atom_of)
NUMBERS = st.integers() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False)
RAW_STRINGS = st.lists(st.sampled_from(["a", "\\x", "\\n", "\\\\", '\\"', "é", " "]), max_size=4).map(
    lambda parts: "".join(parts).encode()
)


def compounds(children, *, minus):
    """Compounds as they can be: minus of a number is the number."""
    made = st.tuples(ATOMS, st.lists(children, min_size=1, max_size=4)).map(lambda parts: (parts[0], *parts[1]))
    return made.filter(lambda made: not (made[0] == "-" and len(made) == 2 and type(made[1]) in (int, float)))


def terms(*, minus=True, variables=None):
    """Any term; without ``minus`` none that holds the atom ``-``, which the server cannot read."""
    shared = variables or [Var("X"), Var("Y"), Var("_")]
    atoms = ATOMS if minus else ATOMS.filter(lambda atom: atom != "-")
    leaves = atoms | NUMBERS | RAW_STRINGS | st.sampled_from(shared)
    operators = {
        ";",
        "->",
        "=",
        "is",
        "<",
        "=<",
        ">",
        ">=",
        "+",
        "-",
        "/\\",
        "\\/",
        "*",
        "/",
        "//",
        "mod",
        "<<",
        ">>",
        "**",
        "@",
        ":",
    }

    def deeper(children):
        lists = st.tuples(st.lists(children, min_size=1, max_size=3), st.just("[]") | children)
        return compounds(children, minus=minus) | lists.map(lambda parts: make_list(*parts))

    made = st.recursive(leaves, deeper, max_leaves=12)
    return made if minus else made.filter(lambda made: type(made) is not str or made not in operators)


SPACE_LEAVES = (
    st.sampled_from([*map(Symbol, NASTY), 5, -1, Literal("2.5", "http://www.w3.org/2001/XMLSchema#double")])
    | TEXTS
    | TEXTS.map(Symbol)
    | TEXTS.map(IRI)
    | TEXTS.filter(is_label).map(BlankNode)
    | TEXTS.map(Variable)
    | NUMBERS.map(term)
    | st.just(float("nan")).map(term)
    | TEXTS.map(lambda text: Literal(text, "http://t"))
    | TEXTS.map(lambda text: Literal(text, "", "en"))
)


def _deeper(children):
    items = st.lists(children, min_size=1, max_size=3).map(tuple)
    tails = st.none() | SPACE_LEAVES.filter(lambda tail: tail != Symbol("[]"))
    return items.map(Compound) | st.tuples(items, tails).map(lambda parts: List(*parts))


SPACE_TERMS = st.recursive(SPACE_LEAVES, _deeper, max_leaves=10)
SPACE_TUPLES = st.lists(SPACE_TERMS, min_size=1, max_size=4).map(tuple)
