"""Alpha memories are counted as going through all subscriptions one by one does."""

from __future__ import annotations

import pytest

from simulations.engine.sweep import in_one_thread
from simulations.subscribers import memories
from simulations.subscribers.memories import reuse_of, shown, sweep_of
from simulations.subscribers.templates import peers_of_subscribers
from simulations.workload.workload import COMMON_MIX, Synthetic

PEERS = 9
WORKLOAD = Synthetic(1_000, (40, 5, 40), seed=3)


def one_by_one(size: int, seeds: list[int], drawn: int) -> tuple[set[object], set[object], float]:
    """Templates, memories of peers, and the matches that are expected of all subscriptions."""
    templates: set[object] = set()
    feeds: set[object] = set()
    matches = 0.0
    for number, seed in enumerate(seeds):
        count = min(drawn, size - number * drawn)
        some = WORKLOAD.subscriptions(count, COMMON_MIX, seed)
        for codes, peer in zip(some.codes.T.tolist(), peers_of_subscribers(count, PEERS, seed).tolist(), strict=True):
            templates.add(tuple(codes))
            feeds.add((tuple(codes), peer))
            share = 1.0
            for code, known in zip(codes, WORKLOAD.constants, strict=True):
                share *= 1.0 if code < 0 else known.facts[code] / WORKLOAD.tuples
            matches += share * WORKLOAD.tuples
    return templates, feeds, matches


@pytest.mark.parametrize("kept", [10_000, 300], ids=["one part", "several"])
def test_memories_are_those_of_going_through_all_subscriptions(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(memories, "DRAWN", 400)
    monkeypatch.setattr(memories, "KEPT", kept)
    seeds = [memories.derived_seed(7, "memories", 0, number) >> 1 for number in range(3)]
    templates, feeds, matches = one_by_one(1_000, seeds, 400)

    rows = in_one_thread()(sweep_of(WORKLOAD, COMMON_MIX, PEERS, [1_000], 1, 7))

    (found,) = reuse_of(rows, PEERS)
    assert found.templates.value == len(templates) / 1_000
    assert found.memories.value == len(feeds) / 1_000
    assert found.most_memories.value == max(sum(1 for _, at in feeds if at == peer) for peer in range(PEERS))
    assert sum(row.wanted_matches for row in rows) == pytest.approx(matches)
    assert 0 < found.met.value < found.told.value < 1


def test_more_subscriptions_use_again_more_of_what_is_there() -> None:
    rows = in_one_thread()(sweep_of(WORKLOAD, COMMON_MIX, PEERS, [100, 1_000, 10_000], 3, 7))

    every = reuse_of(rows, PEERS)

    assert [one.subscriptions for one in every] == [100, 1_000, 10_000]
    assert every[0].templates.value > every[1].templates.value > every[2].templates.value
    assert every[0].memories.value > every[2].memories.value > every[2].templates.value
    assert all(one.templates.low is not None and one.templates.low <= one.templates.value for one in every)
    assert "keep" in shown(PEERS, rows).findings[0].text
