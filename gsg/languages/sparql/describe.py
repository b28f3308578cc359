"""DESCRIBE as a standing query: the triples whose subject is what is described (SPARQL 1.1, section 16.4, leaves open which)."""

from __future__ import annotations

from typing import Any

import rete
from rete import algebra

from ...errors import BadQuery
from ..expressions.operators import Computed
from ..expressions.tree import Constant, Name
from ..groups import balanced, joined
from ..scope import visible
from .construct import TRIPLE
from .modifiers import Modified
from .patterns import Patterns
from .terms import Reader


def description(reader: Reader, patterns: Patterns, query: Any) -> algebra.Algebra:  # Any: rdflib's parse tree is untyped
    """The triples of each IRI that is named, and of each value of each variable."""
    solutions = Modified(patterns, query)
    said = None if query.var is None else [reader.term(part, 0) for part in query.var]
    described = [rete.Variable(name) for name in visible(solutions.tree)] if said is None else list(dict.fromkeys(said))
    names = tuple(item.name for item in described if isinstance(item, rete.Variable))
    if query.where is None and (names or said is None):
        raise BadQuery("DESCRIBE of variables that nothing binds; expected IRIs, or WHERE")
    if not described:
        raise BadQuery("DESCRIBE * of a pattern without variables; expected IRIs, or a pattern that has some")
    found = solutions.projected(names) if names else None
    subject = reader.hidden_name(TRIPLE[0])
    predicate, object_ = (rete.Variable(reader.hidden_name(name)) for name in TRIPLE[1:])
    branches: list[algebra.Algebra] = []
    for item in described:
        tree = patterns.graph.matching((item, predicate, object_))
        if isinstance(item, rete.Variable):
            assert found is not None, "there are variables"
            tree = joined(algebra.Distinct(algebra.Project(found, (item.name,))), tree)
        value = Name(item.name) if isinstance(item, rete.Variable) else Constant(item)
        # The query's own names go before those of a row come: it may have called something so.
        tree = algebra.Project(algebra.Extend(tree, subject, Computed(value)), (subject, predicate.name, object_.name))
        branches.append(tree)
    made = balanced(algebra.Union, branches)
    for name, hidden in zip(TRIPLE, (subject, predicate.name, object_.name), strict=True):
        made = algebra.Extend(made, name, Computed(Name(hidden)))
    return algebra.Distinct(algebra.Project(made, TRIPLE))
