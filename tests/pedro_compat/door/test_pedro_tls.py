"""Pedro's door over TLS: all three sockets, with our clients and with any that has TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from certified import Files
from pedro_doors import doors

import pedro_compat
from gsg.doors.renewal import RenewedContext
from gsg.errors import PeerMisbehaved, PeerUnreachable
from pedro_compat.client.client_lines import Delivery
from pedro_compat.door.door import PedroDoor

pytestmark = pytest.mark.waits


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A folder for certificates."""
    return Files.at(tmp_path / "tls")


@pytest.fixture
async def door(files: Files) -> AsyncIterator[PedroDoor]:
    """A door that speaks TLS."""
    async with doors(1, tls=files.server()) as [(_, made)]:
        yield made


def failed(door: PedroDoor) -> int:
    """What the door counts."""
    return next(count.count for count in door._counted() if count.name == "pedro_tls_handshakes_failed")


async def test_clients_tell_each_other_over_tls(door: PedroDoor, files: Files) -> None:
    tls = files.client()
    async with (
        pedro_compat.AsyncClient(port=door.port, tls=tls) as hears,
        pedro_compat.AsyncClient(port=door.port, tls=tls) as says,
    ):
        await hears.subscribe("temp(K, T)", "T > 20", 7)
        await says.notify("temp(kitchen, 25)")
        told = await hears.delivery()
        await hears.register("bob")
        await says.register("alice")
        await says.p2p(hears.handle, "hello")
        message = await hears.delivery()

    assert told == Delivery(7, "temp(kitchen, 25)")
    assert message is not None
    assert message.line.endswith("hello)")
    assert failed(door) == 0


async def test_a_client_without_async_speaks_tls(door: PedroDoor, files: Files) -> None:
    def tell() -> object:
        with pedro_compat.Client(port=door.port, tls=files.client()) as client:
            client.subscribe("temp(K, T)", "true", 3)
            client.notify("temp(kitchen, 25)")
            return client.delivery(timeout_s=10)

    assert await asyncio.to_thread(tell) == Delivery(3, "temp(kitchen, 25)")


async def test_any_client_with_sockets_of_tls_is_served(door: PedroDoor, files: Files) -> None:
    context = files.client()

    def lines(port: int) -> tuple[ssl.SSLSocket, Iterator[bytes]]:
        import socket

        connected = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10), server_hostname="127.0.0.1")
        return connected, connected.makefile("rb")

    def talk() -> tuple[bytes, bytes, bytes, bytes]:
        info, told = lines(door.port)
        _, ack_port, data_port = next(told).split()
        ack, answers = lines(int(ack_port))
        data, deliveries = lines(int(data_port))
        with info, ack, data:
            data.sendall(next(answers))
            accepted = next(deliveries)
            data.sendall(b"subscribe(temp(K, T), (true), 9)\ntemp(kitchen, 25)\n")
            return accepted, next(answers), next(answers), next(deliveries)

    accepted, subscribed, notified, delivered = await asyncio.to_thread(talk)

    assert accepted == b"ok\n"
    assert int(subscribed) > 0
    assert notified == b"1\n"
    assert delivered == b"9 temp(kitchen, 25)\n"


async def test_long_deliveries_come_whole_and_in_order(files: Files) -> None:
    async with (
        doors(1, tls=files.server(), size=100_000) as [(_, door)],
        pedro_compat.AsyncClient(port=door.port, tls=files.client()) as client,
    ):
        await client.subscribe("said(N, X)", "true", 1)
        for number in range(50):
            await client.notify(f'said({number}, "{"x" * 50_000}")')
        told = [await client.delivery() for _ in range(50)]

    assert [each.line.partition(",")[0] for each in told if each is not None] == [f"said({number}" for number in range(50)]


async def test_a_certificate_is_checked_against_the_host_that_was_named(door: PedroDoor, files: Files) -> None:
    async with pedro_compat.AsyncClient("localhost", door.port, tls=files.client()) as client:
        assert await client.subscribe("by_name(X)", "true", 1) > 0
    async with doors(1, tls=files.server("127.0.0.1")) as [(_, other)]:
        with pytest.raises(PeerUnreachable, match="is not trusted: Hostname mismatch"):
            await pedro_compat.AsyncClient("localhost", other.port, tls=files.client()).__aenter__()


async def test_a_certificate_that_is_not_trusted_is_said(door: PedroDoor, files: Files) -> None:
    with pytest.raises(PeerUnreachable, match=r"is not trusted: .*tls=ssl\.create_default_context"):
        await pedro_compat.AsyncClient(port=door.port, tls=ssl.create_default_context()).__aenter__()

    async with pedro_compat.AsyncClient(port=door.port, tls=files.client()) as client:
        assert await client.subscribe("still_here(X)", "true", 1) > 0
    assert failed(door) == 1


async def test_a_plain_client_at_a_door_of_tls_is_told_what_may_be_wrong(door: PedroDoor, files: Files) -> None:
    with pytest.raises(PeerMisbehaved, match="and not one that speaks TLS"):
        await pedro_compat.AsyncClient(port=door.port, connect_s=0.3).__aenter__()

    async with pedro_compat.AsyncClient(port=door.port, tls=files.client()) as client:
        assert await client.subscribe("still_here(X)", "true", 1) > 0
    assert door.clients == 0 or failed(door) == 1


async def test_a_client_of_tls_is_told_that_a_door_is_plain(files: Files) -> None:
    async with doors(1) as [(_, door)]:
        with pytest.raises(PeerUnreachable, match="speaks no TLS"):
            await pedro_compat.AsyncClient(port=door.port, tls=files.client()).__aenter__()


async def test_clients_show_a_certificate_where_one_is_asked_for(files: Files) -> None:
    async with doors(1, tls=files.server(client_ca=files.ca)) as [(_, door)]:
        with pytest.raises(PeerUnreachable):
            await pedro_compat.AsyncClient(port=door.port, tls=files.client()).__aenter__()
        async with pedro_compat.AsyncClient(port=door.port, tls=files.client("alice")) as client:
            assert await client.subscribe("still_here(X)", "true", 1) > 0
        assert failed(door) == 1


async def test_who_is_of_no_network_that_is_served_comes_to_no_handshake(
    files: Files, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shaken: list[object] = []
    monkeypatch.setattr(RenewedContext, "current", lambda context: shaken.append(context))
    async with doors(1, tls=files.server(), allow=[["192.0.2.0/24"]]) as [(_, door)]:
        for port in (door.port, *door.ports):
            with pytest.raises(OSError, match=r"."):
                await asyncio.open_connection("127.0.0.1", port, ssl=files.client())
        counted = {count.name: count.count for count in door._counted()}

    assert shaken == []
    assert (counted["pedro_connections_refused"], counted["pedro_tls_handshakes_failed"]) == (3, 0)
    assert caplog.messages == ["connections from 127.0.0.1 are closed: clients are served from 192.0.2.0/24"]


async def test_who_is_of_a_network_that_is_served_speaks_tls(files: Files) -> None:
    async with (
        doors(1, tls=files.server(), allow=[["127.0.0.0/8"]]) as [(_, door)],
        pedro_compat.AsyncClient(port=door.port, tls=files.client()) as client,
    ):
        assert await client.subscribe("still_here(X)", "true", 1) > 0
