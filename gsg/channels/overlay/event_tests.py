"""The test that a channel's condition carries to its rendezvous: who asks, and what has to hold of an event.

Registered for peers under the name ``event`` (gsg/rendezvous/condition_tests.py). It comes from a stranger as a text, so it is
bounded before it is posted (portable.py). An event that names its readers passes for them alone: nothing of it leaves the
rendezvous for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from ...errors import BadTerm, LocalError, PeerMisbehaved
from ...tuples.terms import Tuple
from ...wire.messages import Test
from ..events import Event
from ..languages.expressions import TRUE, Condition
from ..languages.predicate import parse
from ..languages.relations import Relations
from ..languages.source import LazyTest
from ..languages.writing import written
from .event_tuples import event_of
from .portable import MAX_CHARACTERS, is_portable

NAME: Final = "event"
MAX_ASKERS_CHARACTERS: Final = 16 * 1024
"""Of all who ask at one channel; where they are more, events for named readers come whoever they name, and the channel looks."""


class _Source(msgspec.Struct, frozen=True, array_like=True):
    askers: list[str] | None
    text: str


def test_of(askers: Iterable[str] | None, condition: Condition) -> Test:
    """The test of a condition that is portable, for these who ask; None for everybody."""
    names = None if askers is None else sorted(askers)
    if names is not None and sum(map(len, names)) > MAX_ASKERS_CHARACTERS:
        names = None
    return Test(NAME, msgspec.json.encode(_Source(names, written(condition))).decode())


def compile_source(source: str) -> Callable[[Tuple, str | None], bool]:
    """The function for a test. Raises PeerMisbehaved, BadText for what is none, LocalError for what is too dear."""
    try:
        found = msgspec.json.decode(source, type=_Source)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PeerMisbehaved(f"a test of events that is none: {error}; expected who asks, and a condition") from None
    condition = parse(found.text)
    if not is_portable(condition):
        raise LocalError(
            "a test of events that is more than a rendezvous tries for others; expected few comparisons, and neither lists nor "
            "regular expressions"
        )
    askers = None if found.askers is None else frozenset(found.askers)
    test = None if condition == TRUE else LazyTest(condition, _RELATIONS)

    def passes(items: Tuple, text: str | None) -> bool:
        event = _events.event_of(items)
        if event is None or (askers is not None and event.readers is not None and askers.isdisjoint(event.readers)):
            return False
        return test is None or event.size() > MAX_CHARACTERS or test(event.fields, event.environment)

    return passes


class _LastEvent:
    """The event that was looked at last: all tests under a key look at one event before the next."""

    def __init__(self) -> None:
        self._items: Tuple = ()
        self._event: Event | None = None

    def event_of(self, items: Tuple) -> Event | None:
        if items is not self._items:
            try:
                self._event = event_of(items)
            except (BadTerm, PeerMisbehaved):
                self._event = None
            self._items = items
        return self._event


_RELATIONS = Relations()
_events = _LastEvent()
