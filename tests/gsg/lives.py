"""Peers of a simulated network that keep what they hold, and are killed and started again, with their disks or without."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from peers import PORT, quiet

import gsg.storage.disk.database
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.storage.disk.group_commit import GroupCommit

Returned = TypeVar("Returned")


class Lives:
    """Peers by number, each at a host of its own with a data directory of its own."""

    def __init__(self, net: SimNet, folder: Path) -> None:
        self.net = net
        self._folder = folder
        self._hosts: list[str] = []
        self._disks: list[int] = []
        self.peers: dict[int, Peer] = {}
        """Those that run."""
        self.ahead_s: dict[int, float] = {}
        """By number, how far a peer's clock is ahead."""

    async def begin(self, size: int) -> None:
        """So many peers that know each other."""
        for number in range(size):
            self._hosts.append(self.net.host())
            self._disks.append(0)
            await self.start(number, join=[(self._hosts[0], PORT)] if number else [])
        await quiet()

    def folder(self, number: int) -> Path:
        """The data directory that a peer has now."""
        return self._folder / f"{number}-{self._disks[number]}"

    async def start(self, number: int, *, join: list[tuple[str, int]] | None = None) -> Peer:
        """Start a peer, which finds the others by its address book alone unless it is told how."""
        peer = Peer(
            (self._hosts[number], PORT),
            join or (),
            data=self.folder(number),
            rng=self.net.rng(),
            clock=lambda: self.net.loop.time() + self.ahead_s.get(number, 0.0),
        )
        self.peers[number] = await peer.__aenter__()
        return peer

    async def kill(self, number: int, *, lose_disk: bool = False, quietly: bool = False) -> None:
        """A peer is gone in this moment; what it had not written by now never is."""
        peer = self.peers.pop(number)
        keeping = peer._disk
        assert isinstance(keeping, GroupCommit)
        keeping.abandon()
        host = self._hosts[number]
        self.net.crash(host, quietly=quietly)
        await peer.__aexit__(ConnectionError, None, None)
        self.net.restart(host)
        if lose_disk:
            self._disks[number] += 1

    async def stop(self, number: int) -> None:
        """A peer is stopped in order."""
        await self.peers.pop(number).__aexit__(None, None, None)

    async def end(self) -> None:
        """Kill those that are left."""
        for number in list(self.peers):
            await self.kill(number)


def slow_disks(
    monkeypatch: pytest.MonkeyPatch, seed: int, *, least_s: float = 0.0, most_s: float = 0.1, only: Peer | None = None
) -> None:
    """Disks take time, in the network's time, so that peers die while they write; real ones are not waited for."""
    rng = Random(seed)
    monkeypatch.setattr(gsg.storage.disk.database, "SYNCHRONOUS", "OFF")

    async def slow(work: Callable[[], Returned]) -> Returned:
        before_s = rng.uniform(least_s, most_s) if least_s or rng.random() < 0.5 else 0.0
        await asyncio.sleep(before_s)
        done = work()
        if not before_s:
            await asyncio.sleep(rng.uniform(least_s, most_s))
        return done

    if only is None:
        monkeypatch.setattr(GroupCommit, "_in_thread", lambda keeping, work: slow(work))
    else:
        monkeypatch.setattr(only._disk, "_in_thread", slow)


def fill(peer: Peer) -> None:
    """Let a peer's disk be full."""
    _execute(peer, "PRAGMA max_page_count=1")


def make_room(peer: Peer) -> None:
    """Let it have room again."""
    _execute(peer, "PRAGMA max_page_count=1000000")


def _execute(peer: Peer, statement: str) -> None:
    keeping = peer._disk
    assert isinstance(keeping, GroupCommit)
    connection: sqlite3.Connection = keeping._disk._opened
    connection.execute(statement)


def live(
    work: Callable[[Lives], Coroutine[Any, Any, None]],  # Any: as coroutines have it
    folder: Path,
    *,
    seed: int,
    size: int,
) -> None:
    """Run ``work`` with so many peers."""

    async def main(net: SimNet) -> None:
        lives = Lives(net, folder)
        await lives.begin(size)
        await work(lives)
        await lives.end()

    run(main, seed=seed)
