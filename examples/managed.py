"""A small distributed application in four processes, managed by its events (after the demonstration of OIF by Filman and Lee).

    .venv/bin/python examples/managed.py [--requests 60]

A front end takes requests and asks an account service and a stock service, each in a process of its own. All calls are traced by
an injector, and each process has one channel; the channels are linked in a circle, so that none of them is a middle. The fourth
process manages: its subscriptions are for fault diagnosis (which calls fail, and what caused them), intrusion detection (logins
that are refused), performance analysis (calls that take long) and accounting (what each user bought); and an inspector prints who
called whom.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable

from gsg.channels import environment
from gsg.channels.channel import Channel
from gsg.channels.events import Event
from gsg.channels.injector import traced
from gsg.channels.links.links import Links

PROCESSES = ("front", "accounts", "stock", "manager")
PRICES = {"pen": 2, "book": 12}
PASSWORDS = {"fred": "wilma", "joe": "swordfish"}
SLOW_S = 0.02
"""A call that takes longer is worth a look."""


async def front(channel: Channel, requests: int) -> None:
    """Take requests; ask the others by events, and wait for their answers."""
    waiting: dict[str, asyncio.Future[Event]] = {}
    channel.subscribe(lambda event: waiting.pop(str(event.fields["re"])).set_result(event), "(= type 'answer)")
    trace = traced(channel)
    asked = 0

    async def ask(service: str, **fields: object) -> Event:
        nonlocal asked
        asked += 1
        number = f"q{asked}"
        answer = waiting[number] = asyncio.get_running_loop().create_future()
        channel.publish({"type": "ask", "of": service, "q": number, **fields})
        return await answer

    @trace
    async def serve(user: str, password: str, item: str) -> None:
        login = await ask("accounts", user=user, password=password)
        if login.fields["result"] != "welcome":
            return
        await ask("stock", user=user, item=item)

    for number in range(requests):
        user = ("fred", "joe", "fred", "mallory")[number % 4]
        with environment.attached(user=user, request=number):
            await serve(user, PASSWORDS.get(user, f"guess{number}"), ("pen", "book", "unicorn")[number % 3])


def answering(channel: Channel, service: str, answer: Callable[[Event], Awaitable[str]]) -> None:
    """Answer the questions to a service, within the environment in which they were asked."""
    tasks: set[asyncio.Task[None]] = set()

    async def reply(event: Event) -> None:
        with environment.attached(**event.environment):
            try:
                result = await answer(event)
            except LookupError as error:
                result = f"no such item: {error}"
            channel.publish({"type": "answer", "re": event.fields["q"], "result": result})

    def start(event: Event) -> None:
        task = asyncio.ensure_future(reply(event))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    channel.subscribe(start, f"(and (= type 'ask) (= of '{service}))")


def accounts(channel: Channel) -> None:
    """Says who is welcome."""

    @traced(channel)
    async def login(event: Event) -> str:
        user, password = str(event.fields["user"]), event.fields["password"]
        if PASSWORDS.get(user) != password:
            channel.publish({"type": "login refused", "user": user})
            return "refused"
        return "welcome"

    answering(channel, "accounts", login)


def stock(channel: Channel) -> None:
    """Sells what there is; books are far back in the store."""

    @traced(channel)
    async def find(item: str) -> int:
        if item == "book":
            await asyncio.sleep(2 * SLOW_S)
        return PRICES[item]

    @traced(channel)
    async def sell(event: Event) -> str:
        item = str(event.fields["item"])
        price = await find(item)
        channel.publish({"type": "sold", "user": event.fields["user"], "item": item, "price": price})
        return "sold"

    answering(channel, "stock", sell)


class Manager:
    """What the four kinds of management make of the events."""

    def __init__(self, channel: Channel) -> None:
        self.failed: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.slow: Counter[str] = Counter()
        self.owed: defaultdict[str, int] = defaultdict(int)
        self.calls: dict[str, tuple[str, str]] = {}
        """By their number: what was called, and the number of the caller."""
        self.served = 0
        channel.subscribe(self._diagnose, "(and (= type 'call) (exists failed))")
        channel.subscribe(self._detect, "(= type '|login refused|)", report="((who user))")
        channel.subscribe(self._analyse, f'(and (= type \'call) (> seconds {SLOW_S}) (suffix of ".find"))')
        channel.subscribe(self._account, "(= type 'sold)", report="(user (amount (* price 100)))")
        channel.subscribe(self._inspect, "(and (= type 'call) (exists (env request)))", report="(of call caller)")

    def _diagnose(self, event: Event) -> None:
        self.failed[f"{_short(event.fields['of'])}: {event.fields['failed']}"] += 1

    def _detect(self, event: Event) -> None:
        self.refused[str(event.fields["who"])] += 1

    def _analyse(self, event: Event) -> None:
        self.slow[_short(event.fields["of"])] += 1

    def _account(self, event: Event) -> None:
        self.owed[str(event.fields["user"])] += int(str(event.fields["amount"]))

    def _inspect(self, event: Event) -> None:
        name = _short(event.fields["of"])
        self.calls[str(event.fields["call"])] = name, str(event.fields.get("caller", ""))
        self.served += name == "serve"

    def report(self) -> str:
        """All of it, as text."""
        called: Counter[tuple[str, str]] = Counter()
        for name, caller in self.calls.values():
            called[self.calls.get(caller, ("nobody", ""))[0], name] += 1
        return "\n".join(
            [
                "fault diagnosis:",
                *(f"  {count} times {what}" for what, count in sorted(self.failed.items())),
                "intrusion detection:",
                *(f"  {who} was refused {count} times" for who, count in sorted(self.refused.items())),
                "performance analysis:",
                *(f"  {name} took long {count} times" for name, count in sorted(self.slow.items())),
                "accounting:",
                *(f"  {user} owes {cents / 100:.2f}" for user, cents in sorted(self.owed.items())),
                "who called whom:",
                *(f"  {one} called {other} {count} times" for (one, other), count in sorted(called.items())),
            ]
        )


def _short(name: object) -> str:
    return str(name).rpartition(".")[2]


async def process(name: str, ports: list[int], requests: int) -> None:
    """One process: its channel, linked with the two beside it in the circle."""
    channel, at = Channel(name), PROCESSES.index(name)
    manager = Manager(channel) if name == "manager" else None
    {"accounts": accounts, "stock": stock}.get(name, lambda channel: None)(channel)
    done = asyncio.Event()
    channel.subscribe(lambda event: done.set(), "(= type 'closing)")
    neighbours = [port for number, port in enumerate(ports) if number < at and number in ((at - 1) % 4, (at + 1) % 4)]
    async with Links(channel, listen=("127.0.0.1", ports[at]), to=[("127.0.0.1", port) for port in neighbours]) as links:
        await links.linked_with(2)
        await links.knows(3)
        if name == "front":
            await front(channel, requests)
            channel.publish({"type": "closing"})
        await done.wait()
        if manager is not None:
            print(manager.report(), flush=True)
        await links.all_taken()


async def run(requests: int) -> int:
    """Start the four processes and wait for them."""
    ports = _free_ports(len(PROCESSES))
    arguments = ["--ports", ",".join(map(str, ports)), "--requests", str(requests)]
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, __file__, "--process", name, *arguments) for name in PROCESSES
    ]
    return max([await each.wait() for each in processes])


def _free_ports(count: int) -> list[int]:
    import socket

    with socket.socket() as one, socket.socket() as two, socket.socket() as three, socket.socket() as four:
        for each in (one, two, three, four):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (one, two, three, four)][:count]


def main() -> None:
    """Run the application, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=60, help="how many requests the front end takes")
    parser.add_argument("--process", choices=PROCESSES, help=argparse.SUPPRESS)
    parser.add_argument("--ports", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.process:
        asyncio.run(process(given.process, [int(port) for port in given.ports.split(",")], given.requests))
    else:
        sys.exit(asyncio.run(run(given.requests)))


if __name__ == "__main__":
    main()
