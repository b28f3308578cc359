"""A receiver and reader that is killed at every step of the spool's protocol and goes on: each row once, and none missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from killed_reader import QUERY
from loopback_peer import LoopbackPeer

import gsg

pytestmark = [pytest.mark.waits, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[3]
ON = gsg.Symbol("on")
MOST_STEPS = 200
"""A run that takes more of them is a failure; it takes some dozens."""


def told(sink: Path) -> list[dict[str, int]]:
    """All rows of all batches, in their order."""
    batches = sorted(sink.glob("rows-*"), key=lambda path: int(path.name.partition("-")[2]))
    return [row for path in batches for row in json.loads(path.read_text())]


def test_whatever_step_it_is_killed_at_each_row_is_told_once(tmp_path: Path) -> None:
    rng, facts = Random(1), set[tuple[object, ...]]()
    with LoopbackPeer() as peer, gsg.Client(peer.url) as client:
        command = [sys.executable, str(Path(__file__).with_name("killed_reader.py")), peer.url, str(tmp_path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT)}
        ) as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            outcomes = []
            for step in range(1, MOST_STEPS):
                goes = set(rng.sample(sorted(facts, key=str), min(5, len(facts))))
                come = {(f"x{rng.randrange(1000)}", ON, step) for _ in range(20)}
                client.retract(goes)
                client.insert(come)
                facts = facts - goes | come
                reader.stdin.write(f"{step}\n")
                reader.stdin.flush()
                outcomes.append(reader.stdout.readline().strip())
                if outcomes[-1] != "killed":
                    break
            reader.stdin.close()
        with client.subscribe(QUERY) as now:
            answer = {(row["x"], row["y"]) for row in now.rows()}

    rows = told(tmp_path / "sink")
    sums = Counter[tuple[object, object]]()
    for row in rows:
        sums[row["x"], row["y"]] += row["sign"]
    assert outcomes[:-1] == ["killed"] * (len(outcomes) - 1)
    assert 30 < int(outcomes[-1]) < len(outcomes)
    assert [row["position"] for row in rows] == list(range(1, len(rows) + 1))
    assert Counter({row: count for row, count in sums.items() if count}) == Counter(answer)
