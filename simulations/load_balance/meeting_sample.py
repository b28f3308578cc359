"""Where matches meet: a sample of the pairs of a tuple and a subscription that it matches, by the key of their meeting.

Whoever holds that key holds the match: if the templates under it are lost, so are all of its matches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import Stream, Words
from ..errors import BadParameter
from ..workload.workload import Subscriptions, Workload
from .meets_one_by_one import OneByOne, matching, sampled
from .plan import make_plan
from .strategies import Strategy

SAMPLE_TUPLES = 2_000
SAMPLE_SUBSCRIPTIONS = 20_000
SAMPLE_PAIRS = 20_000
"""Pairs whose key is decided one by one."""


@dataclass(frozen=True, slots=True)
class MeetingSample:
    """Distinct keys, how many sampled matches meet under each, and how many have no key: their subscription is not posted."""

    keys: Words
    matches: NDArray[np.int64]
    unposted: int


def sample_meetings(strategy: Strategy, workload: Workload, subscriptions: Subscriptions, peers: Words, seed: int) -> MeetingSample:
    """A sample that a seed decides. Raises BadParameter where nothing matches, and where keys are not at the closest peers."""
    if strategy.assigned or strategy.maan:
        raise BadParameter(
            f"strategy {strategy.name!r} puts keys at other peers than the closest, whose deaths are looked at here; expected one "
            "without choices, bounded and maan"
        )
    plan = make_plan(strategy, workload, subscriptions, len(peers))
    sample = workload.at(sampled(workload.tuples, SAMPLE_TUPLES))
    chosen = np.arange(0, len(subscriptions), -(-len(subscriptions) // SAMPLE_SUBSCRIPTIONS))
    tuples, numbers = matching(sample, subscriptions.only(chosen), workload)
    if not len(tuples):
        raise BadParameter(
            f"none of {len(sample)} sampled tuples matches any of {len(chosen)} sampled subscriptions; ask for more subscriptions"
        )
    if len(tuples) > SAMPLE_PAIRS:
        drawn = Stream(seed, "pairs").below(len(tuples), 0, SAMPLE_PAIRS)
        tuples, numbers = tuples[drawn], numbers[drawn]
    found, unposted = [], 0
    for meeting in OneByOne(plan, workload, subscriptions).meetings(sample, tuples, chosen[numbers]):
        # One without constants is posted at every peer: no death loses it, so it is no match of this sample.
        found += [int.from_bytes(key, "big") for key in meeting.keys[:1]]
        unposted += meeting.lost
    if not found:
        raise BadParameter(f"under the strategy {strategy.name} no match of the sample has a key; ask for more subscriptions")
    keys, matches = np.unique(np.array(found, dtype=np.uint64), return_counts=True)
    return MeetingSample(keys, matches.astype(np.int64), unposted)
