"""What a caller publishes: large calls in parts, in order, with others' turns between them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import gsg.background
import gsg.publisher.caller
from gsg.errors import BadTerm, Refused
from gsg.publisher.caller import PARTS_UNDER_WAY, Caller
from gsg.publisher.keyed_events import KeyedEvents
from gsg.storage.disk.event_keys_file import EventKeysFile
from gsg.storage.event_keys import KeyRecord
from gsg.tuples.terms import Tuple
from gsg.wire.trace_context import NO_SPANS


class Publisher:
    """Keeps what is published, in order; each part is answered when :attr:`answers` lets it."""

    def __init__(self) -> None:
        self.spans = NO_SPANS
        self.keyed = KeyedEvents()
        self.wall_clock = float
        self.said: list[list[Tuple]] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.under_way = self.most_under_way = 0
        self.refused_at = -1

    async def facts(self, sign: int, facts: Sequence[Tuple], audience: object = None, *, span: object = None) -> int:
        self.said.append([(sign, *fact) for fact in facts])
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self.answers.wait()
        finally:
            self.under_way -= 1
        if len(self.said) - 1 == self.refused_at:
            raise Refused("no room")
        return len(facts)

    async def events(self, events: Sequence[tuple[Tuple, str | None]], *, audience: object = None, span: object = None) -> None:
        self.said.append([items for items, _ in events])
        await self.answers.wait()


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.caller, "PART_TUPLES", 3)


def caller_of(publisher: Publisher) -> Caller:
    return Caller(lambda: publisher)  # type: ignore[arg-type,return-value]  # knows as much


def numbered(first: int, count: int) -> list[tuple[object, ...]]:
    return [(number,) for number in range(first, first + count)]


async def test_a_small_call_is_one_part(publisher: Publisher) -> None:
    assert await caller_of(publisher).facts(-1, numbered(0, 3)) == 3
    assert publisher.said == [[(-1, 0), (-1, 1), (-1, 2)]]


async def test_a_large_call_is_cut_and_counted_as_one(publisher: Publisher) -> None:
    assert await caller_of(publisher).facts(1, iter(numbered(0, 8))) == 8
    assert [len(part) for part in publisher.said] == [3, 3, 2]
    assert [fact for part in publisher.said for fact in part] == [(1, number) for number in range(8)]


async def test_a_large_call_of_events_keeps_their_order(publisher: Publisher) -> None:
    assert await caller_of(publisher).events(numbered(0, 7)) == 7
    assert [event for part in publisher.said for event in part] == numbered(0, 7)


async def test_what_the_same_caller_says_next_comes_after_all_parts_and_others_go_between(publisher: Publisher) -> None:
    one, other = caller_of(publisher), caller_of(publisher)

    async with asyncio.TaskGroup() as calls:
        calls.create_task(one.facts(1, numbered(0, 9)))
        await asyncio.sleep(0)
        calls.create_task(one.facts(-1, numbered(8, 1)))
        calls.create_task(other.facts(1, numbered(100, 1)))

    said = [part[0][1] for part in publisher.said]
    assert [number for number in said if number != 100] == [0, 3, 6, 8]
    assert said.index(100) < said.index(6)


async def test_so_many_parts_are_under_way_and_no_more(publisher: Publisher) -> None:
    publisher.answers.clear()

    call = asyncio.ensure_future(caller_of(publisher).facts(1, numbered(0, 3 * (PARTS_UNDER_WAY + 5))))
    for _ in range(10 * PARTS_UNDER_WAY):
        await asyncio.sleep(0)
    begun = len(publisher.said)
    publisher.answers.set()

    assert await call == 3 * (PARTS_UNDER_WAY + 5)
    assert begun == publisher.most_under_way == PARTS_UNDER_WAY


@pytest.mark.parametrize("wrong", [(), ("x" * 2_000_000,), (object(),)], ids=["empty", "too long", "no term"])
async def test_nothing_is_sent_where_one_of_many_is_no_fact(publisher: Publisher, wrong: tuple[object, ...]) -> None:
    caller = caller_of(publisher)

    with pytest.raises(BadTerm):
        await caller.facts(1, [*numbered(0, 7), wrong])

    assert publisher.said == []
    assert await caller.facts(1, numbered(0, 4)) == 4


async def test_the_first_part_that_is_refused_ends_the_call_and_the_caller_goes_on(publisher: Publisher) -> None:
    caller = caller_of(publisher)
    publisher.refused_at = 1

    with pytest.raises(Refused, match="no room"):
        await caller.facts(1, numbered(0, 30))
    publisher.refused_at = -1

    assert await caller.facts(1, numbered(0, 5)) == 5


async def test_a_call_that_is_cancelled_in_line_keeps_nobody_waiting(publisher: Publisher) -> None:
    caller = caller_of(publisher)
    publisher.answers.clear()
    first = asyncio.ensure_future(caller.facts(1, numbered(0, 3 * PARTS_UNDER_WAY + 9)))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(caller.facts(1, numbered(500, 1)))
    await asyncio.sleep(0)

    second.cancel()
    first.cancel()
    await asyncio.wait([first, second])
    publisher.answers.set()

    assert await caller.facts(1, numbered(900, 1)) == 1
    assert publisher.said[-1] == [(1, 900)]


async def test_events_with_a_key_are_looked_at_in_turn_with_others(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.background, "SLICE_S", 0)
    one, other = caller_of(publisher), caller_of(publisher)

    async with asyncio.TaskGroup() as calls:
        calls.create_task(one.events(numbered(0, 3), key="a"))
        calls.create_task(one.events(numbered(3, 1)))
        calls.create_task(other.events(numbered(100, 1)))

    assert publisher.said == [numbered(100, 1), numbered(0, 3), numbered(3, 1)]


@pytest.mark.parametrize(("limit", "most"), [("PART_BYTES", 3), ("PART_TERMS", 2)])
async def test_events_with_a_key_are_cut_by_their_bytes_and_terms(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(gsg.publisher.caller, limit, most)
    caller = caller_of(publisher)

    assert [await caller.events(numbered(0, 3), key="a") for _ in range(2)] == [3, 3]

    assert publisher.said == [numbered(0, 2), numbered(2, 1)]


async def test_no_events_with_a_key_are_none(publisher: Publisher) -> None:
    assert await caller_of(publisher).events([], key="a") == 0


async def test_what_comes_behind_a_key_that_is_under_way_for_another_does_not_overtake_it(publisher: Publisher) -> None:
    one, other = caller_of(publisher), caller_of(publisher)
    publisher.answers.clear()
    first = asyncio.create_task(one.events(numbered(0, 1), key="a", owner="lake"))
    await asyncio.sleep(0)
    behind = [
        asyncio.create_task(other.events(numbered(number, 1), key=key, owner="lake")) for number, key in ((0, "a"), (1, None))
    ]
    await asyncio.sleep(0)

    first.cancel()
    publisher.answers.set()
    await asyncio.wait([first, *behind])

    assert publisher.said == [numbered(0, 1), numbered(0, 1), numbered(1, 1)]


async def test_what_comes_behind_the_first_key_does_not_overtake_it(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    def read(_: EventKeysFile) -> list[KeyRecord]:
        may_go_on.wait(10)
        return []

    monkeypatch.setattr(EventKeysFile, "read", read)
    publisher.keyed = KeyedEvents(tmp_path)
    caller = caller_of(publisher)
    calls = [asyncio.create_task(caller.events(numbered(number, 1), key=key)) for number, key in ((0, "a"), (1, None))]
    await asyncio.sleep(0)

    may_go_on.set()
    await asyncio.wait(calls)

    assert publisher.said == [numbered(0, 1), numbered(1, 1)]
