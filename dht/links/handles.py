"""How many file handles are left. A process that has none cannot accept a connection, and cannot tell anybody why.

So those who accept connections leave some to whatever else a peer opens, its files and the links that it dials, and refuse
newcomers before the last is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable

RESERVE = 32
"""Handles that connections leave to others; an eighth of all where there are fewer than 256."""


def limit() -> int | None:
    """How many handles this process may have; None where there is no such limit."""
    try:
        import resource
    except ImportError:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if most == resource.RLIM_INFINITY else most


def in_use() -> int:
    """How many handles this process has; 0 where the system does not say."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(folder))
        except FileNotFoundError:
            continue
        except OSError:
            return limit() or 0  # looking takes one, and there is none
    return 0


class Handles:
    """Counts the file handles of this process as connections are accepted."""

    __slots__ = ("_at_most", "_in_use", "_limit")

    def __init__(self, limit: Callable[[], int | None] = limit, in_use: Callable[[], int] = in_use) -> None:
        self._limit = limit
        self._in_use = in_use
        self._at_most = 0
        """As many as there are now, or more: counting them takes longer the more they are."""

    def beyond(self) -> int:
        """After a connection was accepted: by how many there are more than connections may take; mostly 0 or fewer."""
        most = self._limit()
        if most is None:
            return 0
        may_take = most - min(RESERVE, most // 8)
        self._at_most = (self._at_most or self._in_use()) + 1
        if self._at_most > may_take:
            self._at_most = self._in_use()
        return self._at_most - may_take

    def problem(self) -> str:
        """What whoever is refused, and whoever runs the peer, is told."""
        return (
            f"this peer has hardly any file handles left (it may have {self._limit()}): its operator gives it more with ulimit -n"
        )


HANDLES = Handles()
"""A process has one set of them, whatever it opens."""
