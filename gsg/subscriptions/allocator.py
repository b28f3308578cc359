"""Memory that Python has freed, given back to the system.

Objects of more than 512 bytes, and they are many in indexes, come from the C library, which keeps freed memory that lies between
memory in use. glibc gives its whole pages back when it is asked to (malloc_trim(3)); other libraries need no asking, or cannot.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Give whole pages that are free back to the system, where the C library can; takes time by how much is free."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        function: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (
        AttributeError,
        OSError,
        TypeError,
    ):  # no such function; no such library; Windows, which has no "the process" to look in
        return None
    return function
