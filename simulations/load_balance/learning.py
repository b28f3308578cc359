"""What it takes to learn what a strategy goes by, in messages: loads, where keys were assigned, who waits for what, and splits.

All are questions with an answer, or something told that is acknowledged: two messages each, but for a pointer, which is one. None
are sent in a run: they are counted by the rules below, so they are numbers expected where it is by chance who publishes what.

* A subscription that looks for the rarest of its constants asks for the facts under each.
* A key that is inserted first asks all peers of its choices for their load, and leaves pointers at those that do not get it. Nobody
  remembers where a key is: each copy asks its first peer, and where that is not the holder, one more; under a bound all that are
  closer than the holder.
* With ``demand`` each publisher asks all other peers which keys somebody waits under, and again when it publishes and what it was
  told is older than RENEW_S, as peers do (:mod:`gsg.publisher.quenching`; they ask 256 others at most, and send everything where
  there are more). All peers publish alike. Subscriptions were there before, so that nothing comes into use meanwhile.
* A key that is split has twice as many parts each time its load has doubled. Each such version is told to all of its cells and to
  whoever publishes under it, of tuples, or subscribes under it, of templates; these are any peers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ..engine.kernels import Whole
from .loads import Histogram

RENEW_S = 5.0
"""That of gsg/publisher/quenching.py, whose module machines of a cluster may lack; a test holds that they are the same."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Messages by what they are for."""

    loads: int = 0
    """Questions for the facts under constants before subscriptions are posted, and their answers."""
    assigning: int = 0
    """For the loads of choices, and pointers."""
    finding: int = 0
    """To peers that do not hold a key, and their answers."""
    interest: int = 0
    """Which keys somebody waits under."""
    splits: int = 0
    """Into how many parts keys are split."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(asdict(self).values())


def assigning_messages(loads: Mapping[str, Histogram], choices: int) -> tuple[int, int]:
    """Those to assign keys, and those to find them again, by what peers have."""
    keys, pointers, probes = (loads[name].total for name in ("assigned", "pointers", "probes"))
    # The holder of a key and those with a pointer are all that were asked.
    return (2 * (keys + pointers) + pointers if choices > 1 else 0), 2 * probes


def interest_messages(peers: int, tuples: int, seconds: float) -> int:
    """Those by which all peers know what somebody waits for while each publishes its part of so many tuples."""
    between_s = peers * seconds / tuples
    return round(2 * peers * (peers - 1) * seconds / (RENEW_S + between_s))


def split_messages(rows: Whole, columns: Whole, bearable: tuple[int, int], peers: int) -> int:
    """Those that tell the versions of some keys of so many rows and columns, given the facts and templates of one part.

    Templates are posted before the first tuple: so columns come first, of one row each.
    """
    return _told(columns, np.ones_like(rows), bearable[1], peers) + _told(rows, columns, bearable[0], peers)


def _told(parts: Whole, cells_of_part: Whole, bearable: int, peers: int) -> int:
    total, before = 0, 1
    while (growing := parts > before).any():
        # So many peers in the mean have sent something, where each is sent by any of them.
        users = peers * -np.expm1(bearable * before * np.log1p(-1 / peers)) if peers > 1 else 1.0
        total += 2 * int((cells_of_part[growing] * before).sum() + round(users) * growing.sum())
        before *= 2
    return total
