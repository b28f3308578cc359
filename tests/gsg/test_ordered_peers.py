"""Peers whose network has an ordered attribute: conditions with bounds lie at some peers, and answer as ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from peers import feeds, guest_of, make_peer, overlay, quiet, simulate, templates, unread

import dht
from dht.simnet import SimNet, run
from gsg import Network, Peer, PeerUnreachable, Symbol
from gsg.tuples.features import Interval
from gsg.tuples.ordered_attributes import attribute_from
from gsg.tuples.terms import XSD, Literal

NETWORK = Network(ordered=("_,_,0..100/10",))
TEMP = Symbol("temp")
WARM = "(?s, ?p, ?v) FILTER(?v > 82 && ?v < 98)"
"""In two intervals, and that of long constants."""


def holders(peers: Sequence[Peer], interval: int) -> list[Peer]:
    """Those of an interval of the third position, by the definition."""
    place = NETWORK.attributes.place_of((3, 2, Interval(interval)))
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, place))[:3]


async def publish(peers: Sequence[Peer], values: Sequence[object]) -> None:
    for number, value in enumerate(values):
        await peers[number % len(peers)].insert([(f"s{number}", TEMP, value)])


def shown(rows: object) -> list[str]:
    return sorted(str(row["v"]) for row in rows)  # type: ignore[attr-defined]  # a counter of rows


def test_a_condition_with_bounds_is_posted_at_the_holders_of_its_intervals_and_hears_of_what_lies_there() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        early = await peers[0].subscribe(WARM)
        await publish(peers, range(60, 120))
        late = await peers[5].subscribe(WARM)
        await quiet()

        right = [str(value) for value in range(83, 98)]
        assert shown(early.rows()) == shown(late.rows()) == right
        posted = {peer for peer in peers if peer._parts.rendezvous.conditions.feeds()}
        assert posted == {holders(peers, interval)[0] for interval in (9, 10, 12)}
        assert not any(peer._parts.rendezvous.conditions.everywhere.size for peer in peers)

        told = str(await peers[1].inside.explain(WARM))
        assert "2 intervals between its bounds and that of long constants are its keys" in told
        assert "posted at every peer" in str(await peers[1].inside.explain("(?s, ?p, ?v)"))

        await peers[3].retract([("s30", TEMP, 90)])
        await peers[4].notify([("now", TEMP, 96.5), ("now", TEMP, 99)])
        await quiet()

        right.remove("90")
        assert shown(early.rows()) == shown(late.rows()) == right
        assert (await unread(late))[-2:] == ['-?s="s30" ?p=temp ?v=90', '!?s="now" ?p=temp ?v=96.5']
        await early.close()
        await late.close()
        await quiet()
        assert (templates(peers), feeds(peers)) == (0, 0)

    simulate(work, seed=1, size=12, network=NETWORK)


def test_numbers_of_all_kinds_are_found_however_they_are_written() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[0].subscribe(WARM)
        texts = [("90.5", "decimal"), ("9.05E1", "double"), ("90.5", "float"), ("0090", "integer"), ("90." + "0" * 300, "decimal")]
        await publish(peers, [*(Literal(text, XSD + kind) for text, kind in texts), "90", Symbol("warm"), "x" * 300])
        await quiet()

        assert len(subscription.rows()) == len(texts)

    simulate(work, seed=2, size=8, network=NETWORK)


def test_one_that_asks_for_a_number_by_itself_meets_it_at_its_interval() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[0].subscribe("(?s, ?p, 90)")
        await publish(peers, [89, 90, 91])
        await quiet()

        assert len(subscription.rows()) == 1
        assert holders(peers, 10)[0]._parts.rendezvous.conditions.feeds() == 1

    simulate(work, seed=3, size=8, network=NETWORK)


@pytest.mark.parametrize("seed", range(4))
def test_rows_survive_the_death_of_holders_and_newcomers(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader = peers[0]
        subscription = await reader.subscribe(WARM)
        await publish(peers, range(80, 100))
        dying = [peer for peer in holders(peers, 9)[:2] if peer is not reader]
        for peer in dying:
            net.crash(peer.contact.host)
        living = [peer for peer in peers if peer not in dying]
        await asyncio.sleep(20.0)

        async with guest_of(net, living[:1], network=NETWORK) as guest:
            await publish([*living, guest], [83.5, 91.5])
            await asyncio.sleep(20.0)
            assert shown(subscription.rows()) == sorted([*map(str, range(83, 98)), "83.5", "91.5"])
        await asyncio.sleep(20.0)
        assert len(subscription.rows()) == 17

    simulate(work, seed=seed, size=9, network=NETWORK)


def test_a_fact_for_named_readers_comes_to_these_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        named, other = await peers[1].subscribe(WARM), await peers[2].subscribe(WARM)
        await peers[0].insert([("s", TEMP, 90)], audience=[peers[1].contact.id])
        late = await peers[1].subscribe("(?s, ?p, ?v) FILTER(?v = 90)")
        await quiet()

        assert [len(one.rows()) for one in (named, other, late)] == [1, 0, 1]

    simulate(work, seed=4, size=8, network=NETWORK)


def test_where_there_are_few_peers_it_is_posted_at_all() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[0].subscribe(WARM)
        await publish(peers, [90, 99])
        await quiet()

        assert len(subscription.rows()) == 1
        assert all(peer._parts.rendezvous.conditions.everywhere.size for peer in peers)

    simulate(work, seed=5, size=3, network=NETWORK)


def test_peers_that_declare_something_else_are_of_another_network() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 1, network=NETWORK) as peers:
            for network in (Network(), Network(ordered=("_,_,0..100/20",))):
                with pytest.raises(PeerUnreachable, match="another --secret-file or --ordered"):
                    await make_peer(net, [peers[0].contact.address], network=network).__aenter__()

    run(main, seed=6)


def test_one_attribute_may_be_given_by_itself() -> None:
    assert Network(ordered="_,_,0..100/10").attributes.by_place == NETWORK.attributes.by_place


def test_what_is_declared_twice_or_is_no_attribute_is_refused() -> None:
    with pytest.raises(Exception, match="expected one at a position"):
        Network(ordered=("_,0..1/2", attribute_from("_,0..1/3")))
