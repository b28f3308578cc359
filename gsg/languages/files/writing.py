"""Tuples as bytes of any format of RDF that pyoxigraph writes, part by part: so a large graph need not be in memory.

A tuple of three terms is written as a triple, one of four as a quad of a named graph. What is no RDF, such as a symbol, a tuple of
five or an IRI with a blank in it, is given to ``left_out``, or refused where nobody wants to know; so is what RDF/XML alone cannot
say: a predicate without a local name, a control character. Blank nodes keep their labels.

N-Triples, N-Quads, Turtle, TriG and N3 are written batch by batch as tuples come. RDF/XML and JSON-LD have an end that belongs to
their beginning: they are written to a file without a name first, which is on disk where it is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from ...errors import Unsupported
from ...tuples.terms import IRI, XSD_INTEGER, BlankNode, Literal, Term, Tuple, n3, show
from .documents import SPOOLED_BYTES

if TYPE_CHECKING:
    import pyoxigraph

MEDIA_TYPES = {
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "ttl": "text/turtle",
    "trig": "application/trig",
    "n3": "text/n3",
    "rdf": "application/rdf+xml",
    "jsonld": "application/ld+json",
}
"""The media type of each format that is written, as registered with IANA."""

WITH_GRAPHS = frozenset(("nq", "trig", "jsonld"))
"""Formats that have named graphs."""

BATCH = 1_000
"""Tuples that are written together."""
PART_BYTES = 65_536
"""The longest part of a format that is written as a whole."""

_BY_MEDIA_TYPE = {media_type: name for name, media_type in MEDIA_TYPES.items()}
_LOCAL_NAME = re.compile(r"[^\W\d][\w.\-\u00b7]*\Z")
_NODE_ID = re.compile(r"[^\W\d][\w.\-\u00b7]*")
_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has none of (section 2.2), and the carriage return, which comes back as a line feed."""

_SURROGATE = re.compile("[\ud800-\udfff]")

LeftOut = Callable[[Tuple, str], object]
"""Is given a tuple that cannot be written, and why."""


def format_of_media_type(media_type: str) -> str:
    """The format of a media type, be it with parameters or under a name of old, such as ``application/x-turtle``.

    Raises Unsupported for one that is none of RDF.
    """
    import pyoxigraph

    found = pyoxigraph.RdfFormat.from_media_type(media_type.partition(";")[0].strip())
    name = None if found is None else _BY_MEDIA_TYPE.get(found.media_type.partition(";")[0])
    if name is None:
        raise Unsupported(f"{media_type!r:.100} is no media type of RDF; known are {', '.join(MEDIA_TYPES.values())}")
    return name


def write_tuples(tuples: Iterable[Tuple], format: str, *, left_out: LeftOut | None = None) -> Iterator[bytes]:
    """The tuples in a format of MEDIA_TYPES, as parts whose concatenation is the text.

    ``left_out`` is called with each tuple that is no RDF, or that the format cannot say, and why. Raises Unsupported for an unknown
    format, and while iterating for a tuple of a named graph where the format has none, and for what is left out if ``left_out`` is
    not given.
    """
    import pyoxigraph

    if format not in MEDIA_TYPES:
        raise Unsupported(f"the format {format!r:.100} is not written; known are {', '.join(MEDIA_TYPES)}")
    kind = pyoxigraph.RdfFormat.from_media_type(MEDIA_TYPES[format])
    assert kind is not None, "it is one of those that pyoxigraph knows"
    quads = _Quads(format, left_out).made_of(tuples)
    return _whole(quads, kind) if format in ("rdf", "jsonld") else _batches(quads, kind)


def _batches(quads: Iterator[pyoxigraph.Quad], kind: pyoxigraph.RdfFormat) -> Iterator[bytes]:
    import pyoxigraph

    while batch := list(islice(quads, BATCH)):
        part = pyoxigraph.serialize(batch if kind.supports_datasets else [quad.triple for quad in batch], format=kind)
        assert part is not None, "it is given back where no file is named"
        yield part


def _whole(quads: Iterator[pyoxigraph.Quad], kind: pyoxigraph.RdfFormat) -> Iterator[bytes]:
    import pyoxigraph

    with SpooledTemporaryFile(max_size=SPOOLED_BYTES) as file:
        target: IO[bytes] = file
        pyoxigraph.serialize(quads if kind.supports_datasets else (quad.triple for quad in quads), target, kind)
        file.seek(0)
        while part := file.read(PART_BYTES):
            yield part


class _Quads:
    """Quads of pyoxigraph's from tuples, for one format."""

    def __init__(self, format: str, left_out: LeftOut | None) -> None:
        import pyoxigraph

        self._library = pyoxigraph
        self._format = format
        self._left_out = left_out

    def made_of(self, tuples: Iterable[Tuple]) -> Iterator[pyoxigraph.Quad]:
        for items in tuples:
            try:
                made = self._quad(items)
            except ValueError as error:
                self._refuse(items, str(error))
                continue
            yield made

    def _refuse(self, items: Tuple, why: str) -> None:
        if self._left_out is None:
            raise Unsupported(f"{show(items):.300} cannot be written: {why}; leave it out, or write a GSG script")
        self._left_out(items, why)

    def _quad(self, items: Tuple) -> pyoxigraph.Quad:
        """Raises ValueError for what is no RDF, and Unsupported for a graph where there can be none."""
        if len(items) not in (3, 4):
            raise ValueError(f"a tuple of {len(items)} is neither a triple nor a quad")
        subject = self._node(items[0], "subject")
        predicate = self._node(items[1], "predicate")
        if type(predicate) is self._library.BlankNode:
            raise ValueError("a blank node is no predicate")
        if self._format == "rdf" and not _LOCAL_NAME.search(predicate.value):
            raise ValueError(f"RDF/XML has no predicate without a local name, such as {predicate}")
        object_ = self._term(items[2])
        if len(items) == 3:
            return self._library.Quad(subject, predicate, object_)
        graph = self._node(items[3], "graph")
        if self._format not in WITH_GRAPHS:
            others = ", ".join(MEDIA_TYPES[each] for each in MEDIA_TYPES if each in WITH_GRAPHS)
            raise Unsupported(
                f"{MEDIA_TYPES[self._format]} has no named graphs, and a tuple is of {graph}; expected one of {others}"
            )
        return self._library.Quad(subject, predicate, object_, graph)

    def _node(self, item: Term, place: str) -> Any:  # Any: an IRI or blank node of pyoxigraph's
        if type(item) is not IRI and type(item) is not BlankNode:
            raise ValueError(f"{n3(item):.100} is no {place}, which is an IRI or a blank node")
        return self._term(item)

    def _term(self, item: Term) -> Any:  # Any: a term of pyoxigraph's
        """Raises ValueError for what is no term of RDF, or of the format."""
        library = self._library
        if type(item) is int:
            return library.Literal(str(item), datatype=library.NamedNode(XSD_INTEGER))
        if type(item) is str:
            self._check_text(item)
            return library.Literal(item)
        if type(item) is IRI:
            self._check_text(item.value)
            return library.NamedNode(item.value)
        if type(item) is BlankNode:
            if self._format == "rdf" and not _NODE_ID.fullmatch(item.label):
                raise ValueError(f"RDF/XML has no blank node whose label begins with a digit, such as _:{item.label}")
            return library.BlankNode(item.label)
        if type(item) is Literal:
            self._check_text(item.lexical)
            if item.language:
                return library.Literal(item.lexical, language=item.language)
            return library.Literal(item.lexical, datatype=library.NamedNode(item.datatype))
        raise ValueError(f"{n3(item):.100} is no term of RDF")

    def _check_text(self, text: str) -> None:
        found = _NO_XML.search(text) if self._format == "rdf" else _SURROGATE.search(text)
        if found is not None:
            raise ValueError(f"the character U+{ord(found[0]):04X} cannot stand in {MEDIA_TYPES[self._format]}")
