"""Turns of those who flood a door: in order, and others are served between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest
from pedro_doors import doors
from pedro_wire import WireClient

from pedro_compat.turns import Turns


@pytest.fixture(autouse=True)
def _one_turn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.turns.TURN_S", 0.0)


async def rounds(count: int) -> None:
    """Let the event loop come round so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_whoever_is_served_as_it_comes_waits_for_one_turn_and_not_for_all() -> None:
    turns, served = Turns(), []
    for number in range(5):
        turns.wait(lambda number=number: served.append(number))

    await rounds(1)
    served.append("other")
    await rounds(5)

    assert served == [0, "other", 1, 2, 3, 4]


async def test_who_has_more_waits_behind_the_others() -> None:
    turns, served = Turns(), []

    def again(name: str, left: int) -> Callable[[], None]:
        def turn() -> None:
            served.append(name)
            if left:
                turns.wait(again(name, left - 1))

        return turn

    turns.wait(again("a", 2))
    turns.wait(again("b", 1))
    await rounds(10)

    assert served == ["a", "b", "a", "b", "a"]


async def test_turns_end_by_a_clock_that_goes_on_where_the_event_loop_is_told_the_time_once_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pedro_compat.turns.TURN_S", 2.5)
    loop = asyncio.get_running_loop()
    standing_still = loop.time()
    monkeypatch.setattr(loop, "time", lambda: standing_still)
    turns, served = Turns(count().__next__), []
    for number in range(5):
        turns.wait(lambda number=number: served.append(number))

    await rounds(1)
    served.append("other")
    await rounds(1)

    assert served == [0, 1, 2, "other", 3, 4]


async def test_turn_that_fails_takes_no_other_with_it() -> None:
    turns, served, failed = Turns(), [], []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(str(context["exception"])))
    turns.wait(lambda: {}["nothing"])
    turns.wait(lambda: served.append(1))

    await rounds(3)
    turns.wait(lambda: served.append(2))
    await rounds(2)

    assert (failed, served) == (["'nothing'"], [1, 2])


class Socket:
    """What a connection asks of a transport, for as long as nobody reads it."""

    def __init__(self) -> None:
        self.written = b""

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def test_client_that_left_while_its_turn_waited_has_none() -> None:
    async with doors(1) as [(_, door)]:
        ack = Socket()
        connection = door.connection(Socket(), ack)
        connection.received(b"f(1)\n" * 10_000)
        answered = ack.written

        connection.leave()
        await rounds(5)

        assert 0 < answered.count(b"\n") < 10_000
        assert ack.written == answered


COSTLY = "subscribe(f(L),(member(X,L),X > {0}),{0})"


async def test_line_that_takes_long_to_match_holds_up_its_client_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(_, door)]:
        subscriber = await WireClient.connect(door.port)
        for number in range(50):
            await subscriber.send(COSTLY.format(number))
        monkeypatch.setattr("gsg.nearby.SLICE_S", -1.0)
        slow, other = Socket(), Socket()
        costly, beside = door.connection(Socket(), slow), door.connection(Socket(), other)

        costly.received(b"f([60,61])\nf([70])\n")
        beside.received(b"g(1)\n")
        at_once = slow.written, other.written
        await rounds(150)

        assert at_once == (b"", b"1\n")
        assert slow.written == b"1\n1\n"
        await subscriber.send("nothing")
        assert subscriber.delivered() == [f"{number} f([{said}])" for said in ("60,61", "70") for number in reversed(range(50))]


async def test_line_whose_matching_was_begun_is_delivered_though_its_client_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(_, door)]:
        subscriber = await WireClient.connect(door.port)
        for number in range(20):
            await subscriber.send(COSTLY.format(number))
        monkeypatch.setattr("gsg.nearby.SLICE_S", -1.0)
        connection = door.connection(Socket(), Socket())
        connection.received(b"f([60])\n")

        connection.leave()
        await rounds(30)
        await subscriber.send("nothing")

        assert subscriber.delivered() == [f"{number} f([60])" for number in reversed(range(20))]
