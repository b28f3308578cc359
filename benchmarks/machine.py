"""What a figure was measured on."""

from __future__ import annotations

import os
import platform


def machine() -> str:
    """The machine, for a figure to stand beside."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
