"""Strangers at a network whose peers prove who they are: over the simulated network, and a few real sockets with TLS."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import uvloop

from dht import (
    Contact,
    Endpoint,
    Identity,
    JoinFailed,
    Link,
    Links,
    Membership,
    NoRoomForKey,
    PeerUnreachable,
    WrongPeer,
    random_id,
)
from dht.datagrams.sealed_datagrams import INTRODUCTION
from dht.errors import Refusal
from dht.links.tls import LinkTls, TlsFailed
from dht.simnet import SimNet, run

PORT = 7400
SECRET = b"the network's secret"


class Peer:
    """An endpoint that remembers what it was told."""

    def __init__(self, host: str, rng: Random, *, port: int = PORT, tls: bool = False, life: int = 1, **options: object) -> None:
        self.identity = Identity(rng.randbytes(32))
        self.membership = Membership(self.identity, **options)  # type: ignore[arg-type]  # as Membership takes them
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.reads: list[int] = []
        self.endpoint = Endpoint(
            self.identity.id,
            host,
            port,
            rng=rng,
            on_frames=self.take,
            membership=self.membership,
            link_tls=tls,
            incarnation=life,
        )

    def take(self, link: Link, payloads: list[bytes]) -> None:
        self.reads.append(len(payloads))
        for payload in payloads:
            self.frames.put_nowait(payload)


def peer(net: SimNet, **options: object) -> Peer:
    return Peer(net.host(), net.rng(), **options)  # type: ignore[arg-type]  # as Peer takes them


def copy_of(net: SimNet, first: Peer) -> Endpoint:
    """A second process with a peer's key, started later, elsewhere."""
    rng, membership = net.rng(), Membership(first.identity)
    return Endpoint(first.identity.id, net.host(), PORT, rng=rng, on_frames=first.take, membership=membership, incarnation=2)


def test_peers_of_one_network_find_each_other_and_talk() -> None:
    async def main(net: SimNet) -> None:
        members = [peer(net, secret=SECRET) for _ in range(8)]
        async with asyncio.timeout(60):
            for member in members:
                await member.endpoint.__aenter__()
                await member.endpoint.overlay.join([members[0].endpoint.contact.address] if member is not members[0] else [])
            await asyncio.sleep(20)
            target = random_id(net.rng())
            answers = {tuple(await each.endpoint.overlay.owners(target, r=3)) for each in members}
            link = await members[1].endpoint.links.connect(members[6].endpoint.contact)
            link.send(b"hello")
            assert await members[6].frames.get() == b"hello"
            assert len(answers) == 1
            assert [each.membership.counts for each in members] == [{}] * 8
            for member in members:
                await member.endpoint.__aexit__(None, None, None)

    run(main, seed=1)


OUTSIDE = {
    "a wrong secret": {"secret": SECRET + b"?"},
    "no secret": {},
}


@pytest.mark.parametrize("options", OUTSIDE.values(), ids=OUTSIDE)
def test_a_stranger_cannot_join_is_told_why_once_and_is_counted(options: dict[str, object]) -> None:
    async def main(net: SimNet) -> None:
        inside, outside = peer(net, secret=SECRET), peer(net, **options)
        async with inside.endpoint, outside.endpoint:
            await inside.endpoint.overlay.join([])
            with pytest.raises(JoinFailed, match=r"10\.0\.0\.1:7400 refused: it belongs to another network, or to this one with"):
                await outside.endpoint.overlay.join([inside.endpoint.contact.address])
            with pytest.raises(PeerUnreachable, match="refused: it belongs to another network"):
                await outside.endpoint.links.connect(inside.endpoint.contact)
            assert inside.endpoint.overlay.contacts() == outside.endpoint.overlay.contacts() == []
            assert inside.endpoint.links.open_links() == []
            assert inside.membership.counts[Refusal.OTHER_NETWORK] >= 2

    run(main, seed=2)


def test_an_address_that_refuses_is_named_where_another_lets_the_peer_in(caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        friend, other, comer = peer(net), peer(net, secret=SECRET), peer(net)
        async with friend.endpoint, other.endpoint, comer.endpoint:
            await friend.endpoint.overlay.join([])
            await other.endpoint.overlay.join([])
            await comer.endpoint.overlay.join([each.endpoint.contact.address for each in (other, friend, comer)])
            assert comer.endpoint.overlay.contacts() == [friend.endpoint.contact]

    run(main, seed=2)
    [warning] = [record.getMessage() for record in caplog.records if record.name == "dht.overlay.joining"]
    assert warning.startswith("not entered by 10.0.0.2:7400: refused: it belongs to another network")
    assert warning.endswith("; entered by 10.0.0.1:7400")


def test_a_peer_that_is_not_on_the_list_is_told_so_and_the_others_are_let_in() -> None:
    async def main(net: SimNet) -> None:
        friend, stranger = peer(net), peer(net)
        inside = peer(net, allowed=[friend.identity.id])
        async with inside.endpoint, friend.endpoint, stranger.endpoint:
            await inside.endpoint.overlay.join([])
            await friend.endpoint.overlay.join([inside.endpoint.contact.address])
            with pytest.raises(
                JoinFailed,
                match=r"refused: this peer is not on its list of allowed peers; ask for its id .*; its id is [0-9a-f]{40}",
            ):
                await stranger.endpoint.overlay.join([inside.endpoint.contact.address])
            with pytest.raises(PeerUnreachable, match="not on its list of allowed peers"):
                await stranger.endpoint.links.connect(inside.endpoint.contact)
            assert inside.endpoint.overlay.contacts() == [friend.endpoint.contact]
            assert inside.membership.counts[Refusal.NOT_ALLOWED] >= 2

    run(main, seed=3)


def test_a_peer_whose_own_list_lacks_the_one_to_join_is_told_so() -> None:
    async def main(net: SimNet) -> None:
        friend, other = peer(net), peer(net)
        choosy = peer(net, allowed=[friend.identity.id])
        async with other.endpoint, choosy.endpoint:
            await other.endpoint.overlay.join([])
            with pytest.raises(JoinFailed) as failed:
                await choosy.endpoint.overlay.join([other.endpoint.contact.address])

        ((_, problem),) = failed.value.tried
        assert problem == (
            "somebody answers, and this peer's own list of allowed peers does not have it; add its id (--allow-peers)"
        )
        assert not failed.value.is_refused

    run(main, seed=4)


def test_a_peer_whose_links_are_not_ciphered_like_ours_cannot_join_and_is_told_why() -> None:
    async def main(net: SimNet) -> None:
        inside, outside = peer(net, tls=True), peer(net)
        async with inside.endpoint, outside.endpoint:
            await inside.endpoint.overlay.join([])
            with pytest.raises(
                JoinFailed, match="refused: its links are TLS and this peer's are plain; start this one with --link-tls"
            ):
                await outside.endpoint.overlay.join([inside.endpoint.contact.address])
            assert inside.endpoint.overlay.contacts() == outside.endpoint.overlay.contacts() == []
            assert inside.membership.counts[Refusal.TLS_ONLY] >= 1

    run(main, seed=3)


def test_a_copy_of_a_peer_does_not_join_beside_it_and_both_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        first, other = peer(net), peer(net)
        copy = copy_of(net, first)
        async with first.endpoint, other.endpoint, copy:
            await first.endpoint.overlay.join([])
            await other.endpoint.overlay.join([first.endpoint.contact.address])
            with pytest.raises(JoinFailed, match="refused: another process runs with this peer's key; stop one of them"):
                await copy.overlay.join([first.endpoint.contact.address, other.endpoint.contact.address])

    run(main, seed=3)
    assert sum("runs twice" in message for message in caplog.messages) >= 2


def test_a_peer_that_was_copied_is_known_again_when_the_copy_has_gone() -> None:
    async def main(net: SimNet) -> None:
        others = [peer(net) for _ in range(3)]
        first = peer(net)
        copy = copy_of(net, first)
        async with others[0].endpoint, others[1].endpoint, others[2].endpoint, first.endpoint:
            for each in (*others, first):
                await each.endpoint.overlay.join([others[0].endpoint.contact.address] if each is not others[0] else [])
            await asyncio.sleep(10)
            async with copy:
                await copy.overlay.join([others[0].endpoint.contact.address])
                await asyncio.sleep(20)
                between = {each.endpoint.overlay.knows(first.identity.id) for each in others}
            await asyncio.sleep(200)

            known = {each.endpoint.overlay.knows(first.identity.id) for each in others}
            assert between != known == {first.endpoint.contact}

    run(main, seed=3)


class Ear(asyncio.DatagramProtocol):
    """A socket of a stranger."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a datagram transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.heard.append(data)


def test_recorded_datagrams_played_again_from_anywhere_make_nobody_known() -> None:
    async def main(net: SimNet) -> None:
        net.trace = []
        a, b = peer(net), peer(net)
        async with a.endpoint:
            await a.endpoint.overlay.join([])
            async with b.endpoint:
                await b.endpoint.overlay.join([a.endpoint.contact.address])
            said = [event[4] for event in net.trace if event[1] == "datagram" and event[2] == b.endpoint.contact.address]
            assert [each for each in said if isinstance(each, bytes) and each[:1] == INTRODUCTION] != []
            await asyncio.sleep(60)
            assert a.endpoint.overlay.contacts() == []

            # From elsewhere, and from where B lived.
            for host in (net.host(), b.endpoint.contact.host):
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Ear, local_addr=(host, PORT))
                for each in said:
                    transport.sendto(each, a.endpoint.contact.address)  # type: ignore[arg-type]  # a datagram
                await asyncio.sleep(20)
                transport.close()

            counts = a.endpoint.overlay.counts
            assert a.endpoint.overlay.contacts() == []
            assert counts["datagrams from another address"] == len(said)
            assert counts["datagrams repeated"] == len(said)

    run(main, seed=4)


def test_nobody_takes_anothers_id_nor_its_links() -> None:
    """The forger runs our own code with its own key, and claims the victim's id wherever an id is said."""

    async def main(net: SimNet) -> None:
        a, victim, forger = peer(net), peer(net), peer(net)
        forger.membership.identity.id = victim.identity.id
        forger.endpoint = Endpoint(
            victim.identity.id, net.host(), PORT, rng=net.rng(), on_frames=forger.take, membership=forger.membership, incarnation=99
        )
        async with a.endpoint, forger.endpoint, victim.endpoint:
            await victim.endpoint.overlay.join([a.endpoint.contact.address])
            with pytest.raises(JoinFailed):
                await forger.endpoint.overlay.join([a.endpoint.contact.address])
            # It believes in its link until the other side has looked at its proof.
            await (await forger.endpoint.links.connect(a.endpoint.contact)).ended()
            with pytest.raises(PeerUnreachable, match="the other side does not prove its id"):
                await a.endpoint.links.connect(forger.endpoint.contact)
            assert a.endpoint.overlay.contacts() == [victim.endpoint.contact]
            assert a.endpoint.overlay.counts["queries in another's name"] >= 1
            assert a.membership.counts[Refusal.ID_NOT_PROVED] == 2
            assert [link.peer for link in a.endpoint.links.open_links()] == []

    run(main, seed=5)


def test_links_in_tls_run_over_the_simulated_network_too() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net, tls=True), peer(net, tls=True)
        async with a.endpoint, b.endpoint:
            link = await a.endpoint.links.connect(b.endpoint.contact)
            sent = [bytes([number % 256]) * number for number in range(1000)]
            for payload in sent:
                link.send(payload)
            assert [await b.frames.get() for _ in sent] == sent
            link.send(bytes(3_000_000))
            assert await b.frames.get() == bytes(3_000_000)
            with pytest.raises(WrongPeer) as wrong:
                await b.endpoint.links.connect(Contact(random_id(net.rng()), *a.endpoint.contact.address))
            assert wrong.value.found == a.identity.id

    run(main, seed=6)


@pytest.mark.parametrize(
    ("dialler", "listener", "said"),
    [
        (True, False, "refused: its links are plain and this peer's are TLS; start both with the same --link-tls"),
        (False, True, "refused: its links are TLS and this peer's are plain; start this one with --link-tls on"),
    ],
    ids=["TLS to plain", "plain to TLS"],
)
def test_plain_links_are_made_only_when_both_sides_say_so(dialler: bool, listener: bool, said: str) -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net, tls=dialler), peer(net, tls=listener)
        async with a.endpoint, b.endpoint:
            with pytest.raises(PeerUnreachable, match=said):
                await a.endpoint.links.connect(b.endpoint.contact)
            assert b.membership.counts.total() == 1
            assert b.endpoint.links.open_links() == []

    run(main, seed=7)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_real_sockets_carry_tls_and_frames_of_one_turn_still_arrive_together(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def main() -> None:
        a, b = (Peer("127.0.0.1", Random(seed), port=0, tls=True, secret=SECRET) for seed in (1, 2))
        async with asyncio.timeout(20), a.endpoint, b.endpoint:
            await b.endpoint.overlay.join([a.endpoint.contact.address])
            link = await b.endpoint.links.connect(a.endpoint.contact)
            sent = [bytes([number]) * 100 for number in range(100)]
            for payload in sent:
                link.send(payload)
            assert [await a.frames.get() for _ in sent] == sent
            assert a.reads == [100]
            back = a.endpoint.links.link_to(b.identity.id)
            assert back is not None
            back.send(b"answer")
            assert await b.frames.get() == b"answer"
            assert link._session is not None
            assert link._session._tls.version() == "TLSv1.3"

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


async def test_what_goes_over_the_wire_is_not_readable() -> None:
    """A wire-tap between two peers sees neither what is said nor the secret."""
    seen = bytearray()
    a, b = (Peer("127.0.0.1", Random(seed), port=0, tls=True, secret=SECRET) for seed in (1, 2))

    async def tap(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection(*a.endpoint.contact.address)

        async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                seen.extend(data)
                sink.write(data)
            sink.close()

        await asyncio.gather(carry(reader, onward), carry(there, writer))

    async with asyncio.timeout(20), a.endpoint:
        tapped = await asyncio.start_server(tap, "127.0.0.1", 0)
        async with b.endpoint:
            address = tapped.sockets[0].getsockname()
            link = await b.endpoint.links.connect(Contact(a.identity.id, *address))
            link.send(b"nobody else's business")
            assert await a.frames.get() == b"nobody else's business"
        tapped.close()
        await tapped.wait_closed()

    assert len(seen) > 500
    assert b"business" not in seen
    assert b.identity.id not in seen


NO_TLS = {
    "a browser": b"GET / HTTP/1.1\r\n\r\n",
    "broken TLS": b"\x16\x03\x01\x00\x05hello" + bytes(100),
    "a plain peer of claims": b"\0\0\0\x22GSG1" + bytes(30),
    "nothing": b"",
}


@pytest.mark.parametrize("said", NO_TLS.values(), ids=NO_TLS)
async def test_strangers_without_tls_are_shown_out_and_others_are_served(said: bytes) -> None:
    a, b = (Peer("127.0.0.1", Random(seed), port=0, tls=True) for seed in (1, 2))
    a.endpoint._make_links = _hasty(a)
    async with asyncio.timeout(20), a.endpoint, b.endpoint:
        reader, writer = await asyncio.open_connection(*a.endpoint.contact.address)
        writer.write(said)
        await reader.read(-1)
        writer.close()
        assert a.endpoint.links.counts.total() == 1

        (await b.endpoint.links.connect(a.endpoint.contact)).send(b"business as usual")
        assert await a.frames.get() == b"business as usual"


def _hasty(peer: Peer) -> Callable[[], Links]:
    return lambda: Links(
        peer.identity.id,
        "127.0.0.1",
        0,
        rng=Random(3),
        on_frames=peer.take,
        handshake_s=0.1,
        membership=peer.membership,
        tls=True,
    )


def test_a_key_on_its_way_to_openssl_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    LinkTls(Identity(b"k" * 32))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_memory", [True, False], ids=["a file in memory", "no file in memory"])
def test_a_key_comes_to_openssl_where_no_folder_can_be_written_to_or_the_reason_is_told(
    has_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    if has_memory:
        if not hasattr(os, "memfd_create"):
            pytest.skip("this system has no files in memory")
        LinkTls(Identity(b"k" * 32))
        return
    monkeypatch.delattr(os, "memfd_create", raising=False)

    with pytest.raises(NoRoomForKey, match=r"no place to hand the key of links to OpenSSL by: no such file .*TMPDIR"):
        LinkTls(Identity(b"k" * 32))


def test_a_side_that_does_not_speak_tls_is_told_of_in_a_line() -> None:
    cipher = LinkTls(Identity(b"k" * 32)).listen()

    with pytest.raises(TlsFailed, match=r"^TLS failed \([a-z0-9 ]+\)$"):
        cipher.decrypt(b"\x16\x03\x01\x00\x05hello" + bytes(100))
