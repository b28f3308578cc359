"""How events spread in a topic to which a share of all agents subscribe: the peers of :mod:`virtual_peers`, publishing.

The first event is of an agent that does not subscribe, where there is one: it finds its access point first. Then one subscriber
publishes, and then each event has another publisher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import quantiles
from typing import Final, NamedTuple

from .cases import DisseminationRequest, Spread, Topic
from .virtual_peers import Event, VirtualPeer, VirtualPeers

TOPIC: Final = "topic"
EVENT_S: Final = 0.05
"""From event to event."""
QUIET_S: Final = 3.0
"""How long after the last event of several all have what they will ever have."""
GROWING_ROUNDS: Final = 3
"""How long after all have subscribed the first event is published."""
SLICES_A_HOP: Final = 5
"""Into how many slices of time the longest hop is cut."""


class Told(NamedTuple):
    """How some events went. ``late_s``: how long each took to each subscriber that was told of it."""

    missed: int
    late_s: list[float]
    payloads: float
    small: float
    """Per subscriber and event."""

    @property
    def last_ms(self) -> float | None:
        """The longest; None where nobody was told."""
        return max(self.late_s) * 1_000 if self.late_s else None


def publish_all(
    peers: VirtualPeers, publishers: Sequence[VirtualPeer], *, every_s: float = EVENT_S, quiet_s: float = QUIET_S
) -> Told:
    """Have each of some peers publish an event in its turn, and wait until all have been told.

    Small frames count while events are published; what goes on afterwards without any is for no event.
    """
    peers.sent.clear()
    published: dict[Event, float] = {}
    for publisher in publishers:
        published[peers.publish(publisher, TOPIC)] = peers.now_s
        peers.run(every_s)
    small = peers.sent.total() - peers.sent["Payload"]
    peers.run(quiet_s)
    return told_of(peers, published, small)


def told_of(peers: VirtualPeers, published: Mapping[Event, float], small: int) -> Told:
    """How events went that were published at some times, with so many small frames; payloads are all that are counted."""
    members = {peer.number for peer in peers.members(TOPIC)}
    late_s = [
        at_s - published[event]
        for event, told in peers.told_s(published).items()
        for number, at_s in told.items()
        if number in members
    ]
    expected = len(members) * len(published)
    return Told(expected - len(late_s), late_s, peers.sent["Payload"] / expected, small / expected)


def percentiles(late_ms: list[float]) -> Sequence[float | None]:
    """What 1, 2 ... 99 % of some times do not exceed; None for each where there are no times."""
    if len(late_ms) > 1:
        return quantiles(late_ms, n=100, method="inclusive")
    return (*late_ms, None)[:1] * 99


def play_topic(asked: DisseminationRequest, case: Topic, seed: int) -> Iterator[Spread]:
    """How the events of one topic spread."""
    least_ms, most_ms = asked.hop_ms
    view = max(asked.views)
    peers = VirtualPeers(
        case.agents,
        seed,
        hop_s=(least_ms / 1_000, most_ms / 1_000),
        round_s=asked.round_s,
        view_size=view,
        shuffled=min(asked.exchanged, view),
    )
    subscribed = round(case.subscribers * case.agents)
    members, outside = peers.peers[:subscribed], peers.peers[subscribed:]  # who knows whom is random, so these are too
    peers.join_all(members, TOPIC, asked.round_s)
    peers.run(GROWING_ROUNDS * asked.round_s)
    peers.carried.clear()
    first = publish_all(peers, [peers.rng.choice(outside or members)])
    one = peers.rng.choice(members)
    publish_all(peers, [one] * 2)  # the tree is one for the first publisher's access point: two events make it fit
    steady = publish_all(peers, [one] * asked.events)
    changing = publish_all(peers, [peers.rng.choice(members) for _ in range(asked.events)])
    slice_ms = max(1.0, most_ms / SLICES_A_HOP)
    late_ms = sorted(late_s * 1_000 for late_s in first.late_s)
    heard = Counter(int(at_ms / slice_ms) for at_ms in late_ms)
    cuts = percentiles(late_ms)
    yield Spread(
        **asdict(case),
        subscribed=subscribed,
        reached=len(late_ms),
        median_ms=cuts[49],
        p99_ms=cuts[98],
        last_ms=first.last_ms,
        first_payloads=first.payloads,
        steady_payloads=steady.payloads,
        steady_small=steady.small,
        steady_last_ms=steady.last_ms,
        changing_payloads=changing.payloads,
        changing_small=changing.small,
        changing_last_ms=changing.last_ms,
        missed=steady.missed + changing.missed,
        carriers=sum(peers.carried[peer.number] > 0 for peer in outside),
        slice_ms=slice_ms,
        heard=tuple(heard[number] for number in range(max(heard, default=-1) + 1)),
    )
