"""The harness by hand: what its commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import harness_soak
import pytest

HERE = Path(__file__).resolve().parent


def said(name: str, *arguments: str) -> str:
    ran = subprocess.run([sys.executable, str(HERE / name), *arguments], capture_output=True, text=True, check=True)
    return " ".join(ran.stdout.split())


def test_a_soak_says_how_a_failing_seed_is_run_again() -> None:
    told = said("harness_soak.py", "--help")

    assert "Seed s has 1, 2, 3 rounds, in turn: ROUNDS[s % 3]" in told
    assert "run.py SEED --rounds N" in told


def test_a_soak_takes_a_run_that_cannot_go_on_for_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_by_an_error(seed: int, *, rounds: int, topics: bool, ordered: bool) -> None:
        raise ExceptionGroup("tasks", [RuntimeError(f"{seed} went wrong")])

    monkeypatch.setattr(harness_soak, "run", ends_by_an_error)

    assert harness_soak.judge(8) == (8, ["the run ends by ExceptionGroup: tasks (1 sub-exception)"])


def test_a_schedule_is_that_of_as_many_rounds_as_asked_for() -> None:
    short, long = said("schedule.py", "7"), said("schedule.py", "7", "--rounds", "2")

    assert "seed" in said("schedule.py", "--help")
    assert len(short) < len(long)


def test_a_trial_of_real_processes_says_how_it_is_run() -> None:
    told = said("real_trial.py", "--help")

    assert "--runs" in told
    assert "--seconds" in told
