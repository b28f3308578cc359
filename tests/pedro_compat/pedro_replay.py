"""A door with its federation left out: sessions in one process, for replaying recordings through the pure code.

What a real door does between connections (who has a name, whom a line reaches) is here in its plainest form, from the facts.
"""

from __future__ import annotations

import json
from itertools import chain, count, product
from pathlib import Path
from typing import Any

from pedro_compat import P2P, V1_14, Bad, Dialect, Notify, Register, Session, Subscribe, Subscription, parse
from pedro_compat.goals.covers import compile_subscription
from pedro_compat.terms.terms import Var

RECORDED = Path(__file__).with_name("recorded")
ADDRESSES = {"localhost": "127.0.0.1"}


def recorded(name: str) -> list[dict[str, Any]]:
    """The cases of a recorded file."""
    with (RECORDED / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def subscription(source: str, dialect: Dialect) -> Subscription:
    """The subscription of ``Head, Body`` as two arguments: ``"f(X),X > 1"``."""
    term = parse(f"s({source})", dialect)
    return compile_subscription(term[1], term[2], dialect)


def covered(head_and_body: str, notification: str, dialect: Dialect) -> bool:
    """Whether a subscription covers a notification, read as the door reads it."""
    term = parse(notification, dialect, frozen=not dialect.notification_variables_bind)
    return subscription(head_and_body, dialect).covers(term)


class Door:
    """Clients by name, each with a session; deliveries pile up per client."""

    def __init__(self, *, dialect: Dialect = V1_14, size: int = 1024, admin_host: str | None = None) -> None:
        self.options = {"dialect": dialect, "size": size, "admin_host": admin_host}
        self.clients: dict[str, Session] = {}
        self.inbox: dict[str, list[str]] = {}
        self.order: dict[tuple[str, int], int] = {}
        self.counter = count()

    def connect(self, client: str, host: str = "127.0.0.1") -> None:
        self.clients[client] = Session(host, **self.options)

    def close(self, client: str) -> None:
        del self.clients[client]

    def send(self, client: str, text: str) -> tuple[list[int], dict[str, list[str]]]:
        """The answers to the text's lines, and what each client then received."""
        self.inbox = {}
        session = self.clients[client]
        session.receive(text.encode())
        acks = []
        while (command := session.next_command()) is not None:
            acks.append(self.carry_out(client, session, command))
        return acks, self.inbox

    def carry_out(self, client: str, session: Session, command: Any) -> int:
        match command:
            case Subscribe():
                self.order[client, command.id] = next(self.counter)
                session.subscriptions[command.id] = (command.rock, command.subscription)
            case Notify():
                self.deliver_to_subscribers(command)
            case Register():
                if (command.name, session.host) in {(other.name, other.host) for other in self.clients.values()}:
                    return 0
                session.registered(command)
            case P2P():
                if not session.is_sender(command, ADDRESSES.get(command.from_host)):
                    return 0
                addressed = {(command.to_name, ADDRESSES.get(command.to_host or "", command.to_host))}
                for name, other in self.clients.items():
                    if other.name is not None and addressed & {*product((None, other.name), (None, other.host))}:
                        self.put(name, f"0 {command.line}")
            case Bad():
                return 0
        return command.ack

    def deliver_to_subscribers(self, command: Notify) -> None:
        """Newest first; subscriptions with a variable for a head after the others (facts, section 3)."""
        everyone = chain.from_iterable(
            ((name, number, rock, found) for number, (rock, found) in session.subscriptions.items())
            for name, session in self.clients.items()
        )
        newest_first = sorted(everyone, key=lambda one: (type(one[3].head) is Var, -self.order[one[0], one[1]]))
        for name, _, rock, found in newest_first:
            if found.covers(command.term):
                self.put(name, f"{rock} {command.line}")

    def put(self, client: str, line: str) -> None:
        self.inbox.setdefault(client, []).append(line)
