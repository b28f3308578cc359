"""Where labels go: none over another, each near what it names; and lines that are one are said to be."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.drawing.labels import MARK, Box, beside_points, coinciding, moved_apart, together, wrapped


def course(*points: tuple[float, float]) -> np.ndarray:
    return np.array(points, dtype=np.float64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("rarest", ["rarest"]),
        ("hot-split-10+demand+virtual-8", ["hot-split-10+demand", "+virtual-8"]),
        ("predicate, random, rarest: the same line", ["predicate, random,", "rarest: the same line"]),
        ("a-word-that-is-longer-than-a-line-of-a-label", ["a-word-that-is-longer-than-a-line-of-a-label"]),
        ("", [""]),
    ],
)
def test_a_name_is_broken_where_it_has_parts(name: str, lines: list[str]) -> None:
    assert wrapped(name) == lines


def test_names_of_one_line_are_one_label_that_says_so() -> None:
    assert together(["rarest"], "line") == "rarest"
    assert together(["predicate", "random", "rarest"], "line") == "predicate, random, rarest: the same line"


def test_lines_coincide_that_lie_on_each_other_from_end_to_end() -> None:
    one = course((0, 0), (50, 50), (100, 0))
    with_other_points = course((0, 0.4), (25, 25), (50, 50), (75, 25), (100, 0))
    bent = course((0, 0), (50, 40), (100, 0))
    shorter = course((0, 0), (50, 50))

    assert coinciding([one, bent, with_other_points, shorter, one + 0.9, one + 1.1]) == [[0, 2, 4], [1], [3], [5]]


def test_a_line_without_points_is_in_no_group_and_a_point_is_a_line() -> None:
    assert coinciding([course(), course((5, 5)), course((5.5, 5)), course((9, 5))]) == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([10, 50], [10, 50]),
        ([50, 50], [45, 55]),
        ([52, 50], [56, 46]),
        ([50, 50, 50, 90], [40, 50, 60, 90]),
        ([0, 0], [5, 15]),
        ([100, 100], [85, 95]),
        ([50] * 12, [5 + 10 * number for number in range(12)]),
    ],
    ids=["far apart", "one place", "crossed", "pushed to both sides", "at the top", "at the bottom", "no room"],
)
def test_labels_that_would_overlap_are_moved_apart(wanted: list[float], expected: list[float]) -> None:
    assert moved_apart(wanted, [10.0] * len(wanted), 0, 100) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(-50, 350), st.sampled_from([13.0, 16.0, 29.0])), min_size=1, max_size=15))
def test_no_label_ever_covers_another(labels: list[tuple[float, float]]) -> None:
    wanted, heights = zip(*labels, strict=True)

    middles = moved_apart(wanted, heights, 0, 500)

    spans = sorted((middle - height / 2, middle + height / 2) for middle, height in zip(middles, heights, strict=True))
    assert all(below[0] >= above[1] - 1e-6 for above, below in pairwise(spans))
    assert spans[0][0] >= -1e-6
    assert spans[-1][1] <= 500 + 1e-6
    # Labels stand in the order of what they name.
    assert [wanted[number] for number in sorted(range(len(middles)), key=middles.__getitem__)] == sorted(wanted)


WITHIN = Box(0, 0, 400, 300)
CLUSTER = [(380.0, 100.0), (382.0, 104.0), (378.0, 110.0), (385.0, 98.0), (200.0, 104.0), (20.0, 20.0)]


def test_labels_of_points_cover_neither_each_other_nor_points() -> None:
    boxes = beside_points(CLUSTER, [(80.0, 13.0)] * len(CLUSTER), WITHIN)

    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    marks = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in CLUSTER]
    assert not any(box.overlaps(mark) for box in boxes for mark in marks)
    assert all(WITHIN.holds(box) for box in boxes)


def test_a_point_with_room_has_its_label_at_its_right_and_at_its_left_near_the_edge() -> None:
    boxes = beside_points([(100, 100), (390, 200)], [(80.0, 13.0)] * 2, WITHIN)

    assert boxes == [Box(108, 93.5, 188, 106.5), Box(302, 193.5, 382, 206.5)]


def test_a_label_that_fits_nowhere_is_shown_all_the_same() -> None:
    assert beside_points([(200, 150)], [(900.0, 13.0)], WITHIN) == [Box(208, 143.5, 1108, 156.5)]
