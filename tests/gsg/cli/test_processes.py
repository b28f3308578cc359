"""Peers in processes of their own are gone when whoever started them is done with them, whatever they do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gsg.cli import processes

Process = asyncio.subprocess.Process


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Process]:
    """The processes that were started."""
    kept: list[Process] = []
    make = asyncio.create_subprocess_exec

    async def keep(*command: str, **options: object) -> Process:
        kept.append(await make(*command, **options))  # type: ignore[arg-type]  # handed on as they are
        return kept[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", keep)
    return kept


def stubborn(monkeypatch: pytest.MonkeyPatch, folder: Path, says: str) -> None:
    """Start a program that says this and does not stop in the place of a peer."""
    program = folder / "stubborn"
    program.write_text(
        f"#!{sys.executable}\nimport signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"print({says!r}, end='', flush=True)\ntime.sleep(600)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


async def test_a_peer_that_does_not_become_ready_is_killed(
    started: list[Process], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stubborn(monkeypatch, tmp_path, "")
    monkeypatch.setattr(processes, "READY_S", 0.5)

    with pytest.raises(TimeoutError):
        await processes.start()

    assert [process.returncode for process in started] == [-9]


async def test_a_peer_that_does_not_stop_is_killed(started: list[Process], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stubborn(monkeypatch, tmp_path, "peer 1f listens on h:1\nhttp door at http://h:2\nready; Ctrl-C stops\n")
    monkeypatch.setattr(processes, "STOP_S", 0.5)

    async with processes.peers(1) as [one]:
        assert (one.id, one.listen, one.url) == (b"\x1f", "h:1", "http://h:2")

    assert [process.returncode for process in started] == [-9]
