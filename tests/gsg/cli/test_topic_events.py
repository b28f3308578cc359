"""`gsg subscribe --topic` adds up what was lost, and says all of it, once a second at most."""

from __future__ import annotations

import asyncio

from dht.simnet import SimNet, run
from gsg.cli.topics.topic_events import SAY_EVERY_S, LossTeller, follow
from gsg.errors import Overrun
from gsg.topics.backlog import Backlog, Losses, TopicEvent


def event(number: int) -> TopicEvent:
    return TopicEvent("t", (number,), b"p", number)


def test_losses_are_said_at_once_and_then_together() -> None:
    said: list[str] = []
    losses = LossTeller(lambda some: said.append(str(some)))

    for now_s in (0.0, 0.3, 0.6, 0.9, SAY_EVERY_S):
        losses.add(Overrun("", lost=400, unread=400))
        losses.tell_due(now_s)

    assert said == [
        "400 events of the topic were lost: not read in time",
        "1,600 events of the topic were lost: not read in time",
    ]
    assert losses.due_s is None


async def test_heard_and_lost_are_all_that_was_published() -> None:
    heard: list[int] = []
    said: list[Losses] = []
    backlog = Backlog(limit=3)

    async def show(shown: TopicEvent) -> None:
        heard.append(shown.number)
        if shown.number % 10 == 0 and shown.number < 1_000:
            for number in range(shown.number + 1, shown.number + 11):
                backlog.put(event(number), 1)
        elif shown.number == 1_000:
            backlog.close()

    backlog.put(event(0), 1)
    await follow(backlog, show, said.append, count=None)

    assert len(heard) + sum(losses.lost for losses in said) == 1_001
    assert len(heard) == 1 + 3 * 100


async def test_what_has_not_been_said_is_said_at_the_end() -> None:
    said: list[int] = []
    backlog = Backlog()

    async def show(shown: TopicEvent) -> None:
        backlog.lose(shown.number)
        backlog.put(event(shown.number + 1), 1)

    backlog.put(event(1), 1)
    await follow(backlog, show, lambda losses: said.append(losses.lost), count=4)

    assert said == [1, 2 + 3]


def test_losses_are_said_though_nothing_follows() -> None:
    async def main(net: SimNet) -> None:
        said: list[int] = []
        backlog = Backlog()

        async def show(shown: TopicEvent) -> None:
            backlog.lose(shown.number)

        async with asyncio.TaskGroup() as group:
            following = group.create_task(follow(backlog, show, lambda losses: said.append(losses.lost), count=None))
            for number in (1, 2, 3):
                backlog.put(event(number), 1)
                await asyncio.sleep(0.1)  # of the simulated network
            before = [*said]
            await asyncio.sleep(SAY_EVERY_S)
            after = [*said]
            following.cancel()

        assert (before, after) == ([1], [1, 5])

    run(main, seed=1)
