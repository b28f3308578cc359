"""A peer that the command is tried against."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from commands import END_S, Gsg, peer_command

from gsg.cli import main


@pytest.fixture(scope="module")
def running_peer() -> Iterator[dict[str, str]]:
    """A peer in a process of its own: the addresses of its doors. Tests tell their facts apart by their words."""
    process = subprocess.Popen(peer_command("--listen", ":0", "--http", ":0"), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = "".join(iter(process.stdout.readline, "ready; Ctrl-C stops\n"))
    yield {name: re.search(pattern, said)[1] for name, pattern in (("listen", r"listens on (\S+)"), ("url", r"door at (\S+)"))}  # type: ignore[index]  # it says both
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=END_S)


@pytest.fixture
def url(running_peer: dict[str, str]) -> str:
    return running_peer["url"]


@pytest.fixture
def gsg(url: str) -> Gsg:
    """Run the command against that peer."""
    return lambda *arguments, **options: CliRunner(env={"GSG_PEER": url}).invoke(main, list(map(str, arguments)), **options)


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port where nobody listens: it is ours, and is given back when the test ends."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
