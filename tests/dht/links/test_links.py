"""Links over the simulated network, and what they keep to at their limits."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from linked_peers import PORT, Peer, peer

from dht import (
    BadContact,
    Contact,
    DialBroke,
    Link,
    LinkLost,
    LinkState,
    NotOpen,
    PeerUnreachable,
    WrongPeer,
)
from dht.links.handles import Handles
from dht.links.link import HARD_LIMIT_BYTES, HIGH_WATER_BYTES
from dht.links.links import DIALS, MAX_LINKS_PER_PEER
from dht.simnet import SimNet, run


def test_both_ends_know_who_is_at_the_other_and_where_it_listens() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            there = await a.links.connect(b.contact)
            there.send(b"hello")
            assert await b.frames.get() == b"hello"
            back = b.links.link_to(a.contact.id)
            assert back is not None
            assert (there.peer, back.peer) == (b.contact, a.contact)
            assert (there.dialled, back.dialled) == (True, False)
            assert await b.links.connect(a.contact) is back

    run(main, seed=1)


def test_callers_at_the_same_time_share_one_dial() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            links = await asyncio.gather(*(a.links.connect(b.contact) for _ in range(10)))
            assert len(set(links)) == 1
            assert net.counts["connect"] == 1

    run(main, seed=2)


def test_payloads_of_one_turn_arrive_in_order_in_one_read() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            link = await a.links.connect(b.contact)
            sent = [bytes([number]) * number for number in range(100)]
            for payload in sent:
                link.send(payload)
            assert [await b.frames.get() for _ in sent] == sent
            assert b.reads == [100]

    run(main, seed=3)


def test_leaving_sends_what_was_unsent_and_tells_the_other_side() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with b.links:
            async with a.links:
                link = await a.links.connect(b.contact)
                link.send(b"last words")
            assert await b.frames.get() == b"last words"
            assert await b.lost.get() == "the other side closed it"
            assert await a.lost.get() == "this peer stops"
            assert b.links.open_links() == []
            with pytest.raises(LinkLost, match=r"10\.0\.0\.2:7400 is closed: this peer stops; ask for a new link"):
                link.send(b"too late")

    run(main, seed=4)


def test_a_reader_that_stops_congests_the_link_and_loses_nothing() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            link = await a.links.connect(b.contact)
            await asyncio.sleep(1)
            back = b.links.link_to(a.contact.id)
            assert back is not None
            back.pause_reading()
            payload = bytes(100_000)
            for _ in range(40):
                link.send(payload)
            assert link.congested
            assert link.unsent_bytes > HIGH_WATER_BYTES

            back.resume_reading()
            await link.drained()

            assert not link.congested
            for _ in range(40):
                assert await b.frames.get() == payload
            assert link.unsent_bytes == 0

    run(main, seed=5)


def test_a_caller_who_never_stops_loses_the_link_with_a_reason() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            link = await a.links.connect(b.contact)
            await asyncio.sleep(1)
            back = b.links.link_to(a.contact.id)
            assert back is not None
            back.pause_reading()
            payload = bytes(8 * 1024 * 1024)
            reason = f"the other side left more than {HARD_LIMIT_BYTES} bytes unread"

            def flood() -> None:
                for _ in range(12):
                    link.send(payload)

            with pytest.raises(LinkLost, match=reason):
                flood()
            with pytest.raises(LinkLost, match=reason):
                await link.drained()
            assert await a.lost.get() == reason
            assert a.links.counts == {reason: 1}

    run(main, seed=6)


def test_a_broken_connection_is_told_to_both_and_the_next_dial_makes_a_new_one() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            first = await a.links.connect(b.contact)
            net.cut(a.links.host, b.links.host)
            assert await a.lost.get() == "the connection broke (connection reset by peer)"
            assert await b.lost.get() == "the connection broke (connection reset by peer)"
            second = await a.links.connect(b.contact)
            second.send(b"again")
            assert await b.frames.get() == b"again"
            assert (first.state, second.state) == (LinkState.CLOSED, LinkState.OPEN)

    run(main, seed=7)


def test_peers_that_dial_each_other_at_once_each_keep_their_order() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            there, back = await asyncio.gather(a.links.connect(b.contact), b.links.connect(a.contact))
            sent = [bytes([number]) for number in range(200)]
            for payload in sent:
                (await a.links.connect(b.contact)).send(payload)
                (await b.links.connect(a.contact)).send(payload)
                await asyncio.sleep(0)
            assert [await a.frames.get() for _ in sent] == sent
            assert [await b.frames.get() for _ in sent] == sent
            assert {there.state, back.state} == {LinkState.OPEN}

    run(main, seed=8)


def test_a_peer_that_was_started_anew_replaces_its_former_life() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            old = await a.links.connect(b.contact)
            # Its power failed: no goodbye reaches us.
            net.crash(b.links.host, quietly=True)
            net.restart(b.links.host)
            async with Peer(b.links.host, net.rng(), id=b.links.id).links as again:
                link = await again.connect(a.contact)
                assert await a.lost.get() == "the peer was started anew"
                assert old.state is not LinkState.OPEN
                now = a.links.link_to(again.id)
                assert now is not None
                assert now is not old
                assert link.state is LinkState.OPEN

    run(main, seed=9)


def test_another_peer_at_the_address_is_named() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            with pytest.raises(WrongPeer, match=r"answers there; expected 00000000.*; look the key up again") as wrong:
                await a.links.connect(Contact(bytes(20), *b.contact.address))
            assert wrong.value.found == b.links.id
            assert a.links.open_links() == []

    run(main, seed=10)


def test_nobody_at_the_address_is_an_error_at_once_and_silence_after_the_time_given() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links:
            with pytest.raises(PeerUnreachable, match=r"no link to the peer at 10\.0\.0\.2:7400: Connection refused"):
                await a.links.connect(b.contact)
            net.partition([[a.links.host], [b.links.host]])
            with pytest.raises(PeerUnreachable, match="no hello within 5 s"):
                await a.links.connect(b.contact)

    run(main, seed=11)


def test_dialling_oneself_or_without_a_block_is_refused() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        with pytest.raises(NotOpen, match="async with Links"):
            await a.links.connect(b.contact)
        async with a.links:
            with pytest.raises(BadContact, match="is this peer itself"):
                await a.links.connect(a.contact)

    run(main, seed=12)


def test_a_caller_that_gives_up_does_not_end_the_dial_for_others() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links, b.links:
            waiting = asyncio.ensure_future(a.links.connect(b.contact))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await a.links.connect(b.contact)
            assert (await waiting).state is LinkState.OPEN

    run(main, seed=13)


def test_who_waits_for_a_dial_when_the_links_close_is_told() -> None:
    async def main(net: SimNet) -> None:
        a, b = peer(net), peer(net)
        async with a.links:
            net.partition([[a.links.host], [b.links.host]])
            waiting = asyncio.ensure_future(a.links.connect(b.contact))
            await asyncio.sleep(0.1)
        await asyncio.wait((waiting,))
        assert isinstance(waiting.exception(), PeerUnreachable)

    run(main, seed=14)


def test_a_handler_that_fails_ends_its_link_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        a, b, c = peer(net), peer(net), peer(net)
        async with a.links, b.links, c.links:

            def fail_for_a(link: Link, payloads: list[bytes]) -> None:
                if link.peer.id == a.links.id:
                    raise ValueError("no")
                b.take(link, payloads)

            b.links._on_frames = fail_for_a
            bad, good = await a.links.connect(b.contact), await c.links.connect(b.contact)
            bad.send(b"x")
            good.send(b"y")
            assert await b.frames.get() == b"y"
            assert await b.lost.get() == "this side failed to take a frame"
            assert b.links.counts == {"callbacks failed": 1}
            assert good.state is LinkState.OPEN

    run(main, seed=15)
    assert "ValueError: no" in caplog.text


def test_no_more_links_than_the_limit() -> None:
    async def main(net: SimNet) -> None:
        server, first, second = peer(net), peer(net), peer(net)
        server.links._max_links = 1
        async with server.links, first.links, second.links:
            await first.links.connect(server.contact)
            with pytest.raises(DialBroke, match="connection reset by peer"):
                await second.links.connect(server.contact)
            assert server.links.counts["too many links"] == DIALS

    run(main, seed=16)


def test_who_answers_and_breaks_off_before_the_hello_is_dialled_once_more() -> None:
    async def main(net: SimNet) -> None:
        server, dialler = peer(net), peer(net)
        async with server.links, dialler.links:
            dialling = asyncio.create_task(dialler.links.connect(server.contact))
            while not server.links._connections:  # noqa: ASYNC110  # turns of the simulated loop
                await asyncio.sleep(0.001)
            net.cut(server.contact.host, dialler.contact.host)

            link = await dialling

            assert link.state is LinkState.OPEN
            assert dialler.links.open_links() == [link]

    run(main, seed=16)


def test_one_peer_has_a_few_links_and_loses_those_by_which_nothing_comes() -> None:
    async def main(net: SimNet) -> None:
        server, greedy, modest = peer(net), peer(net), peer(net)
        async with server.links, greedy.links, modest.links:
            await modest.links.connect(server.contact)
            first = await greedy.links.connect(server.contact)
            first.send(b"it is in use")
            await server.frames.get()
            server.links.links_to(greedy.links.id)[0].send(b"so it is")
            await greedy.frames.get()
            opened = [await greedy.links._dial(server.contact) for _ in range(20)]
            await asyncio.sleep(1)

            assert len(server.links.links_to(greedy.links.id)) == MAX_LINKS_PER_PEER
            assert first.state is LinkState.OPEN
            assert isinstance(opened[-1], Link)
            assert opened[-1].state is LinkState.OPEN
            assert server.links.link_to(modest.links.id) is not None
            assert server.links.counts["too many links of one peer"] == 20 + 1 - MAX_LINKS_PER_PEER

    run(main, seed=17)


def test_who_hears_nobody_does_not_blame_the_one_that_it_dials() -> None:
    async def main(net: SimNet) -> None:
        busy, friend, other = peer(net), peer(net), peer(net)
        async with busy.links, friend.links, other.links:
            await busy.links.connect(friend.contact)
            net.stall(busy.links.host)
            dialling = asyncio.create_task(busy.links.connect(other.contact))
            await asyncio.sleep(busy.links._handshake_s + 1)
            net.read_on(busy.links.host)

            assert (await dialling).state is LinkState.OPEN

    run(main, seed=18)


def test_who_was_stopped_does_not_blame_the_one_that_it_dials() -> None:
    async def main(net: SimNet) -> None:
        stopped, friend, other = peer(net), peer(net), peer(net)
        async with stopped.links, friend.links, other.links:
            await stopped.links.connect(friend.contact)
            net.stall(other.links.host)
            dialling = asyncio.create_task(stopped.links.connect(other.contact))
            await asyncio.sleep(1)
            friend.links.open_links()[0].send(b"heard before")
            await stopped.frames.get()
            net.loop.oversleep(60)
            net.read_on(other.links.host)

            assert (await dialling).state is LinkState.OPEN

    run(main, seed=20)


def test_a_dial_that_hears_nothing_gives_the_link_by_which_the_peer_has_dialled_meanwhile() -> None:
    async def main(net: SimNet) -> None:
        one, other, nobody = peer(net), peer(net), peer(net)
        async with one.links, other.links:
            net.partition([[nobody.links.host], [one.links.host, other.links.host]])
            wrong = Contact(other.links.id, nobody.links.host, PORT)
            dialling = asyncio.create_task(one.links.connect(wrong))
            await asyncio.sleep(1)
            theirs = await other.links.connect(one.contact)

            link = await dialling

            assert (link.state, link.dialled, link.peer.id) == (LinkState.OPEN, False, other.links.id)
            assert theirs.state is LinkState.OPEN

    run(main, seed=21)


def test_who_hears_others_blames_the_one_that_says_nothing_at_once() -> None:
    async def main(net: SimNet) -> None:
        dialler, friend, busy = peer(net), peer(net), peer(net)
        async with dialler.links, friend.links, busy.links:
            await dialler.links.connect(friend.contact)
            net.stall(busy.links.host)
            dialling = asyncio.create_task(dialler.links.connect(busy.contact))
            begun_s = net.loop.time()
            await asyncio.sleep(1)
            friend.links.open_links()[0].send(b"this side hears")

            with pytest.raises(PeerUnreachable, match="no hello within 5 s"):
                await dialling

            assert net.loop.time() - begun_s < dialler.links._handshake_s + 1

    run(main, seed=19)


async def test_a_link_that_is_closed_and_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dht.links.closing.CLOSE_S", 0.01)
    rng = Random(1)
    a, b = Peer("127.0.0.1", rng, port=0), Peer("127.0.0.1", rng, port=0)
    async with a.links, b.links:
        there = await a.links.connect(b.contact)
        there.send(b"hello")
        await b.frames.get()
        b.links.open_links()[0].pause_reading()
        while not there.congested:
            there.send(b"x" * 100_000)
            await asyncio.sleep(0)

        there.close("a test")
        async with asyncio.timeout(10):
            assert await a.lost.get() == "a test"

        assert a.links.open_links() == []


async def test_links_are_refused_before_the_last_file_handle_is_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rng = Random(1)
    a, b = Peer("127.0.0.1", rng, port=0), Peer("127.0.0.1", rng, port=0)
    async with a.links, b.links:
        monkeypatch.setattr("dht.links.links.HANDLES", Handles(lambda: 100, lambda: 90))
        with pytest.raises(PeerUnreachable):
            await a.links.connect(b.contact)

        assert b.links.counts["too few file handles"] == DIALS
    assert "a link from 127.0.0.1 is refused: this peer has hardly any file handles left" in caplog.text
