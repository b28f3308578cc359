"""Which events have come already, by their source and number.

Of each source the numbers up to one from which all are known to be old, and those beyond it that came. Numbers of a source mostly
come in order, with gaps where nobody here was interested; what is far behind the newest is taken for old.
"""

from __future__ import annotations

from typing import Final

BEHIND: Final = 4_096
"""How far behind the newest of its source an event may come and be new; what is further behind is taken to have come."""
MAX_SOURCES: Final = 10_000
MAX_NUMBERS: Final = 500_000
"""Sources that are remembered, and numbers of all of them together, some 50 MB; beyond, the source that was heard of least lately
is forgotten: an event of it that comes again is taken for new."""


class _Source:
    __slots__ = ("came", "newest")

    def __init__(self) -> None:
        self.newest = 0
        self.came: set[int] = set()
        """Of the last BEHIND numbers. Limit: twice as many."""


class SeenEvents:
    """The events of all sources."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}
        self._numbers = 0

    def has_come(self, source: str, number: int) -> bool:
        """Whether an event came already, as far as is remembered."""
        known = self._sources.get(source)
        return known is not None and (number <= known.newest - BEHIND or number in known.came)

    def is_new(self, source: str, number: int) -> bool:
        """Whether an event comes for the first time; from now on it has come."""
        known = self._sources.pop(source, None)
        if known is None:
            known = _Source()
        self._sources[source] = known
        if number <= known.newest - BEHIND or number in known.came:
            return False
        known.came.add(number)
        self._numbers += 1
        known.newest = max(known.newest, number)
        if len(known.came) > 2 * BEHIND:
            self._numbers -= len(known.came)
            known.came = {each for each in known.came if each > known.newest - BEHIND}
            self._numbers += len(known.came)
        while len(self._sources) > MAX_SOURCES or (self._numbers > MAX_NUMBERS and len(self._sources) > 1):
            self._numbers -= len(self._sources.pop(next(iter(self._sources))).came)
        return True
