"""What sets up the export of spans, what is refused, and a collector that does not answer."""

from __future__ import annotations

import asyncio
import builtins
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from gsg.errors import LocalError, Unsupported
from gsg.monitoring.span_export import done_within, exported_spans

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without variables of OpenTelemetry but those that a test sets."""
    for name in (ENDPOINT, "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra is not installed."""
    found = builtins.__import__

    def absent(name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] = (), level: int = 0) -> ModuleType:
        if name.startswith("opentelemetry.exporter"):
            raise ModuleNotFoundError("No module named 'opentelemetry'")
        return found(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", absent)


async def begun(asked: bool | None, environment: Mapping[str, str]) -> bool:
    """Whether spans are exported."""
    async with exported_spans(asked, environment) as provider:
        return provider is not None


@pytest.mark.parametrize(
    ("asked", "environment", "expected"),
    [
        (None, {}, False),
        (None, {ENDPOINT: ""}, False),
        (None, {ENDPOINT: "http://127.0.0.1:9"}, True),
        (False, {ENDPOINT: "http://127.0.0.1:9"}, False),
        (True, {}, True),
        (True, {"OTEL_TRACES_EXPORTER": "none"}, False),
    ],
    ids=["nothing said", "empty", "an endpoint", "not wanted", "asked for", "none"],
)
async def test_spans_are_exported_where_asked_for_or_there_is_an_endpoint(
    asked: bool | None, environment: dict[str, str], expected: bool
) -> None:
    assert await begun(asked, environment) is expected


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"OTEL_TRACES_EXPORTER": "console"},
            "OTEL_TRACES_EXPORTER is 'console'; expected otlp or none, or a program that embeds a peer (docs/operating.md)",
        ),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'; expected http/protobuf, which collectors take at port 4318",
        ),
    ],
    ids=["exporter", "protocol"],
)
async def test_another_export_is_refused_where_asked_for_and_logged_elsewhere(
    environment: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(LocalError) as refused:
        await begun(True, environment)

    assert str(refused.value) == said
    assert not await begun(None, {ENDPOINT: "http://127.0.0.1:9", **environment})
    assert said in caplog.text


@pytest.mark.usefixtures("without_opentelemetry")
async def test_what_is_not_installed_is_named_with_the_command_that_does_so(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Unsupported, match=r"^spans need opentelemetry .*; install the extra: pip install 'gsg-router\[otel\]', or"):
        await begun(True, {})

    assert not await begun(None, {ENDPOINT: "http://127.0.0.1:9"})
    assert "pip install 'gsg-router[otel]'" in caplog.text


@pytest.mark.parametrize(("named", "expected"), [("", "gsg"), ("films", "films")], ids=["by default", "as the environment says"])
async def test_the_service_has_a_name(named: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", named)

    async with exported_spans(True, {}) as provider:
        assert isinstance(provider, TracerProvider)
        assert provider.resource.attributes["service.name"] == expected


@pytest.fixture
def hanging_collector() -> Iterator[str]:
    """The URL of one that answers nobody until the test has ended.

    It answers then: a thread of the SDK that was left to try again would draw its pauses from `random` under other tests.
    """
    ended, before = threading.Event(), set(threading.enumerate())

    class Hang(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            ended.wait()
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hang) as collector:
        serving = threading.Thread(target=collector.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{collector.server_port}"
        ended.set()
        for left in set(threading.enumerate()) - before - {serving}:
            left.join()
        collector.shutdown()
        serving.join()


async def test_a_collector_that_hangs_does_not_hold_a_peer_that_stops(
    hanging_collector: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ENDPOINT, hanging_collector)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")

    async with asyncio.timeout(60), exported_spans(True, flush_s=0.2) as provider:
        assert provider is not None
        provider.get_tracer("test").start_span("hangs").end()

    assert "the collector of spans has not answered within 0.2 s: the last spans are lost" in caplog.text


async def test_work_that_fails_is_logged_and_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("nothing there")

    assert await done_within(fail, 60)

    assert [record.levelno for record in caplog.records if "the last spans were not sent" in record.message] == [logging.ERROR]


def test_work_that_ends_after_its_loop_troubles_nobody() -> None:
    release = threading.Event()
    before = set(threading.enumerate())

    assert not asyncio.run(done_within(release.wait, 0.0))

    (left,) = set(threading.enumerate()) - before
    release.set()
    left.join()
    assert not left.is_alive()
