"""Which keys are followed through a run: those under which matches meet, and those that what goes from peer to peer is counted by.

Every constant of a tuple is a key under which the tuple lies. The commonest ones are followed each; of the others some, evenly by
how common they are, each of which stands for as many as there are to it. Strategies change where subscriptions are posted, so this
is the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import Words
from ..load_balance.meeting_sample import MeetingSample
from ..workload.workload import Workload

COMMONEST = 1_024
OTHERS = 1_024

Amounts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FollowedKeys:
    """Distinct keys, and of each its share of all matches, its facts, and how many keys of as many facts it stands for."""

    keys: Words
    matches: Amounts
    facts: Amounts
    stands_for: Amounts
    total_facts: float
    """Under all keys: one fact is as many as it has keys."""


def followed_keys(met: MeetingSample, workload: Workload) -> FollowedKeys:
    """The keys to follow, for the matches of one strategy."""
    known = np.concatenate([each.keys for each in workload.constants])
    facts = np.concatenate([each.facts for each in workload.constants]).astype(np.float64)
    filled = np.flatnonzero(facts > 0)
    ranked = filled[np.argsort(-facts[filled], kind="stable")]
    commonest, rest = ranked[:COMMONEST], ranked[COMMONEST:]
    some = min(OTHERS, len(rest))
    chosen = rest[(np.arange(some) * 2 + 1) * len(rest) // (2 * some)] if some else rest
    numbers = np.concatenate((commonest, chosen))
    stands = np.concatenate((np.ones(len(commonest)), np.full(some, len(rest) / max(1, some))))
    # Of all facts each one is under some key: what rounding leaves out goes to those that stand for others.
    left = facts[rest].sum()
    if some and (counted := (facts[chosen] * stands[len(commonest) :]).sum()):
        stands[len(commonest) :] *= left / counted
    keys = np.union1d(known[numbers], met.keys)
    found = FollowedKeys(keys, np.zeros(len(keys)), np.zeros(len(keys)), np.zeros(len(keys)), float(facts.sum()))
    found.matches[np.searchsorted(keys, met.keys)] = met.matches / met.matches.sum()
    # Keys of several constants, and parts of split ones, are none of these: what lies under them is not counted.
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, keys, sorter=order), len(known) - 1)]
    there = known[place] == keys
    found.facts[there] = facts[place[there]]
    found.stands_for[np.searchsorted(keys, known[numbers])] = stands
    return found
