"""SPARQL 1.1 as a language of standing queries: SELECT, ASK and CONSTRUCT over one graph.

Not here: updates, DESCRIBE, FROM, GRAPH and SERVICE, which are refused by name. What a query means is SPARQL's; how its answer
is kept right is rete's. A text goes through placeholders.py (what rdflib would change) -> parsing.py (rdflib's parser, with the
grammar of grammar.py; errors) -> terms.py (terms, expressions), patterns.py with paths.py, modifiers.py (SELECT and what follows)
and construct.py (CONSTRUCT) -> rete.algebra. Expressions are evaluated by gsg.languages.expressions. rdflib is imported when the
first query is read.

Some functions are of a moment, and a standing query has none: NOW() is when the query was read; RAND(), UUID(), STRUUID() and
BNODE() depend on the subscription's seed, the place in the text and the solution, so that a solution leaves with the value that
it came with.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rete import algebra

from ...errors import BadQuery
from ..bad_text import Mistake, bad_text
from ..query import Query
from ..result_form import ResultForm
from ..scope import MAX_DEPTH, depth
from .construct import TRIPLE, ConstructTemplate
from .iris import Prologue
from .modifiers import Modified, subselect
from .parsing import parse_tree
from .patterns import Patterns
from .placeholders import Source
from .terms import Reader, kind_of

_FORMS = {"SelectQuery": "SELECT", "AskQuery": "ASK", "ConstructQuery": "CONSTRUCT"}


def parse_query(
    text: str,
    *,
    base: str = "",
    now: Callable[[], datetime] | None = None,
    seed: Callable[[], str] | None = None,
    what: str = "query",
    once: bool = False,
) -> Query:
    """A standing query from SPARQL: SELECT, ASK (one empty row while it is true) or CONSTRUCT (a row is a triple: construct.py).

    ORDER BY is in its tree where LIMIT or OFFSET follow it; alone it says nothing, as rows are told when they come and go. With
    ``once``, for who asks once, its rows have hidden names to sort by, and ``Query.result`` is what is made of them.
    ``base`` is what relative IRIs are resolved against; ``now`` and ``seed`` give NOW() and the fresh functions their moment
    and their chance, and are asked only for a query that uses them. Raises BadText, BadQuery and Unsupported.
    """
    parsed, source = parse_tree(text, what)
    try:
        query = _translated(parsed, source, base, now, seed, once=once)
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what=what) from None
    except RecursionError:
        raise bad_text(text, 0, "the query is nested too deep to be translated", what=what) from None
    return query


def prepare() -> None:
    """Nothing: what reads SPARQL is built as it is imported."""


def _translated(
    parsed: Any,
    source: Source,
    base: str,
    now: Callable[[], datetime] | None,
    seed: Callable[[], str] | None,
    *,
    once: bool,
) -> Query:
    declarations, query = parsed
    form = _FORMS[kind_of(query)]
    reader = Reader(source, _prologue(declarations, base), now, seed)
    modified = Modified(Patterns(reader, subselect), query)
    tree, select = modified.tree, modified.select
    result: ResultForm | None = None if not once else ResultForm(form, TRIPLE if form == "CONSTRUCT" else select)
    if form == "CONSTRUCT":
        graph = ConstructTemplate(reader, query, tree)
        tree, select = graph.graph_of(modified.projected(graph.reads)), TRIPLE
    elif form == "SELECT" and once:
        tree, select, result = modified.ordered(select)
    else:
        tree = modified.projected(select if form == "SELECT" else ())
    if depth(tree) > MAX_DEPTH:
        raise BadQuery(f"the query is more than {MAX_DEPTH} operators deep; expected shorter chains, or several queries")
    return Query.of_tree(algebra.Distinct(tree), (), result) if form == "ASK" else Query.of_tree(tree, select, result)


def _prologue(declarations: Any, base: str) -> Prologue:  # Any: rdflib's parse tree is untyped, here and below
    prologue = Prologue(base)
    for declaration in declarations:
        iri = prologue.iri(str(declaration.iri)).value
        if kind_of(declaration) == "Base":
            prologue.base = iri
        else:
            prologue.prefixes[str(declaration.prefix or "")] = iri
    return prologue
