"""Who meets where: decisions about anchors and keys, as pure functions that peers run and the simulation imports.

Keys are bytes, of which the first 64 bits are what decides; whatever is derived from a key is computed from those alone, so that a
simulation computes it for whole columns. A key may stand for a grid of cells (DESIGN section 6): a tuple goes to one row of them, a
template to one column, and they meet in one cell. Most ways to spread a hot key are such a grid: halves are two rows, a split
by tuples any number of them, and epochs rows that tuples choose by the clock.

It imports nothing of the overlay and of links: tasks of Spark take these decisions on machines that have little installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ..tuples.features import Load, Template

NOWHERE = -1
"""The anchor of a template without constants: it is posted at every peer (see :mod:`gsg.tuples.features`)."""


REPLICAS = 3
"""How many peers hold a key (DESIGN section 6), where there are so many: all but one may die at once."""


class Anchor(StrEnum):
    """By what rule a template's anchor is chosen among its constants. Peers with different rules understand each other."""

    PREDICATE = "predicate"
    """:func:`predicate_anchor`"""
    RANDOM = "random"
    """:func:`random_anchor`"""
    RAREST = "rarest"
    """:func:`choose_anchor`: the only one that asks anybody"""


REUSE_FACTOR = 2
REUSE_FACTS = 64
"""A template that is posted already is used again where its key has at most REUSE_FACTOR times the facts of the rarest, and
REUSE_FACTS more: storing and feeding it once is worth that much."""


def choose_anchor(template: Template, load_at: Mapping[int, Load]) -> int:
    """The position whose constant is rarest: fewest facts under its key, then fewest templates; :data:`NOWHERE` without constants.

    ``load_at`` has the load that the rendezvous of each candidate position reported. A position whose rendezvous did not answer is
    missing, and is chosen only when none answered. A place where the template stands already is preferred unless much busier.
    """
    candidates = template.anchors()
    if not candidates:
        return NOWHERE
    known = [position for position in candidates if position in load_at]
    if not known:
        return min(candidates, key=rarity_by_habit)
    rarest = min(known, key=lambda position: (load_at[position].facts, load_at[position].templates, rarity_by_habit(position)))
    bearable = REUSE_FACTOR * load_at[rarest].facts + REUSE_FACTS
    posted = [position for position in known if load_at[position].posted and load_at[position].facts <= bearable]
    return min(posted, key=lambda position: load_at[position].facts, default=rarest)


def rarity_by_habit(position: int) -> tuple[bool, int]:
    """Where nothing is known: the second place of a tuple holds attributes and predicates, which many share; then the rightmost."""
    return position == 1, -position


def predicate_anchor(candidates: Sequence[int]) -> int:
    """The second place where it is among the positions that hold a constant, as RDF's predicate; else by habit the rarest.

    Raises ValueError without candidates, as do the others that choose among some.
    """
    return 1 if 1 in candidates else min(candidates, key=rarity_by_habit)


def random_anchor(candidates: Sequence[int], draw: int) -> int:
    """Any of the positions that hold a constant, by 64 bits that belong to the template (:func:`drawn`)."""
    return candidates[share_of(scattered(draw, 0), len(candidates))]


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


_MASK = (1 << 64) - 1
_WEYL = 0x9E3779B97F4A7C15


def scattered(point: int, salt: int) -> int:
    """64 bits that belong to a point of the key space and a salt, for each salt one to one (the finalizer of SplitMix64)."""
    word = (point + (salt + 1) * _WEYL) & _MASK
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def share_of(draw: int, parts: int) -> int:
    """Which of so many equal parts (at most 2**32) 64 random bits fall into."""
    return (draw >> 32) * parts >> 32


def point_of(key: bytes) -> int:
    """The first 64 bits of a key."""
    return int.from_bytes(key[:8], "big")


def derived_key(key: bytes, salt: int) -> bytes:
    """Another key that belongs to a key."""
    return scattered(point_of(key), salt).to_bytes(8, "big") + key[8:]


def pair_key(first: bytes, second: bytes) -> bytes:
    """The key of two features of one tuple together, in the order of their positions."""
    return derived_key(first, point_of(second))


def drawn(keys: Sequence[bytes | None]) -> int:
    """64 bits that belong to a tuple or a template: the keys of its positions, None where a template has no constant.

    Whoever computes them gets the same ones, so that a tuple that is inserted twice, or retracted, takes the same way.
    """
    draw = 0
    for key in keys:
        draw = scattered(draw, 0 if key is None else point_of(key))
    return draw


class Grid(NamedTuple):
    """The cells that a key stands for."""

    rows: int = 1
    columns: int = 1


def split_for(facts: int, bearable: int, at_most: int) -> Grid:
    """A key that has more facts than one peer should bear gets rows: tuples share them out, and each template is in all of them."""
    return Grid(parts_for(facts, bearable, at_most), 1)


def grid_for(load: Load, bearable_facts: int, bearable_templates: int, at_most: int) -> Grid:
    """Rows for the facts of a key and columns for its templates, so that a cell has at most what is bearable of either."""
    return Grid(parts_for(load.facts, bearable_facts, at_most), parts_for(load.templates, bearable_templates, at_most))


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
