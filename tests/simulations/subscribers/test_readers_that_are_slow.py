"""What comes to a reader is what its templates match, at the times of the tuples."""

from __future__ import annotations

import numpy as np
import pytest

from dht.links.link import HIGH_WATER_BYTES
from gsg.placement.rules import Anchor
from gsg.rendezvous.feed import HELD_DELTAS
from simulations.engine.sweep import in_one_thread as play_here
from simulations.errors import BadParameter
from simulations.subscribers import slow_readers
from simulations.subscribers.counting import in_one_thread
from simulations.subscribers.frames import Kind, frames_of
from simulations.subscribers.notifications import Notified, notified
from simulations.subscribers.queues import Policy
from simulations.subscribers.slow_readers import Reading, arrivals, fared, limits_of, readers_of, shown, sweep_of
from simulations.subscribers.templates import ids_of
from simulations.workload.workload import Mix, Synthetic, parse_mix

PEERS, SEED = 6, 5
PLAIN = parse_mix("?po=2,sp?=2,?p?=1,???=1")
BOUNDED = parse_mix("?pb=2,??b=2,??a=1,?p?=1", width=0.2)
WORKLOAD = Synthetic(400, (12, 4, 12), seed=SEED)


def told(mix: Mix, kind: Kind = Kind.FACTS) -> Notified:
    """A run over six peers."""
    wanted = WORKLOAD.subscriptions(40, mix, SEED)
    return notified(
        WORKLOAD,
        wanted,
        ids=ids_of(PEERS, SEED),
        rule=Anchor.RAREST,
        count=in_one_thread(),
        frames=frames_of(),
        seed=SEED,
        kind=kind,
    )


@pytest.mark.parametrize(
    ("mix", "kind"), [(PLAIN, Kind.FACTS), (BOUNDED, Kind.FACTS), (PLAIN, Kind.EVENTS)], ids=["plain", "bounded", "events"]
)
def test_as_much_comes_to_a_reader_as_was_counted(mix: Mix, kind: Kind) -> None:
    for reader in readers_of(told(mix, kind), SEED):
        at_s = arrivals(WORKLOAD, reader, kind)

        assert len(at_s) == reader.notifications > 0
        assert (np.diff(at_s) >= 0).all()
        assert set(at_s.tolist()) <= set(WORKLOAD.chunk(0, 400).at_s.tolist())


def test_an_event_comes_fewer_times_than_a_fact_and_more_than_once_where_several_peers_have_its_templates() -> None:
    busiest = readers_of(told(PLAIN), SEED)[0]

    at_s = arrivals(WORKLOAD, busiest, Kind.EVENTS)

    assert len(set(at_s.tolist())) < len(at_s) < busiest.notifications


def test_of_very_many_those_of_the_first_part_of_the_time_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    busiest = readers_of(told(PLAIN), SEED)[0]
    monkeypatch.setattr(slow_readers, "MAX_ARRIVALS", 100)

    some = arrivals(WORKLOAD, busiest, Kind.FACTS)

    assert some.max() < WORKLOAD.seconds * 100 / busiest.notifications
    assert 50 < len(some) < 200


def test_readers_are_the_busiest_first_and_nobody_twice() -> None:
    found = told(PLAIN)

    readers = readers_of(found, SEED)

    assert readers[0].notifications == found.notifications.max()
    assert [reader.reader for reader in readers] == ["busiest", "median"]


def test_limits_are_those_of_peers() -> None:
    limits = limits_of(Kind.FACTS, Reading())

    assert (limits.full, limits.kept) == (HIGH_WATER_BYTES, HELD_DELTAS)
    assert limits_of(Kind.EVENTS, Reading()).kept_bytes < limits.kept_bytes


def test_slow_readers_wait_longer_and_all_policies_are_told_apart() -> None:
    readers = readers_of(told(PLAIN), SEED)

    rows = play_here()(sweep_of(WORKLOAD, readers, Kind.FACTS, frames_of(), Reading(speeds=(0.5, 2.0))))

    every = fared(rows)
    assert [(one.reader, one.speed, one.policy) for one in every[:4]] == [
        ("busiest", 0.5, "push"),
        ("busiest", 0.5, "pull"),
        ("busiest", 0.5, "hybrid"),
        ("busiest", 2.0, "push"),
    ]
    assert every[0].mean_s.value > every[3].mean_s.value
    assert {one.lost.value for one in every} == {0.0}
    said = shown(rows, Kind.FACTS)
    assert "the busiest reader has" in said.findings[0].text
    assert len(said.tables[0].cells) == 2 * 2 * len(Policy)


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ({"speeds": (1.0, 0.0)}, "a reader's speed of 0; expected a number above 0"),
        ({"speeds": (float("nan"),)}, "a reader's speed of nan"),
        ({"pause": 1.0}, "stand still for 1 of the time"),
        ({"ask_s": 0.0}, "asks every 0 s"),
    ],
    ids=["speed", "no number", "pause", "ask"],
)
def test_readers_that_nobody_is_are_refused(reading: dict[str, float], said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        Reading(**reading)  # type: ignore[arg-type]  # the fields of one
