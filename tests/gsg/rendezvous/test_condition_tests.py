"""Compiled tests are kept as long as there is room, by their number and by the length of their sources."""

from __future__ import annotations

import pytest

import gsg.rendezvous.condition_tests
import rete
from gsg.rendezvous.condition_tests import CompiledTests
from gsg.rendezvous.feed import Posting, Predicate
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests


@pytest.mark.parametrize(("limit", "most"), [("COMPILED_TESTS", 2), ("COMPILED_CHARACTERS", 25)])
def test_the_oldest_goes_where_there_are_too_many_or_too_long_ones(limit: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.condition_tests, limit, most)
    compiled: list[str] = []

    def compile_test(test: TupleTest) -> Predicate:
        compiled.append(test.source)
        return lambda items, text: True

    tests = CompiledTests(compile_test)
    first, second, third = (Posting(rete.Template((name,)), TupleTest("t", name * 10), None) for name in "abc")
    for posting in (first, second, first, third, second, third, first):
        assert tests.passes(posting, ("x",), None)

    assert [source[0] for source in compiled] == ["a", "b", "c", "a"]
    for posting in (first, second, third):
        tests.forget(posting)
    assert (tests._found, tests._characters) == ({}, 0)
