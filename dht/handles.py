"""Whether file handles run out. A process that has none left cannot accept a connection, and cannot tell anybody why.

So those who accept connections leave some of them to whatever else a peer opens, and refuse newcomers before the last is taken. A
system gives the lowest number that is free: the number of a new handle says how many there are at least.
"""

from __future__ import annotations

import asyncio

RESERVE = 32
"""Handles that are left for files, and for the links that this side dials; an eighth of all where there are fewer than 256."""


def limit() -> int | None:
    """How many handles this process may have; None where there is no such limit."""
    try:
        import resource
    except ImportError:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if most == resource.RLIM_INFINITY else most


def short_of(number: int, most: int | None) -> bool:
    """Whether a process that may have so many handles has hardly any left, as it was given this number."""
    return most is not None and number >= most - min(RESERVE, most // 8)


def runs_short(transport: asyncio.BaseTransport) -> bool:
    """Whether this process has hardly any handles left since it accepted this connection."""
    accepted = transport.get_extra_info("socket")
    return accepted is not None and short_of(accepted.fileno(), limit())


def too_few() -> str:
    """What whoever is refused, and whoever runs the peer, is told."""
    return f"this peer has no file handles left (it may have {limit()}): its operator gives it more with ulimit -n"
