"""The tuples of TriG, N3, RDF/XML and JSON-LD, which are read as a whole, by pyoxigraph.

What a part of such a text says depends on what stands around it, so it cannot be cut: all of it is waited for, on disk where it is
long, and then parsed in one go. The first mistake ends the reading, whether mistakes are skipped or not: what stands behind it
might be told of another graph or node.

Nodes without labels are named by the hash of the whole text and their number in it, so the same text gives the same ones. Nothing
is fetched: a JSON-LD text whose context is elsewhere is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import IO
from xml.parsers import expat

from ...errors import BadText, LocalError
from ...tuples.terms import Tuple
from ..bad_text import excerpt, printable
from .blank_nodes import BlankNodes
from .chunks import PIECE_BYTES
from .encoding import HEAD_BYTES, MARK_BYTES, foreign, no_utf8
from .rdf_terms import DocumentTerms, NoTerm

SPOOLED_BYTES = 16 * 1024 * 1024
"""A longer text waits on disk, in a file without a name that goes when it was read."""

_PLACE = re.compile(r"^Parser error (?:at|between) .*?: (?=\S)")
_QUOTED = re.compile(r"(?:IRI|scheme found in an absolute IRI).*?'([^']*)'")


def read_document(
    read: Callable[[int], bytes], kind: str, *, name: str, base: str, nodes: BlankNodes, complain: Callable[[BadText], None]
) -> Iterator[Tuple]:
    """The tuples of a text, ``kind`` trig, n3, rdf or jsonld. Raises LocalError, and BadText from ``complain``, or else ends."""
    import pyoxigraph

    formats = pyoxigraph.RdfFormat
    format = {"trig": formats.TRIG, "n3": formats.N3, "rdf": formats.RDF_XML, "jsonld": formats.JSON_LD}[kind]
    with SpooledTemporaryFile(max_size=SPOOLED_BYTES) as text:
        try:
            digest = _copied(read, text, name)
        except BadText as mistake:
            complain(mistake)
            return
        terms = DocumentTerms(pyoxigraph, nodes, digest, name)
        try:
            for quad in pyoxigraph.parse(text, format, base_iri=base or None):
                yield terms.quad(quad)
        except SyntaxError as error:
            complain(_explained(text, kind, error, name))
        except NoTerm as problem:
            complain(_placed(text, 1, 1, str(problem), name))
        except MemoryError:
            # So pyoxigraph calls its limit of a token.
            raise LocalError(
                f"cannot read {name}: a term of more than 16 MiB, as no message can hold; expected shorter ones"
            ) from None


def _copied(read: Callable[[int], bytes], text: IO[bytes], name: str) -> bytes:
    """Puts all that comes into a file, without its mark; returns its digest. Raises LocalError, and BadText for no UTF-8."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := read(PIECE_BYTES)):
        head += piece
    problem = foreign(head[:HEAD_BYTES])
    if problem:
        raise LocalError(f"cannot read {name}: {problem}")
    digest = blake2b(digest_size=32)
    decoder = codecs.getincrementaldecoder("utf-8")()
    piece, at = head.removeprefix(MARK_BYTES), 0
    try:
        while piece:
            at = text.tell() - len(decoder.getstate()[0])
            text.write(piece)
            digest.update(piece)
            decoder.decode(piece)
            piece = read(PIECE_BYTES)
        at = text.tell() - len(decoder.getstate()[0])
        decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        marked = len(head) - len(head.removeprefix(MARK_BYTES))
        problem = no_utf8(error.object, error.start, at + marked)
        raise _at(text, at + error.start, problem, name) from None
    text.seek(0)
    return digest.digest()


def _explained(text: IO[bytes], kind: str, error: SyntaxError, name: str) -> BadText:
    problem = _PLACE.sub("", str(error.msg))
    problem = problem[:1].lower() + problem[1:]
    if "LoadDocumentCallback" in problem:
        problem = "its context is elsewhere, and nothing is fetched; expected the context itself"
    elif "no scheme found" in problem.lower():
        problem += "; expected an absolute IRI, or a base to resolve it against (--base IRI, or base= in a program)"
    if error.lineno is not None:
        return _placed(text, error.lineno, error.offset or 1, problem, name)
    if kind == "rdf":
        ill_formed = _ill_formed(text)
        if ill_formed is not None:
            return _placed(text, *ill_formed, problem, name)
    quoted = _QUOTED.search(str(error.msg))
    if quoted is not None and quoted[1]:
        text.seek(0)
        for number, line in enumerate(text, 1):
            at = line.find(quoted[1].encode())
            if at >= 0:
                return _placed(text, number, len(line[:at].decode("utf-8", "replace")) + 1, problem, name)
    return _placed(text, 1, 1, problem, name)


def _ill_formed(text: IO[bytes]) -> tuple[int, int] | None:
    """Line and column where a text is no XML; None where it is. Entities are not followed: it stops at the first declaration."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise _HasEntities

    parser.EntityDeclHandler = refuse
    text.seek(0)
    try:
        while piece := text.read(PIECE_BYTES):
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        return error.lineno, error.offset + 1
    except _HasEntities:
        return None
    return None


class _HasEntities(Exception):
    """The text declares entities."""


def _at(text: IO[bytes], at: int, problem: str, name: str) -> BadText:
    """The error for a problem at a byte of the text."""
    text.seek(0)
    number, line = 1, b""
    for number, line in enumerate(text, 1):  # noqa: B007  # the line in which the byte is
        if at < len(line):
            break
        at -= len(line)
    return _placed(text, number, len(line[:at].decode("utf-8", "replace")) + 1, problem, name)


def _placed(text: IO[bytes], line: int, column: int, problem: str, name: str) -> BadText:
    text.seek(0)
    shown = b""
    for number, each in enumerate(text, 1):
        if number == line:
            shown = each
            break
    source_line = excerpt(shown.decode("utf-8", "replace").rstrip("\r\n"), column)
    return BadText(printable(problem), line=line, column=column, source_line=source_line, what=name)
