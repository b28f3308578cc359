"""What `gsg publish` says of its progress."""

from __future__ import annotations

import io

import pytest

from gsg.cli.publish.progress import TOLD, PublishProgress
from gsg.errors import BadText


def test_only_the_time_from_the_first_sent_to_the_last_acknowledged_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 10.0
    monkeypatch.setattr("gsg.cli.publish.progress.time.perf_counter", lambda: now_s)
    with PublishProgress(["a script"], quiet=False) as progress:
        now_s = 50.0  # read and parsed
        progress.sending()
        now_s = 51.0
        progress.sending()
        progress.acknowledged(2, 2)
        now_s = 52.0
        progress.acknowledged(2, 1)
        now_s = 90.0  # the end of the file

    assert capsys.readouterr().err == "4 facts acknowledged in 2.0 s (2/s); 3 changed something\n"


def test_a_file_without_tuples_took_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with PublishProgress(["nothing"], quiet=False):
        pass

    assert capsys.readouterr().err == "0 facts acknowledged in 0.0 s (0/s); 0 changed something\n"


@pytest.mark.parametrize(
    ("said", "sum_"),
    [
        ([(2, None)], "2 events acknowledged in 0.0 s (2,000,000,000/s)"),
        ([(2, None), (1, 0)], "1 fact and 2 events acknowledged in 0.0 s (3,000,000,000/s); 0 changed something"),
    ],
    ids=["events", "both"],
)
def test_events_change_nothing(said: list[tuple[int, int | None]], sum_: str, capsys: pytest.CaptureFixture[str]) -> None:
    with PublishProgress(["a script"], quiet=False) as progress:
        for count, changed in said:
            progress.acknowledged(count, changed)
        progress._acknowledged_s = progress._started_s

    assert capsys.readouterr().err == f"{sum_}\n"


def test_what_was_acknowledged_before_a_mistake_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    mistake = ValueError("a mistake")
    progress = PublishProgress(["a script"], quiet=False)
    progress.sending()
    progress.acknowledged(1, None)

    progress.__exit__(ValueError, mistake, None)

    assert capsys.readouterr().err == "1 event was acknowledged before this stopped\n"


def test_of_several_files_each_is_accounted_for(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PublishProgress(["a.nt", "b.nt", "c.nt", "d.nt"], quiet=False, lenient=True)
    progress.begin(io.BytesIO(), None)
    progress.sending()
    progress.acknowledged(2, 1)
    progress.skip(BadText("a mistake", line=1))
    progress.end()
    progress.begin(io.BytesIO(), None)
    progress.acknowledged(1, 1)

    progress.__exit__(ValueError, ValueError(), None)

    assert capsys.readouterr().err == (
        "gsg: skipped: script line 1, column 1: a mistake\n"
        "3 facts were acknowledged before this stopped: a.nt as a whole, 1 fact of b.nt; "
        "nothing of c.nt, d.nt; 1 mistake skipped\n"
    )


def test_mistakes_that_are_skipped_are_told_up_to_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with PublishProgress(["a.nt"], quiet=False, as_json=True, lenient=True) as progress:
        for line in range(3 * TOLD):
            progress.skip(BadText("a mistake", line=line + 1))

    said = capsys.readouterr()
    assert len(said.err.splitlines()) == TOLD + 1
    assert '"skipped": 60, ' in said.out
