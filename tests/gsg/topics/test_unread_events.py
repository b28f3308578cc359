"""Events that one subscriber has not read are bounded, and what is lost is told once."""

from __future__ import annotations

import pytest

from gsg.errors import DoorClosed, Overrun
from gsg.topics.backlog import Backlog, TopicEvent


def event(number: int) -> TopicEvent:
    return TopicEvent("t", (number,), b"p", number)


async def test_the_oldest_go_and_the_next_read_says_how_many() -> None:
    backlog = Backlog(limit=3)
    for number in range(5):
        backlog.put(event(number), 10)

    with pytest.raises(Overrun, match="2 events of the topic were lost"):
        await backlog.__anext__()

    assert [(await backlog.__anext__()).number for _ in range(3)] == [2, 3, 4]


async def test_bytes_are_bounded_and_one_event_stays_however_long_it_is() -> None:
    backlog = Backlog(limit_bytes=10)
    backlog.put(event(1), 6)

    backlog.put(event(2), 60)

    with pytest.raises(Overrun):
        await backlog.__anext__()
    assert (await backlog.__anext__()).number == 2


async def test_a_gap_is_told_before_what_follows_it() -> None:
    backlog = Backlog()
    backlog.lose(7)
    backlog.put(event(8), 1)

    taken = backlog.take(10, 100)
    with pytest.raises(Overrun) as told:
        await backlog.__anext__()

    assert (taken, told.value.lost) == ([], 7)
    assert backlog.take(10, 100) == [event(8)]


async def test_what_is_there_can_be_read_after_the_end() -> None:
    backlog = Backlog()
    backlog.put(event(1), 1)
    backlog.close()

    assert await backlog.__anext__() == event(1)
    with pytest.raises(StopAsyncIteration):
        await backlog.__anext__()


async def test_a_gap_of_which_nobody_knows_the_length_is_told_as_such() -> None:
    backlog = Backlog()
    backlog.lose(0)

    with pytest.raises(Overrun, match="events of the topic may have been lost") as told:
        await backlog.__anext__()

    assert told.value.lost == 0


@pytest.mark.parametrize(
    ("put", "lost", "missing", "told"),
    [
        (5, 0, 0, "2 events of the topic were lost: not read in time"),
        (0, 2, 2, "2 events of the topic were lost: no member has them any more"),
        (0, 1, 1, "an event of the topic was lost: no member has it any more"),
        (5, 2_000, 2_000, "2,002 events of the topic were lost: 2 not read in time, and no member has 2,000 any more"),
        (5, 4, 0, "6 events of the topic were lost: they were not read in time, or no member has them any more"),
    ],
    ids=["unread", "missing", "one", "both", "unknown"],
)
async def test_why_events_were_lost_is_said_where_it_is_known(put: int, lost: int, missing: int, told: str) -> None:
    backlog = Backlog(limit=3)
    for number in range(put):
        backlog.put(event(number), 10)
    backlog.lose(lost, missing=missing)

    with pytest.raises(Overrun) as overrun:
        await backlog.__anext__()

    assert str(overrun.value) == told


async def test_why_it_has_ended_is_raised_after_what_was_there() -> None:
    backlog = Backlog()
    backlog.put(event(1), 1)
    backlog.close(DoorClosed("the peer is gone"))

    assert await backlog.__anext__() == event(1)
    with pytest.raises(DoorClosed, match="the peer is gone"):
        await backlog.__anext__()
