"""Which listeners have heard an event: it may come by every holder of its key, and again after a failure.

Events are remembered in two generations, so that forgetting costs nothing: when the younger one is full, the older one goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .alpha_memories import Memory

EVENTS = 32_768
LISTENERS = 1_000_000
"""So many events, or listeners of events together, are remembered in a generation. The copies of an event come within moments;
what is sent again after a failure may come seconds later, and is told twice where more than so many events came between."""


class Heard:
    """What the listeners of one peer have heard."""

    __slots__ = ("_listeners", "_old", "_young")

    def __init__(self) -> None:
        self._young: dict[tuple[bytes, int], Sequence[Memory]] = {}
        self._old: dict[tuple[bytes, int], Sequence[Memory]] = {}
        self._listeners = 0

    def anew(self, publisher: bytes, number: int, listeners: Sequence[Memory]) -> Sequence[Memory]:
        """Those of the listeners that have not heard an event yet; they have from now on."""
        event = (publisher, number)
        known = self._young.get(event)
        if known is None:
            known = self._old.get(event)
        if known is not None:
            had = set(known)
            listeners = [one for one in listeners if one not in had]
            if not listeners:
                return listeners
            known = [*known, *listeners]
        self._young[event] = listeners if known is None else known
        self._listeners += len(listeners)
        if len(self._young) >= EVENTS or self._listeners >= LISTENERS:
            self._old, self._young, self._listeners = self._young, {}, 0
        return listeners
