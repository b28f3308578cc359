"""Whole peers and those who are not let in."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import pytest
from lives import Lives
from peers import guest_of, make_peer, overlay, quiet

from dht import Identity
from dht.simnet import SimNet, run
from gsg import BadData, BadNetwork, Network, PeerUnreachable, Symbol
from gsg.errors import Elsewhere
from gsg.network import allowed_from

OURS, OTHERS = Network(secret=b"what only members know"), Network(secret=b"what somebody made up")
ON = Symbol("on")


def refused(status: list[object]) -> dict[str, int]:
    return {one.name: one.count for one in status[0].counts if one.name.startswith("refused_")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("network", [OTHERS, Network()], ids=["another secret", "none"])
def test_an_outsider_is_told_why_and_the_inside_goes_on_and_counts_it(network: Network) -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 4, network=OURS) as peers:
            subscription = await peers[1].subscribe("(?x, on, ?y)")
            with pytest.raises(PeerUnreachable, match=r"^the peer at 10\.0\.0\.1:7400 refused: it belongs to another network"):
                async with guest_of(net, peers, network=network):
                    pass

            assert await peers[2].insert([("a", ON, "b")]) == 1
            await quiet()

            assert subscription.rows().total() == 1
            assert refused(await peers[0].status()) == {"refused_other_network": 4}

    run(main, seed=1)


def test_whoever_subscribes_where_peers_disagree_reads_the_condition_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 1) as (alone,):

            async def elsewhere(*_: object) -> None:
                raise Elsewhere("another peer holds it", contact=alone.contact)

            monkeypatch.setattr("gsg.feeds.feeds.Feeds._post", elsewhere)
            with pytest.raises(
                PeerUnreachable, match=r"^no peer takes \(\*, on, \*\): another peer holds it; peers do not agree .* try again"
            ):
                await alone.subscribe("(?x, on, ?y)")

    run(main, seed=3)


def test_only_allowed_peers_form_the_space() -> None:
    async def main(net: SimNet) -> None:
        members = [Identity(bytes([number]) * 32) for number in range(3)]
        network = Network(allowed=frozenset(member.id for member in members))
        async with make_peer(net, [], network=network, identity=members[0]) as first:
            join = [first.contact.address]
            async with make_peer(net, join, network=network, identity=members[1]) as second:
                with pytest.raises(PeerUnreachable, match="refused: this peer is not on its list of allowed peers"):
                    async with make_peer(net, join):
                        pass
                await second.insert([("a", ON, "b")])
                subscription = await first.subscribe("(?x, on, ?y)")
                assert subscription.rows().total() == 1
                assert refused(await first.status()) == {"refused_not_allowed": 4}

    run(main, seed=2)


def test_a_peer_that_starts_again_proves_the_same_id(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(3)
        before = [lives.peers[number].contact.id for number in range(3)]
        await lives.peers[0].insert([("a", ON, "b")])
        for number in range(3):
            await lives.kill(number)
        for number in range(3):
            await lives.start(number)
        await asyncio.sleep(60)

        subscription = await lives.peers[1].subscribe("(?x, on, ?y)")
        assert [lives.peers[number].contact.id for number in range(3)] == before
        assert subscription.rows().total() == 1
        assert Counter(each.peer for each in await lives.peers[0].status()) == Counter(before)
        await lives.end()

    run(main, seed=3)


def test_a_lost_key_means_another_id_and_the_same_facts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(1)
        before = lives.peers[0].contact.id
        await lives.peers[0].insert([("a", ON, "b")])
        await lives.kill(0)
        (lives.folder(0) / "identity").unlink()
        await lives.start(0)

        assert lives.peers[0].contact.id != before
        assert lives.peers[0].resumed_facts == 1
        await lives.end()

    run(main, seed=4)
    assert "the key of " in caplog.text


def test_a_peer_whose_facts_are_gone_and_whose_key_is_there_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(1)
        before = lives.peers[0].contact.id
        await lives.kill(0)
        (lives.folder(0) / "peer.sqlite3").write_bytes(b"")
        await lives.start(0)

        assert lives.peers[0].contact.id == before
        await lives.end()

    run(main, seed=4)
    assert "peer.sqlite3 is missing or empty beside the key of peer" in caplog.text


def test_a_peer_whose_database_was_removed_says_how_much_is_lost_and_of_no_file_that_it_was_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(1)
        await lives.peers[0].insert([("a", "b", 1)])
        await lives.kill(0)
        for file in lives.folder(0).glob("peer.sqlite3*"):
            file.unlink()
        await lives.start(0)
        await lives.end()

    run(main, seed=4)
    assert "peer.sqlite3 was damaged: 1 of its records are wrong or missing" in caplog.text
    assert "kept as" not in caplog.text


def test_the_key_of_another_peers_directory_is_refused(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(2)
        await lives.end()
        shutil.copy(lives.folder(1) / "identity", lives.folder(0) / "identity")

        with pytest.raises(BadData, match=r"is the memory of peer \w{12}, and this is to be \w{12}; give each peer a directory"):
            await lives.start(0)
        (lives.folder(0) / "identity").write_bytes(b"nonsense")
        with pytest.raises(BadData, match="0-0/identity is damaged; expected a PEM file with an unencrypted Ed25519 key"):
            await lives.start(0)

    run(main, seed=5)


def test_whole_peers_talk_in_tls_where_told_to() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3, network=Network(link_tls=True)) as peers:
            subscription = await peers[1].subscribe("(?x, on, ?y)")
            assert await peers[2].insert([(number, ON, "b") for number in range(500)]) == 500
            await quiet()
            assert subscription.rows().total() == 500
            assert all(link._session is not None for peer in peers for link in peer._endpoint.links.open_links())

    run(main, seed=6)


def test_a_network_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(BadNetwork, match="a network secret of 5 bytes"):
        Network(secret=b"short").check()
    with pytest.raises(BadNetwork, match="line 1"):
        allowed_from("nobody")
    with pytest.raises(BadNetwork, match=r"^a network secret that is a str; expected bytes: give secret=text\.encode\(\)"):
        Network(secret="what only members know")  # type: ignore[arg-type]  # the mistake in question


def test_a_secret_is_the_same_with_the_newline_at_the_end_of_its_file() -> None:
    assert Network(secret=b"what only members know\r\n") == OURS
    at_random = b"\n\xff random bytes count each"
    assert Network(secret=at_random).secret == at_random
