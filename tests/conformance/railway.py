"""The railway of the Train Benchmark in ../shared/data/railway: its graph, its six queries, and the six faults that they find.

Each `*Inject.sparql` asks where a fault can be put in; what the fault is, as signed triples, is said here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pyoxigraph
from oracle import Oracle

import gsg
from gsg.tuples.terms import IRI, XSD, Literal, Term, Tuple

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("GSG_SHARED", _ROOT.parent / "shared")) / "data" / "railway"
QUERIES = ("ConnectedSegments", "PosLength", "RouteSensor", "SemaphoreNeighbor", "SwitchMonitored", "SwitchSet")

Changes = list[tuple[Tuple, int]]
Row = Mapping[str, Term]

_NAMES = "http://www.semanticweb.org/ontologies/2015/trainbenchmark#"
_TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_INT = XSD + "int"


def _name(local: str) -> IRI:
    return IRI(_NAMES + local)


def text(query: str) -> str:
    """One of the queries, or ``...Inject``."""
    return (FOLDER / f"{query}.sparql").read_text("utf-8")


@cache
def facts() -> tuple[Tuple, ...]:
    """The graph."""
    return tuple(gsg.load(FOLDER / "railway-batch-1-inferred.ttl"))


class Railway:
    """The facts that are there, and the oracle that has them too."""

    def __init__(self) -> None:
        self.oracle = Oracle()
        self.facts: dict[Tuple, None] = {}
        self._made = 0

    def change(self, changes: Changes) -> None:
        for fact, sign in changes:
            subject, predicate, object_ = map(_theirs, fact)
            quad = pyoxigraph.Quad(subject, predicate, object_)  # type: ignore[arg-type]  # terms in their places
            if sign > 0:
                self.facts[fact] = None
                self.oracle.insert(quad)
            else:
                del self.facts[fact]
                self.oracle.retract(quad)

    def fault(self, query: str, row: Row) -> Changes:
        """What puts a fault in that a query finds, at a row of its ``...Inject``."""
        return _FAULTS[query](self, row)

    def of(self, subject: Term, name: str) -> list[Tuple]:
        """The facts of a subject and a predicate."""
        return [fact for fact in self.facts if fact[:2] == (subject, _name(name))]

    def another_segment(self) -> IRI:
        self._made += 1
        return _name(f"_another{self._made}")


def _theirs(term: Term) -> pyoxigraph.NamedNode | pyoxigraph.Literal:
    if isinstance(term, IRI):
        return pyoxigraph.NamedNode(term.value)
    assert isinstance(term, Literal), "the graph has IRIs and typed literals only"
    return pyoxigraph.Literal(term.lexical, datatype=pyoxigraph.NamedNode(term.datatype))


def known_to_the_oracle(row: Row) -> dict[str, Term]:
    """A row as the oracle has it, who takes every ``xsd:int`` for the ``xsd:integer`` of its value."""
    return {
        name: int(value.lexical) if isinstance(value, Literal) and value.datatype == _INT else value for name, value in row.items()
    }


def _connected_segments(railway: Railway, row: Row) -> Changes:
    """Another segment between two, under the same sensor: the sixth of a row."""
    made, connects = railway.another_segment(), _name("connectsTo")
    return [
        ((made, _TYPE, _name("Segment")), 1),
        ((made, _TYPE, _name("TrackElement")), 1),
        ((made, _name("length"), Literal("100", _INT)), 1),
        ((made, _name("monitoredBy"), row["sensor"]), 1),
        ((row["segment1"], connects, made), 1),
        ((made, connects, row["segment3"]), 1),
        ((row["segment1"], connects, row["segment3"]), -1),
    ]


def _pos_length(railway: Railway, row: Row) -> Changes:
    """A length of zero."""
    gone: Changes = [(fact, -1) for fact in railway.of(row["segment"], "length")]
    return [*gone, ((row["segment"], _name("length"), Literal("0", _INT)), 1)]


def _route_sensor(railway: Railway, row: Row) -> Changes:
    """A route that no longer requires a sensor."""
    return [((row["route"], _name("requires"), row["sensor"]), -1)]


def _semaphore_neighbor(railway: Railway, row: Row) -> Changes:
    """A route without its entry."""
    return [((row["route"], _name("entry"), row["semaphore"]), -1)]


def _switch_monitored(railway: Railway, row: Row) -> Changes:
    """A switch without sensors."""
    return [(fact, -1) for fact in railway.of(row["sw"], "monitoredBy")]


def _switch_set(railway: Railway, row: Row) -> Changes:
    """A switch in the position that follows its own."""
    positions = ["POSITION_FAILURE", "POSITION_STRAIGHT", "POSITION_DIVERGING"]
    changes: Changes = []
    for fact in railway.of(row["sw"], "currentPosition"):
        own = positions.index(str(fact[2]).removeprefix(_NAMES))
        changes += [(fact, -1), ((row["sw"], fact[1], _name(positions[(own + 1) % 3])), 1)]
    return changes


_FAULTS: dict[str, Callable[[Railway, Row], Changes]] = dict(
    zip(
        QUERIES,
        (_connected_segments, _pos_length, _route_sensor, _semaphore_neighbor, _switch_monitored, _switch_set),
        strict=True,
    )
)


def undone(changes: Changes) -> Changes:
    """What takes changes back, the last first."""
    return [(fact, -sign) for fact, sign in reversed(changes)]


def singly(changes: Changes) -> Iterator[Changes]:
    """One change after the other."""
    return ([change] for change in changes)
