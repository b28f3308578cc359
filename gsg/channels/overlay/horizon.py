"""The event horizon of an action: who is interested in its effects travels with it, in the environment.

    with horizon(channel, "(= type 'error)"):
        await serve()        # errors in there come to this channel from wherever they are published, without a look-up

Filman and Lee name it as the alternative to telling everybody what one wants. It goes where the environment goes: into tasks,
threads, called processes, and with each event to whoever answers it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from ...errors import BadText, LocalError
from .. import environment
from ..events import Event
from ..languages.evaluation import holds
from ..languages.expressions import FALSE, Condition
from ..languages.predicate import parse
from ..languages.relations import Relations
from .portable import is_portable

NAME: Final = "horizon"
"""Of the value in the environment: a list of channels and what each wants, as texts of JSON."""
MAX_CONCERNED: Final = 16
"""Channels that one action concerns; one more is refused where it is attached, and passed over in what others attached."""
_RELATIONS: Final = Relations()


@contextmanager
def horizon(source: str, text: str) -> Iterator[None]:
    """Let the channel with this source hear of events that are published in the block, and in what it causes, where a condition of
    the predicate language holds of them. Raises BadText; LocalError for a condition that is too dear, or one channel too many."""
    if not is_portable(parse(text)):
        raise LocalError(
            f"a horizon of {text[:80]!r}; expected few comparisons, without lists and regular expressions: others try it for you"
        )
    concerned = _entries(environment.current().get(NAME))
    if len(concerned) >= MAX_CONCERNED:
        raise LocalError(f"an action with a horizon of {MAX_CONCERNED} channels, the most that it may have; one more was refused")
    with environment.attached(**{NAME: [*concerned, json.dumps([source, text])]}):
        yield


def concerned_by(event: Event) -> list[str]:
    """The sources of the channels whose horizon an event is within."""
    found = []
    for entry in _entries(event.environment.get(NAME)):
        source, condition = _read(entry)
        if holds(condition, event.fields, event.environment, _RELATIONS):
            found.append(source)
    return found


def _entries(value: object) -> list[str]:
    return [entry for entry in value[:MAX_CONCERNED] if isinstance(entry, str)] if isinstance(value, list) else []


@lru_cache(maxsize=256)
def _read(entry: str) -> tuple[str, Condition]:
    """A channel and what it wants; nothing where somebody else's entry cannot be read."""
    try:
        source, text = json.loads(entry)
        condition = parse(text)
    except (ValueError, TypeError, BadText, RecursionError):
        return "", FALSE
    return (source, condition) if isinstance(source, str) and is_portable(condition) else ("", FALSE)
