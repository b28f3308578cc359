"""SPARQL 1.1 as a language of standing queries, and of updates (updates.py).

Not here: LOAD and SERVICE, which are refused by name. What a query means is SPARQL's; how its answer is kept right is
rete's. A text goes through placeholders.py (what rdflib would change) -> parsing.py (rdflib's parser, with the grammar of
grammar.py; errors) -> terms.py (terms, expressions), patterns.py with paths.py and graphs.py (which graph is asked), modifiers.py
(SELECT and what follows) construct.py and describe.py -> rete.algebra. Expressions are evaluated by gsg.languages.expressions.
rdflib is imported when the first query is read.

Some functions are of a moment, and a standing query has none: NOW() is when the query was read; RAND(), UUID(), STRUUID() and
BNODE() depend on the subscription's seed, the place in the text and the solution, so that a solution leaves with the value that
it came with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from rete import algebra

from ...tuples.terms import IRI
from ..bad_text import Mistake, bad_text, error_at
from ..query import Query
from ..result_form import ResultForm
from ..scope import check_depth
from .construct import TRIPLE, ConstructTemplate
from .describe import description
from .graphs import Dataset, said_dataset
from .iris import Prologue
from .modifiers import Modified, subselect
from .parsing import build, parse_tree
from .patterns import Patterns
from .terms import Reader, kind_of

_FORMS = {"SelectQuery": "SELECT", "AskQuery": "ASK", "ConstructQuery": "CONSTRUCT", "DescribeQuery": "DESCRIBE"}


def parse_query(
    text: str,
    *,
    base: str = "",
    now: Callable[[], datetime] | None = None,
    seed: Callable[[], str] | None = None,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    what: str = "query",
    once: bool = False,
) -> Query:
    """A standing query from SPARQL: SELECT, ASK (one empty row while it is true), CONSTRUCT or DESCRIBE (a row is a triple).

    ORDER BY is in its tree where LIMIT or OFFSET follow it; alone it says nothing, as rows are told when they come and go. With
    ``once``, for who asks once, its rows have hidden names to sort by, and ``Query.result`` is what is made of them.
    ``base`` is what relative IRIs are resolved against; ``now`` and ``seed`` give NOW() and the fresh functions their moment
    and their chance, and are asked only for a query that uses them. Where ``default_graphs`` or ``named_graphs`` has IRIs, these
    are the dataset, and FROM and FROM NAMED of the text say nothing (SPARQL 1.1 Protocol, section 2.1.4). Raises BadText, BadQuery
    and Unsupported.
    """
    given = Dataset.listing(map(IRI, default_graphs), map(IRI, named_graphs))
    parsed, source = parse_tree(text, what)
    try:
        return _translated(parsed, given, Reader(source, Prologue(base), now, seed), once=once)
    except Mistake as mistake:
        raise error_at(text, mistake, what=what) from None
    except RecursionError:
        raise bad_text(text, 0, "the query is nested too deep to be translated", what=what) from None


def prepare() -> None:
    """Build the parsers of queries and updates before the first text comes."""
    build()


def _translated(parsed: Any, given: Dataset, reader: Reader, *, once: bool) -> Query:  # Any: as in terms.py
    declarations, query = parsed
    form = _FORMS[kind_of(query)]
    reader.prologue.declare(declarations)
    dataset = given or said_dataset(reader, query.datasetClause)
    patterns = Patterns(reader, subselect, dataset)
    if form == "DESCRIBE":
        tree = description(reader, patterns, query)
        check_depth(tree)
        return Query.of_tree(tree, TRIPLE, ResultForm(form, TRIPLE) if once else None)
    modified = Modified(patterns, query)
    tree, select = modified.tree, modified.select
    result: ResultForm | None = None if not once else ResultForm(form, TRIPLE if form == "CONSTRUCT" else select)
    if form == "CONSTRUCT":
        graph = ConstructTemplate(reader, query, tree)
        tree, select = graph.graph_of(modified.projected(graph.reads)), TRIPLE
    elif form == "SELECT" and once:
        tree, select, result = modified.ordered(select)
    else:
        tree = modified.projected(select if form == "SELECT" else ())
    check_depth(tree)
    return Query.of_tree(algebra.Distinct(tree), (), result) if form == "ASK" else Query.of_tree(tree, select, result)
