"""An event loop whose time is virtual: it never sleeps, it moves the clock on to the next timer.

Everything else is asyncio's own loop, so code runs under it unchanged; :mod:`dht.simnet.net` adds the network. Work given to an
executor is done at once, in place, so that a run with a database behind it is repeatable as well.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, ContextVar, copy_context
from functools import partial
from heapq import heappop, heappush
from selectors import BaseSelector
from typing import Any

_MOMENT_S = 1e-9
"""What is this close together happens at one moment."""

PROGRAM: ContextVar[str] = ContextVar("program", default="")
"""The host to whose program a callback belongs; no host for the network itself, and for whoever runs the simulation."""


class Stalled(RuntimeError):
    """Nothing is left that could ever happen, and the run has not ended: something waits for an event that will not come."""


class _Call(asyncio.Handle):
    """A callback that is due: as asyncio's, without what that keeps for debugging. Tens of thousands are made in a run, by the
    loop, which fills them in: a call of ``__init__`` would cost more than all that."""

    # What asyncio's handles have.
    _context: Context
    _callback: Callable[..., object]
    _args: Sequence[Any]  # Any: as asyncio has it
    _cancelled: bool

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._callback}>"

    def cancel(self) -> None:
        """Do not call back."""
        self._cancelled = True
        # What they hold on to can go.
        self._callback, self._args = _nothing, ()


def _nothing() -> None:
    """What a cancelled callback does."""


class _TimedCall(asyncio.TimerHandle, _Call):
    """A callback that is due at a time."""

    _when: float

    __slots__ = ()

    __repr__ = _Call.__repr__

    def cancel(self) -> None:
        """Do not call back."""
        _Call.cancel(self)


_new_call: Callable[[type[_Call]], _Call] = object.__new__
_new_timed_call: Callable[[type[_TimedCall]], _TimedCall] = object.__new__


class SimLoop(asyncio.SelectorEventLoop):
    """asyncio's loop in virtual time.

    What is due at one moment runs in the order in which it was asked for. Turns are written out here, as there are tens of
    thousands in a run and nothing to select from.
    """

    # What asyncio's loops have.
    _ready: deque[_Call]
    _stopping: bool
    _selector: BaseSelector

    is_simulated = True
    """Nobody listens in on its wires, so peers leave TLS out unless they are told otherwise; the handshakes are the same."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._asked_for = 0
        self._timers: list[tuple[float, int, _TimedCall]] = []
        """A heap by time, then by when it was asked for. Unbounded, as asyncio's."""
        self.suspended: dict[str, list[_Call]] = {}
        """By host what its program has to do, in the order in which it was due, and does not, as it stands still. Unbounded, as
        what is due."""
        self.errors: list[BaseException] = []
        """What callbacks and forgotten tasks raised."""
        super().__init__()
        self.set_exception_handler(self._collect_error)
        # As asyncio's, without a step in between.
        self.create_future = partial(asyncio.Future, loop=self)  # type: ignore[method-assign]

    def call_soon(  # type: ignore[override]  # Any: as asyncio has it
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back in the next turn."""
        handle = _new_call(_Call)
        handle._callback = callback
        handle._args = args
        handle._context = copy_context() if context is None else context
        handle._cancelled = False
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # Any: as asyncio has it
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back when so many virtual seconds have passed."""
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # Any: as asyncio has it
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back when the virtual clock says so."""
        timer = _new_timed_call(_TimedCall)
        timer._when = when
        timer._callback = callback
        timer._args = args
        timer._context = copy_context() if context is None else context
        timer._cancelled = False
        self._asked_for += 1
        heappush(self._timers, (when, self._asked_for, timer))
        return timer

    def _run_once(self) -> None:
        """All turns until the loop is stopped."""
        ready, timers, suspended = self._ready, self._timers, self.suspended
        take = ready.popleft
        while True:
            if timers:
                # Mostly more is ready, and nothing is due before that was run.
                if not ready or timers[0][0] < self._now_s + _MOMENT_S:
                    self._ready_due_timers()
            elif not ready and not self._stopping:
                self._select_once()
            for _ in range(len(ready)):
                handle = take()
                if suspended and (due := suspended.get(handle._context.get(PROGRAM, ""))) is not None:
                    due.append(handle)
                elif not handle._cancelled:
                    try:
                        handle._context.run(handle._callback, *handle._args)
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        self.call_exception_handler({"message": "a callback failed", "exception": error})
            if self._stopping:
                return

    def _ready_due_timers(self) -> None:
        """What is due becomes ready; when nothing is ready, the clock moves on to what is due first."""
        ready, timers = self._ready, self._timers
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            return
        now_s = self._now_s
        if not ready and not self._stopping and timers[0][0] > now_s:
            now_s = timers[0][0]
        due_s = now_s + _MOMENT_S
        while timers and timers[0][0] < due_s:
            when, _, timer = heappop(timers)
            if not timer._cancelled:
                # Nothing is called before its time, not even by a rounding error.
                if when > now_s:
                    now_s = when
                ready.append(timer)
        self._now_s = now_s

    def _select_once(self) -> None:
        """The loop's own wake-up pipe is the only real descriptor: written to by threads and signals."""
        events = self._selector.select(0)
        if not events:
            raise Stalled(
                "the simulated network is silent and no timer runs; a task waits for what will never happen "
                "(a reply without a timeout, an event that nobody sets, or a real thread or socket)"
            )
        self._process_events(events)  # type: ignore[attr-defined]  # as above

    def _collect_error(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:  # Any: asyncio's own
        error = context.get("exception") or RuntimeError(str(context.get("message")))
        # The end of the run cancels whatever is left, which is nobody's fault.
        if not isinstance(error, asyncio.CancelledError):
            self.errors.append(error)

    def time(self) -> float:
        """Virtual seconds since the run began."""
        return self._now_s

    def oversleep(self, seconds: float) -> None:
        """The machine stands still for so long: nothing was called meanwhile, and what is due by then is late."""
        self._now_s += seconds

    def suspend(self, host: str) -> None:
        """The program of a host stands still: nothing that belongs to it is called until :meth:`resume`."""
        self.suspended.setdefault(host, [])

    def resume(self, host: str) -> None:
        """It goes on, with all that was due meanwhile."""
        self._ready.extend(self.suspended.pop(host, ()))

    def run_in_executor(  # type: ignore[override]  # Any: as asyncio has it
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call the function now."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done
