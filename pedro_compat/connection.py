"""One client of the door: its commands carried out in order, one answer each, and what is delivered to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from gsg.errors import BadTerm, GsgError, LocalError
from gsg.features import Template
from gsg.memories import Memory
from gsg.messages import Event, Test
from gsg.peer import Peer
from gsg.placement import NOWHERE

from .addresses import message, registration
from .commands import P2P, Bad, Command, Deregister, Notify, Register, Subscribe, Unsubscribe
from .covers import template
from .session import Session, acknowledgement, delivery
from .tuples import from_tuple
from .writing import write

log = logging.getLogger(__name__)

READ_BYTES = 64 * 1024
SLOW_BYTES = 1024 * 1024
"""Unread deliveries from which a client is slow. Nobody waits for it."""
SLOW_S = 1.0
"""How long a client may stay slow before it is cut off, as the original does (facts, section 11)."""
MAX_SUBSCRIPTIONS = 100_000
"""Subscriptions of one client; one more is answered 0."""
TEST = "pedro"
"""The name under which rendezvous peers find :func:`pedro_compat.covers.compile_test`."""

Resolve: TypeAlias = Callable[[str], Awaitable[str | None]]


class Connection:
    """Serves one client until it leaves. ``resolve`` gives the address of a host name, or None."""

    def __init__(
        self,
        session: Session,
        peer: Peer,
        resolve: Resolve,
        data: asyncio.StreamWriter,
        ack: asyncio.StreamWriter,
    ) -> None:
        self.session = session
        self._peer = peer
        self._resolve = resolve
        self._data = data
        self._ack = ack
        self._listening: dict[int, Memory] = {}
        self._names: list[Memory] = []
        self._slow: asyncio.TimerHandle | None = None

    async def serve(self, reader: asyncio.StreamReader, first: bytes) -> None:
        """Carry out what comes, ``first`` included, until the client closes either socket."""
        try:
            received = first
            while not self._ack.is_closing():
                self.session.receive(received)
                await self._carry_out_all()
                # A client that does not read its answers is not read from either; the others do not notice.
                await self._ack.drain()
                received = await reader.read(READ_BYTES)
                if not received:
                    return
        except (ConnectionError, TimeoutError) as error:
            log.info("a pedro client is gone: %s", error)
        finally:
            self.leave()

    def leave(self) -> None:
        """The client is gone: its subscriptions and its name end with it. Whoever made the sockets closes them."""
        if self._slow is not None:
            self._slow.cancel()
        for listening in [*self._listening.values(), *self._names]:
            self._peer.end_listening(listening)
        self._listening.clear()
        self._names.clear()

    async def _carry_out_all(self) -> None:
        """Every complete line. Runs of notifications travel together; their answers come when all of them were forwarded."""
        run: list[Notify] = []
        while (command := self.session.next_command()) is not None:
            if isinstance(command, Notify):
                run.append(command)
                continue
            await self._notify(run)
            run = []
            self._answer(await self._carry_out(command))
        await self._notify(run)

    async def _notify(self, run: list[Notify]) -> None:
        if not run:
            return
        ack = 1
        try:
            await self._peer.flash([(command.items, command.line) for command in run])
        except GsgError as error:
            log.warning("%d notifications not forwarded: %s", len(run), error)
            ack = 0
        for command in run:
            self._answer(ack and command.ack)

    async def _carry_out(self, command: Command) -> int:
        try:
            match command:
                case Subscribe():
                    await self._subscribe(command)
                case Unsubscribe():
                    self._peer.end_listening(self._listening.pop(command.id))
                case Register():
                    await self._register(command)
                case Deregister():
                    self._end_name()
                case P2P():
                    return await self._send(command)
                case Bad():
                    log.debug("pedro line refused: %s", command.reason)
        except GsgError as error:
            log.info("pedro command not carried out: %s", error)
            return 0
        return command.ack

    async def _subscribe(self, command: Subscribe) -> None:
        subscription = command.subscription
        if len(self._listening) >= MAX_SUBSCRIPTIONS:
            self.session.subscriptions.pop(command.id, None)
            raise LocalError(f"this client has {MAX_SUBSCRIPTIONS} subscriptions, the most that one may have")
        condition = template(subscription)

        def deliver(event: Event) -> None:
            self._deliver(command.rock, event)

        try:
            self._listening[command.id] = await self._peer.listen(
                Template(()) if condition is None else condition,
                deliver,
                anchor=NOWHERE if condition is None else 0,
                test=Test(TEST, subscription.source()),
            )
        except GsgError:
            self.session.subscriptions.pop(command.id, None)
            raise

    async def _register(self, command: Register) -> None:
        try:
            for number, (condition, anchor) in enumerate(registration(command.name, self.session.host)):
                self._names.append(
                    await self._peer.listen(condition, lambda event: self._deliver(0, event), anchor=anchor, exclusive=number == 0)
                )
        except GsgError:
            self._end_name()
            raise
        self.session.registered(command)

    def _end_name(self) -> None:
        for listening in self._names:
            self._peer.end_listening(listening)
        self._names.clear()

    async def _send(self, command: P2P) -> int:
        if not self.session.is_sender(command, await self._resolve(command.from_host)):
            return 0
        host = command.to_host
        if host is not None:
            host = await self._resolve(host) or host
        items, position = message(command.to_name, host)
        await self._peer.flash([(items, command.line)], via=[position])
        return command.ack

    def _answer(self, ack: int) -> None:
        self._ack.write(acknowledgement(ack))

    def _deliver(self, rock: int, event: Event) -> None:
        try:
            line = delivery(rock, write(from_tuple(event.items)) if event.text is None else event.text)
        except BadTerm as error:
            log.debug("an event from another door has no form in Pedro: %s", error)
            return
        except Exception:
            # What an event holds is its publisher's choice, and whoever calls this has others to tell of it.
            log.exception("an event from another door could not be written for a pedro client; skipped")
            return
        if self._data.is_closing():
            return
        self._data.write(line)
        if self._slow is None and self._data.transport.get_write_buffer_size() > SLOW_BYTES:
            self._slow = asyncio.get_running_loop().call_later(SLOW_S, self._still_slow)

    def _still_slow(self) -> None:
        self._slow = None
        if self._data.transport.get_write_buffer_size() > SLOW_BYTES:
            log.warning("a pedro client does not read what is delivered to it: cut off")
            self._data.transport.abort()
            self._ack.transport.abort()
