"""A client of the HTTP door, against a peer that says what the test wants."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve

import gsg
from gsg import AsyncClient, LocalError, Overrun, PeerMisbehaved, PeerUnreachable, Stale
from gsg.http.protocol import (
    AskDoors,
    Done,
    Dropped,
    Ended,
    Failed,
    OutOfDate,
    Reply,
    Request,
    Rows,
    Subscribe,
    Subscribed,
    Unsubscribe,
    UpToDate,
)

Script = Callable[[Request], list[Reply | bytes]]


class Double:
    """Answers each request with what its script says, and keeps the requests."""

    def __init__(self) -> None:
        self.script: Script = lambda request: [Subscribed(request.request, ("x",)), UpToDate(request.request)]
        self.requests: asyncio.Queue[Request] = asyncio.Queue()
        self.url = ""

    async def talk(self, socket: ServerConnection) -> None:
        async for data in socket:
            request: Request = msgspec.msgpack.decode(data, type=Request)  # type: ignore[arg-type]  # binary frames only
            if isinstance(request, AskDoors):
                continue
            self.requests.put_nowait(request)
            for reply in self.script(request):
                await socket.send(reply if isinstance(reply, bytes) else msgspec.msgpack.encode(reply))


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    made = Double()
    async with serve(made.talk, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        made.url = f"http://127.0.0.1:{port}"
        yield made


@pytest.fixture
async def client(double: Double) -> AsyncIterator[AsyncClient]:
    async with gsg.connect(double.url) as made:
        yield made


@pytest.mark.parametrize("as_told", [True, False], ids=["the subscription has ended", "the connection is lost"])
async def test_what_ends_a_subscription_before_its_maker_resumes_is_not_lost(
    double: Double, client: AsyncClient, as_told: bool
) -> None:
    double.script = lambda request: []
    subscribing = asyncio.create_task(client.subscribe("(?x)"))
    number = (await double.requests.get()).request
    client._connection.receive(Subscribed(number, ("x",)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # All of it in one turn of the loop.
    client._connection.receive(Rows(number, [1], [(1,)]))
    client._connection.receive(UpToDate(number))
    if as_told:
        client._connection.receive(Ended(number, Failed(number, "PeerUnreachable", "gone")))
    else:
        client._connection.end(PeerUnreachable("gone"))

    subscription = await subscribing

    assert [str(row) for _, row in await subscription.batch(9)] == ["?x=1"]
    with pytest.raises(PeerUnreachable, match="gone"):
        await asyncio.wait_for(subscription.batch(1), 10)


async def test_a_subscription_that_ends_before_its_answer_is_whole_fails(double: Double, client: AsyncClient) -> None:
    double.script = lambda request: [
        Subscribed(request.request, ("x",)),
        Ended(request.request, Failed(request.request, "PeerUnreachable", "gone")),
    ]

    with pytest.raises(PeerUnreachable, match="gone"):
        await client.subscribe("(?x)")


WRONG: dict[str, Script] = {
    "sign": lambda request: [Rows(request.request, [5], [(1,)])],
    "fewer rows than signs": lambda request: [Rows(request.request, [1, 1], [(1,)])],
    "longer row": lambda request: [Rows(request.request, [1], [(1, 2)])],
    "reason for dropping": lambda request: [Dropped(request.request, Failed(request.request, "Refused", "no"))],
    "reason for being out of date": lambda request: [OutOfDate(request.request, Failed(request.request, "Refused", "no"))],
    "garbage": lambda request: [b"\xc1"],
    "deep": lambda request: [b"\x91" * 10_000],
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_a_peer_that_sends_what_it_must_not_is_left(double: Double, wrong: Script) -> None:
    double.script = lambda request: [Subscribed(request.request, ("x",)), *wrong(request)]

    async with gsg.connect(double.url) as client:
        with pytest.raises(PeerMisbehaved, match=f"the peer at {double.url} sent what is no reply: "):
            await asyncio.wait_for(client.subscribe("(?x)"), 10)
        with pytest.raises(PeerMisbehaved):
            await client.insert([(1,)])


async def test_a_mistake_of_ours_while_reading_ends_the_client_and_is_logged(
    double: Double, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with gsg.connect(double.url) as client:
        monkeypatch.setattr(client._connection, "receive", lambda reply: 1 // 0)
        with pytest.raises(LocalError, match=f"this client failed at a message of the peer at {double.url}: ZeroDivisionError: "):
            await asyncio.wait_for(client.subscribe("(?x)"), 10)

    assert "could not be taken" in caplog.text


@pytest.mark.parametrize("answered", [True, False])
async def test_a_subscription_that_is_cancelled_is_ended_at_the_peer(double: Double, client: AsyncClient, answered: bool) -> None:
    def script(request: Request) -> list[Reply | bytes]:
        if isinstance(request, Unsubscribe):
            return [Done(request.request)]
        return [Subscribed(request.request, ("x",))] if answered else []

    double.script = script
    subscribing = asyncio.create_task(client.subscribe("(?x)"))
    asked = await double.requests.get()

    subscribing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await subscribing
    told = await asyncio.wait_for(double.requests.get(), 10)

    assert isinstance(told, Unsubscribe)
    assert told.subscription == asked.request


async def test_dropped_events_are_told_once_and_the_subscription_goes_on(double: Double, client: AsyncClient) -> None:
    def script(request: Request) -> list[Reply | bytes]:
        number = request.request
        dropped = Dropped(number, Failed(number, "Overrun", "8 events were dropped", lost=8))
        return [Subscribed(number, ("x",)), dropped, UpToDate(number), dropped, Rows(number, [0], [(1,)])]

    double.script = script
    subscription = await client.subscribe("(?x)", limit=7)
    while not subscription.pending:  # noqa: ASYNC110  # a subscription that waits would take what it waits for
        await asyncio.sleep(0)

    with pytest.raises(Overrun, match="16 events were dropped") as caught:
        await subscription.batch(1)
    assert [str(row) for _, row in await subscription.batch(9)] == ["?x=1"]
    assert caught.value.lost == 16
    asked = await double.requests.get()
    assert isinstance(asked, Subscribe)
    assert asked.limit == 7


@pytest.mark.parametrize("at_once", [True, False], ids=["before the answer", "after it"])
async def test_that_rows_may_be_out_of_date_is_told_once_and_the_subscription_goes_on(
    double: Double, client: AsyncClient, at_once: bool
) -> None:
    def script(request: Request) -> list[Reply | bytes]:
        number = request.request
        stale = OutOfDate(number, Failed(number, "Stale", "rows may be out of date"))
        said: list[Reply | bytes] = [stale, UpToDate(number)] if at_once else [UpToDate(number), stale]
        return [Subscribed(number, ("x",)), *said, Rows(number, [1], [(1,)])]

    double.script = script
    subscription = await client.subscribe("(?x)")
    while not subscription.pending:  # noqa: ASYNC110  # a subscription that waits would take what it waits for
        await asyncio.sleep(0)

    with pytest.raises(Stale, match="rows may be out of date"):
        await subscription.batch(1)
    assert [str(row) for _, row in await subscription.batch(9)] == ["?x=1"]


async def test_closing_a_subscription_that_has_ended_meanwhile_is_no_error(double: Double, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x)")
    double.script = lambda request: [Failed(request.request, "LocalError", "no subscription was made by request 1")]

    await subscription.close()


async def test_the_choice_of_overflow_goes_to_the_peer_and_holds_here_as_well(double: Double, client: AsyncClient) -> None:
    def script(request: Request) -> list[Reply | bytes]:
        number = request.request
        return [Subscribed(number, ("x",)), UpToDate(number)] if isinstance(request, Subscribe) else [Done(number)]

    double.script = script
    subscription = await client.subscribe("(?x)", limit=2, overflow="error")
    asked = await double.requests.get()
    assert isinstance(asked, Subscribe)
    assert asked.overflow == "error"

    client._connection.receive(Rows(asked.request, [0, 0, 0], [(1,), (2,), (3,)]))

    assert [str(row) for _, row in await subscription.batch(9)] == ["?x=1", "?x=2"]
    with pytest.raises(Overrun, match="the subscription has ended because 2 differences were waiting to be read"):
        await subscription.batch(1)
    assert await double.requests.get() == Unsubscribe(asked.request + 1, asked.request)


async def test_an_overrun_that_ends_a_subscription_at_the_peer_ends_it_here(double: Double, client: AsyncClient) -> None:
    def script(request: Request) -> list[Reply | bytes]:
        number = request.request
        ended = Ended(number, Failed(number, "Overrun", "it has ended", lost=3))
        return [Subscribed(number, ("x",)), UpToDate(number), Rows(number, [0], [(1,)]), ended]

    double.script = script
    subscription = await client.subscribe("(?x)", overflow="error")
    while not subscription.has_ended:  # noqa: ASYNC110  # nothing tells when all has come
        await asyncio.sleep(0)

    assert [str(row) for _, row in await subscription.batch(9)] == ["?x=1"]
    with pytest.raises(Overrun, match="it has ended"):
        await subscription.batch(1)


async def test_an_overflow_that_there_is_not_is_refused_before_anything_is_sent(double: Double, client: AsyncClient) -> None:
    with pytest.raises(gsg.LocalError, match="overflow='never'; expected resync, drop_oldest, error"):
        await client.subscribe("(?x)", overflow="never")
    assert double.requests.empty()


async def test_a_client_that_was_cut_off_for_its_silence_is_told_so() -> None:
    async def cut_off(socket: ServerConnection) -> None:
        await socket.close(1011, "keepalive ping timeout")

    async with serve(cut_off, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with gsg.connect(f"http://127.0.0.1:{port}", reconnect=False) as client:
            with pytest.raises(PeerUnreachable, match="has cut this client off, which did not answer for 20 s or more"):
                await client.insert([("a",)])


@pytest.mark.parametrize(
    ("call", "next_step"),
    [
        (
            lambda client: client.subscribe("(?x)"),
            "connect and subscribe again, here or at another peer: rows begin again with a snapshot, and events in between are "
            "not told",
        ),
        (
            lambda client: client.channel.subscribe("true"),
            "connect and subscribe again, here or at another peer: events in between are not told",
        ),
        (
            lambda client: client.notify([("a",)]),
            "what it was asked may have been done or not: connect and ask again, here or at another peer; facts that are there "
            "already change nothing, and an event may be told twice",
        ),
    ],
    ids=["who subscribes", "who subscribes to events of a channel", "who publishes"],
)
async def test_what_a_peer_that_dies_leaves_its_clients_to_do_is_said(
    call: Callable[[AsyncClient], Awaitable[object]], next_step: str
) -> None:
    async def die(socket: ServerConnection) -> None:
        socket.transport.abort()
        await socket.wait_closed()

    async with serve(die, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with gsg.connect(f"http://127.0.0.1:{port}", reconnect=False) as client:
            with pytest.raises(PeerUnreachable) as lost:
                await call(client)
            with pytest.raises(PeerUnreachable, match=r"for not reading; connect again, here or at another peer$"):
                await call(client)

    assert str(lost.value) == (
        f"the peer at http://127.0.0.1:{port} is lost without a word: it died, the connection broke, or it cut this client off "
        f"for not reading; {next_step}"
    )


async def test_a_peer_that_hangs_is_not_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.client.opening.OPEN_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(PeerUnreachable, match=f"nobody answers at {url} within 0.05 s, .* a peer there is stopped or hangs"):
            async with gsg.connect(url):
                pass


async def test_who_answers_and_speaks_no_http_is_not_said_to_be_missing() -> None:
    async with gsg.Peer() as peer:
        url = "http://{}:{}".format(*peer.contact.address)
        with pytest.raises(PeerUnreachable, match=rf"^what answers at {url} is no HTTP door: .*its --http.*not that of --listen"):
            async with gsg.connect(url):
                pass
