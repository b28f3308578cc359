"""What SIGINT, SIGTERM and SIGHUP do to a peer, whatever it is busy with.

    starting  ──first──>  giving up       its start is cancelled, and left where it was when that takes GIVE_UP_S
    serving   ──first──>  stopping        it hands over what it holds
    stopping or giving up  ──second──>  skipping    nothing is handed over, and no more than SKIP_S waited for
    skipping  ──third──>                  it ends at once

A thread waits for the signals: the loop may be in the middle of something long, such as a large data directory or a disk that does
not answer. Ending at once costs nothing but what a kill costs: what was acknowledged is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from enum import Enum
from threading import Lock, Thread, Timer

GIVE_UP_S = 0.8
"""A peer that was starting and has not given up by then is ended."""
SKIP_S = 5.0
"""A peer that is to skip handing over and has not ended by then is ended."""


class _State(Enum):
    STARTING = 1
    SERVING = 2
    GIVING_UP = 3
    STOPPING = 4
    SKIPPING = 5


class Ending:
    """One peer's end. ``leave`` ends the process with a status, at once; ``after`` calls a function after some seconds."""

    def __init__(
        self, leave: Callable[[int], object] = os._exit, after: Callable[[float, Callable[[], object]], object] | None = None
    ) -> None:
        self._leave = leave
        self._after = after or _after
        self._lock = Lock()
        self._state = _State.STARTING
        self._loop: asyncio.AbstractEventLoop | None = None
        self._serving: asyncio.Task[object] | None = None
        self._stop = asyncio.Event()
        self.number = signal.SIGINT
        """The signal that came first, SIGINT where none did."""

    @property
    def status(self) -> int:
        """What a process that a signal ended before its time ends with."""
        return 128 + self.number

    def attach(self) -> asyncio.Event:
        """The task that runs is the one to cancel; returns what is set when it is to stop in order.

        Raises CancelledError where a signal came before.
        """
        with self._lock:
            self._loop, self._serving = asyncio.get_running_loop(), asyncio.current_task()
            if self._state is not _State.STARTING:
                raise asyncio.CancelledError
            return self._stop

    def started(self) -> None:
        """From now on there is something to hand over. Raises CancelledError where a signal came before."""
        with self._lock:
            if self._state is not _State.STARTING:
                raise asyncio.CancelledError
            self._state = _State.SERVING

    def skip(self) -> None:
        """End without handing over, as when two signals have come."""
        self.received(signal.SIGTERM)
        self.received(signal.SIGTERM)

    def received(self, number: int) -> None:
        """A signal has come; called by any thread."""
        with self._lock:
            match self._state:
                case _State.STARTING:
                    self.number = signal.Signals(number)
                    self._state = _State.GIVING_UP
                    self._cancel(GIVE_UP_S)
                case _State.SERVING:
                    self.number = signal.Signals(number)
                    self._state = _State.STOPPING
                    self._call(self._stop.set)
                case _State.STOPPING | _State.GIVING_UP:
                    self._state = _State.SKIPPING
                    self._cancel(SKIP_S)
                case _State.SKIPPING:
                    self._leave(self.status)

    def _cancel(self, patience_s: float) -> None:
        if self._serving is not None:
            self._call(self._serving.cancel)
        self._after(patience_s, lambda: self._leave(self.status))

    def _call(self, function: Callable[[], object]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it is closed: all is over
                self._loop.call_soon_threadsafe(function)


def _after(seconds: float, function: Callable[[], object]) -> None:
    timer = Timer(seconds, function)
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def ended_by_signals(ending: Ending) -> Iterator[None]:
    """While the block runs, signals are the affair of ``ending``. Enter it before threads start, as they inherit that."""
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        numbers.discard(signal.SIGHUP)  # as nohup asks
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def wait() -> None:
        while True:
            ending.received(signal.sigwait(numbers))

    Thread(target=wait, name="gsg signals", daemon=True).start()
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
