"""What a task writes to a real peer: facts once however often, retractions in order, events once, also over a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import gsg
from gsg import AsyncClient, LiveSubscription, Peer, Symbol
from gsg.http.door import HttpDoor
from gsg.quotas import PEER, Quota, Quotas
from simulations.errors import BadRow
from simulations.streams.peer_access import PeerAccess
from simulations.streams.sink.outlet import Outlet
from simulations.streams.sink.peer_failover import PeerFailover
from simulations.streams.sink.requests import TaskPlace
from simulations.streams.sink.row_tuples import RowShape, TupleReader
from simulations.streams.sink.task_writer import TaskWriter, Written

pytestmark = pytest.mark.waits

QUERY = "(?x, ^on)"
Rows = list[tuple[str, int]]


@asynccontextmanager
async def door_of(folder: Path | None = None, quotas: Quotas | None = None, port: int = 0) -> AsyncIterator[HttpDoor]:
    async with Peer(data=folder, quotas=quotas) as peer, HttpDoor(peer, port=port) as made:
        yield made


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    async with door_of() as made:
        yield made


@pytest.fixture
async def client(door: HttpDoor) -> AsyncIterator[AsyncClient]:
    async with gsg.connect(door.url) as made:
        yield made


def batch(names: Iterable[str], signs: Iterable[int] = ()) -> pa.RecordBatch:
    columns: dict[str, list[object]] = {"x": list(names)}
    columns["is"] = ["on"] * len(columns["x"])
    return pa.RecordBatch.from_pydict({**columns, "sign": list(signs)} if signs else columns)


async def write(url: str, *batches: pa.RecordBatch, mode: str = "facts", number: str = "0", partition: int = 0) -> Written:
    """A task of a batch with this number."""
    outlet = Outlet(PeerAccess((url,)), PeerFailover((url,), first=0, stay_s=10), max_wait_s=60, rng=Random(1))
    reader = TupleReader(RowShape(("x", "is"), has_sign="sign" in batches[0].schema.names), "symbols", partition)
    return await TaskWriter(outlet, reader, TaskPlace("lake", number, partition)).write(iter(batches), is_events=mode == "events")


async def held(client: AsyncClient) -> list[str]:
    async with await client.subscribe(QUERY) as subscription:
        return sorted(str(row["x"]) for row in subscription.rows())


async def told(subscription: LiveSubscription, client: AsyncClient) -> list[str]:
    """What was told, up to a last event that is told now."""
    await client.notify([(Symbol("end"), Symbol("on"))])
    names: list[str] = []
    while not names or names[-1] != "end":
        names += [str(row["x"]) for _, row in await subscription.batch(10_000)]
    return names[:-1]


async def test_facts_that_are_written_again_are_there_once(door: HttpDoor, client: AsyncClient) -> None:
    first, again = [await write(door.url, batch("abc"), batch("cd")) for _ in range(2)]

    assert await held(client) == ["a", "b", "c", "d"]
    assert (first.rows, first.changed, again.rows, again.changed) == (5, 4, 5, 0)


async def test_the_last_row_about_a_fact_holds(door: HttpDoor, client: AsyncClient) -> None:
    await write(door.url, batch("abab", [1, 1, -1, 1]), batch("cbdc", [1, -1, 1, -1]), batch("c", [1]))

    assert await held(client) == ["c", "d"]


async def test_a_batch_that_failed_in_the_middle_is_written_again_as_if_it_had_not(door: HttpDoor, client: AsyncClient) -> None:
    await write(door.url, batch("ax"))
    rows = [batch("abx", [1, 1, -1]), batch("ab", [-1, 1])]
    wrong = pa.RecordBatch.from_pydict({"x": [None], "is": ["on"], "sign": [1]})
    with pytest.raises(BadRow, match="row 6 of partition 0, column x: it is empty"):
        await write(door.url, *rows, wrong)

    await write(door.url, *rows, batch("c", [1]))

    assert await held(client) == ["b", "c"]


async def test_events_that_are_written_again_are_told_once_and_in_order(door: HttpDoor, client: AsyncClient) -> None:
    names = [f"n{number}" for number in range(2_500)]
    subscription = await client.subscribe(QUERY)
    # Where Arrow's batches end makes no difference.
    first = await write(door.url, batch(names[:1_300]), batch(names[1_300:]), mode="events")
    again = await write(door.url, batch(names), mode="events")

    assert await told(subscription, client) == names
    assert (first.requests, again.requests) == (3, 3)


async def test_events_of_a_task_that_failed_in_the_middle_are_told_once(door: HttpDoor, client: AsyncClient) -> None:
    names = [f"n{number}" for number in range(1_500)]
    subscription = await client.subscribe(QUERY)
    wrong = pa.RecordBatch.from_pydict({"x": pa.array([None], pa.string()), "is": ["on"]})
    with pytest.raises(BadRow, match="row 1501 of partition 0"):
        await write(door.url, batch(names), wrong, mode="events")

    await write(door.url, batch(names), mode="events")

    assert await told(subscription, client) == names


async def test_equal_events_of_another_batch_or_partition_are_told(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe(QUERY)

    for number, partition in (("0", 0), ("1", 0), ("1", 1), ("0", 0)):
        await write(door.url, batch("a"), mode="events", number=number, partition=partition)

    assert await told(subscription, client) == ["a", "a", "a"]


async def test_rows_that_come_in_another_order_are_told_rather_than_lost(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe(QUERY)

    for names in ("abc", "acb"):
        await write(door.url, batch(names), mode="events")

    assert sorted(await told(subscription, client)) == ["a", "a", "b", "b", "c", "c"]


async def test_events_are_told_once_by_a_peer_that_was_started_again(tmp_path: Path) -> None:
    async with door_of(tmp_path) as door:
        await write(door.url, batch("ab"), mode="events")
        port = door.port
    async with door_of(tmp_path, port=port) as door, gsg.connect(door.url) as client:
        subscription = await client.subscribe(QUERY)
        await write(door.url, batch("ab"), mode="events")
        await write(door.url, batch("c"), mode="events", number="1")

        assert await told(subscription, client) == ["c"]


@pytest.mark.parametrize("mode", ["facts", "events"])
async def test_a_quota_slows_a_task_down_and_nothing_is_lost(mode: str) -> None:
    quotas = Quotas(PEER, Quota(templates=100, tuples_per_s=1_000, bytes_per_s=2**30))
    names = [f"n{number}" for number in range(5_000)]
    async with door_of(quotas=quotas) as door, gsg.connect(door.url) as client:
        subscription = await client.subscribe(QUERY)

        await write(door.url, batch(names[:2_500]), batch(names[2_500:]), mode=mode)

        assert {count.name: count.count for count in (await client.report()).peers[0].counts}["quota_refused_clients"] > 0
        found = sorted(await told(subscription, client)) if mode == "events" else await held(client)
        assert found == sorted(names)
