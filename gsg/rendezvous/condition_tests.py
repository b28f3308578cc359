"""Tests that a condition may carry beyond its constants: found by name, compiled, and run for whatever is posted at a rendezvous.

FILTERs of one condition go by the name ``filter`` (:mod:`gsg.languages.expressions.portable`). Another package that brings a test
registers a function under the entry point group ``gsg.tests``: from the test's source to a predicate over a tuple and the text
that it came as. Either is imported when the first condition asks for it. Our own is no entry point, so that a peer understands the
FILTERs of its version whatever was installed when. Tests come from strangers: whatever one does, others are not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import TypeAlias

import rete

from ..errors import GsgError, Refused
from ..tuples.terms import Tuple
from ..wire.messages import Test
from ..wire.status_messages import Count
from .feed import Posting, Predicate

CompileTest: TypeAlias = Callable[[Test], Predicate]
"""Turns a condition's test into a function of a tuple and the text that it came as. Raises Refused for one it does not know."""

GROUP = "gsg.tests"
FILTER = "filter"
COMPILED_TESTS = 10_000
COMPILED_CHARACTERS = 16 * 1024 * 1024
"""Compiled tests that are remembered, of those found by what they demand, and the length of their sources; the oldest goes, and is
compiled anew when met."""


class CompiledTests:
    """The tests of one rendezvous."""

    def __init__(self, compile_test: CompileTest) -> None:
        self.compile = compile_test
        self._found: dict[Posting, Predicate] = {}
        """Limits: COMPILED_TESTS, COMPILED_CHARACTERS."""
        self._characters = 0
        self.failed = 0
        """Tests that raised, since the start: such a tuple does not match."""

    def passes(self, posting: Posting, items: Tuple, text: str | None) -> bool:
        """Whether a tuple passes the test of a posting."""
        try:
            predicate = posting.predicate or self._found.get(posting)
            if predicate is None:
                assert posting.test is not None, "without a test everything passes"
                predicate = self.compile(posting.test)
                self._remember(posting, predicate)
            return predicate(items, text)
        except Exception:  # a stranger's test: whatever it does, the tuple does not match; `gsg status` counts it
            self.failed += 1
            return False

    def _remember(self, posting: Posting, predicate: Predicate) -> None:
        self._found[posting] = predicate
        self._characters += _characters(posting)
        while len(self._found) > COMPILED_TESTS or self._characters > COMPILED_CHARACTERS:
            self.forget(next(iter(self._found)))

    def forget(self, posting: Posting) -> None:
        """It is not posted any more."""
        if self._found.pop(posting, None) is not None:
            self._characters -= _characters(posting)


def _characters(posting: Posting) -> int:
    return 0 if posting.test is None else len(posting.test.source)


def test_of(spec: rete.AlphaSpec) -> tuple[Test | None, bool]:
    """What of the tests of an alpha memory travels with its condition, and whether that is all of them."""
    if not spec.tests:
        return None, True
    from ..languages.expressions.operators import Holds
    from ..languages.expressions.portable import written

    tests = [(test.expression, test.names, places) for test, places in spec.tests if isinstance(test, Holds)]
    source, count = written(tests)
    return (Test(FILTER, source) if count else None), count == len(spec.tests)


def compile_test(test: Test) -> Predicate:
    """The predicate for a test. Raises Refused for a name that nobody registered here, or a source that it does not accept."""
    try:
        predicate: Predicate = _registered(test.name)(test.source)
    except GsgError as error:
        raise Refused(f"test {test.name!r} does not accept {test.source[:200]!r}: {error}") from None
    return predicate


def counts_of_tests() -> list[Count]:
    """What the tests of conditions have counted, of those kinds that were asked for and have ``counts``, a function."""
    found: list[Count] = []
    for compile_source in _loaded.values():
        counts: Callable[[], Iterable[Count]] | None = getattr(compile_source, "counts", None)
        found += () if counts is None else counts()
    return found


_loaded: dict[str, Callable[[str], Predicate]] = {}
"""By name. Bounded by what is installed."""


def _registered(name: str) -> Callable[[str], Predicate]:
    if name not in _loaded:
        _loaded[name] = _load(name)
    return _loaded[name]


def _load(name: str) -> Callable[[str], Predicate]:
    if name == FILTER:
        from ..languages.expressions.portable import compile_tests

        return compile_tests
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = ", ".join(sorted({FILTER, *(point.name for point in entry_points(group=GROUP))}))
        raise Refused(f"unknown test {name!r}; known here are: {known}")
    compile_source: Callable[[str], Predicate] = next(iter(found)).load()
    return compile_source
