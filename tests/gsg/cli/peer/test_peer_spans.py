"""`gsg peer` sends spans to a collector."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner
from commands import END_S, peer_command, triples
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gsg.cli import main

pytestmark = pytest.mark.waits


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.taken: list[tuple[str, bytes]] = []

    def spans(self) -> list[tuple[str, str]]:
        """The service and the name of each span."""
        return [
            (attribute.value.string_value, span.name)
            for _, body in self.taken
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Take(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.taken.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        yield made
        made.shutdown()
        serving.join()


def test_a_peer_sends_the_spans_of_what_it_published_at_the_latest_when_it_stops(collector: Collector) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
    }
    command = peer_command("--listen", ":0", "--http", ":0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "ready; Ctrl-C stops\n"))
        url = re.search(r"door at (\S+)", said)[1]  # type: ignore[index]  # it says so
        published = CliRunner(env={"GSG_PEER": url}).invoke(main, ["publish", "--format", "nt", "-"], input=triples("traced", 3))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=END_S)

    assert published.exit_code == 0
    assert "spans go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, or to localhost:4318\n" in said
    assert {path for path, _ in collector.taken} == {"/v1/traces"}
    assert sorted(collector.spans()) == [("gsg", "gsg match"), ("gsg", "gsg publish")]


def test_variables_that_ask_for_another_export_end_a_peer_that_was_told_to_send_spans() -> None:
    environment = {**os.environ, "OTEL_TRACES_EXPORTER": "console"}
    command = peer_command("--listen", ":0", "--http", "none", "--otel")

    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=END_S, check=False)

    assert ended.returncode == 2
    assert "gsg: OTEL_TRACES_EXPORTER is 'console'; expected otlp or none" in ended.stderr
