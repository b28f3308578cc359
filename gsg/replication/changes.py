"""A change of facts at all holders of their keys: the primary makes it, tells the others, and answers when all of them have it.

    publisher ──Publish──> primary: makes the change, feeds subscribers ──Replicate──> the other holders
              <───Done────          <──────────────────Done───────────────────────────

A change has one stamp, from its publisher, under all keys of its fact, whose primaries know nothing of each other: so they agree on
which of two changes is the later one. Where the contrary has happened later by then, as the primary or another holder knows, the
publisher is told, and sends the fact again with a stamp that is later still: what begins after something else was acknowledged
wins, whatever the clocks of the two say.

All holders are waited for, as the promise is that all but one may die at once: what a majority has may be lost with the majority.
One that owes an answer and has given none for DEAF_S, or that refuses, is *set aside* (:mod:`gsg.replication.deaf_holders`), and
the next closest peer holds the key in its place. So one that reads nothing costs publishers DEAF_S once, and not the promise. A
change is never acknowledged with fewer than a majority of those that would hold it if none were set aside: a primary whose words
reach nobody is not to believe that it is alone.

Each holder keeps the later of two changes (:mod:`gsg.storage.facts_by_key`), so it does not matter in what order, or how often, it
is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import islice
from math import inf
from typing import TypeAlias

import dht

from ..errors import GsgError, PeerUnreachable
from ..placement.holders import Holders
from ..rendezvous.changes import Change, Held
from ..rendezvous.rendezvous import Rendezvous
from ..storage.clock import HybridClock
from ..storage.disk.group_commit import NoDisk
from ..tuples.audiences import audiences_of
from ..tuples.features import Key
from ..tuples.long_constants import Remains, short
from ..tuples.sizes import parts
from ..tuples.terms import Tuple
from ..wire.exchange import Answer, Exchange, Leaving, LinkBroke, PeerLink, show
from ..wire.holder_messages import Buried, Replicate
from ..wire.messages import Done, Origin
from .deaf_holders import DEAF_S, DeafHolders, check_confirmed

log = logging.getLogger(__name__)

ATTEMPTS = 8
"""How often a change is sent to the holders there are, as others take the place of some, before its publisher is told that they do
not have it."""
HOLDERS_TIMEOUT_S = 20.0
"""How long holders may take in all. Shorter than ANSWER_TIMEOUT_S: else their primary were taken for dead by its publisher."""
CHUNK_FACTS = 1_000
MAX_BEHIND_S = 60
"""A publisher whose clock is so far behind what is known here is told the time, and sends its facts again."""

Copy: TypeAlias = tuple[list[int], list[bytes]]
Copies: TypeAlias = dict[dht.Contact, Copy]
"""For each other holder: numbers of facts, and the positions under which it holds them."""
Sent: TypeAlias = "dict[dht.Contact, tuple[Copy, list[asyncio.Future[Answer]]]]"
"""What each was told, and the answers that are to come from it, or came."""
Have: TypeAlias = dict[bytes, dict[int, bytes]]
"""By the id of each holder that has confirmed: numbers of facts, and the positions under which it has them."""


class Replication:
    """Makes changes as the primary of their keys."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        clock: HybridClock,
        disk: NoDisk,
        deaf_holders: DeafHolders,
    ) -> None:
        self._own = own.id
        self._holders = holders
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._hybrid_clock = clock
        self._disk = disk
        self._deaf_holders = deaf_holders
        self._awake_clock = deaf_holders.clock

    def make(
        self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], stamp: int, origins: Sequence[tuple[range, Origin | None]]
    ) -> Held:
        """Make a change here, except of facts to which the contrary has happened later; ``origins`` as Publish.by_call has them.

        Raises Refused for an absurd stamp, and where the disk does not take changes.
        """
        change = Change(sign, facts, places, stamp, origins)
        self.make_until(change, inf)
        return self.finish_change(change)

    def make_until(self, change: Change, ends_s: float) -> bool:
        """Make some of a change, until the time is over by the rendezvous's clock; whether that was all. Raises as :meth:`make`."""
        self._disk.check()
        sign, facts, places, stamp, begin = change.sign, change.facts, change.places, change.stamp, change.made
        # Of what others have done since the last slice, too.
        behind = self._behind(sign, facts[begin:], places[begin:], stamp) if begin else self._behind(sign, facts, places, stamp)
        late = {begin + number for number in behind} if behind else _NONE
        until = len(facts)
        for some, origin in change.origins:
            rest = some if some.start >= begin else range(begin, max(begin, some.stop))
            if begin and not rest:
                continue
            taken = [number for number in rest if number not in late] if late else rest
            made = self._rendezvous.publish_until(ends_s, change, taken, origin)
            if made < len(taken):
                until = taken[made]
                break
            # Calls that were sent together may have a fact each, none of which alone takes long.
            if some.stop < until and self._rendezvous.clock() >= ends_s:
                until = some.stop
                break
        change.made = until
        if late:
            change.behind += sorted(number for number in late if number < until)
        return until == len(facts)

    def give_up(self, change: Change) -> None:
        """The rest of a change is not to be made, as the link that brought it is gone: whoever sent it sends it again."""
        for some, origin in change.origins:
            if change.made < some.stop:
                self._rendezvous.give_up(origin)

    def finish_change(self, change: Change) -> Held:
        """A change that has been made, and what is to be waited for before it is acknowledged."""
        sign, facts, places, stamp = change.sign, change.facts, change.places, change.stamp
        numbers: Sequence[int] = range(len(facts))
        if change.behind:
            late = set(change.behind)
            numbers = [number for number in numbers if number not in late]
            facts = [facts[number] for number in numbers]
            places = [places[number] for number in numbers]
        kept = self._disk.until_kept()
        held = Held(change.changed, self._hybrid_clock.latest, change.behind, change.unchanged, kept)
        if self._holders.alone:
            return held
        # What the links have room for leaves in this turn of the loop, together with what the other messages of it cause.
        version = self._holders.version
        copies = self._copies(facts, places)
        sent, _ = self._send(sign, facts, copies or {}, stamp)

        async def everywhere() -> None:
            # Else the two hold each other, and the facts, until Python looks for cycles, which long texts do not bring about.
            held.everywhere = None
            # Mostly nobody has come or gone between the two, and who holds what need not be found again.
            known = copies if self._holders.version == version else None
            behind = await self._until_held(sign, facts, places, stamp, sent, known)
            held.behind += [numbers[number] for number in behind]
            held.latest = self._hybrid_clock.latest
            if kept is not None:
                await kept()

        held.everywhere = everywhere
        return held

    def _behind(self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], stamp: int) -> Sequence[int]:
        """The facts that are not to change; all of them, where the publisher's clock is far behind. Raises Refused."""
        if stamp < self._hybrid_clock.latest - MAX_BEHIND_S * 1_000_000:
            return range(len(facts))
        self._hybrid_clock.see_stamp(stamp)
        return self._rendezvous.held.behind(sign, facts, places, stamp)

    def count_strange(self, peer: bytes, message: Replicate | Buried) -> int:
        """How many of the facts a peer tells of lie, in part, under keys whose holder it is not, as far as this peer knows.

        What is known here already does not count: whoever looks after a fact under another key tells of it now and then.
        """
        each = self._holders.holders_of_each(_keys(message.facts, message.places))
        # Most keys of a message have one of few sets of holders.
        sets = {id(holders): holders for holders in each}
        strange = {at for at, holders in sets.items() if not any(holder.id == peer for holder in holders)}
        if not strange:
            return 0
        known, stamp_of = iter(map(id, each)), self._rendezvous.held.stamp_of
        count = 0
        for fact, there, stamp in zip(message.entries, message.places, message.stamps, strict=True):
            if not strange.isdisjoint(list(islice(known, len(there)))):
                count += any(stamp_of((len(fact), at, short(fact[at])), fact) < stamp for at in there)  # type: ignore[arg-type]  # of what remains, when it went
        return count

    def take_over(self, message: Replicate | Buried) -> Held:
        """Another holder tells of changes. Raises Refused; where the disk fails they are known here all the same."""
        self._disk.check_room()
        behind: Sequence[int] = ()
        signs, facts, places, stamps = message.signs, message.entries, message.places, message.stamps
        if stamps:
            stamp = max(stamps)
            self._hybrid_clock.see_stamp(stamp)
            if stamp == min(stamps):
                # As of one change, whose primary may know less than we do: one that has just come, or come back.
                behind = self._rendezvous.held.behind(signs[0], facts, places, stamp)
        self._rendezvous.take_over(signs, facts, places, stamps)
        # What others have is true whether or not it can be kept here: who subscribes here is not to have less.
        self._disk.check()
        return Held(0, self._hybrid_clock.latest, list(behind), everywhere=self._disk.until_kept())

    # --- the other holders ------------------------------------------------------------------------------------------------

    def _copies(self, facts: Sequence[Tuple], places: Sequence[bytes]) -> Copies | None:
        """Who holds what besides us; None where that is not known without asking."""
        each = self._holders.holders_of_each(_keys(facts, places))
        if not all(each):
            return None
        copies: Copies = {}
        by_id: dict[bytes, Copy] = {}  # contacts are slow to hash
        # Most keys have one of few sets of holders.
        of_set: dict[int, list[Copy]] = {}
        for holders in {id(holders): holders for holders in each}.values():
            for holder in holders:
                if holder.id != self._own and holder.id not in by_id:
                    by_id[holder.id] = copies[holder] = ([], [])
            of_set[id(holders)] = [by_id[holder.id] for holder in holders if holder.id != self._own]
        known = iter(each)
        for number, there in enumerate(places):
            for position in there:
                for numbers, theirs in of_set[id(next(known))]:
                    if numbers and numbers[-1] == number:
                        theirs[-1] += _BYTE[position]
                    else:
                        numbers.append(number)
                        theirs.append(_BYTE[position])
        return copies

    def _send(self, sign: int, facts: Sequence[Tuple], copies: Copies, stamp: int) -> tuple[Sent, Copies]:
        """Tell those to whom there is a link with room; what was sent, and what was not."""
        sent: Sent = {}
        rest: Copies = {}
        for holder, copy in copies.items():
            link = self._exchange.link_now(holder)
            if link is None or link.congested:
                rest[holder] = copy
            else:
                sent[holder] = copy, self._ask(link, sign, facts, copy, stamp)
        return sent, rest

    def _ask(self, link: PeerLink, sign: int, facts: Sequence[Tuple], copy: Copy, stamp: int) -> list[asyncio.Future[Answer]]:
        numbers, places = copy
        theirs = [facts[number] for number in numbers]
        audiences = audiences_of(theirs)

        def make(part: slice) -> Callable[[int], Replicate]:
            count = len(theirs[part])
            return lambda request: Replicate(request, [sign] * count, theirs[part], places[part], [stamp] * count, audiences[part])

        answers = [link.ask(make(part)) for part in parts(theirs, CHUNK_FACTS)]
        for answer in answers:
            self._deaf_holders.expect_answer(link.contact.id, answer)
        return answers

    async def _send_rest(self, sign: int, facts: Sequence[Tuple], copies: Copies, stamp: int, sent: Sent) -> GsgError | None:
        """Tell the others, who are missing in ``sent`` afterwards if that cannot be."""

        async def tell(holder: dht.Contact, copy: Copy) -> GsgError | None:
            try:
                link = await self._exchange.link(holder)
                if link.congested:
                    await link.drained(DEAF_S)
            except LinkBroke as error:
                return error
            except PeerUnreachable as error:
                # It may live all the same, as a program that is busy: the overlay finds out. Mostly it is dead.
                self._deaf_holders.set_aside(holder, error, level=logging.INFO)
                return error
            sent[holder] = copy, self._ask(link, sign, facts, copy, stamp)
            return None

        problems = await asyncio.gather(*(tell(holder, copy) for holder, copy in copies.items()))
        return next(filter(None, problems), None)

    async def _until_held(
        self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], stamp: int, sent: Sent, copies: Copies | None
    ) -> Sequence[int]:
        """Wait until all holders have the change; where some die or are set aside, those who take their place are told.

        Returns the facts, by number, of which a holder knows that the contrary has happened later. ``copies``: what
        :meth:`_copies` says now, where that is known.
        """
        problem: GsgError | None = None
        deadline_s = self._awake_clock.now() + HOLDERS_TIMEOUT_S
        for attempt in range(ATTEMPTS):
            if attempt or copies is None:
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
            problem = await self._send_rest(sign, facts, rest, stamp, sent) or problem
            problem = await self._heard(facts, places, copies, sent, deadline_s) or problem
            if self._is_held(facts, places, copies, sent):
                return self._behind_elsewhere(facts, sent)
            if self._awake_clock.now() >= deadline_s:
                break
            # Who is slow may confirm yet, also when it was set aside.
            sent = {holder: told for holder, told in sent.items() if not any(map(_has_failed, told[1]))}
        slow = next((holder for holder, (_, answers) in sent.items() if _unanswered(answers)), None)
        if slow is not None and problem is None:
            problem = PeerUnreachable(f"{show(slow)} has not confirmed it within {HOLDERS_TIMEOUT_S:g} s")
        why = problem or next(iter(self._holders.aside.values()), None) or "their holders are not known"
        raise PeerUnreachable(
            f"a change of {_counted(facts)} was not acknowledged by all holders of its keys: {why}; it may be published again"
        )

    async def _heard(
        self, facts: Sequence[Tuple], places: Sequence[bytes], copies: Copies, sent: Sent, deadline_s: float
    ) -> GsgError | None:
        """Wait until the holders have confirmed, or something has to be sent to others: returns why."""
        while (problem := self._judge(copies, sent)) is None and not self._is_held(facts, places, copies, sent):
            now = self._awake_clock.now()
            owing = {holder: _unanswered(answers) for holder, (_, answers) in sent.items()}
            waits = [answer for holder, answers in owing.items() if holder in copies for answer in answers]
            deaf_at_s = self._deaf_holders.deaf_at_s
            until_s = [deadline_s, *(deaf_at_s(holder.id) for holder, answers in owing.items() if answers and holder in copies)]
            # A link that breaks is news at once.
            when = asyncio.FIRST_EXCEPTION
            if not waits:
                # All that hear have it, and are too few: it takes one of those that were set aside.
                waits = [answer for answers in owing.values() for answer in answers]
                when, until_s = asyncio.FIRST_COMPLETED, until_s[:1]
            if not waits or deadline_s <= now:
                return None
            await self._awake_clock.wait(waits, min(until_s), return_when=when)
        return problem

    def _judge(self, copies: Copies, sent: Sent) -> GsgError | None:
        """Look at the answers that have come and those that have not: why somebody who was waited for is to be replaced, if so."""
        problem: GsgError | None = None
        now = self._awake_clock.now()
        for holder, (_, answers) in sent.items():
            try:
                for answer in answers:
                    if answer.done():
                        check_confirmed(holder, answer.result())
                if holder not in copies or not _unanswered(answers):
                    continue
                if holder.id in self._holders.aside:
                    # Another change has found that out.
                    problem = self._holders.aside[holder.id]
                elif self._deaf_holders.deaf_at_s(holder.id) <= now:
                    raise PeerUnreachable(f"{show(holder)} has confirmed nothing for {DEAF_S:g} s")
            except (LinkBroke, Leaving) as error:
                problem = error
                self._holders.failed(holder.id, error)
            except GsgError as error:
                problem = error
                self._deaf_holders.set_aside(holder, error)
        return problem

    def _is_held(self, facts: Sequence[Tuple], places: Sequence[bytes], copies: Copies, sent: Sent) -> bool:
        """Whether all holders have the change, and where some are set aside, under each key a majority of all there would be."""
        if not all(holder in sent and all(map(_is_done, sent[holder][1])) for holder in copies):
            return False
        if not self._holders.aside:
            return True
        confirmed = _have(sent)
        for number, (fact, there) in enumerate(zip(facts, places, strict=True)):
            for position in there:
                feature = (len(fact), position, fact[position])
                owners = self._holders.holders_if_none_aside(feature)
                have = {self._own, *(holder.id for holder in self._holders.holders_of(feature))}
                have.update(peer.id for peer in owners if position in confirmed.get(peer.id, _NOTHING).get(number, b""))
                if len(have) < len(owners) // 2 + 1:
                    return False
        return True

    def _behind_elsewhere(self, facts: Sequence[Tuple], sent: Sent) -> Sequence[int]:
        """The facts, by number, that another holder did not change because it knows better. Raises Refused for an absurd time."""
        late: set[int] = set()
        for (numbers, _), answers in sent.values():
            dones = [answer.result() if _is_done(answer) else None for answer in answers]
            if any(done.behind for done in dones if isinstance(done, Done)):
                for done, part in zip(dones, parts([facts[number] for number in numbers], CHUNK_FACTS), strict=True):
                    if isinstance(done, Done):
                        self._hybrid_clock.see_stamp(done.stamp)
                        theirs = numbers[part]
                        late.update(theirs[number] for number in done.behind if 0 <= number < len(theirs))
        return sorted(late)


def _have(sent: Sent) -> Have:
    """What those have that confirmed all they were told."""
    return {holder.id: dict(zip(*copy, strict=True)) for holder, (copy, answers) in sent.items() if all(map(_is_done, answers))}


def _is_done(answer: asyncio.Future[Answer]) -> bool:
    return answer.done() and not answer.cancelled() and answer.exception() is None and isinstance(answer.result(), Done)


def _unanswered(answers: Sequence[asyncio.Future[Answer]]) -> list[asyncio.Future[Answer]]:
    return [answer for answer in answers if not answer.done()]


def _has_failed(answer: asyncio.Future[Answer]) -> bool:
    return answer.done() and not _is_done(answer)


def _counted(facts: Sequence[Tuple]) -> str:
    return "1 fact" if len(facts) == 1 else f"{len(facts)} facts"


def _keys(facts: Sequence[Remains], places: Sequence[bytes]) -> list[Key]:
    """Where nobody keeps them, long constants need not be hashed."""
    return [(len(fact), position, fact[position]) for fact, there in zip(facts, places, strict=True) for position in there]


_BYTE = [bytes((position,)) for position in range(256)]
_NOTHING: dict[int, bytes] = {}
_NONE: frozenset[int] = frozenset()
