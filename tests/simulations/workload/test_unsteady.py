"""Tuples whose common constants drift, and an adversary's."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from simulations.engine.ownership import Ownership
from simulations.errors import BadParameter
from simulations.load_balance.peers import Peers
from simulations.workload.unsteady import Adversary, Drift, parse_adversary
from simulations.workload.workload import COMMON_MIX, OBJECT, Recorded, Synthetic, chunks_of

STEADY = Synthetic(20_000, (40, 5, 60), (0.5, 1.0, 1.2), seed=4, seconds=4.5 * 3600)
DRIFTING = replace(STEADY, drift=0.6)
ATTACKED = replace(STEADY, adversary=Adversary(0.2, "peer"))
BOTH = replace(STEADY, drift=1.0, adversary=Adversary(0.1, "key"))
ALL = pytest.mark.parametrize("workload", [DRIFTING, ATTACKED, BOTH], ids=["drifting", "attacked", "both"])


@ALL
def test_tuples_are_the_same_however_they_are_cut_and_copied(workload: Synthetic) -> None:
    whole, numbers = workload.chunk(0, 20_000), np.array([17, 3, 19_999])
    copy = pickle.loads(pickle.dumps(workload))

    parts = [copy.chunk(begin, size) for begin, size in chunks_of(20_000, parts=7)]

    for position in range(3):
        assert np.concatenate([part.codes[position] for part in parts]).tolist() == whole.codes[position].tolist()
        assert copy.at(numbers).codes[position].tolist() == whole.codes[position][numbers].tolist()


@ALL
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_expected_facts_are_what_comes(workload: Synthetic, share: float) -> None:
    many = replace(workload, tuples=200_000)
    chunk = many.chunk(0, many.tuples)
    early = chunk.at_s < share * many.seconds

    for position, facts in enumerate(many.facts_by(share)):
        seen = np.bincount(chunk.codes[position][early], minlength=len(many.constants[position].keys)) / share

        assert np.abs(seen - facts).max() < 6 * np.sqrt(facts.max() / share)
        assert abs(int(facts.sum()) - many.tuples) <= len(facts) // 2 + 1


def test_what_does_not_drift_is_as_without() -> None:
    steady, drifting = STEADY.chunk(0, 20_000).codes, DRIFTING.chunk(0, 20_000)
    hour = (drifting.at_s // 3600).astype(int)

    for position, ranks in enumerate(STEADY.distinct):
        moved = (steady[position] + hour * max(1, ranks // 5)) % ranks
        stays, moves = drifting.codes[position] == steady[position], drifting.codes[position] == moved
        assert (stays | moves).all()
        assert np.isclose(np.mean(moves[hour > 0]), 0.6, atol=0.02) or ranks == 5


def test_the_keys_of_a_peer_are_a_peers_and_that_of_a_key_is_one() -> None:
    peers = Ownership(Peers(100_000).prefixes())
    keys = ATTACKED.constants[OBJECT].keys[60:]

    assert len(keys) == len(np.unique(keys)) == 1_024
    assert len(np.unique(peers.owners(keys))) == 1
    assert len(BOTH.constants[OBJECT].keys) == 61
    assert np.mean(BOTH.chunk(0, 20_000).codes[OBJECT] == 60) == pytest.approx(0.1, abs=0.01)
    assert np.unique(ATTACKED.chunk(0, 20_000).codes[OBJECT]).max() < 60 + 1_024


def test_an_adversarys_numbers_are_numbers_beside_each_other() -> None:
    values = ATTACKED.constants[OBJECT].values

    assert values is not None
    assert len(values) == 60 + 1_024
    assert np.ptp(values[60:]) < 1e-8
    assert len(np.unique(values[60:])) == 1_024


def test_subscriptions_ask_for_what_is_common_by_the_hour_and_not_for_what_an_adversary_has() -> None:
    steady, drifting = (workload.subscriptions(5_000, COMMON_MIX, 3) for workload in (STEADY, replace(BOTH, drift=1.0)))

    hottest = [np.bincount(asked.codes[1][asked.codes[1] >= 0], minlength=5).max() for asked in (steady, drifting)]

    assert hottest[1] < 0.7 * hottest[0]
    assert drifting.codes[OBJECT].max() < 60
    assert (drifting.given == steady.given).all()


def test_recorded_tuples_are_counted_from_the_beginning() -> None:
    codes = np.array([0, 0, 1, 2, 2, 2, 2, 2, 2, 2], dtype=np.int32)
    recorded = Recorded((codes,) * 3, tuple(replace(known, keys=known.keys[:4]) for known in STEADY.constants))

    assert [facts.tolist() for facts in recorded.facts_by(0.3)] == [[6, 3, 0, 0]] * 3
    assert [facts.tolist() for facts in recorded.facts_by(1.0)] == [[2, 1, 7, 0]] * 3
    assert recorded.facts_by(0.001)[0].tolist() == [10, 0, 0, 0]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadParameter, match=r"a drift of 1\.5; expected a share of all tuples, above 0 and up to 1"):
        Synthetic(10, drift=1.5)
    with pytest.raises(BadParameter, match="a drift over 1001 hours; expected 1000 at most"):
        Drift(0.5, 1_001 * 3600.0)
    with pytest.raises(BadParameter, match="an adversary with 1 of all tuples; expected a share above 0 and below 1"):
        parse_adversary("key:1")
    for text in ("peer", "both:0.1", "key:many", "0.1"):
        with pytest.raises(BadParameter, match=f"adversary '{text}'; expected key:SHARE or peer:SHARE"):
            parse_adversary(text)
    assert str(parse_adversary("peer:0.25")) == "peer:0.25"
