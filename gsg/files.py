"""Tuples from files: N-Triples, Turtle and GSG script, each also gzipped.

Reading is lazy: every tuple before a mistake is handed over before the mistake is raised, with its line and column. Lines end at
``\\n`` only. Terms keep their lexical forms. Open next: model.py, what a term is.

Blank nodes keep the label that the file gives them. Loading a file twice therefore inserts nothing new, and loading it again to
retract it finds what it inserted; two files that use one label mean one node. ``fresh_blank_nodes=True`` gives each label a random
one of this call instead. A node without a label (Turtle's ``[ ]`` and lists) gets a random one in either case.
"""

from __future__ import annotations

import gzip
import re
import uuid
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from .errors import BadText, LocalError, Unsupported
from .languages.blocks import Insert
from .model import IRI, BlankNode, Term, Tuple, literal

if TYPE_CHECKING:
    import pyoxigraph

FORMATS = {".nt": "nt", ".ttl": "ttl", ".gsg": "gsg"}
"""Suffix of a file name, and its format: N-Triples, Turtle, GSG script."""

_KNOWN = ", ".join(FORMATS) + " and each with .gz"

_MAX_CACHED_IRIS = 100_000
"""IRIs shared between the tuples of one file; at the limit all are forgotten and sharing begins again."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_UNFINISHED = re.compile(r"followed by a dot|line jumps")
_OXIGRAPH_PREFIX = re.compile(r"^Parser error (?:at|between) .*?: (?=\S)")


def format_of(path: str | Path) -> str:
    """The format that the file's name says: ``nt``, ``ttl`` or ``gsg``. Raises Unsupported."""
    name = Path(path).name
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in FORMATS:
        raise Unsupported(f"{name!r} has no known suffix; known are {_KNOWN}: rename the file or name its format")
    return FORMATS[suffix]


def load(path: str | Path, *, format: str | None = None, fresh_blank_nodes: bool = False) -> Iterator[Tuple]:
    """The tuples of a file, lazily; the format is told by the suffix unless given.

    Raises Unsupported for an unknown format; while iterating, LocalError for a file that cannot be read and BadText for a mistake.
    """
    path = Path(path)
    return _read_path(path, _checked(format or format_of(path)), fresh_blank_nodes)


def read_tuples(
    source: str | Path | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    name: str = "",
    fresh_blank_nodes: bool = False,
) -> Iterator[Tuple]:
    """Like :func:`load`, from a path or an open stream; a stream's ``format`` must be given, ``name`` stands for it in messages."""
    if isinstance(source, str | Path):
        return load(source, format=format, fresh_blank_nodes=fresh_blank_nodes)
    if format is None:
        raise Unsupported(f"the format of a stream must be given; known are {', '.join(FORMATS.values())}")
    name = name or str(getattr(source, "name", "")) or "stream"
    return _read(_Source(source, name), _checked(format), fresh_blank_nodes)


def _checked(format: str) -> str:
    if format not in FORMATS.values():
        raise Unsupported(f"unknown format {format!r}; known are {', '.join(FORMATS.values())}")
    return format


def _read_path(path: Path, format: str, fresh_blank_nodes: bool) -> Iterator[Tuple]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from _read(_Source(stream, path.name), format, fresh_blank_nodes)
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _read(source: _Source, format: str, fresh_blank_nodes: bool) -> Iterator[Tuple]:
    return _read_script(source, fresh_blank_nodes) if format == "gsg" else _read_rdf(source, format, fresh_blank_nodes)


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes | str: ...


class _Source:
    """A stream of bytes that remembers its last pieces, so that an error can show the line it is about."""

    def __init__(self, stream: _Readable, name: str) -> None:
        self.name = name
        self.failure: LocalError | None = None
        self._stream = stream
        # The parser works on what it has read last; a line that began before that is reported without its text.
        self._recent: deque[bytes] = deque()
        self._dropped = _Lines()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size`` and as few as have arrived: tuples from a pipe are not held up."""
        take = getattr(self._stream, "read1", self._stream.read)
        data = self._taken(take, size)
        self._recent.append(data)
        if len(self._recent) > 4:
            self._dropped.count(self._recent.popleft())
        return data

    def read_all(self) -> bytes:
        return self._taken(self._stream.read, -1)

    def _taken(self, take: Callable[[int], bytes | str], size: int) -> bytes:
        try:
            piece = take(size)
        except (OSError, EOFError, zlib.error) as error:
            self.failure = _unreadable(self.name, error)
        except UnicodeDecodeError as error:
            self.failure = LocalError(f"cannot read {self.name}: {error.reason}; expected UTF-8")
        else:
            # Surrogates pass into bytes that are no UTF-8, and are refused there with their line.
            return piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
        # The parser may wrap what we raise here; whoever called the parser raises this one.
        raise self.failure

    def place(self, line: int, column: int) -> tuple[int, int, str]:
        """Line, column and the line's text, from the parser's line and column.

        The parser also ends a line at a lone ``\\r``, as the grammar of N-Triples does; editors and ``sed -n`` do not.
        """
        data = b"".join(self._recent)
        start = 0
        for _ in range(line - 1 - self._dropped.of_parser):
            found = _LINE_END.search(data, start)
            if found is None:
                return line - self._dropped.of_parser + self._dropped.of_ours, column, ""
            start = found.end()
        ours = data.rfind(b"\n", 0, start) + 1
        end = data.find(b"\n", start)
        text = data[ours : end if end >= 0 else len(data)].decode("utf-8", "replace").removesuffix("\r")
        column += len(data[ours:start].decode("utf-8", "replace"))
        known = ours > 0 or not self._dropped.of_parser
        return self._dropped.of_ours + data.count(b"\n", 0, start) + 1, column, text if known else ""


class _Lines:
    """How many lines have ended, as the parser and as we count."""

    def __init__(self) -> None:
        self.of_parser = 0
        self.of_ours = 0
        self._after_return = False

    def count(self, data: bytes) -> None:
        ours = data.count(b"\n")
        self.of_ours += ours
        pairs = data.count(b"\r\n") + (self._after_return and data.startswith(b"\n"))
        self.of_parser += ours + data.count(b"\r") - pairs
        if data:
            self._after_return = data.endswith(b"\r")


def _unreadable(name: str, error: Exception) -> LocalError:
    if isinstance(error, FileNotFoundError):
        return LocalError(f"cannot read {name}: no such file")
    if isinstance(error, IsADirectoryError):
        return LocalError(f"cannot read {name}: it is a directory; expected a file ({_KNOWN})")
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        return LocalError(f"cannot read {name}: damaged or not gzip at all ({str(error).rstrip('.').lower()})")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LocalError(f"cannot read {name}: {reason.lower()}")


def _read_rdf(source: _Source, format: str, fresh_blank_nodes: bool) -> Iterator[Tuple]:
    import pyoxigraph

    kinds = {"nt": pyoxigraph.RdfFormat.N_TRIPLES, "ttl": pyoxigraph.RdfFormat.TURTLE}
    terms = _Terms(pyoxigraph, source.name)
    try:
        for triple in pyoxigraph.parse(source, kinds[format], rename_blank_nodes=fresh_blank_nodes):  # type: ignore[arg-type]  # needs read() only
            yield terms.of(triple.subject), terms.of(triple.predicate), terms.of(triple.object)
    except SyntaxError as error:
        raise _bad_rdf(source, error) from None
    except Exception:
        # Whatever the parser makes of an error of our own read(), which it has called: that error is what the caller is told.
        if source.failure is None:
            raise
        raise source.failure from None


def _bad_rdf(source: _Source, error: SyntaxError) -> BadText:
    from .languages._place import excerpt

    problem = _OXIGRAPH_PREFIX.sub("", str(error.msg))
    problem = (problem[:1].lower() + problem[1:]).replace("quads", "triples")
    line, column, text = source.place(error.lineno or 1, error.offset or 1)
    if column == 1 and line > 1 and _UNFINISHED.search(problem):
        # The parser notices at the next line that this one has not ended; it is this one that has to be mended.
        line, column, text = source.place((error.lineno or 1) - 1, 1)
        column = len(text) + 1
    return BadText(
        problem,
        line=line,
        column=column,
        source_line=excerpt(text, column),
        what=source.name,
    )


class _Terms:
    """Terms from pyoxigraph's, IRIs made once for all tuples that share them."""

    def __init__(self, library: Any, name: str) -> None:  # Any: the module, which is imported on first use
        self._iri, self._blank, self._literal = library.NamedNode, library.BlankNode, library.Literal
        self._name = name
        self._iris: dict[str, IRI] = {}

    def of(self, found: pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple) -> Term:
        kind = type(found)
        if kind is self._iri:
            return self._shared(found.value)  # type: ignore[union-attr]  # mypy cannot see that the kind decides
        if kind is self._literal:
            if found.direction is not None:  # type: ignore[union-attr]  # as above
                raise Unsupported(f"{self._name}: {found} has a base direction, which terms here do not hold")
            return literal(found.value, found.datatype.value, found.language or "")  # type: ignore[union-attr]  # as above
        if kind is self._blank:
            return BlankNode(found.value)  # type: ignore[union-attr]  # as above
        raise Unsupported(f"{self._name}: {found} is a triple within a triple, which terms here do not hold")

    def _shared(self, value: str) -> IRI:
        made = self._iris.get(value)
        if made is None:
            if len(self._iris) >= _MAX_CACHED_IRIS:
                self._iris.clear()
            made = self._iris[value] = IRI(value)
        return made


def _read_script(source: _Source, fresh_blank_nodes: bool) -> Iterator[Tuple]:
    from .languages.script import parse

    blocks = parse(_decoded(source.read_all(), source.name), what=source.name)
    for block in blocks:
        if not isinstance(block, Insert):
            raise Unsupported(
                f"{source.name} has a {type(block).__name__.upper()} block, and loading takes INSERT only; "
                "run the script instead (gsg.Space.run or gsg publish)"
            )
    fresh = _FreshLabels()
    for block in blocks:
        for items in block.tuples:  # type: ignore[union-attr]  # all are Insert, as just seen
            yield tuple(map(fresh.of, items)) if fresh_blank_nodes else items


def _decoded(data: bytes, name: str) -> str:
    from .languages._place import bad_text

    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        position = len(data[: error.start].decode("utf-8"))
        problem = f"byte {data[error.start]:02X} is no UTF-8; expected a text in UTF-8"
        raise bad_text(text, position, problem, what=name) from None


class _FreshLabels:
    """Blank nodes under new labels, the same for the same label."""

    def __init__(self) -> None:
        self._prefix = uuid.uuid4().hex
        self._nodes: dict[BlankNode, BlankNode] = {}

    def of(self, item: Term) -> Term:
        if not isinstance(item, BlankNode):
            return item
        return self._nodes.setdefault(item, BlankNode(f"{self._prefix}-{len(self._nodes)}"))
