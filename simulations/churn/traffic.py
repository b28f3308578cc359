"""How much hand-over and repair went where: messages and bytes of one run, by what they were for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..engine.ownership import Ownership
from ..engine.randomness import Stream
from .copies import CRASHED, LEFT, Moves
from .lives import MICRO

SEEN = 2_000
"""Peers of a region in which those are counted that hold a key together: of more, each has as many."""
KEYS_OF_EACH = 32
HOUR = 3_600 * MICRO
HAND_OVER, REPAIR = 0, 1
"""What a message is for."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds and bytes, as repair_costs.py finds them: tasks get them as a plain record, and need no peer to count by them."""

    noticed_s: tuple[float, float]
    """Between what a crash is noticed after."""
    settle_s: float
    facts_together: int
    """In one message, at most."""
    keys_together: int
    """In one question, at most."""
    compare_s: float
    """Between two comparisons of all."""
    fact_bytes: float
    """Of a fact within a message of many."""
    told_bytes: int
    """Of a message without facts, and its confirmation."""
    asked_key_bytes: float
    """Of a key within a question about many, and of the answer that it differs."""
    asked_bytes: int
    """Of such a question without keys, and its answer."""
    compared_bytes: int
    """Of a question about all ranges, and the answer that all is the same."""


@dataclass(slots=True)
class Traffic:
    """What has been sent in one run, by what it was for: HAND_OVER and REPAIR; shape (2,)."""

    messages: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    bytes: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    busiest_bytes: float = 0.0
    """The most that one peer has sent and received within one hour."""

    def add(self, moves: Moves, costs: Costs, facts: NDArray[np.float64], keys: NDArray[np.float64]) -> None:
        """Count the moves of a window of whole hours, given how many facts and keys each followed key stands for.

        What goes from one peer to another for one reason in one hour goes together.
        """
        if not len(moves):
            return
        hours = moves.at // HOUR
        names = np.stack((hours, moves.sender, moves.receiver, moves.reason.astype(np.int64)))
        groups, group = np.unique(names, axis=1, return_inverse=True)
        group = group.reshape(-1)
        in_all, of_keys = (np.bincount(group, weights=weights[moves.key]) for weights in (facts, keys))
        hour, sender, receiver, reason = groups
        told = np.maximum(1, np.ceil(in_all / costs.facts_together))
        asked = np.where((reason == CRASHED) | (reason == LEFT), np.ceil(of_keys / costs.keys_together), 0)
        sent = in_all * costs.fact_bytes + told * costs.told_bytes
        sent += np.where(asked > 0, of_keys * costs.asked_key_bytes + asked * costs.asked_bytes, 0)
        purpose = np.where(reason == CRASHED, REPAIR, HAND_OVER)
        self.messages += np.bincount(purpose, weights=2 * (told + asked), minlength=2)
        self.bytes += np.bincount(purpose, weights=sent, minlength=2)
        both = np.concatenate((sender, receiver))
        _, peer = np.unique(np.stack((np.tile(hour, 2), both)), axis=1, return_inverse=True)
        self.busiest_bytes = max(self.busiest_bytes, float(np.bincount(peer.reshape(-1), weights=np.tile(sent, 2)).max()))


def partners(peers: int, replicas: int) -> float:
    """How many others hold a key with a peer, in the mean, where it holds many keys."""
    seen = min(peers, SEEN)
    replicas = min(replicas, seen)
    ids = Stream(0, "region").words(0, seen)
    holders = Ownership(ids).holders(Stream(0, "keys of a region").words(0, KEYS_OF_EACH * seen), replicas)
    first, second = (holders[:, side].reshape(-1) for side in np.triu_indices(replicas, 1))
    pairs = np.unique(np.minimum(first, second) * seen + np.maximum(first, second))
    return 2 * len(pairs) / seen


def comparing_an_hour(peers: int, replicas: int, costs: Costs) -> tuple[float, float]:
    """Messages and bytes that a peer sends in an hour to compare what it has: its questions, and its answers to others."""
    rounds = partners(peers, replicas) * 3_600 / costs.compare_s
    return 2 * rounds, rounds * costs.compared_bytes
