"""The messages by which peers learn what a strategy goes by: loads, where keys were assigned, who waits for what, and splits.

A question and its answer are two messages, as are news and their acknowledgement; a pointer is one. A run sends none of them: they
are counted by the rules below, as the number expected where chance decides which peer publishes a tuple.

* Loads: a subscription that is posted at its rarest constant asks for the facts under each of its constants.
* Assigning: when a key is first inserted, all peers of its choices are asked for their loads, and those that do not get the key are
  left a pointer to the one that does.
* Finding: nobody remembers where a key is. Each copy of a tuple or a subscription asks the first peer of the key's choices, and,
  if that has a pointer, the holder. Under a bound it asks all peers that are closer to the key than the holder.
* Interest: with ``demand`` each publisher asks all other peers under which keys somebody waits. It asks again when it publishes and
  the answers are older than RENEW_S, as peers do (:mod:`gsg.publisher.quenching`); but peers ask at most 256 others, and where
  there are more they send all tuples. All peers publish alike, and all subscriptions are posted before.
* Splits: each time the load of a split key has doubled, it has twice as many parts. This is told to all cells that it has by then,
  and to all peers that have published tuples under it (of rows) or posted templates under it (of columns), which any peer may.
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
    """Questions for the loads of choices, their answers, and pointers."""
    finding: int = 0
    """Questions to peers that do not hold a key, and their answers."""
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
