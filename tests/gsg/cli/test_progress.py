"""What `gsg publish` says of its progress."""

from __future__ import annotations

import io

import pytest

from gsg.cli.progress import PublishProgress


def test_only_the_time_from_the_first_sent_to_the_last_acknowledged_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 10.0
    monkeypatch.setattr("gsg.cli.progress.time.perf_counter", lambda: now_s)
    with PublishProgress("a script", io.BytesIO(), None, quiet=False) as progress:
        now_s = 50.0  # read and parsed
        progress.sending()
        now_s = 51.0
        progress.sending()
        progress.acknowledged(2, 2)
        now_s = 52.0
        progress.acknowledged(2, 1)
        now_s = 90.0  # the end of the file

    assert capsys.readouterr().err == "4 tuples acknowledged in 2.0 s (2/s); 3 changed something\n"


def test_a_file_without_tuples_took_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with PublishProgress("nothing", io.BytesIO(), None, quiet=False):
        pass

    assert capsys.readouterr().err == "0 tuples acknowledged in 0.0 s (0/s); 0 changed something\n"
