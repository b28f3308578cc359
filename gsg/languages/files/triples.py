"""The tuples of N-Triples and Turtle, by pyoxigraph, chunk by chunk.

A chunk without mistakes is parsed as a whole. Where the parser complains, each line or statement of it is parsed by itself, so
that a mistake concerns the one that has it, and others are read where mistakes may be skipped. Prefixes and base go from one to
the next.

pyoxigraph refuses language tags that the grammar allows and BCP 47 does not, such as zh-classical. Those are taken: its lenient
mode reads them, and the IRIs that it then takes unseen are checked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import BadText, LocalError, Unsupported
from ...tuples.terms import IRI, BlankNode, Term, Tuple, literal
from .blank_nodes import BlankNodes
from .chunks import Chunk, Statements, WholeLines, chunks, lines
from .encoding import MARK_BYTES

if TYPE_CHECKING:
    import pyoxigraph

MAX_CACHED_IRIS = 100_000
"""IRIs shared between the tuples of one file; at the limit all are forgotten and sharing begins again."""
MAX_PREFIXES = 10_000
"""Prefixes that one file may declare; with more it is refused, as each statement may need all of them."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_OXIGRAPH_PREFIX = re.compile(r"^Parser error (?:at|between) .*?: (?=\S)")
_OXIGRAPH_LINE = re.compile(r" \(line \d+\)$")
_LANGTAG = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_ANONYMOUS = re.compile(r"[0-9a-f]{1,32}")
"""Labels that pyoxigraph makes up for nodes without one."""
_LABEL = re.compile(rb"_:([^\s\"'<>#,;()\[\]{}]+)")
_IRI = re.compile(rb"<([^<>\r\n]*)>")
_SKIPPED = re.compile(rb"\s*(?:#[^\r\n]*[\r\n]\s*)*")
_TURTLE_BEGINS = re.compile(rb"@?(?:prefix|base)\b", re.IGNORECASE)
_SCRIPT_BEGINS = re.compile(rb"(?:INSERT|DELETE|NOTIFY)\s*\{", re.IGNORECASE)
_XML_BEGINS = re.compile(rb"<\?xml|<rdf:|<!DOCTYPE", re.IGNORECASE)
_DECLARED = re.compile(rb"(?:@|\b)(?:prefix\s+([^\s:<>]*):|base\s*<)", re.IGNORECASE)


class Triples:
    """Reads one text, ``kind`` nt or ttl. ``complain`` is given what a statement is left out for, or raises it."""

    def __init__(self, kind: str, *, name: str, base: str, nodes: BlankNodes, complain: Callable[[BadText], None]) -> None:
        import pyoxigraph

        self._library = pyoxigraph
        self._turtle = kind == "ttl"
        self._format = pyoxigraph.RdfFormat.TURTLE if self._turtle else pyoxigraph.RdfFormat.N_TRIPLES
        self._name = name
        self._base: str | None = base or None
        self._prefixes: dict[str, str] = {}
        self._declarations: dict[bytes, bytes] = {}
        """Each prefix as a name begins with it, and what declares it."""
        self._complain = complain
        self._nodes = nodes
        self._terms = _Terms(pyoxigraph, nodes)
        self._knows_format = False
        """Whether some statement was read: what follows is no text of another format, whatever it looks like."""

    def read(self, read: Callable[[int], bytes]) -> Iterator[Tuple]:
        """The tuples, as the bytes come. Raises LocalError, and BadText from ``complain``."""
        for chunk in chunks(read, Statements() if self._turtle else WholeLines(), name=self._name):
            if self._turtle:
                yield from self._statements(chunk)
            else:
                yield from self._together(chunk.text, partial(_lines_of, chunk))

    def _statements(self, chunk: Chunk) -> Iterator[Tuple]:
        if b"[" not in chunk.text and b"(" not in chunk.text:
            yield from self._together(chunk.text, chunk.units)
            return
        # Nodes without labels are named by their statement, so each statement that may have some is read alone.
        plain: list[Chunk] = []
        for unit in chunk.units():
            if b"[" not in unit.text and b"(" not in unit.text:
                plain.append(unit)
                continue
            yield from self._all(plain)
            plain = []
            yield from self._one(unit, _Anonymous(self._terms, self._nodes, unit.text))
        yield from self._all(plain)

    def _all(self, units: list[Chunk]) -> Iterator[Tuple]:
        return self._together(b"".join(unit.text for unit in units), lambda: units) if units else iter(())

    def _together(self, text: bytes, units: Callable[[], Iterable[Chunk]]) -> Iterator[Tuple]:
        """The tuples of units that may be parsed as one text; where there is a mistake among them, of each by itself."""
        try:
            found = [self._terms.made_of(triple) for triple in self._parsed(text)]
        except (SyntaxError, _NoTerm):
            for unit in units():
                yield from self._one(unit, self._terms)
        else:
            yield from found

    def _one(self, unit: Chunk, terms: _Terms) -> Iterator[Tuple]:
        """The tuples of one statement, none where it is left out."""
        text = unit.text
        if MARK_BYTES in text and text.lstrip().startswith(MARK_BYTES):
            # Files with a mark that were put one behind the other.
            text = text.replace(MARK_BYTES, b"", 1)
        try:
            found = self._parsed(text)
        except SyntaxError as error:
            found = self._mended(unit, text, error)
        made = []
        for triple in found:
            try:
                made.append(terms.made_of(triple))
            except _NoTerm as problem:
                self._complain(unit.mistake(_begin(text), str(problem), what=self._name))
                if type(triple.object) is self._library.Triple:
                    return  # what else the statement says is of that triple, by a node that would then stand for nothing
        yield from made

    def _parsed(self, text: bytes, *, lenient: bool = False) -> list[pyoxigraph.Triple]:
        """The triples of whole statements; what they declare holds from then on. Raises SyntaxError."""
        declared = b""
        if self._declarations:
            # All that may be used: to be sure which are takes a parser.
            declared = b" ".join(declaration for begin, declaration in self._declarations.items() if begin in text) + b"\n"
        parser = self._library.parse(declared + text, self._format, base_iri=self._base, lenient=lenient)
        try:
            found = [quad.triple for quad in parser]
        except SyntaxError as error:
            error.lineno = (error.lineno or 1) - bool(declared)
            raise
        except MemoryError:
            # So pyoxigraph calls its limit of a token.
            raise SyntaxError("a term of more than 16 MiB, as no message can hold; expected shorter ones") from None
        self._knows_format = self._knows_format or bool(found)
        if self._turtle and not lenient:
            self._base = parser.base_iri
            if any(self._prefixes.get(name) != iri for name, iri in parser.prefixes.items()):
                self._prefixes |= parser.prefixes
                self._declarations = {f"{n}:".encode(): f"PREFIX {n}: <{iri}>".encode() for n, iri in self._prefixes.items()}
            if len(self._prefixes) > MAX_PREFIXES:
                raise LocalError(f"cannot read {self._name}: more than {MAX_PREFIXES:,} prefixes; expected fewer, or full IRIs")
        return found

    def _mended(self, unit: Chunk, text: bytes, error: SyntaxError) -> list[pyoxigraph.Triple]:
        """The triples of a statement that the parser does not take, those without an invalid IRI: none, or all but a few."""
        undecodable = unit.undecodable(what=self._name)
        if undecodable is not None:
            self._forget_declared(text)
            self._complain(undecodable)
            return []
        try:
            found = self._parsed(text, lenient=True)
        except SyntaxError:
            found = []
        problems: list[_Invalid | None] = [self._terms.invalid(triple) for triple in found]
        if not any(problems) and not any(map(self._terms.has_odd_tag, found)):
            self._forget_declared(text)
            self._complain(self._explained(unit, text, error))
            return []
        for iri, why in filter(None, problems):
            at = max(_begin(text), text.find(f"<{iri}>".encode()))
            self._complain(unit.mistake(at + len(unit.text) - len(text), self._of_iri(iri, why), what=self._name))
        return [triple for triple, problem in zip(found, problems, strict=True) if not problem]

    def _forget_declared(self, text: bytes) -> None:
        """What a statement with a mistake would have declared is not what it was before: names under it would be other names."""
        for found in _DECLARED.finditer(text) if self._turtle else ():
            if found[1] is None:
                self._base = None
            else:
                name = found[1].decode("utf-8", "replace")
                self._prefixes.pop(name, None)
                self._declarations.pop(f"{name}:".encode(), None)

    def _of_iri(self, iri: str, why: str) -> str:
        if "no scheme" not in why.lower():
            return f"<{iri}> is no IRI: {why[:1].lower()}{why[1:]}"
        if self._turtle:
            return (
                f"<{iri}> is a relative IRI, and there is no base to resolve it against; "
                "give one (--base IRI, or base= in a program), or say @base in the text"
            )
        return f"<{iri}> is a relative IRI, and N-Triples takes absolute ones alone; expected a scheme, or Turtle (--format ttl)"

    def _explained(self, unit: Chunk, text: bytes, error: SyntaxError) -> BadText:
        begin, end = _begin(text), len(text.rstrip())
        other = "" if self._knows_format else self._other_format(text, begin)
        if other:
            # Whether mistakes are skipped or not: of such a text nothing would be left.
            mistake = unit.mistake(begin + len(unit.text) - len(text), other, what=self._name)
            raise Unsupported(str(mistake))
        problem = _OXIGRAPH_LINE.sub("", _OXIGRAPH_PREFIX.sub("", str(error.msg)))
        problem = (problem[:1].lower() + problem[1:]).replace("quads", "triples")
        problem = problem.replace(" or graph name", "").replace("triple or quad", "triple")
        at = _position(text, error.lineno or 1, error.offset or 1)
        iri = _IRI.match(text, at)
        if iri is not None and problem.startswith(("invalid", "no scheme")):
            problem = self._of_iri(iri[1].decode("utf-8", "replace"), problem)
        elif text[at : at + 1] in (b'"', b"'") and problem.startswith(("unexpected end", "line jumps")):
            quote = text[at : at + 3] if text[at : at + 3] in (b'"""', b"'''") else text[at : at + 1]
            where = "before the text ends" if len(quote) == 3 else "on the same line"
            problem = f"this string is not closed; expected {quote.decode()} {where}"
        elif problem == "unexpected end":
            problem = "the text ends before this statement does; expected a dot behind it"
        # The parser notices behind the last line that it has not ended; it is this one that has to be mended.
        return unit.mistake(min(at, end) + len(unit.text) - len(text), problem, what=self._name)

    def _other_format(self, text: bytes, begin: int) -> str:
        """What a text is that begins as another format does, and what to do then; else empty."""
        if not self._turtle and _TURTLE_BEGINS.match(text, begin):
            return "this is Turtle, and was to be N-Triples; name it .ttl, or say --format ttl"
        if _SCRIPT_BEGINS.match(text, begin) or (not self._turtle and text[begin : begin + 1] == b"("):
            meant = "Turtle" if self._turtle else "N-Triples"
            return f"this looks like GSG script, and was to be {meant}; name it .gsg, or say --format gsg"
        if _XML_BEGINS.match(text, begin):
            return "this looks like RDF/XML, which is not read; convert it (rdfpipe -i xml -o nt FILE > FILE.nt)"
        if text[begin : begin + 1] == b"{":
            return "this looks like JSON, which is not read; convert JSON-LD (rdfpipe -i json-ld -o nt FILE > FILE.nt)"
        return ""


def _lines_of(chunk: Chunk) -> Iterator[Chunk]:
    return chunk.units(lines(chunk.text))


def _begin(text: bytes) -> int:
    """Where a statement begins, behind blanks and comments."""
    found = _SKIPPED.match(text)
    return found.end() if found is not None else 0


def _position(text: bytes, line: int, column: int) -> int:
    """The byte at a line and column of the parser, which also ends a line at a lone carriage return."""
    start = 0
    for _ in range(line - 1):
        found = _LINE_END.search(text, start)
        if found is None:
            return len(text)
        start = found.end()
    after = text[start : start + 4 * column].decode("utf-8", "replace")[: column - 1]
    return min(len(text), start + len(after.encode()))


_Invalid: TypeAlias = tuple[str, str]
"""Something that is no IRI, and why."""


class _NoTerm(Exception):
    """Something that RDF 1.2 has and terms here do not."""


class _Terms:
    """Terms from pyoxigraph's, IRIs made once for all tuples that share them."""

    def __init__(self, library: Any, nodes: BlankNodes) -> None:  # Any: the module, which is imported on first use
        self._library = library
        self._iri, self._literal = library.NamedNode, library.Literal
        self._blank = library.BlankNode
        self._nodes = nodes
        self._iris: dict[str, IRI] = {}

    def made_of(self, triple: pyoxigraph.Triple) -> Tuple:
        """Raises _NoTerm."""
        return self._of(triple.subject), self._of(triple.predicate), self._of(triple.object)

    def _of(self, found: pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple) -> Term:
        kind = type(found)
        if kind is self._iri:
            return self._shared(found.value)  # type: ignore[union-attr]  # mypy cannot see that the kind decides
        if kind is self._literal:
            if found.direction is not None:  # type: ignore[union-attr]  # as above
                raise _NoTerm(f"{found} has a base direction, which terms here do not hold")
            return literal(found.value, found.datatype.value, found.language or "")  # type: ignore[union-attr]  # as above
        if kind is self._blank:
            return self._node(found.value)  # type: ignore[union-attr]  # as above
        raise _NoTerm(f"{found} is a triple within a triple, which terms here do not hold")

    def _node(self, label: str) -> Term:
        return self._nodes.labelled(label)

    def _shared(self, value: str) -> IRI:
        made = self._iris.get(value)
        if made is None:
            if len(self._iris) >= MAX_CACHED_IRIS:
                self._iris.clear()
            made = self._iris[value] = IRI(value)
        return made

    def invalid(self, triple: pyoxigraph.Triple) -> _Invalid | None:
        """The first IRI of a triple that is none, and why; None where all are."""
        for part in (triple.subject, triple.predicate, triple.object):
            kind = type(part)
            iri = part.datatype.value if kind is self._literal else part.value if kind is self._iri else None  # type: ignore[union-attr]  # as above
            if iri is not None:
                try:
                    self._iri(iri)
                except ValueError as error:
                    return iri, str(error)
        return None

    def has_odd_tag(self, triple: pyoxigraph.Triple) -> bool:
        """Whether its literal has a language tag that the grammar allows and pyoxigraph does not."""
        language = getattr(triple.object, "language", None)
        if not language or not _LANGTAG.fullmatch(language):
            return False
        try:
            self._literal("", language=language)
        except ValueError:
            return True
        return False


class _Anonymous(_Terms):
    """Terms of one statement, whose nodes without labels are numbered."""

    def __init__(self, terms: _Terms, nodes: BlankNodes, text: bytes) -> None:
        super().__init__(terms._library, nodes)
        self._iris = terms._iris
        self._labels = {label.decode("utf-8", "replace").rstrip(".") for label in _LABEL.findall(text)}
        self._text = text
        self._made: dict[str, Term] = {}
        self._begin = ""

    def _node(self, label: str) -> Term:
        if label in self._labels or not _ANONYMOUS.fullmatch(label):
            return super()._node(label)
        made = self._made.get(label)
        if made is None:
            self._begin = self._begin or self._nodes.statement(self._text[_begin(self._text) :])
            made = self._made[label] = BlankNode(f"{self._begin}-{len(self._made)}")
        return made
