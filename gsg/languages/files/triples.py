"""The tuples of N-Triples, N-Quads and Turtle, by pyoxigraph, chunk by chunk.

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
from typing import TYPE_CHECKING

from ...errors import BadText, LocalError, Unsupported
from ...tuples.terms import Tuple
from .blank_nodes import BlankNodes
from .chunks import Chunk, Statements, WholeLines, chunks, lines
from .encoding import MARK_BYTES
from .rdf_terms import Invalid, NoTerm, StatementTerms, Terms, begin_of

if TYPE_CHECKING:
    import pyoxigraph

MAX_PREFIXES = 10_000
"""Prefixes that one file may declare; with more it is refused, as each statement may need all of them."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_OXIGRAPH_PREFIX = re.compile(r"^Parser error (?:at|between) .*?: (?=\S)")
_OXIGRAPH_LINE = re.compile(r" \(line \d+\)$")
_IRI = re.compile(rb"<([^<>\r\n]*)>")
_TURTLE_BEGINS = re.compile(rb"@?(?:prefix|base)\b", re.IGNORECASE)
_SCRIPT_BEGINS = re.compile(rb"(?:INSERT|DELETE|NOTIFY)\s*\{", re.IGNORECASE)
_TUPLE_BEGINS = re.compile(rb"\(")
_XML_BEGINS = re.compile(rb"<\?xml|<rdf:|<!DOCTYPE", re.IGNORECASE)
_JSON_BEGINS = re.compile(rb"\{\s*[\"}]|\[\s*\{\s*\"")
_GRAPH_BEGINS = re.compile(rb"(?:GRAPH\s+)?(?:<[^<>\s]*>|[^\s\"'<>(){}\[\];,]*:[^\s\"'<>(){}\[\];,]*|\[\s*\])?\s*\{", re.IGNORECASE)
_QUAD = re.compile(rb"(?:<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(?:<[^<>\s]*>|_:\S+|\"(?:[^\"\\]|\\.)*\"\S*)\s+(?:<[^<>\s]*>|_:\S+)\s*\.")
_DECLARED = re.compile(rb"(?:@|\b)(?:prefix\s+([^\s:<>]*):|base\s*<)", re.IGNORECASE)


class Triples:
    """Reads one text, ``kind`` nt, nq or ttl. ``complain`` is given what a statement is left out for, or raises it."""

    def __init__(self, kind: str, *, name: str, base: str, nodes: BlankNodes, complain: Callable[[BadText], None]) -> None:
        import pyoxigraph

        self._library = pyoxigraph
        self._turtle = kind == "ttl"
        self._called, self._format = {
            "nt": ("N-Triples", pyoxigraph.RdfFormat.N_TRIPLES),
            "nq": ("N-Quads", pyoxigraph.RdfFormat.N_QUADS),
            "ttl": ("Turtle", pyoxigraph.RdfFormat.TURTLE),
        }[kind]
        self._has_graphs = kind == "nq"
        self._name = name
        self._base: str | None = base or None
        self._prefixes: dict[str, str] = {}
        self._declarations: dict[bytes, bytes] = {}
        """Each prefix as a name begins with it, and what declares it."""
        self._complain = complain
        self._nodes = nodes
        self._terms = Terms(pyoxigraph, nodes)
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
            yield from self._one(unit, StatementTerms(self._terms, self._nodes, unit.text))
        yield from self._all(plain)

    def _all(self, units: list[Chunk]) -> Iterator[Tuple]:
        return self._together(b"".join(unit.text for unit in units), lambda: units) if units else iter(())

    def _together(self, text: bytes, units: Callable[[], Iterable[Chunk]]) -> Iterator[Tuple]:
        """The tuples of units that may be parsed as one text; where there is a mistake among them, of each by itself."""
        try:
            found = list(map(self._terms.quad if self._has_graphs else self._terms.triple, self._parsed(text)))
        except (SyntaxError, NoTerm):
            for unit in units():
                yield from self._one(unit, self._terms)
        else:
            yield from found

    def _one(self, unit: Chunk, terms: Terms) -> Iterator[Tuple]:
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
        for quad in found:
            try:
                made.append(terms.quad(quad) if self._has_graphs else terms.triple(quad))
            except NoTerm as problem:
                self._complain(unit.mistake(begin_of(text), str(problem), what=self._name))
                if type(quad.object) is self._library.Triple:
                    return  # what else the statement says is of that triple, by a node that would then stand for nothing
        yield from made

    def _parsed(self, text: bytes, *, lenient: bool = False) -> list[pyoxigraph.Quad]:
        """The triples or quads of whole statements; what they declare holds from then on. Raises SyntaxError."""
        declared = b""
        if self._declarations:
            # All that may be used: to be sure which are takes a parser.
            declared = b" ".join(declaration for begin, declaration in self._declarations.items() if begin in text) + b"\n"
        parser = self._library.parse(declared + text, self._format, base_iri=self._base, lenient=lenient)
        try:
            found: list[pyoxigraph.Quad] = list(parser)
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

    def _mended(self, unit: Chunk, text: bytes, error: SyntaxError) -> list[pyoxigraph.Quad]:
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
        problems: list[Invalid | None] = list(map(self._terms.invalid, found))
        if not any(problems) and not any(map(self._terms.has_odd_tag, found)):
            self._forget_declared(text)
            self._complain(self._explained(unit, text, error))
            return []
        for iri, why in filter(None, problems):
            at = max(begin_of(text), text.find(f"<{iri}>".encode()))
            self._complain(unit.mistake(at + len(unit.text) - len(text), self._of_iri(iri, why), what=self._name))
        return [quad for quad, problem in zip(found, problems, strict=True) if not problem]

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
        return (
            f"<{iri}> is a relative IRI, and {self._called} takes absolute ones alone; expected a scheme, or Turtle (--format ttl)"
        )

    def _explained(self, unit: Chunk, text: bytes, error: SyntaxError) -> BadText:
        begin, end = begin_of(text), len(text.rstrip())
        other = "" if self._knows_format else self._other_format(text, begin)
        if other:
            # Whether mistakes are skipped or not: of such a text nothing would be left.
            mistake = unit.mistake(begin + len(unit.text) - len(text), other, what=self._name)
            raise Unsupported(str(mistake))
        problem = _OXIGRAPH_LINE.sub("", _OXIGRAPH_PREFIX.sub("", str(error.msg)))
        problem = problem[:1].lower() + problem[1:]
        if not self._has_graphs:
            problem = problem.replace("quads", "triples").replace(" or graph name", "").replace("triple or quad", "triple")
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
        others = (
            ("this is Turtle", "ttl", not self._turtle, _TURTLE_BEGINS),
            ("this looks like GSG script", "gsg", True, _SCRIPT_BEGINS),
            ("this looks like GSG script", "gsg", not self._turtle, _TUPLE_BEGINS),
            ("this looks like RDF/XML", "rdf", True, _XML_BEGINS),
            ("this looks like JSON-LD", "jsonld", True, _JSON_BEGINS),
            ("this looks like TriG", "trig", self._turtle, _GRAPH_BEGINS),
            ("this looks like N-Quads", "nq", self._called == "N-Triples", _QUAD),
        )
        for said, format, may_be, pattern in others:
            if may_be and pattern.match(text, begin):
                return f"{said}, and was to be {self._called}; name it .{format}, or say --format {format}"
        return ""


def _lines_of(chunk: Chunk) -> Iterator[Chunk]:
    return chunk.units(lines(chunk.text))


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
