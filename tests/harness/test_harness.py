"""Seeded runs of sixteen peers with every fault keep what DESIGN section 5 promises, and the harness notices when one does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from breaks import BREAKS, TOPIC_BREAKS
from run import run
from schedule import LINK_FAULTS, LOST, PEER_FAULTS, TEXTS, Happens, Insert, Notify, schedule

from gsg import Space

SEEDS = 50
"""Of runs of one to two seconds of a core each. The rest of 10,000 is `make soak`."""
TOPIC_SEEDS = 10
"""Of runs in which peers use a topic as well."""
ORDERED_SEEDS = 10
"""Of runs in which the numbers of a position are ordered, and conditions have bounds alone."""
GROUP = 5
"""So many runs are one test: enough tests for all cores."""
DRAWN = 200
HERE = Path(__file__).parent
FOUND_WITHIN = 4
"""So many seeds are enough for any of the breaks, from the one on that :mod:`breaks` names."""


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_what_is_promised_is_kept(first: int) -> None:
    found = {seed: run(seed)[1] for seed in range(first, first + GROUP)}

    # Each is repeated by: python tests/harness/run.py SEED
    assert {seed: violations for seed, violations in found.items() if violations} == {}


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, TOPIC_SEEDS, GROUP))
def test_what_is_promised_of_topics_is_kept(first: int) -> None:
    found = {seed: run(seed, topics=True)[1] for seed in range(first, first + GROUP)}

    # Each is repeated by: python tests/harness/run.py SEED --topics
    assert {seed: violations for seed, violations in found.items() if violations} == {}


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, ORDERED_SEEDS, GROUP))
def test_what_is_promised_is_kept_where_numbers_are_ordered(first: int) -> None:
    found = {seed: run(seed, ordered=True)[1] for seed in range(first, first + GROUP)}

    # Each is repeated by: python tests/harness/run.py SEED --ordered
    assert {seed: violations for seed, violations in found.items() if violations} == {}


@pytest.mark.parametrize("name", TOPIC_BREAKS)
def test_a_promise_of_topics_that_is_broken_on_purpose_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    TOPIC_BREAKS[name](monkeypatch)

    assert any(run(seed, topics=True)[1] for seed in range(FOUND_WITHIN))


@pytest.mark.parametrize("name", BREAKS)
def test_a_promise_that_is_broken_on_purpose_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it, first = BREAKS[name]
    break_it(monkeypatch)

    # Nothing is given time to mend: where nothing is broken, these runs are as promised when they end.
    assert any(run(seed, latest_s=0.0)[1] for seed in range(first, first + FOUND_WITHIN))


@pytest.mark.long
def test_a_seed_gives_the_same_run_in_another_process_with_other_hashes() -> None:
    def said(hash_seed: str) -> str:
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, HERE / "run.py", "3"], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()[-1]

    assert said("1") == said("2")


def test_a_schedule_is_drawn_from_its_seed_and_can_be_read() -> None:
    lines = schedule(7).lines()

    assert lines == schedule(7).lines() != schedule(8).lines()
    assert [float(line.split()[0]) for line in lines] == sorted(float(line.split()[0]) for line in lines)
    assert any("Fault" in line for line in lines)


def test_every_fault_and_every_deed_occurs_often_in_the_first_runs() -> None:
    runs = [schedule(seed) for seed in range(DRAWN)]

    faults = Counter(one.fault.kind for each in runs for one in each.faults)
    deeds = [len(each.deeds) for each in runs]
    kinds = Counter(type(one.deed).__name__ for each in runs for one in each.deeds)

    # schedule.py says how often.
    assert min(faults[kind] for kind in {*PEER_FAULTS, *LINK_FAULTS}) >= 10
    assert set(kinds) == {"Insert", "Retract", "Notify", "Subscribe", "Unsubscribe", "Reconnect"}
    assert min(kinds.values()) >= 500
    assert min(deeds) > 100
    assert sum(deeds) / len(deeds) > 150


def test_every_standing_query_is_told_of_something_in_the_first_runs() -> None:
    told = Counter[str]()
    with Space() as space:
        for query, text in TEXTS.items():
            space.subscribe(text, callback=lambda sign, row, query=query: told.update([query]))

        for deed in (done.deed for seed in range(3) for done in schedule(seed).deeds):
            match deed:
                case Insert():
                    space.insert(deed.facts)
                case Notify():
                    space.notify(deed.events)

    assert set(told) == set(TEXTS)


def test_a_strike_hits_at_most_two_of_a_keys_holders_and_is_alone() -> None:
    runs = [schedule(seed).faults for seed in range(DRAWN)]

    def kinds(faults: Iterable[Happens]) -> set[str]:
        return {one.fault.kind for one in faults}

    struck = [faults for faults in runs if "strike" in kinds(faults)]
    assert all(len(one.fault.peers) <= LOST for faults in struck for one in faults if one.fault.kind == "strike")
    assert all(kinds(faults) & {*PEER_FAULTS} == {"strike"} for faults in struck)
