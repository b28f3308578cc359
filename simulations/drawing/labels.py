"""Where the labels of a plot go, and which of its lines are one: decisions on coordinates, nothing is drawn here.

Coordinates are those of a picture: x to the right, y down, in its own units, of which one is about a pixel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Course: TypeAlias = NDArray[np.float64]
"""The points of a line, shape (points, 2), from left to right."""

SAME = 1.0
"""Lines that are nowhere further apart are one to the eye."""
NAME_LETTERS = 24
"""How many letters a line of a label has, unless one word has more."""


class Box(NamedTuple):
    """A rectangle by its corners."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two have some area in common."""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        """Whether the other one lies within."""
        return self.left <= other.left and self.top <= other.top and other.right <= self.right and other.bottom <= self.bottom


def wrapped(name: str) -> list[str]:
    """A name in lines of NAME_LETTERS, broken before a ``+`` and after a space."""
    lines = [""]
    for part in re.findall(r"\+?[^+ ]+ ?|[+ ]", name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > NAME_LETTERS:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines]


def together(names: Sequence[str], what: str) -> str:
    """One label for several names; ``what`` is what they share, a line or a point."""
    return names[0] if len(names) == 1 else f"{', '.join(names)}: the same {what}"


def coinciding(courses: Sequence[Course]) -> list[list[int]]:
    """The lines by number, those together that lie on each other from end to end; lines without points are in no group."""
    groups: list[list[int]] = []
    for number, course in enumerate(courses):
        if not len(course):
            continue
        group = next((group for group in groups if _same(courses[group[0]], course)), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    return groups


def _same(one: Course, other: Course) -> bool:
    if np.abs(one[[0, -1]] - other[[0, -1]]).max() > SAME:
        return False
    if one.shape == other.shape and np.abs(one - other).max() <= SAME:
        return True
    # Lines may have their points at different places.
    x = np.union1d(one[:, 0], other[:, 0])
    return bool(np.abs(np.interp(x, *one.T) - np.interp(x, *other.T)).max() <= SAME)


def moved_apart(wanted: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """The middles of labels that stand above each other, each as near as can be to where it is wanted, and none over another.

    Of labels that are wanted at one place the first is the upper one. Where there is no room for all, they begin at the top.
    """
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    above = np.cumsum([0.0, *(heights[number] for number in order)])
    middles = [float(above[place]) + heights[number] / 2 for place, number in enumerate(order)]
    # Least squares under an order, by pooling neighbours: each pool is where its middle one would be, and how many are in it.
    pools: list[tuple[float, int]] = []
    for place, number in enumerate(order):
        at, count = wanted[number] - middles[place], 1
        while pools and pools[-1][0] > at:
            before, more = pools.pop()
            at, count = (at * count + before * more) / (count + more), count + more
        pools.append((at, count))
    shifts = [max(top, min(at, bottom - float(above[-1]))) for at, count in pools for _ in range(count)]
    found = [0.0] * len(wanted)
    for place, number in enumerate(order):
        found[number] = shifts[place] + middles[place]
    return found


_RINGS = range(8, 129, 12)
"""How far a label may be from its point, the nearest first."""
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
MARK = 5.0
"""The reach of a point's mark."""


def beside_points(points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], within: Box) -> list[Box]:
    """A place for the label of each point: the nearest one that covers no other label and no point.

    Where there is none the label goes to the right of its point, over others.
    """
    marks = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in points]
    placed: list[Box] = []
    for (x, y), (width, height) in zip(points, sizes, strict=True):
        places = [_beside(x, y, width, height, ring, *side) for ring in _RINGS for side in _SIDES]
        free = (place for place in places if within.holds(place) and not any(place.overlaps(taken) for taken in (*placed, *marks)))
        placed.append(next(free, places[0]))
    return placed


def _beside(x: float, y: float, width: float, height: float, ring: float, across: int, down: int) -> Box:
    left = x + across * ring - (width if across < 0 else 0 if across else width / 2)
    top = y + down * ring - (height if down < 0 else 0 if down else height / 2)
    return Box(left, top, left + width, top + height)
