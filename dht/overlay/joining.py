"""The way into the network, and back into it: by the addresses that the user gives and those in address_book.py."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..background import BackgroundTasks
from ..datagrams.datagrams import Datagrams
from ..datagrams.sealed_datagrams import PlainDatagrams
from ..errors import REFUSED, Address, JoinFailed, Refusal, show
from ..identity.contacts import Contact
from ..resolving import resolve
from .address_book import AddressBook
from .address_book_file import AddressBookFile

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


@dataclass(eq=False)
class Joining:
    """Enters the network through addresses, and calls at old ones.

    ``call(address)`` asks who listens at an IP literal, which makes it known at the address that it answers from, which may be
    another one of its host; ``find_neighbours`` looks for those. ``path`` is the book's file, None keeps it in memory alone.
    """

    path: Path | None
    datagrams: Datagrams
    sealing: PlainDatagrams
    tasks: BackgroundTasks
    book: AddressBook
    period_s: float
    family: socket.AddressFamily
    call: Callable[[Address], Awaitable[Contact | None]]
    find_neighbours: Callable[[], Awaitable[object]]
    # When all addresses became due as nobody was known, and when neighbours were looked for.
    _hurried_s: float = float("-inf")
    _looked_s: float = float("-inf")
    # Old addresses that are being called at. Limit: MAX_CALLS; each leaves with its task, which ends with the call's last timeout
    # or as the overlay is left.
    _calling: set[Address] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.file = AddressBookFile(self.path, lambda: (*self._living(), *self.book.addresses()), self.tasks)

    def read_book(self) -> None:
        """Take the addresses of the book's file. Raises BookUnreadable."""
        for address in self.file.read():
            self.book.add_address(address, self._now())

    def _living(self) -> dict[Address, None]:
        return {each.address: None for each in self.datagrams.table.contacts().values()}

    async def enter(self, addresses: Iterable[Address]) -> list[Address]:
        """Call at addresses and at those of the book; those that answered, as IP literals. Hosts may be names.

        Raises JoinFailed when there are addresses and nobody answers a call that begins within PATIENCE_S; the last may take three
        seconds more. With none, and an empty book, this is the first peer. Nobody waits for a name once another address has
        answered, nor longer than PATIENCE_S: the book calls at it later.
        """
        patient_until_s = self._now() + PATIENCE_S
        wanted = list(dict.fromkeys(addresses))
        others = [each for each in self.book.addresses() if each not in wanted][:ENTRIES]
        outcomes = await self._call_all((*wanted, *others))
        for address in wanted:
            if _problem(address) is None:
                self.book.add_address(address, self._now(), given=True)
        while not (entered := [outcome for outcome in outcomes.values() if not isinstance(outcome, str)]):
            silent = [address for address in wanted if outcomes[address] in (NO_ANSWER, NO_NAME_SERVER)]
            if not silent or self._now() >= patient_until_s:
                break
            async with asyncio.TaskGroup() as both:
                both.create_task(asyncio.sleep(ASK_AGAIN_S))
                again = both.create_task(self._call_all(silent))
            outcomes |= again.result()
        # Whoever else lets us in where another process has our id: the network would know now this process, now the other.
        same_id = [address for address, outcome in outcomes.items() if outcome == f"{REFUSED}{Refusal.SAME_ID.sentence}"]
        if same_id or (wanted and not entered):
            raise JoinFailed([(address, str(outcomes[address])) for address in same_id or wanted])
        for address in wanted:
            outcome = outcomes[address]
            if isinstance(outcome, str):
                # One list of addresses may serve all peers: not all need run yet, and it may have this peer itself.
                level = logging.INFO if outcome in (NO_ANSWER, NO_NAME_SERVER, OURSELVES) else logging.WARNING
                log.log(level, "not entered by %s: %s; entered by %s", show(*address), outcome, show(*entered[0]))
        refused = [(show(*address), outcomes[address]) for address in others if str(outcomes[address]).startswith(REFUSED)]
        if refused and not entered:
            # Nobody was named, and ports change hands: others than ours may listen there by now.
            log.warning("the peer at %s %s; going on alone, and calling again at all %d old addresses", *refused[0], len(others))
        elif others and not entered:
            log.warning("nobody answers at an old address; going on alone, and calling again at all %d of them", len(others))
        return entered

    async def _call_all(self, addresses: Iterable[Address]) -> dict[Address, Address | str]:
        # Of names that are looked up together. Limit: the addresses; each leaves when its name is found or not waited for.
        names: set[asyncio.Timeout] = set()
        async with asyncio.TaskGroup() as calls:
            entering = {address: calls.create_task(self._enter_by(address, names)) for address in addresses}
        return {address: task.result() for address, task in entering.items()}

    async def _enter_by(self, address: Address, names: set[asyncio.Timeout]) -> Address | str:
        """Call at an address; who answered as an IP literal, or what went wrong. An answer ends the waiting for ``names``."""
        try:
            async with asyncio.timeout(PATIENCE_S) as timeout:
                names.add(timeout)
                try:
                    literal = await self._resolve(address)
                finally:
                    names.discard(timeout)
        except TimeoutError:
            return NO_NAME_SERVER
        if isinstance(literal, str):
            return literal
        found = await self.call(literal)
        if found is None:
            return self._silence_at(literal)
        if found.id == self.datagrams.id:
            return OURSELVES
        for name in names:
            if not name.expired():
                name.reschedule(self._now())
        return found.address

    def _silence_at(self, literal: Address) -> str:
        """Why nobody answers at an address, as far as known."""
        refusal = self.sealing.refused_by(literal)
        if refusal is None:
            return NO_ANSWER
        if refusal is Refusal.UNLISTED:
            # That this side refuses is no proof that a peer is there: whoever can send from its address could have answered.
            return refusal.sentence
        own = f"; its id is {self.datagrams.id.hex()}" if refusal is Refusal.NOT_ALLOWED else ""
        return f"{REFUSED}{refusal.sentence}{own}"

    async def _resolve(self, address: Address) -> Address | str:
        problem = _problem(address)
        if problem is not None:
            return problem
        try:
            found = await resolve(*address, type=socket.SOCK_DGRAM, family=self.family)
        except OSError as error:
            return f"the name does not resolve ({error.strerror or error})"
        return found[0] if found else "the name does not resolve"

    # What goes on in the background

    async def run(self) -> None:
        """Call at old addresses until cancelled."""
        while True:
            await asyncio.sleep(self.period_s)
            try:
                self._call_due()
            except Exception:
                # A defect that one round brings out is no reason for there to be no more: parts of a cut network would stay apart.
                self.tasks.count_failure()

    def _call_due(self) -> None:
        now = self._now()
        self.file.start_saving()
        if not self._living() and now - self._hurried_s >= ALONE_S:
            self._hurried_s = now
            self.book.make_all_due(now)
        for address in self.book.take_due(now, min(CALLS_A_PERIOD, MAX_CALLS - len(self._calling))):
            if address not in self._calling:
                self._calling.add(address)
                self.tasks.start(self._revisit(address))

    async def _revisit(self, address: Address) -> None:
        """Call at an old address; if somebody lives there whom we had lost, the network may have been cut: look around."""
        try:
            literal = await self._resolve(address)  # as long as the system's resolver waits, half a minute
            if isinstance(literal, str) or literal in self._living():
                return
            known, found = self._living(), await self.call(literal)
            if found is not None and found.address not in known and found.address in self._living():
                await self.look_around()
        finally:
            self._calling.discard(address)

    async def look_around(self) -> None:
        """Somebody lives whom we had lost: look for neighbours, and call at all old addresses, unless that was just done."""
        now = self._now()
        if now - self._looked_s >= LOOK_AROUND_S:
            self._looked_s = now
            self.book.make_all_due(now)
            await self.find_neighbours()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _problem(address: Address) -> str | None:
    return None if 1 <= address[1] <= 65535 else "that is no port; expected 1 to 65535"
