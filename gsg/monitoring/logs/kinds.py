"""Which records of the log are too many of their kind, which is one place in the code: strangers cause some. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from logging import LogRecord
from typing import TypeAlias

OF_A_KIND, WINDOW_S = 20, 60.0
"""Lines of one kind in so many seconds; further ones are counted, and the count is said at the end of that time."""
MAX_KINDS = 1_000
"""Kinds that are told apart, which are places in the code; those beyond are one."""

Kind: TypeAlias = tuple[str, int, str, int]
"""Logger, level, file and line."""


def kind_of(record: LogRecord) -> Kind:
    """That of a record."""
    return record.name, record.levelno, record.pathname, record.lineno


@dataclass(slots=True)
class _Window:
    ends_s: float
    written: int = 0
    more: int = 0
    last: str = ""


class KindLimit:
    """Decides which lines are too many of their kind, by a clock that is handed in."""

    def __init__(self) -> None:
        # Limit: MAX_KINDS and one; each leaves with its window.
        self._windows: dict[Kind | None, _Window] = {}

    def admits(self, kind: Kind, text: str, now: float) -> bool:
        """Whether a line may be written; ``text`` shows later what those were like that may not."""
        known = kind if kind in self._windows or len(self._windows) < MAX_KINDS else None
        window = self._windows.get(known)
        if window is None:
            window = self._windows[known] = _Window(now + WINDOW_S)
        if window.written < OF_A_KIND:
            window.written += 1
            return True
        window.more += 1
        window.last = text
        return False

    def ended(self, now: float) -> list[str]:
        """What is to be said of windows that are over. Call it from time to time."""
        over = [kind for kind, window in self._windows.items() if window.ends_s <= now]
        return [said for said in (_more(self._windows.pop(kind)) for kind in over) if said]

    @property
    def next_s(self) -> float | None:
        """When the next window is over; None where there is none."""
        return min((window.ends_s for window in self._windows.values()), default=None)


def _more(window: _Window) -> str:
    return f"{window.more:,} more like this in {WINDOW_S:.0f} s, the last: {window.last}" if window.more else ""
