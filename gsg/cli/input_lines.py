"""The lines of standard input as they come, for commands that pass on at once what there is."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from threading import Semaphore, Thread

PIECE_BYTES = 65_536
"""Read at a time, at most."""
AHEAD = 4
"""Pieces of standard input read before they are asked for; it is left alone then, so that whoever writes to it waits."""


async def lines_of_input() -> AsyncIterator[list[bytes]]:
    """The lines of standard input, all that have come at once."""
    loop, room = asyncio.get_running_loop(), Semaphore(AHEAD)
    come: asyncio.Queue[list[bytes] | None] = asyncio.Queue()
    read_some: Callable[[int], bytes]
    try:
        # Python aborts at its end where a thread waits in a buffered stream.
        read_some = partial(os.read, sys.stdin.fileno())
    except (OSError, ValueError):
        read_some = sys.stdin.buffer.read  # in memory, as in a test

    def hand_over(lines: list[bytes] | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(come.put_nowait, lines)

    def read() -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            while piece := read_some(PIECE_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                hand_over(lines)
            if rest:
                hand_over([rest])
            hand_over(None)

    # A daemon, as it may wait for standard input for ever.
    Thread(target=read, name="standard input", daemon=True).start()
    while (lines := await come.get()) is not None:
        room.release()
        yield lines
