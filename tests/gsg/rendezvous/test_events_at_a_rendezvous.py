"""Events at the rendezvous: they meet the templates that stand there, and nothing of them is kept."""

from __future__ import annotations

import pytest
from place import ANYTHING, ON, X_ON_Y, A, B, Place

import rete
from gsg.placement.rules import NOWHERE
from gsg.tuples.features import Template
from gsg.wire.messages import Event, Happened
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests


@pytest.fixture
def place() -> Place:
    return Place()


def test_an_event_reaches_a_subscriber_once_with_all_feeds_that_it_matches(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, None, "b")), 2)
    place.follow("s", 3, ANYTHING, NOWHERE)
    place.follow("t", 1)

    place.flash(A)

    taken = dict(place.take())
    assert set(taken) == {"s", "t"}
    assert isinstance(taken["s"], Happened)
    assert [sorted(feeds) for feeds in taken["s"].feeds] == [[1, 2, 3]]
    assert taken["t"] == Happened(b"publisher", [Event(1, A)], [[1]])


def test_an_event_is_not_kept(place: Place) -> None:
    place.flash(A)

    assert place.rendezvous.held.distinct() == 0
    assert place.follow("s", 1) == []


def test_an_event_goes_where_its_publisher_sends_it(place: Place) -> None:
    place.follow("s", 1)
    place.follow("s", 2, rete.Template((None, None, "b")), 2)

    place.flash(A, places=b"\x02")

    assert place.take() == [("s", Happened(b"publisher", [Event(1, A)], [[2]]))]


def test_a_feed_of_events_only_is_not_fed_facts(place: Place) -> None:
    feed = place.post("s", 1, X_ON_Y, 1, events_only=True)
    place.rendezvous.release_feed(feed)

    place.insert(A)
    place.flash(B)

    assert place.take() == [("s", Happened(b"publisher", [Event(1, B)], [[1]]))]


def happened(place: Place) -> list[tuple[str, list[list[int]]]]:
    """To whom events went, and the feeds of each."""
    return [(who, message.feeds) for who, message in place.take() if isinstance(message, Happened)]


def test_events_reach_whoever_stands_under_their_key_alone_and_then_those_that_come_and_stay(place: Place) -> None:
    place.follow("s", 1)
    place.flash(A, B)
    assert happened(place) == [("s", [[1], [1]])]

    place.follow("t", 7)
    place.follow("s", 2)
    place.flash(A)
    assert happened(place) == [("s", [[1, 2]]), ("t", [[7]])]

    place.rendezvous.conditions.remove_condition("s", 1)
    place.flash(A)
    assert happened(place) == [("t", [[7]]), ("s", [[2]])]


@pytest.mark.parametrize(
    ("template", "options"),
    [
        pytest.param(rete.Template(("a", ON, None)), {}, id="another constant"),
        pytest.param(rete.Template((None, ON, None), ((0, 2),)), {}, id="two places alike"),
        pytest.param(X_ON_Y, {"test": TupleTest("longer", "5")}, id="a test"),
    ],
)
def test_what_stands_alone_under_a_key_and_asks_for_more_is_asked(
    place: Place, template: Template, options: dict[str, object]
) -> None:
    place.follow("s", 1, template, **options)

    place.flash(B)

    assert happened(place) == []


def test_what_stands_everywhere_hears_of_events_beside_what_stands_alone_under_their_key(place: Place) -> None:
    place.follow("s", 1)
    place.follow("t", 2, ANYTHING, NOWHERE)

    place.flash(A)

    assert sorted(happened(place)) == [("s", [[1]]), ("t", [[2]])]
