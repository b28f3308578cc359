"""Many queries that differ in constants answer together what each answers alone, whatever their operators."""

from __future__ import annotations

from random import Random

import pytest
from like_queries import FAMILIES, History, fact
from peers import Reader, quiet, simulate

from dht.simnet import SimNet
from gsg import Peer, Space


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(2))
def test_like_queries_answer_together_what_each_answers_alone(family: str, seed: int) -> None:
    history = History([family], seed)

    history.play(150)

    assert history.differing() == []
    assert history.close()


@pytest.mark.parametrize("seed", range(4))
def test_so_do_queries_of_several_kinds(seed: int) -> None:
    history = History(Random(seed).sample(list(FAMILIES), 3), seed)

    history.play(150)

    assert history.differing() == []
    assert history.close()


@pytest.mark.parametrize("family", ["threshold", "room and threshold", "range", "one of", "part", "date", "join", "two tests"])
def test_peers_answer_like_queries_as_one_space(family: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = Random(7)
        space = Space()
        pairs = []
        for n in range(30):
            reader = Reader(await rng.choice(peers).subscribe(FAMILIES[family](n)))
            pairs.append((reader, space.subscribe(FAMILIES[family](n))))
        for _ in range(6):
            some = list({fact(rng) for _ in range(12)})
            for items in some:
                await peers[0].insert([items])
            space.insert(some)
            gone = rng.sample(some, 4)
            await peers[0].retract(gone)
            space.retract(gone)
            await quiet()
            for reader, subscription in pairs:
                await reader.read()
                assert reader.held == subscription.rows()

    simulate(work, seed=3, size=3)
