"""What each subscriber's peer receives: one notification for each tuple and feed that match, or for each event and rendezvous.

The rules are those of peers (gsg/rendezvous/rendezvous.py and matching.py, docs/delivery.md):

* A change of a fact goes to each feed of each template that it matches. Whatever is posted at one key comes from the closest holder
  of that key; a template without constants is fed by all holders of the tuple's home, the key of its first position.
* An event goes to each peer once from each rendezvous by which it passes, with the numbers of all feeds that it matches there.
* All that one message of a publisher brings to one feed is one message.

Where several templates of one peer lie at one rendezvous an event comes once for all of them, so what comes of each template by
itself would be too much: those repetitions are counted apart (:mod:`simulations.subscribers.repetitions`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE, REPLICAS, Anchor
from gsg.publisher.parcels import CHUNK_TUPLES
from gsg.rendezvous.fan_out.parts import MOST_DIRECT, wanted_heads
from gsg.tuples.features import HOME

from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.randomness import Words
from ..errors import BadParameter, check_range
from ..workload.workload import Subscriptions, Workload
from .counting import Counter, Question
from .frames import Frames, Kind
from .matching import Matches, least_of
from .repetitions import Repetitions
from .templates import Feeds, anchors_by_rule, feeds_of, peers_of_subscribers, rendezvous_of


@dataclass(frozen=True, slots=True)
class Notified:
    """What subscribers' peers received in one run."""

    peers: int
    tuples: int
    subscriptions: int
    feeds: Feeds
    copies_of_feed: Whole
    """How often a feed of each template is told of one tuple."""
    rendezvous: Whole
    """The peer at which each template meets its tuples, NOWHERE for one without constants."""
    matches: Matches
    """By template; copies are those of all its feeds."""
    notifications: Whole
    """What each peer receives, shape (peers,): changes of facts, or events. Those from itself count."""
    messages: Whole
    """In how many messages."""
    bytes: NDArray[np.float64]
    """How many bytes come over links: what a peer tells itself does not."""
    sent: Whole
    """Notifications that each peer sends as a rendezvous where it sends each itself."""
    sent_by_heads: Whole
    """The same where templates with very many subscribers are fanned out, and what heads send not counted."""

    @property
    def busiest(self) -> float:
        """The busiest peer's share of all notifications; 0 where there are none."""
        return float(self.notifications.max() / max(1, self.notifications.sum()))

    @property
    def copies(self) -> float:
        """Notifications for a tuple in the mean."""
        return float(self.notifications.sum() / self.tuples)

    def copies_of(self, share: float) -> float:
        """The copies that such a share of all tuples does not exceed, rounded down to the least of their class."""
        reached = np.cumsum(self.matches.spread) >= share * self.tuples
        return float(least_of(np.array([reached.argmax()]))[0])

    @property
    def unheard(self) -> float:
        """The share of tuples of which nobody is told."""
        return float(self.matches.spread[0] / self.tuples)


def copies_of_feed(anchors: Whole, peers: int, kind: Kind) -> Whole:
    """How often a feed of each template is told of one tuple: by one holder, or of a fact by all of its home."""
    of_home = min(REPLICAS, peers) if kind is Kind.FACTS else 1
    return np.where(anchors == NOWHERE, of_home, 1)


def notified(
    workload: Workload,
    subscriptions: Subscriptions,
    *,
    ids: Words,
    rule: Anchor,
    count: Counter,
    frames: Frames,
    seed: int,
    kind: Kind = Kind.FACTS,
    batch: int = 1,
) -> Notified:
    """Count what subscribers' peers receive of tuples that are published while all subscriptions stand.

    Raises BadParameter for events in larger batches or under bounds, which are not counted.
    """
    check(kind, batch, bounded=bool(subscriptions.bounded.any()))
    peers = len(ids)
    feeds = feeds_of(subscriptions, workload.constants, peers_of_subscribers(len(subscriptions), peers, seed))
    anchors = anchors_by_rule(rule, feeds.templates, workload)
    ownership = Ownership(ids)
    rendezvous = rendezvous_of(feeds.templates, anchors, workload, ownership)
    each, audience = copies_of_feed(anchors, peers, kind), feeds.audience
    repetitions = None
    if kind is Kind.EVENTS:
        home = ownership.owners(workload.constants[HOME].keys)
        repetitions = Repetitions(peers, feeds.template, feeds.peer, rendezvous, home)
    matches = count(Question(workload, feeds.templates, audience * each, batch, repetitions))
    told, messages = matches.met * each, matches.messages * each
    notifications, in_messages = (_summed(feeds.peer, those[feeds.template], peers) for those in (told, messages))
    # Templates without constants are fed by others, but for one tuple of as many as there are peers.
    remote = rendezvous[feeds.template] != feeds.peer
    over_links = [_summed(feeds.peer[remote], those[feeds.template[remote]], peers) for those in (messages, told)]
    if kind is Kind.FACTS:
        bytes_received = over_links[0] * frames.deltas + over_links[1] * frames.fact
    else:
        own, others = matches.repeated.reshape(2, -1)
        notifications -= own + others
        in_messages = notifications
        once = over_links[1] - others
        bytes_received = once * (frames.happened + frames.event) + others * frames.number
    keyed = rendezvous != NOWHERE
    sent, by_heads = (_summed(rendezvous[keyed], (told * those)[keyed], peers) for those in (audience, sent_directly(audience)))
    return Notified(
        peers=peers,
        tuples=workload.tuples,
        subscriptions=len(subscriptions),
        feeds=feeds,
        copies_of_feed=each,
        rendezvous=rendezvous,
        matches=matches,
        notifications=notifications,
        messages=in_messages,
        bytes=bytes_received,
        sent=sent,
        sent_by_heads=by_heads,
    )


def check(kind: Kind, batch: int, *, bounded: bool) -> None:
    """Raises BadParameter for what is not counted."""
    check_range(batch, 1, CHUNK_TUPLES, "tuples in a message of a publisher")
    if kind is Kind.EVENTS and (batch > 1 or bounded):
        what = "conditions with bounds" if bounded else f"messages of {batch}"
        raise BadParameter(
            f"events with {what}: how many templates of a peer one event meets at one rendezvous is counted event by event, by "
            "constants; expected facts, or single events and a mix without bounds"
        )


def sent_directly(audience: Whole) -> Whole:
    """To how many peers a rendezvous sends what a template with so many subscribers matches: to the heads, where it is cut."""
    sizes, which = np.unique(audience, return_inverse=True)
    sent = [wanted_heads(size) if size > MOST_DIRECT else size for size in sizes.tolist()]
    return np.array(sent, dtype=np.int64)[which]


def _summed(places: Whole, amounts: Whole, size: int) -> Whole:
    # Not bincount, which adds doubles: they end at 2**53.
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums
