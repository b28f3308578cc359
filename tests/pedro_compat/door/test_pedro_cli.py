"""`gsg peer --pedro-...`: what is said on the command line is what the door does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pedro_wire import WireClient, close_all

import gsg
from gsg.cli import main
from gsg.cli.peer.pedro_options import PedroOptions
from gsg.cli.processes import peers
from pedro_compat.door.access import secret_line

SECRET = "sesame"


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\nwhat else the file holds\n")
    return file


async def test_every_option_reaches_the_door(secret_file: Path) -> None:
    options = ["--pedro-dialect", "1.14", "--pedro-size", "100", "--pedro-admin", "localhost", "--pedro-allow", "127.0.0.0/8"]
    options += ["--pedro-secret", str(secret_file), "--pedro-remember", "60"]
    async with peers(1, pedro=True, options=options) as [peer]:
        client = await WireClient.connect(int(peer.pedro.rpartition(":")[2]))

        answers = [
            await client.send(line)
            for line in (
                secret_line(SECRET),
                "[1,2]",
                f"f({'x' * 100})",
                "f(1)",
                "subscribe(f(_), true, 7, [recent])",
                "register(admin)",
                "deregister(admin)",
                "g",
            )
        ]

        assert answers == [1, 0, 0, 1, 1, 1, 0, 1]
        assert client.delivered() == ["7 f(1)", "0 g"]
        client.close()


async def test_without_options_the_door_is_the_paper_s_and_asks_for_nothing() -> None:
    async with gsg.Peer() as peer, PedroOptions().door(peer, "127.0.0.1", 0) as door:
        client = await WireClient.connect(door.port)

        answers = [await client.send(line) for line in ("[1,2]", "subscribe(f(_), true, 7, [stamp])", "register(admin)", "f(1)")]

        assert (answers, client.delivered()) == ([1, 0, 1, 1], [])


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--pedro-dialect", "1.13", "'1.13' is not one of 'paper', '1.14'"),
        ("--pedro-size", "10", "10 is not in the range 64<=x<=1048576"),
        ("--pedro-secret", "no/such/file", "there is no file no/such/file; write what Pedro clients are to say"),
        ("--pedro-remember", "-1", "-1.0 is not in the range"),
    ],
)
def test_option_that_makes_no_sense_is_refused_before_a_peer_starts(option: str, value: str, said: str) -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", ":0", "--http", "none", "--pedro", ":0", option, value])

    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pedro-allow", "10.1.2.3/8"], "Invalid value for --pedro-allow: '10.1.2.3/8' is no network"),
        (["--pedro-secret", "empty"], "Invalid value for --pedro-secret: a secret of 0 characters"),
    ],
)
def test_network_or_secret_that_is_none_is_refused_by_its_option(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()

    result = CliRunner().invoke(main, ["peer", "--listen", ":0", "--http", "none", "--pedro", ":0", *options])

    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize("none", [[], ["--pedro", "none"]])
@pytest.mark.parametrize(
    "options", [["--pedro-size", "1024"], ["--pedro-admin", "here"], ["--pedro-allow", "nonsense"], ["--pedro-extensions"]]
)
def test_option_for_a_door_that_there_is_not_to_be_is_refused(none: list[str], options: list[str]) -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", "nonsense:0", "--http", "none", *none, *options])

    assert result.exit_code == 2
    assert f"{options[0]} says something about the door for Pedro clients, and there is none" in " ".join(result.output.split())


def test_secret_that_is_no_text_is_refused_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe")

    with pytest.raises(click.BadParameter, match=r"cannot read .*secret: it is UTF-16; save it as UTF-8"):
        PedroOptions(secret=file).door(gsg.Peer(), "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("192.0.2.1", "expected an address or a name of this machine"),
        ("nosuch.invalid", "expected an address or a name of this machine"),
        ("127.0.0.1", "stop the program that holds it or choose another port with --pedro"),
    ],
)
async def test_door_that_cannot_listen_says_what_helps(host: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with gsg.Peer() as peer:
            with pytest.raises(gsg.DoorClosed, match=said):
                await PedroOptions().door(peer, host, taken.getsockname()[1]).__aenter__()
