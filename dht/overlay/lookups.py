"""Carries out lookups: a thin shell around :mod:`dht.overlay.lookup`, with the tasks, the datagrams and the places for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from ..datagrams.datagrams import Queries
from ..errors import BadAnswer, LookupFailed, NotOpen
from ..identity.contacts import Contact
from ..identity.ids import ID_BITS, PeerId, as_int, common_prefix_length
from ..liveness.failure_detector import Watched, Watching
from .lookup import Found, Lookup, Send

MAX_LOOKUPS = 32
"""Lookups at once; further callers wait their turn."""


class Searching:
    """Lookups of one peer for the ``k`` closest.

    ``told`` hears who answered, ``watching`` who did not, ``learn`` of each target, the closest to it, and who said nothing of use.
    """

    def __init__(
        self,
        own: PeerId,
        told: Watched,
        watching: Watching,
        *,
        k: int,
        per_block: int,
        learn: Callable[[bytes, tuple[Contact, ...], Collection[PeerId]], None],
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],  # Any: whatever the work returns
    ) -> None:
        self._own = own
        self._told = told
        self._watching = watching
        self._k = k
        self._per_block = per_block
        self._learn = learn
        self._start = start
        self._queries: Queries
        self._open = False
        self._places = asyncio.Semaphore(MAX_LOOKUPS)
        # Lookups that others may wait for: by leading bits and how many. Limit: one for each caller.
        self._shared: dict[tuple[int, int], asyncio.Task[Found | None]] = {}
        # Limit: one for each bit of an id.
        self._searched_s: dict[int, float] = {}

    def attach(self, queries: Queries) -> None:
        """The socket is open."""
        self._queries = queries
        self._open = True

    def stop(self) -> None:
        """Whoever waits for a lookup that is cancelled from now on is told that the overlay closed."""
        self._open = False

    def running(self, key: bytes, depth: int) -> asyncio.Task[Found | None] | None:
        """A lookup under way of a key with the same leading bits."""
        return self._shared.get((depth, as_int(key) >> (ID_BITS - depth)))

    async def find(self, target: bytes, depth: int = ID_BITS) -> Found:
        """The peers closest to a target, shared by those who ask :meth:`running` for its first ``depth`` bits.

        The lookup is a task of the overlay, so that a caller who gives up does not end it for others.
        """
        if not self._open:
            raise NotOpen("this overlay is closed; use it inside `async with Overlay(...) as overlay:`")
        task = self._start(self.search(target))
        slot = (depth, as_int(target) >> (ID_BITS - depth))
        if slot not in self._shared:
            self._shared[slot] = task
            task.add_done_callback(lambda _: self._shared.pop(slot))
        return await self.outcome(task)

    async def outcome(self, task: asyncio.Task[Found | None]) -> Found:
        """What a lookup found. Raises LookupFailed."""
        try:
            found = await asyncio.shield(task)
        except asyncio.CancelledError:
            # Our own cancellation is passed on; that of the task, when the overlay closes, is news for the caller.
            current = asyncio.current_task()
            if task.cancelled() and not self._open and (current is None or not current.cancelling()):
                raise NotOpen("this overlay was closed while it looked a key up") from None
            raise
        if found is None:
            raise LookupFailed("a lookup failed in this process, as its log says; try again")
        return found

    def bucket_searched_s(self, bucket: int) -> float:
        """When a point of a bucket was last looked up."""
        return self._searched_s.get(bucket, float("-inf"))

    async def search(self, target: bytes, *, learn: bool = True) -> Found:
        """One lookup, when there is a place for it. Without ``learn`` it only serves the table."""
        async with self._places:
            seeds = self._watching.worth_asking(self._queries.router.closest(target, 2 * self._k))
            lookup = Lookup(target, seeds[: self._k], own=self._own, k=self._k, per_block=self._per_block)
            finished = asyncio.Event()
            queries: list[asyncio.Task[None]] = []
            useless: set[PeerId] = set()

            async def ask(contact: Contact) -> None:
                sends = []
                try:
                    answer = await self._queries.ask_closest(
                        contact.address, target, on_slow=lambda: order(lookup.slow(contact.id))
                    )
                except BadAnswer:
                    # It lives, but what it says is of no use: this lookup goes on without it.
                    useless.add(contact.id)
                    sends = lookup.timed_out(contact.id)
                else:
                    if answer is not None and answer[0] == contact.id:
                        self._told.lives(contact)
                        sends = lookup.received(contact.id, self._watching.worth_asking(answer[1]))
                    else:
                        self._watching.absent(contact, None if answer is None else answer[0])
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
            self._searched_s[common_prefix_length(self._own, target)] = asyncio.get_running_loop().time()
            result = lookup.result
            assert result is not None
            if learn and result.complete:
                self._learn(target, result.contacts, useless)
            return result
