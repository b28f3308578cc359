"""Terms that RDF does not have, as literals of datatypes of ours, since RDF clients know no other way to be told.

A symbol such as ``kitchen`` is ``"kitchen"^^<urn:x-gsg:symbol>``; a compound, a list or a variable of Pedro is the text that GSG
script writes for it, with the datatype ``urn:x-gsg:term``.
"""

from __future__ import annotations

from ...tuples.terms import XSD_INTEGER, Compound, List, Literal, Symbol, Term, Variable, n3

SYMBOL, TERM = "urn:x-gsg:symbol", "urn:x-gsg:term"


def literal_of(term: Term) -> Literal:
    """What is neither an IRI nor a blank node, as a literal; a string has no datatype."""
    if type(term) is Literal:
        return term
    if type(term) is str:
        return Literal(term)
    if type(term) is int:
        return Literal(str(term), XSD_INTEGER)
    if type(term) is Symbol:
        return Literal(term.name, SYMBOL)
    assert isinstance(term, Compound | List | Variable), "IRIs and blank nodes are no literals"
    return Literal(n3(term), TERM)
