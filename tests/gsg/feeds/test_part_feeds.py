"""The links of feeds by way of heads: what breaks ends a way, unless another feed comes by it by then."""

from __future__ import annotations

import pytest
from line import Line

import rete
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.feeds.by_heads.part_feeds import PartLinks, PartSource
from gsg.tuples.features import alpha_of
from gsg.tuples.terms import Symbol

HEAD, RENDEZVOUS = Line("head"), Line("rendezvous")


def source(number: int, head: Line = HEAD, rendezvous: Line = RENDEZVOUS) -> PartSource:
    return PartSource(AlphaMemory(alpha_of(rete.Template((Symbol("x"),))), number, 0.0), number, head, rendezvous, 0)


@pytest.fixture
def links() -> PartLinks:
    return PartLinks(lambda peer: [])


@pytest.mark.parametrize("broken", [HEAD, RENDEZVOUS], ids=["head", "rendezvous"])
async def test_the_ways_of_a_broken_link_are_those_of_its_feeds(links: PartLinks, broken: Line) -> None:
    one, other = source(1), source(2, Line("another head"), Line("another rendezvous"))
    links.add_feed(one)
    links.add_feed(other)

    assert links.ways_by(broken) == {one.way: {one}}
    assert links.ways_by(Line("stranger")) == {}


async def test_a_way_by_which_another_feed_comes_does_not_end_with_those_that_broke(links: PartLinks) -> None:
    broke, again = source(1), source(2, rendezvous=Line("rendezvous"))
    links.add_feed(broke)
    broken = links.ways_by(RENDEZVOUS)

    links.add_feed(again)

    assert again.way == broke.way
    assert not links.come_by_no_more(broke.way, broken[broke.way])
    assert not links.remove_feed(broke)
    assert links.ways_from(RENDEZVOUS.contact.id) == [again.way]
    assert links.remove_feed(again)


async def test_a_way_by_which_nothing_else_comes_ends(links: PartLinks) -> None:
    broke = source(1)
    links.add_feed(broke)

    assert links.come_by_no_more(broke.way, links.ways_by(RENDEZVOUS)[broke.way])


async def test_a_feed_of_a_way_that_was_forgotten_ends_no_other(links: PartLinks) -> None:
    broke, again = source(1), source(2)
    links.add_feed(broke)
    links.forget_way(broke.way)
    links.add_feed(again)

    assert not links.remove_feed(broke)

    assert links.ways_from(RENDEZVOUS.contact.id) == [again.way]
