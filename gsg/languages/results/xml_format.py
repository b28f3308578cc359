"""SPARQL Query Results XML Format (second edition)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from ...tuples.terms import IRI, BlankNode, Term
from ..result_form import Solution
from .rdf_terms import literal_of

_BEGIN = '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that no XML 1.0 has, not even escaped (its section 2.2)."""
_MARGIN = re.compile(r"^[ \t\n]+|[ \t\n]+$")


class Xml:
    """Rows with these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._begins = [f"<binding name={quoteattr(name)}>" for name in names]
        variables = "".join(f"<variable name={quoteattr(name)}/>" for name in names)
        self.head = f"{_BEGIN}<head>{variables}</head><results>".encode()
        self.tail = b"</results></sparql>\n"

    def rows(self, rows: Iterable[Solution]) -> bytes:
        """More rows."""
        return "".join(self._result(row) for row in rows).encode()

    def _result(self, row: Solution) -> str:
        bindings = (f"{begin}{_term(value)}</binding>" for begin, value in zip(self._begins, row, strict=True) if value is not None)
        return f"<result>{''.join(bindings)}</result>"

    @staticmethod
    def boolean(answer: bool) -> bytes:
        """The answer of ASK."""
        return f"{_BEGIN}<head/><boolean>{str(answer).lower()}</boolean></sparql>\n".encode()


def _term(term: Term) -> str:
    if type(term) is IRI:
        return f"<uri>{_text(term.value)}</uri>"
    if type(term) is BlankNode:
        return f"<bnode>{_text(term.label)}</bnode>"
    literal = literal_of(term)
    if literal.language:
        return f"<literal xml:lang={quoteattr(literal.language)}>{_text(literal.lexical)}</literal>"
    datatype = f" datatype={quoteattr(_said(literal.datatype))}" if literal.datatype else ""
    return f"<literal{datatype}>{_text(literal.lexical)}</literal>"


def _text(text: str) -> str:
    # A reader makes a line feed of a bare carriage return (XML 1.0, section 2.11), and some leave out blanks around a text.
    return _MARGIN.sub(_as_references, escape(_said(text), {"\r": "&#13;"}))


def _said(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def _as_references(blanks: re.Match[str]) -> str:
    return "".join(f"&#{ord(blank)};" for blank in blanks[0])
