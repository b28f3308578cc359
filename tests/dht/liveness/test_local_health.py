"""How patient a peer is that comes late itself, or has suspected one that lives."""

from __future__ import annotations

from dht.liveness.local_health import MAX_PATIENCE, LocalHealth


def test_who_ticks_in_time_is_as_patient_as_usual_and_stood_never_still() -> None:
    health = LocalHealth(1.0)

    assert [health.tick(now) for now in (0.0, 1.0, 2.0, 3.4)] == [0.0] * 4
    assert health.patience == 1.0


def test_who_stood_still_says_for_how_long_and_is_patient_for_a_while() -> None:
    health = LocalHealth(1.0)
    health.tick(0.0)

    assert health.tick(4.0) == 3.0
    assert health.patience == 4.0
    health.tick(5.0)
    assert 1.0 < health.patience < 4.0


def test_suspects_that_live_make_patient_once_a_tick_and_up_to_a_limit() -> None:
    health = LocalHealth(1.0)
    for now in range(100):
        health.suspect_answered()
        health.suspect_answered()
        before = health.patience
        health.tick(float(now))
        assert health.patience <= before + 1.0

    assert health.patience == MAX_PATIENCE
