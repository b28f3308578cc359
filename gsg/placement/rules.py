"""Who meets where: decisions about anchors and keys, as pure functions that peers run and the simulation imports.

Keys are bytes, of which the first 64 bits are what decides, so that a simulation computes it for whole columns.

It imports nothing of the overlay and of links: tasks of Spark take these decisions on machines that have little installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from ..tuples.features import Load, Template

NOWHERE = -1
"""The anchor of a template without constants: it is posted at every peer (see :mod:`gsg.tuples.features`)."""


REPLICAS = 3
"""How many peers hold a key, where there are so many: all but one may die at once."""


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


def drawn(keys: Sequence[bytes | None]) -> int:
    """64 bits that belong to a tuple or a template: the keys of its positions, None where a template has no constant.

    Whoever computes them gets the same ones, so that a tuple that is inserted twice, or retracted, takes the same way.
    """
    draw = 0
    for key in keys:
        draw = scattered(draw, 0 if key is None else point_of(key))
    return draw
