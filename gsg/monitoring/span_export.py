"""The export of a peer's spans by OTLP over HTTP, as the standard variables of OpenTelemetry say (``OTEL_*``).

Spans wait in the queue of the SDK, whose thread sends them: a collector that is slow, or gone, costs spans and nobody's time. What
is left when the peer stops is sent then, for FLUSH_S at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from ..errors import LocalError, Unsupported
from .spans import TracerProvider

log = logging.getLogger(__name__)

FLUSH_S: Final = 2.0
"""How long a peer that stops waits for the collector; what has not been sent by then is lost. The thread ends with the process."""
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP: Final = "http/protobuf"
EXPORTER: Final = "OTEL_TRACES_EXPORTER"
SERVICE: Final = "gsg"
"""The name of the service where the environment has none."""


@contextlib.asynccontextmanager
async def exported_spans(
    asked: bool | None, environment: Mapping[str, str] = os.environ, flush_s: float = FLUSH_S
) -> AsyncIterator[TracerProvider | None]:
    """What makes the spans of a peer inside, and sends them; None where they are not to be.

    ``asked``: whether they are; None where the environment decides, by an endpoint, and nothing is refused.
    Raises Unsupported where they are asked for and cannot be made, LocalError for variables that ask for another export.
    """
    provider: Any = None  # Any: of opentelemetry, which may not be there
    if asked or (asked is None and any(map(environment.get, ENDPOINTS))):
        try:
            provider = _provider(environment)
        except LocalError as error:
            if asked:
                raise
            log.warning("spans are not exported, though the environment has an endpoint for them: %s", error)
    try:
        yield provider
    finally:
        if provider is not None and not await done_within(provider.shutdown, flush_s):
            log.warning("the collector of spans has not answered within %g s: the last spans are lost", flush_s)


def _provider(environment: Mapping[str, str]) -> Any:  # Any: as above
    if (exporter := environment.get(EXPORTER) or "otlp") == "none":
        return None
    if exporter != "otlp":
        raise LocalError(
            f"{EXPORTER} is {exporter!r:.80}; expected otlp or none, or a program that embeds a peer (docs/operating.md)"
        )
    for name in PROTOCOLS:
        if (protocol := environment.get(name) or HTTP) != HTTP:
            raise LocalError(f"{name} is {protocol!r:.80}; expected {HTTP}, which collectors take at port 4318")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        how = "pip install 'gsg-router[otel]', or in a clone: make .venv/.installed"
        raise Unsupported(f"spans need opentelemetry ({error}); install the extra: {how}") from None
    resource = Resource.create()
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": SERVICE}))
    # Whoever stops the peer stops it, too: what waits at the end of the process would wait without a limit.
    provider = SdkTracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


async def done_within(work: Callable[[], object], limit_s: float) -> bool:
    """Do something in a thread that nobody waits for any longer than this; whether it was done."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run() -> None:
        try:
            work()
        except Exception:
            log.exception("the last spans were not sent")
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="gsg-last-spans", daemon=True).start()
    try:
        async with asyncio.timeout(limit_s):
            await done.wait()
    except TimeoutError:
        return False
    return True
