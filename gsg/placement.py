"""Who meets where: decisions about anchors and keys, as pure functions that peers run and the simulation imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .features import Template

NOWHERE = -1
"""The anchor of a template without constants: it is posted at every peer (see :mod:`gsg.features`)."""


def choose_anchor(template: Template, facts_at: Mapping[int, int]) -> int:
    """The position whose constant is rarest: fewest facts under its key, the leftmost of equals.

    ``facts_at`` has the load that the rendezvous of each candidate position reported. A position whose rendezvous did not answer is
    missing and is chosen only when none answered; :data:`NOWHERE` for a template without constants.
    """
    candidates = template.anchors()
    if not candidates:
        return NOWHERE
    return min(candidates, key=lambda position: (facts_at.get(position, _UNKNOWN), position))


_UNKNOWN = 2**63


def places_by_owner(positions: Sequence[int], owners: Sequence[bytes]) -> dict[bytes, bytes]:
    """The positions of a tuple that each owner holds: ``owners[i]`` holds the key of ``positions[i]``."""
    places: dict[bytes, bytes] = {}
    for position, owner in zip(positions, owners, strict=True):
        places[owner] = places.get(owner, b"") + position.to_bytes(1, "big")
    return places
