"""Where the doors of other peers are, as they are reached from here, and whom a peer tells of them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from peers import quiet, simulate

import dht
import gsg
from dht.simnet import SimNet
from gsg import Peer
from gsg.churn.heartbeats import BEAT_S, TOLD
from gsg.http.door import HttpDoor
from gsg.wire.door_urls import check_advertised, door_as_reached, read_door_url
from gsg.wire.known_doors import MAX_DOORS, KnownDoors
from gsg.wire.messages import Beat

PUBLIC, LOCAL = "http://10.0.0.2:8470", "http://127.0.0.1:8470"


def contact(number: int, host: str = "10.0.0.2") -> dht.Contact:
    return dht.Contact(number.to_bytes(20, "big"), host, 8471)


def table(own_host: str = "10.0.0.1") -> KnownDoors:
    return KnownDoors(own_host, lambda: None)


@pytest.mark.parametrize(
    ("said", "peer_host", "own_host", "reached"),
    [
        (PUBLIC, "10.0.0.2", "10.0.0.1", PUBLIC),
        ("https://peer2.example.org", "10.0.0.2", "10.0.0.1", "https://peer2.example.org:443"),
        ("http://0.0.0.0:8470", "10.0.0.2", "10.0.0.1", PUBLIC),
        ("http://[::]:8470", "fd00::2", "fd00::1", "http://[fd00::2]:8470"),
        ("http://0.0.0.0:8470", "0.0.0.0", "10.0.0.1", None),
        (LOCAL, "10.0.0.2", "10.0.0.1", None),
        ("http://localhost:8470", "10.0.0.2", "10.0.0.1", None),
        (LOCAL, "10.0.0.1", "10.0.0.1", LOCAL),
        (LOCAL, "127.0.0.1", "127.0.0.1", LOCAL),
        ("http://[::1]:8470", "::1", "::1", "http://[::1]:8470"),
    ],
    ids=[
        "an address",
        "a name",
        "bound to every address",
        "bound to every address of IPv6",
        "nowhere",
        "loopback of another machine",
        "localhost of another machine",
        "loopback of this machine, known by its address",
        "loopback of this machine",
        "loopback of IPv6",
    ],
)
def test_a_door_is_where_it_is_reached_from_here(said: str, peer_host: str, own_host: str, reached: str | None) -> None:
    assert door_as_reached(said, peer_host, own_host) == reached


@pytest.mark.parametrize(
    "text",
    [
        *("", "10.0.0.2:8470", "ftp://10.0.0.2", "http://", "http://u:p@10.0.0.2", "http://10.0.0.2/v1", "http://10.0.0.2?a"),
        *("http://10.0.0.2:99999", "http://10.0.0.2:0", "http://[::1", "http://10.0.0.2\n", "http://" + "a" * 300),
    ],
)
def test_what_is_no_url_of_a_door_is_neither_taken_nor_advertised(text: str) -> None:
    assert read_door_url(text) is None
    assert door_as_reached(text, "10.0.0.2", "10.0.0.1") is None
    with pytest.raises(gsg.LocalError, match="is no address of a door; expected one that clients reach"):
        check_advertised(text)


def test_a_door_on_loopback_is_told_only_to_clients_that_come_by_loopback() -> None:
    doors = table()
    doors.hear(contact(1), PUBLIC)
    doors.hear(contact(2, "10.0.0.1"), LOCAL)

    assert doors.told_to("10.0.0.9") == [PUBLIC]
    assert doors.told_to("127.0.0.1") == [PUBLIC, LOCAL]


def test_a_door_that_is_heard_of_is_news_once_and_gone_with_its_peer() -> None:
    doors = table()
    with doors.watch() as changed:
        assert doors.hear(contact(1), PUBLIC)
        assert not doors.hear(contact(1), PUBLIC)
        assert not doors.hear(contact(1), None)
        assert doors.told_to("10.0.0.9") == [PUBLIC]
        assert changed.is_set()

        changed.clear()
        assert not doors.hear(contact(1), "")
        assert doors.told_to("10.0.0.9") == []
        assert changed.is_set()

        doors.hear(contact(2), PUBLIC)
        doors.forget(contact(2).id)
        assert doors.told_to("10.0.0.9") == []


def test_of_more_doors_than_are_kept_the_first_stay_until_one_goes() -> None:
    doors = table()
    for number in range(MAX_DOORS + 1):
        doors.hear(contact(number), f"http://10.0.1.{number}:8470")
    assert len(doors.told_to("10.0.0.9")) == MAX_DOORS

    doors.forget(contact(0).id)

    assert doors.hear(contact(MAX_DOORS), PUBLIC)
    assert PUBLIC in doors.told_to("10.0.0.9")


def test_the_beat_of_a_peer_that_does_not_know_of_doors_says_nothing_of_one() -> None:
    class _OldBeat(msgspec.Struct, frozen=True, array_like=True, tag=33):
        request: int
        stamp: int

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(_OldBeat(1, 2)), type=Beat) == Beat(1, 2, None)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Beat(1, 2, PUBLIC)), type=_OldBeat) == _OldBeat(1, 2)


async def told_doors(client: gsg.AsyncClient, wanted: set[str]) -> None:
    """Until a client has been told of exactly these doors."""
    async with asyncio.timeout(20):
        while set(client._connection._doors._learnt) != wanted:
            await client.report()


async def test_peers_tell_their_clients_of_each_others_doors_as_they_open_and_as_their_peers_go() -> None:
    async with Peer() as one, HttpDoor(one, port=0) as door, gsg.connect(door.url) as client:
        async with Peer(join=[one.contact.address]) as other, HttpDoor(other, port=0) as its_door:
            await told_doors(client, {its_door.url})
            async with gsg.connect(its_door.url) as its_client:
                await told_doors(its_client, {door.url})
        await told_doors(client, set())


async def test_what_a_door_advertises_is_what_others_tell() -> None:
    async with (
        Peer() as one,
        HttpDoor(one, port=0) as door,
        Peer(join=[one.contact.address]) as other,
        HttpDoor(other, port=0, advertise="https://gsg.example.org/"),
        gsg.connect(door.url) as client,
    ):
        await told_doors(client, {"https://gsg.example.org:443"})


async def test_a_connection_is_told_of_doors_once() -> None:
    from gsg.http.protocol import AskDoors, Doors

    async with Peer() as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url, reconnect=False) as client:
        connection: Any = client._connection
        await connection.ask(AskDoors(connection.next_number()), Doors)

        with pytest.raises(gsg.LocalError, match="is told of other peers' doors already"):
            await connection.ask(AskDoors(connection.next_number()), Doors)


def test_peers_hear_of_the_doors_of_those_they_have_links_with_and_that_one_is_closed() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        urls = [f"http://{peer.contact.host}:8470" for peer in peers]
        for peer, url in zip(peers, urls, strict=True):
            peer.known_doors.open(url)
        await asyncio.sleep(30 * BEAT_S)
        for peer, url in zip(peers, urls, strict=True):
            assert len(peer.known_doors.told_to("10.9.9.9")) >= TOLD
            assert url not in peer.known_doors.told_to("10.9.9.9")
        assert any(urls[0] in peer.known_doors.told_to("10.9.9.9") for peer in peers)

        peers[0].known_doors.close(urls[0])
        await asyncio.sleep(30 * BEAT_S)

        assert [urls[0] in peer.known_doors.told_to("10.9.9.9") for peer in peers] == [False] * len(peers)

    simulate(work, seed=1, size=8)


def test_a_door_that_opens_is_told_to_some_at_once_who_say_where_theirs_are() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, *_, last = peers
        first.known_doors.open("http://10.8.0.1:8470")
        for peer in peers[1:-1]:
            peer.known_doors.open(f"http://{peer.contact.host}:8470")

        last.known_doors.open("http://10.8.0.2:8470")
        await quiet()

        assert last.known_doors.told_to("10.9.9.9")
        assert any("http://10.8.0.2:8470" in peer.known_doors.told_to("10.9.9.9") for peer in peers[:-1])

    simulate(work, seed=1, size=4)
