"""SPARQL as a language of subscriptions: SELECT, and ASK as one empty row while it is true."""

from __future__ import annotations

from ...errors import Unsupported
from ...query import Query
from . import parse_query as read


def parse_query(text: str) -> Query:
    """A standing query from SPARQL.

    Raises BadText, BadQuery, and Unsupported: among others for CONSTRUCT, whose graph is not kept yet.
    """
    query = read(text)
    if query.form == "CONSTRUCT":
        raise Unsupported("CONSTRUCT is not supported as a subscription yet; use SELECT with the variables of its template")
    return Query.of_tree(query.tree, query.select)
