"""What a figure is, and how one is taken: every change timed by itself, in a process that nobody else has used.

Each engine runs in a fresh process, so that none inherits another's heap. A figure includes one look at the clock per change, which
the bare set's figures include too.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from gsg import shorten_collections

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Times:
    """Microseconds of one change each; of a batch, where changes were made in batches."""

    changes: int
    mean_us: float
    median_us: float
    p999_us: float
    longest_us: float
    """The longest pause that a caller saw."""

    @property
    def per_s(self) -> float:
        """Changes in a second."""
        return 1e6 / self.mean_us


def times_of(spent_ns: Sequence[int]) -> Times:
    """The summary of changes that took so many nanoseconds each."""
    ordered = sorted(spent_ns)
    return Times(
        changes=len(ordered),
        mean_us=sum(ordered) / len(ordered) / 1e3,
        median_us=ordered[len(ordered) // 2] / 1e3,
        p999_us=ordered[len(ordered) * 999 // 1000] / 1e3,
        longest_us=ordered[-1] / 1e3,
    )


def each_timed(change: Callable[[T], object], pieces: Sequence[T]) -> Times:
    """Make the changes one after the other."""
    spent_ns = array("q", bytes(8 * len(pieces)))
    clock = time.perf_counter_ns
    before = clock()
    for number, piece in enumerate(pieces):
        change(piece)
        now = clock()
        spent_ns[number] = now - before
        before = now
    return times_of(spent_ns)


def tune_collector(*, as_peer: bool) -> None:
    """Set the cyclic garbage collector up as ``gsg peer`` does, or leave it as Python starts it. The workload is settled before."""
    gc.collect()
    if as_peer:
        shorten_collections()


class Runner(Protocol):
    """Calls a function with the arguments, somewhere."""

    def __call__(self, run: Callable[..., R], *arguments: Any) -> R:  # Any: whatever ``run`` takes
        """What ``run`` returns."""


def in_fresh_process(run: Callable[..., R], *arguments: Any) -> R:  # Any: whatever ``run`` takes
    """The outcome of ``run``, which starts with an empty heap."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run, *arguments).result()


def in_this_process(run: Callable[..., R], *arguments: Any) -> R:  # Any: whatever ``run`` takes
    """The outcome of ``run``, at once: for a trial of the benchmark itself, whose figures mean nothing."""
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    try:
        return run(*arguments)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        gc.callbacks[:] = callbacks
