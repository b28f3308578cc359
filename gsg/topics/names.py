"""Names of topics: levels with ``/`` between them, and filters with wildcards, as MQTT has them (MQTT 5.0, section 4.7)."""

from __future__ import annotations

from typing import Final

from ..errors import LocalError
from ..tuples.terms import Symbol

TOPIC: Final = Symbol("topic")
"""What an event of a topic begins with, as standing queries see it."""
MAX_NAME: Final = 256
"""Characters of a topic's name, and of a filter."""
MAX_LEVELS: Final = 16
"""Levels of a filter, without a ``#`` at its end; names may have more."""
ANY_LEVEL: Final = "+"
"""In the place of a level of a filter: any one level, also an empty one."""
ANY_LEVELS: Final = "#"
"""In the place of the last level of a filter: any number of levels, also none."""


def topic_name(name: str) -> str:
    """The name of a topic, or a filter, if it is one. Raises LocalError."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        shown = f"{len(name):,} characters" if isinstance(name, str) else repr(name)[:80]
        raise LocalError(f"a topic's name of {shown}; expected a text of 1 to {MAX_NAME} characters, such as house/kitchen/temp")
    if is_filter(name):
        _check_filter(name)
    return name


def is_filter(name: str) -> bool:
    """Whether a name has a wildcard."""
    return ANY_LEVEL in name or ANY_LEVELS in name


def _check_filter(name: str) -> None:
    *before, last = name.split("/")
    for level in (*before, last):
        if is_filter(level) and level not in (ANY_LEVEL, ANY_LEVELS):
            wildcard = ANY_LEVEL if ANY_LEVEL in level else ANY_LEVELS
            raise LocalError(
                f"level {level!r} of {name!r} has {wildcard!r} beside other characters; expected the wildcard alone between "
                "slashes, such as house/+/temp or house/#: names of topics have neither + nor #"
            )
    if ANY_LEVELS in before:
        raise LocalError(f"levels after '#' in {name!r}; expected '#' only at the end, such as house/#: '+' is for one level")
    levels = len(before) + (last != ANY_LEVELS)
    if levels > MAX_LEVELS:
        raise LocalError(f"a filter of {levels} levels, {name!r}; expected at most {MAX_LEVELS}: end it with '#' before the rest")
