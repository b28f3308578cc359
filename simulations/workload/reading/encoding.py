"""Rows of fields as places in dictionaries: which are tuples, what is wrong with the others, and constants by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...engine.kernels import Whole
from ...engine.randomness import Words
from ..lines import TOO_DEEP
from ..pieces import EXAMPLES
from ..workload import ARITY
from .columns import Complaint, Rows
from .dictionary import NO_PLACE, Column, Dictionary, Encoded, problem_of

Dictionaries: TypeAlias = tuple[Dictionary, ...]
"""One for each position."""


class Tuples(NamedTuple):
    """What a batch holds: the tuples by columns of places, and the lines that hold none."""

    columns: tuple[Encoded, ...]
    malformed: int
    examples: list[Complaint]
    """The first of them, EXAMPLES at most, by their lines."""
    graphs: int

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.columns[0].which)


def new_dictionaries(*, keeps_terms: bool = False) -> Dictionaries:
    """Empty ones."""
    return tuple(Dictionary(position, keeps_terms=keeps_terms) for position in range(ARITY))


def encode(dictionaries: Dictionaries, rows: Rows) -> Tuples:
    """The tuples of a batch; a row of which a field is no term is none."""
    columns = tuple(known.encode(column) for known, column in zip(dictionaries, rows.columns, strict=True))
    wrong = np.zeros(len(rows.lines), dtype=bool)
    for column in columns:
        if NO_PLACE in column.distinct:
            wrong |= column.places == NO_PLACE
    found = np.flatnonzero(wrong)
    if len(found):
        columns = tuple(Encoded(column.distinct, column.which[~wrong]) for column in columns)
    told = [(int(rows.lines[row]), _first_problem(rows.columns, int(row))) for row in found[:EXAMPLES]]
    examples = sorted([*rows.complaints, *told], key=_line_of)[:EXAMPLES]
    return Tuples(columns, len(rows.complaints) + len(found), examples, rows.graphs)


def _line_of(complaint: Complaint) -> int:
    return complaint[0]


def _first_problem(columns: Sequence[Column], row: int) -> str:
    """Of the fields in their order, the first that is no term."""
    values = [column[row] if isinstance(column, list) else column[row].as_py() for column in columns]
    # How deep is too deep depends on the calls that stand around it: here it may pass.
    return next((problem for value in values if (problem := problem_of(value)) is not None), TOO_DEEP)


def ranked(keys: Words) -> tuple[Words, NDArray[np.int32]]:
    """Distinct keys in order, and for each of the given ones which of those it is.

    That is what a code is: so it is the same whoever read the file, and in what order.
    """
    order, codes = np.unique(keys, return_inverse=True)
    return order, codes.astype(np.int32)


def summed(keys: Words, counts: Whole) -> tuple[Words, Whole]:
    """Distinct keys in order, and the sum of the counts of each."""
    order = np.argsort(keys)
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), dtype=bool), keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts
