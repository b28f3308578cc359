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
