"""Terms as codes in the order in which they come, where they are there one by one: those of traces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gsg.tuples.features import Template, key
from gsg.tuples.terms import Term

from ..engine.kernels import Whole
from ..engine.ownership import prefixes_of
from .workload import ARITY, Constants, Recorded


class Codes:
    """Terms by the order in which they come, in each position."""

    def __init__(self) -> None:
        self.terms: tuple[dict[Term, int], ...] = tuple({} for _ in range(ARITY))
        self._columns: tuple[list[np.ndarray[tuple[int], np.dtype[np.int32]]], ...] = tuple([] for _ in range(ARITY))

    def add(self, rows: list[tuple[Term, ...]]) -> None:
        """Take tuples in."""
        for position, (terms, columns) in enumerate(zip(self.terms, self._columns, strict=True)):
            codes = [terms.setdefault(row[position], len(terms)) for row in rows]
            columns.append(np.array(codes, dtype=np.int32))

    def of_templates(self, templates: Sequence[Template]) -> Whole:
        """Templates of as many positions as columns of codes, -1 where anything may stand; their constants are taken in too."""
        codes = np.full((ARITY, len(templates)), -1, dtype=np.int64)
        for number, template in enumerate(templates):
            for position, wanted in enumerate(template.pattern):
                if wanted is not None:
                    codes[position, number] = self.terms[position].setdefault(wanted, len(self.terms[position]))
        return codes

    def __len__(self) -> int:
        """How many tuples there are."""
        return sum(map(len, self._columns[0]))

    def recorded(self, seconds: float) -> Recorded:
        """All of them as columns."""
        columns = tuple(np.concatenate(parts) for parts in self._columns)
        constants = tuple(_constants(position, self.terms[position], column) for position, column in enumerate(columns))
        return Recorded(columns, constants, seconds)


def _constants(position: int, terms: dict[Term, int], column: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Constants:
    keys = prefixes_of([key(ARITY, position, constant) for constant in terms])
    return Constants(keys, np.bincount(column, minlength=len(terms)).astype(np.int64))
