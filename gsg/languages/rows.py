"""Rows: what a standing query answers, and the signed differences by which an answer changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TypeAlias

from ..tuples.terms import Term, Tuple, n3, python_value, term
from . import notebook


class Sign(IntEnum):
    """What a difference says of its row. Signs of one row add up to how often it is in ``rows()``: an event counts nothing."""

    PLUS = 1
    """The row has become true."""
    MINUS = -1
    """The row has stopped being true."""
    EVENT = 0
    """The row was true for the moment of an event."""

    def __str__(self) -> str:
        return "!" if self is Sign.EVENT else "+" if self is Sign.PLUS else "-"


class Row(Mapping[str, "Term | float"]):
    """One solution: an immutable, hashable mapping from variable name (without ``?``) to term.

    Values are what Python users expect: str, int, float, and gsg's terms for the rest. Rows are equal when they bind the same
    names to the same terms, in any order; 1 and 1.0 are different terms.
    """

    __slots__ = ("_hash", "_names", "_terms")

    def __init__(self, bindings: Mapping[str, object]) -> None:
        """A row from a mapping; raises BadTerm for a value that is no term."""
        self._names = tuple(bindings)
        self._terms: Tuple = tuple(map(term, bindings.values()))
        self._hash = 0

    @classmethod
    def of(cls, names: tuple[str, ...], terms: tuple[Term | None, ...]) -> Row:
        """A row of terms that are known to be terms, None for a name that SPARQL leaves unbound: the row does not have it.

        ``names`` may be shared by all rows of a query.
        """
        made = cls.__new__(cls)
        if None in terms:
            names = tuple(name for name, value in zip(names, terms, strict=True) if value is not None)
            terms = tuple(value for value in terms if value is not None)
        made._names = names
        made._terms = terms  # type: ignore[assignment]  # none of them is None any more
        made._hash = 0
        return made

    def aligned(self, names: tuple[str, ...]) -> tuple[Term | None, ...]:
        """The terms of these names, None for those that the row does not have."""
        if names == self._names:
            return self._terms
        terms = dict(zip(self._names, self._terms, strict=True))
        return tuple(terms.get(name) for name in names)

    @property
    def terms(self) -> Tuple:
        """The bound terms in the order of the names, as they are stored (a float as its ``xsd:double`` literal)."""
        return self._terms

    def __getitem__(self, name: str) -> Term | float:
        try:
            return python_value(self._terms[self._names.index(name)])
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash(frozenset(zip(self._names, self._terms, strict=True)))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._names == other._names:
            return self._terms == other._terms
        return dict(zip(self._names, self._terms, strict=True)) == dict(zip(other._names, other._terms, strict=True))

    def __str__(self) -> str:
        return " ".join(f"?{name}={n3(value)}" for name, value in zip(self._names, self._terms, strict=True)) or "(true)"

    def __repr__(self) -> str:
        return f"Row({dict(self)!r})"

    def _repr_html_(self) -> str:
        return notebook.table(self._names, [self._terms]) if self._names else notebook.text(self)


Change: TypeAlias = tuple[Sign, Row]
"""One signed difference of an answer."""


def changes_of(names: tuple[str, ...], rows: list[tuple[Tuple, int]]) -> Iterator[Change]:
    """Signed differences from (values, weight) pairs: removals first, so that a reader who keeps one row per key never sees two."""
    for values, weight in sorted(rows, key=_weight):
        sign = Sign.PLUS if weight > 0 else Sign.MINUS
        for _ in range(abs(weight)):
            yield sign, Row.of(names, values)


def changes_at_event(names: tuple[str, ...], rows: list[tuple[Tuple, int]]) -> list[Change]:
    """The rows that hold for the moment of an event."""
    row_of, event = Row.of, Sign.EVENT
    return [(event, row_of(names, values)) for values, weight in rows for _ in range(weight)]


def _weight(entry: tuple[Tuple, int]) -> int:
    return entry[1]
