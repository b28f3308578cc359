"""A gatekeeper between a trusted and an untrusted door: rules say what may pass (section 6 of the paper on Pedro).

    .venv/bin/python examples/gatekeeper.py

A building has two tuple spaces that do not know each other, since all doors of one space hear the same. Anybody may speak at the
door of the outer one; that of the inner one serves clients of this machine that know a secret. The gatekeeper is a client of both.
Its rules are Pedro subscriptions: what one covers is passed on as it was said, and nothing else is.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from doors import run

import gsg
from pedro_compat import AsyncClient, PedroDoor

Say = Callable[[str], None]


class Rule(NamedTuple):
    """What may pass: what unifies with the head where the goal then holds."""

    head: str
    goal: str = "true"


# A variable would be bound by a rule's constants, and passed on unbound: atom(D) is false for it.
INWARD = (
    Rule("ring(D, Who)", "atom(D), atom(Who)"),
    Rule("open(D, Who)", "atom(D), member(D, [lobby, garage]), atom(Who)"),
)
OUTWARD = (Rule("opened(D)"), Rule("closed(D)"))


async def watch(source: AsyncClient, rules: tuple[Rule, ...]) -> None:
    """Ask for what the rules cover."""
    for rock, rule in enumerate(rules):
        await source.subscribe(rule.head, rule.goal, rock)


async def pass_on(source: AsyncClient, target: AsyncClient, way: str, say: Say) -> None:
    """Pass on what is heard, as it was said. Runs until cancelled."""
    async for delivery in source.deliveries():
        say(f"{way} {delivery.line}")
        await target.notify(delivery.line)


async def obey(building: AsyncClient, say: Say) -> None:
    """All doors of the building: they open for whoever asks inside. Runs until cancelled."""
    async for delivery in building.deliveries():
        _, door, who = delivery.term()
        say(f"         the {door} opens for {who}")
        await building.notify(("alarm_code", door, 4711))
        await building.notify(("opened", door))


@asynccontextmanager
async def space(**options: Any) -> AsyncIterator[int]:
    """A tuple space of one peer; gives the port of its Pedro door."""
    async with gsg.Peer() as peer, PedroDoor(peer, port=0, **options) as door:
        yield door.port


async def main(say: Say = print) -> list[str]:
    """Visitors at the outer door; returns what one of them has heard."""
    secret = secrets.token_hex(16)
    async with (
        space() as outer,
        space(allow=["127.0.0.0/8"], secret=secret) as inner,
        AsyncClient(port=outer) as visitor,
        AsyncClient(port=inner, secret=secret) as building,
        AsyncClient(port=outer) as gate_out,
        AsyncClient(port=inner, secret=secret) as gate_in,
        asyncio.TaskGroup() as tasks,
    ):
        try:
            async with AsyncClient(port=inner, secret="guessed"):
                say("an intruder is in!")
        except gsg.Refused as refused:
            say(f"an intruder is told: {refused}")
        await visitor.subscribe("_")
        await building.subscribe("open(D, _)")
        await watch(gate_out, INWARD)
        await watch(gate_in, OUTWARD)
        working = [
            tasks.create_task(obey(building, say)),
            tasks.create_task(pass_on(gate_out, gate_in, "inward: ", say)),
            tasks.create_task(pass_on(gate_in, gate_out, "outward:", say)),
        ]
        for line in ("open(vault, mallory)", "open(D, mallory)", "open(_, mallory)", "alarm_code(_, _)", "open(lobby, ann)"):
            say(f"visitor: {line}")
            await visitor.notify(line)
        heard = []
        while not heard or heard[-1] != "opened(lobby)":
            delivery = await visitor.delivery()
            assert delivery is not None, "nobody closes the visitor"
            heard.append(delivery.line)
        for task in working:
            task.cancel()
    return heard


if __name__ == "__main__":
    # The inner door warns of the intruder, whom the example tells of itself.
    logging.getLogger("pedro_compat").setLevel(logging.ERROR)
    run(main())
