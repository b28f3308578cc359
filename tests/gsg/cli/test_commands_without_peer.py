"""What commands do whose peer is lost: `gsg subscribe` goes on at the next one, and others try the next one as they begin."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from typing import IO

import pytest
from click.testing import CliRunner
from commands import END_S
from test_connecting import running

from gsg.cli import main
from gsg.cli.processes import PeerProcess, peers

pytestmark = pytest.mark.waits

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
async def two_peers() -> AsyncIterator[list[PeerProcess]]:
    async with peers(2) as made:
        yield made


async def insert(script: str, peer: str) -> None:
    runner = CliRunner(env={"GSG_PEER": peer})
    result = await asyncio.to_thread(lambda: runner.invoke(main, ["publish", "--format", "gsg", "-"], input=script))
    assert result.exit_code == 0, result.output


async def lose(one: PeerProcess) -> None:
    one.process.kill()
    await one.process.wait()


def until(stream: IO[str], pattern: str) -> str:
    """Lines up to the one that has this."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if re.search(pattern, line):
            break
    return "".join(lines)


async def test_subscribe_goes_on_at_a_peer_that_it_was_told_of_and_says_so(two_peers: list[PeerProcess]) -> None:
    first, second = two_peers
    process = running("subscribe", "(?x, is, ?y)", "--peer", f"{first.url},{NOBODY}")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        await insert("INSERT { (lamp, is, on) }", second.url)
        assert await asyncio.to_thread(process.stdout.readline) == "+ ?x=lamp ?y=on\n"

        await lose(first)
        said = await asyncio.to_thread(until, process.stderr, "rows follow as differences")
        await insert("DELETE { (lamp, is, on) }", second.url)

        assert await asyncio.to_thread(process.stdout.readline) == "- ?x=lamp ?y=on\n"
        assert f"the peer at {first.url} is lost" in said
        assert "looking for a peer, until Ctrl-C" in said
        assert f"connected to {second.url}; rows follow" in said
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=END_S)
    assert process.returncode == 130


async def test_subscribe_ends_with_its_peer_where_it_is_told_to(two_peers: list[PeerProcess]) -> None:
    process = running("subscribe", "--no-reconnect", "(?x, is, ?y)", "--peer", two_peers[0].url)
    assert process.stdout is not None
    await insert("INSERT { (lamp, is, on) }", two_peers[1].url)
    await asyncio.to_thread(process.stdout.readline)

    await lose(two_peers[0])
    _, said = await asyncio.to_thread(process.communicate, timeout=END_S)

    assert process.returncode == 1
    assert "connect and subscribe again, here or at another peer" in said


async def test_events_of_topics_and_channels_go_on_at_the_next_peer_and_what_may_be_missed_is_said(
    two_peers: list[PeerProcess],
) -> None:
    first, second = two_peers
    asked = (["subscribe", "--topic", "t"], ["channel", "subscribe", "(= type 'error)"])
    processes = [running(*arguments, "--peer", first.url) for arguments in asked]
    try:
        for process in processes:
            assert process.stderr is not None
            await asyncio.to_thread(until, process.stderr, "ready")
        await lose(first)
        for process in processes:
            assert process.stderr is not None
            said = await asyncio.to_thread(until, process.stderr, "connected to")
            assert f"connected to {second.url}; events in between may have been missed" in said
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=END_S)
    assert [process.returncode for process in processes] == [130, 130]


@pytest.mark.parametrize(
    "arguments", [("status",), ("topics",), ("ls",), ("explain", "(?x)"), ("channel", "stats")], ids=lambda words: words[0]
)
async def test_a_command_that_asks_once_tries_the_next_peer(two_peers: list[PeerProcess], arguments: tuple[str, ...]) -> None:
    runner = CliRunner(env={"GSG_PEER": f"{NOBODY},{two_peers[0].url}"})

    result = await asyncio.to_thread(runner.invoke, main, list(arguments))

    assert result.exit_code == 0, result.output


def test_where_no_peer_answers_all_are_named() -> None:
    result = CliRunner(env={"GSG_PEER": f"{NOBODY},http://127.0.0.1:10"}).invoke(main, ["status"])

    assert result.exit_code == 1
    assert "none of 2 peers answers" in result.output


def test_a_door_that_there_is_not_cannot_be_advertised() -> None:
    result = CliRunner().invoke(main, ["peer", "--http", "none", "--http-advertise", "http://10.0.0.1:8470"])

    assert result.exit_code == 2
    assert "--http-advertise says something about the HTTP door, and there is none" in result.output


def test_what_is_no_address_cannot_be_advertised() -> None:
    result = CliRunner().invoke(main, ["peer", "--listen", ":0", "--http", ":0", "--http-advertise", "10.0.0.1"])

    assert result.exit_code == 2
    assert "--http-advertise '10.0.0.1' is no address of a door; expected one that clients reach" in result.output
