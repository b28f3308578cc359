"""SPARQL 1.1 Query Results CSV and TSV Formats: CSV has the texts alone, TSV has terms as SPARQL writes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from ...tuples.terms import IRI, BlankNode, Term, n3
from ..result_form import Solution
from .rdf_terms import literal_of


class Csv:
    """CSV (section 3): lines end with CR LF (RFC 4180)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.head = _csv([names])
        self.tail = b""

    def rows(self, rows: Iterable[Solution]) -> bytes:
        """More rows."""
        return _csv([map(_plain, row) for row in rows])


class Tsv:
    """TSV (section 4)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.head = ("\t".join(f"?{name}" for name in names) + "\n").encode()
        self.tail = b""

    def rows(self, rows: Iterable[Solution]) -> bytes:
        """More rows."""
        return "".join("\t".join(map(_written, row)) + "\n" for row in rows).encode()


def _csv(lines: Iterable[Iterable[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(lines)
    return written.getvalue().encode()


def _plain(term: Term | None) -> str:
    if term is None:
        return ""
    if type(term) is IRI:
        return term.value
    return f"_:{term.label}" if type(term) is BlankNode else literal_of(term).lexical


def _written(term: Term | None) -> str:
    if term is None:
        return ""
    if isinstance(term, IRI | BlankNode):
        return term.n3()
    # A number may stand as it is (section 4.1); tabs and line ends are escaped by n3.
    return str(term) if type(term) is int else n3(literal_of(term))
