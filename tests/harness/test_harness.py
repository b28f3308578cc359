"""Seeded runs of sixteen peers with every fault keep what DESIGN section 5 promises, and a run is repeated exactly by its seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from schedule import schedule
from verdict import violations
from world import history_of

SEEDS = (1, 2, 3, 5, 7)
HERE = Path(__file__).parent


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_promised_is_kept(seed: int) -> None:
    assert violations(history_of(schedule(seed))) == []


def test_a_seed_gives_the_same_run_in_another_process_with_other_hashes() -> None:
    def digest(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, HERE / "run.py", "3", "--digest"], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert digest("1") == digest("2") != ""
