"""SPARQL as a language of subscriptions: SELECT, ASK as one empty row while it is true, CONSTRUCT as a row for each triple."""

from __future__ import annotations

from ..query import Query
from . import parse_query as read


def parse_query(text: str) -> Query:
    """A standing query from SPARQL. Raises BadText, BadQuery and Unsupported."""
    query = read(text)
    return Query.of_tree(query.tree, query.select)


def prepare() -> None:
    """Nothing: what reads SPARQL is built as it is imported."""
