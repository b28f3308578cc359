"""SPARQL 1.1 Update as operations that are decided here and done elsewhere: what to ask first, and which tuples then come and go.

    for operation in parse_update(text):
        rows = () if operation.query is None else <the rows of operation.query, each as often as it holds>
        changes = operation.changes(rows)
        <retract changes.retracted, insert changes.inserted, then go on: the next operation is asked of what is there by then>

The default graph is the tuples of three terms, a named graph those of four with its name behind them (graphs.py). A graph is there
while something is in it: so CREATE does nothing, CLEAR and DROP are the same, and none of them fails. ADD, COPY and MOVE are one
operation each, in which a triple that stays is neither retracted nor inserted.

What would be no triple of RDF (an unbound name, a literal as subject, a predicate that is no IRI) is left out of what is deleted
and inserted, as CONSTRUCT leaves it out: so an update that clears the default graph leaves tuples of other doors alone which only
look like triples. LOAD is refused by name, as nothing is fetched from anywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

import rete
from rete import algebra

from ...errors import TooLarge
from ...tuples.terms import IRI, BlankNode, Term, Tuple
from ..bad_text import Mistake, bad_text, error_at
from ..query import Query
from ..rows import Row
from ..scope import check_depth
from .graphs import Dataset, said_dataset
from .iris import Prologue
from .modifiers import subselect
from .parsing import UPDATE, parse_tree
from .patterns import Patterns
from .placeholders import Source, Token
from .terms import Reader, kind_of

MAX_CHANGED = 1_000_000
"""Tuples that one operation changes; one that would change more is refused: a template may make thousands of each solution, and
these are in memory at once."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A blank node of a template, which is another one in each solution."""

    number: int


Pattern: TypeAlias = tuple["Term | rete.Variable | Fresh", ...]
"""Three terms, or four with the graph."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The tuples that an operation retracts, and those that it inserts; none is in both, and each is there once."""

    retracted: tuple[Tuple, ...]
    inserted: tuple[Tuple, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of an update.

    ``query`` is what has to be answered first; None where the operation is of ground data. ``seed`` tells the blank nodes that it
    makes from those of all others.
    """

    query: Query | None
    deletes: tuple[Pattern, ...]
    inserts: tuple[Pattern, ...]
    seed: str

    def changes(self, rows: Iterable[Row] = ()) -> Changes:
        """What becomes of the rows of the query, each as often as it holds: each has blank nodes of its own.

        Raises TooLarge for more than MAX_CHANGED tuples.
        """
        solutions = (Row({}),) if self.query is None else rows
        retracted: dict[Tuple, None] = {}
        inserted: dict[Tuple, None] = {}
        for number, row in enumerate(solutions):
            values = dict(zip(row, row.terms, strict=True))
            retracted.update(dict.fromkeys(self._made(self.deletes, values, number)))
            inserted.update(dict.fromkeys(self._made(self.inserts, values, number)))
            if len(retracted) + len(inserted) > MAX_CHANGED:
                raise TooLarge(
                    f"one operation of an update would change more than {MAX_CHANGED:,} tuples; expected a WHERE with fewer "
                    "solutions, or fewer triples for each of them"
                )
        return Changes(tuple(items for items in retracted if items not in inserted), tuple(inserted))

    def _made(self, patterns: tuple[Pattern, ...], values: dict[str, Term], number: int) -> Iterator[Tuple]:
        for pattern in patterns:
            items = tuple([self._term(item, values, number) for item in pattern])
            if is_triple(items):
                yield items  # type: ignore[misc]  # none of them is None, as just seen

    def _term(self, item: Term | rete.Variable | Fresh, values: dict[str, Term], number: int) -> Term | None:
        if isinstance(item, rete.Variable):
            return values.get(item.name)
        return BlankNode(f"u{self.seed}.{number}.{item.number}") if isinstance(item, Fresh) else item


def is_triple(items: tuple[Term | None, ...]) -> bool:
    """Whether each term is where it may be: no literal as subject, an IRI as predicate, a node that has a name as graph."""
    subject, predicate, object_, *graph = items
    nodes = (IRI, BlankNode)
    return type(subject) in nodes and type(predicate) is IRI and object_ is not None and all(type(name) in nodes for name in graph)


def parse_update(
    text: str,
    *,
    base: str = "",
    using_graphs: Sequence[str] = (),
    using_named_graphs: Sequence[str] = (),
    now: Callable[[], datetime] | None = None,
    seed: Callable[[], str] | None = None,
    what: str = "update",
) -> list[Operation]:
    """The operations of an update, in order: each is to be done before the next is asked.

    ``base``, ``now`` and ``seed`` are as for a query; blank nodes are made from the seed, so a text that is to be done again is to
    be parsed again. ``using_graphs`` and ``using_named_graphs`` are the dataset of every WHERE, and then no operation may say one
    (SPARQL 1.1 Protocol, section 2.2.3). Raises BadText, BadQuery, and Unsupported for LOAD and SERVICE.
    """
    given = Dataset.listing(map(IRI, using_graphs), map(IRI, using_named_graphs))
    parsed, source = parse_tree(text, what, UPDATE)
    chance = (seed or (lambda: secrets.token_hex(16)))()
    prologue = Prologue(base)
    operations: list[Operation] = []
    labels: set[str] = set()
    try:
        for number, (part, tokens) in enumerate(zip(parsed, _tokens_of(source), strict=False)):
            prologue.declare([declaration for declared in part.prologue for declaration in declared])
            own = f"{chance}.{number}"
            reading = _Reading(Reader(source.part(tokens), prologue, now, partial(str, own)), given, own)
            operation = reading.operation(part.request)
            if kind_of(part.request) == "InsertData":
                reading.refuse_known_labels(labels)
            if operation is not None:
                operations.append(operation)
    except Mistake as mistake:
        raise error_at(text, mistake, what=what) from None
    except RecursionError:
        raise bad_text(text, 0, f"the {what} is nested too deep to be translated", what=what) from None
    return operations


def _tokens_of(source: Source) -> list[list[Token]]:
    """The tokens of each operation: a semicolon outside of braces ends one."""
    made: list[list[Token]] = [[]]
    depth = 0
    for token in source.tokens:
        depth += (token.text == "{") - (token.text == "}") if token.kind == "sign" else 0
        if token.text == ";" and token.kind == "sign" and not depth:
            made.append([])
        else:
            made[-1].append(token)
    return made


_ANY = tuple(map(rete.Variable, ("s", "p", "o")))
_OTHER = tuple(map(rete.Variable, ("x", "y", "z")))
_EACH = rete.Variable("g")


class _Reading:
    """Reads one operation."""

    def __init__(self, reader: Reader, given: Dataset, seed: str) -> None:
        self._reader = reader
        self._given = given
        self._seed = seed
        self._tokens = reader.source.tokens
        self._fresh: dict[str, Fresh] = {}

    def operation(self, request: Any) -> Operation | None:  # Any: rdflib's parse tree is untyped, here and in all that follows
        """The operation; None for one that does nothing."""
        match kind_of(request):
            case "InsertData":
                self._refuse("variable", "INSERT DATA", "a variable", "INSERT ... WHERE, which takes variables")
                return self._made(None, (), self._quads(request.quads, None))
            case "DeleteData":
                self._refuse("variable", "DELETE DATA", "a variable", "DELETE WHERE, which takes variables")
                self._refuse_blank_nodes("DELETE DATA")
                return self._made(None, self._quads(request.quads, None), ())
            case "DeleteWhere":
                self._refuse_blank_nodes("DELETE WHERE")
                quads = self._quads(request.quads, None)
                tree = self._patterns(self._dataset(request, None)).quads(request.quads)
                return self._asking(tree, quads, ())
            case "Modify":
                return self._modify(request)
            case "Clear" | "Drop":
                return self._clear(request.graphiri)
            case "Add" | "Copy" | "Move" as kind:
                return self._carry(kind, *request.graph)
            case _:
                return None  # CREATE: a graph is there while something is in it

    def _made(self, query: Query | None, deletes: tuple[Pattern, ...], inserts: tuple[Pattern, ...]) -> Operation:
        return Operation(query, deletes, inserts, self._seed)

    def _asking(self, tree: algebra.Algebra, deletes: tuple[Pattern, ...], inserts: tuple[Pattern, ...]) -> Operation:
        items = [item for pattern in (*deletes, *inserts) for item in pattern]
        names = tuple(dict.fromkeys(item.name for item in items if isinstance(item, rete.Variable)))
        shown: algebra.Algebra = algebra.Project(tree, names)
        if not any(isinstance(item, Fresh) for item in items):
            # Equal solutions make equal tuples, unless there are blank nodes.
            shown = algebra.Distinct(shown)
        check_depth(shown)
        return self._made(Query.of_tree(shown, names), deletes, inserts)

    def _patterns(self, dataset: Dataset) -> Patterns:
        return Patterns(self._reader, subselect, dataset)

    # DELETE and INSERT with WHERE.

    def _modify(self, request: Any) -> Operation:
        graph = None if request.withClause is None else self._reader.iri(request.withClause)
        if request.delete is not None:
            self._refuse_blank_nodes("DELETE")
        deletes = self._quads(request.delete.quads, graph) if request.delete is not None else ()
        inserts = self._quads(request.insert.quads, graph) if request.insert is not None else ()
        return self._asking(self._patterns(self._dataset(request, graph)).group(request.where), deletes, inserts)

    def _dataset(self, request: Any, graph: IRI | None) -> Dataset:
        said = said_dataset(self._reader, request.using)
        if self._given and (said or graph is not None):
            clause = next(token for token in self._tokens if token.text.upper() in ("USING", "WITH"))
            problem = (
                f"{clause.text.upper()} says which graphs are asked, and so does the request beside the text; expected one of them"
            )
            raise Mistake(clause.position, problem)
        return self._given or said or Dataset(None if graph is None else (graph,))

    def _quads(self, quads: Any, graph: IRI | None) -> tuple[Pattern, ...]:
        """The triples of a template or of data, each with its graph where it has one."""
        made: dict[Pattern, None] = {}
        for graph_part, blocks in _blocks(quads):
            where = graph if graph_part is None else self._term(graph_part)
            for block in blocks:
                terms = [self._term(part) for part in block]
                for at in range(0, len(terms) - len(terms) % 3, 3):
                    made[(*terms[at : at + 3], *(() if where is None else (where,)))] = None
        return tuple(made)

    def _term(self, part: Any) -> Term | rete.Variable | Fresh:
        if kind_of(part) == "BNode":
            return self._fresh.setdefault(str(part), Fresh(len(self._fresh)))
        return self._reader.term(part, 0)

    # What may not stand in data and templates.

    def _refuse(self, kind: str, clause: str, found: str, instead: str) -> None:
        token = next((token for token in self._tokens if token.kind == kind), None)
        if token is not None:
            raise Mistake(token.position, f"{found} in {clause}; expected constants alone, or {instead}")

    def _refuse_blank_nodes(self, clause: str) -> None:
        """In what is deleted a blank node would stand for nothing that is there (SPARQL 1.1 Update, section 3.1.3.2)."""
        begun = next(at for at, token in enumerate(self._tokens) if token.text.upper() == "DELETE")
        depth = 0
        for at, token in enumerate(self._tokens[begun:], begun):
            depth += (token.text == "{") - (token.text == "}") if token.kind == "sign" else 0
            is_list = token.text == "(" and self._tokens[at + 1].text != ")"
            if depth and (token.kind == "blank" or token.text == "[" or is_list) and token.kind in ("blank", "sign"):
                problem = f"a blank node in {clause} names nothing that is there; expected a variable, and WHERE"
                raise Mistake(token.position, problem)
            if token.text == "}" and not depth:
                return

    def refuse_known_labels(self, labels: set[str]) -> None:
        """A label may not stand in two INSERT DATA of a text, where it would be two nodes (SPARQL 1.1, section 19.8, note 8)."""
        mine = {token.text: token for token in reversed(self._tokens) if token.kind == "blank"}
        again = next((token for label, token in mine.items() if label in labels), None)
        if again is not None:
            problem = (
                f"{again.text} stands in an INSERT DATA before this one, too; expected another label, or both in one INSERT DATA"
            )
            raise Mistake(again.position, problem)
        labels.update(mine)

    # Whole graphs.

    def _clear(self, which: Any) -> Operation:
        if kind_of(which) in ("URIRef", "pname"):
            pattern: Pattern = (*_ANY, self._reader.iri(which))
            return self._asking(_matching(pattern), (pattern,), ())
        word = str(which).upper()
        patterns: list[Pattern] = [*([_ANY] if word != "NAMED" else []), *([(*_OTHER, _EACH)] if word != "DEFAULT" else [])]
        trees = list(map(_matching, patterns))
        return self._asking(trees[0] if len(trees) == 1 else algebra.Union(*trees), tuple(patterns), ())

    def _carry(self, kind: str, source: Any, target: Any) -> Operation | None:
        """ADD, COPY and MOVE (SPARQL 1.1 Update, sections 3.2.3 to 3.2.5), of a graph onto itself nothing."""
        one, other = (() if type(graph) is str else (self._reader.iri(graph),) for graph in (source, target))
        if one == other:
            return None
        tree = _matching((*_ANY, *one))
        deletes: list[Pattern] = [(*_ANY, *one)] if kind == "Move" else []
        if kind != "Add":
            deletes.append((*_OTHER, *other))
            tree = algebra.Union(tree, _matching((*_OTHER, *other)))
        return self._asking(tree, tuple(deletes), ((*_ANY, *other),))


def _blocks(quads: Any) -> Iterator[tuple[Any, Any]]:
    yield None, quads.triples or ()
    for inner in quads.quadsNotTriples or ():
        yield inner.term, inner.triples or ()


def _matching(pattern: Pattern) -> algebra.Algebra:
    return algebra.Basic((rete.Condition(pattern),))
