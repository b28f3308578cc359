"""Two whole endpoints over the loopback interface."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from random import Random

import pytest
import uvloop
from kademlia.network import Server

from dht import AddressInUse, Endpoint, Identity, JoinFailed, Link, Membership, random_id
from dht.links.link import LONG_READ_BYTES


def endpoint(seed: int, frames: asyncio.Queue[bytes], *, port: int = 0) -> Endpoint:
    rng = Random(seed)

    def take(link: Link, payloads: list[bytes]) -> None:
        for payload in payloads:
            frames.put_nowait(payload)

    return Endpoint(random_id(rng), "127.0.0.1", port, rng=rng, on_frames=take)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_two_peers_find_each_other_and_talk_both_ways(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(two_peers_find_each_other_and_talk_both_ways())


async def two_peers_find_each_other_and_talk_both_ways() -> None:
    frames_a: asyncio.Queue[bytes] = asyncio.Queue()
    frames_b: asyncio.Queue[bytes] = asyncio.Queue()
    async with asyncio.timeout(10), endpoint(1, frames_a) as a, endpoint(2, frames_b) as b:
        await b.overlay.join([("localhost", a.contact.port)])
        owners = await b.overlay.owners(a.contact.id, r=2)
        link = await b.links.connect(owners[0])

        link.send(b"question")
        asked = await frames_a.get()
        back = a.links.link_to(b.contact.id)
        assert back is not None
        back.send(b"answer")

        assert owners == (a.contact, b.contact)
        assert asked == b"question"
        assert await frames_b.get() == b"answer"


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_others_have_their_turn_while_a_link_brings_much(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(others_have_their_turn_while_a_link_brings_much())


async def others_have_their_turn_while_a_link_brings_much() -> None:
    in_turns = [0]
    everything = asyncio.Event()
    payload = bytes(50_000)

    def take(link: Link, payloads: list[bytes]) -> None:
        in_turns[-1] += len(payloads)
        if sum(in_turns) == 400:
            everything.set()

    def turn() -> None:
        in_turns.append(0)
        asyncio.get_running_loop().call_soon(turn)

    rng = Random(4)
    a = Endpoint(random_id(rng), "127.0.0.1", 0, rng=rng, on_frames=take)
    async with asyncio.timeout(20), a, endpoint(3, asyncio.Queue()) as b:
        await b.overlay.join([a.contact.address])
        link = await b.links.connect(a.contact)
        turn()
        for _ in range(400):
            link.send(payload)
        await everything.wait()

    assert max(in_turns) * len(payload) <= 2 * LONG_READ_BYTES + 256 * 1024


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_who_takes_no_more_in_the_middle_of_much_is_brought_no_more(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(who_takes_no_more_in_the_middle_of_much_is_brought_no_more())


async def who_takes_no_more_in_the_middle_of_much_is_brought_no_more() -> None:
    taken: list[bytes] = []
    stopped, everything = asyncio.Event(), asyncio.Event()

    def take(link: Link, payloads: list[bytes]) -> None:
        taken.extend(payloads)
        if len(taken) >= 100 and not stopped.is_set():
            link.pause_reading()
            stopped.set()
        if len(taken) == 400:
            everything.set()

    rng = Random(4)
    a = Endpoint(random_id(rng), "127.0.0.1", 0, rng=rng, on_frames=take)
    async with asyncio.timeout(20), a, endpoint(3, asyncio.Queue()) as b:
        await b.overlay.join([a.contact.address])
        link = await b.links.connect(a.contact)
        for _ in range(400):
            link.send(bytes(50_000))
        await stopped.wait()
        so_far = len(taken)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(taken) == so_far < 400

        back = a.links.link_to(b.contact.id)
        assert back is not None
        back.resume_reading()
        await everything.wait()


async def test_a_port_in_use_is_named_with_what_to_do() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(AddressInUse, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*give port 0 to take a free one"):
            async with endpoint(1, asyncio.Queue(), port=port):
                pass


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_udp_port_in_use_is_named_too(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def main() -> None:
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            with pytest.raises(AddressInUse, match=rf"127\.0\.0\.1:{port}: address already in use; .*port 0"):
                async with endpoint(1, asyncio.Queue(), port=port):
                    pass

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


def endpoint_at(host: str, seed: int, secret: bytes | None = None) -> Endpoint:
    rng = Random(seed)
    membership = Membership(Identity(rng.randbytes(32)), secret=secret)
    return Endpoint(membership.id, host, 0, rng=rng, on_frames=lambda link, payloads: None, incarnation=1, membership=membership)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
async def test_a_peer_that_listens_everywhere_is_joined_by_any_address_of_its_host() -> None:
    async with endpoint_at("0.0.0.0", 1) as first, endpoint_at("127.0.0.4", 2) as second:
        await second.overlay.join([("127.0.0.2", first.contact.port)])
        (known,) = second.overlay.contacts()
        link = await second.links.connect(known)

        # The kernel answers from the first address, and there it is asked again and known.
        assert known.id == first.contact.id
        assert link.peer == known


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
async def test_a_refusal_from_another_address_of_the_host_is_heard() -> None:
    async with endpoint_at("0.0.0.0", 1, secret=b"one secret of sixteen") as first, endpoint_at("127.0.0.4", 2) as second:
        with pytest.raises(JoinFailed) as failed:
            await second.overlay.join([("127.0.0.2", first.contact.port)])

    assert failed.value.is_refused


async def test_rubbish_on_the_udp_port_is_counted_and_the_peer_goes_on() -> None:
    async with asyncio.timeout(10), endpoint(1, asyncio.Queue()) as a, endpoint(2, asyncio.Queue()) as b:
        with closing(socket.socket(type=socket.SOCK_DGRAM)) as stranger:
            for size in (1, 21, 22, 1000):
                stranger.sendto(b"\xff" * size, a.contact.address)

        await b.overlay.join([a.contact.address])

        assert a.overlay.counts == {"datagrams malformed": 4}
        assert b.overlay.contacts() == [a.contact]


async def test_a_peer_that_listens_everywhere_learns_how_others_reach_it() -> None:
    rng = Random(3)
    everywhere = Endpoint(random_id(rng), "0.0.0.0", 0, rng=rng, on_frames=lambda link, payloads: None)
    async with asyncio.timeout(10), endpoint(1, asyncio.Queue()) as a, everywhere:
        await everywhere.overlay.join([a.contact.address])

        assert everywhere.contact.host == "127.0.0.1"
        assert await everywhere.overlay.owners(everywhere.contact.id) == (everywhere.contact,)


async def test_a_node_of_the_package_itself_can_ask_us() -> None:
    stock = Server(node_id=b"s" * 20)
    async with asyncio.timeout(10), endpoint(1, asyncio.Queue()) as a, endpoint(2, asyncio.Queue()) as b:
        await b.overlay.join([a.contact.address])
        await stock.listen(0, interface="127.0.0.1")
        try:
            found = await stock.bootstrap([a.contact.address])
        finally:
            stock.stop()

        assert {node.id for node in found} == {a.contact.id, b.contact.id}
