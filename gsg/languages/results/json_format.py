"""SPARQL 1.1 Query Results JSON Format."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...tuples.terms import IRI, BlankNode, Term
from ..result_form import Solution
from .rdf_terms import literal_of

_encode = msgspec.json.Encoder().encode


class Json:
    """Rows with these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.head = b'{"head":{"vars":%b},"results":{"bindings":[' % _encode(names)
        self.tail = b"]}}"
        self._names = names
        self._begun = False

    def rows(self, rows: Iterable[Solution]) -> bytes:
        """More rows."""
        part = _encode([json_row(self._names, row) for row in rows])[1:-1]
        if part and self._begun:
            part = b"," + part
        self._begun = self._begun or bool(part)
        return part

    @staticmethod
    def boolean(answer: bool) -> bytes:
        """The answer of ASK."""
        return b'{"head":{},"boolean":%b}' % _encode(answer)


def json_row(names: tuple[str, ...], row: Solution) -> dict[str, dict[str, str]]:
    """A row (section 3.2.1): what is unbound is not in it."""
    return {name: json_term(value) for name, value in zip(names, row, strict=True) if value is not None}


def json_term(term: Term) -> dict[str, str]:
    """A term (section 3.2.2)."""
    if type(term) is IRI:
        return {"type": "uri", "value": term.value}
    if type(term) is BlankNode:
        return {"type": "bnode", "value": term.label}
    literal = literal_of(term)
    said = {"type": "literal", "value": literal.lexical}
    if literal.language:
        said["xml:lang"] = literal.language
    elif literal.datatype:
        said["datatype"] = literal.datatype
    return said
