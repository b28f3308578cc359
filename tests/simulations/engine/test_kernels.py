"""Decisions over columns are those that peers make one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.placement import rules as placement
from gsg.tuples.features import Load
from gsg.tuples.ordered_attributes import OrderedAttribute
from simulations.engine import grids, kernels
from simulations.workload.workload import ARITY

WORDS = st.integers(0, 2**64 - 1)
TEMPLATES = st.lists(
    st.tuples(*[st.booleans()] * ARITY, st.tuples(*[st.integers(0, 4)] * ARITY), st.tuples(*[WORDS] * ARITY)),
    min_size=1,
    max_size=20,
)


def words(values: list[int]) -> kernels.Words:
    return np.array(values, dtype=np.uint64)


def key(point: int) -> bytes:
    return point.to_bytes(8, "big") + bytes(12)


def of_template(row: tuple) -> tuple[rete.Template[int], dict[int, Load], int]:
    """A template with the loads and the draw that a row of columns stands for."""
    there, facts, points = row[:ARITY], row[ARITY], row[ARITY + 1]
    template = rete.Template(tuple(7 if is_there else None for is_there in there))
    load_at = {position: Load(facts[position], 0, False) for position in template.anchors()}
    return (
        template,
        load_at,
        placement.drawn([key(point) if is_there else None for is_there, point in zip(there, points, strict=True)]),
    )


def columns(rows: list[tuple]) -> tuple[kernels.Flags, kernels.Whole, kernels.Words]:
    """What is given, the facts and the draws of all rows."""
    there = np.array([row[:ARITY] for row in rows]).T
    facts = np.array([row[ARITY] for row in rows]).T
    keys = [words([row[ARITY + 1][position] if row[position] else 0 for row in rows]) for position in range(ARITY)]
    return there, facts, kernels.drawn(keys)


@given(TEMPLATES)
def test_anchors_and_draws(rows: list[tuple]) -> None:
    there, facts, draws = columns(rows)

    single = [of_template(row) for row in rows]
    some = [template.anchors() for template, _, _ in single]

    assert draws.tolist() == [draw for _, _, draw in single]
    assert kernels.choose_anchor(there, facts).tolist() == [
        placement.choose_anchor(template, loads) for template, loads, _ in single
    ]
    assert kernels.predicate_anchor(there).tolist() == [
        placement.predicate_anchor(candidates) if candidates else placement.NOWHERE for candidates in some
    ]
    assert kernels.random_anchor(there, draws).tolist() == [
        placement.random_anchor(candidates, draw) if candidates else placement.NOWHERE
        for candidates, (_, _, draw) in zip(some, single, strict=True)
    ]


@given(TEMPLATES)
def test_two_rarest(rows: list[tuple]) -> None:
    there, facts, _ = columns(rows)

    first, second = kernels.two_rarest(there, facts)

    for number, row in enumerate(rows):
        template, loads, _ = of_template(row)
        if len(template.anchors()) < 2:
            assert first[number] == placement.NOWHERE
        else:
            assert (first[number], second[number]) == grids.two_rarest(template, loads)


@given(TEMPLATES, st.integers(0, 5))
def test_unpopular_constants(rows: list[tuple], bearable: int) -> None:
    there, facts, _ = columns(rows)

    usable = kernels.unpopular(there, facts, bearable)

    assert [set(np.flatnonzero(column).tolist()) for column in usable.T] == [
        set(grids.unpopular(of_template(row)[1], bearable)) for row in rows
    ]


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(1, 2**32)), min_size=1))
def test_scattering_and_shares(rows: list[tuple[int, int, int]]) -> None:
    points, salts, parts = (list(column) for column in zip(*rows, strict=True))

    assert kernels.scattered(words(points), words(salts)).tolist() == [placement.scattered(*row[:2]) for row in rows]
    assert kernels.scattered(words(points), 5).tolist() == [placement.scattered(point, 5) for point in points]
    assert kernels.share_of(words(points), np.array(parts)).tolist() == [placement.share_of(point, part) for point, _, part in rows]


@given(st.lists(st.tuples(WORDS, st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_cells(rows: list[tuple[int, int, int]]) -> None:
    points, row, column = (list(values) for values in zip(*rows, strict=True))

    cells = kernels.cell_key(words(points), np.array(row), np.array(column))

    assert cells.tolist() == [placement.point_of(grids.cell_key(key(point), *cell)) for point, *cell in rows]


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(1, 1000), st.integers(1, 50))
def test_parts(loads: list[int], bearable: int, at_most: int) -> None:
    assert kernels.parts_for(np.array(loads), bearable, at_most).tolist() == [
        grids.parts_for(load, bearable, at_most) for load in loads
    ]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.5, 1e4), st.integers(1, 30))
def test_epochs(times: list[float], epoch_s: float, epochs: int) -> None:
    assert kernels.epoch_of(np.array(times), epoch_s, epochs).tolist() == [grids.epoch_of(at_s, epoch_s, epochs) for at_s in times]


@given(
    st.lists(st.floats(-3, 3) | st.sampled_from([0.25, 0.5, -1.0, 1.0, -math.inf, math.inf]), min_size=1),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.1, 0.7)]),
    st.integers(1, 1000),
)
def test_intervals(numbers: list[float], ends: tuple[float, float], intervals: int) -> None:
    attribute = OrderedAttribute(3, 2, *ends, intervals)

    found = kernels.interval_of(attribute, np.array(numbers)).tolist()

    assert found == [attribute.interval_of(number) for number in numbers]
    for number, interval in zip(numbers, found, strict=True):
        assert attribute.intervals_between(number, math.inf) == range(interval, intervals + 2)
        assert attribute.intervals_between(-math.inf, number) == range(interval + 1)


@given(st.lists(WORDS, min_size=1, max_size=5), st.integers(1, 4))
def test_virtual_ids(peers: list[int], count: int) -> None:
    ids = kernels.virtual_ids(words(peers), count)

    for number, peer in enumerate(peers):
        assert ids[number :: len(peers)].tolist() == [placement.point_of(point) for point in grids.virtual_ids(key(peer), count)]
