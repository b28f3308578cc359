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


class TupleCells(NamedTuple):
    """The cells that a tuple goes to: all columns of its row."""

    key: bytes
    grid: Grid
    row: int

    def cell_keys(self) -> list[bytes]:
        """Their keys."""
        return [cell_key(self.key, self.row, column) for column in range(self.grid.columns)]


class TemplateCells(NamedTuple):
    """The cells that a template is posted at: all rows of its column, which its 64 bits choose."""

    key: bytes
    grid: Grid
    draw: int

    def cell_keys(self) -> list[bytes]:
        """Their keys; a hot key of many peers has tens of thousands."""
        return [self._key_in(row) for row in range(self.grid.rows)]

    def met_by(self, cells: TupleCells) -> bytes | None:
        """The key of the cell in which it meets a tuple, None where it does not."""
        if cells.key != self.key or cells.row >= self.grid.rows:
            return None
        key = self._key_in(cells.row)
        return key if key in cells.cell_keys() else None

    def _key_in(self, row: int) -> bytes:
        return cell_key(self.key, row, share_of(self.draw, self.grid.columns))


def epoch_of(at_s: float, epoch_s: float, epochs: int) -> int:
    """The row of a tuple where each date range has its own; after the last range comes the first again."""
    return int(at_s // epoch_s) % epochs


def virtual_ids(peer_id: bytes, count: int) -> list[bytes]:
    """The ids under which one peer takes part: its own and others that belong to it."""
    return [peer_id, *(derived_key(peer_id, number) for number in range(1, count))]
