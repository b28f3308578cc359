"""Things by what they require of one value: of very many, those that a value may pass are found without trying the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, Generic, TypeVar

from .interval_tree import IntervalTree
from .prefixes import Prefixes
from .requirements import Begins, Between, Contains, Ends, OneOf, Part, Requirement, View
from .substrings import Substrings

Thing = TypeVar("Thing", bound=Hashable)

MAX_VIEWS = 32
"""Views in use that compute something of the value, which say so by an attribute ``is_computed``: each costs every value a look.
What needs one more has no room, and has to be tried by whoever asks. Other views are few by nature."""
CROWDED = 8
"""Where more than so many wait for one key, another requirement is the better one."""
_PRESENT = 1
"""The set of bits that an index of texts holds for each: what waits for a text is found by the text itself."""


class ValueIndex(Generic[Thing]):
    """Things that wait for one value each, under one requirement each."""

    __slots__ = ("_by_view", "_computed")

    def __init__(self) -> None:
        self._by_view: dict[View, _Waiting[Thing]] = {}
        """Limits: MAX_VIEWS, and those that compute nothing."""
        self._computed = 0
        """How many compute something."""

    def __bool__(self) -> bool:
        return bool(self._by_view)

    def has_room(self, requirement: Requirement) -> bool:
        """Whether something may wait under a requirement."""
        more = 0
        for part in requirement:
            more += part.view not in self._by_view and _is_computed(part.view)
        return not more or self._computed + more <= MAX_VIEWS

    def cost(self, requirement: Requirement) -> tuple[int, int]:
        """How little a requirement selects, by its kind and by how many wait for the same: the smaller, the better."""
        return max(map(self._cost, requirement))

    def _cost(self, part: Part) -> tuple[int, int]:
        match part:
            case OneOf(view, keys):
                waiting = self._by_view.get(view)
                most = 0 if waiting is None else max(len(waiting.equal.get(key, ())) for key in keys)
                return (most.bit_length() if most > CROWDED else 0, len(keys))
            case Begins(_, text) | Ends(_, text) | Contains(_, text):
                return (1, 0) if len(text) > 2 else (3, 0)
            case Between(_, low, high):
                return (2, 0) if low is not None and high is not None else (3, 1)

    def insert(self, requirement: Requirement, thing: Thing) -> None:
        """Let a thing wait."""
        for part in requirement:
            waiting = self._by_view.get(part.view)
            if waiting is None:
                waiting = self._by_view[part.view] = _Waiting()
                self._computed += _is_computed(part.view)
            waiting.insert(part, thing)

    def remove(self, requirement: Requirement, thing: Thing) -> None:
        """Let it wait no more. Raises KeyError."""
        for part in requirement:
            waiting = self._by_view[part.view]
            waiting.remove(part, thing)
            if not waiting.parts:
                del self._by_view[part.view]
                self._computed -= _is_computed(part.view)

    def candidates(self, value: Any) -> list[Thing]:  # Any: as in View
        """The things that a value may pass, each once: all that it passes are among them."""
        found: list[Thing] = []
        for view, waiting in self._by_view.items():
            seen = view(value)
            if seen is not None:
                waiting.add_candidates(seen, found)
        return found

    def things(self) -> Iterable[Thing]:
        """All that waits, each once."""
        return dict.fromkeys(chain.from_iterable(waiting.things() for waiting in self._by_view.values()))


def _is_computed(view: View) -> bool:
    return bool(getattr(view, "is_computed", False))


class _Waiting(Generic[Thing]):
    """What waits under one view."""

    __slots__ = ("begins", "between", "contains", "ends", "equal", "parts")

    def __init__(self) -> None:
        self.equal: dict[Hashable, dict[Thing, None]] = {}
        self.between: IntervalTree[Thing] = IntervalTree()
        self.begins = _Texts[Thing](Prefixes())
        self.ends = _Texts[Thing](Prefixes())
        """By their texts reversed."""
        self.contains = _Texts[Thing](Substrings())
        self.parts = 0
        """How many wait, each as often as it has parts here."""

    def insert(self, part: Part, thing: Thing) -> None:
        self.parts += 1
        match part:
            case OneOf(_, keys):
                for key in keys:
                    self.equal.setdefault(key, {})[thing] = None
            case Between(_, low, high):
                self.between.insert(low, high, thing)
            case Begins(_, text):
                self.begins.insert(text, thing)
            case Ends(_, text):
                self.ends.insert(text[::-1], thing)
            case Contains(_, text):
                self.contains.insert(text, thing)

    def remove(self, part: Part, thing: Thing) -> None:
        match part:
            case OneOf(_, keys):
                for key in keys:
                    del self.equal[key][thing]
                    if not self.equal[key]:
                        del self.equal[key]
            case Between(_, low, high):
                self.between.remove(low, high, thing)
            case Begins(_, text):
                self.begins.remove(text, thing)
            case Ends(_, text):
                self.ends.remove(text[::-1], thing)
            case Contains(_, text):
                self.contains.remove(text, thing)
        self.parts -= 1

    def things(self) -> Iterable[Thing]:
        by_text = (self.begins.things, self.ends.things, self.contains.things)
        return chain(*self.equal.values(), self.between, *(some for things in by_text for some in things.values()))

    def add_candidates(self, seen: Any, found: list[Thing]) -> None:  # Any: as in View
        if self.equal and (equal := self.equal.get(seen)) is not None:
            found.extend(equal)
        if self.between:
            self.between.add_all_at(seen, found)
        if self.begins.things:
            self.begins.add_candidates(seen, found)
        if self.ends.things:
            self.ends.add_candidates(seen[::-1], found)
        if self.contains.things:
            self.contains.add_candidates(seen, found)


class _Texts(Generic[Thing]):
    """Things by texts that an index finds in others."""

    __slots__ = ("_index", "things")

    def __init__(self, index: Prefixes | Substrings) -> None:
        self._index = index
        self.things: dict[str, dict[Thing, None]] = {}

    def insert(self, text: str, thing: Thing) -> None:
        if text not in self.things:
            self.things[text] = {}
            self._index.insert(text, _PRESENT)
        self.things[text][thing] = None

    def remove(self, text: str, thing: Thing) -> None:
        del self.things[text][thing]
        if not self.things[text]:
            del self.things[text]
            self._index.remove(text, _PRESENT)

    def add_candidates(self, text: str, found: list[Thing]) -> None:
        for each in self._index.texts_of(text):
            found.extend(self.things[each])
