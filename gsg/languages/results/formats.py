"""The formats of results by their media types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ..result_form import Solution
from .delimited import Csv, Tsv
from .json_format import Json
from .xml_format import Xml


class Format(Protocol):
    """One answer: ``head``, then rows in any number of parts, then ``tail``."""

    head: bytes
    tail: bytes

    def rows(self, rows: Iterable[Solution]) -> bytes: ...


JSON = "application/sparql-results+json"
XML = "application/sparql-results+xml"

SOLUTIONS: Mapping[str, Callable[[tuple[str, ...]], Format]] = {
    JSON: Json,
    XML: Xml,
    "text/csv": Csv,
    "text/tab-separated-values": Tsv,
    "application/json": Json,
    "application/xml": Xml,
}
"""What SELECT may be answered in, the first where nothing else is asked for."""
BOOLEANS: Mapping[str, Callable[[bool], bytes]] = {
    JSON: Json.boolean,
    XML: Xml.boolean,
    "application/json": Json.boolean,
    "application/xml": Xml.boolean,
}
"""What ASK may be answered in."""
