"""Terms from those of pyoxigraph, which reads the files, and names for the nodes that a file does not name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import LocalError
from ...tuples.terms import IRI, BlankNode, Term, Tuple, literal
from .blank_nodes import BlankNodes

if TYPE_CHECKING:
    import pyoxigraph

MAX_CACHED_IRIS = 100_000
"""IRIs shared between the tuples of one file; at the limit all are forgotten and sharing begins again."""
MAX_UNLABELLED = 1_000_000
"""Nodes without labels of a text that is read as a whole, some 200 MB; one with more is refused."""

_LANGTAG = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_ANONYMOUS = re.compile(r"[0-9a-f]{1,32}")
"""Labels that pyoxigraph makes up for nodes without one."""
_MADE_UP = re.compile(r"[0-9a-f]{16,32}")
"""The same where it cannot be seen whether the text has them: a text that does gets other labels, each always the same one."""
_LABEL = re.compile(rb"_:([^\s\"'<>#,;()\[\]{}]+)")
_SKIPPED = re.compile(rb"\s*(?:#[^\r\n]*[\r\n]\s*)*")

Invalid: TypeAlias = tuple[str, str]
"""Something that is no IRI, and why."""


class NoTerm(Exception):
    """Something that RDF 1.2 has and terms here do not."""


class Terms:
    """Terms from pyoxigraph's, IRIs made once for all tuples that share them."""

    def __init__(self, library: Any, nodes: BlankNodes) -> None:  # Any: the module, which is imported on first use
        self._library = library
        self._iri, self._literal = library.NamedNode, library.Literal
        self._blank, self._default = library.BlankNode, library.DefaultGraph
        self._nodes = nodes
        self._iris: dict[str, IRI] = {}

    def triple(self, quad: pyoxigraph.Quad) -> Tuple:
        """The tuple of a triple. Raises NoTerm."""
        return self._of(quad.subject), self._of(quad.predicate), self._of(quad.object)

    def quad(self, quad: pyoxigraph.Quad) -> Tuple:
        """The tuple of a triple of the default graph, or of a quad of another. Raises NoTerm."""
        graph = quad.graph_name
        return self.triple(quad) if type(graph) is self._default else (*self.triple(quad), self._of(graph))  # type: ignore[arg-type]  # mypy cannot see that the kind decides

    def _of(self, found: pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple) -> Term:
        kind = type(found)
        if kind is self._iri:
            return self._shared(found.value)  # type: ignore[union-attr]  # mypy cannot see that the kind decides
        if kind is self._literal:
            if found.direction is not None:  # type: ignore[union-attr]  # as above
                raise NoTerm(f"{found} has a base direction, which terms here do not hold")
            return literal(found.value, found.datatype.value, found.language or "")  # type: ignore[union-attr]  # as above
        if kind is self._blank:
            return self._node(found.value)  # type: ignore[union-attr]  # as above
        raise NoTerm(f"{found} is a triple within a triple, which terms here do not hold")

    def _node(self, label: str) -> Term:
        return self._nodes.labelled(label)

    def _shared(self, value: str) -> IRI:
        made = self._iris.get(value)
        if made is None:
            if len(self._iris) >= MAX_CACHED_IRIS:
                self._iris.clear()
            made = self._iris[value] = IRI(value)
        return made

    def invalid(self, quad: pyoxigraph.Quad) -> Invalid | None:
        """The first IRI of a quad that is none, and why; None where all are."""
        for part in (quad.subject, quad.predicate, quad.object, quad.graph_name):
            kind = type(part)
            iri = part.datatype.value if kind is self._literal else part.value if kind is self._iri else None  # type: ignore[union-attr]  # as above
            if iri is not None:
                try:
                    self._iri(iri)
                except ValueError as error:
                    return iri, str(error)
        return None

    def has_odd_tag(self, quad: pyoxigraph.Quad) -> bool:
        """Whether its literal has a language tag that the grammar allows and pyoxigraph does not."""
        language = getattr(quad.object, "language", None)
        if not language or not _LANGTAG.fullmatch(language):
            return False
        try:
            self._literal("", language=language)
        except ValueError:
            return True
        return False


class StatementTerms(Terms):
    """Terms of one statement, whose nodes without labels are numbered."""

    def __init__(self, terms: Terms, nodes: BlankNodes, text: bytes) -> None:
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
            self._begin = self._begin or self._nodes.statement(self._text[begin_of(self._text) :])
            made = self._made[label] = BlankNode(f"{self._begin}-{len(self._made)}")
        return made


class DocumentTerms(Terms):
    """Terms of a text that is read as a whole, whose nodes without labels are numbered; ``digest`` is that of the text."""

    def __init__(self, library: Any, nodes: BlankNodes, digest: bytes, name: str) -> None:  # Any: as above
        super().__init__(library, nodes)
        self._begin = nodes.statement(digest)
        self._made: dict[str, Term] = {}
        self._name = name

    def _node(self, label: str) -> Term:
        if not _MADE_UP.fullmatch(label):
            return super()._node(label)
        made = self._made.get(label)
        if made is None:
            if len(self._made) >= MAX_UNLABELLED:
                raise LocalError(
                    f"cannot read {self._name}: more than {MAX_UNLABELLED:,} nodes without labels; expected fewer, or N-Quads"
                )
            made = self._made[label] = BlankNode(f"{self._begin}-{len(self._made)}")
        return made


def begin_of(text: bytes) -> int:
    """Where a statement begins, behind blanks and comments."""
    found = _SKIPPED.match(text)
    return found.end() if found is not None else 0
