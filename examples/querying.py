"""Agents that ask each other what they do not know (section 2.3 of the paper on Pedro).

    .venv/bin/python examples/querying.py

The kitchen's and the bedroom's agent know the area of their room; the heating's agent asks everybody whom it may concern, with
variables for what it wants to know, and is told by messages. Then somebody teaches a rule about areas, and the heating's agent,
which has subscribed to such rules, works out the area of the study from its own facts. Each agent is a client at another peer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from doors import agents, run

from pedro_compat import AsyncClient, parse
from pedro_compat.terms import COMMA, Term, Var

RULE = "rule(area(R, A), (rect(R), length(R, L), width(R, W), A is L * W))"
FACTS = ("rect(study)", "length(study, 50)", "width(study, 30)", "rect(hall)", "length(hall, 80)")

Say = Callable[[str], None]
Bindings = Mapping[Var, Term]


async def answer(client: AsyncClient, room: str, area: int) -> None:
    """Answer every question about the area of a room, to which the client has subscribed. Runs until cancelled."""
    async for delivery in client.deliveries():
        _, _, asker = delivery.term()
        await client.p2p(asker, f"tell(area({room}, {area}))")


async def ask(client: AsyncClient, answers: int, say: Say) -> dict[str, int]:
    """The areas that others tell, so many of them."""
    say(f"heating asks: ask(area(R, A), {client.handle})")
    await client.notify(f"ask(area(R, A), {client.handle})")
    told: dict[str, int] = {}
    async for delivery in client.deliveries():
        _, _, (_, name, _), (_, (_, room, area)) = delivery.term()
        say(f"    {name} tells: {room} has {area} square feet")
        told[room] = area
        if len(told) == answers:
            break
    return told


async def learn(client: AsyncClient, say: Say) -> dict[str, int]:
    """The areas that follow from the first rule that is told, and FACTS."""
    delivery = await client.delivery()
    assert delivery is not None
    _, (_, conclusion, conditions) = delivery.term()
    say(f"heating learns: {delivery.line}")
    facts = [parse(fact) for fact in FACTS]
    found = {}
    for solution in solutions(conjuncts(conditions), facts, {}):
        _, room, area = value(conclusion, solution)
        say(f"    and concludes: {room} has {area} square feet")
        found[room] = area
    return found


def conjuncts(term: Term) -> list[Term]:
    """The goals of ``a, b, c``."""
    if type(term) is tuple and term[0] == COMMA:
        return [*conjuncts(term[1]), *conjuncts(term[2])]
    return [term]


def solutions(goals: Sequence[Term], facts: Sequence[Term], bound: Bindings) -> Iterator[Bindings]:
    """The bindings under which every goal is a fact, or a product that is computed."""
    if not goals:
        yield bound
        return
    goal, *rest = goals
    if goal[0] == "is":
        _, wanted, (_, one, other) = goal
        yield from solutions(rest, facts, {**bound, wanted: value(one, bound) * value(other, bound)})
        return
    for fact in facts:
        if fact[0] == goal[0] and len(fact) == len(goal):
            wanted = value(goal, bound)
            if all(type(mine) is Var or mine == theirs for mine, theirs in zip(wanted[1:], fact[1:], strict=True)):
                new = {mine: theirs for mine, theirs in zip(wanted[1:], fact[1:], strict=True) if type(mine) is Var}
                yield from solutions(rest, facts, {**bound, **new})


def value(term: Term, bound: Bindings) -> Term:
    """A flat term with its variables replaced by what they are bound to."""
    return tuple(bound.get(part, part) for part in term) if type(term) is tuple else bound.get(term, term)


async def main(say: Say = print) -> dict[str, int]:
    """All areas that the heating's agent knows in the end."""
    names = ("kitchen_agent", "bedroom_agent", "heating_agent", "teacher")
    async with agents(*names) as (kitchen, bedroom, heating, teacher), asyncio.TaskGroup() as tasks:
        for client, room in ((kitchen, "kitchen"), (bedroom, "bedroom")):
            await client.subscribe(f"ask(area({room}, _), _)")
        endless = [tasks.create_task(answer(kitchen, "kitchen", 1200)), tasks.create_task(answer(bedroom, "bedroom", 900))]
        areas = await ask(heating, 2, say)
        await heating.subscribe("tell(rule(area(_, _), _))")
        await teacher.notify(f"tell({RULE})")
        areas.update(await learn(heating, say))
        for task in endless:
            task.cancel()
    return areas


if __name__ == "__main__":
    run(main())
