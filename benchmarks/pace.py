"""Moments at an even rate, by a timer of the Linux kernel (timerfd_create(2)).

The timers of event loops have milliseconds, so that of a thousand messages a second most would leave in bursts, in which each waits
for those before it: a latency would be that of a burst.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import sys
import time
from collections.abc import AsyncIterator

# From <sys/timerfd.h>; Python has them from 3.13 on.
_TFD_NONBLOCK, _TFD_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC


class _Timespec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


async def moments(count: int, per_s: float) -> AsyncIterator[None]:
    """So many moments, at this rate; those that passed while the caller was busy come at once. Raises OSError without a timer."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "timerfd_create"):
        raise OSError(errno.ENOSYS, "no timer: this system has no timerfd; streams are measured on Linux")
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)
    _check(timer)
    loop, due, came = asyncio.get_running_loop(), 0, asyncio.Event()

    def ring() -> None:
        nonlocal due
        due += int.from_bytes(os.read(timer, 8), sys.byteorder)
        came.set()

    try:
        every = _Timespec(*divmod(round(1e9 / per_s) or 1, 1_000_000_000))
        _check(libc.timerfd_settime(timer, 0, ctypes.byref(_Itimerspec(every, every)), None))
        loop.add_reader(timer, ring)
        for _ in range(count):
            while not due:
                came.clear()
                await came.wait()
            due -= 1
            yield
    finally:
        loop.remove_reader(timer)
        os.close(timer)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no timer: {os.strerror(number)}")
