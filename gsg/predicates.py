"""Tests that a condition may carry beyond its constants, found by name.

A package that brings a test registers a function under the entry point group ``gsg.tests``: from the test's source to a predicate
over a tuple and the text that it came as. It is imported when the first condition asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points

from .errors import GsgError, Refused
from .messages import Test
from .posting import Predicate

GROUP = "gsg.tests"


def compile_test(test: Test) -> Predicate:
    """The predicate for a test. Raises Refused for a name that nobody registered here, or a source that it does not accept."""
    try:
        predicate: Predicate = _registered(test.name)(test.source)
    except GsgError as error:
        raise Refused(f"test {test.name!r} does not accept {test.source[:200]!r}: {error}") from None
    return predicate


@cache
def _registered(name: str) -> Callable[[str], Predicate]:
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = ", ".join(sorted(point.name for point in entry_points(group=GROUP))) or "none"
        raise Refused(f"unknown test {name!r}; known here are: {known}")
    compile_source: Callable[[str], Predicate] = next(iter(found)).load()
    return compile_source
