"""Peers in processes of their own, on loopback: for the demo, benchmarks, and whoever wants an overlay to play with."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

READY_S = 60.0
"""How long a peer may take to say that it is ready."""

STOP_S = 15.0
"""How long a peer may take to stop; then it is killed."""


@dataclass(slots=True)
class PeerProcess:
    """A running `gsg peer`."""

    process: asyncio.subprocess.Process
    id: bytes
    listen: str
    url: str
    pedro: str

    def peak_memory_bytes(self) -> int:
        """The most memory that the process has had resident so far (0 where the system does not tell)."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0


async def start(*, join: str | None = None, pedro: bool = False, options: Sequence[str] = (), quietly: bool = False) -> PeerProcess:
    """Start one peer on free ports and wait until it is ready; ``options`` are further ones of ``gsg peer``. What it logs goes
    where what this process logs does, or ``quietly`` nowhere.

    Raises RuntimeError with what it said when it is not.
    """
    arguments = ["--with-parent", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    if join is not None:
        arguments += ["--join", join]
    if pedro:
        arguments += ["--pedro", "127.0.0.1:0"]
    arguments += options
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gsg", "peer", "--quiet", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL if quietly else None,
        # A group of its own: Ctrl-C on the terminal is for whoever started the peers, who then stops them in order.
        process_group=0,
    )
    assert process.stdout is not None
    said = ""
    try:
        async with asyncio.timeout(READY_S):
            while not said.endswith("stops\n"):
                line = (await process.stdout.readline()).decode()
                if not line:
                    raise RuntimeError(f"a peer ended with status {await process.wait()}: {said}")
                said += line
    except BaseException:
        # Nobody else knows of it yet, so nobody else would stop it.
        await _kill(process)
        raise
    peer, url, door = (
        re.search(pattern, said)
        for pattern in (r"peer ([0-9a-f]+) listens on (\S+)", r"http door at (\S+)", r"pedro door at (\S+)")
    )
    assert peer is not None
    assert url is not None
    return PeerProcess(process, bytes.fromhex(peer[1]), peer[2], url[1], door[1] if door is not None else "")


@contextlib.asynccontextmanager
async def running(*, options: Sequence[str] = (), quietly: bool = False) -> AsyncIterator[PeerProcess]:
    """One peer, with further options of ``gsg peer``; leaving kills it, unless it has ended. Raises RuntimeError as above."""
    one = await start(options=options, quietly=quietly)
    try:
        yield one
    finally:
        await _kill(one.process)


@contextlib.asynccontextmanager
async def peers(count: int, *, pedro: bool = False, options: Sequence[str] = ()) -> AsyncIterator[list[PeerProcess]]:
    """So many peers in one overlay, with further options of ``gsg peer`` for each; leaving stops them.

    The first starts alone, and the others together, by it. Raises RuntimeError as :func:`start`.
    """
    running: list[PeerProcess] = []
    try:
        running.append(await start(pedro=pedro, options=options))
        others = [asyncio.create_task(start(join=running[0].listen, pedro=pedro, options=options)) for _ in range(count - 1)]
        try:
            await asyncio.gather(*others)
        finally:
            # Where one failed, the rest are waited for: each stops its own process unless it has given it to us.
            for other in others:
                other.cancel()
            for outcome in await asyncio.gather(*others, return_exceptions=True):
                if isinstance(outcome, PeerProcess):
                    running.append(outcome)
        yield running
    finally:
        # Twice: all of them stop, so there is nobody to hand anything over to.
        for one in running * 2:
            with contextlib.suppress(ProcessLookupError):
                one.process.send_signal(signal.SIGINT)
        try:
            for one in running:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(one.process.wait(), STOP_S)
        finally:
            for one in running:
                await _kill(one.process)


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
