"""Property paths: from the parse tree to steps, and from these to algebra (SPARQL 1.1, sections 9, 18.2.2.3 and 18.2.2.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import rete
from rete import algebra

from ..bad_text import Refusal
from ..groups import balanced, joined
from .graphs import ActiveGraph
from .terms import Reader, kind_of


def path_of(reader: Reader, part: Any) -> algebra.PathStep:  # Any: rdflib's parse tree is untyped
    """The steps of a path."""
    kind = kind_of(part)
    if kind == "PathAlternative":
        return balanced(algebra.Either, [path_of(reader, inner) for inner in part.part])
    if kind == "PathSequence":
        return balanced(algebra.Steps, [path_of(reader, inner) for inner in part.part])
    if kind == "PathEltOrInverse":
        return inverse(path_of(reader, part.part))
    if kind == "PathElt":
        inner = path_of(reader, part.part)
        modifier = "" if part.mod is None else str(part.mod)
        return algebra.Closure(inner, reflexive=modifier in "?*", transitive=modifier in "*+") if modifier else inner
    if kind == "PathNegatedPropertySet":
        return _negated_set(reader, part)
    if kind == "DistinctPath":
        raise Refusal(
            _position_of_distinct(reader), "DISTINCT(...) in a property path is no part of SPARQL 1.1; expected the path alone"
        )
    return algebra.Link(reader.iri(part))


def _negated_set(reader: Reader, part: Any) -> algebra.NegatedSet:  # Any: as above
    forward, backward = [], []
    for inner in part.part or ():
        token = reader.source.inverse(str(inner)) if kind_of(inner) == "URIRef" else None
        if token is not None:
            backward.append(reader.token_iri(token))
        else:
            forward.append(reader.iri(inner))
    return algebra.NegatedSet(tuple(forward) if forward or not backward else None, tuple(backward) if backward else None)


def inverse(path: algebra.PathStep) -> algebra.PathStep:
    """The path from end to start."""
    match path:
        case algebra.Link(predicate, inverse=inverted):
            return algebra.Link(predicate, not inverted)
        case algebra.NegatedSet(forward, backward):
            return algebra.NegatedSet(backward, forward)
        case algebra.Closure(inner, reflexive, transitive):
            return algebra.Closure(inverse(inner), reflexive, transitive)
        case algebra.Steps(first, second):
            return algebra.Steps(inverse(second), inverse(first))
        case algebra.Either(first, second):
            return algebra.Either(inverse(first), inverse(second))


def between(
    subject: Any, path: algebra.PathStep, object_: Any, graph: ActiveGraph, another: Callable[[str], str]
) -> list[algebra.Algebra]:
    """A path between two terms or variables of a graph, as patterns to be joined.

    Edges are conditions, sequences are joined over a variable of their own, alternatives are unions; what is left stays a path.
    """
    match path:
        case algebra.Link(predicate, inverse=inverted):
            return [graph.matching((object_, predicate, subject) if inverted else (subject, predicate, object_))]
        case algebra.Steps(first, second):
            middle = rete.Variable(another("path"))
            return between(subject, first, middle, graph, another) + between(middle, second, object_, graph, another)
        case algebra.Either(first, second):
            sides = (reduce(joined, between(subject, side, object_, graph, another)) for side in (first, second))
            return [reduce(algebra.Union, sides)]
    return [graph.walks(subject, path, object_)]


def _position_of_distinct(reader: Reader) -> int:
    """Where DISTINCT stands in a path: not behind SELECT, nor in an aggregate, such as COUNT(DISTINCT(?x))."""
    tokens = reader.source.tokens
    for at in range(2, len(tokens) - 1):
        if tokens[at].text.upper() == "DISTINCT" and tokens[at + 1].text == "(":
            before, earlier = tokens[at - 1], tokens[at - 2]
            if before.kind == "sign" and not (before.text == "(" and earlier.kind == "word"):
                return tokens[at].position
    return 0
