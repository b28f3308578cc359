"""What ``gsg publish`` reads: files, standard input, and the text of an option; and what is to be done with the tuples in it.

Standard input has no suffix, so what it begins with tells its format. A script is right as a whole or not at all, unless it comes
on a pipe, where whoever writes it may be waiting for what it does: then each block is.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, Protocol, TypeAlias

from ...errors import LocalError, Unsupported, reason
from ...tuples.escaping import one_line

if TYPE_CHECKING:
    from ...errors import BadText
    from ...languages import Block
    from ...tuples.terms import Tuple

Verb: TypeAlias = Literal["insert", "retract", "notify"]
Run: TypeAlias = "tuple[Verb, Iterable[Tuple]]"
"""Tuples one after the other with which the same is to be done."""

_INPUT_IS_CLOSED = sys.stdin is None
"""Whether Python found standard input closed as it began; the command is imported before something is put in its place."""
_HEAD_BYTES = 65_536
"""What is read at most to see what a text begins with: comments may stand before it."""
_BLANKS = re.compile(rb"\s*(?:(?:\xef\xbb\xbf|#[^\n]*\n)\s*)*")
_SCRIPT = re.compile(rb"\(|(?:INSERT|DELETE|NOTIFY|SUBSCRIBE)(?![\w:.-])", re.IGNORECASE)
_TRIPLES = re.compile(rb"[<@\[{]|_:|(?:PREFIX|BASE)\s|[^\s\"'<>(){}]*:", re.IGNORECASE)
_DOCUMENTS = {
    "rdf": re.compile(rb"<\?xml|<rdf:|<!DOCTYPE", re.IGNORECASE),
    "jsonld": re.compile(rb"\{\s*[\"}]|\[\s*\{\s*\""),
}
_LIKE_TRIPLES = re.compile(r"\s*(?:<[^<>]*>|_:\S+)\s")


class Readable(Protocol):
    """Whatever bytes are read from."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """Something to be published, and what was said about it; without a format it is told by what the text begins with."""

    name: str
    format: str | None
    base: str | None
    stream: IO[bytes]
    raw: IO[bytes]
    """The file under the stream, by whose position the progress is known."""
    size_bytes: int | None


def check(name: str, format: str | None) -> None:
    """Raise LocalError for a file that is not there or is none, Unsupported for a name that does not tell its format."""
    from ...languages.files import format_of

    if name == "-":
        if _INPUT_IS_CLOSED:
            raise LocalError("standard input is closed; expected a FILE, or standard input from one: gsg publish - < FILE")
        return
    file = Path(name)
    try:
        is_folder = stat.S_ISDIR(file.stat().st_mode)
    except FileNotFoundError:
        raise LocalError(f"cannot read {one_line(name)}: there is no such file; {_meant(name)}") from None
    except OSError as error:
        raise LocalError(f"cannot read {one_line(name)}: {reason(error)}; {_meant(name)}") from None
    if is_folder:
        raise LocalError(f"cannot read {one_line(name)}: is a directory; {_inside(file)}")
    # Once it is there: of a name that was mistyped the suffix is not what is wrong.
    if format is None:
        format_of(file)


@contextmanager
def opened(name: str, format: str | None, base: str | None) -> Iterator[Source]:
    """A file that was checked, or standard input by the name ``-``. Raises LocalError."""
    from ...languages.files import base_of, format_of

    if name == "-":
        yield Source("standard input", format, base, sys.stdin.buffer, sys.stdin.buffer, None)
        return
    file = Path(name)
    try:
        raw = file.open("rb")
    except OSError as error:
        raise LocalError(f"cannot read {one_line(name)}: {reason(error)}; expected a file of tuples") from None
    with raw:
        stream = gzip.GzipFile(fileobj=raw) if file.suffix.lower() == ".gz" else raw
        size_bytes = os.fstat(raw.fileno()).st_size
        known_base = base_of(file) if base is None else base
        yield Source(one_line(file.name), format or format_of(file), known_base, stream, raw, size_bytes)  # type: ignore[arg-type]  # reads bytes


@contextmanager
def written(text: str, format: str | None, base: str | None) -> Iterator[Source]:
    """The text of an option: a script unless another format is said."""
    stream = io.BytesIO(text.encode())
    yield Source("the text of --script", format or "gsg", base, stream, stream, None)


def _meant(name: str) -> str:
    """The next step of somebody who gave the name of no file."""
    if _SCRIPT.match(name.strip().encode("utf-8", "surrogateescape")):
        return f"to publish what it says: gsg publish --script {shlex.quote(name)}"
    if _LIKE_TRIPLES.match(name):
        return f"to publish what it says: echo {shlex.quote(name)} | gsg publish -"
    if "://" in name:
        return f"it is a URL: fetch it first, such as with curl -O {shlex.quote(name)}"
    return "check its name, or give '-' and --format to publish standard input"


def _inside(file: Path) -> str:
    """The next step of somebody who gave a folder."""
    from ...languages.files import FORMATS

    known = sorted(one.name for one in file.iterdir() if one.suffix.lower() in FORMATS)
    these = f"{one_line(shlex.quote(str(file)))}/*{Path(known[0]).suffix}" if known else "FILE..."
    return f"expected files of tuples: gsg publish {these}"


def runs(
    source: Source, stream: Readable, *, retract: bool, by_block: bool, complain: Callable[[BadText], None] | None
) -> Iterator[Run]:
    """What is to be done with the tuples of a source, in order.

    ``stream`` is where its bytes are read. Scripts are taken ``by_block`` as they come, or as a whole. Mistakes are raised, or
    skipped and given to ``complain``. Raises LocalError, BadText and Unsupported.
    """
    from ...languages.files import read_tuples

    format = source.format
    if format is None:
        head, ended = _head(stream)
        format = _format_of(head, source.name)
        stream = _Again(head, ended, stream)
    if format != "gsg":
        lenient = False if complain is None else complain
        tuples = read_tuples(stream, format, name=source.name, base=source.base, lenient=lenient)  # type: ignore[arg-type]  # has read()
        yield ("retract" if retract else "insert"), tuples
        return
    for block in _blocks(source, stream, retract, by_block, complain):
        yield _run(block, source.name, retract)


def _blocks(
    source: Source, stream: Readable, retract: bool, by_block: bool, complain: Callable[[BadText], None] | None
) -> Iterable[Block]:
    from ...languages.files import bytes_of
    from ...languages.files.scripts import read_blocks, whole_script

    def refuse(mistake: BadText) -> None:
        raise mistake

    read = bytes_of(stream, source.name)  # type: ignore[arg-type]  # has read()
    if by_block or complain is not None:
        return read_blocks(read, source.name, complain or refuse)
    blocks = whole_script(read, source.name)
    for block in blocks:
        _run(block, source.name, retract)
    return blocks


def _run(block: Block, name: str, retract: bool) -> Run:
    from ...languages import Insert, Notify, Subscribe

    if isinstance(block, Subscribe):
        raise Unsupported(f"{name} holds a SUBSCRIBE block, which has nobody to read it here; use gsg subscribe --file")
    if retract and not isinstance(block, Insert):
        raise Unsupported(f"{name} holds more than INSERT blocks, and only those can be retracted")
    if isinstance(block, Notify):
        return "notify", block.tuples
    return ("insert" if isinstance(block, Insert) != retract else "retract"), block.tuples


class _Again:
    """A stream of which some was read already, to its end if it has ``ended``: a terminal would begin anew."""

    def __init__(self, head: bytes, ended: bool, stream: Readable) -> None:
        self._head = head
        self._ended = ended
        self._read = getattr(stream, "read1", stream.read)

    def read(self, size: int = -1, /) -> bytes:
        if not self._head:
            return b"" if self._ended else self._read(size)
        piece, self._head = self._head[: size if size >= 0 else None], self._head[size:] if size >= 0 else b""
        return piece


def _head(stream: Readable) -> tuple[bytes, bool]:
    """What a stream begins with, as far as it must be known, and whether that is all."""
    read = getattr(stream, "read1", stream.read)
    head = b""
    while len(head) < _HEAD_BYTES:
        piece = read(_HEAD_BYTES)
        if not piece:
            return head, True
        head += piece
        begin = _begin(head)
        if len(head) - begin >= 32 or b"\n" in head[begin:]:
            break
    return head, False


def _begin(head: bytes) -> int:
    found = _BLANKS.match(head)
    return found.end() if found is not None else 0


def _format_of(head: bytes, name: str) -> str:
    """The format of a text that begins so. N-Triples are read as Turtle, of which they are a part."""
    from ...languages.files.encoding import HEAD_BYTES, foreign

    begin = _begin(head)
    if _SCRIPT.match(head, begin):
        return "gsg"
    document = next((name for name, pattern in _DOCUMENTS.items() if pattern.match(head, begin)), None)
    if document is not None:
        return document
    if begin == len(head) or _TRIPLES.match(head, begin) or foreign(head[:HEAD_BYTES]):
        return "ttl"  # what is no text is refused by whoever reads it
    word = head[begin:].split(maxsplit=1)[0][:30].decode("utf-8", "replace")
    raise Unsupported(
        f"{name} begins with {word!r}, as no format does that is known; tuples stand between parentheses, "
        "(kitchen, ^temperature, 21.5), and triples have a dot behind them; or say its format, such as --format nq"
    )
