"""The package's own clients, against doors and against servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest

import gsg
import pedro_compat
from pedro_compat import AsyncClient, Client
from pedro_compat.client.client import State
from pedro_compat.client.client_lines import Delivery
from pedro_compat.door.door import PedroDoor


@asynccontextmanager
async def doors(count: int) -> AsyncIterator[list[PedroDoor]]:
    """The doors of peers that know each other."""
    async with AsyncExitStack() as stack:
        peers: list[gsg.Peer] = []
        made = []
        for _ in range(count):
            peers.append(await stack.enter_async_context(gsg.Peer(join=[peers[0].contact.address] if peers else [])))
            made.append(await stack.enter_async_context(PedroDoor(peers[-1], port=0)))
        yield made


# --- the client with async/await ------------------------------------------------------------------------------------------------


async def test_client_of_the_package_speaks_every_verb() -> None:
    async with doors(2) as [door, other], AsyncClient(port=door.port) as fred, AsyncClient(port=other.port) as bill:
        await fred.register("fred")
        await bill.register("bill")
        subscription = await fred.subscribe("price(P)", "P < 10", rock=4)
        deliveries = fred.deliveries()

        await bill.notify("price(12)")
        await bill.notify("price(9)")
        await bill.p2p("fred@localhost", "hello")

        assert [await anext(deliveries), await anext(deliveries)] == [
            (4, "price(9)"),
            (0, "p2pmsg(fred@localhost, bill@'127.0.0.1', hello)"),
        ]
        await fred.unsubscribe(subscription)
        await fred.deregister()
        with pytest.raises(gsg.Refused, match="refused 'price\\('"):
            await bill.notify("price(")


@asynccontextmanager
async def door_that_answers(answer: bytes) -> AsyncIterator[int]:
    """The info port of a server that accepts everybody, and answers every line so."""

    async def info(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"127.0.0.1 {ports[1]} {ports[2]}\n".encode())
        writer.close()

    async def ack(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(b"1\n")

    async def data(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readline()
        writer.write(b"ok\n")
        while await reader.readline():
            writers[0].write(answer)
            writer.write(answer)
        writer.close()

    ports: list[int] = []
    writers: list[asyncio.StreamWriter] = []
    async with AsyncExitStack() as stack:
        for serve in (info, ack, data):
            server = await stack.enter_async_context(await asyncio.start_server(serve, "127.0.0.1", 0))
            ports.append(server.sockets[0].getsockname()[1])
        yield ports[0]
        for writer in writers:
            writer.close()


async def test_client_whose_command_is_cancelled_takes_no_answer_for_another() -> None:
    async with door_that_answers(b"") as port, AsyncClient(port=port, reconnect_s=0) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.send("f(1)"), 0.05)

        with pytest.raises(gsg.PeerUnreachable, match=f"the pedro door at 127.0.0.1:{port} is gone$"):
            await client.send("f(2)")
        assert client.state is State.CLOSED


async def test_client_says_when_what_answers_is_no_pedro_door() -> None:
    async with door_that_answers(b"what?\n") as port, AsyncClient(port=port) as client:
        with pytest.raises(gsg.PeerMisbehaved, match=f"the pedro door at 127.0.0.1:{port} sent what is not Pedro's protocol"):
            await client.send("f(1)")
        with pytest.raises(gsg.PeerMisbehaved, match="sent what is not Pedro's protocol"):
            await anext(client.deliveries())


async def test_client_says_when_the_connection_is_lost_before_the_answer() -> None:
    async with door_that_answers(b"") as port, AsyncClient(port=port) as client:
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(refusal(client.send("f(1)")))
            await asyncio.sleep(0)
            client._line._ack_writer.transport.abort()

        assert f"the pedro door at 127.0.0.1:{port} is gone" in asked.result()


async def refusal(work: Awaitable[object]) -> str:
    """What is said against it."""
    with pytest.raises(gsg.GsgError) as refused:
        await work
    return str(refused.value)


async def test_client_says_when_nobody_answers() -> None:
    async with doors(1) as [door]:
        port = door.port

    with pytest.raises(gsg.PeerUnreachable, match=f"no pedro door answers at 127.0.0.1:{port}"):
        async with AsyncClient(port=port):
            pass


async def test_commands_of_several_tasks_are_pipelined_and_answered_in_order() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        answers = await asyncio.gather(
            *(client.send(line) for line in ["f(1)", "f(", "subscribe(f(X), true, 1)", "subscribe(g, true, 2)"])
        )

        assert answers == [1, 0, 1, 2]


async def test_client_whose_connection_is_lost_comes_back_with_its_name_and_subscriptions() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client, AsyncClient(port=door.port) as other:
        await client.register("fred")
        dropped = await client.subscribe("old(X)")
        kept = await client.subscribe("price(P)", "P < 10", rock=4)
        await client.unsubscribe(dropped)
        waiting = asyncio.ensure_future(client.delivery())

        client._line._data_writer.transport.abort()
        while client.connections < 2:  # noqa: ASYNC110  # the client has no business telling tests
            await asyncio.sleep(0)
        await other.register("bill")
        await other.notify("price(9)")
        await other.p2p("fred@localhost", "hello")

        assert [await waiting, await client.delivery()] == [
            (4, "price(9)"),
            (0, "p2pmsg(fred@localhost, bill@'127.0.0.1', hello)"),
        ]
        await client.unsubscribe(kept)
        await other.notify("price(8)")
        await other.p2p("fred@localhost", "again")
        assert await client.delivery() == (0, "p2pmsg(fred@localhost, bill@'127.0.0.1', again)")


async def test_next_command_restores_a_connection_that_was_lost() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        client._line.close()

        await client.notify("f(1)")

        assert (client.connections, client.state) == (2, State.CONNECTED)


async def test_client_gives_up_when_the_door_stays_away() -> None:
    async with doors(1) as [door]:
        client = await AsyncClient(port=door.port, reconnect_s=0.05).__aenter__()

    with pytest.raises(gsg.PeerUnreachable, match=r"no pedro door answers at .*; tried for 0\.05 s"):
        await client.delivery()
    with pytest.raises(gsg.PeerUnreachable, match=r"no pedro door answers at .*; tried for 0\.05 s"):
        await client.send("f(1)")
    await client.close()


async def test_closed_client_says_so_and_delivers_no_more() -> None:
    async with doors(1) as [door]:
        async with AsyncClient(port=door.port) as client:
            pass

        with pytest.raises(gsg.DoorClosed, match="this client is closed; connect with a new one"):
            await client.send("f(1)")
        assert await client.delivery() is None


async def test_client_that_waits_for_nothing_comes_back_too() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client, AsyncClient(port=door.port) as other:
        await client.subscribe("t(X)")
        await other.notify("t(1)")

        client._line._ack_writer.transport.abort()
        await come_back(client)
        await other.notify("t(2)")

        assert [await client.delivery(), await client.delivery()] == [(0, "t(1)"), (0, "t(2)")]
        assert (client.connections, client.state) == (2, State.CONNECTED)


async def test_deliveries_of_lost_connections_are_read_first_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pedro_compat.client.client.MAX_UNREAD_LINES", 2)
    monkeypatch.setattr("pedro_compat.client.client.SHORT_S", 0)
    async with doors(1) as [door], AsyncClient(port=door.port) as client, AsyncClient(port=door.port) as other:
        await client.subscribe("t(X)")
        for number in (1, 2, 3):
            await other.notify(f"t({number})")
            await client.notify("f")  # when it is answered, what was delivered before has come
            client._line.close()
            await come_back(client)

        assert [await client.delivery(), await client.delivery()] == [(0, "t(2)"), (0, "t(3)")]
    assert "has not read what was delivered by 3 connections" in caplog.text


async def test_connections_that_are_lost_at_once_are_not_restored_in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.client.client.RETRY_S", (60.0,))
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        client._line.close()
        await come_back(client)
        client._line.close()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.notify("f"), 0.05)
        assert (client.connections, client.state) == (2, State.RECONNECTING)


async def test_subscription_that_is_ended_while_the_connection_is_restored_is_the_right_one() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        first, ended, kept = [await client.subscribe(head) for head in ("a", "b", "c")]
        await client.unsubscribe(first)

        client._line.close()
        await client.unsubscribe(ended)
        for said in ("a", "b", "c"):
            await client.notify(said)

        assert await client.delivery() == (0, "c")
        await client.unsubscribe(kept)


async def test_name_that_is_not_given_back_stays() -> None:
    async with door_that_answers(b"0\n") as port, AsyncClient(port=port) as client:
        client.name = "admin"

        with pytest.raises(gsg.Refused, match="refused 'deregister\\(admin\\)'"):
            await client.deregister()
        assert client.name == "admin"


async def come_back(client: AsyncClient) -> None:
    """Until the client has a connection again."""
    before = client.connections
    async with asyncio.timeout(10):
        while client.connections == before:  # noqa: ASYNC110  # the client has no business telling tests
            await asyncio.sleep(0)


# --- what answers, and is no door ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def port_that_says(said: bytes, *, leaves: bool = True) -> AsyncIterator[int]:
    """The port of a server that says one thing to whoever connects."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(said)
        if leaves:
            writer.close()

    writers: list[asyncio.StreamWriter] = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        for writer in writers:
            writer.close()


async def test_client_does_not_wait_for_ever_for_what_stays_silent() -> None:
    async with port_that_says(b"", leaves=False) as port:
        with pytest.raises(gsg.PeerMisbehaved, match=r"has not said within 0\.05 s what a pedro door says; expected a host"):
            await AsyncClient(port=port, connect_s=0.05).__aenter__()


async def test_door_that_falls_silent_within_the_handshake_is_not_waited_for() -> None:
    async with port_that_says(b"", leaves=False) as silent, port_that_says(b"127.0.0.1 %d 1\n" % silent) as port:
        with pytest.raises(gsg.PeerMisbehaved, match=r"has not said within 0\.05 s what a pedro door says"):
            await AsyncClient(port=port, connect_s=0.05).__aenter__()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"HTTP/1.1 400 bad\r\n", "said b'HTTP/1.1 400 bad.*expected a host and two ports: is it a Pedro info port"),
        (b"HTTP/1.1 400 200\r\n", "names the host 'HTTP/1.1', which has no address"),
        (b"127.0.0.1 70000 1\n", "expected a host and two ports"),
        (b"127.0.0.1 1 0\n", "expected a host and two ports"),
        (b"127.0.0.1 1 2", "expected a host and two ports"),
        (b"\xff\xfe 1 2\n", "expected a host and two ports"),
        (b"x" * 100_000, "sent what is not Pedro's protocol"),
    ],
    ids=["http", "a host that is none", "a port too large", "no port", "no end", "bytes", "endless"],
)
async def test_client_says_what_it_was_told_instead_of_ports(said: bytes, message: str) -> None:
    async with port_that_says(said) as port:
        with pytest.raises(gsg.PeerMisbehaved, match=message):
            await AsyncClient(port=port).__aenter__()


async def test_door_that_leaves_without_a_word_may_serve_later() -> None:
    async with port_that_says(b"") as port:
        with pytest.raises(gsg.PeerUnreachable, match="has closed the connection without a word"):
            await AsyncClient(port=port).__aenter__()


async def test_client_waits_for_a_door_in_whose_place_something_else_answers_meanwhile() -> None:
    async with doors(1) as [door]:
        client = await AsyncClient(port=door.port, reconnect_s=0.1).__aenter__()
    async with port_that_says(b"what?\n") as port:
        client.port = port

        with pytest.raises(gsg.PeerMisbehaved, match=r"said b'what\?.*tried for 0\.1 s to connect anew"):
            await client.delivery()
    await client.close()


async def test_unsubscribing_from_what_is_no_subscription_is_refused() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        with pytest.raises(gsg.Refused, match="no subscription 7; expected one of none"):
            await client.unsubscribe(7)
        with pytest.raises(gsg.Refused, match="no name to give back"):
            await client.deregister()
        with pytest.raises(gsg.Refused, match="no name, and so no handle"):
            await client.p2p("fred@localhost", "hello")


async def test_threads_of_a_client_can_be_answered() -> None:
    async with doors(1) as [door], AsyncClient(port=door.port) as client:
        await client.register("fred")

        await client.p2p(client.handle, "hello", thread="worker")

        assert await client.delivery() == (0, "p2pmsg(fred@'127.0.0.1', worker:fred@'127.0.0.1', hello)")


async def test_client_that_was_not_entered_says_so() -> None:
    with pytest.raises(gsg.DoorClosed, match="not connected"):
        await AsyncClient().send("f(1)")


# --- the blocking client ------------------------------------------------------------------------------------------------


@contextmanager
def door_in_a_thread() -> Iterator[int]:
    """The port of a door that another thread serves, as blocking programs meet one."""
    ready: list[int] = []
    started, ending = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with doors(1) as [door]:
            ready.append(door.port)
            started.set()
            await ending.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait()
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join()
        loop.close()


def test_blocking_client_speaks_every_verb() -> None:
    with door_in_a_thread() as port, Client(port=port) as fred, Client(port=port) as bill:
        fred.register("fred")
        bill.register("bill")
        subscription = fred.subscribe("price(P)", "P < 10", rock=4)

        bill.notify("price(12)")
        bill.notify(("price", 9))
        bill.p2p(fred.handle, "hello")

        assert [fred.delivery(), fred.delivery()] == [
            (4, "price(9)"),
            (0, "p2pmsg(fred@'127.0.0.1', bill@'127.0.0.1', hello)"),
        ]
        assert fred.delivery(timeout_s=0) is None
        fred.unsubscribe(subscription)
        fred.deregister()
        assert (fred.name, bill.name, bill.connections, bill.state) == (None, "bill", 1, State.CONNECTED)
        assert bill.send("f(") == 0


def test_nothing_is_lost_by_a_wait_that_ended() -> None:
    with door_in_a_thread() as port, Client(port=port) as client:
        client.subscribe("f(X)")
        waited = client.delivery(timeout_s=0.01)
        client.notify("f(1)")

        assert (waited, client.delivery()) == (None, (0, "f(1)"))


def test_closing_ends_a_wait_in_another_thread() -> None:
    with door_in_a_thread() as port, Client(port=port) as client:
        heard: list[Delivery] = []
        reader = threading.Thread(target=lambda: heard.extend(client.deliveries()))
        client.subscribe("f(X)")
        client.notify("f(1)")
        reader.start()
        client.close()
        reader.join()

        with pytest.raises(gsg.DoorClosed, match="this client is closed; connect with another one"):
            client.notify("f(2)")
        assert client.delivery() is None
        assert heard in ([], [Delivery(0, "f(1)")])


def test_blocking_client_that_is_not_entered_says_so() -> None:
    with pytest.raises(gsg.DoorClosed, match="not connected; use it inside `with"):
        Client().delivery()


def test_blocking_client_says_when_nobody_answers() -> None:
    with door_in_a_thread() as port:
        pass

    with pytest.raises(gsg.PeerUnreachable, match=f"no pedro door answers at 127.0.0.1:{port}"), Client(port=port):
        pass


def test_blocking_client_does_not_wait_for_ever_for_what_stays_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(gsg.PeerMisbehaved, match="has not said within"):
        Client(port=silent.getsockname()[1], connect_s=0.05).__enter__()


def test_blocking_client_that_waits_for_nothing_comes_back_too() -> None:
    with door_in_a_thread() as port, Client(port=port) as client, Client(port=port) as other:
        client.subscribe("t(X)")

        client._thread._loop.call_soon_threadsafe(client._client._line._data_writer.transport.abort)
        with contextlib.suppress(gsg.PeerUnreachable):  # said while the connection was being lost
            client.register("fred")
        client.send("f")
        other.notify("t(1)")

        assert (client.delivery(timeout_s=10), client.connections) == ((0, "t(1)"), 2)


def test_both_clients_are_public() -> None:
    assert (pedro_compat.AsyncClient, pedro_compat.Client) == (AsyncClient, Client)


def test_the_client_loads_nothing_of_the_http_client() -> None:
    code = "import sys, pedro_compat; pedro_compat.Client; print({'websockets', 'gsg.http.client'} & set(sys.modules))"

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert loaded.stdout == "set()\n"
