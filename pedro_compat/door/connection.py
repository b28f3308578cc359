"""One client of the door: its commands carried out in order, one answer each, and what is delivered to it.

    received ──> turn: many lines at once ──> nothing left: read on
                   │                     └──> RUN lines done, or a slice of what takes long: the next turn, after others had theirs
                   └── a command that waits for other peers ──> a task, until there is none; nothing is read meanwhile

A turn neither waits nor starts a task. Runs of lines that travel alike are matched together, deliveries are written, then answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from gsg.errors import GsgError, LocalError
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.peer import Peer
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.matching import EventBatch
from gsg.tuples.features import Template
from gsg.wire.messages import Event, Test

from ..goals.covers import TEST_NAME, template
from ..terms.tuples import line_of_tuple
from .addresses import registration
from .admin import Asked, role, with_overheard
from .arrival_stamps import Arrivals
from .commands import P2P, Bad, Command, Deregister, Notify, Register, Subscribe, Unsubscribe
from .counts import DoorCounts
from .deliveries import Outbox, Outboxes
from .fair_turns import TURN_S, Turns
from .host_names import Hosts
from .message_hosts import MessageHosts, Said, Via
from .session import Session, acknowledgement, delivery
from .with_options import Hearing, Listener

log = logging.getLogger(__name__)

RUN = 256
"""Lines of one client that are carried out before others get their turn: fewer, where they take longer than TURN_S."""
DELIVERIES = 2_000
"""Deliveries that a turn aims at, at most: where each line causes many, fewer lines are carried out at once."""
RUNS_UNDER_WAY = 8
"""Runs of one client that travel at the same time; one more waits for the oldest to be answered."""
MAX_SUBSCRIPTIONS = 100_000
"""Subscriptions of one client; one more is answered 0."""
OK = acknowledgement(1)
Step: TypeAlias = "Callable[[], Awaitable[None]] | _Far"
"""What has to be waited for before the next line is looked at."""


class Surroundings(Protocol):
    """What a connection needs of its door."""

    outboxes: Outboxes
    turns: Turns
    hosts: Hosts
    counts: DoorCounts
    arrivals: Arrivals | None
    """What has come, at a door with extensions."""
    admin_host: str | None

    def start(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Run this for as long as the door is open; what it raises is for whoever awaits it."""


class _Far(NamedTuple):
    """A run that others have to hear of."""

    run: Sequence[Said]
    via: Via


async def _nothing() -> None:
    """A step that waits for nothing itself: only for what is under way."""


class Connection:
    """Serves one client until it leaves."""

    def __init__(self, session: Session, peer: Peer, door: Surroundings, data: asyncio.Transport, ack: asyncio.Transport) -> None:
        self.session = session
        self._peer = peer
        self._door = door
        self._data = data
        self._ack = ack
        self._outbox = Outbox(data, door.outboxes, self.cut_off)
        self._answers: list[bytes] = []
        self._hear = self._deliver
        """One object for all subscriptions."""
        self._hearing = None if door.arrivals is None else Hearing(door.arrivals, self._deliver)
        self._names: list[AlphaMemory] = []
        self._open = True
        self._under_way: deque[tuple[asyncio.Future[None], int]] = deque()
        """Runs that were sent and not answered, with their lengths; limit: RUNS_UNDER_WAY."""
        self._put_back: Command | None = None
        """A command that was looked at, and has to wait for what comes before it."""
        self._hosts = MessageHosts(session, door.hosts)
        self._working = False
        """Whether a task is at a command that waits; no line is looked at meanwhile."""
        self._turn_waits = False
        """Whether there is to be another turn; no line is looked at before."""
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
        if self._working or self._turn_waits or self._unread_answers:
            self._read_or_pause()
        else:
            self._turn()

    def answers_unread(self, unread: bool) -> None:
        """The client leaves its answers unread: it is not read from either, and the others do not notice."""
        self._unread_answers = unread
        if self._open and not unread and not self._working and not self._turn_waits:
            self._turn()
        self._read_or_pause()

    def leave(self) -> None:
        """The client is gone: its subscriptions and its name end with it."""
        if not self._open:
            return
        self._open = False
        self._outbox.close()
        kept, self.session.subscriptions = self.session.subscriptions, {}
        for listening in [*kept.values(), *self._names]:
            if isinstance(listening, AlphaMemory):
                self._peer.end_listening(listening)
        self._names.clear()

    def cut_off(self) -> None:
        """End both sockets at once, with what is unread."""
        self._data.abort()
        self._ack.abort()

    # --- lines -------------------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Carry out what needs no waiting; then read on, or have another turn, or wait in a task."""
        self._turn_waits = False
        if not self._open and self._matching is None:
            return
        self._door.outboxes.turn_begins()
        try:
            step = self._carry_out_run()
            self._speak()
        except Exception:  # whatever it is: one client's lines must not end the door
            self._failed()
            return
        if step is not None:
            self._working = True
            self._door.start(self._work(step))
        elif self._matching is not None or (
            (self.session.has_lines or self._put_back is not None) and self._open and not self._unread_answers
        ):
            # What was begun is finished, also when its client has left meanwhile.
            self._turn_waits = True
            self._door.turns.wait(self._turn)
        self._read_or_pause()

    async def _work(self, step: Step | None) -> None:
        """Carry out what waits for others; runs of events follow each other without waiting for each other's answers."""
        under_way = self._under_way
        try:
            while self._open:
                if step is None:
                    step = self._carry_out_run()
                if isinstance(step, _Far):
                    under_way.append((self._door.start(self._peer.flash(self._told(*step), via=step.via)), len(step.run)))
                    step = None
                    if len(under_way) >= RUNS_UNDER_WAY:
                        await self._answer_oldest()
                elif under_way:
                    # A step, or no line left: what was sent before is answered first.
                    await self._answer_oldest()
                elif step is None:
                    break
                else:
                    await step()
                    step = None
                self._speak()
                self._read_or_pause()
        except Exception:  # as in _turn
            self._failed()
        finally:
            under_way.clear()
            self._working = False
        if self._open:
            self._turn()

    def _failed(self) -> None:
        """A defect of ours: it ends this connection, whose answers would be out of step, and nobody else's."""
        log.exception("a pedro connection failed")
        self._matching = None
        self._door.outboxes.flush()
        self.cut_off()
        self.leave()

    async def _answer_oldest(self) -> None:
        """Runs are answered in order, each when all of it was forwarded."""
        flashing, count = self._under_way[0]
        ack = 1
        try:
            await flashing
        except GsgError as error:
            log.warning("%d lines not forwarded: %s", count, error)
            ack = 0
        self._under_way.popleft()
        self._answers.append(acknowledgement(ack) * count)

    def _carry_out_run(self) -> Step | None:
        """The next lines, in order; what has to be awaited before one goes on, or None when this turn's share is done."""
        if self._matching is not None:
            self._match_on(self._matching)
            return None
        clock = self._door.turns.clock
        ends_s = clock() + TURN_S
        left = RUN
        while left > 0 and clock() <= ends_s:
            run, via = self._next_run(min(left, self._at_once), ends_s)
            if run:
                left -= len(run)
                if not self._flash(run, via):
                    return _Far(run, via)
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
                return _nothing
            left -= 1
            step = self._carry_out(command)
            if step is not None:
                return step
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
            elif type(command) is P2P and (addressed := self._hosts.way_of(command)) is not None:
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

    def _flash(self, run: Sequence[Said], via: Via) -> bool:
        """Match what was said here and answer it, or begin to; False where it has to travel."""
        if self._under_way:
            return False
        outboxes = self._door.outboxes
        before = outboxes.delivered
        batch = self._peer.flash_here(self._told(run, via), via=via)
        if batch is None:
            self._at_once = RUN  # the longer the run, the fewer the journeys
            return False
        if not batch.done:
            self._matching, self._count = batch, len(run)
            self._at_once = 1
            return True
        self._answers.append(OK * len(run))
        # These took no more than a slice of matching: twice as many may go together, unless each line causes much.
        caused = (outboxes.delivered - before) // len(run)
        self._at_once = min(RUN, 2 * self._at_once, DELIVERIES // caused or 1) if caused else min(RUN, 2 * self._at_once)
        return True

    def _match_on(self, batch: EventBatch) -> None:
        """Match more of what takes long, and answer it when all of it is done."""
        if self._peer.flash_on(batch):
            self._matching = None
            self._answers.append(OK * self._count)

    def _told(self, run: Sequence[Said], via: Via) -> Sequence[Said]:
        """What was said, and to the admin what it is to hear of it."""
        admin_host = self._door.admin_host
        return run if via is None or admin_host is None else with_overheard(run, admin_host)

    def _carry_out(self, command: Command) -> Step | None:
        """Carry out and answer what is no notification; returns what has to be awaited for that."""
        match command:
            case P2P():
                return self._look_up(command)
            case Unsubscribe():
                assert isinstance(command.kept, AlphaMemory)
                self._peer.end_listening(command.kept)
            case Deregister():
                self._end_name()
            case Subscribe():
                return self._awaited(command, lambda: self._subscribe(command))
            case Register():
                return self._awaited(command, lambda: self._register(command))
            case Bad():
                log.debug("pedro line refused: %s", command.reason)
                self._door.counts.lines_refused += 1
        self._answer(command.ack)
        return None

    def _awaited(self, command: Command, work: Callable[[], Awaitable[None]]) -> Step:
        async def step() -> None:
            try:
                await work()
            except GsgError as error:
                log.info("pedro command not carried out: %s", error)
                self._door.counts.lines_refused += 1
                self._answer(0)
            else:
                self._answer(command.ack)

        return step

    async def _subscribe(self, command: Subscribe) -> None:
        subscription, kept = command.subscription, self.session.subscriptions
        if len(kept) > MAX_SUBSCRIPTIONS:
            del kept[command.id]
            raise LocalError(f"this client has {MAX_SUBSCRIPTIONS} subscriptions, the most that one may have")
        condition = template(subscription)
        listener: Listener | None = None
        try:
            if command.options is not None and self._hearing is not None:
                listener = Listener(self._hearing, command.options)
            listening = await self._peer.listen(
                Template(()) if condition is None else condition,
                listener or self._hear,
                anchor=NOWHERE if condition is None else 0,
                test=Test(TEST_NAME, subscription.source()),
                note=command.rock,
            )
        except BaseException:
            kept.pop(command.id, None)
            raise
        self._keep(listening)
        kept[command.id] = listening
        if listener is not None:
            await listener.look_back(subscription, command.rock, lambda: self._open)

    async def _register(self, command: Register) -> None:
        asked: list[Asked] = [(*place, None, self._hear) for place in registration(command.name, self.session.host)]
        if self.session.makes_admin(command.name):
            asked += role(self.session.host, self.session.dialect, self._hear)
        try:
            for number, (condition, anchor, test, hear) in enumerate(asked):
                self._names.append(await self._peer.listen(condition, hear, anchor=anchor, test=test, exclusive=number == 0))
                self._keep(self._names[-1])
        except BaseException:
            self._end_name()
            raise
        self.session.registered(command)

    def _keep(self, listening: AlphaMemory) -> None:
        """What was waited for has come; the client may have left meanwhile."""
        if not self._open:
            self._peer.end_listening(listening)
            raise LocalError("the client has left")

    def _end_name(self) -> None:
        for listening in self._names:
            self._peer.end_listening(listening)
        self._names.clear()

    def _look_up(self, command: P2P) -> Step | None:
        """What is to be done about a message whose way is not known: look its hosts up, or refuse it."""
        hosts = self._hosts.unknown(command)
        if not hosts:
            self._door.counts.lines_refused += 1
            self._answer(0)
            return None

        async def step() -> None:
            await self._hosts.look_up(hosts)
            self._put_back = command

        return step

    # --- answers and deliveries ----------------------------------------------------------------------------------------------

    def _answer(self, ack: int) -> None:
        self._answers.append(acknowledgement(ack))

    def _speak(self) -> None:
        """Write what this turn delivered, to whomever, then its answers."""
        self._door.outboxes.flush()
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
        self._outbox.deliver(delivery(rock, line))

    def _read_or_pause(self) -> None:
        """Bytes are read only while nothing is left to do with those that came."""
        pause = self._unread_answers or self._turn_waits or (self._working and self.session.has_lines)
        if self._open and pause != self._paused and not self._data.is_closing():
            self._paused = pause
            if pause:
                self._data.pause_reading()
            else:
                self._data.resume_reading()
