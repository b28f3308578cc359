"""The rows of a subscription as a table: of Arrow, of pandas, and as a notebook shows it.

A column is typed where all of its terms are values of one type of Python (:meth:`gsg.Literal.to_python`); else it has texts, as GSG
script writes its terms. Nothing is converted on the way that would not come back: 1 and 1.5 in one column are texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import BadTerm, GsgError, Unsupported
from ..languages import notebook
from ..languages.rows import Row
from ..tuples.escaping import ERRORS
from ..tuples.python_values import PythonValue
from ..tuples.terms import Literal, Term, Variable, n3

if TYPE_CHECKING:
    import pandas
    import pyarrow

MOST_SHOWN = 20
"""Rows that a notebook shows of a subscription; of further ones it says how many there are."""


class HasRows(Protocol):
    """What has an answer."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of a row, in order of appearance."""

    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often."""


class Tabular:
    """A subscription whose rows are shown as a table."""

    __slots__ = ()

    def to_arrow(self: HasRows) -> pyarrow.Table:
        """The rows that hold now, as often as they hold, as a table of Arrow: a column for each variable, null where it is unbound.

        A column whose terms are values of one type is int64, double, bool, string, decimal, date32, time64, timestamp (in UTC where
        they have timezones), duration or binary, and one without any term null. Other columns are strings, the terms as GSG script
        writes them: mixed ones, those of symbols and IRIs, and those with a value that the type does not hold. Raises Unsupported
        without pyarrow, and like ``rows()``.
        """
        return arrow_table(self.variables, self.rows())

    def to_dataframe(self: HasRows) -> pandas.DataFrame:
        """The same as a DataFrame of pandas. Its columns keep the types of Arrow (``pandas.ArrowDtype``), since pandas' own turn
        integers into floats where one is missing. Raises Unsupported without pandas or pyarrow, and like ``rows()``."""
        return data_frame(self.variables, self.rows())

    def _repr_html_(self: HasRows) -> str:
        try:
            rows = self.rows()
        except GsgError as error:
            return notebook.text(f"{self!r}\n{error}")
        shown = [row.aligned(self.variables) for row in islice(rows.elements(), MOST_SHOWN)]
        more = rows.total() - len(shown)
        rest = notebook.text(f"and {more:,} more") if more else ""
        return notebook.text(f"{self!r}, rows: {rows.total():,}") + notebook.table(self.variables, shown) + rest


def arrow_table(names: tuple[str, ...], rows: Counter[Row]) -> pyarrow.Table:
    """Rows as a table of Arrow; see :meth:`Tabular.to_arrow`."""
    arrow = _imported("pyarrow")
    aligned = [row.aligned(names) for row in rows.elements()]
    if not names:
        # Columns would say how many rows there are.
        return arrow.Table.from_struct_array(arrow.array([{}] * len(aligned), arrow.struct([])))
    columns = zip(*aligned, strict=True) if aligned else [()] * len(names)
    return arrow.Table.from_arrays([_column(arrow, column) for column in columns], names=list(names))


def data_frame(names: tuple[str, ...], rows: Counter[Row]) -> pandas.DataFrame:
    """Rows as a DataFrame; see :meth:`Tabular.to_dataframe`."""
    pandas = _imported("pandas")
    return arrow_table(names, rows).to_pandas(types_mapper=pandas.ArrowDtype)


def _imported(name: str) -> Any:  # Any: pyarrow or pandas, which are imported only by those who use them
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise Unsupported(
            f"a table of rows needs {name} ({error}); install the extra: pip install 'gsg-router[sim]', or in a clone: "
            "make .venv/.installed"
        ) from None


def _column(arrow: Any, terms: Sequence[Term | None]) -> pyarrow.Array:  # Any: as above
    values = [None if term is None else _value(term) for term in terms]
    kinds = {_kind(value) for value in values if value is not None}
    if not kinds:
        return arrow.nulls(len(terms))
    if len(kinds) == 1 and (made := _ARROW.get(kinds.pop())) is not None:
        try:
            return arrow.array(values, made(arrow))
        # What Arrow does not hold: an integer beyond 64 bits, a decimal beyond 76 digits, half of a surrogate pair.
        except (ValueError, OverflowError):
            pass
    return arrow.array([None if term is None else _text(term) for term in terms], arrow.string())


def _value(term: Term) -> PythonValue | Term:
    if type(term) is not Literal:
        return term
    try:
        return term.to_python()
    except BadTerm:
        return term


def _kind(value: PythonValue | Term) -> object:
    kind = type(value)
    return (kind, value.tzinfo is not None) if isinstance(value, datetime | time) else kind


_ARROW: dict[object, Callable[[Any], Any]] = {  # Any: pyarrow, and a type of it or None, which is found out from the values
    int: lambda arrow: arrow.int64(),
    float: lambda arrow: arrow.float64(),
    bool: lambda arrow: arrow.bool_(),
    str: lambda arrow: arrow.string(),
    bytes: lambda arrow: arrow.binary(),
    Decimal: lambda arrow: None,
    date: lambda arrow: arrow.date32(),
    timedelta: lambda arrow: arrow.duration("us"),
    (datetime, False): lambda arrow: arrow.timestamp("us"),
    (datetime, True): lambda arrow: arrow.timestamp("us", tz="UTC"),
    (time, False): lambda arrow: arrow.time64("us"),
}
"""By type, and whether there is a timezone, which Arrow's times do not have."""


def _text(term: Term) -> str:
    return n3(term).encode("utf-8", ERRORS).decode("utf-8")


def shown(kind: str, variables: Iterable[str], state: str) -> str:
    """A subscription in one line, for its ``repr``; the names of variables may be a stranger's."""
    names = " ".join(Variable(name).n3() for name in variables) or "whether there is an answer"
    return f"<gsg.{kind} to {names}: {state}>"
