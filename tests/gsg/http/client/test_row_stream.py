"""Rows as messages bring them: what a reader is told of a peer, of the next one, and of what is amiss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from scripted_peer import scripted

import gsg
from gsg import AsyncClient, BadText, LocalError, Overrun, PeerMisbehaved, Stale, TooManyTokens
from gsg.errors import GsgError, Reconnected
from gsg.http.door import HttpDoor
from gsg.http.protocol import Dropped, Ended, Events, Failed, OutOfDate, Reply, Request, Rows, Subscribed, Unsubscribe, UpToDate
from gsg.tuples.terms import Term


class Heard:
    """A reader that writes down what it hears."""

    def __init__(self) -> None:
        self.told: list[Any] = []  # Any: of each call what it was told
        self._news = asyncio.Event()

    async def until(self, count: int) -> list[Any]:  # Any: as above
        while len(self.told) < count:
            self._news.clear()
            await self._news.wait()
        return self.told

    def begin(self, variables: tuple[str, ...], reconnected: Reconnected | None) -> None:
        self._hear(("begin", variables, reconnected is not None))

    def receive_rows(self, signs: list[int], values: list[tuple[Term | None, ...]]) -> None:
        self._hear((signs, values))

    def complete(self) -> None:
        self._hear("complete")

    def tell_problem(self, problem: Overrun | Stale) -> None:
        self._hear(problem)

    def end(self, error: GsgError | None) -> None:
        self._hear(("end", error))

    def _hear(self, what: object) -> None:
        self.told.append(what)
        self._news.set()


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


async def test_the_answer_comes_whole_and_then_changes_and_events(client: AsyncClient) -> None:
    heard, on = Heard(), gsg.Symbol("on")
    await client.insert([("a", on, 1)])

    stream = await client.stream("(?x, ^on, ?y)", heard)
    await heard.until(3)
    await client.insert([("b", on, 2)])
    await client.retract([("a", on, 1)])
    await client.notify([("c", on, 3)])
    told = await heard.until(6)
    await stream.close()
    await stream.close()
    await client.insert([("d", on, 4)])

    assert told == [
        ("begin", ("x", "y"), False),
        ([1], [("a", 1)]),
        "complete",
        ([1], [("b", 2)]),
        ([-1], [("a", 1)]),
        ([0], [("c", 3)]),
    ]


async def test_a_mistake_in_the_query_is_raised_and_the_client_goes_on(client: AsyncClient) -> None:
    heard = Heard()

    with pytest.raises(BadText, match="line 1, column 10"):
        await client.stream("(?x, ^on ?y)", heard)

    assert heard.told == []
    assert await client.insert([("a", gsg.Symbol("on"), 1)]) == 1


async def test_whoever_closes_the_client_ends_the_stream_without_an_error(door: HttpDoor) -> None:
    heard = Heard()

    async with gsg.connect(door.url) as client:
        await client.stream("(?x, ^on, ?y)", heard)
        await heard.until(2)

    assert heard.told[-1] == ("end", None)


def answer(request: Request, *values: int) -> list[Reply]:
    number = request.request
    return [Subscribed(number, ("x",)), Rows(number, [1] * len(values), [(value,) for value in values]), UpToDate(number)]


async def test_the_next_peer_tells_its_whole_answer_and_the_reader_hears_that_it_is_another() -> None:
    heard = Heard()
    async with (
        scripted(lambda at, request: answer(request, 1, 2) if at == 0 else answer(request, 2, 3)) as peer,
        AsyncClient(peer.url, rng=Random(1), pause=no_pause) as client,
    ):
        await client.stream("(?x)", heard)
        await heard.until(3)
        peer.cut(0)
        told = await heard.until(6)

    assert told[:3] == [("begin", ("x",), False), ([1, 1], [(1,), (2,)]), "complete"]
    assert told[3:6] == [("begin", ("x",), True), ([1, 1], [(2,), (3,)]), "complete"]


def failed(error: GsgError) -> Failed:
    return Failed(1, type(error).__name__, str(error), lost=getattr(error, "lost", 0))


@pytest.mark.parametrize(
    ("message", "problem"),
    [(Dropped, Overrun("5 events were dropped", lost=5)), (OutOfDate, Stale("rows may be out of date"))],
    ids=["events dropped", "out of date"],
)
async def test_what_is_amiss_is_told_and_the_stream_goes_on(message: type[Dropped | OutOfDate], problem: Overrun | Stale) -> None:
    heard = Heard()

    def script(_: int, request: Request) -> list[Reply]:
        return [*answer(request, 1), message(request.request, failed(problem)), Rows(request.request, [-1], [(1,)])]

    async with scripted(script) as peer, gsg.connect(peer.url) as client:
        await client.stream("(?x)", heard)
        told = await heard.until(5)

    assert type(told[3]) is type(problem)
    assert str(told[3]) == str(problem)
    assert told[4] == ([-1], [(1,)])


async def test_what_ends_it_at_the_peer_is_told() -> None:
    heard = Heard()

    def script(_: int, request: Request) -> list[Reply]:
        return [*answer(request, 1), Ended(request.request, Failed(1, "TooManyTokens", "too many", tokens=5, limit=4))]

    async with scripted(script) as peer, gsg.connect(peer.url) as client:
        await client.stream("(?x)", heard)
        [_, _, _, (_, error)] = await heard.until(4)

    assert isinstance(error, TooManyTokens)
    assert error.limit == 4


@pytest.mark.parametrize(
    "message",
    [
        lambda number: Rows(number, [1], []),
        lambda number: Rows(number, [2], [(1,)]),
        lambda number: Rows(number, [1], [(1, 2)]),
        lambda number: Events(number, []),
        lambda number: Dropped(number, Failed(number, "LocalError", "")),
        lambda number: OutOfDate(number, Failed(number, "LocalError", "")),
    ],
    ids=["a sign too many", "no sign", "a value too many", "of a channel", "dropped why", "out of date why"],
)
async def test_what_is_no_row_of_it_ends_the_connection(message: Callable[[int], Reply]) -> None:
    heard = Heard()
    async with (
        scripted(lambda _, request: [*answer(request, 1), message(request.request)]) as peer,
        gsg.connect(peer.url) as client,
    ):
        await client.stream("(?x)", heard)
        [_, _, _, (what, error)] = await heard.until(4)

    assert what == "end"
    assert isinstance(error, PeerMisbehaved)


class Failing(Heard):
    """A reader that fails at one of its calls, with what a peer's fault is told by elsewhere."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def begin(self, variables: tuple[str, ...], reconnected: Reconnected | None) -> None:
        self._fail("begin")
        super().begin(variables, reconnected)

    def receive_rows(self, signs: list[int], values: list[tuple[Term | None, ...]]) -> None:
        self._fail("receive_rows")
        super().receive_rows(signs, values)

    def complete(self) -> None:
        self._fail("complete")
        super().complete()

    def end(self, error: GsgError | None) -> None:
        super().end(error)
        self._fail("end")

    def _fail(self, call: str) -> None:
        if call == self.at:
            raise msgspec.ValidationError(f"no {call} here")


@pytest.mark.parametrize("at", ["receive_rows", "complete"])
async def test_a_reader_that_fails_ends_its_subscription_and_nothing_else(
    door: HttpDoor, client: AsyncClient, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    on, failing, other = gsg.Symbol("on"), Failing(at), Heard()
    await client.insert([("a", on, 1)])

    await client.stream("(?x, ^on, 1)", failing)
    *_, (what, error) = await failing.until({"receive_rows": 2, "complete": 3}[at])
    await client.stream("(?x, ^on, ?y)", other)

    assert (what, type(error), type(error.__cause__)) == ("end", LocalError, msgspec.ValidationError)
    assert str(error).startswith(
        f"what reads this subscription failed at what the peer told it: ValidationError: no {at} here; the subscription has ended"
    )
    assert "what reads a subscription at" in caplog.text
    await other.until(3)
    assert [each.text for each in await client.subscriptions()] == ["(?x, ^on, ?y)"]


async def test_a_reader_that_fails_at_the_beginning_is_told_to_whoever_asked(client: AsyncClient) -> None:
    failing = Failing("begin")

    with pytest.raises(LocalError, match="ValidationError: no begin here"):
        await client.stream("(?x)", failing)

    assert [what for what, *_ in failing.told] == ["end"]
    assert await client.insert([("a",)]) == 1
    assert await client.subscriptions() == []


async def test_a_reader_that_fails_at_the_next_peer_ends_there() -> None:
    failing = Failing("")
    async with (
        scripted(lambda _, request: answer(request, 1)) as peer,
        AsyncClient(peer.url, rng=Random(1), pause=no_pause) as client,
    ):
        await client.stream("(?x)", failing)
        await failing.until(3)
        failing.at = "begin"
        peer.cut(0)
        [*_, (what, error)] = await failing.until(4)

        assert (what, type(error)) == ("end", LocalError)
        assert client._connection.lost is None


async def test_a_reader_that_fails_as_it_ends_keeps_nobody_from_being_told(
    door: HttpDoor, caplog: pytest.LogCaptureFixture
) -> None:
    failing, other = Failing("end"), Heard()

    async with gsg.connect(door.url) as client:
        await client.stream("(?x)", failing)
        await client.stream("(?x)", other)
        await other.until(2)

    assert other.told[-1] == ("end", None)
    assert "what reads a subscription failed as it ended" in caplog.text


async def test_a_peer_that_names_other_variables_than_the_last_one_is_not_believed() -> None:
    heard = Heard()

    def script(at: int, request: Request) -> list[Reply]:
        return answer(request, 1) if at == 0 else [Subscribed(request.request, ("y",))]

    async with scripted(script) as peer, AsyncClient(peer.url, rng=Random(1), pause=no_pause) as client:
        await client.stream("(?x)", heard)
        await heard.until(3)
        peer.cut(0)
        [*_, (_, error)] = await heard.until(4)

    assert isinstance(error, PeerMisbehaved)
    assert "which were of ('x',) at the peer before" in str(error)


async def test_whoever_gives_up_while_it_is_made_leaves_nothing_behind() -> None:
    heard = Heard()
    async with scripted(lambda _, request: []) as peer, gsg.connect(peer.url) as client:
        asking = asyncio.create_task(client.stream("(?x)", heard))
        await peer.requests.get()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        assert client._connection.subscriptions == {}
        _, left = await peer.requests.get()
        assert isinstance(left, Unsubscribe)
