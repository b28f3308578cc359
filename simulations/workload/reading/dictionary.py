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
    """Texts and values of a position by place, in the order in which they come."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._texts: dict[str, int] = {}
        self._terms: dict[Term, int] = {}
        """What did not come as a text: values that Python takes for equal, as 1 and 1.0, are different terms."""
        self._keys = np.zeros(1 << 10, dtype=np.uint64)
        self._made = 0

    def __len__(self) -> int:
        """How many places there are."""
        return self._made

    @property
    def size(self) -> int:
        """How many texts and values are remembered, those that are no terms included: about 200 bytes each."""
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
        """The term of each place, made again."""
        found: dict[int, Term] = {place: text_or_term for text_or_term, place in self._terms.items()}
        found |= {place: term_of_text(text) for text, place in self._texts.items() if place != NO_PLACE}
        return [found[place] for place in range(len(self))]

    def _encode_distinct(self, column: pyarrow.DictionaryArray) -> Encoded:
        values = column.dictionary
        texts = values.to_numpy(zero_copy_only=False).tolist() if _is_text(values.type) else values.to_pylist()
        distinct = self._places_of(texts)
        indices = column.indices
        if indices.null_count:
            distinct = np.append(distinct, np.int32(NO_PLACE))
            indices = indices.fill_null(len(distinct) - 1)
        return Encoded(distinct, indices.to_numpy(zero_copy_only=False))

    def _places_of(self, values: Sequence[Any]) -> Places:
        try:
            found = list(map(self._texts.get, values))
        except TypeError:
            # A list or an object of JSON has no hash, and is no term.
            found = [self._texts.get(value) if isinstance(value, str) else None for value in values]
        if None in found:
            found = [self._place_of(value) if place is None else place for place, value in zip(found, values, strict=True)]
        return np.array(found, dtype=np.int32)

    def _place_of(self, value: object) -> int:
        if not isinstance(value, str):
            try:
                made = term_of(value)
                known = self._terms.get(made)
                if known is None:
                    known = self._terms[made] = self._new_place(made)
            except (ValueError, GsgError, RecursionError):
                return NO_PLACE
            return known
        known = self._texts.get(value)
        if known is None:
            try:
                known = self._new_place(term_of_text(value))
            except (ValueError, GsgError, RecursionError):
                known = NO_PLACE
            self._texts[value] = known
        return known

    def _new_place(self, constant: Term) -> int:
        made = int.from_bytes(key(ARITY, self._position, constant)[:8], "big")
        if self._made == len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
        self._keys[self._made] = made
        self._made += 1
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
