"""A change of facts at all holders of their keys: the primary makes it, tells the others, and answers when enough have it.

    publisher ──Publish──> primary: gives the change its stamp, feeds subscribers ──Replicate──> the other holders
              <───Done────          <──────────────────────Done─────────────────────────────────

All holders are waited for, as the promise is that all but one may die at once; one that is slow is not waited for longer than
STRAGGLER_S where a majority has the change. Each holder keeps the later of two changes (:mod:`gsg.entries`), so it does not matter
in what order, or how often, it is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import dht

from .errors import GsgError, PeerUnreachable, Refused
from .exchange import Answer, Channel, Exchange, Leaving, show
from .features import Key
from .holders import Holders
from .keeping import Unkept
from .messages import Done, Failed, NotHere, Origin, Replicate, parts
from .model import Tuple
from .rendezvous import Rendezvous
from .versions import Versions

STRAGGLER_S = 0.5
"""How long a holder may keep the others waiting when a majority has answered."""
ATTEMPTS = 4
"""How often a change is sent to the holders there are, before its publisher is told that they do not have it."""
HOLDERS_TIMEOUT_S = 20.0
"""How long holders may take in all. Shorter than ANSWER_TIMEOUT_S: else their primary were taken for dead by its publisher."""
CHUNK_FACTS = 1_000

Copy: TypeAlias = tuple[list[int], list[bytes]]
Copies: TypeAlias = dict[dht.Contact, Copy]
"""For each other holder: numbers of facts, and the positions under which it holds them."""
Sent: TypeAlias = "dict[dht.Contact, tuple[Copy, list[asyncio.Future[Answer]]]]"
"""What each was told, and the answers that are to come from it."""
Have: TypeAlias = dict[bytes, dict[int, bytes]]
"""By the id of each holder that has confirmed: numbers of facts, and the positions under which it has them."""


@dataclass(frozen=True, slots=True)
class Held:
    """A change that this peer has made."""

    changed: int
    """How many facts changed under their position 0."""
    stamp: int
    everywhere: Callable[[], Awaitable[None]] | None
    """Waits until our disk and the other holders have it; raises PeerUnreachable or Refused. None where there are none of them."""


class Replication:
    """Makes changes as the primary of their keys. ``on_missed(peer)`` hears of a holder that did not get one."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        versions: Versions,
        keeping: Unkept,
        on_missed: Callable[[bytes], None],
    ) -> None:
        self._own = own.id
        self._holders = holders
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._versions = versions
        self._keeping = keeping
        self._on_missed = on_missed

    def hold(self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], seen: int, origin: Origin | None = None) -> Held:
        """Make a change here, now; ``seen`` is the latest stamp that the publisher knows of.

        Raises Refused for an absurd one, and where the disk does not take changes.
        """
        self._keeping.check()
        self._versions.saw(seen)
        stamp = self._versions.next()
        changed = self._rendezvous.publish(sign, facts, places, stamp=stamp, origin=origin)
        kept = self._keeping.kept()
        if not self._holders.others():
            return Held(changed, stamp, kept)
        # What the links have room for leaves in this turn of the loop, together with what the other messages of it cause.
        sent, _ = self._send(sign, facts, self._copies(facts, places) or {}, stamp)

        async def everywhere() -> None:
            await self._until_held(sign, facts, places, stamp, sent)
            if kept is not None:
                await kept()

        return Held(changed, stamp, everywhere)

    def take(self, message: Replicate) -> Held:
        """Another holder tells of changes. Raises Refused."""
        self._keeping.check()
        if message.stamps:
            self._versions.saw(max(message.stamps))
        self._rendezvous.take_over(message.signs, message.facts, message.places, message.stamps)
        return Held(0, 0, self._keeping.kept())

    # --- the other holders ------------------------------------------------------------------------------------------------

    def _copies(self, facts: Sequence[Tuple], places: Sequence[bytes]) -> Copies | None:
        """Who holds what besides us; None where that is not known without asking."""
        copies: Copies = {}
        own = self._own
        all_of = self._holders.all_of
        for number, (fact, there) in enumerate(zip(facts, places, strict=True)):
            theirs: dict[dht.Contact, bytes] = {}
            for position in there:
                holders = all_of((len(fact), position, fact[position]))
                if not holders:
                    return None
                for holder in holders:
                    if holder.id != own:
                        theirs[holder] = theirs.get(holder, b"") + _BYTE[position]
            for holder, positions in theirs.items():
                copy = copies.get(holder)
                if copy is None:
                    copy = copies[holder] = ([], [])
                copy[0].append(number)
                copy[1].append(positions)
        return copies

    def _send(self, sign: int, facts: Sequence[Tuple], copies: Copies, stamp: int) -> tuple[Sent, Copies]:
        """Tell those to whom there is a link with room; what was sent, and what was not."""
        sent: Sent = {}
        rest: Copies = {}
        for holder, copy in copies.items():
            channel = self._exchange.channel_now(holder)
            if channel is None or channel.congested:
                rest[holder] = copy
            else:
                sent[holder] = copy, _ask(channel, sign, facts, copy, stamp)
        return sent, rest

    async def _send_rest(self, sign: int, facts: Sequence[Tuple], copies: Copies, stamp: int, sent: Sent) -> GsgError | None:
        """Tell the others, who are missing in ``sent`` afterwards if that cannot be."""

        async def tell(holder: dht.Contact, copy: Copy) -> GsgError | None:
            try:
                channel = await self._exchange.channel(holder)
                async with asyncio.timeout(STRAGGLER_S):
                    if channel.congested:
                        await channel.drained()
            except TimeoutError:
                return PeerUnreachable(f"{show(holder)} reads too slowly to hold what others wait for")
            except PeerUnreachable as error:
                self._holders.failed(holder.id, error)
                return error
            sent[holder] = copy, _ask(channel, sign, facts, copy, stamp)
            return None

        problems = await asyncio.gather(*(tell(holder, copy) for holder, copy in copies.items()))
        return next(filter(None, problems), None)

    async def _until_held(self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], stamp: int, sent: Sent) -> None:
        """Wait until enough have the change; where too many have died, those who hold the keys in their place are told."""
        problem: GsgError | None = None
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + HOLDERS_TIMEOUT_S
        for _ in range(ATTEMPTS):
            copies = self._copies(facts, places)
            if copies is None:
                await self._holders.look_up(_keys(facts, places))
                copies = self._copies(facts, places)
            if copies is None:
                continue
            # Who holds more of the keys than it was told of, as others have died, is told again.
            untold = {holder: copy for holder, copy in copies.items() if holder not in sent or sent[holder][0] != copy}
            more, rest = self._send(sign, facts, untold, stamp)
            sent = {holder: told for holder, told in sent.items() if holder not in rest} | more
            problem = await self._send_rest(sign, facts, rest, stamp, sent)
            confirmed, problem = await self._confirmed(facts, places, sent, problem, deadline_s)
            if all(holder.id in confirmed for holder in copies):
                return
            if self._is_enough(facts, places, confirmed):
                self._look_after(copies, sent, confirmed)
                return
            sent = {holder: told for holder, told in sent.items() if holder.id in confirmed}
            if loop.time() >= deadline_s:
                break
        raise PeerUnreachable(f"{len(facts)} facts are not at enough holders of their keys: {problem or 'those are not known'}")

    async def _confirmed(
        self, facts: Sequence[Tuple], places: Sequence[bytes], sent: Sent, problem: GsgError | None, deadline_s: float
    ) -> tuple[Have, GsgError | None]:
        """Who has confirmed what; those who are slow are not waited for when STRAGGLER_S are over and the others are enough."""
        loop = asyncio.get_running_loop()
        waits = {answer for _, answers in sent.values() for answer in answers if not answer.done()}
        if waits:
            _, waits = await asyncio.wait(waits, timeout=STRAGGLER_S)
        while waits and (left_s := deadline_s - loop.time()) > 0 and not self._is_enough(facts, places, _have(sent)):
            _, waits = await asyncio.wait(waits, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        for holder, (_, answers) in sent.items():
            try:
                for answer in answers:
                    if answer.done():
                        _check(holder, answer.result())
            except GsgError as error:
                problem = error
                if isinstance(error, PeerUnreachable):
                    self._holders.failed(holder.id, error)
        return _have(sent), problem

    def _look_after(self, copies: Copies, sent: Sent, confirmed: Have) -> None:
        """The holders that did not confirm: those that were not told, or whose links break, have to be told all over."""
        for holder in copies:
            if holder.id in confirmed:
                continue
            if holder not in sent:
                self._on_missed(holder.id)
                continue
            for answer in sent[holder][1]:
                answer.add_done_callback(partial(self._came_late, holder))

    def _came_late(self, holder: dht.Contact, answer: asyncio.Future[Answer]) -> None:
        if answer.cancelled() or answer.exception() is not None or not isinstance(answer.result(), Done):
            self._on_missed(holder.id)

    def _is_enough(self, facts: Sequence[Tuple], places: Sequence[bytes], confirmed: Have) -> bool:
        """Whether each key has the change at a majority of the holders that it has by now."""
        for number, (fact, there) in enumerate(zip(facts, places, strict=True)):
            for position in there:
                holders = self._holders.all_of((len(fact), position, fact[position]))
                have = sum(
                    holder.id == self._own or position in confirmed.get(holder.id, _NOTHING).get(number, b"") for holder in holders
                )
                if not holders or have < len(holders) // 2 + 1:
                    return False
        return True


def _ask(channel: Channel, sign: int, facts: Sequence[Tuple], copy: Copy, stamp: int) -> list[asyncio.Future[Answer]]:
    numbers, places = copy
    theirs = [facts[number] for number in numbers]

    def make(part: slice) -> Callable[[int], Replicate]:
        count = len(theirs[part])
        return lambda request: Replicate(request, [sign] * count, theirs[part], places[part], [stamp] * count)

    return [channel.ask(make(part)) for part in parts(theirs, CHUNK_FACTS)]


def _check(holder: dht.Contact, answer: Answer) -> None:
    if isinstance(answer, NotHere):
        raise Leaving(f"{show(holder)} is about to stop")
    if isinstance(answer, Failed):
        raise Refused(f"{show(holder)} refused: {answer.reason}")


def _have(sent: Sent) -> Have:
    """What those have that confirmed all they were told."""
    return {holder.id: dict(zip(*copy, strict=True)) for holder, (copy, answers) in sent.items() if all(map(_is_done, answers))}


def _is_done(answer: asyncio.Future[Answer]) -> bool:
    return answer.done() and not answer.cancelled() and answer.exception() is None and isinstance(answer.result(), Done)


def _keys(facts: Sequence[Tuple], places: Sequence[bytes]) -> list[Key]:
    return [(len(fact), position, fact[position]) for fact, there in zip(facts, places, strict=True) for position in there]


_BYTE = [bytes((position,)) for position in range(256)]
_NOTHING: dict[int, bytes] = {}
