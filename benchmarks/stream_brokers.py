"""The relay and the brokers that benchmarks/stream.py compares with: started on loopback, or named where they are not installed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


@asynccontextmanager
async def served(kind: str) -> AsyncIterator[tuple[int, int]]:
    """A relay or broker on loopback: its process and port."""
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        if kind == "relay":
            command = [sys.executable, "-m", "benchmarks.stream_relay"]
        elif kind == "nats":
            command = ["nats-server", "--addr", "127.0.0.1", "--port", str(port)]
        else:
            # Without a limit for a subscriber it drops what is beyond 1,000 messages.
            config = Path(folder) / "mosquitto.conf"
            config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
            command = ["mosquitto", "-c", str(config)]
        quiet = subprocess.PIPE if kind == "relay" else subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *command, stdout=quiet, stderr=None if kind == "relay" else quiet, process_group=0
        )
        try:
            if process.stdout is not None:
                port = int(await process.stdout.readline())
            else:
                await _until_it_listens(port)
            yield process.pid, port
        finally:
            process.kill()
            await process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def _until_it_listens(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)


BROKERS = {
    "nats": ("nats-server", "nats", "nats-py"),
    "mqtt": ("mosquitto", "paho", "paho-mqtt"),
}
"""By way: the program, which is also its Debian package, the module, and the package that has it."""


def missing(kind: str) -> str:
    """What a way lacks here; nothing where it can be measured."""
    if kind not in BROKERS:
        return ""
    program, module, package = BROKERS[kind]
    lacks = []
    if not has_program(program):
        lacks.append(f"the program {program} (Debian package {program})")
    if importlib.util.find_spec(module) is None:
        lacks.append(f"the Python package {package}")
    return " and ".join(lacks)


def has_program(name: str) -> bool:
    """Whether a program is installed. Debian puts servers where users who are not root do not look: this process does."""
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin"
    return shutil.which(name) is not None
