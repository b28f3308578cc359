"""Bits for names of fields are given back, and what was remembered with them is forgotten."""

from __future__ import annotations

import pytest

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers import memo
from gsg.channels.matchers.lattice import Lattice
from gsg.channels.matchers.memo import Memo
from gsg.channels.matchers.sig import FieldBits, Sig


def test_a_bit_is_given_back_with_the_last_use_and_used_again() -> None:
    bits = FieldBits()
    both, one = bits.of_condition(["a", "b"]), bits.of_condition(["a"])

    assert (bits.give_back(["a"]), bits.give_back(["a", "b"])) == (0, both)
    assert bits.of_event({"a": 1, "b": 1}) == 0
    assert bits.of_condition(["c", "d"]) == both
    assert one in (1, 2)


@pytest.mark.parametrize("make", [Sig, Memo, Lattice])
def test_names_that_come_and_go_leave_no_bits(make) -> None:
    matcher = make(Relations())
    matcher.insert(0, parse("(exists a)"))
    for number in range(1, 300):
        matcher.insert(number, parse(f"(and (exists a) (exists f{number}))"))
        assert sorted(matcher.match({"a": 1, f"f{number}": 1}, {})) == [0, number]
        assert matcher.match({"a": 1, f"f{number - 1}": 1}, {}) == [0]
        matcher.remove(number)

    assert matcher._bits.of_condition(["z"]) <= 2


def test_what_is_inserted_into_remembered_sets_counts_against_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MAX_ENTRIES", 20)
    matcher = Memo(Relations())
    for number in range(10):
        matcher.match({f"f{number}": 1, "a": 1}, {})
    for number in range(15):
        matcher.insert(number, parse("(exists a)"))
        for name in range(10):
            matcher.match({f"f{name}": 1, "a": 1}, {})

        matcher.insert(100 + number, parse("(exists a)"))

        assert matcher._entries == sum(map(len, matcher._remembered.values())) <= 30
        assert matcher._entries <= 20 or len(matcher._remembered) == 1
