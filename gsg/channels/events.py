"""Events: sets of fields without a schema, each known by its source and its number there.

Two events with equal fields are two events. The environment is what its publisher's context said when it was published
(:mod:`.environment`); it is looked at by subscriptions and not a part of the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import BadTerm, LocalError
from .values import Reference, Value

MAX_DEPTH: Final = 32
"""Events and lists within an event; a deeper one is refused."""
MAX_VALUES: Final = 50_000
"""Of one event, those of lists and inner events counted; one with more is refused."""
MAX_CHARACTERS: Final = 1024 * 1024
"""Characters of all names and texts of one event; one with more is refused."""
MAX_BITS: Final = 1_024
"""Of a whole number; a longer one is refused, as no float is as large."""
MAX_ENVIRONMENT: Final = 16_384
"""Characters of an environment; a longer one is refused."""
MAX_READERS: Final = 1_000
"""Names of who may notice one event; an event with more is refused, to whoever publishes it."""
MAX_READER: Final = 200
"""Characters of one of these names, and of that of who asks; the event or subscription with a longer one is refused."""
MAX_SOURCE: Final = 256
"""Characters of an event's source; a longer one is refused."""
_SMALL: Final = 2**63
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. ``readers`` names who may notice it; None for everybody."""

    fields: dict[str, Value]
    source: str = ""
    number: int = 0
    environment: Mapping[str, Value] = field(default_factory=dict)
    readers: frozenset[str] | None = None
    characters: int = field(default=0, repr=False, compare=False)
    """Of the fields, about; 0 where nobody has counted them yet."""

    def size(self) -> int:
        """About how many characters it has, for limits by bytes: its objects take some four times as many."""
        if not self.characters:
            object.__setattr__(self, "characters", characters_of(self.fields))
        readers = 0 if self.readers is None else sum(map(characters_of, self.readers))
        return self.characters + (characters_of(self.environment) if self.environment else 8) + readers


def fields_of(given: Mapping[str, Any]) -> dict[str, Value]:
    """A copy of the fields that is the event's own. Raises BadTerm for what is no event, or too large a one."""
    return counted_fields_of(given)[0]


def counted_fields_of(given: Mapping[str, Any]) -> tuple[dict[str, Value], int]:
    """The same, and about how many characters they have."""
    if type(given) is not dict and not isinstance(given, Mapping):
        raise BadTerm(f"an event of type {type(given).__name__}; expected a mapping from names to values")
    copy = _Copy()
    return copy.fields(given, 1), copy.size()


def environment_of(given: Mapping[str, Any]) -> dict[str, Value]:
    """A copy of an environment. Raises BadTerm for what is none, or too large a one: it goes with each event."""
    copied = fields_of(given)
    if characters_of(copied) > MAX_ENVIRONMENT:
        raise BadTerm(f"an environment of more than {MAX_ENVIRONMENT:,} characters; expected fewer: carry a reference to the rest")
    return copied


def names_of(given: Iterable[str]) -> frozenset[str]:
    """A set of names of readers, or of who asks. Raises LocalError for what is no name, and for too many."""
    if isinstance(given, str):
        raise LocalError(f"readers={given!r}; expected a collection of names, such as [{given!r}]")
    names = frozenset(given)
    if len(names) > MAX_READERS:
        raise LocalError(f"{len(names):,} readers; expected at most {MAX_READERS:,}: give them a name together")
    for name in names:
        if not isinstance(name, str) or len(name) > MAX_READER or _HALF_PAIR.search(name):
            raise LocalError(f"{name!r:.80} as the name of a reader, or of who asks; expected at most {MAX_READER} characters")
    return names


def check_origin(event: Event) -> None:
    """Raise LocalError for an event whose source or number no channel gives, or whose readers are no names."""
    if not isinstance(event.source, str) or len(event.source) > MAX_SOURCE or _HALF_PAIR.search(event.source):
        raise LocalError(f"an event of source {event.source!r:.80}; expected a text of at most {MAX_SOURCE} characters")
    if type(event.number) is not int or not 0 <= event.number < 2**63:
        raise LocalError(f"an event of number {event.number!r:.80}; expected a whole number from 0 to 2^63 - 1")
    if event.readers is not None:
        names_of(event.readers)


class _Copy:
    def __init__(self) -> None:
        self._values = 0
        self._characters = 0

    def size(self) -> int:
        """As that of an event."""
        return 8 + 8 * self._values + self._characters

    def fields(self, given: Mapping[str, Any], depth: int) -> dict[str, Value]:
        copied = {}
        for name, value in given.items():
            if type(name) is not str or not name:
                raise BadTerm(f"a field called {name!r}; expected a text that is not empty")
            # Most values are ASCII texts and small numbers: the rest of this says the same of all values.
            kind = type(value)
            length = len(name) + len(value) if kind is str else len(name)
            is_plain = (
                value.isascii() if kind is str else -_SMALL < value < _SMALL if kind is int else kind is float or kind is bool
            )
            if is_plain and name.isascii() and self._characters + length <= MAX_CHARACTERS and self._values < MAX_VALUES:
                self._characters += length
                self._values += 1
                copied[name] = value
                continue
            self._count_text(name, name)
            copied[name] = self._value(name, value, depth)
        return copied

    def _value(self, name: str, value: Any, depth: int) -> Value:
        kind = type(value)
        self._values += 1
        if self._values > MAX_VALUES:
            raise BadTerm(
                f"an event of more than {MAX_VALUES:,} values; expected fewer: publish several, or a reference to the rest"
            )
        if kind is str:
            self._count_text(name, value)
            return value  # type: ignore[no-any-return]  # a text
        if kind is int:
            if value.bit_length() > MAX_BITS:
                raise BadTerm(f"field {name!r}: a number of {value.bit_length():,} bits; expected at most {MAX_BITS:,}, or a text")
            return value  # type: ignore[no-any-return]  # a number
        if kind is float or value is None or kind is bool:
            return value  # type: ignore[no-any-return]  # a simple value
        if kind is Reference:
            self._count_text(name, value.address)
            return value  # type: ignore[no-any-return]  # a reference
        if depth >= MAX_DEPTH:
            raise BadTerm(f"field {name!r}: values nested more than {MAX_DEPTH} deep; expected fewer")
        if isinstance(value, Mapping):
            return self.fields(value, depth + 1)
        if isinstance(value, Sequence) and kind in (list, tuple):
            return [self._value(name, each, depth + 1) for each in value]
        raise BadTerm(
            f"field {name!r}: a value of type {kind.__name__}; "
            "expected a text, a number, true, false, None, a list, a mapping or a Reference"
        )

    def _count_text(self, name: str, text: str) -> None:
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise BadTerm(
                f"an event of more than {MAX_CHARACTERS:,} characters; expected a smaller one: publish a reference to the rest"
            )
        if not text.isascii() and (found := _HALF_PAIR.search(text)):
            raise BadTerm(
                f"field {name!r}: {found.group()!r} is half a surrogate pair, which no text can hold; expected a character"
            )


def characters_of(value: object) -> int:
    """About how many characters the names and texts of a value have; 8 for whatever is no text."""
    kind = value.__class__
    if kind is str:
        return 8 + len(value)  # type: ignore[arg-type]  # a text
    if kind is list:
        return 8 + sum(map(characters_of, value))  # type: ignore[call-overload]  # a list
    if kind is not dict and not isinstance(value, Mapping):
        return 8
    total = 8
    for name, each in value.items():  # type: ignore[attr-defined]  # a mapping
        its = each.__class__
        total += len(name) + (8 + len(each) if its is str else 8 if its is int or its is float else characters_of(each))
    return total
