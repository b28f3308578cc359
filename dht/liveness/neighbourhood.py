"""The peers nearest to our own id: whom we share keys with, and how large the network is, judged by how near they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..identity.contacts import Contact
from ..identity.ids import ID_BITS, PeerId, distance

NEIGHBOURS = 16
"""How many of the nearest peers are the neighbourhood. With three holders a key, those who hold one with us are among the nearest
few; the others are watched so that we know the next ones when many die at once."""


@dataclass(frozen=True, slots=True)
class NeighbourhoodChanged:
    """Others are nearest to us than were before: keys may have other holders. ``nearest`` are all of them, nearest first."""

    nearest: tuple[Contact, ...]
    came: tuple[Contact, ...]
    went: tuple[Contact, ...]


class Neighbourhood:
    """The nearest peers, and what changed among them."""

    def __init__(self) -> None:
        self.nearest: tuple[Contact, ...] = ()
        """At most NEIGHBOURS, nearest first."""

    def update(self, nearest: Iterable[Contact]) -> NeighbourhoodChanged | None:
        """These are nearest now; what that changes, or None. One who moved both came and went."""
        before, now = self.nearest, tuple(nearest)
        self.nearest = now
        came = tuple(each for each in now if each not in before)
        went = tuple(each for each in before if each not in now)
        return NeighbourhoodChanged(now, came, went) if came or went else None


def estimated_size(own: PeerId, nearest: Sequence[Contact], known: int) -> int:
    """About how many peers there are, ourselves included: as many as known, or more when the nearest ones lie closely together.

    23 % off at 20 neighbours, which is plenty for a logarithm.
    """
    if not nearest:
        return known + 1
    farthest = distance(own, nearest[-1].id)
    return max(known + 1, ((len(nearest) << ID_BITS) // (farthest or 1)) + 1) if len(nearest) >= NEIGHBOURS else known + 1
