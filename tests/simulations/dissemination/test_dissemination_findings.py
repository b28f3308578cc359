"""What the report on dissemination says first."""

from __future__ import annotations

from simulations.dissemination.verdict import Numbers, findings, findings_beside
from simulations.engine.intervals import Interval


def value(number: float) -> Interval:
    return Interval(number, None, None)


def event(agents: int, p99_ms: float | None, subscribers: float = 1.0) -> Numbers:
    time = None if p99_ms is None else value(p99_ms)
    return {"agents": agents, "subscribers": subscribers, "reached": value(1.0), "p99_ms": time}


def removal(agents: int, view: int, rounds: int | None, removed: float = 0.2) -> Numbers:
    return {"agents": agents, "view": view, "removed": removed, "rounds_to_one_percent": rounds}


def test_the_largest_overlay_is_set_beside_the_smallest() -> None:
    (found,) = findings([], [event(500, 102), event(10_000, 198.4), event(10_000, 300, 0.5)])

    assert found.text == (
        "An event reaches 100% of the subscribers among 10,000 agents of which 100% subscribe, and 99% of those after 198 ms, "
        "beside 102 ms among 500."
    )
    assert [(bar.name, bar.said) for bar in found.bars] == [("10,000 agents", "198 ms"), ("500 agents", "102 ms")]


def test_one_overlay_is_told_alone_and_one_without_times_not_at_all() -> None:
    (found,) = findings([], [event(500, 1.25), event(900, None)])

    assert found.text.endswith("subscribe, and 99% of those after 1.2 ms.")
    assert found.bars == ()
    assert findings([], [event(500, None)]) == []


def test_views_are_compared_by_how_soon_the_dead_are_forgotten() -> None:
    (found,) = findings([removal(500, 10, 1), removal(500, 20, 11), removal(500, 20, 30, 0.5), removal(9_000, 20, 3)], [])

    assert found.text == (
        "When 20% of 500 agents are removed, at most one reference in a hundred is to them after 1 round with views of 10, "
        "after 11 rounds with views of 20."
    )
    assert [(bar.name, bar.value) for bar in found.bars] == [("views of 10", 1.0), ("views of 20", 11.0)]


def test_the_dead_that_are_not_forgotten_are_said_without_a_bar() -> None:
    (found,) = findings([removal(500, 10, 5), removal(500, 20, None)], [])

    assert found.text.endswith("after 5 rounds with views of 10, not even after the last round with views of 20.")
    assert found.bars == ()


def test_real_peers_are_set_beside_simulated_ones_of_the_same_setting() -> None:
    (found,) = findings_beside([event(64, 8.04), event(64, 5, 0.5)], [event(64, 12), event(500, 90)])

    assert found.text == (
        "An event takes 8 ms to 99% of the subscribers among 64 real peers of which 100% subscribe, 12 ms among simulated ones."
    )
    assert [bar.value for bar in found.bars] == [8.04, 12.0]
    assert findings_beside([event(64, None)], [event(64, 12)]) == []
