"""The client in JavaScript (clients/js), by node's own test runner with a real peer."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from gsg.http.door import HttpDoor

pytestmark = pytest.mark.waits

CLIENT = Path(__file__).resolve().parents[4] / "clients" / "js"
NODE = shutil.which("node")
TSC = shutil.which("tsc")


def major(node: str) -> int:
    """Its version."""
    return int(subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout[1:].partition(".")[0])


@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_the_client_in_javascript_passes_its_own_tests(door: HttpDoor) -> None:
    assert NODE is not None
    version = major(NODE)
    if version < 20:
        pytest.skip(f"node {version} has no WebSocket")
    # Before 22 it was there behind a flag.
    flags = ["--experimental-websocket"] if version < 22 else []
    files = sorted((CLIENT / "test").glob("*.test.js"))

    ran = await asyncio.create_subprocess_exec(
        *(NODE, *flags, "--test", "--test-timeout=30000", *files),
        cwd=CLIENT,
        env=os.environ | {"GSG_PEER": door.url},
        stdout=PIPE,
        stderr=STDOUT,
    )
    said, _ = await ran.communicate()

    assert files
    assert ran.returncode == 0, said.decode()
    assert "# skipped 0" in said.decode()


@pytest.mark.skipif(TSC is None, reason="tsc is not installed")
def test_the_types_of_the_client_allow_what_it_takes() -> None:
    assert TSC is not None
    options = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable")

    ran = subprocess.run([TSC, *options, "test/types.ts"], cwd=CLIENT, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (0, "")
