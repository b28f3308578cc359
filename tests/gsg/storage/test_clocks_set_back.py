"""Peers whose clock is far behind when they start again, as that of a machine without a battery is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lives import Lives, slow_disks
from peers import quiet

from dht.liveness.incarnations import LIVES_APART
from dht.simnet import SimNet, run
from gsg.storage.clock import CLOCKS_APART_S
from gsg.tuples.terms import Tuple

BEHIND_S = -40 * 365 * 86_400.0
"""As if it were 1986."""


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)


def live(work: Callable[[Lives], Coroutine[Any, Any, None]], folder: Path, *, size: int) -> None:  # Any: as coroutines have it
    """Run ``work`` with so many peers whose clocks are right at first."""

    async def main(net: SimNet) -> None:
        lives = Lives(net, folder)
        lives.ahead_s = dict.fromkeys(range(size), -BEHIND_S)
        await lives.begin(size)
        await work(lives)
        await lives.end()

    run(main, seed=5)


async def start_behind(lives: Lives, number: int) -> None:
    """A peer starts when its clock is behind."""
    lives.ahead_s[number] = 0.0
    await lives.start(number)


def test_what_was_changed_meanwhile_is_taken_from_others(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        other = lives.peers[0]
        old: list[Tuple] = [(f"{number}", "old") for number in range(20)]
        new: list[Tuple] = [(f"{number}", "new") for number in range(20)]
        await other.insert(old)
        await lives.kill(1)
        # Later than what the stopped one makes of its own clock.
        for number in (0, 2):
            lives.ahead_s[number] += 2 * 86_400.0
        await other.retract(old)
        await other.insert(new)

        await start_behind(lives, 1)
        await quiet()
        await quiet()

        for peer in lives.peers.values():
            for number in range(20):
                async with await peer.subscribe(f'("{number}", ?y)') as subscription:
                    assert [row["y"] for row in subscription.rows()] == ["new"]

    live(work, tmp_path, size=3)


@pytest.mark.parametrize("lived_s", [0.0, 10 * CLOCKS_APART_S], ids=["a moment", "long"])
def test_a_publisher_does_not_use_its_numbers_again(lived_s: float, tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        await asyncio.sleep(lived_s)
        await lives.peers[1].notify([("tick",)])
        last = lives.peers[1]._parts.publisher.record.last

        await lives.kill(1)
        await start_behind(lives, 1)

        assert lives.peers[1]._parts.publisher.record.last > last

    live(work, tmp_path, size=2)


def test_others_see_that_it_lives_anew(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        keeping = lives.peers[1]._disk
        await lives.kill(1)
        await start_behind(lives, 1)

        assert lives.peers[1]._disk.past.life == keeping.past.life + LIVES_APART

    live(work, tmp_path, size=2)
