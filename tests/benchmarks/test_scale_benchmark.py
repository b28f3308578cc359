"""benchmarks/scale.py runs at small sizes, and its answers are right."""

from __future__ import annotations

import sys

import pytest

import gsg
from benchmarks import scale


def test_every_kind_of_query_is_answered_rightly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scale", "--quick"])
    monkeypatch.setattr(gsg, "shorten_collections", lambda: None)  # for the process of the tests is another's

    assert scale.main() == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * len(scale.KINDS)


def test_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scale", "--only", "prefix,suffix"])

    with pytest.raises(SystemExit):
        scale.main()
    assert "there is no kind 'suffix'" in capsys.readouterr().err
