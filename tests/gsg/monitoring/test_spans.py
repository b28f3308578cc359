"""Spans of a publish, its rendezvous and its subscribers, over the simulated network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from peers import quiet, rendezvous, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.tuples.terms import Symbol

P = Symbol("p")
FACT = (Symbol("a"), P, 1)
PUBLISH, MATCH, DELIVER = "gsg publish", "gsg match", "gsg deliver"


class Made:
    """The spans that peers with :attr:`provider` have made."""

    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def clear(self) -> None:
        self._exporter.clear()

    def of(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def counted(self) -> Counter[str]:
        return Counter(span.name for span in self._exporter.get_finished_spans())

    def traces(self) -> set[int]:
        return {span.context.trace_id for span in self._exporter.get_finished_spans() if span.context is not None}


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made()
    yield made
    made.provider.shutdown()


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def said(span: ReadableSpan) -> dict[str, object]:
    """Its attributes."""
    return dict(span.attributes or {})


def holders(peers: list[Peer]) -> set[str]:
    """The peers that are rendezvous of FACT."""
    return {rendezvous(peers, 3, position, FACT[position]).contact.id.hex() for position in range(3)}


def test_one_fact_is_one_trace_from_its_publisher_by_its_holders_to_its_subscriber(made: Made) -> None:
    expected: list[object] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[3].subscribe("(?s, p, ?o)")
        made.clear()
        await peers[1].insert([FACT])
        await quiet()
        expected.extend([peers[1].contact.id.hex(), holders(peers), peers[3].contact.id.hex()])

    simulate(work, seed=11, tracer_provider=made.provider)

    publisher, there, subscriber = expected
    (publish,) = made.of(PUBLISH)
    (deliver,) = made.of(DELIVER)
    matches = {id_of(span): said(span) for span in made.of(MATCH)}
    assert len(made.traces()) == 1
    assert publish.parent is None
    assert {parent_of(span) for span in made.of(MATCH)} == {id_of(publish)}
    assert {match["gsg.peer"] for match in matches.values()} == there
    assert len(matches) == len(there)  # type: ignore[arg-type]  # a set
    feeding = matches[parent_of(deliver) or 0]
    assert (feeding["gsg.templates_matched"], feeding["gsg.forwarded"]) == (1, 1)
    assert said(publish) == {
        "messaging.system": "gsg",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.batch.message_count": 1,
        "gsg.kind": "fact",
        "gsg.peer": publisher,
    }
    assert said(deliver) == {
        "messaging.system": "gsg",
        "messaging.operation.name": "deliver",
        "messaging.operation.type": "process",
        "messaging.batch.message_count": 1,
        "gsg.kind": "fact",
        "gsg.peer": subscriber,
        "gsg.rows": 1,
    }
