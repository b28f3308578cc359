"""benchmarks/scale_doors.py runs at small sizes, and its answers are right."""

from __future__ import annotations

import sys

import pytest

from benchmarks import scale_doors


def test_events_reach_the_queries_that_they_match(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scale_doors", "--quick", "--only", "goal,threshold"])

    assert scale_doors.main() == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * 2


def test_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scale_doors", "--only", "goals"])

    with pytest.raises(SystemExit):
        scale_doors.main()
    assert "there is no kind 'goals'" in capsys.readouterr().err
