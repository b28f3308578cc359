"""The options of ``gsg peer`` that say which network it belongs to, and what strangers are told."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import END_S, peer_command

from gsg import Network
from gsg.cli import main
from gsg.cli.peer.network_options import members_of, network_of, ordered_of

pytestmark = pytest.mark.waits


def test_a_stranger_is_turned_away_in_one_line_and_counted_inside(tmp_path: Path) -> None:
    secret, other = tmp_path / "secret", tmp_path / "other"
    secret.write_text("what only members know\n")
    secret.chmod(0o644)
    other.write_text("what somebody made up\n")
    other.chmod(0o600)
    inside = subprocess.Popen(
        peer_command("--listen", ":0", "--http", ":0", "--secret-file", str(secret)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert inside.stdout is not None
    said = "".join(iter(inside.stdout.readline, "ready; Ctrl-C stops\n"))
    listen, door = re.findall(r"(?:listens on|door at) (\S+)", said)
    join = ("--listen", ":0", "--http", "none", "--join", listen)

    strangers = [
        subprocess.run(peer_command(*join, *options), capture_output=True, text=True, timeout=END_S)
        for options in (["--secret-file", str(other)], [])
    ]
    status = CliRunner(env={"GSG_PEER": door}).invoke(main, ["status"])
    inside.send_signal(signal.SIGINT)
    _, warned = inside.communicate(timeout=END_S)

    assert "members: those who have the network's secret\n" in said
    assert f"gsg: warning: {secret} can be read by others (mode 0644); chmod 600 it\n" in warned
    sentence = "it belongs to another network, or to this one with another --secret-file or --ordered; check both"
    assert [each.stderr.splitlines() for each in strangers] == [[f"gsg: the peer at {listen} refused: {sentence}"]] * 2
    assert [each.returncode for each in strangers] == [1, 1]
    assert re.search(r"refused other network +[1-9]", status.stdout)


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--secret-file", "short", "a network secret of 5 bytes; expected 16 to 1024, such as the output of"),
        ("--allow-peers", "abc", "line 1: 'abc' is no peer id; expected 40 hexadecimal digits"),
    ],
)
def test_a_secret_or_a_list_that_is_none_is_refused_before_the_peer_starts(
    tmp_path: Path, option: str, content: str, said: str
) -> None:
    path = tmp_path / "file"
    path.write_text(content)

    result = CliRunner().invoke(main, ["peer", option, str(path)])

    assert result.exit_code == 2
    assert said in " ".join(result.output.split()).replace("│ ", "")
    assert option in result.output


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--secret-file", "there is no file no/such; make one with `(umask 077; openssl rand -hex 32 > no/such)`, and copy it"),
        ("--allow-peers", "there is no file no/such; write into it the ids of the peers that may come, one a line"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_what_to_do(option: str, said: str) -> None:
    result = CliRunner().invoke(main, ["peer", option, "no/such"])

    assert result.exit_code == 2
    assert said in " ".join(result.output.split()).replace("│ ", "")


@pytest.mark.parametrize("secret", ["short", "", " "], ids=["short", "empty", "blank"])
def test_a_secret_in_the_environment_is_checked_too(secret: str) -> None:
    # No peer starts, whatever becomes of the secret: nobody has this address (RFC 5737).
    result = CliRunner(env={"GSG_NETWORK_SECRET": secret}).invoke(main, ["peer", "--listen", "203.0.113.1:0"])

    assert result.exit_code == 2
    assert "GSG_NETWORK_SECRET" in result.output


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (Network(), "members: everybody who reaches this peer; --secret-file FILE makes the network private"),
        (Network(allowed=frozenset([b"a" * 20])), "members: those of the 1 peer allowed who come by, without a secret"),
        (
            Network(b"what only members know", frozenset([b"a" * 20])),
            "members: those of the 1 peer allowed who have the network's secret",
        ),
    ],
    ids=["open", "a list", "both"],
)
def test_a_peer_says_whom_it_talks_with(network: Network, said: str) -> None:
    assert members_of(network) == said


def test_files_of_options_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    secret, allowed = tmp_path / "secret", tmp_path / "allowed"
    secret.write_text("\ufeffwhat only members know\r\n")
    secret.chmod(0o600)
    allowed.write_text("\ufeff" + "ab" * 20 + "\r\n")

    network = network_of(secret, allowed, "on", 2)

    assert network == Network(b"what only members know", frozenset([bytes.fromhex("ab" * 20)]), True, 2)


def test_a_secret_that_is_no_utf8_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"what only members know\xff")

    with pytest.raises(click.BadParameter) as caught:
        network_of(secret, None, "on", 2)

    assert "byte FF is no UTF-8" in caught.value.message
    assert "members" not in caught.value.message


def test_what_is_ordered_is_said_at_the_start() -> None:
    network = network_of(None, None, "on", 2, ("_, _, 0..1e2/20", "_,-5..5/10"))

    assert ordered_of(network) == ["ordered: _,-5..5/10; _,_,0..100/20"]
    assert ordered_of(Network()) == []


def test_what_cannot_be_ordered_is_refused_by_its_option() -> None:
    with pytest.raises(click.BadParameter, match=r"such as _,_,0\.\.100/50") as refused:
        network_of(None, None, "on", 2, ("_,1..2",))

    assert refused.value.param_hint == "--ordered"
