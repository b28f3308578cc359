"""What arrives of events is acknowledged, now and then, link by link."""

from __future__ import annotations

import asyncio

import pytest
from line import Line

from gsg.errors import PeerUnreachable
from gsg.feeds.acknowledging import ARRIVED_MESSAGES, Acknowledger
from gsg.wire.messages import Arrived, Message


@pytest.fixture
def _in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.feeds.acknowledging.ARRIVED_S", 0.0)


async def moment() -> None:
    """Until a timer of no time has run."""
    for _ in range(2):
        await asyncio.sleep(0)


class Gone(Line):
    """A link that broke, of which nobody was told yet."""

    def send(self, message: Message) -> None:
        raise PeerUnreachable("the link is gone")


class Own(Line):
    """The way to ourselves."""

    is_remote = False


@pytest.mark.usefixtures("_in_a_moment")
async def test_what_arrives_is_acknowledged_in_a_moment_or_when_there_is_much() -> None:
    acks, link = Acknowledger(), Line("from")

    for _ in range(ARRIVED_MESSAGES + 1):
        acks.count_message(link)
    at_once = list(link.sent)
    await moment()

    assert at_once == [Arrived(ARRIVED_MESSAGES)]
    assert link.sent == [Arrived(ARRIVED_MESSAGES), Arrived(ARRIVED_MESSAGES + 1)]


@pytest.mark.usefixtures("_in_a_moment")
async def test_links_are_counted_apart_and_told_only_what_is_new() -> None:
    acks, first, second = Acknowledger(), Line("first"), Line("second")
    acks.count_message(first)
    acks.count_message(first)
    await moment()

    acks.count_message(second)
    await moment()

    assert (first.sent, second.sent) == ([Arrived(2)], [Arrived(1)])


@pytest.mark.usefixtures("_in_a_moment")
async def test_a_link_that_is_gone_is_told_nothing_and_keeps_nobody_from_being_told() -> None:
    acks, lost, gone, link = Acknowledger(), Line("lost"), Gone("gone"), Line("from")
    for each in (lost, gone, link):
        acks.count_message(each)

    acks.forget_link(lost)
    await moment()

    assert (lost.sent, link.sent) == ([], [Arrived(1)])


@pytest.mark.usefixtures("_in_a_moment")
async def test_what_this_peer_tells_itself_is_not_acknowledged() -> None:
    acks, own = Acknowledger(), Own("own")

    acks.count_message(own)
    await moment()

    assert own.sent == []


@pytest.mark.usefixtures("_in_a_moment")
async def test_a_peer_that_stops_acknowledges_nothing_more() -> None:
    acks, link = Acknowledger(), Line("from")
    acks.count_message(link)

    acks.stop()
    acks.stop()
    await moment()

    assert link.sent == []
