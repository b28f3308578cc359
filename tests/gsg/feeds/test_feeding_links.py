"""By which links a peer is fed, and the feeds of those that broke."""

from __future__ import annotations

import pytest
from line import Line

import gsg.feeds.feeding_links as feeding_links
import rete
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.feeds.feeding_links import BrokenFeeds, FeedingLinks
from gsg.tuples.features import alpha_of


def memory(name: str) -> AlphaMemory:
    return AlphaMemory(alpha_of(rete.Template((name,))), 1)


def test_a_way_is_there_while_any_feed_comes_by_it() -> None:
    links, link, other = FeedingLinks(), Line("a"), Line("a")
    for each in (link, link, other):
        links.add_feed(each)

    assert list(links) == list(links.links_from(link.contact.id)) == [link, other]
    assert [links.remove_feed(link), link in links] == [False, True]
    assert [links.remove_feed(link), link in links] == [True, False]
    assert bool(links)
    links.forget_link(other)
    assert not links
    assert not links.links_from(other.contact.id)


def test_a_way_that_is_none_may_be_dropped() -> None:
    links, link = FeedingLinks(), Line("a")
    links.add_feed(link)

    links.forget_link(Line("a"))
    links.forget_link(Line("b"))

    assert list(links) == [link]


def test_the_feeds_of_links_that_broke_are_named_where_they_were() -> None:
    broken, x, y = BrokenFeeds(), memory("x"), memory("y")
    first, second, elsewhere = Line("a"), Line("a"), Line("b")
    for number, (link, of) in enumerate([(first, x), (second, x), (first, y), (elsewhere, x)]):
        broken.add_feed(link, of, number)

    assert broken.numbers_at(x, first.contact.id) == [0, 1]
    assert broken.numbers_at(y, first.contact.id) == [2]
    assert first in broken
    broken.forget_link(first)
    broken.forget_link(first)
    assert first not in broken
    assert (broken.numbers_at(x, first.contact.id), broken.numbers_at(y, first.contact.id)) == ([1], [])


def test_of_many_feeds_the_last_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding_links, "AGAIN", 3)
    broken, link, x = BrokenFeeds(), Line("a"), memory("x")

    for number in range(10):
        broken.add_feed(link, x, number)

    assert broken.numbers_at(x, link.contact.id) == [7, 8, 9]


def test_of_many_links_the_one_that_broke_first_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding_links, "LINKS", 2)
    broken, x, links = BrokenFeeds(), memory("x"), [Line(name) for name in "abc"]

    for number, link in enumerate(links):
        broken.add_feed(link, x, number)
    broken.add_feed(links[1], x, 9)

    assert [broken.numbers_at(x, link.contact.id) for link in links] == [[], [1, 9], [2]]
