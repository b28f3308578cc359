"""The trace that a tuple belongs to, as it goes from peer to peer, and the seam at which spans are made of what happens to it.

What travels is the traceparent of W3C Trace Context in bytes: the ids of the trace and of the span that sends, and the flags. It is
there only for calls that are sampled, and is a byte where they are not. Rooms know :class:`Spans` alone, which makes none and hands
on what came; where a tracer is set up, they are given those of gsg/monitoring/spans.py.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Annotated, Final, Self, TypeAlias

import msgspec

CONTEXT_BYTES: Final = 25
"""The id of the trace has 16 bytes, that of the span 8, and the flags one; what later versions put behind them is not read."""
TraceContext: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=64)]
"""What is no context of a span is ignored; what is longer ends the link, as anything does that a message may not have."""

FACT, RETRACT, EVENT = "fact", "retract", "event"
"""The kinds of what is published."""


def kind_of(sign: int) -> str:
    """What a change of facts is."""
    return FACT if sign > 0 else RETRACT


class Span:
    """What happens to some tuples here, from entering it to leaving it. Of this one nobody hears."""

    __slots__ = ("context",)

    def __init__(self, context: bytes | None = None) -> None:
        self.context = context
        """With what the tuples go on; None for none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """It is over; an error is its own."""

    def count_matched(self, tuples: int, templates: int, forwarded: int) -> None:
        """So many tuples have met so many templates, and so many copies of them go to subscribers."""


class Spans:
    """Those of a peer for which no tracer is set up: none."""

    are_made = False

    def publish(self, kind: str, tuples: int) -> Span:
        """A client of this peer publishes."""
        return NO_SPAN

    def match(self, context: bytes, kind: str) -> Span:
        """Tuples have come to this peer as their rendezvous."""
        return Span(context)

    def deliver(self, context: bytes, kind: str, tuples: int) -> Span:
        """Tuples have come to this peer as a subscriber, and it is their turn."""
        return NO_SPAN

    def within(self, traceparent: str, tracestate: str) -> AbstractContextManager[None]:
        """What is published inside belongs to the trace of a request with these headers."""
        return nullcontext()


NO_SPAN: Final = Span()
NO_SPANS: Final = Spans()
