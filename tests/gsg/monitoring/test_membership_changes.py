"""Who came, was suspected, was back and went, as a peer tells those who ask."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lives import Lives
from peers import guest_of, others, quiet, simulate

from dht.simnet import SimNet, run
from gsg import Peer
from gsg.http.websocket.session import report
from gsg.placement.membership_log import JOINING_S

SILENT = "it answers neither this peer nor others that were asked to try"


def changes(peer: Peer, about: Peer) -> list[tuple[str, str]]:
    """What a peer has noticed of another one, and why."""
    return [(one.what, one.why) for one in peer.vitals.membership() if one.peer == about.contact.id]


async def suspected_by(asked: Peer, about: Peer) -> None:
    """Wait until a peer suspects another one, for ten seconds at most."""
    for _ in range(1_000):
        await asyncio.sleep(0.01)
        if about.contact.id in asked.vitals.suspected():
            return
    raise AssertionError("it was not suspected")


def test_who_comes_is_told_with_its_address_and_when() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        begun_s = net.loop.time()
        async with guest_of(net, peers) as guest:
            await quiet()

            [came] = [one for one in peers[0].vitals.membership() if one.peer == guest.contact.id]

            assert (came.what, came.why) == ("came", "it answers")
            assert came.address == f"{guest.contact.host}:{guest.contact.port}"
            assert begun_s <= came.at_s <= net.loop.time()
            assert {one.peer for one in peers[0].vitals.membership()} == {peer.contact.id for peer in [*peers[1:], guest]}

    simulate(work, seed=81, size=3)


def test_a_crash_is_suspected_and_then_went() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        dead = peers[2]
        net.crash(dead.contact.host, quietly=True)
        await asyncio.sleep(60)

        told = [changes(peer, dead) for peer in others(peers, dead)]

        assert ("suspected", SILENT) in [each for one in told for each in one]
        for one in told:
            assert one[0] == ("came", "it answers")
            assert one[-1][0] == "went"
            assert [what for what, _ in one if what == "went"] == ["went"]
            assert set(one[1:-1]) <= {("suspected", SILENT)}
        assert all(peer.vitals.suspected() == [] for peer in others(peers, dead))

    simulate(work, seed=82, size=5)


def test_one_that_is_suspected_and_lives_is_back() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, slow = peers[0], peers[3]
        # Before, it is busy with joining.
        await asyncio.sleep(JOINING_S)
        net.partition([[slow.contact.host], [peer.contact.host for peer in others(peers, slow)]])
        await suspected_by(asked, slow)
        suspected = await report(1, asked)
        net.heal()
        await quiet()
        lives = await report(2, asked)

        silent = [one.peer for one in suspected.silent]
        assert (suspected.suspected, silent) == ([slow.contact.id], [slow.contact.id])
        assert suspected.as_dict()["suspected"] == [slow.contact.id.hex()]
        assert lives.suspected == []
        assert {one["state"] for one in lives.as_dict()["peers"]} == {"alive"}
        assert changes(asked, slow) == [("came", "it answers"), ("suspected", SILENT), ("back", "it answers after all")]

    simulate(work, seed=84, size=5)


def test_one_that_stops_went_because_it_has_stopped() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers) as guest:
            await quiet()
        await quiet()

        told = [changes(peer, guest) for peer in peers]

        assert [[what for what, _ in one] for one in told] == [["came", "went"]] * 3
        assert "it has stopped" in {why for one in told for what, why in one if what == "went"}

    simulate(work, seed=84, size=3)


def test_one_that_is_started_again_is_back_and_another_one_in_its_place_came(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(4)
        asked, first = lives.peers[0], lives.peers[3]
        await lives.kill(3, quietly=True)
        await asyncio.sleep(60)
        await lives.start(3)
        await quiet()
        told = changes(asked, first)
        await lives.kill(3, lose_disk=True, quietly=True)
        await asyncio.sleep(60)
        second = await lives.start(3, join=[asked.contact.address])
        await quiet()

        assert [what for what, _ in told if what != "suspected"] == ["came", "went", "back"]
        assert told[-1][1].startswith("it answers again, and was gone: ")
        assert changes(asked, second) == [("came", "it answers")]
        await lives.end()

    run(main, seed=85)
