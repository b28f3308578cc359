"""Ways to spread a hot key that peers do not go yet: a key that stands for a grid of cells, two features for one key, epochs.

A tuple goes to one row of a grid, a template to one column, and they meet in one cell. Most ways to spread a hot
key are such a grid: halves are two rows, a split by tuples any number of them, and epochs rows that tuples choose by the clock.
Whatever is derived from a key is computed from its first 64 bits alone, as in :mod:`gsg.placement.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gsg.placement.rules import NOWHERE, choose_anchor, point_of, scattered, share_of
from gsg.tuples.features import Load, Template


def two_rarest(template: Template, load_at: Mapping[int, Load]) -> tuple[int, int]:
    """The two positions, in order, whose constants are rarest, for a template that is posted under both of them at once."""
    first = choose_anchor(template, load_at)
    rest = {position: load for position, load in load_at.items() if position != first}
    without = Template(tuple(None if position == first else wanted for position, wanted in enumerate(template.pattern)))
    second = choose_anchor(without, rest)
    if NOWHERE in (first, second):
        raise ValueError(f"{template} has fewer than two constants")
    return min(first, second), max(first, second)


def unpopular(load_at: Mapping[int, Load], bearable: int) -> dict[int, Load]:
    """The positions whose keys have at most so many facts. RDFPeers neither stores nor looks up by others (Cai and Frank 2004)."""
    return {position: load for position, load in load_at.items() if load.facts <= bearable}


def derived_key(key: bytes, salt: int) -> bytes:
    """Another key that belongs to a key."""
    return scattered(point_of(key), salt).to_bytes(8, "big") + key[8:]


def pair_key(first: bytes, second: bytes) -> bytes:
    """The key of two features of one tuple together, in the order of their positions."""
    return derived_key(first, point_of(second))


class Grid(NamedTuple):
    """The cells that a key stands for: tuples share out its rows, and templates its columns."""

    rows: int = 1
    columns: int = 1


def parts_for(load: int, bearable: int, at_most: int) -> int:
    """Into how many parts a load is cut: none above what is bearable, and not more parts than there may be."""
    return max(1, min(at_most, -(-load // bearable)))


def cell_key(key: bytes, row: int, column: int) -> bytes:
    """The key of a cell. The first cell's is the key itself, so a key that is not split is its own grid."""
    return derived_key(key, row << 32 | column) if row or column else key


def tuple_cells(key: bytes, grid: Grid, row: int) -> list[bytes]:
    """The cells that a tuple goes to: all columns of its row."""
    return [cell_key(key, row, column) for column in range(grid.columns)]


def template_cells(key: bytes, grid: Grid, draw: int) -> list[bytes]:
    """The cells that a template is posted at: all rows of its column, which its 64 bits choose."""
    column = share_of(draw, grid.columns)
    return [cell_key(key, row, column) for row in range(grid.rows)]


def epoch_of(at_s: float, epoch_s: float, epochs: int) -> int:
    """The row of a tuple where each date range has its own; after the last range comes the first again."""
    return int(at_s // epoch_s) % epochs


def virtual_ids(peer_id: bytes, count: int) -> list[bytes]:
    """The ids under which one peer takes part: its own and others that belong to it."""
    return [peer_id, *(derived_key(peer_id, number) for number in range(1, count))]
