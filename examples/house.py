"""A house that keeps itself cool: sensors, agents and devices that do not know each other (section 2.1 of the paper on Pedro).

    .venv/bin/python examples/house.py

The kitchen's sensor tells its temperature every 30 minutes, and more often when somebody asks for it. The kitchen's agent asks when
it is hot, requests cooling when two readings in a row are, and infers that a radiator may be faulty. A window opens while cooling
is requested; a fault monitor keeps a log. Each is a client at another peer. A minute of the house takes MINUTE_S.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from doors import agents, run

from pedro_compat import AsyncClient

MINUTE_S = 0.02
WARM, HOT = 20, 25
BEGIN, END = 10 * 60, 13 * 60
"""From ten o'clock to one, in minutes."""

Say = Callable[[str], None]


@dataclass(slots=True)
class Kitchen:
    """What is simulated: the radiator is stuck and heats, an open window cools."""

    temperature: float = HOT
    window_open: bool = False
    minute: int = BEGIN

    @property
    def clock(self) -> str:
        """The time of the house, a Pedro term."""
        return f"{self.minute // 60}:{self.minute % 60:02}"

    async def live(self) -> None:
        """Let the minutes pass."""
        while self.minute < END:
            await asyncio.sleep(MINUTE_S)
            self.minute += 1
            self.temperature += -0.2 if self.window_open else 0.05


async def sensor(client: AsyncClient, kitchen: Kitchen, say: Say) -> None:
    """Tell the temperature every so many minutes; whoever wants may change how many, from 1 to 30."""
    await client.subscribe("change_notification_frequency(temp(kitchen, _, _), F)", "F >= 1, F =< 30")
    every = 30

    async def obey() -> None:
        nonlocal every
        async for delivery in client.deliveries():
            every = delivery.term()[2]
            say(f"{kitchen.clock}  sensor: a reading every {every} minutes from now on")

    async with asyncio.TaskGroup() as tasks:
        obeying = tasks.create_task(obey())
        # The first reading gives the others the time to subscribe.
        told = kitchen.minute - every + 1
        while kitchen.minute < END:
            if kitchen.minute - told >= every:
                told = kitchen.minute
                await client.notify(("temp", "kitchen", round(kitchen.temperature), (":", told // 60, told % 60)))
            await asyncio.sleep(MINUTE_S)
        obeying.cancel()


async def agent(client: AsyncClient, say: Say) -> None:
    """Watch the kitchen's temperature and ask for what it needs. Runs until cancelled."""
    await client.subscribe("temp(kitchen, T, _)", f"T > {WARM}")
    asked_often = cooling = False
    hot = cool = 0
    async for delivery in client.deliveries():
        _, _, temperature, (_, hour, minute) = delivery.term()
        say(f"{hour}:{minute:02}  agent: {temperature} degrees in the kitchen")
        hot, cool = (hot + 1, 0) if temperature >= HOT else (0, cool + 1)
        if temperature >= HOT and not asked_often:
            asked_often = True
            await client.notify("change_notification_frequency(temp(kitchen, _, _), 5)")
        if hot == 2 and not cooling:
            cooling = True
            await client.notify("cool(kitchen)")
            await client.notify("possible_failure(radiator_temp_control, kitchen)")
        if cool == 3 and cooling:
            cooling = asked_often = False
            await client.notify("change_notification_frequency(temp(kitchen, _, _), 15)")
            await client.notify("unrequest(cool(kitchen))")


async def window(client: AsyncClient, kitchen: Kitchen, say: Say) -> None:
    """Open while cooling is requested. Runs until cancelled."""
    await client.subscribe("cool(kitchen)", rock=1)
    await client.subscribe("unrequest(cool(kitchen))", rock=0)
    async for delivery in client.deliveries():
        kitchen.window_open = delivery.rock == 1
        say(f"{kitchen.clock}  window: {'open' if kitchen.window_open else 'closed'}")


async def fault_monitor(client: AsyncClient, say: Say) -> None:
    """Log what others infer. Runs until cancelled."""
    await client.subscribe("possible_failure(_, _)")
    async for delivery in client.deliveries():
        _, what, where = delivery.term()
        say(f"       fault monitor: perhaps the {what} in the {where}")


async def main(say: Say = print) -> Kitchen:
    """The house, for three hours of its own."""
    kitchen = Kitchen()
    names = ("sensor", "kitchen_agent", "window", "fault_monitor")
    async with agents(*names) as (sensing, watching, opening, logging), asyncio.TaskGroup() as tasks:
        endless = [
            tasks.create_task(agent(watching, say)),
            tasks.create_task(window(opening, kitchen, say)),
            tasks.create_task(fault_monitor(logging, say)),
        ]
        async with asyncio.TaskGroup() as ending:
            ending.create_task(kitchen.live())
            ending.create_task(sensor(sensing, kitchen, say))
        for task in endless:
            task.cancel()
    say(f"It is one o'clock, {kitchen.temperature:.0f} degrees, and the window is {'open' if kitchen.window_open else 'closed'}.")
    return kitchen


if __name__ == "__main__":
    run(main())
