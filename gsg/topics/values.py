"""The values of an event that is to be published, as a program gives them: a list or tuple, so that a slip is not an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from reprlib import repr as shortened
from typing import Final

from ..errors import BadTerm


def event_values(events: Iterable[Iterable[object]]) -> Iterator[tuple[object, ...]]:
    """The values of one event after the other. Raises BadTerm for what holds none, or is a value itself."""
    if _is_no_list(events):
        raise BadTerm(f"{shortened(events)} is no list of events; {_EXPECTED}, and several are [[21], [22]]")
    for event in events:
        if _is_no_list(event):
            raise BadTerm(f"{shortened(event)} is no event; {_EXPECTED}")
        values = tuple(event)
        if not values:
            raise BadTerm(f"{shortened(event)} is an event without values; {_EXPECTED}")
        yield values


def _is_no_list(given: object) -> bool:
    return isinstance(given, str | bytes | bytearray | Set | Mapping) or not isinstance(given, Iterable)


_EXPECTED: Final = 'an event is a list or tuple of its values, at least one, such as [21] or [22, "warm"]'
