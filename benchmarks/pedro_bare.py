"""A bare door for Pedro's clients, in about a hundred lines: what Python takes to do the least that is a match.

It shakes hands, parses each line, tries one subscription after the other, answers and delivers, with the reads and writes of a turn
batched; nothing else: no limits, no other peers, no registration, goals ``true`` and ``V > N`` alone. Where such a door reached
116,000 notifications a second, the original reached 67,000 beside it (notes of the plan), so it says how fast the machine is today.
"""

from __future__ import annotations

import asyncio
import re
import sys
from itertools import count
from typing import ClassVar, TypeAlias, cast

ORIGINAL_SHARE = 67 / 116
"""The rate of the original beside such a door, on one machine at one time."""

Term: TypeAlias = "str | int | tuple[Term, ...]"
_TOKEN = re.compile(r"\s*(-?\d+|\w+|[(),>])")


def parse(tokens: list[str]) -> Term:
    """One term from the front of the tokens, and a comparison after it."""
    token = tokens.pop(0)
    if token == "(":
        term = parse(tokens)
        tokens.pop(0)
    elif token.lstrip("-").isdigit():
        return int(token)
    elif tokens and tokens[0] == "(":
        arguments: list[Term] = [token]
        while tokens.pop(0) != ")":
            arguments.append(parse(tokens))
        term = tuple(arguments)
    else:
        term = token
    if tokens and tokens[0] == ">":
        return tokens.pop(0), term, parse(tokens)
    return term


def covers(head: Term, goal: Term, said: Term) -> bool:
    """Whether a head matches what was said and its goal holds; variables are names in capitals, or ``_``."""
    bound: dict[Term, Term] = {}
    waiting = [(head, said)]
    while waiting:
        wanted, found = waiting.pop()
        if type(wanted) is str and (wanted[0].isupper() or wanted == "_"):
            if wanted != "_" and bound.setdefault(wanted, found) != found:
                return False
        elif type(wanted) is tuple and type(found) is tuple and len(wanted) == len(found):
            waiting.extend(zip(wanted, found, strict=True))
        elif wanted != found:
            return False
    if goal == "true":
        return True
    _, left, right = cast("tuple[str, Term, int]", goal)
    value = bound.get(left, left)
    return type(value) is int and value > right


class Bare(asyncio.Protocol):
    """One socket; ``role`` is info, ack or data."""

    subscriptions: ClassVar[list[tuple[Term, Term, int, asyncio.Transport]]] = []
    acks: ClassVar[dict[bytes, asyncio.Transport]] = {}
    clients = count(1)

    def __init__(self, role: str, ports: list[int]) -> None:
        self.role = role
        self.ports = ports
        self.begun = b""
        self.ack: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if self.role == "info":
            self.transport.write(b"127.0.0.1 %d %d\n" % tuple(self.ports))
            self.transport.close()
        elif self.role == "ack":
            client = b"%d" % next(self.clients)
            self.acks[client] = self.transport
            self.transport.write(client + b"\n")

    def data_received(self, data: bytes) -> None:
        *lines, self.begun = (self.begun + data).split(b"\n")
        if self.ack is None:
            self.ack = self.acks.pop(lines.pop(0))
            self.transport.write(b"ok\n")
        answers: list[bytes] = []
        deliveries: dict[asyncio.Transport, list[bytes]] = {}
        for line in lines:
            term = parse(_TOKEN.findall(line.decode()))
            if term[0] == "subscribe":  # type: ignore[index]  # no line of these clients is a number
                _, head, goal, rock = cast("tuple[str, Term, Term, int]", term)
                self.subscriptions.insert(0, (head, goal, rock, self.transport))
                answers.append(b"%d\n" % len(self.subscriptions))
                continue
            for head, goal, rock, receiver in self.subscriptions:
                if covers(head, goal, term):
                    deliveries.setdefault(receiver, []).append(b"%d %b\n" % (rock, line))
            answers.append(b"1\n")
        for receiver, delivered in deliveries.items():
            receiver.write(b"".join(delivered))
        self.ack.write(b"".join(answers))


async def _serve() -> None:
    loop, ports = asyncio.get_running_loop(), list[int]()
    for role in ("ack", "data", "info"):
        server = await loop.create_server(lambda role=role: Bare(role, ports), "127.0.0.1", 0)  # type: ignore[misc]  # role is a str
        ports.append(server.sockets[0].getsockname()[1])
    sys.stdout.write(f"{ports.pop()}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve())
    else:
        uvloop.run(_serve())
