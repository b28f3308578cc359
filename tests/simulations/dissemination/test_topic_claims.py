"""What topics promise, held by hundreds of peers in virtual time, with hops of 10 to 50 ms: how soon, how much, and by whom.

A payload is an event on its way to one peer; a small frame is any other message. Times are seconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from simulations.dissemination.spreading import TOPIC, publish_all, told_of
from simulations.dissemination.virtual_peers import Event, VirtualPeer, VirtualPeers

GROWN_S = 15.0
"""After all have joined."""


def grown(count: int = 500, seed: int = 1, *, outside: int = 0, lost: float = 0.0) -> VirtualPeers:
    """So many members of the topic, who joined within ten seconds, and some peers that are none."""
    peers = VirtualPeers(count + outside, seed, lost=lost)
    peers.join_all(peers.peers[:count], TOPIC, 10.0)
    peers.run(GROWN_S)
    return peers


def parts(peers: VirtualPeers) -> list[set[int]]:
    """The parts of the topic that no neighbour connects."""
    left = {peer.contact.id: peer for peer in peers.members(TOPIC)}
    found = []
    while left:
        reached: set[int] = set()
        waiting = [next(iter(left))]
        while waiting:
            peer = left.pop(waiting.pop(), None)
            if peer is not None:
                reached.add(peer.number)
                waiting += [other for other in peer.topics.joined[TOPIC].neighbours.active if other in left]
        found.append(reached)
    return found


def dead_in_views(peers: VirtualPeers) -> int:
    """References to the dead in all views of the living."""
    dead = {peer.contact.id for peer in peers.peers if not peer.is_alive}
    overlays = [overlay for peer in peers.living for overlay in (peer.topics.base, *peer.topics.joined.values())]
    return sum(contact.id in dead for overlay in overlays for contact in overlay.view)


def some(peers: VirtualPeers, share: float) -> list[VirtualPeer]:
    """Such a share of the members; the first one is not among them."""
    members = peers.members(TOPIC)
    return peers.rng.sample(members[1:], round(share * len(members)))


# --- how soon, and how much ------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_the_first_event_reaches_all_of_500_within_half_a_second(seed: int) -> None:
    peers = grown(seed=seed)

    first = publish_all(peers, peers.peers[7:8], every_s=2.0)

    assert first.missed == 0
    assert max(first.late_s) < 0.5


def test_one_publisher_costs_a_member_one_payload_and_one_small_frame_an_event() -> None:
    peers = grown()
    publish_all(peers, peers.peers[7:8] * 20)

    steady = publish_all(peers, peers.peers[7:8] * 100)

    assert steady.missed == 0
    assert max(steady.late_s) < 0.5
    assert steady.payloads <= 1.05
    assert steady.small <= 1.0


def test_changing_publishers_cost_a_member_one_payload_and_a_half() -> None:
    peers = grown()
    publish_all(peers, peers.peers[7:8] * 20)

    changing = publish_all(peers, [peers.rng.choice(peers.peers) for _ in range(100)])

    assert changing.missed == 0
    assert max(changing.late_s) < 0.5
    assert changing.payloads <= 1.5
    assert changing.small <= 1.0


def test_who_is_no_member_publishes_and_carries_nothing() -> None:
    peers = grown(125, outside=375)
    outside = peers.peers[125:]
    peers.carried.clear()

    told = publish_all(peers, peers.rng.sample(outside, 20), every_s=0.5)

    assert told.missed == 0
    assert max(told.late_s) < 0.5
    assert sum(peers.carried[peer.number] > 0 for peer in outside) <= 0.02 * len(outside)


def test_half_of_10_000_are_told_within_half_a_second_and_the_others_carry_nothing() -> None:
    peers = VirtualPeers(10_000, 1)
    members, outside = peers.peers[:5_000], peers.peers[5_000:]
    peers.join_all(members, TOPIC, 0.5)
    peers.run(0.5)

    told = publish_all(peers, members[7:8], every_s=0.5, quiet_s=0.0)

    assert told.missed == 0
    assert sum(peers.carried[peer.number] > 0 for peer in outside) <= 0.02 * len(outside)


# --- deaths ----------------------------------------------------------------


LEFT_ALONE = {0.5: 0, 0.9: 1}
"""By the share that dies: of the fifty that 90 % leave, one may know nobody who lives, and be known to none, until views are
exchanged again."""


@pytest.mark.parametrize(("share", "seed"), [(0.5, 1), (0.9, 2)])
def test_members_killed_as_an_event_is_published_keep_it_from_nobody_for_longer_than_a_second(share: float, seed: int) -> None:
    peers = grown(seed=seed)
    publish_all(peers, peers.peers[:1] * 20)
    peers.sent.clear()

    published = {peers.publish(peers.peers[0], TOPIC): peers.now_s}
    peers.kill(some(peers, share))
    peers.run(4.0)
    told = told_of(peers, published, 0)
    publish_all(peers, peers.peers[:1] * 2, every_s=1.0)
    after = publish_all(peers, peers.peers[:1], every_s=1.0)

    assert told.missed <= LEFT_ALONE[share]
    assert max(told.late_s) <= 1.0
    assert after.missed <= LEFT_ALONE[share]
    assert after.payloads <= 1.1


@pytest.mark.parametrize(("share", "seed"), [(0.5, 2), (0.9, 1)])
def test_members_stopped_as_an_event_is_published_keep_it_from_nobody_for_longer_than_two_seconds(share: float, seed: int) -> None:
    peers = grown(seed=seed)
    publish_all(peers, peers.peers[:1] * 20)
    peers.sent.clear()

    published = {peers.publish(peers.peers[0], TOPIC): peers.now_s}
    for peer in some(peers, share):
        peer.is_stopped = True
    peers.run(4.0)
    told = told_of(peers, published, 0)
    publish_all(peers, peers.peers[:1] * 2, every_s=1.0)
    after = publish_all(peers, peers.peers[:1], every_s=1.0)

    assert told.missed <= LEFT_ALONE[share]
    assert max(told.late_s) <= 2.0
    assert after.missed <= LEFT_ALONE[share]
    assert after.payloads <= 1.1


def test_no_view_has_a_dead_peer_after_60_rounds() -> None:
    subscribed = 150
    peers = VirtualPeers(300, 1, round_s=1.0)
    peers.join_all(peers.peers[:subscribed], TOPIC, 2.0)
    peers.run(10.0)
    peers.kill(peers.rng.sample(peers.peers, 150))
    begun = dead_in_views(peers)

    peers.run(60.0)

    assert begun > 1_000
    assert dead_in_views(peers) == 0


# --- parts -----------------------------------------------------------------


def halves(peers: VirtualPeers) -> tuple[list[VirtualPeer], list[VirtualPeer]]:
    return peers.peers[::2], peers.peers[1::2]


def meet_once(peers: VirtualPeers, one: VirtualPeer, other: VirtualPeer) -> None:
    """A member is told of one of the other part, as the holders of the topic's key do."""
    one.topics.joined[TOPIC].learn_peers([other.contact], peers.now_s)


def test_a_topic_that_was_split_for_an_hour_is_one_again_within_a_minute() -> None:
    peers = grown(16)
    one, other = halves(peers)
    peers.cut = lambda sender, receiver: sender % 2 != receiver % 2
    peers.run(3_600.0)
    assert sorted(len(part) for part in parts(peers)) == [8, 8]

    peers.cut = lambda sender, receiver: False
    meet_once(peers, one[0], other[0])
    peers.run(60.0)

    assert len(parts(peers)) == 1
    assert publish_all(peers, one[1:2], every_s=0.0).missed == 0
    assert publish_all(peers, other[1:2], every_s=0.0).missed == 0


def test_two_parts_born_apart_are_one_within_a_minute() -> None:
    peers = VirtualPeers(200, 1)
    one, other = halves(peers)
    peers.cut = lambda sender, receiver: sender % 2 != receiver % 2
    peers.join_all(one, TOPIC, 5.0)
    peers.join_all(other, TOPIC, 5.0)
    peers.run(5.0)
    assert sorted(len(part) for part in parts(peers)) == [100, 100]

    peers.cut = lambda sender, receiver: False
    meet_once(peers, one[0], other[0])
    peers.run(60.0)

    assert len(parts(peers)) == 1
    assert publish_all(peers, one[1:2], every_s=0.0).missed == 0
    assert publish_all(peers, other[1:2], every_s=0.0).missed == 0


# --- size, and who joins ---------------------------------------------------


def far_off(peers: VirtualPeers, members: Iterable[VirtualPeer]) -> float:
    """The share of some members whose estimate is off by more than 15 %."""
    estimates = [peer.topics.joined[TOPIC].size.estimate for peer in members]
    return sum(abs(estimate / len(estimates) - 1) > 0.15 for estimate in estimates) / len(estimates)


def test_thirty_rounds_after_a_change_99_in_100_know_the_size_to_15_percent() -> None:
    peers = VirtualPeers(300, 1, round_s=0.5, lost=0.01)
    peers.join_all(peers.peers, TOPIC, 1.0)
    peers.run(10.0)
    peers.kill(some(peers, 0.3))

    peers.run(15.0)

    assert far_off(peers, peers.members(TOPIC)) <= 0.01


def test_who_joins_is_told_nothing_from_before_and_everything_from_then_on() -> None:
    peers = grown(500, outside=10)
    publisher = peers.peers[7]
    newcomers = iter(peers.peers[500:])
    published: dict[Event, float] = {}
    for number in range(100):
        if number % 10 == 5:
            members = [peer.contact for peer in peers.rng.sample(peers.members(TOPIC), 4)]
            peers.join(next(newcomers), TOPIC, members)
        published[peers.publish(publisher, TOPIC)] = peers.now_s
        peers.run(0.05)
    peers.run(2.0)

    told = peers.told_s(published)
    for peer in peers.peers[500:]:
        heard = [event for event in published if peer.number in told[event]]
        assert heard == list(published)[-len(heard) :]
        assert set(heard) >= {event for event, at_s in published.items() if at_s >= peer.joined_s[TOPIC]}
        assert peer.gaps == 0
