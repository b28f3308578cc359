"""Calls of facts that wait for one turn and go in one batch, as changes that wait for a disk go in one transaction.

A message costs those who carry it more than the facts in it, and a fact takes part in some fourteen of them. So a call that cannot
be sent at once takes others along, which came after it and say the same, that something is true or that it is not, to the same
readers. To subscribers each of them is as a message of its own (:class:`gsg.wire.messages.Part`), so that their order is kept.

The first of them sends for all. Each is told what came of its own facts: how many changed, and which are behind or did not arrive.
Where the batch was refused, or the one that sent it has gone, each of the others sends its own again, at the same stamp: so what
was said later stays the last word, though subscribers may hear it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ..errors import GsgError, PeerUnreachable
from ..tuples.audiences import Audience
from ..tuples.terms import Tuple
from ..wire.admission import RUN_CALLS
from .batches import Facts, SendRecord
from .turns import Turn, Turns

SMALL_FACTS = 100
SMALL_BYTES = 16 * 1024
"""A call of at most so many facts and bytes goes together with others; one that is larger gains nothing by it."""
RUN_FACTS = 1_000
"""Facts of one run, and RUN_CALLS calls at most; what comes then begins another one."""


class Cue(Enum):
    """What a call is told that waits for others to send its facts."""

    SEND = "send for all of us"
    SENT = "it was sent and answered"
    ALONE = "send your own again"


@dataclass(frozen=True, slots=True)
class Share:
    """One call's part of a batch that was answered, which counts the calls that are done with it (:meth:`Facts.end_call`)."""

    batch: Facts
    numbers: range
    before: Share | None = None
    """Of these facts in the batch in which they went with others before."""

    @property
    def changed(self) -> int:
        """How many facts changed."""
        return self.batch.changed(self.numbers) + (0 if self.before is None else self.before.changed)

    @property
    def behind(self) -> list[Tuple]:
        """The facts to which the contrary has happened later."""
        behind = self.batch.behind
        return [self.batch.facts[number] for number in self.numbers if number in behind] if behind else []

    def check(self) -> None:
        """Raise PeerUnreachable where some did not arrive."""
        missed = sum(number in self.batch.missed for number in self.numbers) if self.batch.missed else 0
        if missed:
            why = f"{self.batch.problem}; facts may be published again as they are"
            raise PeerUnreachable(f"{missed} of {len(self.numbers)} tuples were not acknowledged: {why}")


class Call:
    """The facts of one caller."""

    __slots__ = ("cue", "facts", "first", "size_bytes", "trace")

    def __init__(self, facts: Sequence[Tuple], size_bytes: int, trace: bytes | None) -> None:
        self.facts = facts
        self.trace = trace
        self.size_bytes = size_bytes
        self.first = 0
        """The number of the first of them in the batch."""
        self.cue: asyncio.Future[Cue] = asyncio.get_running_loop().create_future()

    def give_cue(self, cue: Cue) -> None:
        """Say how it goes on; who has gone is told nothing."""
        if not self.cue.done():
            self.cue.set_result(cue)


class Run:
    """Calls that go together; ``turn`` is the one they wait for."""

    def __init__(self, sign: int, audience: Audience | None, turn: Turn) -> None:
        self.sign = sign
        self.audience = audience
        self.turn = turn
        self.calls: list[Call] = []
        """In order. Limits: RUN_CALLS, and RUN_FACTS in them together."""
        self.batch: Facts | None = None
        """Once it is sent."""
        self._facts = 0

    def has_room_for(self, sign: int, audience: Audience | None, facts: Sequence[Tuple]) -> bool:
        """Whether a call may join."""
        return (
            sign == self.sign
            and audience == self.audience
            and len(self.calls) < RUN_CALLS
            and self._facts + len(facts) <= RUN_FACTS
        )

    def add_call(self, facts: Sequence[Tuple], size_bytes: int, trace: bytes | None) -> Call:
        """One call more; the first one is to send."""
        call = Call(facts, size_bytes, trace)
        if not self.calls:
            call.give_cue(Cue.SEND)
        self.calls.append(call)
        self._facts += len(facts)
        return call

    def remove_call(self, call: Call) -> bool:
        """A caller has gone before anything was sent; the next one is to send then. Whether any is left."""
        self._facts -= len(call.facts)
        self.calls.remove(call)
        if self.calls:
            self.calls[0].give_cue(Cue.SEND)
        return bool(self.calls)

    def all_facts(self) -> list[Tuple]:
        """The facts of all, in order."""
        facts: list[Tuple] = []
        for call in self.calls:
            call.first = len(facts)
            facts += call.facts
        return facts


class Coalescing:
    """The calls of one publisher. ``carry_out(batch, turn)`` sends a batch at this turn, or the next, and waits for answers."""

    def __init__(self, turns: Turns, record: SendRecord, carry_out: Callable[[Facts, Turn | None], Awaitable[None]]) -> None:
        self._turns = turns
        self._record = record
        self._carry_out = carry_out
        self._run: Run | None = None
        """The last one; others may join it while it is the last that waits for its turn."""

    async def publish_facts(
        self, sign: int, facts: Sequence[Tuple], size_bytes: int, audience: Audience | None, trace: bytes | None = None
    ) -> Share:
        """Make facts true or untrue, alone or together with those of others; they were looked at, can travel, and are no longer
        than this as encoded. ``trace``: the context of the call, which it keeps among others.

        Raises PeerUnreachable and Refused.
        """
        if len(facts) > SMALL_FACTS or size_bytes > SMALL_BYTES:
            return await self._alone(sign, facts, size_bytes, audience, trace)
        run = self._run
        if run is None or not self._turns.is_last(run.turn) or not run.has_room_for(sign, audience, facts):
            turn = self._turns.line_up(is_patient=True)
            if turn.is_here:
                return await self._alone(sign, facts, size_bytes, audience, trace, turn=turn)
            run = self._run = Run(sign, audience, turn)
        call = run.add_call(facts, size_bytes, trace)
        try:
            cue = await call.cue
            if cue is Cue.SEND:
                await self._turns.wait(run.turn)
        except BaseException:
            self._left(run, call)
            raise
        if cue is Cue.SEND:
            cue = await self._send(run)
        assert run.batch is not None, "it was sent"
        share = Share(run.batch, range(call.first, call.first + len(call.facts)))
        if cue is Cue.SENT:
            return share
        try:
            # What has changed already is what it should be: that counts as well.
            alone = await self._alone(sign, facts, size_bytes, audience, trace, stamp=run.batch.stamp)
            return replace(alone, before=share)
        finally:
            run.batch.end_call()

    def _left(self, run: Run, call: Call) -> None:
        """A caller has gone while it waited."""
        if run.batch is not None:
            run.batch.end_call()
        elif not run.remove_call(call):
            self._turns.leave_turn(run.turn)

    async def _send(self, run: Run) -> Cue:
        """Send a run whose turn it is, and tell the others what came of it."""
        facts, size_bytes = run.all_facts(), sum(call.size_bytes for call in run.calls)
        batch = run.batch = Facts(
            *(self._record, run.sign, facts, size_bytes, run.audience),
            calls=[len(call.facts) for call in run.calls],
            traces=[call.trace for call in run.calls],
        )
        batch.stamp_once()
        cue = Cue.ALONE
        self._turns.begin_round()
        try:
            await self._carry_out(batch, run.turn)
            cue = Cue.SENT
        except GsgError:
            if len(run.calls) == 1:
                batch.end_call()
                raise
        except BaseException:
            batch.end_call()
            raise
        finally:
            self._turns.end_round()
            for other in run.calls:
                other.give_cue(cue)
        return cue

    async def _alone(
        self,
        sign: int,
        facts: Sequence[Tuple],
        size_bytes: int,
        audience: Audience | None,
        trace: bytes | None,
        *,
        turn: Turn | None = None,
        stamp: int = 0,
    ) -> Share:
        batch = Facts(self._record, sign, facts, size_bytes, audience, stamp=stamp, traces=(trace,))
        if turn is not None:
            self._turns.begin_round()
        try:
            await self._carry_out(batch, turn)
        except BaseException:
            batch.end_call()
            raise
        finally:
            if turn is not None:
                self._turns.end_round()
        return Share(batch, range(len(facts)))
