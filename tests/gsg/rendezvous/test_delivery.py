"""What leaves a rendezvous where links are slow or break: it is told by the next link, or counted."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator

import pytest
from line import Line
from place import Place

import rete
from gsg.errors import PeerUnreachable, Refused
from gsg.rendezvous.broken_links import AGAIN
from gsg.rendezvous.delivery import Delivery
from gsg.wire.messages import Happened, InsertCondition


class Lines:
    """A rendezvous with links to one subscriber; what is to go on is begun by the tests."""

    def __init__(self) -> None:
        self.place = Place()
        self.delivery = Delivery(self.place.rendezvous, self._begun)
        self.number = 0
        self.works: list[Coroutine[None, None, None]] = []
        """What is to go on; a test awaits it, or closes it."""

    def _begun(self, work: Coroutine[None, None, None]) -> None:
        self.works.append(work)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        for work in self.works:
            work.close()

    def counts(self) -> dict[str, int]:
        return {count.name: count.count for count in self.delivery.counts()}

    def link(self, line: Line | None = None, *, standby: bool = False) -> tuple[Line, int]:
        """Another link to it, with a feed of its own."""
        self.number += 1
        line = line or Line("subscriber")
        asked = InsertCondition(1, self.number, rete.Template(("x", None)), 0, events_only=True, standby=standby)
        self.place.rendezvous.insert_condition(line, asked)
        return line, self.number

    def told(self, line: Line) -> list[int]:
        """The numbers of the events that a link was told."""
        return [event.number for message in line.sent if isinstance(message, Happened) for event in message.events]


@pytest.fixture
def lines() -> Iterator[Lines]:
    with Lines() as made:
        yield made


@pytest.mark.parametrize("standby", [False, True], ids=["fed", "standing by"])
async def test_what_was_about_to_be_sent_when_the_link_broke_is_told_by_the_next_one(lines: Lines, standby: bool) -> None:
    first, feed = lines.link(standby=standby)
    lines.place.flash(("x", 1), ("x", 2))
    lines.delivery.end_link(first)
    lines.place.flash(("x", 3))
    lines.delivery.flush()

    second, instead = lines.link()
    lines.delivery.replay_events(second, [feed], instead)

    assert lines.told(second) == [1, 2, 3]
    assert (lines.place.rendezvous.conditions.feeds(), lines.place.rendezvous.conditions.feeds(standby=True)) == (1, 0)


async def test_a_feed_of_a_new_life_is_not_told_what_one_of_the_same_number_was_to_be(lines: Lines) -> None:
    first, feed = lines.link()
    lines.delivery.end_link(first)
    lines.place.flash(("x", 1))
    second, other = Line("subscriber"), 99
    asked = InsertCondition(1, other, rete.Template(("y", None)), 0, events_only=True)
    lines.place.rendezvous.insert_condition(second, asked)

    lines.delivery.replay_events(second, [feed], other)

    assert lines.told(second) == []


async def test_a_link_that_broke_unnoticed_ends_when_its_feeds_come_by_another_one(lines: Lines) -> None:
    first, feed = lines.link()
    lines.place.flash(("x", 1))
    lines.delivery.flush()

    second, instead = lines.link()
    lines.delivery.replay_events(second, [feed], instead)
    lines.place.flash(("x", 2))
    lines.delivery.flush()

    assert (lines.told(first), lines.told(second)) == ([1], [1, 2])
    assert lines.place.rendezvous.conditions.feeds() == 1


async def test_a_link_that_breaks_before_it_has_told_of_the_one_before_is_told_of_too(lines: Lines) -> None:
    feeds: list[int] = []
    for number in range(3):
        line, feed = lines.link()
        if feeds:
            lines.delivery.replay_events(line, feeds, feed)
        feeds.append(feed)
        lines.place.flash(("x", number))
        lines.delivery.flush()
        if number < 2:
            lines.delivery.end_link(line)

    assert lines.told(line) == [1, 2, 3]


async def test_a_link_with_too_many_feeds_is_not_waited_for_and_what_was_on_its_way_is_counted(
    lines: Lines, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gsg.rendezvous.delivery.FEEDS", 0)
    first, _ = lines.link()
    lines.place.flash(("x", 1), ("x", 2))
    lines.delivery.flush()

    lines.delivery.end_link(first)

    assert lines.place.rendezvous.conditions.feeds() == 0
    assert lines.counts()["events_missed_by_broken_links"] == 2
    assert "broke, which had 1 feeds: events are kept for at most 0, so 2 that were on their way are lost" in caplog.text


async def test_nothing_is_remembered_of_a_link_whose_last_feed_ended_in_the_read_before_it_broke(lines: Lines) -> None:
    first, feed = lines.link()
    lines.place.flash(("x", 1))
    lines.place.rendezvous.conditions.remove(first, feed)

    lines.delivery.end_link(first)
    lines.delivery.flush()

    assert list(lines.delivery._broken_links._unacknowledged) == []


async def test_nobody_misses_what_was_on_its_way_to_feeds_that_have_ended(lines: Lines) -> None:
    first, feed = lines.link()
    lines.place.flash(("x", 1))
    lines.delivery.flush()
    lines.place.rendezvous.conditions.remove(first, feed)

    lines.delivery.end_link(first)

    assert lines.counts()["events_missed_by_broken_links"] == 0


async def test_who_is_not_back_in_time_is_not_waited_for_and_what_it_missed_is_counted(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsg.rendezvous.delivery.BACK_S", 0.0)
    first, _ = lines.link()
    second, _ = lines.link()
    lines.delivery.end_link(first)
    lines.delivery.end_link(second)
    lines.place.flash(("x", 1))
    lines.delivery.flush()
    (expire,) = lines.works

    await expire

    assert lines.place.rendezvous.conditions.feeds() == 0
    assert lines.counts()["events_missed_by_broken_links"] == 2


@pytest.mark.parametrize("is_noticed", [True, False], ids=["the break is noticed", "it is not"])
async def test_what_comes_in_the_same_read_as_the_feed_that_is_back_is_told(lines: Lines, is_noticed: bool) -> None:
    first, feed = lines.link()
    if is_noticed:
        lines.delivery.end_link(first)

    lines.place.flash(("x", 1))
    second, instead = lines.link()
    lines.delivery.replay_events(second, [feed], instead)
    lines.delivery.flush()

    assert lines.told(second) == [1]


def test_more_feeds_than_may_be_named_are_refused() -> None:
    Delivery.check_replaced(range(AGAIN))

    with pytest.raises(Refused, match=f"{AGAIN + 1} feeds are named that broke; expected at most {AGAIN}"):
        Delivery.check_replaced(range(AGAIN + 1))


class FullLine(Line):
    """Takes what it is sent, and then no more."""

    @property
    def congested(self) -> bool:
        return True

    async def drained(self, limit_s: float | None = None) -> None:
        raise PeerUnreachable("the link is gone")


async def test_a_link_that_is_lost_as_it_is_held_is_told_by_the_next_one(lines: Lines) -> None:
    full = FullLine("subscriber")
    first, feed = lines.link(full)
    lines.place.flash(("x", 1))
    lines.delivery.flush()
    release, *_ = lines.works
    lines.delivery.end_link(first)

    with pytest.raises(PeerUnreachable, match="the link is gone"):
        await release
    second, instead = lines.link()
    lines.delivery.replay_events(second, [feed], instead)

    assert lines.told(second) == [1]
