"""Timers that are late, since nobody was there to call them."""

from __future__ import annotations

import asyncio

import pytest

from dht.liveness.late_timers import AGAIN, LATE_S, AwakeClock, Timer, late_s
from dht.simnet import SimNet, run


def test_a_timer_calls_back_when_it_is_due() -> None:
    async def main(net: SimNet) -> None:
        called: list[float] = []
        Timer(5.0, lambda: called.append(net.loop.time()))
        given_up = Timer(6.0, lambda: called.append(0.0))
        await asyncio.sleep(5.5)
        given_up.cancel()
        await asyncio.sleep(5.5)

        assert called == [5.0]

    run(main, seed=1)


@pytest.mark.parametrize("stopped_s", [4.0 + LATE_S / 2, 5.0, 60.0], ids=["hardly late", "late", "very late"])
def test_a_timer_that_is_late_waits_once_more(stopped_s: float) -> None:
    async def main(net: SimNet) -> None:
        called: list[float] = []
        Timer(5.0, lambda: called.append(net.loop.time()))
        await asyncio.sleep(1.0)
        net.loop.oversleep(stopped_s)
        woken_s = net.loop.time()
        await asyncio.sleep(20.0)

        assert called == [woken_s if stopped_s < 4.0 + LATE_S else woken_s + 5.0]

    run(main, seed=2)


def test_a_timer_that_is_always_late_calls_back_in_the_end() -> None:
    async def main(net: SimNet) -> None:
        called: list[float] = []
        Timer(5.0, lambda: called.append(net.loop.time()))
        for _ in range(AGAIN + 1):
            assert not called
            await asyncio.sleep(4.0)
            net.loop.oversleep(2.0)
            await asyncio.sleep(0.1)

        assert len(called) == 1

    run(main, seed=5)


def test_a_moment_to_come_is_not_late() -> None:
    async def main(net: SimNet) -> None:
        assert late_s(net.loop.time() + 1.0) == 0.0

    run(main, seed=3)


def test_a_pause_counts_once_however_many_wait() -> None:
    async def main(net: SimNet) -> None:
        clock = AwakeClock()
        never: asyncio.Future[None] = net.loop.create_future()

        async def wait(until_s: float) -> float:
            while clock.now() < until_s:
                await clock.wait([never], until_s, return_when=asyncio.FIRST_COMPLETED)
            return net.loop.time()

        waiting = [asyncio.create_task(wait(until_s)) for until_s in (1.0, 3.0, 200.0)]
        await asyncio.sleep(0.5)
        net.loop.oversleep(100.0)

        # The second notices it as well, and waits for as long as it was to, from when the first had noticed it.
        assert await asyncio.gather(*waiting) == [101.5, 103.5, 300.5]
        assert clock.now() == 200.0

    run(main, seed=4)
