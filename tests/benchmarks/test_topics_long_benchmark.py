"""benchmarks/topics_long.py runs at small sizes."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import topics_long

pytestmark = pytest.mark.waits


def test_it_runs_at_small_sizes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(topics_long, "BURST", 20)
    monkeypatch.setattr(topics_long, "TURNS", 2)
    monkeypatch.setattr(sys, "argv", ["topics_long", "--quick", "--json", "--peers", "2", "--events", "40"])

    assert topics_long.main() == 0

    found = json.loads(capsys.readouterr().out)
    assert found["events"] == 40
    assert len(found["memory_mib"]) == len(found["memory_in_the_end_mib"]) == 3
    assert found["beside_stopped"] > 0
