"""`gsg peer --facilitator` and `--take-part` in processes of their own, and `gsg simulate dissemination --log` of their log."""

from __future__ import annotations

import json
import signal
from asyncio import timeout
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import END_S

from gsg.cli import main
from gsg.cli.processes import PeerProcess, running

pytestmark = pytest.mark.waits

QUICK = ("--experiment-settle", "1", "--experiment-quiet", "0.5", "--experiment-watch", "1", "--experiment-events", "10")


async def lines_until(peer: PeerProcess, last: str) -> list[str]:
    """What a peer says, up to a line that begins so."""
    assert peer.process.stdout is not None
    said: list[str] = []
    async with timeout(END_S):
        while not (said and said[-1].startswith(last)):
            line = await peer.process.stdout.readline()
            assert line, said
            said.append(line.decode().rstrip())
    return said


async def test_an_experiment_of_processes_is_read_beside_a_simulation(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lead = ("--facilitator", str(log), "--experiment-peers", "4", "--experiment-subscribers", "0.5", "--experiment-removed", "0.25")
    async with AsyncExitStack() as stack:
        facilitator = await stack.enter_async_context(running(options=(*lead, *QUICK)))
        follow = ("--take-part", facilitator.listen)
        participants = [await stack.enter_async_context(running(options=follow)) for _ in range(4)]
        said = await lines_until(facilitator, "experiment: the log is in")
        ended = [each for each in participants if each.process.returncode is not None]

    read = CliRunner().invoke(
        main, ["simulate", "dissemination", "--log", str(log), "--out", str(tmp_path / "out"), "--engine", "numpy", "--json"]
    )

    assert said[0] == "experiment: all 4 have come, and settle for 1 s"
    assert said[-1].endswith(f"(all rows are there); gsg simulate dissemination --log {log} reads it")
    assert [each.process.returncode for each in ended] == [-signal.SIGKILL]
    assert read.exit_code == 0, read.output
    real = [row for row in json.loads(read.stdout) if row["source"] == "real"]
    exchange, diffusion = real
    assert (exchange["agents"], exchange["removed"]) == (4, 0.25)
    assert (diffusion["reached"], diffusion["missed"], diffusion["carriers"]) == (1, 0, 0)
    assert diffusion["steady_payloads"] == 0.5


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--experiment-peers", "9"), "--experiment-peers is for the peer that leads an experiment; add --facilitator DIR"),
        (("--facilitator", "log", "--take-part", ":1"), "--facilitator leads an experiment and --take-part follows one"),
        (
            ("--facilitator", "log", "--experiment-peers", "4"),
            "an experiment with a share of 0.25 of 4 subscribe; expected two at least",
        ),
        (("--facilitator", "log", "--experiment-subscribers", "all"), "'all'; expected numbers between commas, such as 0.25,0.5"),
        (("--take-part", "nowhere"), "'nowhere'"),
    ],
    ids=["not the leader", "both", "too few", "no shares", "no address"],
)
def test_what_cannot_be_is_refused_before_anything_begins(options: Sequence[str], complaint: str) -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", ":0", "--http", "none", *options])

    assert result.exit_code == 2
    assert complaint in result.stderr.replace("\n", " ")
