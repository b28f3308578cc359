"""By which links a peer is fed, and the feeds of those that broke."""

from __future__ import annotations

import pytest
from line import Line

import gsg.feeds.feeding_links as ways_module
import rete
from gsg.feeds.alpha_memories import Memory
from gsg.feeds.feeding_links import BrokenFeeds, Ways
from gsg.tuples.features import alpha_of


def memory(name: str) -> Memory:
    return Memory(alpha_of(rete.Template((name,))), 1)


def test_a_way_is_there_while_any_feed_comes_by_it() -> None:
    ways, link, other = Ways(), Line("a"), Line("a")
    for each in (link, link, other):
        ways.add(each)

    assert list(ways) == list(ways.of(link.contact.id)) == [link, other]
    assert [ways.remove(link), link in ways] == [False, True]
    assert [ways.remove(link), link in ways] == [True, False]
    assert bool(ways)
    ways.drop(other)
    assert not ways
    assert not ways.of(other.contact.id)


def test_a_way_that_is_none_may_be_dropped() -> None:
    ways, link = Ways(), Line("a")
    ways.add(link)

    ways.drop(Line("a"))
    ways.drop(Line("b"))

    assert list(ways) == [link]


def test_the_feeds_of_links_that_broke_are_named_where_they_were() -> None:
    broken, x, y = BrokenFeeds(), memory("x"), memory("y")
    first, second, elsewhere = Line("a"), Line("a"), Line("b")
    for number, (link, of) in enumerate([(first, x), (second, x), (first, y), (elsewhere, x)]):
        broken.add(link, of, number)

    assert broken.at(x, first.contact.id) == [0, 1]
    assert broken.at(y, first.contact.id) == [2]
    assert first in broken
    broken.forget(first)
    broken.forget(first)
    assert first not in broken
    assert (broken.at(x, first.contact.id), broken.at(y, first.contact.id)) == ([1], [])


def test_of_many_feeds_the_last_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways_module, "AGAIN", 3)
    broken, link, x = BrokenFeeds(), Line("a"), memory("x")

    for number in range(10):
        broken.add(link, x, number)

    assert broken.at(x, link.contact.id) == [7, 8, 9]


def test_of_many_links_the_one_that_broke_first_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways_module, "LINKS", 2)
    broken, x, links = BrokenFeeds(), memory("x"), [Line(name) for name in "abc"]

    for number, link in enumerate(links):
        broken.add(link, x, number)
    broken.add(links[1], x, 9)

    assert [broken.at(x, link.contact.id) for link in links] == [[], [1, 9], [2]]
