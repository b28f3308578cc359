"""Feeds of a rendezvous whose subscribers are slow, and whose keys change hands."""

from __future__ import annotations

import pytest
from place import ANYTHING, ON, A, B, Place, flash

import dht
import gsg.rendezvous.feed
import rete
from gsg.placement.rules import NOWHERE
from gsg.tuples.terms import Tuple
from gsg.wire.messages import Deltas, Event, Gap, Happened, Moved, Snapshot
from tests.gsg.known import history_of


@pytest.fixture
def place() -> Place:
    return Place()


# --- subscribers that are slow ------------------------------------------------------------------------------------------------


def test_a_held_feed_keeps_its_deltas_and_others_go_on(place: Place) -> None:
    place.follow("slow", 1)
    place.follow("fast", 1)
    place.rendezvous.hold_subscriber("slow")
    place.rendezvous.hold_subscriber("nobody")

    place.insert(A, B)
    assert place.heard() == {"fast": ["+a on b", "+b on c"]}
    place.rendezvous.unhold_subscriber("slow")
    assert place.heard() == {"slow": ["+a on b", "+b on c"]}


def test_a_feed_that_is_posted_while_its_link_is_held_is_held_too(place: Place) -> None:
    place.follow("slow", 1)
    place.rendezvous.hold_subscriber("slow")
    place.follow("slow", 2)

    place.insert(A)
    assert place.take() == []
    place.rendezvous.unhold_subscriber("slow")
    assert [who for who, message in place.take() if isinstance(message, Deltas)] == ["slow", "slow"]


def test_more_than_a_held_feed_keeps_is_a_gap_that_a_snapshot_closes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.feed, "HELD_DELTAS", 2)
    facts: list[Tuple] = [(number, ON, "x") for number in range(4)]
    place.follow("slow", 1)
    place.rendezvous.hold_subscriber("slow")
    place.insert(*facts)
    feed = place.rendezvous.conditions.feed("slow", 1)
    assert feed is not None

    assert place.take() == []
    place.rendezvous.unhold_subscriber("slow")
    assert place.take() == [("slow", Gap(1))]
    place.retract(facts[0])
    assert place.take() == []

    assert list(filter(None, place.rendezvous.snapshot(feed))) == [Snapshot(1, facts[1:], True, True, 0)]
    place.rendezvous.release_feed(feed)
    place.insert(facts[0])
    assert place.take() == [("slow", Deltas(1, 0, [facts[0]], [1]))]


def test_what_all_held_feeds_keep_is_bounded_together_and_given_back(place: Place) -> None:
    room = place.rendezvous.conditions._room
    room.limit_bytes = 3_500
    for who in ("slow", "deaf"):
        place.follow(who, 1)
        place.rendezvous.hold_subscriber(who)
    for number in range(3):
        place.insert((f"{number}" + "z" * 1_000, ON, "x"))

    assert 3_000 < room.taken_bytes <= 3_500
    place.rendezvous.unhold_subscriber("slow")
    place.rendezvous.unhold_subscriber("deaf")
    told = place.take()

    assert [who for who, message in told if isinstance(message, Gap)] == ["deaf"]
    assert room.taken_bytes == 0
    place.rendezvous.drop_subscriber("slow")
    place.rendezvous.drop_subscriber("deaf")
    assert room.taken_bytes == 0


def test_a_feed_that_may_speak_has_no_limit_within_one_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.feed, "HELD_DELTAS", 2)
    place.follow("s", 1)

    place.insert(*((number, ON, "x") for number in range(4)))

    assert [len(message.facts) for _, message in place.take() if isinstance(message, Deltas)] == [4]


def test_room_on_the_link_does_not_let_a_feed_speak_in_the_middle_of_its_snapshot(place: Place) -> None:
    place.insert(A)
    feed = place.post("s", 1, rete.Template((None, ON, None)), 1)
    place.rendezvous.snapshot(feed)
    place.rendezvous.hold_subscriber("s")

    place.insert(B)
    place.rendezvous.unhold_subscriber("s")
    assert place.take() == []
    place.rendezvous.release_feed(feed)
    assert place.heard() == {"s": ["+b on c"]}


def test_an_event_follows_the_deltas_of_facts_that_were_published_before_it(place: Place) -> None:
    place.follow("s", 1)

    place.insert(A)
    flash(place.rendezvous, [Event(1, B)], [b"\x01"])

    assert [type(message) for _, message in place.take()] == [Deltas, Happened]


# --- keys that change hands ---------------------------------------------------------------------------------------------------

HOLDER = dht.Contact(bytes(20), "10.0.0.9", 7400)
ON_KEY, HOME_KEY = (3, 1, ON), (3, 0, "a")


def test_feeds_of_a_key_that_moves_are_told_once_and_facts_stay_until_they_have_followed(place: Place) -> None:
    place.insert(A)
    place.follow("s", 1)
    place.follow("t", 1, ANYTHING, NOWHERE)

    place.rendezvous.tell_moved([ON_KEY, HOME_KEY], HOLDER)
    place.rendezvous.move_keys([ON_KEY, HOME_KEY])
    assert place.take() == [("s", Moved(1, HOLDER, False)), ("t", Moved(1, HOLDER, False))]
    assert place.rendezvous.has_moved_feeds()
    place.rendezvous.drop_moved_key(ON_KEY)
    assert place.rendezvous.holds_key(ON_KEY)

    place.rendezvous.drop_subscriber("s")
    assert not place.rendezvous.has_moved_feeds()
    place.rendezvous.drop_moved_key(ON_KEY)
    assert (place.rendezvous.holds_key(ON_KEY), place.take()) == (False, [])
    place.rendezvous.drop_moved_key(HOME_KEY)
    assert place.heard() == {"t": ["-a on b"]}
    assert list(place.rendezvous.moved) == []


def test_a_moved_key_is_ours_again_when_its_owner_writes_here(place: Place) -> None:
    place.insert(A)
    place.rendezvous.move_keys([ON_KEY, HOME_KEY])

    place.rendezvous.publish(1, [B], [b"\x01"], as_holder=False)
    assert ON_KEY in place.rendezvous.moved
    place.rendezvous.publish(1, [("c", ON, "d")], [b"\x01"])
    place.rendezvous.keep_keys([HOME_KEY])

    assert list(place.rendezvous.moved) == []


@pytest.mark.parametrize(
    ("retracted_at", "told", "there"),
    [(5, (1, 4), False), (5, (1, 6), True), (None, (1, 4), True)],
    ids=["inserted before", "inserted after", "not retracted"],
)
def test_a_fact_handed_over_comes_unless_it_was_retracted_since(
    place: Place, retracted_at: int | None, told: tuple[int, int], there: bool
) -> None:
    sign, stamp = told
    place.rendezvous.held.remembering = True
    place.rendezvous.publish(-1, [A], [b"\x01"] if retracted_at else [b""], stamp=retracted_at or 0)

    place.rendezvous.take_over([sign], [A], [b"\x01"], [stamp])

    assert place.rendezvous.holds_key(ON_KEY) is there


@pytest.mark.parametrize(("stamp", "there"), [(4, True), (6, False)], ids=["older", "newer"])
def test_a_retraction_handed_over_counts_unless_the_fact_came_since(place: Place, stamp: int, there: bool) -> None:
    place.rendezvous.publish(1, [A], [b"\x01"], stamp=5)

    place.rendezvous.take_over([-1], [A], [b"\x01"], [stamp])

    assert place.rendezvous.holds_key(ON_KEY) is there


def test_of_two_changes_at_one_moment_both_sides_take_the_retraction(place: Place) -> None:
    place.rendezvous.held.remembering = True
    place.rendezvous.publish(1, [A], [b"\x01"], stamp=5)

    place.rendezvous.take_over([-1, 1], [A, A], [b"\x01", b"\x01"], [5, 5])

    assert history_of(place.rendezvous.held, ON_KEY) == [(-1, A, 5)]


def test_what_another_holder_tells_reaches_the_feeds_here(place: Place) -> None:
    place.follow("s", 1)

    place.rendezvous.take_over([1, 1, -1], [A, A, A], [b"\x01"] * 3, [4, 4, 5])

    assert place.heard() == {"s": ["+a on b", "-a on b"]}


def test_what_is_known_to_have_gone_is_no_change_when_it_is_said_again(place: Place) -> None:
    held = place.rendezvous.held
    held.remembering = True
    key = (len(A), 0, A[0])
    place.rendezvous.take_over([-1], [A], [b"\x00"], [5])
    held.changed = {}

    place.rendezvous.take_over([-1], [A], [b"\x00"], [5])
    assert held.changed == {}

    # Else holders that say it to each other again and again never stand still long enough to be compared.
    place.rendezvous.take_over([1], [A], [b"\x00"], [6])
    assert list(held.changed) == [key]
