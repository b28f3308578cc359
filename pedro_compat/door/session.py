"""One connection of a client, from the bytes of its data socket to commands that are allowed.

    receive(bytes)  ->  notifications(most)  ->  pass them on     ->  answer 1 for each
                    ->  next_command()       ->  carry it out     ->  answer its ack, once, in order
                                                 Register: registered() first, where nobody else has the name

Notifications that are plain may be taken together. Of the others, whoever owns the sockets takes one command, carries it out and
answers it before it takes the next: whether a second ``register`` is allowed depends on how the first went. What depends on other
connections (who has a name, who receives) is not decided here.
"""

from __future__ import annotations

from collections import deque

import msgspec

from gsg.tuples.terms import Tuple

from ..dialect import PAPER, Dialect
from ..lines import DEFAULT_SIZE, LineReader
from .commands import (
    P2P,
    SUBSCRIPTION,
    Bad,
    Command,
    Deregister,
    Notify,
    Register,
    Subscribe,
    Unsubscribe,
    decode,
    decode_extended,
    plain_notification,
)

ADMIN = "admin"
"""The name that is a role where the door has an admin host (:mod:`.admin`)."""
TOGETHER_CHARACTERS = 16 * 1024
"""Characters of notifications that are read without a look at the clock, and the line that passes them: milliseconds."""


class Session:
    """The state of a connection: its subscriptions, its counter of ids, its name.

    ``host`` is the address of its acknowledgement connection. ``admin_host``: the host whose ``admin`` is sent everything.
    ``extensions``: whether subscriptions may have options.
    """

    def __init__(
        self,
        host: str,
        *,
        dialect: Dialect = PAPER,
        size: int = DEFAULT_SIZE,
        admin_host: str | None = None,
        extensions: bool = False,
    ) -> None:
        self.host = host
        self.dialect = dialect
        self.name: str | None = None
        self.subscriptions: dict[int, object] = {}
        """Id -> what the owner puts there of a subscription, oldest first; unless the owner bounds them, as many as it makes."""
        self._ids = 0
        self._reader = LineReader(size)
        # Bounded by what one receive() brings: the owner reads on when next_command() is None.
        self._lines: deque[str | None] = deque()
        self._admin_host = admin_host
        self._extensions = extensions

    @property
    def is_admin(self) -> bool:
        """Whether this is the connection that is sent every notification and message with rock 0."""
        return self.name is not None and self.makes_admin(self.name)

    def makes_admin(self, name: str) -> bool:
        """Whether this connection is the admin once it has the name."""
        return name == ADMIN and self.host == self._admin_host

    def receive(self, data: bytes) -> None:
        """Take bytes from the data socket."""
        self._lines.extend(self._reader.feed(data))

    def notifications(self, most: int) -> list[tuple[Tuple, str]]:
        """The notifications that come next, as far as they are plain, with their lines: at most so many, and TOGETHER_CHARACTERS.

        Each is answered 1. What comes after them, or instead, is the next command.
        """
        lines, dialect, left = self._lines, self.dialect, TOGETHER_CHARACTERS
        together: list[tuple[Tuple, str]] = []
        while lines and len(together) < most and left > 0:
            line = lines[0]
            if line is None:
                break
            plain = plain_notification(line, dialect)
            if plain is None:
                break
            left -= len(line)
            together.append((plain[1], line))
            lines.popleft()
        return together

    def next_command(self) -> Command | None:
        """The next command, or ``None`` when more bytes are needed."""
        if not self._lines:
            return None
        line = self._lines.popleft()
        command = decode(line, self.dialect)
        if type(command) is Notify:
            return command
        if self._extensions and line is not None and type(command) is Bad:
            command = decode_extended(line, self.dialect) or command
        match command:
            case Subscribe():
                return self._subscribed(command)
            case Bad(uses_id=True):
                self._ids += 1
            case Unsubscribe():
                return self._unsubscribed(command)
            case Register() if self.name is not None:
                return Bad(f"this connection is registered as {self.name} already; deregister that first")
            case Deregister():
                return self._deregistered(command)
            case P2P() if command.from_name != self.name:
                return Bad(f"the sender of the p2pmsg is {command.from_name}, and this connection's name {self.name}")
        return command

    def registered(self, command: Register) -> None:
        """The name of a Register is this connection's now; not called where another connection of the host has it."""
        self.name = command.name

    @property
    def has_lines(self) -> bool:
        """Whether there are lines that were received and not looked at."""
        return bool(self._lines)

    @property
    def has_subscription(self) -> bool:
        """Whether the next line seems to subscribe: it may be refused, or be something else after all."""
        return bool(self._lines) and self._lines[0] is not None and self._lines[0].startswith(SUBSCRIPTION)

    def is_sender(self, command: P2P, from_address: str | None) -> bool:
        """Whether a message names its sender truly, else its answer is 0; ``from_address``: what its ``from_host`` resolves to."""
        return command.from_name == self.name and self.host in (command.from_host, from_address)

    def _subscribed(self, command: Subscribe) -> Subscribe:
        self._ids += 1
        self.subscriptions[self._ids] = None
        return msgspec.structs.replace(command, id=self._ids)

    def _unsubscribed(self, command: Unsubscribe) -> Command:
        if command.id not in self.subscriptions:
            return Bad(f"there is no subscription {command.id} of this connection")
        ack = command.id if self.dialect.unsubscribe_acks_id else command.ack
        return Unsubscribe(command.id, ack, self.subscriptions.pop(command.id))

    def _deregistered(self, command: Deregister) -> Command:
        if command.name != self.name:
            return Bad(f"this connection is not registered as {command.name}")
        if self.is_admin:
            return Bad("the admin keeps its role until it disconnects")
        self.name = None
        return command


def acknowledgement(ack: int) -> bytes:
    """What goes to the acknowledgement socket: exactly one for each line."""
    return b"%d\n" % ack


def delivery(rock: int, line: str) -> bytes:
    """What goes to a subscriber's data socket: the line as it was sent, after the rock (manual 5)."""
    return b"%d %b\n" % (rock, line.encode())
