"""A snapshot is waited for as long as its link brings any, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from line import Line

from dht.simnet import SimNet, run
from gsg.errors import PeerUnreachable
from gsg.feeds.resync import Resync
from gsg.wire.exchange import ANSWER_TIMEOUT_S

PART_S = ANSWER_TIMEOUT_S - 1
"""Between two parts, so that none of them is missed."""


def any_resync() -> Resync:
    return Resync(None, None, None)  # type: ignore[arg-type]  # nothing is asked of them while it waits


def in_virtual_time(work: Coroutine[Any, Any, None]) -> None:  # Any: as coroutines have it
    async def main(net: SimNet) -> None:
        await work

    run(main, seed=1)


def test_who_waits_hears_when_the_snapshot_is_whole() -> None:
    async def work() -> None:
        resync, link, whole = any_resync(), Line("from"), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(resync.until_whole(whole, link))
        for _ in range(3):
            await asyncio.sleep(PART_S)
            resync.note_part(link)
        whole.set_result(None)

        await waiting

    in_virtual_time(work())


def test_a_link_that_brings_nothing_for_long_has_stopped() -> None:
    async def work() -> None:
        resync, link, other = any_resync(), Line("from"), Line("other")
        waiting = asyncio.create_task(resync.until_whole(asyncio.get_running_loop().create_future(), link))
        await asyncio.sleep(PART_S)
        resync.note_part(other)
        began_s = asyncio.get_running_loop().time()

        with pytest.raises(PeerUnreachable, match="from:1 stopped in the middle of a snapshot"):
            await waiting
        assert asyncio.get_running_loop().time() - began_s == pytest.approx(1)

    in_virtual_time(work())


def test_what_ends_the_wait_is_raised() -> None:
    async def work() -> None:
        resync, link, whole = any_resync(), Line("from"), asyncio.get_running_loop().create_future()
        whole.set_exception(PeerUnreachable("the link broke"))

        with pytest.raises(PeerUnreachable, match="the link broke"):
            await resync.until_whole(whole, link)

    in_virtual_time(work())


def test_a_snapshot_that_waits_behind_others_of_its_link_is_waited_for() -> None:
    """It is the link that must not be silent: whoever begins to wait has its whole time, and what comes for one counts for all."""

    async def work() -> None:
        resync, link = any_resync(), Line("from")
        first, second = (asyncio.get_running_loop().create_future() for _ in range(2))
        waiting = [asyncio.create_task(resync.until_whole(whole, link)) for whole in (first, second)]
        await asyncio.sleep(PART_S)
        resync.note_part(link)
        first.set_result(None)
        await asyncio.sleep(PART_S)
        second.set_result(None)

        await asyncio.gather(*waiting)

        assert not resync._part_s, "nothing is remembered of a link that nobody waits for"

    in_virtual_time(work())


def test_who_comes_when_a_link_was_silent_for_long_has_its_whole_time() -> None:
    async def work() -> None:
        resync, link = any_resync(), Line("from")
        first, second = (asyncio.get_running_loop().create_future() for _ in range(2))
        waiting = asyncio.create_task(resync.until_whole(first, link))
        await asyncio.sleep(PART_S)
        late = asyncio.create_task(resync.until_whole(second, link))
        await asyncio.sleep(PART_S)
        second.set_result(None)

        await late
        with pytest.raises(PeerUnreachable):
            await waiting

    in_virtual_time(work())
