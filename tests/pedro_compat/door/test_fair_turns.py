"""Turns of those who flood a door: in order, and others are served between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from math import inf
from typing import Any

import pytest
from pedro_doors import doors
from pedro_wire import WireClient

import gsg
from gsg.background import SLICE_S
from pedro_compat.door.fair_turns import TURN_S, FairTurns


@pytest.fixture(autouse=True)
def _one_turn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.fair_turns.TURN_S", 0.0)


async def rounds(count: int) -> None:
    """Let the event loop come round so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_whoever_is_served_as_it_comes_waits_for_one_turn_and_not_for_all() -> None:
    turns, served = FairTurns(), []
    for number in range(5):
        turns.queue_turn(lambda number=number: served.append(number))

    await rounds(1)
    served.append("other")
    await rounds(5)

    assert served == [0, "other", 1, 2, 3, 4]


async def test_who_has_more_waits_behind_the_others() -> None:
    turns, served = FairTurns(), []

    def again(name: str, left: int) -> Callable[[], None]:
        def turn() -> None:
            served.append(name)
            if left:
                turns.queue_turn(again(name, left - 1))

        return turn

    turns.queue_turn(again("a", 2))
    turns.queue_turn(again("b", 1))
    await rounds(10)

    assert served == ["a", "b", "a", "b", "a"]


async def test_turns_end_by_a_clock_that_goes_on_where_the_event_loop_is_told_the_time_once_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pedro_compat.door.fair_turns.TURN_S", 2.5)
    loop = asyncio.get_running_loop()
    standing_still = loop.time()
    monkeypatch.setattr(loop, "time", lambda: standing_still)
    turns, served = FairTurns(count().__next__), []
    for number in range(5):
        turns.queue_turn(lambda number=number: served.append(number))

    await rounds(1)
    served.append("other")
    await rounds(1)

    assert served == [0, 1, 2, "other", 3, 4]


async def test_turn_that_fails_takes_no_other_with_it() -> None:
    turns, served, failed = FairTurns(), [], []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(str(context["exception"])))
    turns.queue_turn(lambda: {}["nothing"])
    turns.queue_turn(lambda: served.append(1))

    await rounds(3)
    turns.queue_turn(lambda: served.append(2))
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

    def abort(self) -> None:
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
        monkeypatch.setattr("gsg.local_events.SLICE_S", -1.0)
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
        monkeypatch.setattr("gsg.local_events.SLICE_S", -1.0)
        connection = door.connection(Socket(), Socket())
        connection.received(b"f([60])\n")

        connection.leave()
        await rounds(30)
        await subscriber.send("nothing")

        assert subscriber.delivered() == [f"{number} f([60])" for number in reversed(range(20))]


# --- runs of lines that go together --------------------------------------------------------------------------------------------


@pytest.fixture
def _no_slice_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long this process is kept from running, what is matched in one go is."""
    monkeypatch.setattr("gsg.local_events.SLICE_S", inf)


async def answered(ack: Socket, turns: int) -> list[int]:
    """How many lines have been answered after each of the next turns, the one that the first bytes had included."""
    counts = [ack.written.count(b"\n")]
    for _ in range(turns):
        await rounds(1)
        counts.append(ack.written.count(b"\n"))
    return counts


@pytest.mark.usefixtures("_no_slice_is_over")
async def test_twice_as_many_lines_go_together_as_long_as_there_is_time() -> None:
    async with doors(1) as [(_, door)]:
        # The third look after the first one comes too late: two runs a turn.
        door.turns = FairTurns(count(0.0, 0.45 * TURN_S).__next__)
        ack = Socket()

        door.connection(Socket(), ack).received(b"f(1)\n" * 1_000)

        assert await answered(ack, 5) == [1 + 2, 15, 63, 255, 511, 767]


@pytest.mark.usefixtures("_no_slice_is_over")
@pytest.mark.parametrize(
    ("subscriptions", "counts"), [(0, [1 + 2 + 3]), (4, [1 + 2, 5, 6]), (20, [1, 2, 3, 4, 5, 6])], ids=["none", "some", "many"]
)
async def test_lines_that_cause_deliveries_go_together_as_many_as_cause_so_many(
    monkeypatch: pytest.MonkeyPatch, subscriptions: int, counts: list[int]
) -> None:
    monkeypatch.setattr("pedro_compat.door.connection.DELIVERIES", 10)
    async with doors(1) as [(_, door)]:
        door.turns = FairTurns(lambda: 0.0)
        subscriber = await WireClient.connect(door.port)
        for rock in range(subscriptions):
            await subscriber.send(f"subscribe(f(_),true,{rock})")
        ack = Socket()

        door.connection(Socket(), ack).received(b"f(1)\n" * 6)

        assert await answered(ack, len(counts) - 1) == counts


async def test_run_in_which_one_line_takes_long_is_answered_when_all_of_it_is_told_and_what_follows_after_it() -> None:
    async with doors(1) as [(peer, door)]:
        subscriber = await WireClient.connect(door.port)
        await subscriber.send("subscribe(g(_),true,7)")
        for number in range(50):
            await subscriber.send(COSTLY.format(number))
        # One look at this clock for each line, and for each goal that is tried: a slice is over after about 20.
        peer._parts.rendezvous.clock = count(0.0, SLICE_S / 20).__next__
        door.turns = FairTurns(lambda: 0.0)
        ack = Socket()

        door.connection(Socket(), ack).received(b"g(1)\n" * 5 + b"f([60])\n" + b"g(2)\n" * 5)

        # 1, 2 and 4 lines go together; the line that takes long is the third of the four.
        assert await answered(ack, 3) == [3, 3, 7, 11]
        await subscriber.send("nothing")
        told = [f"{number} f([60])" for number in reversed(range(50))]
        assert subscriber.delivered() == [*["7 g(1)"] * 5, *told, *["7 g(2)"] * 5]


async def test_turn_that_fails_has_what_it_delivered_before_written_and_what_others_deliver_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with doors(1) as [(peer, door)]:
        heard, subscribed = Socket(), Socket()
        listening = door.connection(heard, subscribed)
        listening.received(b"subscribe(f(_),true,7)\n")
        async with asyncio.timeout(10):
            while not subscribed.written:  # noqa: ASYNC110  # the door has no business telling tests
                await asyncio.sleep(0)
        flash_here = peer.flash_here

        def fail_after(events: Any, *, via: Any = None) -> None:
            flash_here(events, via=via)
            raise RuntimeError("a defect")

        with monkeypatch.context() as broken:
            broken.setattr(peer, "flash_here", fail_after)
            door.connection(Socket(), Socket()).received(b"f(1)\n")
        at_once = heard.written
        await peer.flash([((gsg.Symbol("f"), 2), None)])
        await rounds(5)

        assert (at_once, heard.written) == (b"7 f(1)\n", b"7 f(1)\n7 f(2)\n")
