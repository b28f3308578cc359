"""Runs of peers that traced (:mod:`gsg.monitoring.trace`), and what may be missing of them: rows have numbers, and runs an end."""

from __future__ import annotations

from typing import TypeAlias

from ..engine.warnings_told import counted

Run: TypeAlias = tuple[str, int]
"""A peer's id, and when it began."""


class Runs:
    """The runs of which there are rows."""

    def __init__(self) -> None:
        self._rows: dict[Run, tuple[int, int]] = {}
        """The number of the last row, counted from 1, and how many rows there are."""
        self._ended: set[Run] = set()

    def count_rows(self, run: Run, last: int, rows: int) -> None:
        """So many rows more of a run, of which the last has that number."""
        before, known = self._rows.get(run, (0, 0))
        self._rows[run] = max(before, last), known + rows

    def end_run(self, run: Run) -> None:
        """A row says that the run ended."""
        self._ended.add(run)

    def peers(self) -> list[str]:
        """The ids of the peers, in order."""
        return sorted({peer for peer, _ in self._rows})

    def gaps(self, unfinished: int) -> list[str]:
        """What may be missing, a sentence each; so many parts a peer still writes, or wrote when it was killed."""
        told = []
        if lost := sum(last - rows for last, rows in self._rows.values()):
            told.append(f"{counted(lost, 'row')} lost while the peers traced: something may be missing")
        # How many rows there should be after the last one of a run without an end nobody says.
        if killed := len({peer for peer, _ in self._rows.keys() - self._ended}):
            who = "1 peer was killed or still runs: its" if killed == 1 else f"{killed:,} peers were killed or still run: their"
            told.append(f"{who} last rows may be missing")
        if unfinished:
            told.append(f"{counted(unfinished, 'unfinished part')} left out: a peer still writes it, or was killed")
        return told
