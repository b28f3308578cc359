"""What one channel decides about its links when they end, come back, and tell of others in an unlucky order."""

from __future__ import annotations

import msgspec
import pytest
from linked_channels import World

from gsg.channels.channel import Channel
from gsg.channels.links.links import MAX_RESENT, MAX_UNSENT
from gsg.channels.links.messages import MAX_NAME, Hello, Interests, Message, Told, encode
from gsg.channels.links.routing import (
    FORGOTTEN_S,
    KNOWN_CHARACTERS,
    MAX_CHARACTERS,
    MAX_NUMBER,
    MAX_OWED,
    OWED_BYTES,
    OWED_S,
    Routing,
)
from gsg.errors import PeerMisbehaved


def chain(*interests: str) -> World:
    """Channels c0, c1 and so on, each linked with the one before, and all announced."""
    world = World()
    for number, interest in enumerate(interests):
        world.start(f"c{number}", interest)
    for number in range(1, len(interests)):
        world.link(f"c{number - 1}", f"c{number}")
    world.run()
    return world


def heard(world: World, name: str) -> list[object]:
    return [event[2] for event in world.heard[name]]


class Alone:
    """A channel whose neighbour "b" is played by the test."""

    def __init__(self) -> None:
        self.channel = Channel("c0")
        self.sent: list[Message] = []
        self.now_s = 0.0
        self.routing = Routing(self.channel, lambda to, message: self.sent.append(message), lambda to: None, lambda: self.now_s)
        self.routing.link_up(Hello(1, "b", "b"))

    def hears(self, origin: str, *neighbours: str, closure: str = "true", version: int = 1) -> None:
        names = [self.channel.source if name == "c0" else name for name in neighbours]
        self.routing.received("b", Interests(origin, version, closure, [""], names))

    def is_told(self) -> bool:
        """Whether an event goes to b."""
        self.sent.clear()
        self.channel.publish({"n": 1})
        return any(isinstance(message, Told) for message in self.sent)


# --- links that are given up ------------------------------------------------------------------------------------------------------


def test_a_link_that_is_given_up_while_it_is_up_is_ended_and_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = chain("true", "true", "true")
    monkeypatch.setattr("gsg.channels.links.routing.MAX_OWED", 3)
    assert world.routings["c2"].known == 2

    for number in range(4):
        world.channels["c1"].publish({"n": number})
        while world.under_way["c1", "c2"]:
            world.carry("c1", "c2")
        world.carry("c2", "c1")

    assert world.ended["c1"] == ["c0"]
    assert world.routings["c1"].neighbours == ["c2"]
    assert world.routings["c2"].known == 1
    world.cut("c1", "c0")
    world.link("c1", "c0")
    world.run()
    world.channels["c1"].publish({"n": 9})
    world.run()
    assert heard(world, "c0")[-1] == 9


def test_numbers_of_a_link_begin_above_what_its_neighbour_has_taken_in_an_earlier_one() -> None:
    world = chain("true", "true")
    for number in range(3):
        world.channels["c0"].publish({"n": number})
    world.run()
    world.cut("c0", "c1")
    world.now_s += OWED_S + 1
    world.routings["c0"].advance()

    world.link("c0", "c1")
    world.channels["c0"].publish({"n": 3})
    world.run()

    assert heard(world, "c1") == [0, 1, 2, 3]


def test_what_of_an_earlier_link_is_read_late_hides_nothing_of_a_later_one() -> None:
    world = chain("true", "true")
    world.channels["c0"].publish({"n": 0})
    world.run()
    world.channels["c0"].publish({"n": 1})
    late = list(world.under_way["c0", "c1"])
    world.cut("c0", "c1")
    world.now_s += OWED_S + 1
    world.routings["c0"].advance()

    world.link("c0", "c1")
    world.under_way["c0", "c1"].extend(late)
    world.channels["c0"].publish({"n": 2})
    world.run()

    assert heard(world, "c1") == [0, 1, 2]


def test_that_all_was_taken_is_said_again_where_an_earlier_socket_has_lost_it() -> None:
    world = chain("true", "true")
    hello = world.routings["c1"].hello(world.channels["c0"].source)
    world.channels["c0"].publish({"n": 0})
    world.carry("c0", "c1")
    world.under_way["c1", "c0"].clear()

    world.routings["c0"].link_up(hello)
    world.routings["c1"].link_up(world.routings["c0"].hello(world.channels["c1"].source))
    world.run()

    assert world.routings["c0"].owed == 0


def test_a_number_from_which_none_can_go_on_is_refused() -> None:
    with pytest.raises(PeerMisbehaved, match="has taken event"):
        Alone().routing.link_up(Hello(1, "c", "c", MAX_NUMBER + 1))


def test_what_is_wanted_behind_a_link_that_broke_lately_is_owed() -> None:
    world = chain("true", "false", "(= n 5)")
    world.cut("c0", "c1")
    assert world.routings["c0"].known == 0

    world.channels["c0"].publish({"n": 5})
    world.link("c0", "c1")
    world.run()

    assert heard(world, "c2") == [5]
    assert world.routings["c0"].known == 2


def test_what_is_behind_a_link_that_was_given_up_is_forgotten_after_a_time() -> None:
    world = chain("true", "true", "true")
    world.cut("c0", "c1")
    routing = world.routings["c0"]

    for _ in range(2):
        world.now_s += max(OWED_S, FORGOTTEN_S) + 1
        routing.advance()

    assert (routing._known, routing._known_characters, routing._unreached_s, routing._behind) == ({}, 0, {}, {})


# --- a channel that leaves its links ----------------------------------------------------------------------------------------------


def test_a_channel_that_left_its_links_may_have_others() -> None:
    world = chain("(= n 1)", "true")
    channel = world.channels["c0"]
    world.channels["c0"].publish({"n": 0})
    world.run()

    world.leave("c0")
    assert (channel.on_event, channel.on_interest) == ([], [])
    channel.publish({"n": 1})
    world.join("c0")
    world.link("c0", "c1")
    world.run()
    found: list[object] = []
    channel.subscribe(lambda event: found.append(event.fields["n"]), "(= n 2)")
    world.run()
    world.channels["c1"].publish({"n": 2})
    channel.publish({"n": 3})
    world.run()

    assert (found, heard(world, "c1")) == ([2], [0, 2, 3])


# --- interests --------------------------------------------------------------------------------------------------------------------


def test_own_interests_are_told_once_when_a_link_is_made() -> None:
    alone = Alone()

    assert [type(message) for message in alone.sent] == [Interests]
    assert alone.routing.announced == 1


def test_who_is_linked_with_a_neighbour_that_was_not_heard_of_yet_is_behind_it() -> None:
    alone = Alone()

    alone.hears("x", "b")

    assert alone.routing.known == 1
    assert alone.is_told()


def test_news_that_come_in_an_unlucky_order_join_a_channel_again() -> None:
    alone = Alone()
    alone.hears("b", "c0", closure="false")
    alone.hears("y", "z", closure="false")
    alone.hears("x", "y")
    assert not alone.is_told()

    alone.hears("y", "b", "x", closure="false", version=2)
    alone.hears("b", "c0", "y", closure="false", version=2)

    assert alone.is_told()


@pytest.mark.parametrize("later_s", [0.0, FORGOTTEN_S + 1], ids=["while it is known", "when it is forgotten"])
def test_old_news_of_a_dead_channel_do_not_go_round_for_ever(later_s: float) -> None:
    world = World()
    for number in range(4):
        world.start(f"c{number}", "true")
    for one, other in ((0, 1), (1, 2), (2, 0), (0, 3)):
        world.link(f"c{one}", f"c{other}")
    world.run()
    dead, at = world.channels["c3"].source, world.channels["c0"].source
    world.kill("c3")
    world.run()
    for step_s in (OWED_S + 1, later_s):
        world.now_s += step_s
        for routing in world.routings.values():
            routing.advance()

    world.send("c1", "c0", Interests(dead, 1, "true", [""], [at]))
    world.run(100)

    assert not any(world.under_way.values())
    assert [routing.known for routing in world.routings.values()] == [2, 2, 2]


def test_who_is_not_reached_gives_way_to_others_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.links.routing.KNOWN_CHARACTERS", 1_000)
    alone = Alone()
    alone.hears("x", "nobody" * 100)

    alone.hears("y", "b", "nobody" * 100)

    assert alone.routing.known == 1


def test_an_origin_that_is_too_long_is_refused() -> None:
    with pytest.raises(PeerMisbehaved, match="an origin of more than"):
        Alone().hears("x" * (MAX_NAME + 1), "b")


def test_where_too_many_ask_everybody_does() -> None:
    world = chain("true", "true")
    for number in range(2_000):
        world.channels["c1"].subscribe(print, "false", asker=f"{number:0200}")
    found: list[object] = []
    world.channels["c1"].subscribe(lambda event: found.append(event.fields["n"]), "true", asker="Fred")
    world.run()
    carried = world.carried

    world.channels["c0"].publish({"n": 1}, readers=["Fred"])
    world.channels["c0"].publish({"n": 2}, readers=["Joe"])
    world.run()

    assert found == [1]
    assert world.carried == carried + 3  # both are told, and taken together


@pytest.mark.parametrize("name", ["", "x", "\U0001f600", "\U0001f600" * 60])
def test_all_that_is_told_when_a_link_is_made_may_wait_to_be_sent(name: str) -> None:
    interests = Interests("\U0001f600" * MAX_NAME, 2**62, name, [name] * 1_000, [name] * 1_000)
    counted = len(name) + 2_000 * (len(name) + 1)

    assert len(encode(interests)) <= 5 * counted + 4 * MAX_NAME + 32
    assert len(encode(Told(2**62, msgspec.Raw(b"\xc0")))) - 1 <= 16
    assert MAX_UNSENT > MAX_RESENT > OWED_BYTES + 16 * MAX_OWED + 5 * (KNOWN_CHARACTERS + MAX_CHARACTERS)


def test_what_is_wanted_is_told_before_an_event_that_may_be_answered() -> None:
    alone = Alone()
    alone.hears("b", "c0")
    alone.sent.clear()
    alone.channel.on_interest.append(lambda condition, asker, sign: alone.routing.interests_changed())

    alone.channel.subscribe(lambda event: None, "(= type 'answer)")
    alone.channel.publish({"type": "ask"})

    assert [type(message) for message in alone.sent] == [Interests, Told]
