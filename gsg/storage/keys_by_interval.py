"""The keys of facts that lie in the intervals of ordered attributes (:mod:`gsg.tuples.ordered_attributes`), by interval."""

from __future__ import annotations

from collections.abc import Collection

from ..tuples.features import Interval, Key
from ..tuples.ordered_attributes import OrderedAttributes


class KeysByInterval:
    """Which keys are here, of those whose positions are ordered. Bounded by the keys of facts."""

    __slots__ = ("_attributes", "_keys")

    def __init__(self, attributes: OrderedAttributes) -> None:
        self._attributes = attributes
        self._keys: dict[Key, dict[Key, None]] = {}

    def add(self, key: Key) -> None:
        """Facts have come under a key under which there were none."""
        interval = self._attributes.interval_key(key)
        if interval is not None:
            self._keys.setdefault(interval, {})[key] = None

    def remove(self, key: Key) -> None:
        """There are none any more under a key."""
        interval = self._attributes.interval_key(key)
        if interval is not None and interval in self._keys:
            self._keys[interval].pop(key, None)
            if not self._keys[interval]:
                del self._keys[interval]

    def covered_by(self, key: Key) -> Collection[Key]:
        """The keys whose facts are under one: itself, or of an interval those that lie in it."""
        return self._keys.get(key, ()) if type(key[2]) is Interval else (key,)
