"""The keys that lie in the intervals of ordered attributes (:mod:`gsg.tuples.ordered_attributes`), by interval."""

from __future__ import annotations

from collections.abc import Collection

from ..tuples.features import Interval, Key
from ..tuples.ordered_attributes import OrderedAttributes


class KeysByInterval:
    """Which keys are known here, of those whose positions are ordered: there are facts under them, or tombstones. Bounded by
    these."""

    __slots__ = ("_keys", "_ordered")

    def __init__(self, ordered: OrderedAttributes) -> None:
        self._ordered = ordered
        self._keys: dict[Key, dict[Key, None]] = {}

    def add_key(self, key: Key) -> None:
        """Something is known under a key."""
        interval = self._ordered.interval_key(key)
        if interval is not None:
            self._keys.setdefault(interval, {})[key] = None

    def remove_key(self, key: Key) -> None:
        """Nothing is any more."""
        interval = self._ordered.interval_key(key)
        if interval is not None and interval in self._keys:
            self._keys[interval].pop(key, None)
            if not self._keys[interval]:
                del self._keys[interval]

    def covered_by(self, key: Key) -> Collection[Key]:
        """The keys that are under one: itself, or of an interval those that lie in it."""
        return self._keys.get(key, ()) if type(key[2]) is Interval else (key,)
