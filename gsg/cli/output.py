"""Standard output that may be read slowly, or not at all for a while, by whoever is at its other end.

A write to a full pipe waits for its reader. Where the event loop waited with it, a peer's questions whether its client lives would
go unanswered, and nothing would be taken from the connection: what to do with rows that nobody reads is for ``--overflow``. So a
thread writes, which dies with the process, as a write that waits cannot be ended.
"""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from os import write
from queue import SimpleQueue
from threading import Thread
from typing import TextIO

import click

from ..tuples.escaping import ERRORS


class Printer:
    """Writes texts to a file such as standard output, one after the other; ``errors`` says how letters that its encoding lacks are
    written, as that file does where it is None."""

    def __init__(self, out: TextIO, *, errors: str | None = None) -> None:
        self._out = out
        self._errors = errors
        # Limit: one, since whoever gives a text waits until it is written.
        self._given: SimpleQueue[tuple[int, bytes, asyncio.Future[None]]] = SimpleQueue()
        self._thread: Thread | None = None

    async def print(self, text: str) -> None:
        """Write a text and the end of its line. Raises OSError; BrokenPipeError where the reader has gone."""
        out = self._out
        try:
            descriptor = out.fileno()
        except (OSError, ValueError):
            # No file: kept in memory, as in a test.
            click.echo(text, file=out)
            return
        out.flush()
        if self._thread is None:
            self._thread = Thread(target=self._write, name="gsg printing", daemon=True)
            self._thread.start()
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._given.put((descriptor, f"{text}\n".encode(out.encoding, self._errors or out.errors or ERRORS), written))
        await written

    def _write(self) -> None:
        while True:
            descriptor, data, written = self._given.get()
            problem = write_all(descriptor, data)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                written.get_loop().call_soon_threadsafe(_tell, written, problem)


def write_all(descriptor: int, data: bytes) -> OSError | None:
    """Write all of it, however slowly it is read; the error where that is impossible."""
    left = memoryview(data)
    while left:
        try:
            left = left[write(descriptor, left) :]
        except BlockingIOError:
            # Another program that has the same terminal or pipe wants no waiting.
            with suppress(OSError, ValueError):
                select.select([], [descriptor], [])
        except OSError as error:
            return error
    return None


def _tell(written: asyncio.Future[None], problem: OSError | None) -> None:
    if written.done():
        return
    if problem is None:
        written.set_result(None)
    else:
        written.set_exception(problem)
