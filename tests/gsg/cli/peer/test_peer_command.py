"""The command gsg where a peer cannot be reached or started, and what `gsg peer` says of what it keeps and writes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import END_S, peer_command, triples
from pyarrow import parquet

from gsg.cli import main

pytestmark = pytest.mark.waits


@pytest.mark.parametrize(
    "arguments", [["subscribe", "(?x)"], ["status"], ["publish", "-", "--format", "nt"]], ids=lambda words: words[0]
)
def test_a_peer_that_cannot_be_reached_is_named_with_what_to_do(free_port: int, arguments: list[str]) -> None:
    url = f"http://127.0.0.1:{free_port}"

    result = CliRunner().invoke(main, [*arguments, "--peer", url], input="")

    assert result.exit_code == 1
    assert result.stderr.startswith(f"gsg: no peer answers at {url}: ")
    assert result.stderr.endswith("; start one with `gsg peer`, or name another with --peer URL or GSG_PEER\n")


def test_an_address_that_is_none_is_refused() -> None:
    result = CliRunner().invoke(main, ["status", "--peer", "localhost:8470"])

    assert (result.exit_code, result.stderr) == (
        2,
        "gsg: 'localhost:8470' is no address of a peer; expected one like http://localhost:8470\n",
    )


def test_a_name_of_a_door_that_there_is_not_is_refused() -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", ":0", "--http", "none", "--http-host", "gsg.example.org"])

    assert result.exit_code == 2
    assert "--http-host says something about the HTTP door, and there is none; add --http HOST:PORT" in result.stderr


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_a_supervisor_may_close_standard_streams(closed: tuple[int, ...], tmp_path: Path) -> None:
    redirect = " ".join(f"{number}>&-" for number in closed)
    peer = shlex.join(peer_command("--listen", ":0", "--http", "none", "--data", str(tmp_path / "data")))
    process = subprocess.Popen(["bash", "-c", f"exec {peer} {redirect}"], stdin=subprocess.DEVNULL, stdout=-3, stderr=-3)
    try:
        # Its key is written when it is about to enter.
        while process.poll() is None and not (tmp_path / "data" / "identity").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        process.send_signal(signal.SIGINT)

        assert process.wait(END_S) in (0, 130)
    finally:
        process.kill()


def host_and_port(url: str) -> str:
    return url.removeprefix("http://")


def test_ports_in_use_and_peers_that_do_not_answer_end_a_peer_with_a_message(running_peer: dict[str, str], free_port: int) -> None:
    listen, http = running_peer["listen"], host_and_port(running_peer["url"])
    cases = {
        "listen": (["--listen", listen, "--http", "none"], 2, listen.rpartition(":")[2]),
        "http": (["--listen", ":0", "--http", http], 2, f"the HTTP door cannot listen on {http}: address already in use"),
        "join": (["--listen", ":0", "--http", "none", "--join", f"127.0.0.1:{free_port}"], 1, f"127.0.0.1:{free_port}"),
    }

    started = {
        name: subprocess.Popen(peer_command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name, (arguments, _, _) in cases.items()
    }
    ended = {name: process.communicate(timeout=END_S) for name, process in started.items()}
    said = {name: errors for name, (_, errors) in ended.items()}

    assert {name: process.returncode for name, process in started.items()} == {
        name: status for name, (_, status, _) in cases.items()
    }
    assert {name: output for name, (output, _) in ended.items()} == dict.fromkeys(cases, "")
    assert [name for name, (_, _, problem) in cases.items() if problem not in said[name]] == []
    assert [name for name, text in said.items() if not text.startswith("gsg: ") or "Traceback" in text] == []


def test_a_peer_ends_with_whoever_started_it_where_it_is_asked_to() -> None:
    peer = peer_command("--with-parent", "--listen", ":0", "--http", "none")
    starter = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *peer], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    said = "".join(iter(starter.stdout.readline, "ready; Ctrl-C stops\n"))

    starter.kill()

    # What it says ends when the peer has ended.
    assert starter.communicate(timeout=END_S)[0] in ("", "stopped\n")
    assert "listens on" in said


def test_a_peer_writes_what_came_to_it_and_finishes_the_trace_when_it_stops(tmp_path: Path) -> None:
    with subprocess.Popen(
        peer_command("--listen", ":0", "--http", ":0", "--trace", str(tmp_path / "trace"), "--anchor", "predicate"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "ready; Ctrl-C stops\n"))
        url = re.search(r"door at (\S+)", said)[1]  # type: ignore[index]  # it says so
        published = CliRunner(env={"GSG_PEER": url}).invoke(main, ["publish", "--format", "nt", "-"], input=triples("traced", 3))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=END_S)

    (part,) = (tmp_path / "trace").iterdir()
    rows = parquet.read_table(part).to_pylist()
    assert f"trace in {tmp_path / 'trace'}\n" in said
    assert "nothing is kept on disk: facts last as long as a peer that holds them; --data DIR keeps them\n" in said
    assert published.exit_code == 0
    assert [row["what"] for row in rows] == ["start", *["insert"] * 6, "stop"]
    assert [row["role"] for row in rows[1:-1]] == ["publisher"] * 3 + ["rendezvous"] * 3
    assert rows[1]["terms"] == '[[2,"x:0"],[2,"x:traced"],[2,"x:o"]]'


def test_a_peer_says_what_it_keeps_and_resumes_it_after_a_kill(tmp_path: Path) -> None:
    said = []
    for _ in range(2):
        with subprocess.Popen(
            peer_command("--listen", ":0", "--http", ":0", "--data", str(tmp_path / "data")), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said.append("".join(iter(process.stdout.readline, "ready; Ctrl-C stops\n")))
            url = re.search(r"door at (\S+)", said[-1])[1]  # type: ignore[index]  # it says so
            published = CliRunner(env={"GSG_PEER": url}).invoke(main, ["publish", "--format", "nt", "-"], input=triples("kept", 3))
            process.kill()
        assert published.exit_code == 0

    assert f"data in {tmp_path / 'data'}: 0 facts resumed\n" in said[0]
    assert f"data in {tmp_path / 'data'}: 3 facts resumed\n" in said[1]
    assert said[0].splitlines()[0] == said[1].splitlines()[0]


def test_data_that_cannot_be_kept_ends_a_peer_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "peer.sqlite3").write_text("something else, which is long enough to be a header of SQLite" * 10)

    ended = subprocess.run(
        peer_command("--listen", ":0", "--http", "none", "--data", str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr == (
        f"gsg: {tmp_path}/peer.sqlite3 is damaged: file is not a database; "
        "move the directory away to start the peer empty, and others give it what they hold\n"
    )


@pytest.mark.parametrize("option", ["--data", "--trace"])
def test_a_directory_without_a_name_is_refused(option: str) -> None:
    result = CliRunner().invoke(main, ["peer", option, "", "--listen", "nowhere"])

    assert result.exit_code == 2
    assert "the name is empty; expected a directory" in result.output


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminals that close")
def test_a_peer_whose_terminal_is_closed_stops_in_order() -> None:
    # Where the tests themselves are to outlive their terminal, the peer would be too.
    ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(peer_command("--listen", ":0", "--http", "none"), stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGHUP, ignored)
    with process:
        assert process.stdout is not None
        for _ in iter(process.stdout.readline, "ready; Ctrl-C stops\n"):
            pass
        process.send_signal(signal.SIGHUP)
        rest, _ = process.communicate(timeout=END_S)

    assert rest.splitlines() == ["stopping: handing over what this peer holds; Ctrl-C again skips that", "stopped"]
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_nobody_answers_ends_a_peer(number: signal.Signals, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        join = f"127.0.0.1:{silent.getsockname()[1]}"
        arguments = peer_command("--listen", ":0", "--http", "none", "--join", join, "--data", str(tmp_path / "data"))
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            silent.recv(2_000)  # it asks to be let in
            process.send_signal(number)
            said = process.communicate(timeout=END_S)

    assert (process.returncode, said) == (128 + number, (b"", b""))


def test_a_log_that_nobody_reads_holds_no_peer_up() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    os.set_blocking(writing, True)
    with subprocess.Popen(
        peer_command("--listen", ":0", "--http", ":0"), stdout=subprocess.PIPE, stderr=writing, text=True
    ) as process:
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "ready; Ctrl-C stops\n"))
        url = re.search(r"door at (\S+)", said)[1]  # type: ignore[index]  # it says so
        host, _, port = host_and_port(url).rpartition(":")
        for _ in range(30):
            with socket.create_connection((host, int(port)), END_S) as stranger:
                stranger.sendall(b"garbage\r\n\r\n")
                assert stranger.recv(100).startswith(b"HTTP/1.1 400")
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=END_S)
    os.close(reading)
    os.close(writing)

    assert rest.endswith("stopped\n")
    assert process.returncode == 0


def test_an_address_of_another_machine_is_no_matter_of_programs() -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", "203.0.113.1:8471"])

    assert result.exit_code == 2
    assert "expected an address of this machine" in result.output
    assert "stop the program" not in result.output


def test_a_peer_that_has_run_in_this_process_leaves_other_loops_as_they_are() -> None:
    CliRunner().invoke(main, ["peer", "--listen", "203.0.113.1:8471"])

    loop = asyncio.new_event_loop()
    loop.close()

    assert isinstance(loop, asyncio.SelectorEventLoop)


def test_a_trace_that_cannot_be_written_ends_a_peer_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = subprocess.run(
        peer_command("--listen", ":0", "--http", "none", "--trace", str(tmp_path / "file" / "below")),
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr == f"gsg: cannot trace to {tmp_path}/file/below: not a directory; expected a folder, or a place for one\n"


@pytest.mark.parametrize(
    ("option", "address", "example"),
    [
        ("--listen", "127.0.0.1", "127.0.0.1:8471"),
        ("--http", "x:y", "127.0.0.1:8470"),
        ("--join", ":70000", "127.0.0.1:8471"),
        ("--pedro", "::", "127.0.0.1:4550"),
    ],
    ids=["listen", "http", "join", "pedro"],
)
def test_an_address_to_listen_at_must_be_one(option: str, address: str, example: str) -> None:
    result = CliRunner().invoke(main, ["peer", option, address])

    assert result.exit_code == 2
    problem = f"'{address}' is no address; expected HOST:PORT such as {example}, the port at most 65535"
    assert f"Invalid value for {option}: {problem}" in result.stderr
