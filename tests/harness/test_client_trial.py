"""A client through several losses of its peers, in steps; with real processes and seconds it is a part of `make soak`.

And that trial notices what it is there to notice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import client_trial
import pytest
from client_verdict import Fact, Told, gaps_of, violations

import gsg
from gsg import ConnectionState, Peer, Symbol
from gsg.http.door import HttpDoor

PEERS, STEPS = 3, 9
ON, RANG = Symbol("on"), Symbol("rang")


class Doors:
    """Those of three peers in this process; one may be cut off from all of its clients, and be there again."""

    def __init__(self, peers: list[Peer]) -> None:
        self._peers = peers
        self.standing: list[HttpDoor] = []

    async def open(self) -> None:
        for peer in self._peers:
            self.standing.append(await HttpDoor(peer, port=0).__aenter__())

    async def cut(self, url: str) -> int:
        """Let the door there vanish without a word; returns its number."""
        [number] = [number for number, door in enumerate(self.standing) if door.url == url]
        self.standing[number]._connections.abort_all()
        await self.standing[number].__aexit__(None, None, None)
        return number

    async def reopen(self, number: int) -> None:
        port = self.standing[number].port
        self.standing[number] = await HttpDoor(self._peers[number], port=port).__aenter__()

    async def close(self) -> None:
        for door in self.standing:
            await door.__aexit__(None, None, None)


@asynccontextmanager
async def three_doors() -> AsyncIterator[Doors]:
    async with Peer() as one, Peer(join=[one.contact.address]) as two, Peer(join=[one.contact.address]) as three:
        doors = Doors([one, two, three])
        await doors.open()
        try:
            yield doors
        finally:
            await doors.close()


async def test_a_reader_that_loses_its_peers_again_and_again_holds_the_answer_and_was_told_each_difference_once() -> None:
    rng = Random(1)
    of_facts, of_events = Told(), Told()
    true: set[Fact] = set()
    said: list[Fact] = []
    back = asyncio.Event()

    def note(state: ConnectionState, _: str) -> None:
        (back.set if state is ConnectionState.CONNECTED else back.clear)()

    async def change(client: gsg.AsyncClient) -> None:
        numbers = rng.sample(range(60), 30)
        gone = [number for number in numbers if ("f", number) in true]
        come = [number for number in numbers if ("f", number) not in true]
        await client.insert([("f", ON, number) for number in come])
        await client.retract([("f", ON, number) for number in gone])
        true.update(("f", number) for number in come)
        true.difference_update(("f", number) for number in gone)
        events = [("e", number) for number in range(len(said), len(said) + 5)]
        await client.notify([(RANG, *event) for event in events])
        said.extend(events)

    async with (
        three_doors() as doors,
        gsg.AsyncClient([door.url for door in doors.standing], on_state=note, pause=lambda _: asyncio.sleep(0)) as reader,
        await reader.subscribe("(?who, on, ?n)") as facts,
        await reader.subscribe("(rang, ?who, ?n)") as events,
        asyncio.TaskGroup() as work,
    ):
        listening = [work.create_task(client_trial.listen(*each)) for each in ((facts, of_facts), (events, of_events))]
        for _ in range(STEPS):
            number = await doors.cut(reader.url)
            async with gsg.connect([door.url for at, door in enumerate(doors.standing) if at != number]) as other:
                await change(other)
                await asyncio.wait_for(back.wait(), 20)
                await change(other)
            await doors.reopen(number)
        for number, door in enumerate(doors.standing):
            # Behind all that was said at that door.
            async with gsg.connect(door.url) as other:
                await other.notify([(RANG, "last", number)])
            said.append(("last", number))
        async with asyncio.timeout(30):
            while not set(said[-PEERS:]) <= set(of_events.events) or [*violations(of_facts, client_trial.held_by(facts), true, [])]:
                await reader.report()
        assert [*violations(of_events, Counter(), set(), said)] == []
        assert 0 < of_facts.reconnected <= STEPS
        for task in listening:
            task.cancel()


ROW: Fact = ("a", 1)


def told_of(*differences: tuple[int, Fact], events: tuple[Fact, ...] = (), reconnected: int = 0) -> Told:
    told = Told(events=list(events), reconnected=reconnected)
    for sign, row in differences:
        told.difference(sign, row)
    return told


EVENTS: list[Fact] = [("e", number) for number in range(6)]


@pytest.mark.parametrize(
    ("told", "held", "said"),
    [
        (told_of((1, ROW), events=tuple(EVENTS)), [ROW], []),
        (told_of((1, ROW), events=(*EVENTS[:2], *EVENTS[4:]), reconnected=1), [ROW], []),
        (told_of((1, ROW), (1, ROW), (-1, ROW), events=tuple(EVENTS)), [ROW], ["1 differences were not told once: "]),
        (told_of(events=tuple(EVENTS)), [ROW], ["what was told does not add up to what it holds: 0 too many, 1 missing"]),
        (told_of(events=tuple(EVENTS)), [], ["what it holds is not the answer: 0 too many, 1 missing"]),
        (told_of((1, ROW), events=(*EVENTS, EVENTS[0])), [ROW], ["1 events were told twice: "]),
        (
            told_of((1, ROW), events=(EVENTS[0], EVENTS[2], EVENTS[4]), reconnected=1),
            [ROW],
            ["3 gaps in events, and 1 times it was told that some may have been missed: "],
        ),
    ],
    ids=["as promised", "a gap that was told", "twice", "does not add up", "not the answer", "an event twice", "silent gaps"],
)
def test_what_a_reader_was_told_is_judged(told: Told, held: list[Fact], said: list[str]) -> None:
    found = list(violations(told, Counter(held), {ROW}, EVENTS))

    assert len(found) == len(said)
    assert all(one.startswith(beginning) for one, beginning in zip(found, said, strict=True))


def test_events_that_were_missed_one_after_the_other_are_one_gap() -> None:
    assert gaps_of([EVENTS[0], EVENTS[3]], EVENTS) == [(EVENTS[1], EVENTS[2]), (EVENTS[4], EVENTS[5])]
