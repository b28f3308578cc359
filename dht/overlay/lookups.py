"""Carries out lookups: a thin shell around :mod:`dht.overlay.lookup`, with the tasks, the datagrams and the places for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ..background import BackgroundTasks
from ..datagrams.datagrams import Datagrams
from ..errors import BadAnswer, LookupFailed, NotOpen
from ..identity.contacts import Contact
from ..identity.ids import ID_BITS, PeerId, as_int, common_prefix_length
from ..liveness.failure_detector import FailureDetector, PeerListener
from .lookup import Found, Lookup, Send

MAX_LOOKUPS = 32
"""Lookups at once; further callers wait their turn."""


@dataclass(eq=False)
class Lookups:
    """Lookups of one peer for the k closest.

    ``listener`` hears who answered, ``detector`` who did not, ``learn`` of each target, the closest to it, and who said nothing of
    use.
    """

    datagrams: Datagrams
    listener: PeerListener
    detector: FailureDetector
    tasks: BackgroundTasks
    learn: Callable[[bytes, tuple[Contact, ...], Collection[PeerId]], None]
    per_block: int
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_LOOKUPS))
    # Lookups that others may wait for: by leading bits and how many. Limit: one for each caller.
    _shared: dict[tuple[int, int], asyncio.Task[Found | None]] = field(default_factory=dict)
    # Limit: one for each bit of an id.
    _searched_s: dict[int, float] = field(default_factory=dict)

    def under_way(self, key: bytes, depth: int) -> asyncio.Task[Found | None] | None:
        """The lookup under way of a key with the same ``depth`` leading bits, if any."""
        return self._shared.get((depth, as_int(key) >> (ID_BITS - depth)))

    async def look_up(self, target: bytes, depth: int = ID_BITS) -> Found:
        """The peers closest to a target, shared by those who ask :meth:`under_way` for its first ``depth`` bits.

        The lookup is a task of the overlay, so that a caller who gives up does not end it for others.
        """
        if not self.tasks.is_open:
            raise NotOpen("this overlay is closed; use it inside `async with Overlay(...) as overlay:`")
        task = self.start(target)
        slot = (depth, as_int(target) >> (ID_BITS - depth))
        if slot not in self._shared:
            self._shared[slot] = task
            task.add_done_callback(lambda _: self._shared.pop(slot))
        return await self.outcome(task)

    def start(self, target: bytes, *, learn: bool = True) -> asyncio.Task[Found | None]:
        """Begin one lookup, which waits for a place. Without ``learn`` it only serves the table."""
        return self.tasks.start(self._run(target, learn))

    async def outcome(self, task: asyncio.Task[Found | None]) -> Found:
        """What a lookup found. Raises LookupFailed, and NotOpen where the overlay was closed meanwhile."""
        found = await self.tasks.outcome(task, NotOpen("this overlay was closed while it looked a key up"))
        if found is None:
            raise LookupFailed("a lookup failed in this process, as its log says; try again")
        return found

    def bucket_searched_s(self, bucket: int) -> float:
        """When a point of a bucket was last looked up."""
        return self._searched_s.get(bucket, float("-inf"))

    async def _run(self, target: bytes, learn: bool) -> Found:
        async with self._places:
            k = self.datagrams.k
            seeds = self.detector.worth_asking(self.datagrams.table.closest(target, 2 * k))
            lookup = Lookup(target, seeds[:k], own=self.datagrams.id, k=k, per_block=self.per_block)
            finished = asyncio.Event()
            queries: list[asyncio.Task[None]] = []
            useless: set[PeerId] = set()

            async def ask(contact: Contact) -> None:
                sends = []
                try:
                    answer = await self.datagrams.ask_closest(
                        contact.address, target, on_slow=lambda: order(lookup.slow(contact.id))
                    )
                except BadAnswer:
                    # It lives, but what it says is of no use: this lookup goes on without it.
                    useless.add(contact.id)
                    sends = lookup.timed_out(contact.id)
                else:
                    if answer is not None and answer[0] == contact.id:
                        self.listener.peer_answered(contact)
                        sends = lookup.received(contact.id, self.detector.worth_asking(answer[1]))
                    else:
                        self.detector.report_absent(contact, None if answer is None else answer[0])
                        sends = lookup.timed_out(contact.id)
                order(sends)

            def order(sends: list[Send]) -> None:
                if lookup.result is not None:
                    finished.set()
                queries.extend(group.create_task(ask(send.contact)) for send in sends)

            async with asyncio.TaskGroup() as group:
                order(lookup.start())
                await finished.wait()
                # Those that are still out were overtaken: nothing is known about them.
                for query in queries:
                    query.cancel()
            self._searched_s[common_prefix_length(self.datagrams.id, target)] = asyncio.get_running_loop().time()
            result = lookup.result
            assert result is not None
            if learn and result.complete:
                self.learn(target, result.contacts, useless)
            return result
