"""Options of the sink: what is taken, what is refused, and what is said then."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulations.errors import BadParameter
from simulations.streams.sink.options import sink_options

PEERS = {"peers": "http://127.0.0.1:8470"}


def test_peers_alone_will_do_and_facts_are_what_is_written() -> None:
    options = sink_options(PEERS)

    assert (options.access.urls, options.mode, options.terms) == (("http://127.0.0.1:8470",), "facts", "symbols")


def test_several_peers_stand_between_commas_and_may_be_said_by_their_websockets() -> None:
    options = sink_options({"PEERS": "ws://a:1, wss://b:2,http://c:3"})

    assert options.access.urls == ("http://a:1", "https://b:2", "http://c:3")


def test_case_does_not_matter_and_what_spark_adds_is_passed_over() -> None:
    given = {"MODE": "Events", "samepeerseconds": "0.5", "maxWaitSeconds": "7", "checkpointLocation": "/x", "producer": "lake"}

    options = sink_options({**PEERS, **given})

    assert (options.mode, options.same_peer_s, options.max_wait_s, options.producer) == ("events", 0.5, 7.0, "lake")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "the option peers is missing; expected one such as "),
        ({"peers": "127.0.0.1:8470"}, "is no address of a peer; expected one like http://127.0.0.1:8470"),
        ({**PEERS, "mode": "rows"}, "the option mode is 'rows'; expected facts or events"),
        ({**PEERS, "term": "symbols"}, "unknown option term; expected some of peers, tokenFile, .*; did you mean terms?"),
        ({**PEERS, "maxWaitSeconds": "soon"}, "the option maxWaitSeconds is 'soon'; expected a number of seconds from 0 to 86400"),
        ({**PEERS, "samePeerSeconds": "nan"}, "the option samePeerSeconds is 'nan'; expected a number of seconds"),
        ({**PEERS, "producer": "x" * 81}, "expected at most 80 printable characters"),
        ({**PEERS, "path": "/tmp/x"}, "given a path, and tuples go to peers"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_expected(given: dict[str, str], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        sink_options(given)


def test_a_token_is_read_when_a_peer_is_connected_to(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t" * 20 + "\n")
    options = sink_options({**PEERS, "tokenFile": str(file)})

    assert options.access.client(options.access.urls[0]).url == ""
    file.unlink()
    with pytest.raises(BadParameter, match=r"the token in .*token cannot be read: no such file or directory; expected a file"):
        options.access.client(options.access.urls[0])


@pytest.mark.parametrize("option", ["tokenFile", "caFile", "certFile", "keyFile"])
def test_a_file_that_is_not_there_is_told_with_the_options(tmp_path: Path, option: str) -> None:
    with pytest.raises(
        BadParameter, match=rf"the option {option}: .*none\.pem cannot be read: no such file or directory; expected a"
    ):
        sink_options({**PEERS, option: str(tmp_path / "none.pem")})


def test_a_certificate_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    options = sink_options({"peers": "https://a:1", "caFile": str(tmp_path / "ca.pem")})

    with pytest.raises(BadParameter, match=r"ca\.pem"):
        options.access.client("https://a:1")
