"""Work in a thread beside the loop, so that others have their turn meanwhile.

Both need the interpreter's lock (GIL). Each time that the loop comes back from the system it waits for that until the thread has
had it for ``sys.getswitchinterval()``, and an answer takes some twenty calls of the system. Usually these are 5 ms; while such work
is under way they are SWITCH_S, of the whole process.

Python's cyclic garbage collector holds the lock for as long as it takes. As Python starts, a full collection walks every object:
0.2 s for 100,000 subscriptions, seconds for a million facts. What a peer and a channel hold has no cycles and is freed by its last
reference. So :func:`shorten_collections` lets what a collection has left be walked no more (``gc.freeze``), and the next one comes
early, over what was made since.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Final, ParamSpec, TypeVar

SWITCH_S = 0.0005
"""How long a thread has the interpreter's lock while another one waits for it: a switch takes some hundredth of that."""

YOUNG_OBJECTS: Final = 45_000
"""After so many objects more these are walked, whichever generation they are in: each object once."""
WHOLE: Final = 128
"""Collections until all is walked once, some six million objects more; then twice as many, and so on. A cycle that was frozen
is kept until then: at the longest until as much has been made again as ever before."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _ShortTurns:
    """The switch interval of the process: small while any work is under way, in whichever thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way = 0
        self._usual_s = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._under_way:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_S, self._usual_s))
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                sys.setswitchinterval(self._usual_s)


_SHORT_TURNS = _ShortTurns()


def interleaved(work: Callable[_Arguments, _Result], *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
    """Do some work, for whoever is in a thread of its own, while others have their turn."""
    with _SHORT_TURNS:
        return work(*args, **options)


async def in_thread(work: Callable[_Arguments, _Result], *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
    """As :func:`asyncio.to_thread`, while others have their turn."""
    return await asyncio.to_thread(partial(interleaved, work, *args, **options))


def shorten_collections() -> Callable[[], None]:
    """Let the collector of this process walk some 45,000 objects at a time.

    For a process that holds much for long: ``gsg peer`` calls it. What is there already is frozen. Returns what undoes it.
    """
    usual = gc.get_threshold()
    until, next_until = WHOLE, 2 * WHOLE

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal until, next_until
        if phase != "stop":
            return
        if not until:
            if info["generation"] != 2:
                return
            until, next_until = next_until, 2 * next_until
        until -= 1
        if until:
            gc.freeze()
        else:
            gc.unfreeze()  # the next full collection walks all

    def undo() -> None:
        gc.callbacks.remove(collected)
        gc.unfreeze()
        gc.set_threshold(*usual)

    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 0, 0)
    gc.callbacks.append(collected)
    return undo
