"""What a door refused, gave up or cut off is seen by whoever asks the peer how it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from pedro_doors import doors, until_served
from pedro_wire import WireClient, close_all, dial, read_line

import gsg
from gsg.cli import main
from gsg.cli.processes import peers
from gsg.monitoring.status import Counters
from gsg.wire.status_messages import Count
from pedro_compat import PedroDoor


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


async def counts(peer: gsg.Peer) -> dict[str, int]:
    """What the peer says of itself."""
    return {one.name: one.count for one in (await peer.status())[0].counts}


async def test_a_peer_knows_whether_the_door_stands() -> None:
    async with gsg.Peer() as peer:
        async with PedroDoor(peer, port=0) as door:
            assert peer.doors.standing() == {"pedro": True}
            door._servers[0].close()
            assert peer.doors.standing() == {"pedro": False}
        assert peer.doors.standing() == {}


def test_counts_of_one_name_are_added_and_a_source_that_left_is_not_asked() -> None:
    counters = Counters()

    def door() -> list[Count]:
        return [Count("b", 1), Count("a", 2)]

    counters.add(door)
    counters.add(lambda: [Count("b", 3)])
    both = counters.read([Count("c", 0)])
    counters.remove(door)

    assert both == [Count("a", 2), Count("b", 4), Count("c", 0)]
    assert counters.read() == [Count("b", 3)]


async def test_refused_lines_and_handshakes_given_up_are_counted() -> None:
    async with doors(1) as [(peer, door)]:
        client = await WireClient.connect(door.port)
        await client.send_raw(b"f(\n1\nunsubscribe(7)\nf(1)\nf(" + b"x" * 2_000 + b")\np2pmsg(a@b,c@d,m)\n", 6)
        stranger = await dial(door.ports[1])
        await asyncio.get_running_loop().sock_sendall(stranger, b"123\n")
        assert await read_line(stranger) == b"failed"
        waiting = await dial(door.ports[0])
        await read_line(waiting)
        assert await asyncio.get_running_loop().sock_recv(waiting, 1) == b""

        counted = await counts(peer)

        assert (counted["pedro_lines_refused"], counted["pedro_handshakes_given_up"]) == (5, 2)


async def test_connections_that_are_not_allowed_are_counted() -> None:
    async with doors(1, allow=[["192.0.2.0/24"]]) as [(peer, door)]:
        with pytest.raises(ConnectionError):
            assert await read_line(await dial(door.port))
        await until_served(door, 0)

        assert (await counts(peer))["pedro_connections_refused"] == 1


async def test_client_that_is_cut_off_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.deliveries.UNREAD_BYTES", 0)
    monkeypatch.setattr("pedro_compat.door.deliveries.SLOW_BYTES", -1)
    async with doors(1) as [(peer, door)]:
        slow, publisher = await WireClient.connect(door.port), await WireClient.connect(door.port)
        await slow.send("subscribe(f(_), true, 0)")

        # Long ones, so that few of them fill what the kernels hold.
        line = b'f("' + b"x" * 900 + b'")\n'
        for _ in range(50):
            await publisher.send_raw(line * 1_000, 1_000)
            if door.deliveries.cut_off:
                break

        assert (await counts(peer))["pedro_clients_cut_off"] == 1


async def test_goals_that_failed_otherwise_than_by_a_plain_no_are_counted() -> None:
    async with doors(1) as [(peer, door)]:
        client = await WireClient.connect(door.port)
        await client.send("subscribe(f(X), X > 1, 0)")
        await client.send("subscribe(g(L), (member(A,L),member(B,L),member(C,L),member(D,L),A = b), 0)")
        before = await counts(peer)

        await client.send("f(a)")
        await client.send(f"g([{','.join(['a'] * 60)}])")
        after = await counts(peer)

        grown = {name: after[name] - before[name] for name in after if name.startswith("pedro_goals")}
        assert grown["pedro_goals_mistyped"] == 1
        assert grown["pedro_goals_exhausted"] == 1
        assert after["tests_failed"] == 0


async def test_counters_end_with_their_door() -> None:
    async with gsg.Peer() as peer:
        async with PedroDoor(peer, port=0):
            during = await counts(peer)
        after = await counts(peer)

    assert "pedro_lines_refused" in during
    assert "pedro_lines_refused" not in after


async def test_status_shows_what_has_happened() -> None:
    async with peers(1, pedro=True) as [peer]:
        client = await WireClient.connect(int(peer.pedro.rpartition(":")[2]))
        before = await asyncio.to_thread(CliRunner().invoke, main, ["status", "--peer", peer.url])
        await client.send("f(")
        after = await asyncio.to_thread(CliRunner().invoke, main, ["status", "--peer", peer.url])
        as_json = await asyncio.to_thread(CliRunner().invoke, main, ["status", "--json", "--peer", peer.url])

    assert "counted since its start" not in before.output
    assert re.search(r"pedro lines refused +1\b", after.output)
    assert '"pedro_lines_refused": 1' in as_json.output
