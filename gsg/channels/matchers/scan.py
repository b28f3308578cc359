"""Every condition, one after another, by the definition: what the other matchers must equal."""

from __future__ import annotations

from ..languages.evaluation import holds
from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..values import Fields


class Scan:
    """The matcher without any structure."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._conditions: dict[int, Condition] = {}

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        self._conditions[number] = condition

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        del self._conditions[number]

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        return [number for number, condition in self._conditions.items() if holds(condition, fields, environment, self._relations)]

    def __len__(self) -> int:
        return len(self._conditions)
