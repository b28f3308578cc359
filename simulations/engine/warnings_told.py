"""What a user is told of a workload or a history besides the result: what was lost or left out, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, what: str) -> str:
    """So many of something, as the subject of a sentence."""
    return f"{number:,} {what} was" if number == 1 else f"{number:,} {what}s were"


def malformed(number: int, what: str, examples: Sequence[str]) -> list[str]:
    """Lines or rows that hold nothing of use, of which the first are told in full."""
    first = ", the first of them" if number > len(examples) else ""
    return [f"{counted(number, f'malformed {what}')} left out{first}: {'; '.join(examples)}"] if number else []


def files_ignored(names: Sequence[str], what: str, examples: int) -> list[str]:
    """Files of a folder that are by name none of those that were asked for, of which the first are named."""
    first = ", the first of them" if len(names) > examples else ""
    named = ", ".join(names[:examples])
    return [f"{counted(len(names), 'file')} left out, by name no file of {what}{first}: {named}"] if names else []


def rows_lost(number: int) -> list[str]:
    """Rows that the numbers of a trace say there were."""
    return [f"{counted(number, 'row')} lost while the peers traced: something may be missing"] if number else []


def parts_unfinished(number: int) -> list[str]:
    """Parts of a trace that a peer still writes, or wrote when it was killed."""
    return [f"{counted(number, 'unfinished part')} left out: a peer still writes it, or was killed"] if number else []


def unended(number: int) -> list[str]:
    """Peers of which some run has no end in a trace: rows are numbered, but how many there should be after the last nobody says."""
    if not number:
        return []
    who = "1 peer was killed or still runs: its" if number == 1 else f"{number:,} peers were killed or still run: their"
    return [f"{who} last rows may be missing"]
