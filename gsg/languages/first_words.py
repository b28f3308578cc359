"""What a text is by the words that it begins with: SPARQL's are none that a query in GSG script begins with.

INSERT and DELETE are words of both. A block of a script has tuples in brackets; an update of SPARQL has DATA or WHERE behind
them, or triples without brackets.
"""

from __future__ import annotations

import re
from typing import Final

SPARQL_QUERIES: Final = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "PREFIX", "BASE")
"""Words that queries of SPARQL begin with."""
UPDATES_TAKEN: Final = (
    "updates are taken by POST at /sparql of a peer's HTTP door: curl http://127.0.0.1:8470/sparql --data-urlencode 'update=...'"
)
"""What is said of an update where a query is expected."""

_GAP = r"(?:[\s\ufeff]|#[^\n]*(?:\n|\Z))*"
_WORD = re.compile(rf"{_GAP}([A-Za-z]+)")
_SPARQL_WORDS = frozenset([*SPARQL_QUERIES, "VERSION"])
_UPDATE = re.compile(
    rf"{_GAP}((?:CLEAR|DROP|LOAD|CREATE|ADD|MOVE|COPY|WITH)\b(?![\w-])|(?:INSERT|DELETE)(?={_GAP}(?:(?:DATA|WHERE)\b|{{{_GAP}[^\s#(}}])))",
    re.IGNORECASE,
)


def language_of(text: str) -> str:
    """The language of a query, or of an update of SPARQL, by its first word."""
    found = _WORD.match(text)
    is_sparql = (found is not None and found[1].upper() in _SPARQL_WORDS) or sparql_update(text)
    return "sparql" if is_sparql else "gsg"


def sparql_update(text: str, position: int = 0) -> str:
    """The word that an update of SPARQL begins with, in capitals; empty where there is none."""
    found = _UPDATE.match(text, position)
    return "" if found is None else found[1].upper()
