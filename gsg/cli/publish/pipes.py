"""Tuples that come on a pipe: handed over in batches while they flow, and all that there are when it pauses.

A pipe is read on a thread of its own, as reading waits: the loop goes on sending, and hears of what was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Semaphore, Thread
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...tuples.terms import Tuple
    from .sources import Run, Verb

PAUSE_S = 0.05
"""What has come is handed over when nothing more comes for so long."""
PIECE_BYTES = 65_536
AHEAD = 4
"""Batches read before they are asked for; the pipe is left alone then, so that whoever writes to it waits."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Tuples with which the same is to be done."""

    verb: Verb
    tuples: list[Tuple]


class Batches:
    """Tuples of runs, in order, in batches of at most ``size``; a mistake is raised after the batch of all that came before it."""

    def __init__(self, runs: Iterable[Run], size: int) -> None:
        self._runs = runs
        self._size = size
        self._verb: Verb = "insert"
        self.pending: list[Tuple] = []
        """What was read and is in no batch yet."""

    def __iter__(self) -> Iterator[Batch]:
        try:
            for verb, tuples in self._runs:
                if self.pending and verb != self._verb:
                    yield self.take_pending()
                self._verb = verb
                for items in tuples:
                    self.pending.append(items)
                    if len(self.pending) >= self._size:
                        yield self.take_pending()
        except Exception:
            # Whatever is wrong with the rest, as a mistake in it or an error of the system: it is raised after what came before it.
            if self.pending:
                yield self.take_pending()
            raise
        if self.pending:
            yield self.take_pending()

    def take_pending(self) -> Batch:
        """The batch of what is pending, full or not."""
        batch, self.pending = Batch(self._verb, self.pending), []
        return batch


async def batches(runs: Iterable[Run], size: int) -> AsyncIterator[Batch]:
    """The batches of what is read without waiting."""
    for batch in Batches(runs, size):
        yield batch


def is_pipe(stream: IO[bytes]) -> bool:
    """Whether what is read may pause: a pipe, a terminal or a socket, no file. Never on Windows, where none can be waited for."""
    try:
        return os.name == "posix" and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False  # a stream in memory


class Pipe:
    """Reads tuples from a pipe, ``size`` a batch. ``read`` makes runs of them of a stream."""

    def __init__(self, stream: IO[bytes], read: Callable[[Any], Iterable[Run]], size: int) -> None:  # Any: has read(), no more
        self._descriptor = stream.fileno()
        self._batches = Batches(read(self), size)
        self._room = Semaphore(AHEAD)
        self._come: asyncio.Queue[Batch | Exception | None] = asyncio.Queue()
        """Limit: AHEAD, and how it ended."""
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def batches(self) -> AsyncIterator[Batch]:
        """Batches in order; a mistake among the tuples is raised after the batch of all that came before it."""
        # A daemon, as it may wait for the pipe for ever: it ends with the pipe, with the next piece, or with the process.
        Thread(target=self._run, name="pipe", daemon=True).start()
        try:
            while (batch := await self._come.get()) is not None:
                if isinstance(batch, Exception):
                    raise batch
                self._room.release()
                yield batch
        finally:
            self._closed = True
            self._room.release()

    def read(self, size: int = -1) -> bytes:
        """For the parser, on the thread: what has come; when it pauses, what was parsed is handed over first."""
        if self._batches.pending and not select.select([self._descriptor], [], [], PAUSE_S)[0]:
            self._hand_over(self._batches.take_pending())
        return b"" if self._closed else os.read(self._descriptor, size if size >= 0 else PIECE_BYTES)

    def _run(self) -> None:
        end = None
        try:
            for batch in self._batches:
                self._hand_over(batch)
        except Exception as error:  # whatever it is, it is for whoever asks for batches
            end = error
        self._tell(end)

    def _hand_over(self, batch: Batch) -> None:
        self._room.acquire()
        self._tell(batch)

    def _tell(self, what: Batch | Exception | None) -> None:
        if self._closed:
            self._room.release()  # nobody asks any more: the thread is not to wait for room
            return
        try:
            self._loop.call_soon_threadsafe(self._come.put_nowait, what)
        except RuntimeError:
            self._closed = True  # the loop was closed meanwhile
