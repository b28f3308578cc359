"""Commands at a peer that asks for tokens, and how such a peer is started."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gsg.cli import main
from gsg.cli.processes import peers

pytestmark = pytest.mark.waits

READER, WRITER = "reader-0123456789", "writer-0123456789"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A peer in a process of its own."""
    file = tmp_path_factory.mktemp("access") / "tokens"
    file.touch(mode=0o600)
    file.write_text(f"{READER} read reader\n{WRITER} publish writer\n")
    with asyncio.Runner() as runner:
        one = peers(1, options=["--http-token-file", str(file)])
        [peer] = runner.run(one.__aenter__())
        yield peer.url
        runner.run(one.__aexit__(None, None, None))


def gsg(url: str, *arguments: str, stdin: str | None = None, **environment: str) -> Result:
    return CliRunner(env={"GSG_PEER": url, "GSG_TOKEN": None, **environment}).invoke(main, arguments, input=stdin)


def test_a_command_shows_the_token_of_its_variable_or_file(url: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(READER + "\n")

    published = gsg(url, "publish", "-", stdin="INSERT { (a, ^on, 1) }", GSG_TOKEN=WRITER)
    by_option = gsg(url, "status", "--token-file", str(tmp_path / "token"))
    by_variable = gsg(url, "status", GSG_TOKEN_FILE=str(tmp_path / "token"), GSG_TOKEN=WRITER)

    assert (published.exit_code, by_option.exit_code, by_variable.exit_code) == (0, 0, 0), published.output


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (None, "does not let this client in: the WebSocket takes a token, and none was shown; show one by the header"),
        ("nonsense-0123456789", "does not let this client in: that is no token of this peer, or not any more"),
        (WRITER, "this takes the role read, and writer has publish; ask the operator of this peer"),
        ("", "the token is empty, or has blanks"),
    ],
)
def test_a_command_without_the_right_token_says_what_is_missing(url: str, token: str | None, said: str) -> None:
    outcome = gsg(url, "status", **({} if token is None else {"GSG_TOKEN": token}))

    assert outcome.exit_code == 2
    assert said in " ".join(outcome.output.split())
    assert "nonsense" not in outcome.output


def test_a_check_takes_a_token_for_figures_alone(url: str) -> None:
    without, known = gsg(url, "check"), gsg(url, "check", "--expect", "1", GSG_TOKEN=READER)
    wrong, unasked = gsg(url, "check", GSG_TOKEN="nonsense-0123456789"), gsg(url, "check", "--expect", "1")

    assert (without.exit_code, without.output) == (0, "GSG OK - ready\n")
    assert (known.exit_code, known.output) == (0, "GSG OK - ready, 1 peer known | peers=1;1:;;0 stale_feeds=0;;;0\n")
    assert (wrong.exit_code, unasked.exit_code) == (3, 3)
    assert "that is no token of this peer" in wrong.output


def test_a_check_asks_one_peer() -> None:
    outcome = gsg("http://127.0.0.1:1,http://127.0.0.1:2", "check")

    assert outcome.exit_code == 3
    assert "names several peers; expected one" in outcome.output


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        (None, ["--http", "0.0.0.0:0"], "would let all who reach it do what the peer may"),
        ("secret read", [], "2 fields; expected"),
        (None, ["--http-origin", "example.org"], "is no origin of a page"),
        (None, ["--http", "none", "--http-open"], "--http-open says something about the HTTP door, and there is none"),
    ],
)
def test_a_peer_that_is_told_wrongly_who_may_come_does_not_start(
    tmp_path: Path, lines: str | None, options: list[str], said: str
) -> None:
    if lines is not None:
        (tmp_path / "tokens").write_text(lines)
        options = ["--http-token-file", str(tmp_path / "tokens")]

    outcome = CliRunner().invoke(main, ["peer", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *options])

    assert outcome.exit_code == 2
    assert said in " ".join(outcome.output.split())
