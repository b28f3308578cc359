"""The dictionary of one position: each text or value of a file has a place, and each place a key, the one that peers use.

A text is looked at once however often it comes (gsg.tuples.features.key takes a hundred times as long as to find it again). Columns
come as those of Arrow, whose own dictionaries tell the distinct values, or as lists, and go as places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gsg.errors import GsgError
from gsg.tuples.features import key
from gsg.tuples.terms import Term, term

from ...engine.randomness import Words
from ..lines import TOO_DEEP
from ..term_texts import term_of_text
from ..workload import ARITY
from .text_table import MISSING, TextTable, hashes_of

if TYPE_CHECKING:
    import pyarrow

Column: TypeAlias = "pyarrow.Array | list[object]"
"""The fields of one position: texts, or values of other kinds that are terms as they are; null or None for none."""
Places: TypeAlias = NDArray[np.int32]

NO_PLACE = -1
"""The place of what is no term."""


class Encoded(NamedTuple):
    """A column by its distinct values: their places, shape (distinct,), and which of those each field is, shape (fields,).

    A value may be among the distinct ones without any field that has it.
    """

    distinct: Places
    which: NDArray[np.integer[Any]]

    @property
    def places(self) -> Places:
        """The place of each field."""
        found: Places = self.distinct[self.which]
        return found


class Dictionary:
    """Texts and values of a position by place, in the order in which they come; with ``keeps_terms`` the terms of places too."""

    def __init__(self, position: int, *, keeps_terms: bool = False) -> None:
        self._position = position
        self._texts = TextTable()
        self._terms: dict[Term, int] = {}
        """What did not come as a text: values that Python takes for equal, as 1 and 1.0, are different terms."""
        self._keys = np.zeros(1 << 10, dtype=np.uint64)
        self._made = 0
        self._kept: list[Term] | None = [] if keeps_terms else None

    def __len__(self) -> int:
        """How many places there are."""
        return self._made

    @property
    def size(self) -> int:
        """How many texts and values are remembered, those that are no terms included."""
        return len(self._texts) + len(self._terms)

    @property
    def keys(self) -> Words:
        """The first 64 bits of the key of each place."""
        return self._keys[: self._made]

    def clear(self) -> None:
        """Forget all; places begin anew."""
        self._texts.clear()
        self._terms.clear()
        self._made = 0

    def encode(self, column: Column) -> Encoded:
        """The places of a column, NO_PLACE where a field is no term."""
        import pyarrow

        if isinstance(column, list):
            try:
                column = pyarrow.array(column, pyarrow.string())
            except (pyarrow.ArrowException, TypeError, ValueError):
                return _told_apart(self._places_of(column))
        if isinstance(column, pyarrow.ExtensionArray):
            column = column.storage
        if not isinstance(column, pyarrow.DictionaryArray):
            if not _has_plain_equality(column.type):
                return _told_apart(self._places_of(column.to_pylist()))
            column = column.dictionary_encode()
        return self._encode_distinct(column)

    def terms(self) -> list[Term]:
        """The term of each place, where they are kept."""
        return list(self._kept or [])

    def _encode_distinct(self, column: pyarrow.DictionaryArray) -> Encoded:
        values = column.dictionary
        if _is_text(values.type) and not values.null_count:
            distinct = self._places_of_texts(values)
        else:
            distinct = self._places_of(values.to_pylist())
        indices = column.indices
        if indices.null_count:
            distinct = np.append(distinct, np.int32(NO_PLACE))
            indices = indices.fill_null(len(distinct) - 1)
        return Encoded(distinct, indices.to_numpy(zero_copy_only=False))

    def _places_of_texts(self, texts: pyarrow.Array) -> Places:
        hashes = hashes_of(texts)
        found = self._texts.find(hashes)
        missing = np.flatnonzero(found == MISSING)
        if len(missing):
            # One text may come twice.
            fresh, first, again = np.unique(hashes[missing], return_index=True, return_inverse=True)
            order = np.argsort(first)
            places = np.empty(len(fresh), dtype=np.int32)
            places[order] = [self._place_of_text(text) for text in texts.take(_numbers(missing[first[order]])).to_pylist()]
            self._texts.add(fresh, places)
            found[missing] = places[again]
        return found

    def _places_of(self, values: Sequence[Any]) -> Places:
        """The places of fields of which some are no texts."""
        import pyarrow

        found = np.full(len(values), NO_PLACE, dtype=np.int32)
        texts = [place for place, value in enumerate(values) if isinstance(value, str) and _is_utf8(value)]
        if texts:
            found[texts] = self._places_of_texts(pyarrow.array([values[place] for place in texts], pyarrow.string()))
        for place, value in enumerate(values):
            if not isinstance(value, str):
                found[place] = self._place_of_value(value)
        return found

    def _place_of_value(self, value: object) -> int:
        try:
            made = term_of(value)
            known = self._terms.get(made)
            if known is None:
                known = self._terms[made] = self._new_place(made)
        except (ValueError, GsgError, RecursionError):
            return NO_PLACE
        return known

    def _place_of_text(self, text: str) -> int:
        try:
            return self._new_place(term_of_text(text))
        except (ValueError, GsgError, RecursionError):
            return NO_PLACE

    def _new_place(self, constant: Term) -> int:
        made = int.from_bytes(key(ARITY, self._position, constant)[:8], "big")
        if self._made == len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
        self._keys[self._made] = made
        self._made += 1
        if self._kept is not None:
            self._kept.append(constant)
        return self._made - 1


def term_of(value: object) -> Term:
    """The term of a field. Raises ValueError or GsgError for one that is none, and BadWorkload as term_of_text does."""
    if isinstance(value, str):
        return term_of_text(value)
    if value is None:
        raise ValueError("a field is empty")
    return term(value)


def problem_of(value: object) -> str | None:
    """What is wrong with a field; None for a term."""
    try:
        key(ARITY, 0, term_of(value))
    except (ValueError, GsgError) as error:
        return str(error)
    except RecursionError:
        return TOO_DEEP
    return None


def _is_utf8(text: str) -> bool:
    # JSON may escape half of a pair of UTF-16, which no term can hold.
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _numbers(places: NDArray[np.int64]) -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(places)


def _told_apart(places: Places) -> Encoded:
    distinct, which = np.unique(places, return_inverse=True)
    return Encoded(distinct, which)


def _is_text(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _has_plain_equality(kind: pyarrow.DataType) -> bool:
    """Whether values of Arrow that are equal are one term: 0.0 and -0.0 are two, and lists are none."""
    from pyarrow import types

    return _is_text(kind) or any(
        holds(kind)
        for holds in (types.is_integer, types.is_boolean, types.is_date, types.is_timestamp, types.is_decimal, types.is_binary)
    )
