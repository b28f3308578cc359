"""A contract net: a task is announced to all, the best bid wins (Smith's protocol, as in section 1 of the paper on Pedro).

    .venv/bin/python examples/contract_net.py

The manager does not know who is there: the address ``_`` of its announcement reaches every client that has registered a name, at
whatever peer. Contractors bid by a message to the manager, or say nothing; the award is a message to one of them, and its report
goes to the thread of the manager that the award names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from doors import agents, run

from pedro_compat import AsyncClient
from pedro_compat.terms import Var

BIDDING_S = 0.5
"""How long the manager waits for bids."""
SKILLS: dict[str, dict[str, int]] = {
    "smith": {"weld": 40, "paint": 35},
    "jones": {"weld": 30},
    "brown": {"paint": 20, "carry": 10},
}
"""What each contractor can do, and for how much."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Contract:
    """A task that was done: by whom, and for how much."""

    task: str
    contractor: str
    price: int


async def let(client: AsyncClient, task: str, say: Say) -> Contract | None:
    """Announce a task, award it to the lowest bid and wait for the report; None when nobody bids."""
    await client.p2p("_", f"announce({task})")
    bids: list[tuple[int, str]] = []
    try:
        async with asyncio.timeout(BIDDING_S):
            async for delivery in client.deliveries():
                _, _, (_, name, host), message = delivery.term()
                if message[0] == "bid" and message[1] == task:
                    bids.append((message[2], f"{name}@{host}"))
    except TimeoutError:
        pass
    if not bids:
        say(f"{task}: nobody bids")
        return None
    price, winner = min(bids)
    await client.p2p(winner, f"award({task}, {price})", thread=task)
    async for delivery in client.deliveries():
        _, (_, receiver, _), sender, message = delivery.term()
        # Whoever reports answers to the thread that the award came from.
        if receiver == (":", task, client.name) and message == ("done", task):
            say(f"{task}: {len(bids)} bids, done by {winner} for {price}")
            return Contract(task, sender[1], price)
    return None


async def contractor(client: AsyncClient, skills: dict[str, int]) -> None:
    """Bid for what one can do, do what one is awarded. Runs until cancelled."""
    async for delivery in client.deliveries():
        _, _, sender, message = delivery.term()
        if message[0] == "announce" and message[1] in skills:
            await client.p2p(sender, f"bid({message[1]}, {skills[message[1]]})")
        elif message[0] == "award":
            await client.p2p(sender, f"done({message[1]})")


async def main(say: Say = print) -> list[Contract | None]:
    """Four tasks, one after the other."""
    async with agents("manager", *SKILLS) as (manager, *contractors), asyncio.TaskGroup() as tasks:
        endless = [
            tasks.create_task(contractor(client, skills)) for client, skills in zip(contractors, SKILLS.values(), strict=True)
        ]
        done = [await let(manager, task, say) for task in ("weld", "paint", "carry", "cook")]
        # All who have a name hear of it, whatever it is: a variable addresses names and hosts alike.
        await manager.p2p(("@", Var("Anybody"), Var("Anywhere")), "thanks(all)")
        for task in endless:
            task.cancel()
    return done


if __name__ == "__main__":
    run(main())
