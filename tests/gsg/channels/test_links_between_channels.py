"""Channels linked in any topology, over links that a test carries messages on, one after another."""

from __future__ import annotations

import pytest
from linked_channels import World

from gsg.channels.links.messages import Hello, Interests
from gsg.channels.links.routing import MAX_OWED, OWED_S
from gsg.errors import PeerMisbehaved

CIRCLES = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 7), (7, 4), (0, 6)]


def eight(seed: int) -> World:
    """Eight channels with circles between them, each interested in other events, and all announced."""
    world = World(seed)
    for number in range(8):
        world.start(f"c{number}", f"(= (mod n 8) {number})" if number else "true")
    for one, other in CIRCLES:
        world.link(f"c{one}", f"c{other}")
    world.run()
    return world


def publish(world: World, names: list[str], count: int, first: int = 0) -> None:
    """Events from these channels in turn, while messages are carried."""
    for number in range(first, first + count):
        world.channels[names[number % len(names)]].publish({"n": number})
        world.run(world.rng.randrange(20))


def wanted(world: World, name: str, numbers: range) -> list[int]:
    place = int(name[1:])
    return [number for number in numbers if not place or number % 8 == place]


@pytest.mark.parametrize("seed", range(8))
def test_each_event_is_heard_once_in_the_order_of_its_source_wherever_it_is_wanted(seed: int) -> None:
    world = eight(seed)

    publish(world, list(world.channels), 200)
    world.run()

    for name, heard in world.heard.items():
        assert sorted(event[2] for event in heard) == wanted(world, name, range(200))
        for source in world.names:
            numbers = [number for its_source, number, _ in heard if its_source == source]
            assert numbers == sorted(set(numbers))


def test_announcements_go_quiet_and_are_made_again_only_for_a_change() -> None:
    world = eight(1)
    told = sum(routing.announced for routing in world.routings.values())

    ticket = world.channels["c0"].subscribe(print, "(= n 3)")
    ticket.cancel()
    world.run()

    assert sum(routing.announced for routing in world.routings.values()) == told
    world.channels["c5"].subscribe(print, "(= other 3)")
    world.run()
    assert told < sum(routing.announced for routing in world.routings.values()) < told + 3 * len(CIRCLES)


@pytest.mark.parametrize("seed", range(8))
def test_one_is_killed_and_starts_again_and_nothing_is_lost_or_heard_twice(seed: int) -> None:
    world = eight(seed)
    others = [name for name in world.channels if name != "c4"]
    publish(world, others, 50)
    before = world.heard["c4"]
    world.kill("c4")
    publish(world, others, 50, 50)
    world.run()

    world.start("c4", "(= (mod n 8) 4)")
    for one, other in CIRCLES:
        if 4 in (one, other):
            world.link(f"c{one}", f"c{other}")
    world.run()
    publish(world, list(world.channels), 80, 100)
    world.run()

    for name in others:
        assert sorted(event[2] for event in world.heard[name]) == wanted(world, name, range(180)), name
    assert sorted(event[2] for event in world.heard["c4"]) == wanted(world, "c4", range(100, 180))
    assert len({event[:2] for event in before}) == len(before)


@pytest.mark.parametrize("seed", range(8))
def test_a_link_that_breaks_and_comes_back_goes_on_where_it_was(seed: int) -> None:
    world = World(seed)
    world.start("c0", "true")
    world.start("c1", "true")
    world.link("c0", "c1")
    world.run()
    for number in range(100):
        world.channels["c0"].publish({"n": number})
        world.run(world.rng.randrange(4))
        if number % 17 == 5:
            world.cut("c0", "c1")
        if number % 17 == 12:
            world.link("c0", "c1")
    world.link("c0", "c1")
    world.run()

    assert [event[2] for event in world.heard["c1"]] == list(range(100))
    assert world.routings["c0"].lost == 0


def test_what_is_owed_is_counted_as_lost_after_a_time() -> None:
    world = World()
    world.start("c0", "true")
    world.start("c1", "true")
    world.link("c0", "c1")
    world.run()
    world.cut("c0", "c1")
    world.channels["c0"].publish({"n": 1})

    world.now_s += OWED_S + 1
    world.routings["c0"].advance()

    assert world.routings["c0"].lost == 1
    assert world.routings["c0"].neighbours == []


def test_a_link_that_takes_nothing_is_given_up_at_its_limit() -> None:
    world = World()
    world.start("c0", "true")
    world.start("c1", "true")
    world.link("c0", "c1")
    world.run()
    for number in range(MAX_OWED + 1):
        world.channels["c0"].publish({"n": number})

    assert world.routings["c0"].lost == MAX_OWED


def test_a_link_is_given_up_by_the_bytes_that_it_owes_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.links.routing.OWED_BYTES", 1_000)
    world = World()
    world.start("c0", "true")
    world.start("c1", "true")
    world.link("c0", "c1")
    world.run()
    for number in range(3):
        world.channels["c0"].publish({"n": number, "text": "x" * 400})

    assert world.routings["c0"].lost == 2


def test_a_neighbour_that_tells_of_too_many_interests_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.links.routing.KNOWN_CHARACTERS", 1_000)
    world = World()
    world.start("c0", "true")
    world.start("c1", "true")
    world.link("c0", "c1")
    world.run()
    origin = world.channels["c1"].source

    with pytest.raises(PeerMisbehaved, match="tells of too many channels"):
        world.routings["c0"].received(origin, Interests("other", 1, "true", ["x" * 2_000], [origin]))


def test_an_event_for_named_readers_goes_only_where_one_of_them_asks() -> None:
    world = World()
    for name in ("c0", "c1", "c2"):
        world.start(name, "true")
    found: list[object] = []
    world.channels["c2"].subscribe(lambda event: found.append(event.fields["n"]), "true", asker="Fred")
    world.link("c0", "c1")
    world.link("c0", "c2")
    world.run()
    carried = world.carried

    world.channels["c0"].publish({"n": 1}, readers=["Fred"])
    world.run()

    assert (found, world.heard["c1"], world.heard["c2"]) == ([1], [], [])
    assert world.carried == carried + 2  # told, and taken


@pytest.mark.parametrize(
    ("hello", "said"),
    [(Hello(2, "x", "o"), "speaks version 2"), (Hello(1, "x", "self"), "linked with itself")],
    ids=["version", "itself"],
)
def test_whom_one_cannot_be_linked_with_is_refused(hello: Hello, said: str) -> None:
    world = World()
    channel = world.start("c0", "true")

    with pytest.raises(PeerMisbehaved, match=said):
        world.routings["c0"].link_up(Hello(hello.version, hello.name, channel.source if hello.origin == "self" else hello.origin))


def test_interests_that_cannot_be_read_are_taken_for_everything() -> None:
    world = World()
    world.start("c0", "true")
    world.start("c1", "(= n 5)")
    world.link("c0", "c1")
    world.run()
    origin = world.channels["c1"].source

    world.routings["c0"].received(origin, Interests(origin, 9, "(of the future n)", [""], [world.channels["c0"].source]))
    world.channels["c0"].publish({"n": 5})
    world.run()

    assert [event[2] for event in world.heard["c1"]] == [5]
