"""Work in a thread beside the loop, so that others have their turn meanwhile.

Both need the interpreter's lock (GIL). Each time that the loop comes back from the system it waits for that until the thread has
had it for ``sys.getswitchinterval()``, and an answer takes some twenty calls of the system. Usually these are 5 ms; while such work
is under way they are SWITCH_S, of the whole process.

The cyclic garbage collector holds the lock for as long as it takes. It runs in whichever thread makes objects, and such work makes
millions: so meanwhile it runs more often, over fewer.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import ParamSpec, TypeVar

SWITCH_S = 0.0005
"""How long a thread has the interpreter's lock while another one waits for it: a switch takes some hundredth of that."""

YOUNG_OBJECTS, YOUNG_ROUNDS = 5_000, 10
"""The collector's first two thresholds meanwhile, where the usual ones are larger: it walks 50,000 young objects at most, ten
milliseconds. What is old it walks only when a quarter has come, as ever."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _ShortTurns:
    """The switch interval and the thresholds of the process: small while any work is under way, in whichever thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way = 0
        self._usual_s = 0.0
        self._usual_thresholds = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            if not self._under_way:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_S, self._usual_s))
                young, rounds, old = self._usual_thresholds = gc.get_threshold()
                if young > YOUNG_OBJECTS:
                    gc.set_threshold(YOUNG_OBJECTS, min(YOUNG_ROUNDS, rounds), old)
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                sys.setswitchinterval(self._usual_s)
                gc.set_threshold(*self._usual_thresholds)


_SHORT_TURNS = _ShortTurns()


def interleaved(work: Callable[_Arguments, _Result], *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
    """Do some work, for whoever is in a thread of its own, while others have their turn."""
    with _SHORT_TURNS:
        return work(*args, **options)


async def in_thread(work: Callable[_Arguments, _Result], *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
    """As :func:`asyncio.to_thread`, while others have their turn."""
    return await asyncio.to_thread(partial(interleaved, work, *args, **options))
