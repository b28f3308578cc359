"""Disks in memory for peers of the simulated network: what was committed outlives a crash, and nothing else does."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import TypeVar

import gsg.storage.disk.salvage
from dht import Identity
from gsg.storage.disk.data_directory import Past
from gsg.storage.disk.group_commit import GroupCommit
from gsg.storage.disk.journal import Group
from gsg.storage.disk.record_checksums import sum_of_group
from gsg.storage.disk.records import Row, records, rows_of
from gsg.storage.disk.salvage import Damage, DamagedGroup, sound
from gsg.storage.disk.scrub import Looked
from gsg.tuples.long_constants import Remains, remains_of

SLOWEST_S = 0.06
"""How long writing may take, and hearing that it was written as long again."""

Returned = TypeVar("Returned")


class SimDisk:
    """Stands for :class:`gsg.storage.disk.data_directory.DataDirectory`: its platters keep what the next at its path finds."""

    def __init__(self, platters: Platters, path: Path) -> None:
        self.path = path
        self.book: Path | None = None
        self._platters = platters
        self._open = self.is_new = False
        self.damage = Damage()

    def open(self) -> Past:
        """What the peer was. What is damaged is put right, or left out."""
        self._open = True
        platters = self._platters
        self.is_new = platters.past.peer is None
        written, platters.groups = platters.groups, {}
        for number, group in written.items():
            found = sound((number, *group), self.damage)
            if found is None:
                self.damage.records += 1
            else:
                _, clock, weight, rows = found
                platters.groups[number] = clock, weight, sum_of_group(number, clock, weight, rows), rows
        self.damage.records += platters.acknowledged - max(platters.groups, default=0)
        past = platters.past
        return replace(past, clock=max(past.clock, *(clock for clock, *_ in platters.groups.values()), 0))

    def read_identity(self) -> Identity | None:
        """The peer's key."""
        return self._platters.identity

    def write_identity(self, identity: Identity) -> None:
        """The peer's key is this."""
        self._platters.identity = identity

    def begin_life(self, past: Past) -> None:
        """What the peer is."""
        self._check()
        self._platters.past = past

    def note_port(self, port: int) -> None:
        """Where it is known."""
        self._check()
        past = self._platters.past
        self._platters.past = Past(past.peer, past.life, port, past.clock)

    @property
    def newest(self) -> int:
        """The number of the last group."""
        return self._platters.acknowledged

    @property
    def weight(self) -> int:
        """What all groups weigh."""
        return sum(weight for _, weight, _, _ in self._platters.groups.values())

    def all_rows(self) -> Iterator[list[Row]]:
        """All facts."""
        if facts := self._platters.facts():
            yield facts

    def oldest_facts(self, facts: int) -> tuple[int, list[Remains]]:
        """Those of the oldest group, whatever is asked for."""
        number, group = next(iter(self._platters.groups.items()))
        if not gsg.storage.disk.salvage.is_sound_group(number, *group):
            raise DamagedGroup(f"group {number} is not what was written")
        return number, [remains_of(fact) for fact, _ in rows_of(group[-1])]

    def scrub_some(self, after: int) -> Looked:
        """All that is there."""
        found = Damage()
        there = [number for number, group in self._platters.groups.items() if sound((number, *group), found) is not None]
        missing = sum(after - before - 1 for before, after in pairwise([*there, self.newest + 1]))
        return Looked(0, missing + found.corrected)

    def check(self) -> None:
        """The disk is where it was."""

    def commit(self, group: Group) -> None:
        """Written, all of it or nothing."""
        self._check()
        platters = self._platters
        if platters.full:
            raise sqlite3.OperationalError("database or disk is full")
        newest = platters.acknowledged
        platters.groups = {number: rows for number, rows in platters.groups.items() if number > group.until}
        platters.cleaned += group.until > 0
        for weight, rows in records(group.rows):
            newest += 1
            platters.groups[newest] = group.clock, weight, sum_of_group(newest, group.clock, weight, rows), rows
        platters.acknowledged = newest
        if not group.rows:
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
        self.groups: dict[int, tuple[int, int, bytes, bytes]] = {}
        """By number the clock, the weight, the checksum and the rows, as a real disk has them."""
        self.acknowledged = 0
        self.full = False
        self.cleaned = 0
        """How many writes had groups go."""
        self.flipped = 0
        """How many groups were damaged, or lost."""

    def facts(self) -> list[Row]:
        """All facts as they were written last."""
        rows = chain.from_iterable(rows_of(rows) for _, _, _, rows in self.groups.values())
        return [row for row in {remains_of(row[0]): row for row in rows}.values() if row[1]]

    def flip(self, bits: int, rng: Random) -> None:
        """So many bits of one group turn over; with none, the newest groups are lost, though they were acknowledged."""
        if not self.groups:
            return
        self.flipped += 1
        if not bits:
            for number in list(self.groups)[-rng.randint(1, 5) :]:
                del self.groups[number]
            return
        number = rng.choice(list(self.groups))
        clock, weight, checksum, rows = self.groups[number]
        damaged = bytearray(rows)
        for bit in rng.sample(range(8 * len(rows)), bits):
            damaged[bit // 8] ^= 1 << bit % 8
        self.groups[number] = clock, weight, checksum, bytes(damaged)


class SlowKeeping(GroupCommit):
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
