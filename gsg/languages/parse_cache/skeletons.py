"""Queries that are equal up to constants are parsed twice in all: the others are made from their texts' constants.

A text without its constants is its skeleton (constants.py). What the first text of a skeleton says is parsed; when a second one
comes, a probe is parsed too, which shows where its constants go (shapes.py). From then on a text costs one regular expression and
a few look-ups.

A mistake has no skeleton: what cannot be parsed is never kept, so its error is always the parser's own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

from ..query import Query
from .constants import DIVIDE, Skeleton
from .shapes import Parse, Shape, probed

MAX_TEXT = 8_192
"""Characters of a text; a longer one is parsed each time."""
MAX_SKELETONS = 256
"""Skeletons that are kept; the one that was not met for the longest time goes."""
MAX_SHAPES = 32
"""Shapes of a skeleton that are kept: its texts that differ in what is no constant of a condition. The oldest goes."""
MAX_FAILURES = 4
"""Probes of a skeleton that may show nothing, since a text can have a constant in two places that are not alike; then its texts of
that shape are parsed each time."""


class Skeletons:
    """What is known of the texts of queries. Safe for threads; nothing is parsed under its lock."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, _Known | None] = OrderedDict()
        """By language and skeleton, the one met last at the end; None for a skeleton whose texts are parsed each time."""
        self._lock = threading.Lock()

    def query(self, text: str, language: str, parse: Parse) -> Query:
        """What ``parse(text)`` gives, where constants may have become arguments: ``bound()`` is the same. Raises what it raises."""
        divide = DIVIDE.get(language)
        if divide is None or len(text) > MAX_TEXT or not (text.isascii() or _is_whole(text)):
            return parse(text)
        parts, constants = divide(text)
        key = language, parts
        with self._lock:
            is_known = key in self._known
            known = self._known.get(key)
            if is_known:
                self._known.move_to_end(key)
            if known is not None and (query := known.query(constants)) is not None:
                return query
        if known is None:
            query = parse(text)
            if not is_known:
                skeleton = Skeleton(*parts)
                self._keep(key, _Known(skeleton, constants, query) if skeleton.is_usual else None)
            return query
        first = known.first(constants)
        if first is not None:
            shape = probed(known.skeleton, *first, known.places, parse)
            with self._lock:
                known.learn(first[0], shape)
                if (made := known.query(constants)) is not None:
                    return made
        query = parse(text)
        with self._lock:
            known.meet(constants, query)
        return query

    def _keep(self, key: object, known: _Known | None) -> None:
        with self._lock:
            self._known[key] = known
            while len(self._known) > MAX_SKELETONS:
                self._known.popitem(last=False)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False  # half of a surrogate pair, which is a mistake
    return True


First: TypeAlias = tuple[list[str], Query]
"""The first text of a shape: its constants, and what it says."""


class _Known:
    """What is known of the texts of one skeleton.

    ``places`` are those where a constant may be put, as far as it is known; the constants of the others tell shapes apart. A shape
    is its first text until there is a second, and None when its texts are parsed each time.
    """

    __slots__ = ("_failures", "_fixed", "_shapes", "places", "skeleton")

    def __init__(self, skeleton: Skeleton, constants: list[str], query: Query) -> None:
        self.skeleton = skeleton
        self.places = skeleton.places()
        self._fixed: tuple[int, ...] = ()
        self._shapes: OrderedDict[tuple[str, ...], First | Shape | None] = OrderedDict()
        self._failures = 0
        self._divide_at(self.places)
        self.meet(constants, query)

    def _divide_at(self, places: tuple[int, ...]) -> None:
        self.places = places
        self._fixed = tuple(place for place in range(len(self.skeleton.kinds)) if place not in places)
        self._shapes.clear()

    def _shape_of(self, constants: Sequence[str]) -> tuple[str, ...]:
        return tuple([constants[place] for place in self._fixed])

    def query(self, constants: list[str]) -> Query | None:
        """The query of these constants, where it is known without a parser."""
        shape = self._shapes.get(self._shape_of(constants))
        if isinstance(shape, Shape):
            return shape.query(constants)
        return shape[1] if shape is not None and shape[0] == constants else None

    def first(self, constants: list[str]) -> First | None:
        """The first text of this shape, where there is just that."""
        shape = self._shapes.get(self._shape_of(constants))
        return None if isinstance(shape, Shape) else shape

    def meet(self, constants: list[str], query: Query) -> None:
        """A text was parsed: the first of its shape, unless there is one."""
        shape = self._shape_of(constants)
        if shape not in self._shapes:
            self._keep(shape, (constants, query))

    def learn(self, constants: list[str], shape: Shape | None) -> None:
        """A shape was probed. Where it has fewer places than were thought, what was kept is of no use."""
        if shape is not None and shape.places != self.places:
            self._divide_at(tuple(place for place in self.places if place in shape.places))
        self._failures += shape is None
        if shape is None and self._failures < MAX_FAILURES:
            self._shapes.pop(self._shape_of(constants), None)
        else:
            self._keep(self._shape_of(constants), shape)

    def _keep(self, fixed: tuple[str, ...], shape: First | Shape | None) -> None:
        self._shapes[fixed] = shape
        while len(self._shapes) > MAX_SHAPES:
            self._shapes.popitem(last=False)
