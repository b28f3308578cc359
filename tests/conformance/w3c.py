"""The W3C tests that lie beside the project: where they are, their data, and their expected answers as rows."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

import pyoxigraph

from gsg.tuples.numbers import number_of
from gsg.tuples.terms import IRI, BlankNode, Literal, Term, Tuple, literal, n3

_ROOT = Path(__file__).resolve().parents[2]
SUITE = Path(os.environ.get("GSG_SHARED", _ROOT.parent / "shared")) / "conformance" / "sparql"
_RESULTS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

Rows = Counter[frozenset[tuple[str, Term]]]


@dataclass(frozen=True)
class Case:
    """One line of tests.jsonl."""

    id: str
    query: str
    data: tuple[str, ...]
    result: str

    def text(self) -> str:
        return (SUITE / self.query).read_text("utf-8")

    def base(self, file: str) -> str:
        return f"http://conformance.test/{file}"

    def facts(self) -> list[Tuple]:
        made: dict[Tuple, None] = {}
        for file in self.data:
            made.update(dict.fromkeys(_graph(SUITE / file, self.base(file))))
        return list(made)

    def expected_triples(self) -> set[Tuple]:
        return set(_graph(SUITE / self.result, self.base(self.result)))

    def expected(self) -> Rows | bool:
        """The rows, or for ASK the answer."""
        path = SUITE / self.result
        if path.suffix in (".srx", ".srj"):
            formats = {".srx": pyoxigraph.QueryResultsFormat.XML, ".srj": pyoxigraph.QueryResultsFormat.JSON}
            parsed = pyoxigraph.parse_query_results(path.read_bytes(), formats[path.suffix])
            if isinstance(parsed, pyoxigraph.QueryBoolean):
                return bool(parsed)
            names = [variable.value for variable in parsed.variables]
            return Counter(
                frozenset((name, term_of(value)) for name, value in zip(names, row, strict=True) if value is not None)
                for row in parsed
            )
        return _result_set(_graph(path, self.base(self.result)))


@cache
def cases() -> tuple[Case, ...]:
    if not (SUITE / "tests.jsonl").exists():
        return ()
    lines = (SUITE / "tests.jsonl").read_text("utf-8").splitlines()
    return tuple(Case(line["id"], line["query"], tuple(line["data"]), line["result"]) for line in map(json.loads, lines))


def _graph(path: Path, base: str) -> list[Tuple]:
    formats = {".ttl": pyoxigraph.RdfFormat.TURTLE, ".nt": pyoxigraph.RdfFormat.N_TRIPLES, ".rdf": pyoxigraph.RdfFormat.RDF_XML}
    parsed = pyoxigraph.parse(path.read_bytes(), formats[path.suffix], base_iri=base)
    return [(term_of(triple.subject), term_of(triple.predicate), term_of(triple.object)) for triple in parsed]


def term_of(value: object) -> Term:
    """The term for one of pyoxigraph's."""
    if isinstance(value, pyoxigraph.NamedNode):
        return IRI(value.value)
    if isinstance(value, pyoxigraph.BlankNode):
        return BlankNode(value.value)
    assert isinstance(value, pyoxigraph.Literal)
    return literal(value.value, value.datatype.value, value.language or "")


def _result_set(graph: list[Tuple]) -> Rows | bool:
    def objects(subject: Term, name: str) -> list[Term]:
        return [object_ for s, p, object_ in graph if s == subject and p == IRI(_RESULTS + name)]

    (root,) = [s for s, p, o in graph if p == IRI(_TYPE) and o == IRI(_RESULTS + "ResultSet")]
    truth = objects(root, "boolean")
    if truth:
        return str(truth[0]) in ("true", "1")
    rows: Rows = Counter()
    for solution in objects(root, "solution"):
        bindings = objects(solution, "binding")
        rows[frozenset((str(objects(b, "variable")[0]), objects(b, "value")[0]) for b in bindings)] += 1
    return rows


def same(found: Rows, expected: Rows) -> bool:
    """Whether two bags of rows are equal but for the labels of blank nodes."""
    plain = [Counter({row: count for row, count in rows.items() if not _blank(row)}) for rows in (found, expected)]
    return plain[0] == plain[1] and _canonical(found) == _canonical(expected)


def _blank(row: frozenset[tuple[str, Term]]) -> bool:
    return any(type(value) is BlankNode for _, value in row)


def _canonical(rows: Rows) -> set[str]:
    dataset = pyoxigraph.Dataset()
    for number, (row, count) in enumerate(rows.items()):
        if _blank(row):
            node = pyoxigraph.BlankNode(f"row{number}")
            dataset.add(pyoxigraph.Quad(node, pyoxigraph.NamedNode("urn:count"), pyoxigraph.Literal(str(count))))
            for name, value in row:
                object_ = pyoxigraph.BlankNode("node" + value.label) if type(value) is BlankNode else pyoxigraph.Literal(n3(value))
                dataset.add(pyoxigraph.Quad(node, pyoxigraph.NamedNode("urn:name:" + name), object_))
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))


def graph(triples: set[Tuple]) -> Rows:
    """A graph as the rows of a CONSTRUCT."""
    return Counter(frozenset(zip(("subject", "predicate", "object"), triple, strict=True)) for triple in triples)


def by_value(rows: Rows) -> Rows:
    """The rows with every number in one form."""
    made: Rows = Counter()
    for row, count in rows.items():
        made[frozenset((name, _valued(value)) for name, value in row)] += count
    return made


def _valued(value: Term) -> Term:
    number = number_of(value)
    if number is None or number[1] != number[1] or abs(number[1]) == float("inf"):
        return value
    datatype = value.datatype if type(value) is Literal else "integer"
    return Literal(str(Decimal(number[1]).normalize() + 0), datatype)
