"""Certificates on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from certified import Files

import gsg.doors.handshakes
from dht.log_rate import LogRate


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A folder for certificates."""
    return Files.at(tmp_path / "tls")


@pytest.fixture(autouse=True)
def log_of_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What strangers cause is logged some times a minute, in all tests together."""
    monkeypatch.setattr(gsg.doors.handshakes, "_failed", LogRate(gsg.doors.handshakes.log))
