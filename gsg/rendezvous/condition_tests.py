"""The tests of what is posted at a rendezvous, compiled. They come from strangers: whatever one does, others are not concerned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..tuples.terms import Tuple
from ..wire.messages import Test
from .postings import Posted, Predicate

CompileTest: TypeAlias = Callable[[Test], Predicate]
"""Turns a condition's test into a function of a tuple and the text that it came as. Raises Refused for one it does not know."""

COMPILED_TESTS = 10_000
COMPILED_CHARACTERS = 16 * 1024 * 1024
"""Compiled tests that are remembered, of those found by what they demand, and the length of their sources; the oldest goes, and is
compiled anew when met."""


class CompiledTests:
    """The tests of one rendezvous."""

    __slots__ = ("_characters", "_found", "compile", "failed")

    def __init__(self, compile_test: CompileTest) -> None:
        self.compile = compile_test
        self._found: dict[Posted, Predicate] = {}
        """Limits: COMPILED_TESTS, COMPILED_CHARACTERS."""
        self._characters = 0
        self.failed = 0
        """Tests that raised, since the start: such a tuple does not match."""

    def passes(self, posted: Posted, items: Tuple, text: str | None) -> bool:
        """Whether a tuple passes the test of what is posted."""
        try:
            predicate = posted.predicate or self._found.get(posted)
            if predicate is None:
                assert posted.test is not None, "without a test everything passes"
                predicate = self.compile(posted.test)
                self._remember(posted, predicate)
            return predicate(items, text)
        except Exception:  # a stranger's test: whatever it does, the tuple does not match; `gsg status` counts it
            self.failed += 1
            return False

    def _remember(self, posted: Posted, predicate: Predicate) -> None:
        self._found[posted] = predicate
        self._characters += _characters(posted)
        while len(self._found) > COMPILED_TESTS or self._characters > COMPILED_CHARACTERS:
            self.forget(next(iter(self._found)))

    def forget(self, posted: Posted) -> None:
        """It is not posted any more."""
        if self._found.pop(posted, None) is not None:
            self._characters -= _characters(posted)


def _characters(posted: Posted) -> int:
    return 0 if posted.test is None else len(posted.test.source)
