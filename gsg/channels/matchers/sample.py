"""Some of the events that came lately: how often is a test passed?

How many conditions wait under a test says little of that where they all ask for what all events have.
"""

from __future__ import annotations

from typing import Final

from ..languages.relations import CI
from ..values import MISSING, Fields
from .access import ANY_VALUE, EQUAL, EVERYWHERE, Access, key_of
from .text_tests import looked_up

SIZE: Final = 32
"""Events that are kept; a further one takes the place of the oldest."""


class Sample:
    """Events, and how many of them pass a test."""

    def __init__(self) -> None:
        self._events: list[Fields] = []
        """Limit: SIZE."""
        self._next = 0

    def take(self, fields: Fields) -> None:
        """Keep an event, which is not to change."""
        if len(self._events) < SIZE:
            self._events.append(fields)
        else:
            self._events[self._next] = fields
            self._next = (self._next + 1) % SIZE

    @property
    def is_full(self) -> bool:
        """Whether there are as many events as are kept."""
        return len(self._events) == SIZE

    def passing(self, access: Access) -> int:
        """How many of the events pass a test."""
        field, key, relation = access
        if access == EVERYWHERE:
            return len(self._events)
        if relation != EQUAL:
            texts = [looked_up(relation, value) for each in self._events if (value := each.get(field)).__class__ is str]
            return sum(_passes(relation.removesuffix(CI), text, str(key)) for text in texts)
        if key is ANY_VALUE:
            return sum(field in each for each in self._events)
        return sum(key_of(each.get(field, MISSING)) == key for each in self._events)


def _passes(relation: str, text: str, key: str) -> bool:
    match relation:
        case "contains":
            return key in text
        case "prefix":
            return text.startswith(key)
        case "suffix":
            return text.endswith(key)
        case _:
            return text == key
