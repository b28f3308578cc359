"""How many events of a topic a reader was not given, and why, as far as that is known: added up, and told as one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Overrun


@dataclass(slots=True)
class Losses:
    """``lost`` in all, of which so many are known to have been ``unread`` in a backlog that was full, and ``missing`` at all
    members. 0 in all where nobody knows how many, and whether."""

    lost: int = 0
    unread: int = 0
    missing: int = 0

    def add(self, lost: int, *, unread: int = 0, missing: int = 0) -> None:
        """So many more."""
        self.lost += lost
        self.unread += unread
        self.missing += missing

    def overrun(self) -> Overrun:
        """These, to be raised."""
        return Overrun(str(self), lost=self.lost, unread=self.unread, missing=self.missing)

    def __str__(self) -> str:
        either = "they were not read in time, or no member has them any more"
        if not self.lost:
            return f"events of the topic may have been lost: {either}"
        told = f"{self.lost:,} events of the topic were lost" if self.lost > 1 else "an event of the topic was lost"
        if self.unread == self.lost:
            return f"{told}: not read in time"
        if self.missing == self.lost:
            return f"{told}: no member has {'them' if self.lost > 1 else 'it'} any more"
        if self.unread + self.missing == self.lost:
            return f"{told}: {self.unread:,} not read in time, and no member has {self.missing:,} any more"
        return f"{told}: {either}"
