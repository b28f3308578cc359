"""What can be the key of events, under which a peer tells them once (docs/delivery.md, Events with keys)."""

from __future__ import annotations

from ..errors import LocalError

MAX_KEY_CHARACTERS = 200
"""The longest key; a longer one is refused."""


def check_key(key: object) -> None:
    """Raises LocalError for what can be no key of events."""
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_CHARACTERS or not key.isprintable():
        raise LocalError(
            f"{key!r:.80} is no key for events; expected a text of 1 to {MAX_KEY_CHARACTERS} printable characters, such as a UUID"
        )
