"""Real peers, killed with SIGKILL all at once, on real disks."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from pathlib import Path

import pytest

import gsg
from gsg.cli.processes import PeerProcess, start

pytestmark = pytest.mark.waits

PEERS = 4
FACTS = [(f"{number}", gsg.Symbol("on"), f"{number // 2}") for number in range(200)]
RETRACTED = 50
PAIRS = "(?x, on, ?y), (?y, on, ?z)"
PATIENCE_S = 60
"""After this, what should have come by then is a failure rather than a test that hangs."""


async def kill(running: list[PeerProcess]) -> None:
    for one in running:
        with contextlib.suppress(ProcessLookupError):
            one.process.kill()
    for one in running:
        await one.process.wait()


async def rows_of(url: str, expected: Counter[str]) -> Counter[str]:
    """What a subscriber holds as soon as it is what is expected, or when patience ends."""
    held: Counter[str] = Counter()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S), gsg.connect(url) as client, await client.subscribe(PAIRS) as subscription:
            async for sign, row in subscription:
                held[str(row)] += sign
                if +held == expected:
                    break
    return +held


async def test_all_peers_are_killed_and_started_again_and_all_rows_are_as_before(tmp_path: Path) -> None:
    options = [("--data", str(tmp_path / f"{number}")) for number in range(PEERS)]
    running: list[PeerProcess] = []
    try:
        for option in options:
            running.append(await start(join=running[0].listen if running else None, options=option))
        async with gsg.connect(running[1].url) as client:
            await asyncio.gather(*(client.insert(FACTS[begin : begin + 20]) for begin in range(0, len(FACTS), 20)))
            await client.retract(FACTS[:RETRACTED])
        with gsg.Space() as space:
            space.insert(FACTS[RETRACTED:])
            expected = Counter(map(str, space.subscribe(PAIRS).rows().elements()))
        addresses = [one.listen for one in running]

        await kill(running)
        # Nobody is told whom to join, and all take the ports that they had.
        running = list(await asyncio.gather(*(start(options=option) for option in options)))

        assert [one.listen for one in running] == addresses
        for one in running:
            assert await rows_of(one.url, expected) == expected
    finally:
        await kill(running)
