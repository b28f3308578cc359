"""Spans of OpenTelemetry, one trace for each call that publishes:

    gsg publish      at the peer that publishes: from the call until its acknowledgement
      gsg match      at each rendezvous that it goes to, one for each message and slice of time that it takes there
        gsg deliver  at each subscriber's peer, one for each message: from its turn on until its rows are told

Each call keeps its own context, also where several go in one message. What is not sampled at its publisher is made nowhere, and
what is sampled elsewhere is a matter of the SDK's, as are queues and export: nothing here waits. A span has counts and a few short
words, and nothing of what tuples say. opentelemetry is imported only where it is there and set up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from ..feeds.feeds import Feeds
from ..publisher.publisher import Publisher
from ..rendezvous.rendezvous import Rendezvous
from ..wire.trace_context import CONTEXT_BYTES, NO_SPAN, Span, Spans

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.context import Context

TRACER: Final = "gsg"
TRACE_ID: Final = 16
SPAN_ID: Final = 8

ERROR_TYPE = "error.type"
KIND = "gsg.kind"
PEER = "gsg.peer"
ROWS = "gsg.rows"
TEMPLATES = "gsg.templates_matched"
FORWARDED = "gsg.forwarded"
COUNT = "messaging.batch.message_count"
OPERATION = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
SYSTEM = "messaging.system"
"""Attributes, by the names of the semantic conventions of messaging where those have one."""


class TracerProvider(Protocol):
    """What makes tracers: one of OpenTelemetry."""

    def get_tracer(self, name: str, /) -> Any:  # Any: a tracer of opentelemetry, which may not be there
        """The tracer of a package."""


def spans_of(own_id: bytes, provider: TracerProvider | None) -> OpenTelemetrySpans | None:
    """The spans of one peer by a provider of tracers; without one, by that which the program has set up for itself, if it has."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    if provider is None:
        provider = api.get_tracer_provider()
        if isinstance(provider, (api.ProxyTracerProvider, api.NoOpTracerProvider)):
            return None
    return OpenTelemetrySpans(own_id, provider)


class OpenTelemetrySpans(Spans):
    """The spans of one peer."""

    are_made = True

    def __init__(self, own_id: bytes, provider: TracerProvider) -> None:
        from opentelemetry import trace
        from opentelemetry.context import Context

        self._trace = trace
        self._peer = own_id.hex()
        self._no_context = Context()
        self._tracer = provider.get_tracer(TRACER)
        self._rows: Callable[[], int] = int

    def observe(self, rendezvous: Rendezvous, publisher: Publisher, feeds: Feeds, rows: Callable[[], int]) -> None:
        """Hear of what these do from now on; ``rows`` counts those that queries were told."""
        rendezvous.spans = publisher.spans = self
        feeds.make_spans(self)
        self._rows = rows

    def publish(self, kind: str, tuples: int) -> Span:
        """A client of this peer publishes: a child of the span in which it does so, if there is one."""
        return self._span("publish", "send", self._trace.SpanKind.PRODUCER, None, kind, {COUNT: tuples})

    def match(self, context: bytes, kind: str) -> Span:
        """Tuples have come to this peer as their rendezvous."""
        parent = self._parent(context)
        return NO_SPAN if parent is None else self._span("match", None, self._trace.SpanKind.INTERNAL, parent, kind, {})

    def deliver(self, context: bytes, kind: str, tuples: int) -> Span:
        """Tuples have come to this peer as a subscriber, and it is their turn."""
        parent = self._parent(context)
        if parent is None:
            return NO_SPAN
        return self._span("deliver", "process", self._trace.SpanKind.CONSUMER, parent, kind, {COUNT: tuples}, self._rows)

    @contextmanager
    def within(self, traceparent: str, tracestate: str) -> Iterator[None]:
        """What is published inside belongs to the trace of a request with these headers; those that are malformed are ignored."""
        from opentelemetry import context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        headers = {"traceparent": traceparent, "tracestate": tracestate}
        token = context.attach(TraceContextTextMapPropagator().extract(headers, context.Context()))
        try:
            yield
        finally:
            context.detach(token)

    def _span(
        self,
        name: str,
        operation_type: str | None,
        span_kind: trace.SpanKind,
        parent: Context | None,
        kind: str,
        counts: dict[str, int],
        rows: Callable[[], int] | None = None,
    ) -> Span:
        attributes = {SYSTEM: "gsg", OPERATION: name, KIND: kind, PEER: self._peer, **counts}
        if operation_type is not None:
            attributes[OPERATION_TYPE] = operation_type
        return _Recorded(self._tracer.start_span(f"gsg {name}", parent, span_kind, attributes), rows)

    def _parent(self, context: bytes) -> Context | None:
        """The span that another peer names; None where that is none."""
        trace = self._trace
        if len(context) < CONTEXT_BYTES:
            return None
        trace_id, span_id = context[:TRACE_ID], context[TRACE_ID : TRACE_ID + SPAN_ID]
        parent = trace.SpanContext(
            int.from_bytes(trace_id, "big"),
            int.from_bytes(span_id, "big"),
            is_remote=True,
            trace_flags=trace.TraceFlags(context[CONTEXT_BYTES - 1]),
        )
        if not parent.is_valid:
            return None
        found: Context = trace.set_span_in_context(trace.NonRecordingSpan(parent), self._no_context)
        return found


class _Recorded(Span):
    """A span of a tracer; ``rows`` counts those of which it has what came inside."""

    __slots__ = ("_before", "_rows", "_span")

    def __init__(self, span: Any, rows: Callable[[], int] | None) -> None:  # Any: a span of opentelemetry, which may not be there
        super().__init__(_context_of(span))
        self._span = span
        self._rows = rows
        self._before = 0

    def __enter__(self) -> Self:
        if self._rows is not None:
            self._before = self._rows()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        span = self._span
        if self._rows is not None:
            span.set_attribute(ROWS, self._rows() - self._before)
        if error is not None:
            from opentelemetry.trace import StatusCode

            span.set_attribute(ERROR_TYPE, type(error).__name__)
            # Without its text, which may repeat what a tuple says, as that of BadTerm does.
            span.set_status(StatusCode.ERROR)
        span.end()

    def count_matched(self, tuples: int, templates: int, forwarded: int) -> None:
        """So many tuples have met so many templates, and so many copies of them go to subscribers."""
        for name, count in ((COUNT, tuples), (TEMPLATES, templates), (FORWARDED, forwarded)):
            self._span.set_attribute(name, count)


def _context_of(span: Any) -> bytes | None:  # Any: as above
    """What travels with tuples: the context of a span, where it is sampled."""
    found = span.get_span_context()
    if not found.trace_flags.sampled or not found.is_valid:
        return None
    ids: bytes = found.trace_id.to_bytes(TRACE_ID, "big") + found.span_id.to_bytes(SPAN_ID, "big")
    return ids + bytes((found.trace_flags,))
