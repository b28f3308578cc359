"""What a service manager such as systemd is told, by sd_notify(3)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import END_S, peer_command
from well import WELL

from gsg.cli.peer.service_manager import ServiceManager, address_from, told_of, watchdog_s

pytestmark = pytest.mark.waits
ABSTRACT = pytest.mark.skipif(sys.platform != "linux", reason="the abstract namespace of sockets is Linux's")


@pytest.fixture(params=["path", pytest.param("abstract", marks=ABSTRACT)])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """The socket of one, and what stands in NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(END_S)
        name = str(tmp_path / "notify") if request.param == "path" else f"@gsg-test-{os.getpid()}"
        listening.bind(name.replace("@", "\0", 1))
        yield listening, name


def heard(listening: socket.socket) -> list[str]:
    return listening.recv(4096).decode().split("\n")


def test_a_peer_says_when_it_is_ready_that_it_lives_and_that_it_stops(manager: tuple[socket.socket, str]) -> None:
    listening, name = manager
    environment = os.environ | {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"}
    process = subprocess.Popen(peer_command("--listen", ":0", "--http", "none"), env=environment, stdout=subprocess.DEVNULL)
    try:
        assert heard(listening) == ["READY=1"]
        assert [heard(listening) for _ in range(3)] == [["WATCHDOG=1", "STATUS=ready, 1 peer known"]] * 3
        process.send_signal(signal.SIGTERM)
        while (said := heard(listening))[0] != "STOPPING=1":
            assert said[0] == "WATCHDOG=1"
        assert said == ["STOPPING=1", "STATUS=handing over what this peer holds"]
        assert process.wait(END_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_peer_whose_work_has_ended_says_so_and_not_that_it_lives() -> None:
    assert told_of(replace(WELL, ended=("disk",))) == {"STATUS": "work: has ended, and will not go on: disk"}
    assert told_of(replace(WELL, disk_problem="its disk\nis full")) == {"WATCHDOG": "1", "STATUS": "disk: its disk\\u000Ais full"}


@pytest.mark.parametrize(
    ("environment", "every_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_answered_where_it_is_this_process_that_it_watches(
    environment: dict[str, str], every_s: float | None
) -> None:
    assert watchdog_s(environment, 7) == every_s


@pytest.mark.parametrize(("named", "address"), [("/run/x", "/run/x"), ("@x/y", "\0x/y"), ("", None), ("x", None)])
def test_where_a_manager_listens(named: str, address: str | None, caplog: pytest.LogCaptureFixture) -> None:
    assert address_from({"NOTIFY_SOCKET": named}) == address
    assert ("expected a path or a name that begins with @" in caplog.text) is (named == "x")


async def test_a_manager_that_has_gone_is_a_warning_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    with ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}) as told:
        told.started(lambda: WELL)
        told.stopping()

    assert [record.levelno for record in caplog.records if "service manager" in record.message] == [30, 20, 20]


async def test_nothing_is_done_where_nobody_asks() -> None:
    with ServiceManager({"WATCHDOG_USEC": "1000"}) as told:
        told.started(lambda: pytest.fail("nobody is to be told"))
        told.stopping()
        await asyncio.sleep(0)

    assert told._next is None
