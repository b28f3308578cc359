"""Who meets where: decisions about anchors and keys, as pure functions that peers run and the simulation imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .features import Template
from .messages import Load

NOWHERE = -1
"""The anchor of a template without constants: it is posted at every peer (see :mod:`gsg.features`)."""


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
        return min(candidates, key=_rarity_by_habit)
    rarest = min(known, key=lambda position: (load_at[position].facts, load_at[position].templates, _rarity_by_habit(position)))
    bearable = REUSE_FACTOR * load_at[rarest].facts + REUSE_FACTS
    posted = [position for position in known if load_at[position].posted and load_at[position].facts <= bearable]
    return min(posted, key=lambda position: load_at[position].facts, default=rarest)


def _rarity_by_habit(position: int) -> tuple[bool, int]:
    """Where nothing is known: the second place of a tuple holds attributes and predicates, which many share; then the rightmost."""
    return position == 1, -position


def places_by_holder(positions: Sequence[int], holders: Sequence[bytes]) -> dict[bytes, bytes]:
    """The positions of a tuple that each holder holds: ``holders[i]`` holds the key of ``positions[i]``."""
    places: dict[bytes, bytes] = {}
    for position, holder in zip(positions, holders, strict=True):
        places[holder] = places.get(holder, b"") + position.to_bytes(1, "big")
    return places
