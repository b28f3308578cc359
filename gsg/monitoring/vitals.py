"""What a peer knows of itself without asking others: for probes, ``/metrics`` and whoever watches its process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..feeds.staleness import Staleness
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..storage.disk.group_commit import NoDisk
from ..wire.exchange import Exchange
from ..wire.status_messages import AskStatus, MembershipChange, PeerStatus
from .health import State
from .timings import Timings


class Doors:
    """The doors of one peer, by name; each says whether it stands."""

    def __init__(self) -> None:
        self._doors: dict[str, Callable[[], bool]] = {}

    def expect(self, name: str) -> None:
        """A door is about to be opened: the peer has not started before."""
        self._doors.setdefault(name, lambda: False)

    def add(self, name: str, stands: Callable[[], bool]) -> None:
        """It is there."""
        self._doors[name] = stands

    def remove(self, name: str) -> None:
        """It is closed in order, and no part of the peer any more. Removing it twice is allowed."""
        self._doors.pop(name, None)

    def standing(self) -> dict[str, bool]:
        """Each of them, and whether it stands."""
        return {name: stands() for name, stands in self._doors.items()}


class Vitals:
    """Those of one peer. ``work`` has the tasks that are to go on for as long as it lives, by name; ``loop_late_s()`` says by how
    much the loop's last look at the clock came too late, and ``comparing()`` how many keys are compared with other holders."""

    def __init__(
        self,
        exchange: Exchange,
        holders: Holders,
        responsibility: Responsibility,
        staleness: Staleness,
        disk: NoDisk,
        timings: Timings,
        *,
        doors: Doors,
        joins: bool,
        work: dict[str, asyncio.Task[None]],
        loop_late_s: Callable[[], float],
        comparing: Callable[[], int],
    ) -> None:
        self.timings = timings
        self._exchange = exchange
        self._holders = holders
        self._responsibility = responsibility
        self._staleness = staleness
        self._disk = disk
        self._doors = doors
        self._joins = joins
        self._work = work
        self._loop_late_s = loop_late_s
        self._comparing = comparing

    def state(self) -> State:
        """How it is at this moment."""
        leaving = self._responsibility.leaving
        return State(
            has_entered=self._holders.has_entered,
            leaving=leaving,
            peers=len(self._holders.everybody()),
            joins=self._joins,
            doors=self._doors.standing(),
            # What ends as the peer does is as it should be.
            ended=() if leaving else tuple(name for name, task in self._work.items() if task.done()),
            loop_late_s=self._loop_late_s(),
            disk_problem=self._disk.problem,
            # Of one that has been here for longer the subscribers' wait is short, as it has missed nothing.
            comparing=self._comparing() if self._responsibility.is_new else 0,
            stale_feeds=len(self._staleness),
        )

    def membership(self) -> list[MembershipChange]:
        """Who came, was suspected to be dead, was back and went of late, the oldest first: a hundred changes at most."""
        return self._holders.membership_changes()

    def suspected(self) -> list[bytes]:
        """The ids of the others that may be dead: that is found out in some seconds."""
        return [contact.id for contact in self._holders.others() if self._holders.suspects(contact.id)]

    async def own_status(self) -> PeerStatus:
        """What it would say of itself to others."""
        return await self._exchange.ask(self._exchange.own.contact, AskStatus, PeerStatus)
