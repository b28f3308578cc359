"""Tuples from files and for files: all formats of RDF that pyoxigraph knows, and GSG script, which is read only; each also gzipped.

A triple is a tuple of three terms, a quad of a named graph one of four with the name of the graph behind the others. Reading is
lazy: every tuple before a mistake is handed over before the mistake is raised, with its line and column; with ``lenient`` what
cannot be read is skipped instead. Lines end at ``\\n`` only. Terms keep their lexical forms. Open next: triples.py, how N-Triples,
N-Quads and Turtle are read, chunks.py, how they are cut, documents.py, the formats that cannot be cut, blank_nodes.py, which nodes
those are that a file does not name, and writing.py, the way back.
"""

from __future__ import annotations

import gzip
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeAlias

from ...errors import BadText, LocalError, Unsupported
from ...tuples.terms import BlankNode, Term, Tuple
from ..blocks import Insert
from .blank_nodes import BlankNodes
from .scripts import read_blocks, whole_script

FORMATS = {
    ".nt": "nt",
    ".nq": "nq",
    ".ttl": "ttl",
    ".trig": "trig",
    ".n3": "n3",
    ".rdf": "rdf",
    ".owl": "rdf",
    ".jsonld": "jsonld",
    ".gsg": "gsg",
}
"""Suffix of a file name, and its format: N-Triples, N-Quads, Turtle, TriG, N3, RDF/XML, JSON-LD, GSG script. Upper case will do."""

NAMES = tuple(dict.fromkeys(FORMATS.values()))
"""The formats."""

WHOLE = frozenset(("trig", "n3", "rdf", "jsonld"))
"""Formats that cannot be cut, and are read as a whole."""

Lenient: TypeAlias = "bool | Callable[[BadText], object]"
"""Whether what cannot be read is skipped, and who is told of it: True writes it to the log."""

LOGGED = 10
"""Mistakes of one reading that are logged one by one; the others are counted in one line at its end."""

_KNOWN = ", ".join(FORMATS) + " and each with .gz"
_SAME = {
    ".turtle": "ttl",
    ".ntriples": "nt",
    ".nquads": "nq",
    ".xml": "rdf",
    ".json": "jsonld",
    ".txt": "nt, ttl or gsg",
}

log = logging.getLogger(__name__)


def format_of(path: str | Path) -> str:
    """The format that the file's name says, one of NAMES. Raises Unsupported."""
    name = Path(path).name
    bare = name[:-3] if name.lower().endswith(".gz") else name
    suffix = Path(bare).suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    meant = f"name its format (--format {_SAME[suffix]})" if suffix in _SAME else "rename the file or name its format (--format)"
    raise Unsupported(f"{name!r} has no known suffix; known are {_KNOWN}: {meant}")


def load(
    path: str | Path,
    *,
    format: str | None = None,
    base: str | None = None,
    fresh_blank_nodes: bool = False,
    lenient: Lenient = False,
) -> Iterator[Tuple]:
    """The tuples of a file, lazily; the format is told by the suffix unless given.

    Relative IRIs are resolved against ``base``, which is the file's own ``file:`` IRI unless given, and blank nodes belong to it:
    the same file at the same path gives the same ones, two files have none in common. A GSG script has neither: its IRIs and
    labels are taken as written. ``fresh_blank_nodes`` gives random ones of this call instead. ``lenient`` skips what cannot
    be read, a triple where it can be told apart, else a line, a statement, a tuple of a script, or the rest of a file that cannot
    be cut, and tells the log of it, or calls what is given with each mistake.

    Raises Unsupported for an unknown format, LocalError for a base that is none; while iterating, LocalError for a file that cannot
    be read and BadText for a mistake.
    """
    path = Path(path)
    known = _checked(format or format_of(path))
    reading = _Reading(path.name, known, base_of(path) if base is None else checked_base(base), fresh_blank_nodes, lenient)
    return _read_path(path, reading)


def read_tuples(
    source: str | Path | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    name: str = "",
    base: str | None = None,
    fresh_blank_nodes: bool = False,
    lenient: Lenient = False,
) -> Iterator[Tuple]:
    """Like :func:`load`, from a path or an open stream; a stream's ``format`` must be given, ``name`` stands for it in messages.

    A stream has no IRI of its own: without ``base`` relative IRIs are refused, and labels of blank nodes are taken as they are.
    """
    if isinstance(source, str | Path):
        return load(source, format=format, base=base, fresh_blank_nodes=fresh_blank_nodes, lenient=lenient)
    if format is None:
        raise Unsupported(f"the format of a stream must be given; known are {', '.join(NAMES)}")
    name = name or str(getattr(source, "name", "")) or "stream"
    known_base = "" if base is None else checked_base(base)
    return _Reading(name, _checked(format), known_base, fresh_blank_nodes, lenient).tuples(source)


def base_of(path: Path) -> str:
    """The IRI of a file (RFC 8089), against which what it says is resolved (RFC 3986, section 5.1.3)."""
    return Path(os.path.abspath(path)).as_uri()


def checked_base(base: str) -> str:
    """An IRI that relative ones can be resolved against, without its fragment. Raises LocalError."""
    import pyoxigraph

    try:
        return pyoxigraph.NamedNode(base.partition("#")[0]).value
    except ValueError as error:
        problem = f"{str(error)[:1].lower()}{str(error)[1:]}"
        raise LocalError(f"{base!r} is no base: {problem}; expected an absolute IRI such as http://example.org/data/") from None


def _checked(format: str) -> str:
    if format not in NAMES:
        raise Unsupported(f"unknown format {format!r}; known are {', '.join(NAMES)}")
    return format


def _read_path(path: Path, reading: _Reading) -> Iterator[Tuple]:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            yield from reading.tuples(stream)  # type: ignore[arg-type]  # both read bytes
    except OSError as error:
        raise _unreadable(str(path), error) from error


class _Reading:
    """One reading of one text: what it is called, how it is to be read, and what was left out."""

    def __init__(self, name: str, format: str, base: str, fresh_blank_nodes: bool, lenient: Lenient) -> None:
        self.name = name
        self._format = format
        self._base = base
        self._nodes = BlankNodes(base if format != "gsg" else "", fresh=fresh_blank_nodes)
        self._fresh = fresh_blank_nodes
        self._lenient = lenient
        self._skipped = 0

    def tuples(self, stream: IO[bytes] | IO[str]) -> Iterator[Tuple]:
        """What the stream holds."""
        read = bytes_of(stream, self.name)
        if self._format == "gsg":
            yield from self._inserted(read)
        elif self._format in WHOLE:
            from .documents import read_document

            yield from read_document(
                read, self._format, name=self.name, base=self._base, nodes=self._nodes, complain=self._complain
            )
        else:
            from .triples import Triples

            name, base, nodes = self.name, self._base, self._nodes
            yield from Triples(self._format, name=name, base=base, nodes=nodes, complain=self._complain).read(read)
        if self._lenient is True and self._skipped > LOGGED:
            log.warning("%s: %d more mistakes were skipped", self.name, self._skipped - LOGGED)

    def _complain(self, mistake: BadText) -> None:
        if self._lenient is False:
            raise mistake
        self._skipped += 1
        if self._lenient is not True:
            self._lenient(mistake)
        elif self._skipped <= LOGGED:
            log.warning("skipped: %s", mistake)

    def _inserted(self, read: Callable[[int], bytes]) -> Iterator[Tuple]:
        lenient = self._lenient is not False
        script = list(read_blocks(read, self.name, self._complain)) if lenient else whole_script(read, self.name)
        for block in script:
            if not isinstance(block, Insert):
                raise Unsupported(
                    f"{self.name} has a {type(block).__name__.upper()} block, and loading takes INSERT only; "
                    "run the script instead (gsg.Space.run or gsg publish)"
                )
        for block in script:
            for items in block.tuples:  # type: ignore[union-attr]  # all are Insert, as just seen
                yield tuple(map(self._node, items)) if self._fresh else items

    def _node(self, item: Term) -> Term:
        return self._nodes.labelled(item.label) if isinstance(item, BlankNode) else item


def _unreadable(name: str, error: Exception) -> LocalError:
    if isinstance(error, FileNotFoundError):
        return LocalError(f"cannot read {name}: no such file")
    if isinstance(error, IsADirectoryError):
        return LocalError(f"cannot read {name}: it is a directory; expected a file ({_KNOWN})")
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        return LocalError(f"cannot read {name}: damaged or not gzip at all ({str(error).rstrip('.').lower()})")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LocalError(f"cannot read {name}: {reason.lower()}")


def bytes_of(stream: IO[bytes] | IO[str], name: str) -> Callable[[int], bytes]:
    """Reads the next bytes, at most so many and as few as have come: tuples from a pipe are not held up. Raises LocalError."""
    take: Callable[[int], bytes | str] = getattr(stream, "read1", stream.read)

    def read(size: int) -> bytes:
        try:
            piece = take(size)
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(name, error) from error
        except UnicodeDecodeError as error:
            raise LocalError(f"cannot read {name}: {error.reason}; expected UTF-8") from None
        # Surrogates pass into bytes that are no UTF-8, and are refused there with their line.
        return piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece

    return read
