"""Stamps that are damage, not time: those far from everybody's, as a wrong bit makes them. Pure.

What is known of a fact is kept, with the earliest stamp there can be: whatever anybody else knows of the fact is right then, and
where nobody does, it stays. As it stands such a stamp would be later than all that others say, for ever, and refused by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .disk.records import Row

EARLIEST = 1
"""In microseconds since 1970."""


def in_reason(rows: Sequence[Row], until: int) -> tuple[Sequence[Row], int]:
    """Facts with stamps up to this one, and how many marks had a later one."""
    if all(stamp <= until for _, marks in rows for _, _, stamp in marks):
        return rows, 0
    late = sum(stamp > until for _, marks in rows for _, _, stamp in marks)
    return [
        (fact, [(position, sign, stamp if stamp <= until else EARLIEST) for position, sign, stamp in marks]) for fact, marks in rows
    ], late


def latest_in_reason(clocks: Iterable[int], ahead_us: int) -> int:
    """The latest of several times that were written one after the other, without one that is so far ahead of all others; 0 for
    none."""
    *others, last = sorted(clocks) or [0]
    return others[-1] if others and last > others[-1] + ahead_us else last
