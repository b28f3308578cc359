"""Real tuples from files: N-Triples, tab or comma separated values, JSON lines (each also gzipped) and Parquet (pieces.py).

A line that holds no tuple is counted and the first few are kept with what is wrong; a file that cannot be read at all is refused.
In N-Triples a term is a term. In the other formats a text that begins as a term of N-Triples does (``<``, ``_:`` or ``"``) is that
term, any other is a symbol, and a number of JSON is a number. The key of a constant is the one that peers use
(gsg.tuples.features.key).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gsg.tuples.features import Template, key
from gsg.tuples.terms import Term

from ..engine.kernels import Whole
from ..engine.ownership import prefixes_of
from ..errors import BadWorkload
from .lines import Fields
from .pieces import Malformed, Piece, Terms, failing, lines_of, made_of
from .sources import sources_of
from .workload import ARITY, DAY_S, Constants, Recorded


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: the tuples, the terms that stand behind the codes of each position, and what was not understood."""

    recorded: Recorded
    terms: tuple[dict[Term, int], ...]
    malformed: int
    examples: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    """Files of a folder that are none of tuples by name."""


def read(path: str | Path, *, format: str | None = None, seconds: float = DAY_S) -> Reading:
    """All tuples of a file, a folder or a pattern, encoded. Raises BadWorkload when they cannot be read or there are none."""
    seen, known = Malformed(), Codes()
    with failing(path):
        found = sources_of(path, holding="tuples", format=format)
    for file, kind in found.files:
        terms = Terms()

        def triple(_: int, fields: Fields, terms: Terms = terms) -> tuple[Term, ...]:
            # When it came, and whether it came or went, are nothing to a workload, in which each line is a publication.
            if len(fields.items) != ARITY:
                raise ValueError(f"a tuple of {len(fields.items)}; expected {ARITY}, which alone are simulated")
            return terms.of(fields)

        def complain(line: int, problem: str, name: str = file.name) -> None:
            seen.complain(f"{name} line {line}", problem)

        with failing(file):
            for rows in made_of(lines_of(Piece(str(file), kind)), triple, complain, together=lambda parsed: parsed.rows):
                known.add(rows)
    if not len(known):
        first = f" ({seen.malformed} malformed lines, the first: {seen.examples[0]})" if seen.malformed else ""
        raise BadWorkload(f"{path} holds no tuples{first}")
    return Reading(known.recorded(seconds), known.terms, seen.malformed, tuple(seen.examples), tuple(found.ignored))


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
