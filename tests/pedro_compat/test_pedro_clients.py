"""The package's own clients, against doors and against servers that misbehave."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest

import gsg
import pedro_compat
from pedro_compat import AsyncClient, Client
from pedro_compat.client import State
from pedro_compat.door import PedroDoor
from pedro_compat.terms import Var, make_list
from pedro_compat.verbs import Delivery, line_of, p2p_line, register_line, subscribe_line


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


# --- what is said ------------------------------------------------------------------------------------------------


def test_terms_are_written_and_texts_are_taken_as_they_are() -> None:
    assert line_of("f( X )") == "f( X )"
    assert line_of(("temp", "kitchen", 25, b"hot", make_list([1, 2.5]))) == 'temp(kitchen,25,"hot",[1,2.5])'


def test_a_variable_of_head_and_body_keeps_its_name() -> None:
    temperature = Var("T")

    assert subscribe_line(("temp", temperature), (">", temperature, 20), 3) == "subscribe(temp(T), (>(T,20)), 3)"


def test_two_variables_of_one_name_stay_two() -> None:
    assert subscribe_line(("f", Var("X"), Var("X")), "true", 0) == "subscribe(f(X,_1), (true), 0)"


def test_names_are_quoted_where_they_have_to_be() -> None:
    assert register_line("B 1") == "register('B 1')"
    assert p2p_line(("@", Var("_"), "localhost"), "me@here", ("f", 1)) == "p2pmsg(@(_0,localhost), me@here, f(1))"


def test_a_text_of_two_lines_is_refused() -> None:
    with pytest.raises(gsg.Refused, match="holds a newline, which ends a line"):
        line_of("f(1)\nf(2)")


def test_a_delivery_says_its_term() -> None:
    assert Delivery(0, "f(a, [1])").term() == ("f", "a", (".", 1, "[]"))


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
    with pytest.raises(gsg.DoorClosed, match="this client is closed; connect with a new one"):
        await client.send("f(1)")


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

        with pytest.raises(gsg.DoorClosed, match="not connected; use it inside `with"):
            client.notify("f(2)")
        assert heard in ([], [Delivery(0, "f(1)")])


def test_blocking_client_says_when_nobody_answers() -> None:
    with door_in_a_thread() as port:
        pass

    with pytest.raises(gsg.PeerUnreachable, match=f"no pedro door answers at 127.0.0.1:{port}"), Client(port=port):
        pass


def test_both_clients_are_public() -> None:
    assert (pedro_compat.AsyncClient, pedro_compat.Client) == (AsyncClient, Client)
