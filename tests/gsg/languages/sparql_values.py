"""What an expression of SPARQL gives, as a test writes it."""

from __future__ import annotations

from gsg.languages.sparql import parse_query
from gsg.tuples.terms import n3
from rete import algebra

PREFIXES = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX : <http://example.org/> "
XSD = "http://www.w3.org/2001/XMLSchema#"


def value(expression: str) -> str | None:
    """The value of an expression, with the datatypes of XML Schema in short; None for an error."""
    query = parse_query(f"{PREFIXES} SELECT ({expression} AS ?v) {{}}", seed=lambda: "seed")
    assert isinstance(query.body, algebra.Project)
    extend = query.body.child
    assert isinstance(extend, algebra.Extend)
    found = extend.value((None,) * len(extend.value.names))
    if found is None:
        return None
    shown = n3(found)
    for name in ("boolean", "decimal", "double", "float", "integer", "dateTime", "date", "dayTimeDuration"):
        shown = shown.replace(f"<{XSD}{name}>", f"xsd:{name}")
    return {'"true"^^xsd:boolean': "true", '"false"^^xsd:boolean': "false"}.get(shown, shown)
