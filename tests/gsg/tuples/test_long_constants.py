"""Long constants have hashes in keys and tombstones; short ones stand for themselves."""

from __future__ import annotations

import pytest

from gsg.tuples.audiences import Restricted
from gsg.tuples.features import key, keys_at
from gsg.tuples.long_constants import LONG_BYTES, Hashed, is_hashed, remains_of, short, size_of
from gsg.tuples.terms import IRI, Compound, List, Literal, Symbol, Term
from gsg.wire.messages import encode

LONG = "z" * (LONG_BYTES + 1)


@pytest.mark.parametrize(
    "constant", ["", "z" * (LONG_BYTES - 3), 7, Symbol("on"), IRI("http://example.org/" + "x" * 100)], ids=repr
)
def test_a_short_constant_stands_for_itself(constant: Term) -> None:
    assert short(constant) is constant


@pytest.mark.parametrize(
    "constant",
    [
        LONG,
        Symbol(LONG),
        IRI(LONG),
        Literal(LONG, language="en"),
        Compound((Symbol("f"), LONG)),
        List((LONG,)),
        List(tuple(range(300))),
    ],
    ids=lambda constant: type(constant).__name__,
)
def test_a_long_constant_of_any_kind_has_a_hash_of_its_own(constant: Term) -> None:
    hashed = short(constant)

    assert isinstance(hashed, Hashed)
    assert hashed.size_bytes == len(encode(constant))
    assert hashed not in (short(LONG + "!"), short(Symbol(LONG + "!")))
    assert short(hashed) is hashed
    assert len(encode(hashed)) < 40


def test_texts_of_other_kinds_have_other_hashes() -> None:
    assert len({short(LONG), short(Symbol(LONG)), short(IRI(LONG)), short(Literal(LONG, language="en"))}) == 4


def test_what_remains_of_a_fact_has_its_short_constants_and_its_readers() -> None:
    readers = frozenset((b"p" * 20,))
    fact, restricted = (Symbol("camera"), 7, LONG), Restricted((Symbol("camera"), 7, LONG), readers)

    remains = remains_of(restricted)

    assert remains_of(fact) == (Symbol("camera"), 7, short(LONG)) == tuple(remains)
    assert isinstance(remains, Restricted)
    assert remains.audience == readers
    assert remains != remains_of(fact)
    assert is_hashed(remains)
    assert size_of(remains) < 80


def test_of_a_fact_of_many_short_constants_the_fact_remains() -> None:
    fact = tuple(range(300, 555))

    assert size_of(fact) > LONG_BYTES
    assert remains_of(fact) is fact


def test_of_what_remains_the_same_remains_however_many_hashes_there_are() -> None:
    remains = remains_of(tuple(LONG + str(number) for number in range(255)))

    assert size_of(remains) > LONG_BYTES
    assert remains_of(remains) is remains


def test_a_key_is_the_same_for_a_constant_and_for_its_hash() -> None:
    [place] = keys_at(("a", LONG), b"\x01")

    assert place == (2, 1, short(LONG))
    assert key(*place) == key(2, 1, LONG) != key(2, 1, LONG + "!")
