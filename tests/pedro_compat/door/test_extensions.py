"""What subscriptions may ask for beyond Pedro: a stamp, one delivery a client, and what was before."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_doors import doors
from pedro_wire import WireClient, close_all

import gsg
from gsg.wire.messages import Event
from pedro_compat import PAPER, V1_14, AsyncClient, BadSubscription, Options, Session, parse
from pedro_compat.door.arrival_stamps import Arrivals, Stamp
from pedro_compat.door.extensions import EVER, options_of


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


# --- options -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("[]", Options()),
        ("[stamp]", Options(stamp=True)),
        ("[once,stamp,once]", Options(stamp=True, once=True)),
        ("[recent]", Options(recent_s=EVER)),
        ("[recent(60)]", Options(recent_s=60.0)),
        ("[recent(0.5)]", Options(recent_s=0.5)),
        ("[recent(1e400)]", Options(recent_s=1e9)),
    ],
)
def test_list_of_options_is_understood(source: str, options: Options) -> None:
    assert options_of(parse(source)) == options


@pytest.mark.parametrize(
    "source", ["stamp", "[later]", "[stamp|X]", "[recent(-1)]", "[recent(a)]", "X", "[X]", f"[{'once,' * 16}once]"]
)
def test_what_is_no_list_of_options_is_refused(source: str) -> None:
    with pytest.raises(BadSubscription):
        options_of(parse(source))


@given(st.builds(Options, st.booleans(), st.booleans(), st.none() | st.just(EVER) | st.floats(0, 1e9)))
def test_options_are_read_as_they_are_written(options: Options) -> None:
    assert options_of(parse(options.source())) == options


@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])
@pytest.mark.parametrize("extensions", [False, True], ids=["plain", "extended"])
def test_four_arguments_are_a_subscription_at_a_door_with_extensions_only(dialect: object, extensions: bool) -> None:
    session = Session("h", dialect=dialect, extensions=extensions)

    session.receive(b"subscribe(f(X),true,0,[stamp])\nsubscribe(f(X),true,0,[never])\nsubscribe(f(X),true,0,0,0)\nf(\n\n")

    assert [command.ack for command in iter(session.next_command, None)] == [int(extensions), 0, 0, 0, 0]


# --- arrivals ----------------------------------------------------------------------------------------------------------------


def event(number: int, text: str = "f(1)") -> Event:
    return Event(number, (gsg.Symbol("f"), 1), text)


def test_all_who_hear_of_an_event_get_one_stamp_and_the_next_event_another() -> None:
    arrivals = Arrivals(iter([10.0, 12.5]).__next__)
    first, second = event(1), event(2)

    stamps = [arrivals.stamp(one) for one in (first, first, second)]

    assert stamps == [Stamp(10.0, 1), Stamp(10.0, 1), Stamp(12.5, 2)]


def test_time_of_arrival_never_goes_back() -> None:
    arrivals = Arrivals(iter([10.0, 7.0]).__next__)

    assert [arrivals.stamp(event(number)) for number in (1, 2)] == [Stamp(10.0, 1), Stamp(10.0, 2)]


def test_stamped_line_is_a_term_also_for_a_notification_that_is_an_operator() -> None:
    assert parse(Stamp(1.5, 3).around(" a , b ")) == ("arrived", 1.5, 3, ("','", "a", "b"))


def test_what_is_older_than_is_remembered_is_forgotten() -> None:
    now = [0.0]
    arrivals = Arrivals(lambda: now[0], remember_s=10)
    for second in range(20):
        now[0] = second
        arrivals.remember(event(second), 0)

    def heard(seconds: float) -> list[int]:
        return [one.event.number for one in arrivals.remembered(seconds)]

    assert (heard(EVER), heard(3), heard(0), arrivals.forgotten) == (list(range(9, 20)), [16, 17, 18, 19], [19], 0)


@pytest.mark.parametrize(("limit", "most", "number_kept"), [("MAX_REMEMBERED", 5, 5), ("REMEMBERED_BYTES", 12 * 10 + 9, 12)])
def test_beyond_its_limit_a_door_forgets_the_oldest_counts_them_and_says_so_once(
    limit: str, most: int, number_kept: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Each takes 10 bytes.
    monkeypatch.setattr(f"pedro_compat.door.arrival_stamps.{limit}", most)
    arrivals = Arrivals(lambda: 1.0, remember_s=10)

    for number in range(100):
        arrivals.remember(event(number), 0)

    kept = [one.event.number for one in arrivals.remembered(EVER)]
    assert kept == list(range(100 - number_kept, 100))
    assert arrivals.forgotten == 100 - number_kept
    assert len(caplog.messages) == 1


@given(st.lists(st.sampled_from(["look", "come"]), max_size=60), st.integers(1, 300))
def test_looking_back_meets_what_comes_meanwhile_and_each_once(steps: list[str], before: int) -> None:
    arrivals = Arrivals(count(1.0, 0.0).__next__, remember_s=10)
    numbers = count()
    for _ in range(before):
        arrivals.remember(event(next(numbers)), 0)
    looking = arrivals.remembered(EVER)
    seen = []

    for step in steps:
        if step == "come":
            arrivals.remember(event(next(numbers)), 0)
        elif (met := next(looking, None)) is not None:
            seen.append(met.event.number)
    seen += [one.event.number for one in looking]

    assert seen == list(range(len(seen)))
    assert len(seen) >= before


# --- over sockets ------------------------------------------------------------------------------------------------------------


def unstamped(line: str) -> tuple[str, int, str]:
    """A stamped delivery: rock, number, line."""
    found = re.fullmatch(r"(\d+) arrived\(\d{10}\.\d{6},(\d+),\((.*)\)\)", line)
    assert found is not None, line
    return found[1], int(found[2]), found[3]


async def test_stamp_is_the_same_for_all_who_ask_and_nobody_else_sees_it() -> None:
    async with doors(1, extensions=True) as [(_, door)]:
        plain, one, other = [await WireClient.connect(door.port) for _ in range(3)]
        await plain.send("subscribe(f(_), true, 1)")
        answers = [await client.send("subscribe(f(_), true, 2, [stamp])") for client in (one, other)]

        await plain.send("f( 1 )")
        await plain.send("f(2)")

        assert answers == [1, 1]
        assert plain.delivered() == ["1 f( 1 )", "1 f(2)"]
        stamped = one.delivered()
        assert stamped == other.delivered()
        assert [unstamped(line) for line in stamped] == [("2", 1, "f( 1 )"), ("2", 2, "f(2)")]


async def test_notification_is_delivered_once_by_the_newest_of_the_subscriptions_that_ask_for_it() -> None:
    async with doors(1, extensions=True) as [(_, door)]:
        client = await WireClient.connect(door.port)
        for line in ("f(_), true, 1, [once]", "_, true, 2, [once]", "f(1), true, 3, [once]", "f(_), true, 4"):
            await client.send(f"subscribe({line})")

        for line in ("f(1)", "f(2)", "g"):
            await client.send(line)

        assert client.delivered() == ["4 f(1)", "3 f(1)", "4 f(2)", "1 f(2)", "2 g"]


async def test_equal_notifications_are_two() -> None:
    async with doors(1, extensions=True) as [(_, door)]:
        client = await WireClient.connect(door.port)
        await client.send("subscribe(f(_), true, 1, [once])")

        await client.send_raw(b"f(1)\nf(1)\n", 2)

        assert client.delivered() == ["1 f(1)", "1 f(1)"]


async def test_late_subscriber_gets_what_was_before_and_then_what_comes() -> None:
    async with doors(1, remember_s=60) as [(_, door)]:
        publisher, late = await WireClient.connect(door.port), await WireClient.connect(door.port)
        for line in ("temp(kitchen, 19)", "temp(kitchen, 25)", "alarm", "temp(hall, 30)"):
            await publisher.send(line)

        await late.send("subscribe(temp(_, T), T > 20, 7, [recent])")
        await publisher.send("temp(attic, 40)")

        assert late.delivered() == ["7 temp(kitchen, 25)", "7 temp(hall, 30)", "7 temp(attic, 40)"]


async def test_what_was_before_comes_from_other_peers_too_with_its_stamp_and_once() -> None:
    async with doors(2, remember_s=[60, 0], extensions=True) as [(_, door), (_, far)]:
        publisher, client = await WireClient.connect(far.port), await WireClient.connect(door.port)
        await client.send("subscribe(f(_), true, 1, [once, stamp])")
        await publisher.send("f(1)")
        first = await client.next_delivery()

        await client.send("subscribe(_, true, 2, [once, stamp, recent])")
        await publisher.send("f(2)")

        assert [unstamped(line) for line in (first, await client.next_delivery())] == [("1", 1, "f(1)"), ("1", 2, "f(2)")]


async def test_many_notifications_are_looked_through_in_turns_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.background.SLICE_S", 0.0)
    async with doors(1, remember_s=60) as [(_, door)]:
        publisher, late = await WireClient.connect(door.port), await WireClient.connect(door.port)
        await publisher.send_raw(b"".join(b"f(%d)\n" % number for number in range(500)), 500)

        await late.send_raw(b"subscribe(f(_), true, 7, [recent])\nf(500)\n", 2)
        await publisher.send("f(501)")

        assert late.delivered() == [f"7 f({number})" for number in range(502)]


async def test_client_that_leaves_while_it_looks_back_is_not_told_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.background.SLICE_S", 0.0)
    async with doors(1, remember_s=60) as [(_, door)]:
        publisher, late = await WireClient.connect(door.port), await WireClient.connect(door.port)
        await publisher.send_raw(b"".join(b"f(%d)\n" % number for number in range(2_000)), 2_000)

        late.data.send(b"subscribe(f(_), true, 7, [recent])\n")
        late.close()

        assert await publisher.send("f(0)") == 1


async def test_door_that_remembers_nothing_refuses_to_look_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with doors(1, extensions=True) as [(_, door)]:
        client = await WireClient.connect(door.port)

        assert await client.send("subscribe(f(_), true, 7, [recent])") == 0
        assert await client.send("unsubscribe(1)") == 0
    assert "this door remembers nothing; start it with --pedro-remember SECONDS" in caplog.text


async def test_event_of_a_script_is_remembered_and_stamped_as_a_term() -> None:
    async with doors(1, remember_s=60) as [(peer, door)]:
        client = await WireClient.connect(door.port)
        await peer.run('NOTIFY { (temp, "a room", 25.5) }')
        await peer.run("NOTIFY { (temp, <http://example.org/room>, 25.5) }")

        await client.send("subscribe(temp(R, T), string(R), 3, [recent, stamp])")

        assert [unstamped(line) for line in client.delivered()] == [("3", 1, 'temp("a room",25.5)')]


async def test_client_of_the_package_asks_for_options_and_asks_again_when_it_reconnects() -> None:
    async with doors(1, remember_s=60) as [(_, door)], AsyncClient(port=door.port) as client:
        await client.notify("f(1)")
        await client.subscribe("f(X)", options=Options(stamp=True, recent_s=EVER))
        first = await client.delivery()
        client._line.close()

        await client.notify("f(2)")

        assert first is not None
        assert (first.term()[0], first.term()[3]) == ("arrived", ("f", 1))
        again = [await client.delivery(), await client.delivery()]
        assert [delivery.term()[3] for delivery in again if delivery is not None] == [("f", 1), ("f", 2)]


async def test_client_of_the_package_is_refused_options_where_there_are_no_extensions() -> None:
    async with doors(1) as [(_, door)], AsyncClient(port=door.port) as client:
        with pytest.raises(gsg.Refused, match="the door has no extensions"):
            await client.subscribe("f(X)", options=Options(once=True))


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_time_to_look_back_is_checked_where_it_is_said(seconds: float) -> None:
    with pytest.raises(gsg.LocalError, match="is no time to look back; expected seconds"):
        Options(recent_s=seconds)
