"""Latencies are sums of the links on the way."""

from __future__ import annotations

import numpy as np
import pytest

from gsg.placement.rules import Anchor
from gsg.rendezvous.fan_out.parts import MOST_DIRECT, PARTS, wanted_heads
from simulations.engine.sweep import in_one_thread
from simulations.errors import BadParameter
from simulations.subscribers.latency import CACHED, MISSED, MIXED, Links, first_use, shown, sweep_of, ways_of
from simulations.workload.workload import COMMON_MIX, Synthetic, parse_mix

WORKLOAD = Synthetic(3_000, (40, 6, 40), seed=3)


def test_a_link_takes_the_same_both_ways_and_nothing_within_a_peer() -> None:
    links = Links(10.0, 50.0)
    one, other = np.arange(100), np.arange(100)[::-1].copy()

    there, back = links.one_way_ms(one, other), links.one_way_ms(other, one)

    assert there.tolist() == back.tolist()
    assert links.one_way_ms(one, one).tolist() == [0.0] * 100
    assert 10 <= there.min() < 15 < 45 < there.max() <= 50


def test_two_hops_take_two_links_where_all_take_the_same() -> None:
    rows = in_one_thread()(sweep_of(WORKLOAD, COMMON_MIX, 1_000, 300, Anchor.RAREST, Links(20.0, 20.0, 500), [1]))

    known, missed, mixed = ways_of(rows)
    assert [one.way for one in (known, missed, mixed)] == [CACHED, MISSED, MIXED]
    assert (known.p50_ms.value, known.most_ms.value) == (40.0, 40.0)
    # A lookup has one hop at least, or none, and one round more.
    assert {us % 40_000 for us in rows[1].us} <= {0, 20_000}
    assert missed.mean_ms.value > mixed.mean_ms.value > known.mean_ms.value
    assert 0 < mixed.missed.value < 1
    assert "Half of all notifications" in shown(rows, Links(20.0, 20.0)).findings[0].text


def test_where_very_many_subscribe_most_come_by_a_head() -> None:
    all_of_it = parse_mix("?p?=1")

    rows = in_one_thread()(sweep_of(WORKLOAD, all_of_it, 500, 4_000, Anchor.RAREST, Links(20.0, 20.0, 2_000), [1]))

    known = rows[0]
    assert 0.8 < known.by_heads < 1
    assert max(known.us) == 60_000


def test_heads_are_as_many_as_peers_have() -> None:
    for audience in (65, 100, 1_000, 10_000):
        assert min(PARTS, int(np.ceil(np.sqrt(audience)))) == wanted_heads(audience)
    assert (Links().most_direct, Links().heads) == (MOST_DIRECT, PARTS)


def test_the_first_use_of_a_key_is_as_likely_as_drawing_publishers_says() -> None:
    rng = np.random.default_rng(3)
    drawn = [len(set(rng.integers(0, 20, 15).tolist())) / 15 for _ in range(4_000)]

    assert float(first_use(np.array([15]), 20)[0]) == pytest.approx(np.mean(drawn), abs=0.005)
    assert first_use(np.array([1, 4]), 1).tolist() == [1.0, 0.25]
    assert first_use(np.array([1]), 1_000).tolist() == pytest.approx([1.0])


def test_where_nothing_matches_nothing_is_said() -> None:
    rows = in_one_thread()(sweep_of(WORKLOAD, parse_mix("??b=1"), 10, 20, Anchor.RAREST, Links(), [1]))

    assert rows == []
    assert not shown(rows, Links()).findings


@pytest.mark.parametrize(("least", "most"), [(-1.0, 5.0), (6.0, 5.0), (1.0, float("inf"))])
def test_links_that_cannot_be_are_refused(least: float, most: float) -> None:
    with pytest.raises(BadParameter, match="links of"):
        Links(least, most)
