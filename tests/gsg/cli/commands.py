"""How tests run the command gsg."""

from __future__ import annotations

import sys
from collections.abc import Callable

from click.testing import Result

END_S = 60
"""After this a command that hangs is a failure."""

Gsg = Callable[..., Result]


def peer_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gsg", "peer", *arguments]


def triples(word: str, count: int) -> str:
    """So many, that only tests with this word know."""
    return "".join(f"<x:{number}> <x:{word}> <x:o> .\n" for number in range(count))
