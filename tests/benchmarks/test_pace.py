"""Moments of a benchmark: each comes, also those that passed meanwhile."""

from __future__ import annotations

import asyncio
import sys

import pytest
import uvloop

from benchmarks.pace import moments

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("per_s", [9e9, 1_000, 30.5])
def test_as_many_moments_come_as_were_asked_for(loop, per_s):
    async def main():
        async with asyncio.timeout(20):
            return [None async for _ in moments(10, per_s)]

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(main()) == [None] * 10


async def test_a_rate_that_no_timer_has_is_an_error():
    with pytest.raises(OSError, match="no timer: Invalid argument"):
        async for _ in moments(1, -1):
            pass
