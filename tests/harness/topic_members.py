"""A topic in a trial: peers of the world become members and stop being some, others publish; what each member was told is kept.

Beside the clients of the trial, and drawn apart, so that all else in a run is what it would be without.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from history import Trouble

from gsg import GsgError, Overrun, Peer
from gsg.topics.topic import TopicSubscription

if TYPE_CHECKING:
    from trial import World

TOPIC = "news"
MEMBERS = 6
"""Members that are sought after; some leave now and then."""
ACT_S = 0.3
"""Between two acts, in the mean."""
PATIENCE_S = 30.0
LAST_S = 5.0
"""So long after the last events, when all is mended, everybody has them."""
BEFORE_S = 3.0
"""So long before somebody became a member events were published that it is not to hear."""
DELIVERED_S = 3.0
"""So long after it was published an event has come to all members, where nothing is wrong."""


@dataclass
class Member:
    """One membership: from when to when, and what was told."""

    peer: int
    begun_s: float
    joined_s: float | None = None
    ended_s: float | None = None
    told: list[tuple[float, int]] = field(default_factory=list)
    """When, and which event."""
    lost: int = 0


@dataclass
class Said:
    """One event that was published, and by which life of which peer."""

    number: int
    publisher: tuple[int, int]
    begun_s: float
    done_s: float | None = None


class TopicMembers:
    """Those of one world."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self.members: list[Member] = []
        self.said: list[Said] = []
        self._standing: dict[int, tuple[Member, Peer]] = {}
        """Memberships that stand, by peer."""
        self._joining: set[int] = set()
        self._publishing: set[Peer] = set()

    def _now_s(self) -> float:
        return self._world.net.loop.time()

    async def live(self, until_s: float) -> None:
        """Act until then; then say something when everything is mended is :meth:`say_last`'s part."""
        async with asyncio.TaskGroup() as group:
            while self._now_s() < until_s:
                act = self._rng.random()
                awake = self._world.within_topic()
                self._end_dead(awake)
                free = [number for number in awake if number not in self._standing and number not in self._joining]
                if len(self._standing) + len(self._joining) < MEMBERS and free and act < 0.5:
                    group.create_task(self._join(self._rng.choice(free), until_s))
                elif self._standing and act < 0.05:
                    self._leave(self._rng.choice(sorted(self._standing)))
                elif awake:
                    group.create_task(self._publish(self._rng.choice(awake)))
                await asyncio.sleep(self._rng.expovariate(1 / ACT_S))

    async def say_last(self) -> None:
        """Everything is over: three events that all members are to hear."""
        awake = self._world.within_topic()
        self._end_dead(awake)
        for number in self._rng.sample(awake, 3):
            await self._publish(number)
        await asyncio.sleep(LAST_S)

    def _end_dead(self, awake: list[int]) -> None:
        for number, (member, peer) in list(self._standing.items()):
            if self._world.peers.get(number) is not peer:
                member.ended_s = self._now_s()
                del self._standing[number]

    async def _join(self, number: int, until_s: float) -> None:
        peer = self._world.peers.get(number)
        if peer is None:
            return
        self._joining.add(number)
        member = Member(number, self._now_s())
        try:
            with contextlib.suppress(GsgError, TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    events = await peer.topic(TOPIC).subscribe()
                member.joined_s = self._now_s()
                self.members.append(member)
                self._standing[number] = member, peer
                self._world.topic_tasks.add(task := asyncio.create_task(self._read(member, events)))
                task.add_done_callback(self._world.topic_tasks.discard)
        finally:
            self._joining.discard(number)

    async def _read(self, member: Member, events: TopicSubscription) -> None:
        while member.ended_s is None:
            try:
                event = await anext(events)
            except Overrun as error:
                member.lost += error.lost
            except StopAsyncIteration:
                return
            else:
                if member.ended_s is None:
                    member.told.append((self._now_s(), int(str(event.values[0]))))
        events.close()

    def _leave(self, number: int) -> None:
        member, _ = self._standing.pop(number)
        member.ended_s = self._now_s()

    async def _publish(self, number: int) -> None:
        peer = self._world.peers.get(number)
        if peer is None or peer in self._publishing:
            return
        said = Said(len(self.said), (number, self._world.starts[number]), self._now_s())
        self.said.append(said)
        self._publishing.add(peer)
        try:
            with contextlib.suppress(GsgError, TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await peer.topic(TOPIC).publish(said.number, "of four terms")  # the trial's queries ask for three
                said.done_s = self._now_s()
        finally:
            self._publishing.discard(peer)


def topic_violations(topics: TopicMembers, troubles: list[Trouble]) -> Iterator[str]:
    """What members were told that they should not have been, or not told though they should."""
    said = {each.number: each for each in topics.said}
    for member in topics.members:
        name = f"member at {member.peer} from {member.begun_s:.2f} s"
        numbers = [number for _, number in member.told]
        if len(set(numbers)) < len(numbers):
            yield f"{name} was told twice: {sorted({each for each in numbers if numbers.count(each) > 1})[:5]}"
        by_publisher: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number in numbers:
            by_publisher[said[number].publisher].append(number)
        for publisher, of_it in by_publisher.items():
            if of_it != sorted(of_it):
                yield f"{name} was told out of order of {publisher}: {of_it}"
        told = set(numbers)
        for each in topics.said:
            if each.number in told:
                if each.done_s is not None and each.done_s < member.begun_s - BEFORE_S and _is_calm(troubles, each.begun_s, member):
                    yield f"{name} was told of {each.number}, published at {each.done_s:.2f} s, before it was one"
            elif _is_owed(each, member, troubles) and not member.lost:
                yield f"{name} was not told of {each.number}, published at {each.begun_s:.2f} s by {each.publisher}"


def _is_owed(said: Said, member: Member, troubles: list[Trouble]) -> bool:
    if said.done_s is None or member.joined_s is None or member.joined_s > said.begun_s:
        return False
    ends_s = said.done_s + DELIVERED_S
    if member.ended_s is not None and member.ended_s < ends_s:
        return False
    return not any(trouble.begins_s < ends_s and said.begun_s < trouble.ends_s for trouble in troubles)


def _is_calm(troubles: list[Trouble], since_s: float, member: Member) -> bool:
    """Whether nothing went wrong from then until a membership began: what waits behind a fault does not say how long it did."""
    return not any(trouble.begins_s < member.begun_s and since_s < trouble.ends_s for trouble in troubles)
