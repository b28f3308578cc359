"""Things that each have tests, found by what one of their tests requires of a tuple: what a tuple may pass, and little besides.

Of all that the tests of a thing require, the thing waits for what selects most. A thing that requires nothing that can be looked up
is tried on every tuple, and so are all of them where they are few.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from .requirements import Between, Requirement
from .value_index import ValueIndex

Thing = TypeVar("Thing", bound=Hashable)
Place = TypeVar("Place", bound=Hashable)

FEW = 2
"""So many things are tried one by one: that is sooner done than to look in an index."""
MAX_PLACES = 32
"""Places of a tuple at which something waits: each costs every tuple a look. What could wait at another one only is tried."""

Required: TypeAlias = tuple[Place, Requirement]
"""A place of the tuple, and what is required of the value there."""


class TestIndex(Generic[Place, Thing]):
    """Things by what is required at places; ``required(thing)`` tells that, once, when the thing is to wait."""

    __slots__ = ("_required", "_waits_at", "_without_room", "by_place", "tried")
    __test__: ClassVar[bool] = False

    def __init__(self, required: Callable[[Thing], Iterable[Required[Place]]]) -> None:
        self._required = required
        self.tried: dict[Thing, None] = {}
        """What every tuple is tried on. Limit: that of all things, which whoever adds them has."""
        self._without_room: dict[Thing, None] = {}
        """Those among them that wait for room in an index. Limit: as above."""
        self.by_place: dict[Place, ValueIndex[Thing]] = {}
        """What waits for the value at a place. Limit: MAX_PLACES."""
        self._waits_at: dict[Thing, Required[Place]] = {}
        """Limit: as of those that are tried."""

    def __len__(self) -> int:
        return len(self.tried) + len(self._waits_at)

    def insert(self, thing: Thing) -> None:
        """One more."""
        self.tried[thing] = None
        if len(self) == FEW + 1:
            for each in list(self.tried):
                self._put_in_index(each)
        elif len(self) > FEW:
            self._put_in_index(thing)

    def _put_in_index(self, thing: Thing) -> None:
        wanted = intersect_bounds(self._required(thing))
        possible = list(filter(self._has_room, wanted))
        if not possible:
            if wanted:
                self._without_room[thing] = None
            return
        at, requirement = min(possible, key=self._cost) if len(possible) > 1 else possible[0]
        self.by_place.setdefault(at, ValueIndex()).insert(requirement, thing)
        self._waits_at[thing] = at, requirement
        del self.tried[thing]

    def _has_room(self, one: Required[Place]) -> bool:
        index = self.by_place.get(one[0])
        return len(self.by_place) < MAX_PLACES if index is None else index.has_room(one[1])

    def _cost(self, one: Required[Place]) -> tuple[int, int]:
        return self.by_place.get(one[0], _EMPTY).cost(one[1])

    def remove(self, thing: Thing) -> None:
        """One less. Raises KeyError for what is not there."""
        if thing in self.tried:
            del self.tried[thing]
            self._without_room.pop(thing, None)
            return
        at, requirement = self._waits_at.pop(thing)
        index = self.by_place[at]
        index.remove(requirement, thing)
        if not index:
            del self.by_place[at]
        if self._without_room:
            # One for each that goes; where there is no room for it yet, another one is next.
            first = next(iter(self._without_room))
            del self._without_room[first]
            self._put_in_index(first)


_EMPTY: ValueIndex[Any] = ValueIndex()  # Any: nothing is in it


def intersect_bounds(required: Iterable[Required[Place]]) -> list[Required[Place]]:
    """The same with one requirement for all bounds on one value."""
    required = list(required)
    if len(required) < 2:
        return required
    found: dict[tuple[Place, tuple[object, ...]], Requirement] = {}
    for place, requirement in required:
        # Bounds of one view meet; what is required otherwise stands for itself.
        key = place, tuple([part.view if isinstance(part, Between) else part for part in requirement])
        known = found.get(key)
        found[key] = requirement if known is None else tuple(map(_intersection, known, requirement))
    return [(place, requirement) for (place, _), requirement in found.items()]


def _intersection(one: Any, other: Any) -> Any:  # Any: parts of two requirements that look at the same
    if not isinstance(one, Between):
        return one
    low = other.low if one.low is None else one.low if other.low is None else max(one.low, other.low)
    high = other.high if one.high is None else one.high if other.high is None else min(one.high, other.high)
    return Between(one.view, low, high)
