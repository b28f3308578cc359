"""Diffusion of one event on a topic: found by random walks, then flooded in the topic's own overlay (sections 4.4 and 4.5 of the
paper of :mod:`simulations.dissemination.cyclon`; Figures 10 to 14 measure it with 25 to 100 % of the agents as subscribers).

The publisher sends random walks through the overlay of all agents until one meets a subscriber, its access point; from there every
subscriber passes the event on to all its neighbours in the topic's overlay when it first hears of it. Each hop takes a time drawn
at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from .cyclon import NOBODY, Views

MAX_WALKS = 10_000


@dataclass(frozen=True, slots=True)
class Diffusion:
    """One event: when each subscriber heard of it."""

    heard_ms: NDArray[np.float64]
    """Shape (subscribers,), from the moment of publishing; infinity for who never heard."""
    messages: int
    """Between agents, the walks included."""
    walk_hops: int
    """Of the walk that found the access point first."""


class Walks(NamedTuple):
    """The random walks that look for a subscriber: so many, of at most ``lifetime`` hops each."""

    number: int
    lifetime: int
    hop_ms: tuple[float, float]
    """Between which milliseconds a hop takes its time, uniformly; those of the event afterwards as well."""


def check_event(agents: int, share: float, walks: Walks) -> None:
    """Raises BadParameter for an event that cannot be published like that."""
    number, lifetime, (least_ms, most_ms) = walks
    if not 0 < share <= 1 or round(share * agents) < 2:
        raise BadParameter(f"a share of {share:g} of {agents} agents subscribe; expected two of them at least, and 1 at most")
    if not 0 < number <= MAX_WALKS or not 0 < lifetime <= MAX_WALKS:
        raise BadParameter(f"{number} walks of {lifetime} hops; expected 1 to {MAX_WALKS} of both")
    if not 0 <= least_ms <= most_ms < float("inf"):
        raise BadParameter(f"hops of {least_ms:g} to {most_ms:g} ms; expected the shorter one first, and none below 0")


def diffuse(base: Views, share: float, walks: Walks, *, rounds: int, rng: np.random.Generator) -> Diffusion:
    """Publish one event when ``share`` of the agents subscribe to its topic.

    The topic's overlay exchanges views for ``rounds`` rounds first, with views as large as those of ``base``. Raises BadParameter.
    """
    agents, view = base.known.shape
    check_event(agents, share, walks)
    subscribers = round(share * agents)
    members = np.sort(rng.choice(agents, subscribers, replace=False))
    topic = Views(subscribers, view=min(view, subscribers - 1), exchanged=max(1, min(view, subscribers - 1) // 2), rng=rng)
    for _ in range(rounds):
        topic.exchange_all()
    entry, arrived_ms, hops, asked = _access_point(base, members, walks, rng)
    if entry is None:
        return Diffusion(np.full(subscribers, np.inf), asked, hops)
    heard, sent = _flood(topic, int(np.searchsorted(members, entry)), arrived_ms, walks.hop_ms, rng)
    return Diffusion(heard, asked + sent, hops)


def _access_point(
    base: Views, members: NDArray[np.int64], walks: Walks, rng: np.random.Generator
) -> tuple[int | None, float, int, int]:
    """The subscriber that a walk meets first, when, after how many hops; and all messages of the walks."""
    count, lifetime, hop_ms = walks
    subscribes = np.zeros(len(base.alive), dtype=bool)
    subscribes[members] = True
    publisher = int(rng.integers(len(base.alive)))
    here = np.full(count, publisher)
    now = np.zeros(count)
    asked = 0
    best: tuple[float, int, int] | None = None
    for hop in range(lifetime + 1):
        met = np.flatnonzero(subscribes[here])
        for walk in met:
            if best is None or now[walk] < best[0]:
                best = (float(now[walk]), int(here[walk]), hop)
        going = ~subscribes[here]
        here, now = here[going], now[going]
        if not len(here) or hop == lifetime:
            break
        options = base.known[here]
        filled = (options != NOBODY).cumsum(axis=1)
        known = filled[:, -1]
        moving = known > 0
        here, now, options, filled, known = here[moving], now[moving], options[moving], filled[moving], known[moving]
        wanted = (rng.random(len(here)) * known).astype(np.int64)
        here = options[np.arange(len(here)), (filled > wanted[:, None]).argmax(axis=1)]
        now = now + rng.uniform(*hop_ms, size=len(here))
        asked += len(here)
    if best is None:
        return None, 0.0, lifetime, asked
    return best[1], best[0], best[2], asked


def _flood(
    topic: Views, entry: int, begin_ms: float, hop_ms: tuple[float, float], rng: np.random.Generator
) -> tuple[NDArray[np.float64], int]:
    """When each subscriber hears first, and how many messages that took: shortest paths over links of random length."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    count, view = topic.known.shape
    known = topic.known.ravel()
    source = np.repeat(np.arange(count), view)
    there = known != NOBODY
    length = rng.uniform(*hop_ms, size=int(there.sum()))
    graph = csr_matrix((length + 1e-12, (source[there], known[there])), shape=(count, count))
    heard = dijkstra(graph, indices=entry) + begin_ms
    reached = np.isfinite(heard)
    return heard, int((topic.known[reached] != NOBODY).sum())
