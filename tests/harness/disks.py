"""Disks in memory for peers of the simulated network: what was committed outlives a crash, and nothing else does."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import TypeVar

from dht import Identity
from gsg.disk import Past
from gsg.entries import Mark
from gsg.journal import Group
from gsg.keeping import Keeping
from gsg.model import Tuple
from gsg.records import Row, weight_of
from gsg.salvage import Damage

SLOWEST_S = 0.06
"""How long writing may take, and hearing that it was written as long again."""

Returned = TypeVar("Returned")


class SimDisk:
    """Stands for :class:`gsg.disk.Disk`. The platters are what is there when another one is opened at the same path."""

    def __init__(self, platters: Platters, path: Path) -> None:
        self.path = path
        self.book: Path | None = None
        self._platters = platters
        self._open = self.is_new = False
        self.damage = Damage()

    def open(self) -> Past:
        """What the peer was."""
        self._open = True
        self.is_new = self._platters.past.peer is None
        return self._platters.past

    def read_identity(self) -> Identity | None:
        """The peer's key."""
        return self._platters.identity

    def write_identity(self, identity: Identity) -> None:
        """The peer's key is this."""
        self._platters.identity = identity

    def begin(self, past: Past) -> None:
        """What the peer is."""
        self._check()
        self._platters.past = past

    def entered(self, port: int) -> None:
        """Where it is known."""
        self._check()
        past = self._platters.past
        self._platters.past = Past(past.peer, past.life, port, past.clock)

    @property
    def newest(self) -> int:
        """The number of the last group."""
        return max(self._platters.groups, default=0)

    @property
    def weight(self) -> int:
        """What all groups weigh."""
        return sum(map(weight_of, self._platters.groups.values()))

    def facts(self) -> Iterator[list[Row]]:
        """All facts."""
        if facts := self._platters.facts():
            yield list(facts.items())

    def oldest(self, facts: int) -> tuple[int, list[Tuple]]:
        """Those of the oldest group, whatever is asked for."""
        number, rows = next(iter(self._platters.groups.items()))
        return number, [fact for fact, _ in rows]

    def commit(self, group: Group) -> None:
        """Written, all of it or nothing."""
        self._check()
        platters = self._platters
        if platters.full:
            raise sqlite3.OperationalError("database or disk is full")
        newest = self.newest
        platters.groups = {number: rows for number, rows in platters.groups.items() if number > group.until}
        platters.cleaned += group.until > 0
        if group.rows:
            platters.groups[newest + 1] = group.rows
        past = platters.past
        platters.past = Past(past.peer, past.life, past.port, group.clock)

    def close(self) -> None:
        """Nothing is written any more."""
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise sqlite3.ProgrammingError("the disk is gone")


class Platters:
    """What one disk holds."""

    def __init__(self) -> None:
        self.past = Past()
        self.identity: Identity | None = None
        self.groups: dict[int, list[Row]] = {}
        self.full = False
        self.cleaned = 0
        """How many writes had groups go."""

    def facts(self) -> dict[Tuple, list[Mark]]:
        """All facts as they were written last."""
        written = dict(chain.from_iterable(self.groups.values()))
        return {fact: marks for fact, marks in written.items() if marks}


class SlowKeeping(Keeping):
    """A memory on such a disk, which takes a while in the network's time."""

    def __init__(self, platters: Platters, folder: Path, rng: Random) -> None:
        super().__init__(folder)
        disk = SimDisk(platters, folder)
        self._disk = disk  # type: ignore[assignment]  # it does what a disk does
        self.book = None
        self._rng = rng

    async def _in_thread(self, work: Callable[[], Returned]) -> Returned:
        if self._keeps:
            await asyncio.sleep(self._rng.uniform(0.0, SLOWEST_S))
        done = work()
        if self._keeps:
            # A peer that dies here has written what nobody knows of.
            await asyncio.sleep(self._rng.uniform(0.0, SLOWEST_S))
        return done
