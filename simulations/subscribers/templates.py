"""Who asks for what: the distinct templates of all subscriptions, and the feeds that each of them has.

A peer asks for a template once, however many of its clients have it in their subscriptions (gsg/feeds/alpha_memories.py), and a
rendezvous sends what matches to each peer that asks (gsg/rendezvous/feed.py): a feed is a template of one subscriber's peer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gsg.placement.rules import NOWHERE, Anchor

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.randomness import Stream, Words
from ..load_balance.plan import anchors_of
from ..load_balance.strategies import Strategy
from ..workload.workload import Constants, Subscriptions, Synthetic, Workload


@dataclass(frozen=True, slots=True)
class Feeds:
    """The distinct templates of some subscriptions, and the peers that ask for each."""

    templates: Subscriptions
    """One of each, in the order of their words."""
    template_of: Whole
    """The number of the template that each subscription has."""
    template: Whole
    peer: Whole
    """Of each feed its template and its peer, sorted by template."""

    def __len__(self) -> int:
        """How many feeds there are."""
        return len(self.template)

    @property
    def audience(self) -> Whole:
        """How many peers ask for each template."""
        return np.bincount(self.template, minlength=len(self.templates))


def reseeded(workload: Workload, seed: int) -> Workload:
    """The workload of another seed: other tuples, where a law makes them."""
    return replace(workload, seed=seed) if isinstance(workload, Synthetic) else workload


def words_of(subscriptions: Subscriptions, constants: tuple[Constants, ...]) -> Words:
    """64 bits that belong to the template of each subscription: two templates share them by chance alone.

    Among ten million templates that chance is one in 370,000.
    """
    given = subscriptions.given
    codes = np.where(given, subscriptions.codes, 0)
    keys = np.array([known.keys[column] for known, column in zip(constants, codes, strict=True)]) * given
    # Two places may hold one key, so what is given counts beside it.
    places = (np.array([1, 2, 4], dtype=np.uint64)[:, None] * given).sum(axis=0, dtype=np.uint64)
    words = kernels.scattered(kernels.drawn(list(keys)), places)
    return words if subscriptions.kinds is None else kernels.scattered(words, subscriptions.kinds.astype(np.uint64))


def peers_of_subscribers(count: int, peers: int, seed: int) -> Whole:
    """The peer of each subscription's client, any with the same chance."""
    return Stream(seed, "subscriber").below(peers, 0, count)


def feeds_of(subscriptions: Subscriptions, constants: tuple[Constants, ...], peers: Whole) -> Feeds:
    """The feeds of subscriptions, given the peer of each."""
    words = words_of(subscriptions, constants)
    _, first, template_of = np.unique(words, return_index=True, return_inverse=True)
    many = int(peers.max(initial=0)) + 1
    pairs = np.unique(template_of.astype(np.int64) * many + peers)
    return Feeds(subscriptions.only(first), template_of.astype(np.int64), pairs // many, pairs % many)


def anchors_by_rule(rule: Anchor, templates: Subscriptions, workload: Workload) -> Whole:
    """The position that each template is posted at, NOWHERE for one without constants."""
    if rule is Anchor.RAREST and templates.rarest is not None:
        return templates.rarest
    given = templates.given
    codes = np.where(given, templates.codes, 0)
    facts = np.array([known.facts[column] for known, column in zip(workload.constants, codes, strict=True)])
    keys = np.array([known.keys[column] for known, column in zip(workload.constants, codes, strict=True)]) * given
    return anchors_of(Strategy(rule), workload.tuples, given, facts, kernels.drawn(list(keys)))[0]


def ids_of(peers: int, seed: int) -> Words:
    """The first 64 bits of the ids of so many peers: the overlay that ``load-balance`` has with this seed."""
    return Stream(seed, "peer").words(0, peers)


def rendezvous_of(templates: Subscriptions, anchors: Whole, workload: Workload, ownership: Ownership) -> Whole:
    """The peer at which each template meets its tuples, NOWHERE for one without constants: every tuple's home does."""
    found = np.full(len(templates), NOWHERE, dtype=np.int64)
    for position, known in enumerate(workload.constants):
        mine = np.flatnonzero(anchors == position)
        found[mine] = ownership.owners(known.keys[templates.codes[position, mine]])
    return found
