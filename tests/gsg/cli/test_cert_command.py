"""``gsg cert``, and the commands that it says to try: a peer that speaks TLS, and one that is asked by it."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from commands import END_S, peer_command

from gsg.cli import main

pytestmark = pytest.mark.waits


def gsg(*arguments: object, **env: str) -> Result:
    """Run the command."""
    return CliRunner(env=env).invoke(main, [str(argument) for argument in arguments])


@contextmanager
def peer(*options: str) -> Iterator[str]:
    """A peer in a process of its own, and the port of its HTTP door."""
    process = subprocess.Popen(peer_command("--listen", ":0", "--http", ":0", *options), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = [line for line in iter(process.stdout.readline, "ready; Ctrl-C stops\n") if line]
        [door] = [line for line in said if line.startswith("http door at https://")]
        yield door.strip().rpartition(":")[2]
    finally:
        process.terminate()
        process.communicate(timeout=END_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that was given certificates."""
    made = tmp_path / "tls"
    assert gsg("cert", made).exit_code == 0
    assert gsg("cert", made, "--client", "alice").exit_code == 0
    return made


def test_it_makes_a_ca_and_a_certificate_with_keys_for_the_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tls"

    made = gsg("cert", folder, "--host", "gsg.example.org", "--json")
    told = json.loads(made.stdout)

    names = ["ca.pem", "ca-key.pem", "cert.pem", "key.pem"]
    assert list(told["files"]) == [str(folder / name) for name in names]
    assert "for gsg.example.org, localhost, 127.0.0.1, ::1; valid until" in told["files"][str(folder / "cert.pem")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert [stat.S_IMODE((folder / name).stat().st_mode) for name in ("ca-key.pem", "key.pem")] == [0o600, 0o600]
    assert told["commands"] == [
        f"gsg peer --http-cert {folder}/cert.pem --http-key {folder}/key.pem",
        f"gsg status --peer https://localhost:8470 --ca {folder}/ca.pem",
    ]


def test_nothing_is_overwritten_without_force_and_the_ca_never(folder: Path) -> None:
    held = {path.name: path.read_bytes() for path in folder.iterdir()}

    again = gsg("cert", folder)
    unchanged = {path.name: path.read_bytes() for path in folder.iterdir()}
    forced = gsg("cert", folder, "--force")

    assert (again.exit_code, forced.exit_code) == (2, 0)
    assert "cert.pem is there already" in again.stderr
    assert unchanged == held
    assert {name for name, before in held.items() if (folder / name).read_bytes() != before} == {"cert.pem", "key.pem"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--client", "../x"], "cannot be the name of a file there"),
        (["--client", "ca"], "cannot be the name of a file there"),
        (["--client", "x", "--host", "y"], "give one of them"),
        (["--host", "a b"], "is no name or address of a host"),
        (["--days", "0"], "is not in the range"),
    ],
    ids=["path", "taken", "both", "host", "days"],
)
def test_what_makes_no_certificate_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    refused = gsg("cert", tmp_path / "tls", *arguments)

    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())
    assert not list(tmp_path.glob("tls/c*t.pem"))


def test_half_a_ca_is_refused(folder: Path) -> None:
    (folder / "ca-key.pem").unlink()

    refused = gsg("cert", folder, "--force")

    assert refused.exit_code == 2
    assert "holds ca.pem alone" in refused.stderr


def test_a_peer_is_asked_as_the_command_says(folder: Path) -> None:
    _, ask = json.loads(gsg("cert", folder, "--force", "--json").stdout)["commands"]

    with peer("--http-cert", str(folder / "cert.pem"), "--http-key", str(folder / "key.pem")) as port:
        status = gsg(*shlex.split(ask.replace("8470", port))[1:], "--json")
        check = gsg("check", "--peer", f"https://127.0.0.1:{port}", GSG_CA=str(folder / "ca.pem"))
        distrusts = gsg("status", "--peer", f"https://localhost:{port}")
        ill = gsg("check", "--peer", f"https://localhost:{port}")

    assert status.exit_code == 0
    assert len(json.loads(status.stdout)["peers"]) == 1
    assert check.stdout.startswith("GSG OK")
    assert (distrusts.exit_code, ill.exit_code) == (1, 2)
    assert "is not trusted" in distrusts.stderr
    assert "with --ca FILE or GSG_CA" in distrusts.stderr
    assert "is not trusted" in ill.stdout


def test_a_peer_serves_only_clients_with_a_certificate_where_it_is_told_to(folder: Path) -> None:
    ca, mine = ("--ca", folder / "ca.pem"), ("--cert", folder / "alice.pem", "--key", folder / "alice-key.pem")
    files = {"cert": "cert.pem", "key": "key.pem", "client-ca": "ca.pem"}
    options = [text for name, file in files.items() for text in (f"--http-{name}", str(folder / file))]

    with peer(*options, "--pedro", "127.0.0.1:0", *(text.replace("http", "pedro") for text in options)) as port:
        served = gsg("check", "--peer", f"https://localhost:{port}", *ca, *mine)
        refused = gsg("check", "--peer", f"https://localhost:{port}", *ca)
        half = gsg("status", "--peer", f"https://localhost:{port}", *ca, *mine[:2])

    assert served.stdout.startswith("GSG OK")
    assert refused.stdout.startswith("GSG CRITICAL")
    assert half.exit_code == 2
    assert "without its key; expected both, or neither" in half.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http-cert", "cert.pem"], "--http-cert without --http-key"),
        (["--http-key", "key.pem"], "--http-key without --http-cert"),
        (["--http-client-ca", "ca.pem"], "--http-client-ca asks clients for certificates, which takes TLS"),
        (["--http-cert", "cert.pem", "--http-key", "alice-key.pem"], "is not that of the certificate"),
        (["--http", "none", "--http-cert", "cert.pem"], "--http-cert says something about the HTTP door, and there is none"),
        (["--pedro", ":0", "--pedro-cert", "cert.pem"], "--pedro-cert without --pedro-key"),
        (["--pedro-cert", "cert.pem"], "--pedro-cert says something about the door for Pedro clients, and there is none"),
    ],
)
def test_options_that_make_no_door_are_refused(
    folder: Path, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    refused = gsg("peer", "--listen", ":0", *(["--http", ":0"] if "--http" not in options else []), *options)

    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())


def test_check_says_that_it_knows_nothing_where_a_file_is_missing(tmp_path: Path) -> None:
    unknown = gsg("check", "--peer", "https://localhost:1", "--ca", tmp_path / "none.pem")

    assert unknown.exit_code == 3
    assert "none.pem is not there" in unknown.stdout
