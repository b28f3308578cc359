"""``gsg check``: verdicts and exit codes that monitors know."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner, Result
from commands import Gsg

from gsg.cli import main
from gsg.cli.check import Verdict, judge

pytestmark = pytest.mark.waits


def answer(peers: int = 3, **failing: str) -> dict[str, object]:
    """What a peer with so many others says, and checks that fail, with their grades."""
    checks = [{"name": name, "ok": False, "detail": f"{name} is ill", "grade": grade} for name, grade in failing.items()]
    return {"ok": not failing, "checks": [{"name": "work", "ok": True}, *checks], "peers": peers, "stale_feeds": 0}


@pytest.mark.parametrize(
    ("said", "expect", "line"),
    [
        (answer(), 0, "GSG OK - ready, 3 peers known | peers=3;;;0 stale_feeds=0;;;0"),
        (answer(1), 0, "GSG OK - ready, 1 peer known | peers=1;;;0 stale_feeds=0;;;0"),
        (answer(), 3, "GSG OK - ready, 3 peers known | peers=3;3:;;0 stale_feeds=0;;;0"),
        (answer(), 4, "GSG WARNING - 3 of 4 peers are known | peers=3;4:;;0 stale_feeds=0;;;0"),
        (answer(feeds="warning"), 0, "GSG WARNING - feeds: feeds is ill | peers=3;;;0 stale_feeds=0;;;0"),
        (
            answer(feeds="warning", disk="critical"),
            5,
            "GSG CRITICAL - feeds: feeds is ill; disk: disk is ill; 3 of 5 peers are known | peers=3;5:;;0 stale_feeds=0;;;0",
        ),
        ({"checks": [{"name": "disk", "ok": False}]}, 0, "GSG CRITICAL - disk: failed"),
        ({"checks": [{"name": "disk", "ok": True}]}, 0, "GSG OK - ready"),
        (
            {"checks": [{"name": "disk", "ok": True}]},
            2,
            "GSG UNKNOWN - the peer tells how many it knows to those alone that may read; give a token",
        ),
        ({"checks": 7}, 0, "GSG UNKNOWN - what answers there is no peer, or one of another version"),
        (None, 0, "GSG UNKNOWN - what answers there is no peer, or one of another version"),
        (
            {"checks": [{"name": "a|b", "ok": False, "detail": "one\ntwo\x1b"}]},
            0,
            "GSG CRITICAL - a/b: one two\\u001B",
        ),
    ],
)
def test_the_line_is_that_of_a_plugin(said: object, expect: int, line: str) -> None:
    assert judge(said, expect).line(expect) == line


def test_a_peer_that_is_well_ends_it_with_0(gsg: Gsg) -> None:
    result: Result = gsg("check")

    assert (result.exit_code, result.stdout) == (0, "GSG OK - ready, 1 peer known | peers=1;;;0 stale_feeds=0;;;0\n")


def test_fewer_peers_than_expected_are_a_warning_in_json_too(gsg: Gsg) -> None:
    result: Result = gsg("check", "--expect", 3, "--json")

    told = json.loads(result.stdout)
    assert (result.exit_code, told["verdict"], told["why"]) == (1, "WARNING", "1 of 3 peers are known")
    assert told["answer"]["ok"] is True


def check(url: str, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["check", "--peer", url, *arguments])
    return result.exit_code, result.stdout


def test_a_peer_that_is_not_there_is_critical(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"

    assert check(url) == (2, f"GSG CRITICAL - no peer answers at {url}: connection refused\n")


def test_a_peer_that_hangs_is_critical_when_the_time_is_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        assert check(url, "--timeout", "0.2") == (
            2,
            f"GSG CRITICAL - no answer from {url} within 0.2 s: the peer hangs, or is cut off\n",
        )


class Says(BaseHTTPRequestHandler):
    """Answers what its path says: a status and a text."""

    def do_GET(self) -> None:  # as it is called
        status, body = self.path.split("/")[1:3]
        self.send_response(int(status))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """It is a test."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Says) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("503/full", 2, "GSG CRITICAL - {url} answers 503: full\n"),
        ("403/no", 3, "GSG UNKNOWN - {url} answers 403: no\n"),
        ("200/7", 3, "GSG UNKNOWN - what answers there is no peer, or one of another version\n"),
        ("302/hello", 3, "GSG UNKNOWN - {url} answers 302: hello\n"),
    ],
)
def test_what_is_no_answer_of_a_peer_is_said(server: str, path: str, status: int, said: str) -> None:
    url = f"{server}/{path}"

    assert check(url) == (status, said.format(url=url))


@pytest.mark.parametrize("url", ["localhost:8470", "ftp://localhost", "http://[::1", "http://localhost:port"])
def test_an_address_that_is_none_is_unknown(url: str) -> None:
    status, said = check(url)

    assert status == 3
    assert said.startswith(f"GSG UNKNOWN - {url!r} is no address of a peer")


@pytest.mark.parametrize("arguments", [["--expect", "none"], ["--expect", "0"], ["--what"], ["--timeout", "0"]], ids=" ".join)
def test_a_wrong_option_says_nothing_of_the_peer(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, ["check", *arguments]).exit_code == Verdict.UNKNOWN
