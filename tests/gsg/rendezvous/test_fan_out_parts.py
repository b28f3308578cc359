"""How the subscribers of one template are cut into parts: who is a head, who goes to whom, and what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

import dht
from gsg.rendezvous.conditions import Conditions
from gsg.rendezvous.fan_out.kept_events import KeptEvents
from gsg.rendezvous.fan_out.parts import DIRECT_AGAIN, MOST_DIRECT, PARTS, FanOut, PartFeed, wanted_heads
from gsg.rendezvous.feed import AnyFeed, Feed, Posting, Subscriber
from gsg.rendezvous.matching import EventBatch
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.rendezvous.slow_links import KEPT_EVENTS
from gsg.tuples.audiences import restricted
from gsg.tuples.features import Template
from gsg.tuples.terms import Symbol
from gsg.wire.messages import Event, Happened, InsertCondition, Lead, Message, Missed, Moved, Origin
from gsg.wire.waiting import Room

HOT = Symbol("hot")
TEMPLATE = Template((None, HOT))
OWN = dht.Contact(bytes(20), "10.0.0.1", 7400)


class Link:
    """Another peer, as a subscriber."""

    is_remote = True

    def __init__(self, number: int) -> None:
        self.contact = dht.Contact(number.to_bytes(20, "big"), "10.0.0.2", 7400)
        self.congested = False


class World:
    """A rendezvous with subscribers, each with one feed; ``said`` is what was sent to them."""

    def __init__(self, size: int, *, events_only: bool = False) -> None:
        self.rendezvous = Rendezvous(lambda test: lambda items, text: True, clock=lambda: 0.0)
        self.fan_outs = self.rendezvous.fan_outs
        self.fan_outs.own = OWN
        self.conditions: Conditions = self.rendezvous.conditions
        self.links: list[Link] = []
        self.said: list[tuple[Subscriber, Message]] = []
        for _ in range(size):
            self.subscribe(events_only=events_only)

    def subscribe(self, *, events_only: bool = False, not_by: tuple[bytes, ...] = (), link: Link | None = None) -> AnyFeed:
        if link is None:
            self.links.append(link := Link(len(self.links) + 1))
        number = 1 + max(self.conditions._of_subscriber.get(link, {}), default=0)
        asked = InsertCondition(0, number, TEMPLATE, 1, events_only=events_only, not_by=list(not_by))
        feed = self.rendezvous.insert_condition(link, asked)
        self.rendezvous.release_feed(feed)
        return feed

    def come_again(self) -> None:
        """Whoever was asked to post again does, and ends what it had."""
        for link, message in self.take():
            if isinstance(message, Moved):
                assert isinstance(link, Link)
                self.subscribe(link=link)
                self.conditions.remove_condition(link, message.feed)
        self.take()

    def take(self) -> list[tuple[Subscriber, Message]]:
        self.said = self.rendezvous.take_messages()
        return self.said

    @property
    def posting(self) -> Posting:
        return next(iter(self.fan_outs.fanned))

    @property
    def fan_out(self) -> FanOut:
        return self.fan_outs.fanned[self.posting]

    def parts(self) -> list[int]:
        return sorted(map(len, self.fan_out.heads.values()))


def moved(said: list[tuple[Subscriber, Message]]) -> list[Subscriber]:
    return [link for link, message in said if isinstance(message, Moved)]


def test_as_many_as_are_served_directly_are_not_cut() -> None:
    assert not World(MOST_DIRECT).fan_outs.fanned


def test_with_one_more_the_others_are_asked_to_post_again_and_the_heads_are_not() -> None:
    world = World(MOST_DIRECT)

    world.subscribe()

    assert len(world.fan_out.heads) == 9
    asked = moved(world.take())
    assert len(asked) == MOST_DIRECT + 1 - 9
    assert not set(asked) & {head.subscriber for head in world.fan_out.heads}


def test_who_posts_again_goes_to_the_smallest_part_and_its_head_is_told_once() -> None:
    world = World(MOST_DIRECT)
    world.subscribe()
    leads: list[Subscriber] = []

    for link, message in world.take():
        if isinstance(message, Moved):
            assert isinstance(link, Link)
            assert type(world.subscribe(link=link)) is PartFeed
            world.conditions.remove_condition(link, message.feed)
        leads += [to for to, told in world.take() if isinstance(told, Lead) and told.leads]

    assert world.parts() == [6, 6, 6, 6, 6, 6, 6, 7, 7]
    assert len(leads) == len(set(leads)) == 9
    assert len(world.posting.feeds) == 9


def test_parts_grow_with_the_root_of_the_subscribers_and_are_never_more_than_may_be() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()

    for _ in range(1_000 - len(world.links)):
        world.subscribe()

    assert len(world.fan_out.heads) == 32
    assert max(world.parts()) <= 33
    for _ in range(4_500 - len(world.links)):
        world.subscribe()
    assert len(world.fan_out.heads) == PARTS == len(world.posting.feeds)


def test_with_few_left_all_are_asked_to_post_again_and_are_served_directly() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    heads = [head.subscriber for head in world.fan_out.heads]
    members = [link for link in world.links if link not in heads]

    for link in members[: len(world.links) - DIRECT_AGAIN - 1]:
        world.conditions.remove_subscriber(link)
    assert world.fan_out.is_partial
    world.take()
    world.conditions.remove_subscriber(members[len(world.links) - DIRECT_AGAIN - 1])

    assert not world.fan_out.is_partial
    left = DIRECT_AGAIN - len(heads)
    assert len(moved(world.take())) == left
    for link in members[-left:]:
        world.subscribe(link=link)
        world.conditions.remove_condition(link, 2)
    assert not world.fan_outs.fanned
    assert [message.leads for _, message in world.take() if isinstance(message, Lead)] == [False] * len(heads)


def test_a_head_that_goes_leaves_its_part_to_the_others() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    head, part = next(iter(world.fan_out.heads.items()))
    members = [feed.subscriber for feed in part]

    world.conditions.remove_subscriber(head.subscriber)

    assert moved(world.take()) == members
    assert head not in world.fan_out.heads


def test_a_dismissed_head_is_none_any_more() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    head, part = next(iter(world.fan_out.heads.items()))
    members = [feed.subscriber for feed in part]

    world.fan_outs.dismiss(world.posting, head)

    assert moved(said := world.take()) == members
    assert [(to, message.leads) for to, message in said if isinstance(message, Lead)] == [(head.subscriber, False)]
    assert not world.fan_outs._may_lead(head, world.fan_out)


def test_nobody_is_sent_to_a_head_that_refused_it_and_after_some_it_is_served_directly() -> None:
    world = World(200)
    world.come_again()
    refused: list[bytes] = []

    for _ in range(3):
        feed = world.subscribe(not_by=tuple(refused))
        assert isinstance(feed, PartFeed)
        head = feed.head.subscriber
        assert isinstance(head, Link)
        assert head.contact.id not in refused
        refused.append(head.contact.id)

    assert type(world.subscribe(not_by=tuple(refused))) is Feed


def test_a_head_whose_link_is_full_gets_nobody() -> None:
    world = World(200)
    world.come_again()
    for head in world.fan_out.heads:
        assert isinstance(head.subscriber, Link)
        head.subscriber.congested = True

    assert type(world.subscribe()) is Feed


def test_who_asks_for_facts_is_not_sent_to_a_head_that_has_only_events() -> None:
    world = World(MOST_DIRECT + 1, events_only=True)

    assert type(world.subscribe()) is Feed
    assert type(world.subscribe(events_only=True)) is PartFeed


def test_many_feeds_of_few_peers_are_not_cut() -> None:
    world = World(8)

    for number in range(400):
        world.subscribe(link=world.links[number % 8])

    assert not world.fan_outs.fanned


def test_a_fact_for_a_head_takes_its_part_away_before_it_is_told() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    head = next(iter(world.fan_out.heads))
    assert isinstance(head.subscriber, Link)
    [secret] = restricted([(Symbol("s"), HOT)], frozenset((head.subscriber.contact.id,)))

    world.rendezvous.publish(1, [secret], [b"\x00\x01"])

    said = [message for to, message in world.take() if to is head.subscriber]
    assert [type(message).__name__ for message in said] == ["Lead", "Deltas"]
    assert isinstance(said[0], Lead)
    assert not said[0].leads
    assert head not in world.fan_out.heads
    assert type(world.subscribe(link=head.subscriber)) is Feed


def test_one_who_may_read_more_is_served_directly_and_is_no_head() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    reader = Link(9_999)
    [secret] = restricted([(Symbol("s"), HOT)], frozenset((reader.contact.id,)))
    world.rendezvous.publish(1, [secret], [b"\x00\x01"])

    feed = world.subscribe(link=reader)

    assert type(feed) is Feed
    assert feed not in world.fan_out.heads


def test_a_key_that_moves_takes_members_along() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()

    world.rendezvous.tell_moved([(2, 1, HOT)], dht.Contact(bytes(19) + b"x", "10.0.0.9", 7400))

    told = [message for _, message in world.take() if isinstance(message, Moved)]
    assert len(told) == MOST_DIRECT + 1
    assert {message.to.host for message in told} == {"10.0.0.9"}


def test_a_fact_for_members_takes_those_away_that_are_told_of_facts_and_asks_once() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()
    member = next(iter(next(iter(world.fan_out.heads.values())))).subscriber
    assert isinstance(member, Link)
    assert isinstance(world.subscribe(link=member, events_only=True), PartFeed)
    secrets = restricted([(Symbol("s"), HOT), (Symbol("t"), HOT)], frozenset((member.contact.id,)))

    for secret in secrets:
        world.rendezvous.publish(1, [secret], [b"\x00\x01"])

    assert moved(world.take()) == [member]


def test_what_changes_without_a_publisher_is_nobodys_word() -> None:
    world = World(MOST_DIRECT + 1)
    world.come_again()

    world.rendezvous.take_over([1], [(Symbol("s"), HOT)], [b"\x00\x01"], [1])
    world.rendezvous.publish(1, [(Symbol("cold"), 1)], [b"\x00\x01"], origin=Origin(b"publisher", 1))

    assert world.fan_outs.come_before(b"publisher") == []
    world.rendezvous.publish(1, [(Symbol("t"), HOT)], [b"\x00\x01"], origin=Origin(b"publisher", 2))
    assert world.fan_outs.come_before(b"publisher") == [(OWN.id + b"h", 2, 2)]


def with_a_member_fed_directly() -> tuple[World, Subscriber]:
    """Of what begins with ``s``, beside what it hears by its head."""
    world = World(MOST_DIRECT + 1)
    world.come_again()
    member = next(iter(next(iter(world.fan_out.heads.values())))).subscriber
    world.rendezvous.insert_condition(member, InsertCondition(0, 9, Template((Symbol("s"), None)), 0, events_only=True))
    return world, member


def test_of_events_that_go_together_each_way_names_what_goes_by_the_other_before_the_last() -> None:
    world, member = with_a_member_fed_directly()
    events = [Event(number, (who, HOT if hot else 1)) for number, (who, hot) in enumerate(((7, 1), (Symbol("s"), 0), (8, 1)), 4)]

    EventBatch(world.rendezvous, b"publisher", events, [None] * 3).forward(inf)

    happened = {who: message for who, message in world.take() if isinstance(message, Happened)}
    by_heads, directly = (OWN.id + b"h", 4, 4), (OWN.id + b"d", 5, 5)
    assert [event.number for event in happened[member].events] == [5]
    assert happened[member].after == [by_heads]
    assert {tuple(message.after) for who, message in happened.items() if who is not member} == {(by_heads, directly)}


def test_an_event_by_heads_names_nothing_that_goes_directly_behind_it() -> None:
    world, member = with_a_member_fed_directly()

    EventBatch(world.rendezvous, b"publisher", [Event(4, (7, HOT)), Event(5, (Symbol("s"), 1))], [None] * 2).forward(inf)

    happened = {who: message for who, message in world.take() if isinstance(message, Happened)}
    assert happened[member].after == [(OWN.id + b"h", 4, 4)]
    assert {tuple(message.after) for who, message in happened.items() if who is not member} == {()}


@pytest.mark.parametrize(("subscribers", "heads"), [(1, 1), (2, 2), (64, 8), (65, 9), (2_000, 45), (4_096, 64), (100_000, PARTS)])
def test_there_are_as_many_heads_as_the_root_of_the_subscribers(subscribers: int, heads: int) -> None:
    assert wanted_heads(subscribers) == heads


def happened(first: int, count: int = 1) -> Happened:
    return Happened(b"p", [Event(number, (number,)) for number in range(first, first + count)], [])


def kept(messages: Iterator[Message]) -> list[int]:
    return [
        -message.events if isinstance(message, Missed) else event.number
        for message in messages
        if isinstance(message, Happened | Missed)
        for event in (message.events if isinstance(message, Happened) else [Event(0, ())])
    ]


@pytest.mark.parametrize(("came_to", "told"), [(-1, [1, 2, 3]), (0, [2, 3]), (1, [3]), (2, [])])
def test_of_what_is_kept_is_told_what_came_behind_a_position(came_to: int, told: list[int]) -> None:
    events = KeptEvents(Room(1_000_000))
    for position, number in enumerate((1, 2, 3)):
        events.keep(position, happened(number), 0.0)

    assert kept(events.since(came_to, 7, 0.0)) == told


def test_what_was_dropped_for_room_is_told_as_missed_to_whoever_had_not_come_so_far() -> None:
    events = KeptEvents(Room(1 << 30))

    events.keep(0, happened(0, 3), 0.0)
    events.keep(1, happened(3, KEPT_EVENTS), 0.0)

    assert kept(events.since(-1, 7, 0.0))[:2] == [-3, 3]
    assert kept(events.since(0, 7, 0.0))[:1] == [3]


def test_what_is_older_than_a_link_is_waited_for_is_not_kept_and_nobody_missed_it() -> None:
    events = KeptEvents(Room(1_000_000))
    events.keep(0, happened(1), 0.0)

    events.keep(1, happened(2), 100.0)

    assert kept(events.since(-1, 7, 100.0)) == [2]


def test_what_is_kept_takes_room_of_all_until_it_is_cleared() -> None:
    room = Room(1_000_000)
    events = KeptEvents(room)
    events.keep(0, happened(1, 100), 0.0)
    assert room.taken_bytes > 0

    events.clear()

    assert room.taken_bytes == 0
    assert kept(events.since(-1, 7, 0.0)) == []


def test_what_is_old_is_not_told_to_whoever_comes_after_a_silence() -> None:
    room = Room(1_000_000)
    events = KeptEvents(room)
    events.keep(0, happened(1), 0.0)

    assert kept(events.since(-1, 7, 100.0)) == []
    assert (bool(events), room.taken_bytes) == (False, 0)


def test_events_for_which_others_have_left_no_room_push_out_none_of_those_that_are_kept() -> None:
    room = Room(100, each_bytes=0)
    events = KeptEvents(room)
    events.keep(0, happened(1), 0.0)
    room.take(100 - room.taken_bytes)

    events.keep(1, happened(2, 100), 0.0)

    assert kept(events.since(-1, 7, 0.0)) == [-100, 1]


@pytest.mark.parametrize(("age_s", "late_s"), [(0.1, 0), (0.9, 0), (1.5, 2), (3.0, 4)])
def test_no_event_is_told_as_older_than_it_is(age_s: float, late_s: int) -> None:
    """Who subscribed before it was published would not hear of it: ``late_s`` is 1 for now, and 2 for a second ago."""
    events = KeptEvents(Room(1_000_000))
    events.keep(0, happened(1), 0.0)

    [message] = events.since(-1, 7, age_s)

    assert isinstance(message, Happened)
    assert [event.late_s for event in message.events] == [late_s]
