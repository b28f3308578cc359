"""Messages and bytes of hand-over and repair are those of real frames, and go to whoever sends and receives them."""

from __future__ import annotations

import numpy as np
import pytest

from gsg.wire.holder_messages import AskKeys, AskRanges, Differ, Replicate
from gsg.wire.messages import Done, decode, encode
from simulations.churn.copies import ARRIVED, CRASHED, LEFT, Moves
from simulations.churn.followed_keys import followed_keys
from simulations.churn.repair_costs import costs_among
from simulations.churn.traffic import HAND_OVER, HOUR, REPAIR, Costs, Traffic, comparing_an_hour, partners
from simulations.load_balance.meeting_sample import MeetingSample
from simulations.workload.workload import Synthetic

PLAIN = Costs(
    noticed_s=(1.0, 2.0),
    settle_s=0.0,
    facts_together=10,
    keys_together=2,
    compare_s=10.0,
    fact_bytes=100.0,
    told_bytes=30,
    asked_key_bytes=50.0,
    asked_bytes=20,
    compared_bytes=1_000,
)


def moves(*rows: tuple[int, int, int, int, int]) -> Moves:
    at, key, sender, receiver, reason = np.array(rows, dtype=np.int64).T
    return Moves(at, key, sender, receiver, reason.astype(np.int8))


def counted(*rows: tuple[int, int, int, int, int]) -> Traffic:
    """Of three keys with 5, 8 and 40 facts, the last of which stands for four of ten facts each."""
    traffic = Traffic()
    traffic.add(moves(*rows), PLAIN, np.array([5.0, 8.0, 40.0]), np.array([1.0, 1.0, 4.0]))
    return traffic


def test_a_newcomer_is_told_at_once_with_as_many_facts_in_a_message_as_there_may_be() -> None:
    traffic = counted((0, 0, 7, 9, ARRIVED), (1, 1, 7, 9, ARRIVED))

    assert traffic.messages.tolist() == [4, 0]
    assert traffic.bytes.tolist() == [13 * 100 + 2 * 30, 0]
    assert traffic.busiest_bytes == 13 * 100 + 2 * 30


def test_who_stands_in_for_a_dead_or_leaving_holder_is_asked_first() -> None:
    traffic = counted((0, 0, 7, 9, CRASHED), (0, 2, 7, 9, CRASHED), (0, 1, 7, 8, LEFT))

    assert traffic.messages[REPAIR] == 2 * 5 + 2 * 3
    assert traffic.bytes[REPAIR] == 45 * 100 + 5 * 30 + 5 * 50 + 3 * 20
    assert traffic.messages[HAND_OVER] == 4
    assert traffic.bytes[HAND_OVER] == 800 + 30 + 50 + 20


def test_the_busiest_peer_is_the_one_that_sends_and_receives_most_within_one_hour() -> None:
    traffic = counted((0, 0, 1, 2, ARRIVED), (1, 0, 2, 3, ARRIVED), (HOUR, 1, 2, 3, ARRIVED))

    assert traffic.busiest_bytes == 2 * (500 + 30)


def test_a_window_without_moves_is_none() -> None:
    none = np.zeros(0, dtype=np.int64)
    traffic = Traffic()

    traffic.add(Moves(none, none, none, none, none.astype(np.int8)), PLAIN, np.ones(1), np.ones(1))

    assert (traffic.busiest_bytes, traffic.bytes.sum()) == (0, 0)


def test_sizes_are_those_of_messages_that_peers_take() -> None:
    costs = costs_among(1_000)

    assert costs.told_bytes == 8 + len(encode(Replicate(1, [], [], [], []))) + len(encode(Done(1, 0, 1_700_000_000_000_000)))
    assert costs.asked_bytes == 8 + len(encode(AskKeys(1, [], []))) + len(encode(Differ(1, [])))
    assert costs.compared_bytes == 8 + len(encode(AskRanges(1, [1 << 63] * 256))) + len(encode(Differ(1, [])))
    assert isinstance(decode(encode(AskRanges(1, [1 << 63] * 256))), AskRanges)
    assert 100 < costs.fact_bytes < 150


@pytest.mark.parametrize(("peers", "least", "most"), [(10, 2, 4), (256, 5, 10)])
def test_crashes_are_noticed_when_the_suspicion_has_run_out(peers: int, least: int, most: int) -> None:
    # dht/liveness/__init__.py says so of a suspicion; a probe and those of its helpers come before, some two seconds at most.
    found = costs_among(peers).noticed_s

    assert least < found[0] < least + 2
    assert most < found[1] < most + 3


def test_holders_of_the_same_keys_are_counted_as_in_a_whole_overlay() -> None:
    # Two holders of each key, the closest and the next: in a full tree of four these are siblings, each of which has the other.
    assert partners(1_000, 1) == 0
    assert partners(3, 3) == 2
    assert partners(1_000, 2) < partners(1_000, 3) < partners(1_000, 5)
    assert partners(2_000, 3) == partners(1_000_000, 3) == pytest.approx(partners(1_000, 3), rel=0.03)
    assert comparing_an_hour(3, 3, PLAIN) == (2 * 2 * 360, 2 * 360 * 1_000)


def test_followed_keys_stand_for_all_facts_and_have_all_matches() -> None:
    workload = Synthetic(20_000, (5_000, 200, 5_000), seed=4)
    constants = workload.constants
    met = MeetingSample(np.sort(np.array([constants[1].keys[0], 12345], dtype=np.uint64)), np.array([1, 3]), 0)

    found = followed_keys(met, workload)

    in_all = sum(int(each.facts.sum()) for each in constants)
    assert found.total_facts == in_all
    assert found.facts @ found.stands_for == pytest.approx(in_all)
    assert len(np.unique(found.keys)) == len(found.keys) < 2_100
    assert found.matches.sum() == 1
    assert found.matches[found.keys == 12345] == 1 - found.matches[found.keys == constants[1].keys[0]]
    assert found.facts[found.keys == constants[1].keys[0]] == constants[1].facts[0]
    assert found.facts[found.keys == 12345] == 0
