"""One client of the door: its commands carried out in order, one answer each, and what is delivered to it.

    IDLE ──lines──> a turn ──all are done──────────────────────> IDLE
                      ├──RUN lines, or a slice of time, are done──> TURN_DUE ──others had theirs──> a turn
                      └──a command waits for other peers──────> WAITING ──a task has carried it out──> a turn

Lines are read only while IDLE, and up to the next one while WAITING. A turn itself never waits: runs of lines that travel alike are
matched together, deliveries are written, then answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from gsg.errors import GsgError
from gsg.peer import Peer
from gsg.rendezvous.matching import EventBatch
from gsg.wire.messages import Event

from ..terms.tuples import line_of_tuple
from .admin import with_overheard
from .arrival_stamps import Arrivals
from .client_postings import ClientPostings
from .commands import P2P, Bad, Command, Deregister, Notify, Register, Subscribe, Unsubscribe
from .counts import DoorCounts
from .deliveries import Deliveries, DoorDeliveries
from .fair_turns import TURN_S, FairTurns
from .host_names import HostNames
from .message_hosts import MessageHosts, Said, Via
from .session import Session, acknowledgement, delivery

log = logging.getLogger(__name__)

RUN = 256
"""Lines of one client that are carried out before others get their turn: fewer, where they take longer than TURN_S."""
DELIVERIES = 2_000
"""Deliveries that a turn aims at, at most: where each line causes many, fewer lines are carried out at once."""
RUNS_UNDER_WAY = 8
"""Runs of one client that travel at the same time; one more waits for the oldest to be answered."""
SUBSCRIPTIONS_UNDER_WAY = 64
"""Subscriptions of one client that are posted at the same time: fewer, where to read them takes longer than TURN_S. One more waits
as above."""
OK = acknowledgement(1)
Step: TypeAlias = "Callable[[], Awaitable[None]] | _RemoteRun | Subscribe"
"""What has to be waited for before the next line is looked at."""


class Door(Protocol):
    """What a connection needs of its door."""

    deliveries: DoorDeliveries
    turns: FairTurns
    hosts: HostNames
    counts: DoorCounts
    arrivals: Arrivals | None
    """What has come, at a door with extensions."""
    admin_host: str | None

    def start_work(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Run this for as long as the door is open; what it raises is for whoever awaits it."""


class _RemoteRun(NamedTuple):
    """A run that others have to hear of."""

    run: Sequence[Said]
    via: Via


class _UnderWay(NamedTuple):
    """What others have been asked for."""

    done: asyncio.Future[None]
    what: _RemoteRun | Subscribe


class _State(Enum):
    IDLE = "idle"
    TURN_DUE = "turn due"
    WAITING = "waiting"


class Connection:
    """Serves one client until it leaves."""

    def __init__(self, session: Session, peer: Peer, door: Door, data: asyncio.Transport, ack: asyncio.Transport) -> None:
        self.session = session
        self._peer = peer
        self._door = door
        self._data = data
        self._ack = ack
        self._deliveries = Deliveries(data, door.deliveries, self.cut_off)
        self._answers: list[bytes] = []
        self._postings = ClientPostings(session, peer, door.arrivals, self._deliver)
        self._open = True
        self._under_way: deque[_UnderWay] = deque()
        """Runs that were sent and not answered, or subscriptions. Limits: RUNS_UNDER_WAY, SUBSCRIPTIONS_UNDER_WAY."""
        self._put_back: Command | None = None
        """A command that was looked at, and has to wait for what comes before it."""
        self._hosts = MessageHosts(session, door.hosts)
        self._state = _State.IDLE
        self._unread_answers = False
        self._paused = False
        self._matching: EventBatch | None = None
        """Lines that take long to match: they go on in each turn, and no other is looked at before they are done."""
        self._count = 0
        """How many lines those are."""
        self._at_once = 1
        """Lines that are matched together: one, until it is known what that costs."""

    # --- what the sockets tell ---------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes have come on the data socket."""
        self.session.receive(data)
        if self._state is _State.IDLE and not self._unread_answers:
            self._have_turn()
        else:
            self._read_or_pause()

    def answers_unread(self, unread: bool) -> None:
        """The client leaves its answers unread: it is not read from either, and the others do not notice."""
        self._unread_answers = unread
        if self._open and not unread and self._state is _State.IDLE:
            self._have_turn()
        self._read_or_pause()

    def leave(self) -> None:
        """The client is gone: its subscriptions and its name end with it."""
        if not self._open:
            return
        self._open = False
        self._deliveries.close()
        self._postings.withdraw_all()

    def cut_off(self) -> None:
        """End both sockets at once, with what is unread."""
        self._data.abort()
        self._ack.abort()

    # --- lines -------------------------------------------------------------------------------------------------------------

    def _have_turn(self) -> None:
        """Carry out what needs no waiting; then read on, or have another turn, or wait in a task."""
        self._state = _State.IDLE
        if not self._open and self._matching is None:
            return
        self._door.deliveries.hold_writes()
        try:
            step = self._carry_out_run()
            self._write_turn()
        except Exception:  # whatever it is: one client's lines must not end the door
            self._end_by_defect()
            return
        if step is not None:
            self._state = _State.WAITING
            self._door.start_work(self._carry_out_waiting(step))
        elif self._matching is not None or (
            (self.session.has_lines or self._put_back is not None) and self._open and not self._unread_answers
        ):
            # What was begun is finished, also when its client has left meanwhile.
            self._state = _State.TURN_DUE
            self._door.turns.queue_turn(self._have_turn)
        self._read_or_pause()

    async def _carry_out_waiting(self, step: Step | None) -> None:
        """Carry out what waits for others; runs of events follow each other without waiting for each other's answers, and so do
        subscriptions."""
        under_way, clock, ends_s = self._under_way, self._door.turns.clock, 0.0
        try:
            while self._open:
                if step is None:
                    step = self._carry_out_run()
                if isinstance(step, _RemoteRun):
                    flashing = self._door.start_work(self._peer.flash(self._events_of(*step), via=step.via))
                    under_way.append(_UnderWay(flashing, step))
                    step = None
                    if len(under_way) >= RUNS_UNDER_WAY:
                        await self._answer_oldest()
                elif isinstance(step, Subscribe):
                    if not under_way:
                        ends_s = clock() + TURN_S
                    under_way.append(_UnderWay(self._door.start_work(self._postings.post_subscription(step)), step))
                    step = None
                    if len(under_way) < SUBSCRIPTIONS_UNDER_WAY and clock() < ends_s:
                        continue
                    await self._answer_oldest()
                    ends_s = clock() + TURN_S
                elif under_way:
                    # A step, or no line left: what was sent before is answered first.
                    await self._answer_oldest()
                elif step is None:
                    break
                else:
                    await step()
                    step = None
                self._write_turn()
                self._read_or_pause()
        except Exception:  # as in _have_turn
            self._end_by_defect()
        finally:
            under_way.clear()
            self._state = _State.IDLE
        if self._open:
            self._have_turn()

    def _end_by_defect(self) -> None:
        """A defect of ours: it ends this connection, whose answers would be out of step, and nobody else's."""
        log.exception("a pedro connection failed")
        self._matching = None
        self._door.deliveries.write_all()
        self.cut_off()
        self.leave()

    async def _answer_oldest(self) -> None:
        """What is under way is answered in order: runs when all was forwarded, subscriptions when they stand. The oldest is waited
        for, and what is done behind it is answered with it."""
        under_way = self._under_way
        while under_way:
            done, what = under_way[0]
            try:
                await done
            except GsgError as error:
                self._answer_failed(what, error)
            else:
                self._answers.append(acknowledgement(what.ack) if isinstance(what, Subscribe) else OK * len(what.run))
            under_way.popleft()
            if under_way and not under_way[0].done.done():
                break

    def _answer_failed(self, what: _RemoteRun | Subscribe, error: GsgError) -> None:
        if isinstance(what, Subscribe):
            log.info("pedro command not carried out: %s", error)
            self._refuse()
            return
        log.warning("%d lines not forwarded: %s", len(what.run), error)
        self._answers.append(acknowledgement(0) * len(what.run))

    def _carry_out_run(self) -> Step | None:
        """The next lines, in order; what has to be awaited before one goes on, or None when this turn's share is done."""
        if self._under_way and isinstance(self._under_way[0].what, Subscribe):
            return self._next_subscription()
        if self._matching is not None:
            if self._peer.flash_on(self._matching):
                self._matching = None
                self._answers.append(OK * self._count)
            return None
        clock = self._door.turns.clock
        ends_s = clock() + TURN_S
        left = RUN
        while left > 0 and clock() <= ends_s:
            run, via = self._next_run(min(left, self._at_once), ends_s)
            if run:
                left -= len(run)
                if not self._match_run(run, via):
                    return _RemoteRun(run, via)
                if self._matching is not None or self._at_once <= len(run) < RUN:
                    # It takes long, or causes much: others have their turn.
                    break
                if self.session.has_lines or self._put_back is not None:
                    continue
                break
            command = self._next_command()
            if command is None:
                break
            if self._under_way:
                # What comes before it is done first.
                self._put_back = command
                return None
            left -= 1
            if (step := self._carry_out(command)) is not None:
                return step
        return None

    def _next_subscription(self) -> Subscribe | None:
        """The next line, where it is a subscription that may be posted while others are; whatever else it is waits for those."""
        if self._put_back is not None or not (self.session.has_subscription and self._postings.has_room):
            return None
        command = self.session.next_command()
        if isinstance(command, Subscribe) and command.options is None:
            return command
        self._put_back = command
        return None

    def _next_command(self) -> Command | None:
        command, self._put_back = self._put_back, None
        return command or self.session.next_command()

    def _next_run(self, most: int, ends_s: float) -> tuple[Sequence[Said], Via]:
        """The next lines that travel alike, at most so many, in time; none where a command comes first."""
        if self._put_back is None:
            plain = self.session.notifications(most)
            if plain:
                return plain, None
        clock = self._door.turns.clock
        run: list[Said] = []
        run_via: Via = None
        while len(run) < most and (not run or clock() <= ends_s):
            command = self._next_command()
            if command is None:
                break
            via: Via = None
            if type(command) is Notify:
                said: Said = command.items, command.line
            elif type(command) is P2P and (addressed := self._hosts.route_message(command)) is not None:
                said, via = addressed
            else:
                self._put_back = command
                break
            if run and via != run_via:
                self._put_back = command
                break
            run.append(said)
            run_via = via
        return run, run_via

    def _match_run(self, run: Sequence[Said], via: Via) -> bool:
        """Match what was said here and answer it, or begin to; False where it has to travel."""
        if self._under_way:
            return False
        deliveries = self._door.deliveries
        before = deliveries.delivered
        batch = self._peer.flash_here(self._events_of(run, via), via=via)
        if batch is None:
            self._at_once = RUN  # the longer the run, the fewer the journeys
            return False
        if not batch.done:
            self._matching, self._count = batch, len(run)
            self._at_once = 1
            return True
        self._answers.append(OK * len(run))
        # These took no more than a slice of matching: twice as many may go together, unless each line causes much.
        caused = (deliveries.delivered - before) // len(run)
        self._at_once = min(RUN, 2 * self._at_once, DELIVERIES // caused or 1) if caused else min(RUN, 2 * self._at_once)
        return True

    def _events_of(self, run: Sequence[Said], via: Via) -> Sequence[Said]:
        """What was said, and to the admin what it is to hear of it."""
        admin_host = self._door.admin_host
        return run if via is None or admin_host is None else with_overheard(run, admin_host)

    def _carry_out(self, command: Command) -> Step | None:
        """Carry out and answer what is no notification; returns what has to be awaited for that."""
        match command:
            case P2P():
                if hosts := self._hosts.unresolved_hosts(command):
                    return lambda: self._resolve_hosts(command, hosts)
                self._refuse()
                return None
            case Unsubscribe():
                self._postings.withdraw_subscription(command)
            case Deregister():
                self._postings.withdraw_name()
            case Subscribe():
                return command
            case Register():
                return lambda: self._post_name(command)
            case Bad():
                log.debug("pedro line refused: %s", command.reason)
                self._refuse()
                return None
        self._answer(command.ack)
        return None

    async def _post_name(self, command: Register) -> None:
        try:
            await self._postings.post_name(command)
        except GsgError as error:
            log.info("pedro command not carried out: %s", error)
            self._refuse()
        else:
            self._answer(command.ack)

    async def _resolve_hosts(self, command: P2P, hosts: list[str]) -> None:
        await self._hosts.resolve_hosts(hosts)
        self._put_back = command

    # --- answers and deliveries ----------------------------------------------------------------------------------------------

    def _answer(self, ack: int) -> None:
        self._answers.append(acknowledgement(ack))

    def _refuse(self) -> None:
        self._door.counts.lines_refused += 1
        self._answer(0)

    def _write_turn(self) -> None:
        """Write what this turn delivered, to whomever, then its answers."""
        self._door.deliveries.write_all()
        if self._answers:
            answers, self._answers = self._answers, []
            if self._open and not self._ack.is_closing():
                self._ack.write(b"".join(answers))

    def _deliver(self, event: Event, rock: int) -> None:
        """An event that a subscription of this client covers, or a message to it."""
        line = event.text
        if line is None:
            line = line_of_tuple(event.items)
            if line is None:
                return
        self._deliveries.deliver(delivery(rock, line))

    def _read_or_pause(self) -> None:
        """Bytes are read only while nothing is left to do with those that came."""
        waits = self._state is _State.TURN_DUE or (self._state is _State.WAITING and self.session.has_lines)
        pause = self._unread_answers or waits
        if self._open and pause != self._paused and not self._data.is_closing():
            self._paused = pause
            if pause:
                self._data.pause_reading()
            else:
                self._data.resume_reading()
