"""COUNT, SUM, AVG, MIN, MAX, SAMPLE and GROUP_CONCAT, kept while solutions come and go (SPARQL 1.1, sections 11 and 18.5.1).

Each accumulator depends on the bag alone: sums are exact fractions rounded once at the end, and where SPARQL leaves a choice
(the order of GROUP_CONCAT, the term of SAMPLE, equal values in MIN) the least term in the order of comparing.total_rank is
taken first. An error of the expression makes SUM, AVG, MIN, MAX and GROUP_CONCAT of the group an error; COUNT and SAMPLE leave
it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from rete.sorted_items import SortedItems

from ...tuples.number_forms import DECIMAL, DOUBLE, FLOAT, INTEGER, Number, single
from ...tuples.numbers import number_of
from ...tuples.terms import Term
from .comparing import total_rank
from .errors import ExpressionError
from .evaluating import Evaluate, evaluator
from .functions import text_of
from .numbers import quotient, term_of
from .strings import MAX_TEXT
from .tree import Expression, names_in, rename_variables


@dataclass(frozen=True)
class Aggregated:
    """One aggregate of a query (a :class:`rete.algebra.Aggregate`).

    ``expression`` is None for COUNT(*); then ``solution`` names every variable of the solution if DISTINCT needs them.
    """

    function: str
    expression: Expression | None
    distinct: bool = False
    separator: str = " "
    solution: tuple[str, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.solution if self.expression is None else names_in(self.expression)

    @cached_property
    def _evaluate(self) -> Evaluate | None:
        return None if self.expression is None else evaluator(self.expression, self.names)

    def with_names(self, rename: Callable[[str], str]) -> Aggregated | None:
        """The same aggregate of other names; None where there is none (tree.py)."""
        solution = tuple(map(rename, self.solution))
        if self.expression is None:
            return replace(self, solution=solution)
        made = rename_variables(self.expression, rename)
        return None if made is None else replace(self, expression=made, solution=solution)

    @cached_property
    def unnamed(self) -> Aggregated:
        """The same aggregate of the names 0, 1 and so on, made once."""
        return self.with_names(lambda name: str(self.names.index(name))) or self

    def start(self) -> _Accumulator:
        kept = _KINDS[self.function](self)
        return _Accumulator(self._evaluate, _Distinct(kept) if self.distinct else kept)


class _Accumulator:
    """Evaluates the expression, counts its errors, and hands its values on."""

    __slots__ = ("_errors", "_evaluate", "_kept")

    def __init__(self, evaluate: Evaluate | None, kept: _Kept | _Distinct) -> None:
        self._evaluate = evaluate
        self._kept = kept
        self._errors = 0

    def change(self, values: tuple[Any, ...], weight: int) -> None:  # Any: terms, and None for what is unbound
        if self._evaluate is None:
            self._kept.change(values, weight)
            return
        try:
            value = self._evaluate(values)
        except ExpressionError:
            self._errors += weight
            return
        self._kept.change(value, weight)

    def result(self) -> Term | None:
        if self._errors and not self._kept.tolerant:
            return None
        return self._kept.result()


class _Kept(ABC):
    """What an aggregate remembers of the values of a group."""

    __slots__ = ()
    tolerant = False
    """Whether errors are left out, rather than making the whole an error."""

    @abstractmethod
    def change(self, value: Any, weight: int) -> None:  # Any: a term, or for COUNT(*) a tuple of terms
        """A value comes or goes."""

    @abstractmethod
    def result(self) -> Term | None:
        """The aggregate of what is there; None for an error."""


class _Distinct:
    """Hands each value on once: when it first comes, and when it last goes."""

    __slots__ = ("_counts", "_kept")

    def __init__(self, kept: _Kept) -> None:
        self._kept = kept
        self._counts: dict[Any, int] = {}

    @property
    def tolerant(self) -> bool:
        return self._kept.tolerant

    def change(self, value: Any, weight: int) -> None:  # Any: as above
        before = self._counts.get(value, 0)
        after = before + weight
        if after:
            self._counts[value] = after
        else:
            self._counts.pop(value, None)
        if (after > 0) != (before > 0):
            self._kept.change(value, 1 if after > 0 else -1)

    def result(self) -> Term | None:
        return self._kept.result()


class _Count(_Kept):
    __slots__ = ("_count",)
    tolerant = True

    def __init__(self, aggregate: Aggregated) -> None:
        self._count = 0

    def change(self, value: Any, weight: int) -> None:  # Any: as above
        self._count += weight

    def result(self) -> Term | None:
        return term_of((INTEGER, self._count))


class _Sum(_Kept):
    """The exact sum of what is finite, and how many numbers of each kind there are: the highest is the kind of the result."""

    __slots__ = ("_count", "_infinite", "_kinds", "_others", "_sum")

    def __init__(self, aggregate: Aggregated) -> None:
        self._sum: int | Fraction = 0
        self._kinds = [0, 0, 0, 0]
        self._infinite = {"inf": 0, "-inf": 0, "nan": 0}
        self._others = 0
        self._count = 0

    def change(self, value: Any, weight: int) -> None:  # Any: as above
        number = number_of(value)
        self._count += weight
        if number is None:
            self._others += weight
            return
        kind, amount = number
        self._kinds[kind] += weight
        if kind >= FLOAT and amount - amount != 0:
            self._infinite[repr(float(amount))] += weight
        else:
            self._sum += weight * (amount if kind == INTEGER else Fraction(amount))

    def total(self) -> Number | None:
        """The sum as a number; None where something in it was none."""
        if self._others:
            return None
        kind = max((kind for kind in (INTEGER, DECIMAL, FLOAT, DOUBLE) if self._kinds[kind]), default=INTEGER)
        if kind == INTEGER:
            return INTEGER, int(self._sum)
        if kind == DECIMAL:
            return DECIMAL, _decimal(Fraction(self._sum))
        made = self._float()
        return kind, single(made) if kind == FLOAT else made

    def _float(self) -> float:
        positive, negative = self._infinite["inf"], self._infinite["-inf"]
        if self._infinite["nan"] or (positive and negative):
            return float("nan")
        if positive or negative:
            return float("inf") if positive else float("-inf")
        try:
            return float(self._sum)
        except OverflowError:
            return float("inf") if self._sum > 0 else float("-inf")

    def result(self) -> Term | None:
        total = self.total()
        return None if total is None else term_of(total)


def _decimal(value: Fraction) -> Decimal:
    """The decimal of a sum of decimals: its denominator has no factor but 2 and 5."""
    digits = len(str(value.numerator)) + value.denominator.bit_length() + 2
    return Context(prec=digits).divide(Decimal(value.numerator), Decimal(value.denominator))


class _Average(_Sum):
    __slots__ = ()

    def result(self) -> Term | None:
        total = self.total()
        if total is None:
            return None
        kind, amount = total
        if not self._count:
            return term_of((INTEGER, 0))
        if kind <= DECIMAL:
            return term_of((DECIMAL, quotient(Decimal(amount), Decimal(self._count))))
        made = float(amount)
        if made - made == 0:
            made = float(Fraction(self._sum) / self._count)
        return term_of((kind, single(made) if kind == FLOAT else made))


class SortedBag:
    """Values in the order of their keys, each once, with how often it is there."""

    __slots__ = ("counts", "order")

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}  # Any: values that hash and keys that sort, here and below
        self.order: SortedItems[Any] = SortedItems()
        """Each key with its value."""

    def change(self, key: Any, value: Any, weight: int) -> None:
        """A value comes or goes, so many times."""
        count = self.counts.get(value, 0) + weight
        if value not in self.counts:
            self.order.insert(key, value)
        if count:
            self.counts[value] = count
        else:
            self.counts.pop(value, None)
            del self.order[self.order.first_place(key)]


class _Sorted(_Kept):
    """The values in order."""

    __slots__ = ("_bag",)

    def __init__(self, aggregate: Aggregated) -> None:
        self._bag = SortedBag()

    def change(self, value: Any, weight: int) -> None:  # Any: as above
        self._bag.change(total_rank(value), value, weight)


class _Minimum(_Sorted):
    __slots__ = ()

    def result(self) -> Term | None:
        return self._bag.order[0][1] if self._bag.order else None


class _Maximum(_Sorted):
    __slots__ = ()

    def result(self) -> Term | None:
        return self._bag.order[-1][1] if self._bag.order else None


class _Sample(_Minimum):
    __slots__ = ()
    tolerant = True


class _Concatenation(_Kept):
    """The texts in order, so that of a change nothing but the joining costs a look at all of them."""

    __slots__ = ("_characters", "_counts", "_order", "_others", "_repeated", "_separator")

    def __init__(self, aggregate: Aggregated) -> None:
        self._separator = aggregate.separator
        self._counts: dict[Any, int] = {}  # Any: as above
        self._order: SortedItems[tuple[str, Any]] = SortedItems()  # Any: as above
        """The text of each value, and the value."""
        self._characters = 0
        """Of all copies, with a separator behind each: a product has the same value as often as it likes."""
        self._others = 0
        """How many values have no text."""
        self._repeated = 0
        """How many values are there another number of times than once."""

    def change(self, value: Any, weight: int) -> None:  # Any: as above
        try:
            text = text_of(value)
        except ExpressionError:
            self._others += weight
            return
        before = self._counts.get(value, 0)
        after = before + weight
        self._characters += weight * (len(text) + len(self._separator))
        self._repeated += (after not in (0, 1)) - (before not in (0, 1))
        if not before:
            self._order.insert(total_rank(value), (text, value))
        if after:
            self._counts[value] = after
        else:
            self._counts.pop(value, None)
            del self._order[self._order.first_place(total_rank(value))]

    def result(self) -> Term | None:
        if self._others or self._characters - len(self._separator) > MAX_TEXT:
            return None
        if not self._repeated:
            return self._separator.join([text for _, (text, _) in self._order])
        made = "".join([(text + self._separator) * self._counts[value] for _, (text, value) in self._order])
        return made[: len(made) - len(self._separator)]


_KINDS: dict[str, type[_Count | _Sum | _Sorted | _Concatenation]] = {
    "COUNT": _Count,
    "SUM": _Sum,
    "AVG": _Average,
    "MIN": _Minimum,
    "MAX": _Maximum,
    "SAMPLE": _Sample,
    "GROUP_CONCAT": _Concatenation,
}
AGGREGATES = frozenset(_KINDS)
