"""Names of topics: levels with ``/`` between them, as MQTT has them (MQTT 5.0, section 4.7)."""

from __future__ import annotations

from typing import Final

from ..errors import LocalError, Unsupported
from ..tuples.terms import Symbol

TOPIC: Final = Symbol("topic")
"""What an event of a topic begins with, as standing queries see it."""
MAX_NAME: Final = 256
"""Characters of a topic's name."""


def topic_name(name: str) -> str:
    """The name, if it is one. Raises LocalError, and Unsupported for a wildcard."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        shown = f"{len(name):,} characters" if isinstance(name, str) else repr(name)[:80]
        raise LocalError(f"a topic's name of {shown}; expected a text of 1 to {MAX_NAME} characters, such as house/kitchen/temp")
    if any(level in ("+", "#") for level in name.split("/")):
        raise Unsupported(
            f"wildcards in topics are not supported: {name!r}; name each topic, or subscribe to (topic, ?name, ?value)"
        )
    return name
