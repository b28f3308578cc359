"""Group commit: what has changed is on disk before it is acknowledged, one transaction and one fsync for all that came meanwhile.

    open ──> good ──a write fails──> failing: changes are refused with the reason ──a try every RETRY_S succeeds──> good ──> closed

The loop never waits for the disk: the writing is a thread's (:mod:`gsg.storage.disk.data_directory`), and what to write is the
journal's (:mod:`gsg.storage.disk.journal`). A change whose write failed stays in memory and in the journal, unacknowledged, and is
written when the disk takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import dht

from ...errors import BadData, Refused
from ...tuples.long_constants import Remains
from ...wire.status_messages import Count
from ..clock import HybridClock
from ..facts_by_key import FactsByKey
from ..tombstones import TOMBSTONE_S
from .compaction import Compaction
from .data_directory import DataDirectory, Past
from .journal import GROUP_FACTS, Journal
from .records import in_reason
from .room import Room, room_of
from .salvage import Damage, DamagedGroup
from .scrub import SCRUB_AGAIN_S, SCRUB_S, Looked

log = logging.getLogger(__name__)

WAITING_FACTS = 100_000
"""Changed facts that wait for the disk; beyond, changes are refused until it has caught up."""
RETRY_S = 1.0
"""How often a disk that failed is tried again."""
LOOK_S = 1.0
"""How long changes that nobody waits for may lie: keys that were dropped, tombstones that were forgotten."""
ROOM_S = 10.0
"""How often it is looked how much room there is."""

Returned = TypeVar("Returned")


class NoDisk:
    """The memory of a peer without a data directory: there is none."""

    book: Path | None = None
    """The file of the address book."""
    past = Past()
    """What the peer was when it was last started."""
    resumed = False
    """Whether it has been in the overlay before."""
    room = Room()
    """What it takes, as of late."""
    work = ""
    """What the peer calls that which :meth:`run` does, if it goes on for as long as the peer lives."""

    @property
    def problem(self) -> str:
        """Why no change can be kept now; empty where it can."""
        return ""

    async def open(self, wanted: dht.Identity | None, draw: Callable[[], dht.Identity]) -> dht.Identity:
        """Who the peer was before, or else ``wanted``, or a drawn one."""
        return wanted or draw()

    async def resume(self, entries: FactsByKey, clock: HybridClock) -> None:
        """Put back what was there before, and keep it from now on."""

    async def begin_life(self, peer: bytes, life: int) -> None:
        """The peer is about to enter the overlay as this."""

    async def note_entered(self, port: int, *, alone: bool) -> None:
        """The peer is in the overlay, where others know it by this port, if there are any."""

    async def run(self) -> None:
        """What goes on meanwhile."""

    async def close(self) -> None:
        """The peer has stopped."""

    def check(self) -> None:
        """Raise Refused where no change can be kept now."""

    def check_room(self) -> None:
        """Raise Refused where too many changes wait to be kept."""

    def until_kept(self) -> Callable[[], Awaitable[None]] | None:
        """Waits until all that has changed so far is kept, or raises Refused. None where there is nothing to wait for."""
        return None

    def counts(self) -> Iterable[Count]:
        """For ``gsg status``."""
        return ()


class GroupCommit(NoDisk):
    """The memory of a peer with a data directory."""

    work = "disk"

    def __init__(self, folder: Path) -> None:
        self._disk = DataDirectory(folder)
        self.book = self._disk.book
        self._journal: Journal
        self._entries: FactsByKey
        self._compaction: Compaction
        # One thread, so that what is written is written in order; it ends with close().
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gsg disk")
        self._wake = asyncio.Event()
        self._waiters: deque[tuple[int, asyncio.Future[str]]] = deque()
        """Marks of the journal, ascending, and what tells that they are reached: "" or why not. Bounded by WAITING_FACTS."""
        self._resumed_at = 0
        self._failing = ""
        self._is_open = self._keeps = False
        self._writes = self._facts = self._failures = self._refused = 0
        self._damaged = self._corrected = 0
        self._scrubbed = 0
        """The number of the last group that was looked at in this round."""
        self._scrub_at_s = self._room_at_s = 0.0

    @property
    def problem(self) -> str:
        """As in NoDisk."""
        if not self._failing and self._journal.waiting >= WAITING_FACTS:
            return f"{self._journal.waiting} changes wait for its disk already"
        return self._failing

    async def _in_thread(self, work: Callable[[], Returned]) -> Returned:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def open(self, wanted: dht.Identity | None, draw: Callable[[], dht.Identity]) -> dht.Identity:
        """As in NoDisk: open the directory. Raises BadData."""
        self.past = past = await self._in_thread(self._disk.open)
        self._is_open = True
        self._tell_damage(self._disk.damage)
        self.resumed = past.port != 0
        try:
            kept = await self._in_thread(self._disk.read_identity)
            if kept is None:
                # Drawn here and not in the thread, which may not share the source.
                made = wanted or draw()
                self._check_same(past.peer if wanted is not None else None, made.id)
                await self._in_thread(lambda: self._disk.write_identity(made))
                if past.peer is not None:
                    log.warning(
                        "the key of %s is gone: this peer, %s before, has another id", self._disk.path, past.peer.hex()[:12]
                    )
                return made
        except dht.BadIdentity as error:
            raise BadData(str(error)) from None
        if self._disk.is_new:
            log.warning(
                "%s is missing or empty beside the key of peer %s: it starts without facts, and others give it what they hold; "
                "put the file back if you have it, before others come",
                self._disk.path,
                kept.id.hex()[:12],
            )
        if past.peer is None and not self._disk.is_new:
            # The file does not say so any more.
            self.past = past = replace(past, peer=kept.id)
        self._check_same(past.peer, kept.id)
        if wanted is not None:
            self._check_same(kept.id, wanted.id)
        return kept

    def _tell_damage(self, damage: Damage) -> None:
        """Say what the directory has lost, if anything."""
        self._damaged += damage.records
        self._corrected += damage.corrected
        if damage.said:
            log.error("%s does not say any more what this peer's %s was", self._disk.path, ", ".join(damage.said))
        if damage.mark:
            log.error(
                "the file beside %s that says what was acknowledged is damaged or gone: what is lost may not be known",
                self._disk.path,
            )
        if damage.records or damage.pages:
            log.error(
                "%s was damaged: %d of its records are wrong or missing%s, and left out; others give this peer what they hold of "
                "them, what nobody else holds is lost, and what was retracted more than %g h ago may come back; one record may be "
                "of %d facts, as many as were written at once",
                self._disk.path,
                damage.records,
                f" ({damage.pages})" if damage.pages else "",
                TOMBSTONE_S / 3600,
                GROUP_FACTS,
            )
        if damage.corrected:
            log.warning(
                "of %d records in %s one bit was wrong, and was put right; look at the disk", damage.corrected, self._disk.path
            )
        if damage.is_in_file and damage.kept is not None:
            log.warning("what is sound is in a new file; the damaged one is kept as %s until another one is", damage.kept)

    def _check_same(self, was: bytes | None, will_be: bytes) -> None:
        if was is not None and was != will_be:
            raise BadData(
                f"{self._disk.path} is the memory of peer {was.hex()[:12]}, and this is to be {will_be.hex()[:12]}; "
                "give each peer a directory of its own, with its own key"
            )

    async def resume(self, entries: FactsByKey, clock: HybridClock) -> None:
        """As in NoDisk. Raises BadData."""
        # Others may have what goes now, also while this peer is alone.
        entries.remembering = True
        limit_us = clock.limit_us()
        latest = self.past.clock if self.past.clock <= limit_us else 0
        facts = self._disk.all_rows()
        life = self.past.life if self.past.life * 1000 <= limit_us else 0
        beyond = self._disk.damage.times + (latest != self.past.clock) + (life != self.past.life)
        self.past = replace(self.past, life=life, clock=latest)
        while some := await self._in_thread(lambda: next(facts, None)):
            rows, late = in_reason(some, limit_us)
            beyond += late
            latest = max(latest, entries.restore(rows))
        entries.restored()
        if beyond:
            log.error(
                "%d times in %s are far beyond all others, or this peer's clock: they are damaged, or the clock is or was wrong; "
                "what they were said of is kept as the earliest word on it, and whatever other peers say of it holds",
                *(beyond, self._disk.path),
            )
        if self.past.peer is not None:
            clock.resume(latest)
        away_s = clock.now_us() / 1_000_000 - latest / 1_000_000
        if latest and away_s > TOMBSTONE_S:
            log.warning(
                "what is in %s is %.1f hours old: what others retracted since, and more than %g hours ago, may come back "
                "with it; where others have all facts, start this peer with an empty directory",
                self._disk.path,
                away_s / 3600,
                TOMBSTONE_S / 3600,
            )
        self._entries = entries
        self._journal = Journal(entries, clock)
        self._compaction = Compaction(lambda: len(entries) + entries.buried.count)
        self._resumed_at = clock.latest
        self._keeps = True

    async def begin_life(self, peer: bytes, life: int) -> None:
        """Write down who the peer is, before anybody hears of it. Raises BadData."""
        # A life is named by the milliseconds in which it begins. What it publishes has later numbers than the time at which it
        # resumed: the next life is to begin after these, even if this one ends before anything else is written.
        self.past = Past(peer, life, self.past.port, max(life * 1000, self._resumed_at))
        await self._in_thread(lambda: self._disk.begin_life(self.past))

    async def note_entered(self, port: int, *, alone: bool) -> None:
        """Write down where it has lived: who has not must be let in where it is told to join, and who has may go on alone."""
        if alone and self._disk.damage.records:
            log.error(
                "this peer knows of no other: what %d damaged records of its disk said is lost unless others come that hold it",
                self._disk.damage.records,
            )
        try:
            await self._in_thread(lambda: self._disk.note_port(port))
        except BadData as error:
            log.warning("%s; where nobody answers when it is started again, this peer will not go on alone", error)

    async def run(self) -> None:
        """Write what has changed, group after group, until cancelled."""
        # All of it has just been looked at.
        self._scrub_at_s = asyncio.get_running_loop().time() + SCRUB_AGAIN_S
        while True:
            if not self._journal.waiting and not self._compaction.is_anew:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._wake.wait()
            await self._write()
            if asyncio.get_running_loop().time() >= self._room_at_s:
                self._room_at_s = asyncio.get_running_loop().time() + ROOM_S
                self.room = await self._in_thread(lambda: room_of(self._disk.path.parent))
            if self._failing:
                await asyncio.sleep(RETRY_S)
            elif asyncio.get_running_loop().time() >= self._scrub_at_s:
                await self._scrub()

    async def _scrub(self) -> None:
        """Look at some of what is on disk."""
        try:
            looked = await self._in_thread(lambda: self._disk.scrub_some(self._scrubbed))
        except OSError as error:
            self._failed(f"its disk failed ({error})")
            return
        except sqlite3.Error as error:
            # What is written there is found again by its checksum, wherever it is. It takes a new file to be rid of the rest.
            log.error(
                "pages of %s are damaged (%s): stop this peer and start it again, which puts what is sound into a new file, and "
                "others give it the rest",
                *(self._disk.path, error),
            )
            self._damaged += 1
            looked = Looked(0, 0)
        self._scrubbed = looked.last
        self._scrub_at_s = asyncio.get_running_loop().time() + (SCRUB_S if looked.last else SCRUB_AGAIN_S)
        if looked.damaged and not self._compaction.is_anew:
            self._write_anew(looked.damaged)

    def _write_anew(self, damaged: int) -> None:
        """So many groups are damaged: nobody knows which facts they had, so all are written once more."""
        self._damaged += damaged
        log.error(
            "%d records in %s are damaged or missing: all facts are written there anew from memory, and nothing is lost; look at "
            "the disk",
            *(damaged, self._disk.path),
        )
        self._compaction.begin_anew(self._entries.all_known(), self._disk.newest)

    async def _write(self) -> None:
        """Write one group, if there is anything to write; who waits for it is told."""
        try:
            until, again = 0, list[Remains]()
            if self._compaction.is_anew:
                # Where all of these have been written under another key, there is nothing else that others would have a turn by.
                await asyncio.sleep(0)
                until, again = self._compaction.next_of_all()
            elif self._journal.waiting and self._compaction.is_due(self._disk.weight, self._disk.newest):
                share = self._compaction.share(self._journal.waiting)
                try:
                    until, again = await self._in_thread(lambda: self._disk.oldest_facts(share))
                except DamagedGroup:
                    self._write_anew(1)
                    until, again = self._compaction.next_of_all()
            # As things stand now that nothing else is waited for.
            group = self._journal.take(self._compaction.without_written(again), until)
            if group is not None:
                await self._in_thread(lambda: self._disk.commit(group))
            elif self._failing:
                await self._in_thread(self._disk.check)
            else:
                return
        except (sqlite3.Error, OSError, BadData) as error:
            self._failed(f"its disk failed ({error})")
        except Exception as error:
            # A defect of ours: whoever waits is told as well, and it is tried again.
            if not self._failing:
                log.exception("a group could not be written")
            self._failed(
                f"it failed itself while it wrote to its disk ({type(error).__name__}: {error}), of which its log says more"
            )
        except BaseException:
            self._journal.failed()
            raise
        else:
            if group is not None:
                self._journal.written()
                self._compaction.note_written(group)
                self._writes += 1
                self._facts += len(group.rows)
            if self._failing:
                self._failing = ""
                log.warning("%s is written to again; changes are taken", self._disk.path)
            while self._waiters and self._waiters[0][0] <= self._journal.on_disk:
                _tell(self._waiters.popleft()[1], "")

    def _failed(self, problem: str) -> None:
        self._journal.failed()
        self._failures += 1
        if not self._failing:
            log.error(
                "%s is not written to: %s; changes are refused until it is, which is tried every %g s",
                self._disk.path,
                problem,
                RETRY_S,
            )
        self._failing = f"{problem}; nothing is acknowledged there until it recovers"
        for _, waiter in self._waiters:
            _tell(waiter, self._failing)
        self._waiters.clear()

    def check(self) -> None:
        """Raise Refused where the disk fails, or does not keep up."""
        if self._failing:
            self._refused += 1
            raise Refused(self._failing)
        self.check_room()

    def check_room(self) -> None:
        """Raise Refused where the disk does not keep up."""
        if self._journal.waiting >= WAITING_FACTS:
            self._refused += 1
            raise Refused(f"{self._journal.waiting} changes wait for its disk already; publish more slowly")

    def until_kept(self) -> Callable[[], Awaitable[None]] | None:
        """As in NoDisk."""
        mark = self._journal.mark()
        if mark <= self._journal.on_disk:
            return None
        if not self._waiters or self._waiters[-1][0] < mark:
            self._waiters.append((mark, asyncio.get_running_loop().create_future()))
            self._wake.set()
        waiter = self._waiters[-1][1]

        async def wait() -> None:
            # Shielded, as others wait for the same.
            if problem := await asyncio.shield(waiter):
                raise Refused(problem)

        return wait

    async def close(self) -> None:
        """Write what is left, and let the directory go."""
        if self._is_open:
            while self._keeps and self._journal.waiting and not self._failing:
                await self._write()
            if self._keeps and self._journal.waiting:
                log.error("%d changed facts are not in %s: %s", self._journal.waiting, self._disk.path, self._failing)
            self._is_open = False
            await self._in_thread(self._disk.close)
        self._thread.shutdown(wait=False)

    def abandon(self) -> None:
        """Write no more, as when the power fails."""
        self._is_open = False
        self._disk.close()
        self._thread.shutdown(wait=False)

    def counts(self) -> Iterable[Count]:
        """For ``gsg status``."""
        return (
            Count("disk_writes", self._writes),
            Count("disk_facts_written", self._facts),
            Count("disk_failures", self._failures),
            Count("disk_refused", self._refused),
            Count("disk_waiting", self._journal.waiting),
            Count("disk_records_damaged", self._damaged),
            Count("disk_records_corrected", self._corrected),
        )


def _tell(waiter: asyncio.Future[str], problem: str) -> None:
    if not waiter.done():
        waiter.set_result(problem)
