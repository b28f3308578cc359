"""Signals at any moment of a peer's life."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from commands import END_S

from gsg.cli.peer.signals import GIVE_UP_S, SKIP_S, Ending


class Watched(Ending):
    """What it would do to the process."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.later: list[tuple[float, Callable[[], object]]] = []
        super().__init__(self.left.append, lambda seconds, function: self.later.append((seconds, function)))


async def test_a_signal_before_there_is_a_loop_ends_the_start() -> None:
    ending = Watched()
    ending.received(signal.SIGTERM)

    with pytest.raises(asyncio.CancelledError):
        ending.attach()

    assert ending.status == 143


async def test_a_signal_while_starting_cancels_it_and_leaves_what_does_not_let_go() -> None:
    ending = Watched()

    async def start() -> None:
        ending.attach()
        await asyncio.Event().wait()

    starting = asyncio.create_task(start())
    await asyncio.sleep(0)
    ending.received(signal.SIGINT)
    with pytest.raises(asyncio.CancelledError):
        await starting
    ((seconds, leave),) = ending.later
    leave()

    assert (seconds, ending.left) == (GIVE_UP_S, [130])


async def test_a_start_that_did_not_notice_does_not_become_a_peer() -> None:
    ending = Watched()

    async def start() -> None:
        ending.attach()
        ending.received(signal.SIGTERM)
        ending.started()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(start())


async def test_the_first_signal_stops_a_peer_the_second_skips_and_the_third_leaves() -> None:
    ending = Watched()
    skipped = asyncio.Event()

    async def serve() -> None:
        stop = ending.attach()
        ending.started()
        await stop.wait()
        try:
            await asyncio.Event().wait()  # handing over
        finally:
            skipped.set()

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0)
    ending.received(signal.SIGTERM)
    await asyncio.sleep(0)
    assert (ending.later, skipped.is_set()) == ([], False)
    ending.received(signal.SIGINT)
    with contextlib.suppress(asyncio.CancelledError):
        await serving
    assert (skipped.is_set(), [seconds for seconds, _ in ending.later], ending.left) == (True, [SKIP_S], [])
    ending.received(signal.SIGINT)

    # With the status of the signal that ended it.
    assert ending.left == [143]


async def test_who_is_to_skip_does() -> None:
    ending = Watched()

    async def serve() -> None:
        ending.attach()
        ending.started()
        ending.skip()
        await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(serve())


HANGING = """
import time
from gsg.cli.peer.signals import Ending, ended_by_signals

with ended_by_signals(Ending()):
    print("starting", flush=True)
    time.sleep(1000)  # as a disk that does not answer: the loop has no turn
"""


@pytest.mark.waits
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_start_that_stands_still(number: signal.Signals) -> None:
    # Where the tests themselves are to outlive their terminal, the process would be too.
    ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGHUP, ignored)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "starting\n"
        process.send_signal(number)

        assert process.wait(END_S) == 128 + number
