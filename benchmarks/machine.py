"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path


def machine() -> str:
    """The machine, for a figure to stand beside."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


class Stolen:
    """What the host of a virtual machine gave to others while this one had work to do."""

    def __init__(self) -> None:
        self._began = _stolen_s(), time.monotonic()

    def share(self) -> float:
        """The share of all cores' time, from 0 to 1, since the beginning; 0 where the system does not say."""
        stolen_s, began_s = self._began
        return (_stolen_s() - stolen_s) / ((time.monotonic() - began_s) * (os.cpu_count() or 1))


def _stolen_s() -> float:
    try:
        line = Path("/proc/stat").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    # proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
    return int(line.split()[8]) / os.sysconf("SC_CLK_TCK")
