"""benchmarks/doors.py runs at small sizes, and each event reaches who asks for it."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import doors


def test_events_go_through_each_door(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["doors", "--quick", "--events", "100", "--json"])
    monkeypatch.setattr(doors, "FILM_DATA", doors.FILM_DATA / "none")
    monkeypatch.setattr(doors, "ROUND_TRIPS", 3)

    doors.main()

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["events"]
    assert {"/v1, msgpack", "/v1, gsg.v1+json", "/watch, server-sent events", "bare Starlette relay"} <= {
        figure["way"] for figure in figures
    }


def test_an_event_that_does_not_come_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "PATIENCE_S", 0.01)

    async def lost() -> None:
        heard = doors.Heard()
        heard.add(1)
        await heard.more(2)

    with pytest.raises(SystemExit) as ended:
        doors.run_checked(lost())
    assert ended.value.code == 1
