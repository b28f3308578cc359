"""The way into the network, and back into it: by the addresses that the user gives and those in address_book.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable
from pathlib import Path
from random import Random
from typing import Any

from ..errors import REFUSED, Address, BadBook, JoinFailed, Refusal, show
from ..identity.contacts import Contact
from ..identity.ids import PeerId
from ..resolving import resolve
from .address_book import MAX_ADDRESSES, AddressBook
from .address_book_file import read_book, write_book

CALLS_A_PERIOD = 4
"""Addresses of the book called at in one period."""

MAX_CALLS = 64
"""Addresses of the book called at at once, where each call may wait for a name and for several timeouts; further ones stay due."""

ALONE_S = 10.0
"""A peer that knows of nobody calls at all addresses of its book as often as this, in seconds."""

LOOK_AROUND_S = 10.0
"""When many are back at once, neighbours are looked for and all addresses called at only as often as this, in seconds."""

ENTRIES = 32
"""Addresses of the book tried by a peer that starts."""

PATIENCE_S = 5.0
"""How long to ask whoever may let us in, in seconds: a network can become slow just then, and the peer there just be starting."""

ASK_AGAIN_S = 0.5
"""The least time between two calls at one of them, in seconds."""

NO_ANSWER = "no answer"
NO_NAME_SERVER = "the name server does not answer"
OURSELVES = "that is this peer itself"

log = logging.getLogger(__name__)


class Joining:
    """Enters the network through addresses, and calls at old ones.

    ``call(address)`` asks who listens at an IP literal, which makes it known at the address that it answers from, which may be
    another one of its host; ``look_around`` looks for neighbours,
    ``refused_by`` says why whoever listens at one does not talk with us, ``living`` are the addresses of the peers known now.
    ``failed()`` counts and logs a round that failed. ``path`` is the book's file, None keeps it in memory alone.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        rng: Random,
        per_block: int,
        period_s: float,
        family: socket.AddressFamily,
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],  # Any: whatever the work returns
        call: Callable[[Address], Awaitable[Contact | None]],
        refused_by: Callable[[Address], Refusal | None],
        look_around: Callable[[], Awaitable[object]],
        living: Callable[[], Collection[Address]],
        failed: Callable[[], None],
    ) -> None:
        self.book = AddressBook(rng=rng, per_block=per_block)
        self._path = path
        self._period_s = period_s
        self._family = family
        self._start = start
        self._call = call
        self._refused_by = refused_by
        self._look_around = look_around
        self._living = living
        self._failed = failed
        self._written: list[Address] = []
        # Held while the book is written. Nobody waits for it but :meth:`save`'s callers, one each: the overlay as it has joined, as
        # it has refreshed and as it is left. What is saved every period is saved later where a disk takes longer than that.
        # Whoever is cancelled lets go of it.
        self._saving = asyncio.Lock()
        self.changed = False
        """Whether peers came or went since the book was written: a peer that is killed is to find its way back by it."""
        self._hurried_s = self._looked_s = float("-inf")
        # Old addresses that are being called at. Limit: MAX_CALLS; each leaves with its task, which ends with the call's last
        # timeout or as the overlay is left.
        self._calling: set[Address] = set()

    def read(self) -> None:
        """Open the book; one that is damaged is as good as none. Raises BookUnreadable."""
        if self._path is not None:
            try:
                self._written = read_book(self._path)
            except BadBook as error:
                # A wrong bit makes another address of one, where anybody may listen.
                log.error("%s: %s; it is not used, and written anew: others find this peer, or name one to join", self._path, error)
            for address in self._written:
                self.book.add(address, self._now())

    async def enter(self, addresses: Iterable[Address], own: PeerId) -> list[Address]:
        """Call at addresses and at those of the book; those that answered, as IP literals. Hosts may be names.

        Raises JoinFailed when there are addresses and nobody answers a call that begins within PATIENCE_S; the last may take three
        seconds more. With none, and an empty book, this is the first peer. Nobody waits for a name once another address has
        answered, nor longer than PATIENCE_S: the book calls at it later.
        """
        patient_until_s = self._now() + PATIENCE_S
        wanted = list(dict.fromkeys(addresses))
        others = [each for each in self.book.addresses() if each not in wanted][:ENTRIES]
        outcomes = await self._call_all((*wanted, *others), own)
        for address in wanted:
            if _problem(address) is None:
                self.book.add(address, self._now(), given=True)
        while not (entered := [outcome for outcome in outcomes.values() if not isinstance(outcome, str)]):
            silent = [address for address in wanted if outcomes[address] in (NO_ANSWER, NO_NAME_SERVER)]
            if not silent or self._now() >= patient_until_s:
                break
            async with asyncio.TaskGroup() as both:
                both.create_task(asyncio.sleep(ASK_AGAIN_S))
                again = both.create_task(self._call_all(silent, own))
            outcomes |= again.result()
        if twins := [address for address, outcome in outcomes.items() if outcome == f"{REFUSED}{Refusal.SAME_ID.sentence}"]:
            # Whoever else lets us in: the network would know now this process, now the other.
            raise JoinFailed([(address, str(outcomes[address])) for address in twins])
        if wanted and not entered:
            raise JoinFailed([(address, str(outcomes[address])) for address in wanted])
        for address in wanted:
            outcome = outcomes[address]
            if isinstance(outcome, str):
                # One list of addresses may serve all peers: not all need run yet, and it may have this peer itself.
                level = logging.INFO if outcome in (NO_ANSWER, NO_NAME_SERVER, OURSELVES) else logging.WARNING
                log.log(level, "not entered by %s: %s; entered by %s", show(*address), outcome, show(*entered[0]))
        refused = [(show(*address), outcomes[address]) for address in others if _is_refusal(outcomes[address])]
        if refused and not entered:
            # Nobody was named, and ports change hands: others than ours may listen there by now.
            log.warning("the peer at %s %s; going on alone, and calling again at all %d old addresses", *refused[0], len(others))
        elif others and not entered:
            log.warning("nobody answers at an old address; going on alone, and calling again at all %d of them", len(others))
        return entered

    async def _call_all(self, addresses: Iterable[Address], own: PeerId) -> dict[Address, Address | str]:
        names = _Patience()
        async with asyncio.TaskGroup() as calls:
            entering = {address: calls.create_task(self._enter(address, own, names)) for address in addresses}
        return {address: task.result() for address, task in entering.items()}

    async def _enter(self, address: Address, own: PeerId, names: _Patience) -> Address | str:
        """Call at an address; who answered as an IP literal, or what went wrong."""
        try:
            async with names.wait():
                literal = await self._resolve(address)
        except TimeoutError:
            return NO_NAME_SERVER
        if isinstance(literal, str):
            return literal
        outcome = await self._call_at(literal, own)
        if not isinstance(outcome, str):
            names.end()
        return outcome

    async def _call_at(self, literal: Address, own: PeerId) -> Address | str:
        found = await self._call(literal)
        if found is None:
            refusal = self._refused_by(literal)
            if refusal is None:
                return NO_ANSWER
            # That this side refuses is no proof that a peer is there: whoever can send from its address could have answered.
            if refusal is Refusal.NOT_ALLOWED:
                return f"{REFUSED}{refusal.sentence}; its id is {own.hex()}"
            return refusal.sentence if refusal is Refusal.UNLISTED else f"{REFUSED}{refusal.sentence}"
        return OURSELVES if found.id == own else found.address

    async def _resolve(self, address: Address) -> Address | str:
        problem = _problem(address)
        if problem is not None:
            return problem
        try:
            found = await resolve(*address, type=socket.SOCK_DGRAM, family=self._family)
        except OSError as error:
            return f"the name does not resolve ({error.strerror or error})"
        return found[0] if found else "the name does not resolve"

    # What goes on in the background

    async def run(self) -> None:
        """Call at old addresses until cancelled."""
        while True:
            await asyncio.sleep(self._period_s)
            try:
                self._call_due()
            except Exception:
                # A defect that one round brings out is no reason for there to be no more: parts of a cut network would stay apart.
                self._failed()

    def _call_due(self) -> None:
        now = self._now()
        if self.changed and not self._saving.locked():
            self._start(self.save())
        if not self._living() and now - self._hurried_s >= ALONE_S:
            self._hurried_s = now
            self.book.hurry(now)
        for address in self.book.due(now, min(CALLS_A_PERIOD, MAX_CALLS - len(self._calling))):
            if address not in self._calling:
                self._calling.add(address)
                self._start(self._revisit(address))

    async def _revisit(self, address: Address) -> None:
        """Call at an old address; if somebody lives there whom we had lost, the network may have been cut: look around."""
        try:
            literal = await self._resolve(address)  # as long as the system's resolver waits, half a minute
            if isinstance(literal, str) or literal in self._living():
                return
            known, found = self._living(), await self._call(literal)
            if found is not None and found.address not in known and found.address in self._living():
                await self.found_again()
        finally:
            self._calling.discard(address)

    async def found_again(self) -> None:
        """Somebody lives whom we had lost: look around, unless that was just done."""
        now = self._now()
        if now - self._looked_s >= LOOK_AROUND_S:
            self._looked_s = now
            self.book.hurry(now)
            await self._look_around()

    def met(self) -> None:
        """A peer is there that was not known."""
        is_due, self.changed = self.changed, True
        if self._path is not None and not self._written and not is_due and not self._saving.locked():
            # The first one: until it is in the book, nobody could be found again.
            self._start(self.save())

    async def save(self) -> None:
        """Write the book: the living first. What goes wrong is logged, since the peer itself is well."""
        self.changed = False
        if self._path is None:
            return
        # One after the other: two that replace the file at once take it away from each other.
        async with self._saving:
            addresses = list(dict.fromkeys([*self._living(), *self.book.addresses()]))[:MAX_ADDRESSES]
            if addresses == self._written:
                return
            try:
                await asyncio.to_thread(write_book, self._path, addresses)
                self._written = addresses
            except (OSError, RuntimeError) as error:
                # The latter where the machine gives no thread.
                log.warning(
                    "the address book %s cannot be written: %s; after a restart old peers are not found by it", self._path, error
                )

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


class _Patience:
    """For names that are looked up at once: PATIENCE_S, and none any more once an address has answered."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Timeout] = set()
        """Limit: the addresses that are called at together."""
        self._until_s = asyncio.get_running_loop().time() + PATIENCE_S

    @contextlib.asynccontextmanager
    async def wait(self) -> AsyncIterator[None]:
        """Raise TimeoutError in the block when it is over."""
        async with asyncio.timeout_at(self._until_s) as timeout:
            self._waiting.add(timeout)
            try:
                yield
            finally:
                self._waiting.discard(timeout)

    def end(self) -> None:
        """Wait for no name any more."""
        self._until_s = asyncio.get_running_loop().time()
        for timeout in self._waiting:
            if not timeout.expired():
                timeout.reschedule(self._until_s)


def _is_refusal(outcome: Address | str) -> bool:
    return isinstance(outcome, str) and outcome.startswith(REFUSED)


def _problem(address: Address) -> str | None:
    return None if 1 <= address[1] <= 65535 else "that is no port; expected 1 to 65535"
