"""The spans that peers have made, and what a test wants to know of one."""

from __future__ import annotations

from collections import Counter

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Sampler

PUBLISH, MATCH, DELIVER = "gsg publish", "gsg match", "gsg deliver"


class Made:
    """The spans that peers with :attr:`provider` have made."""

    def __init__(self, sampler: Sampler = DEFAULT_ON) -> None:
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def clear(self) -> None:
        self._exporter.clear()

    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def of(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all() if span.name == name]

    def counted(self) -> Counter[str]:
        return Counter(span.name for span in self.all())

    def traces(self) -> set[int]:
        return {trace_of(span) for span in self.all()}


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def said(span: ReadableSpan) -> dict[str, object]:
    """Its attributes."""
    return dict(span.attributes or {})
