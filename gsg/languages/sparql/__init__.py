"""SPARQL 1.1 as a language of standing queries: SELECT, ASK and CONSTRUCT over one graph.

Not here: updates, DESCRIBE, FROM, GRAPH and SERVICE, which are refused by name. What a query means is SPARQL's; how its answer
is kept right is rete's. Reading goes source.py (placeholders) -> reading.py (rdflib's parser, errors) -> reader.py (terms,
expressions), translating.py (patterns) and modifiers.py (SELECT and what follows) -> rete.algebra. Expressions are evaluated by
gsg.expressions. rdflib is imported when the first query is read.

Some functions are of a moment, and a standing query has none: NOW() is when the query was read; RAND(), UUID(), STRUUID() and
BNODE() depend on the subscription's seed, the place in the text and the solution, so that a solution leaves with the value that
it came with.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import rete
from rete import algebra

from ...errors import BadQuery, Unsupported
from ...expressions.tree import Ordered
from ...model import IRI, BlankNode, Term, Tuple
from .._place import bad_text
from ..scope import depth, names_of
from .iris import Names
from .modifiers import Modified, subselect
from .reader import Reader, kind_of
from .reading import parse_tree
from .source import Misread, Source
from .translating import Patterns

__all__ = ["SparqlQuery", "parse_query"]

MAX_DEPTH = 120
"""Operators inside operators, and expressions inside expressions: trees are hashed, built and walked by recursion further on."""

_FORMS = {"SelectQuery": "SELECT", "AskQuery": "ASK", "ConstructQuery": "CONSTRUCT"}


@dataclass(frozen=True)
class SparqlQuery:
    """A query: ``tree`` has its solutions, ``select`` says which names make a row.

    ``form`` is SELECT, ASK (one empty row while it is true) or CONSTRUCT (each row makes the triples of ``template``).
    ``ordered`` sorts the rows for a reader, where ORDER BY reads selected names only; LIMIT and OFFSET are in the tree.
    """

    form: str
    tree: algebra.Algebra
    select: tuple[str, ...]
    template: tuple[tuple[object, object, object], ...] = ()
    ordered: Ordered | None = None

    def triples(self, values: tuple[Any, ...], *, copy: int = 0) -> Iterator[Tuple]:  # Any: terms, None where unbound
        """The triples that CONSTRUCT makes of one row; ``copy`` numbers equal rows, which make blank nodes of their own."""
        bound = dict(zip(self.select, values, strict=True))
        label = ""
        for pattern in self.template:
            made: list[Term] = []
            for item in pattern:
                if isinstance(item, BlankNode):
                    label = label or hashlib.sha256(repr((values, copy)).encode("utf-8", "surrogatepass")).hexdigest()[:24]
                    made.append(BlankNode(f"{label}-{item.label}"))
                    continue
                term: Any = bound[item.name] if isinstance(item, rete.Variable) else item
                if term is None:
                    break
                made.append(term)
            # A triple with an unbound name, a literal as subject or a predicate that is no IRI is left out (section 16.2).
            if len(made) == 3 and type(made[0]) in (IRI, BlankNode) and type(made[1]) is IRI:
                yield tuple(made)


def parse_query(
    text: str,
    *,
    base: str = "",
    now: Callable[[], datetime] | None = None,
    seed: Callable[[], str] | None = None,
    what: str = "query",
) -> SparqlQuery:
    """A standing query from SPARQL.

    ``base`` is what relative IRIs are resolved against; ``now`` and ``seed`` give NOW() and the fresh functions their moment
    and their chance, and are asked only for a query that uses them. Raises BadText, BadQuery and Unsupported.
    """
    parsed, source = parse_tree(text, what)
    try:
        return _translated(parsed, source, base, now or _utc_now, seed or (lambda: secrets.token_hex(16)))
    except Misread as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what=what) from None
    except RecursionError:
        raise bad_text(text, 0, "the query is nested too deep to be translated", what=what) from None


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _translated(parsed: Any, source: Source, base: str, now: Callable[[], datetime], seed: Callable[[], str]) -> SparqlQuery:
    prologue, query = parsed
    form = _FORMS[kind_of(query)]
    if query.datasetClause:
        clause = "FROM" if query.datasetClause[0].named is None else "FROM NAMED"
        raise Unsupported(
            f"{clause} is not supported: the tuple space is one graph, and a query is over all of it; leave the clause out"
        )
    given: list[str] = []

    def one_seed() -> str:
        if not given:
            given.append(seed())
        return given[0]

    reader = Reader(source, _names(prologue, base), now=lambda: now().isoformat().replace("+00:00", "Z"), seed=one_seed)
    modified = Modified(Patterns(reader, subselect), query)
    template: tuple[tuple[object, object, object], ...] = ()
    select = modified.select
    if form == "CONSTRUCT":
        template = _template(reader, query)
        used = (item.name for pattern in template for item in pattern if isinstance(item, rete.Variable))
        fresh = any(isinstance(item, BlankNode) for pattern in template for item in pattern)
        # Blank nodes of the template are new in each solution, so that all of it tells solutions apart.
        select = tuple(dict.fromkeys((*used, *names_of(modified.tree)) if fresh else used))
    tree = modified.projected(() if form == "ASK" else select)
    if depth(tree) > MAX_DEPTH:
        raise BadQuery(f"the query is more than {MAX_DEPTH} operators deep; expected shorter chains, or several queries")
    order = modified.order if modified.order is not None and set(modified.order.names) <= set(select) else None
    if form == "ASK":
        return SparqlQuery(form, algebra.Distinct(tree), ())
    return SparqlQuery(form, tree, select, template, order)


def _names(prologue: Any, base: str) -> Names:  # Any: rdflib's parse tree is untyped, here and below
    names = Names(base)
    for declaration in prologue:
        if kind_of(declaration) == "Base":
            names.base = names.iri(str(declaration.iri)).value
        else:
            names.prefixes[str(declaration.prefix or "")] = names.iri(str(declaration.iri)).value
    return names


def _template(reader: Reader, query: Any) -> tuple[tuple[object, object, object], ...]:
    """The triples of CONSTRUCT, with variables and blank nodes; those of the pattern in the short form CONSTRUCT WHERE."""
    if query.template is None and query.where is not None and kind_of(query.where) == "FakeGroupGraphPatten":
        blocks = [block for part in query.where.part for block in part.triples]
    else:
        blocks = list(query.template or ())
    labels: dict[str, BlankNode] = {}

    def term(part: Any) -> object:
        if kind_of(part) == "BNode":
            return labels.setdefault(str(part), BlankNode(str(len(labels))))
        return reader.term(part, 0)

    triples: list[tuple[object, object, object]] = []
    for block in blocks:
        terms = [term(part) for part in block]
        triples.extend((terms[at], terms[at + 1], terms[at + 2]) for at in range(0, len(terms) - len(terms) % 3, 3))
    return tuple(triples)
