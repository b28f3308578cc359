"""From a query to relations over time: each node of the network that would answer it live, as an operation on whole relations.

A relation is a bag of tokens, each with the interval ``[came, went)`` in which it is there. So how often a token is there at a
moment is how many intervals of it contain the moment, and what a node does to tokens that come and go becomes:

    join            pairs that agree, where their intervals overlap (the product of how often each is there)
    FILTER          the tokens that pass
    selection       other columns, the same intervals
    DISTINCT        the union of the intervals of equal tokens
    EXISTS, NOT     the interval of a token, cut by the union of the pattern's, or by the gaps between them

The pattern of a NOT begins with what is asked about it, each distinct combination of values at all times, as the node's demand does
(:mod:`rete.operators.exists`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import rete
from gsg.languages.notation import condition_text, operator_text
from gsg.languages.query import Query, refusing_bad_queries
from rete import algebra
from rete.algebra import Test
from rete.chain import Estimate, JoinSpec
from rete.compile.build import Builder
from rete.operators.distinct import Once
from rete.operators.exists import Existence
from rete.operators.filter import Selection
from rete.operators.join import Join, Node, Root
from rete.operators.operator import Places, places_of
from rete.operators.pair_join import Pairing, PairJoin
from rete.operators.project import Projection

from ..errors import BadParameter

Relation = TypeVar("Relation")

ANSWERED = "conditions that are joined, FILTER, NOT, EXISTS, selections of variables and DISTINCT"
"""What a query may be made of."""


class Engine(Protocol[Relation]):
    """Who works with relations. Columns are numbered from 0; none is ever unbound."""

    def always(self) -> Relation:
        """One token without columns, at all times."""

    def joined(self, left: Relation, spec: JoinSpec) -> Relation:
        """Tokens extended by the facts of an alpha memory that agree with them."""

    def paired(self, left: Relation, right: Relation, pairing: Pairing) -> Relation:
        """Pairs of tokens that agree, as one token each."""

    def passed(self, relation: Relation, test: Test, places: Places) -> Relation:
        """The tokens that pass a test of these columns."""

    def columns(self, relation: Relation, places: Places) -> Relation:
        """Tokens of these columns."""

    def merged(self, relation: Relation) -> Relation:
        """Each token once at a time: overlapping intervals, and those that meet, become one."""

    def asked(self, relation: Relation, places: Places) -> Relation:
        """Each distinct combination of these columns, at all times."""

    def gaps(self, relation: Relation, asked: Relation) -> Relation:
        """When the tokens of ``asked``, each of which is there at all times, are not in ``relation``, which has no others."""

    def kept(self, relation: Relation) -> Relation:
        """The same relation, which will be used more than once."""


def alphas(query: Query) -> list[rete.AlphaSpec]:
    """What is looked up: one definition for each alpha memory. Raises BadParameter for what replay does not answer."""
    check(query)
    network, _ = _network_of(query, lambda _: 0)
    return network.alphas()


def relation_of(query: Query, engine: Engine[Relation], estimate: Estimate) -> Relation:
    """The answer of a query that :func:`check` lets pass: its selected values as columns, those that nothing binds left out.

    ``estimate`` tells how many facts an alpha memory has, which decides the order of joins.
    """
    _, (node, layout) = _network_of(query, estimate)
    return engine.columns(_Translation(engine).of(node), places_of(bound_names(query), layout))


def bound_names(query: Query) -> tuple[str, ...]:
    """The selected names that the query binds."""
    _, (_, layout) = _network_of(query, lambda _: 0)
    return tuple(dict.fromkeys(name for name in query.select if name in layout))


def _tree_of(query: Query) -> algebra.Algebra:
    body = query.bound().body
    return algebra.of_group(body) if isinstance(body, rete.Group) else body


def _network_of(query: Query, estimate: Estimate) -> tuple[rete.Network, tuple[Node, tuple[str, ...]]]:
    """A network of this query alone, without facts; its last node, and the names of that node's columns."""
    network = rete.Network(lambda _: (), estimate)
    with refusing_bad_queries():
        stream = Builder(network.tops()[0], network.join, estimate).tree(_tree_of(query))
    return network, (stream.node, stream.layout)


def check(query: Query) -> None:
    """Raises BadParameter, by name, for an operator that replay does not answer."""
    for named in _not_answered(_tree_of(query)):
        raise BadParameter(f"replay does not answer {named}; it answers {ANSWERED}")


def _not_answered(tree: algebra.Algebra) -> Iterator[str]:
    match tree:
        case algebra.Basic(conditions):
            yield from (f"windows of events, as in {condition_text(one)}" for one in conditions if one.window is not None)
        case algebra.Join(left, right):
            yield from _not_answered(left)
            yield from _not_answered(right)
        case algebra.Exists(child, pattern):
            yield from _not_answered(child)
            yield from _not_answered(pattern)
        case algebra.Filter(child) | algebra.Project(child) | algebra.Distinct(child):
            yield from _not_answered(child)
        case algebra.Union(algebra.Extend(algebra.Exists(), name), _) if not name[:1].isalpha():
            # What the languages make of it (gsg/languages/groups.py) is not what the user wrote.
            yield "EXISTS inside an expression"
        case _:
            yield operator_text(tree)


class _Translation(Generic[Relation]):
    """Nodes as relations, each made once."""

    def __init__(self, engine: Engine[Relation]) -> None:
        self._engine = engine
        self._made: dict[Node, Relation] = {}

    def of(self, node: Node) -> Relation:
        """The relation of a node's tokens."""
        found = self._made.get(node)
        if found is None:
            found = self._made[node] = self._relation(node)
        return found

    def _relation(self, node: Node) -> Relation:
        engine = self._engine
        # Each kind of operator has its own.
        key: Any = getattr(node, "key", None)  # Any: as just said
        match node:
            case Root():
                return engine.always()
            case Join():
                return engine.joined(self.of(node.parent), node.spec)
            case PairJoin():
                _, right, pairing = key
                return engine.paired(self.of(node.owner), self.of(right), pairing)
            case Selection():
                _, test, places = key
                return engine.passed(self.of(node.owner), test, places)
            case Projection():
                _, places = key
                return engine.columns(self.of(node.owner), places)
            case Once():
                return engine.merged(self.of(node.owner))
            case Existence():
                return self._existence(node)
        raise AssertionError(f"{type(node).__name__} passed as an operator that replay answers")

    def _existence(self, node: Existence) -> Relation:
        engine = self._engine
        key: Any = node.key  # Any: as above
        _, _, _, negated, at_sure, unsure = key
        assert not unsure, "without OPTIONAL and the like every name is bound"
        (demand,) = node.asks()
        end = next(parent for parent in node.parents() if parent is not node.owner)
        child = engine.kept(self.of(node.owner))
        asked = self._made[demand] = engine.asked(child, at_sure)
        found = engine.columns(self.of(end), tuple(range(len(at_sure))))
        cut = engine.gaps(found, asked) if negated else engine.merged(found)
        pairing = Pairing(key=tuple((place, at) for at, place in enumerate(at_sure)), maybe=(), new=())
        return engine.paired(child, cut, pairing)
