"""Host names in messages: looked up once, forgotten after their time, and nobody's unknown names keep others waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from pedro_doors import doors
from pedro_wire import WireClient, close_all

from pedro_compat.door.host_names import HELD_HOSTS, KNOWN_S, LOOKUPS, LOOKUPS_OF_ADDRESS, MAX_NAME, UNKNOWN_S, HostNames

PATIENCE_S = 10.0


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


class Resolver:
    """The system's, as slow as a test wants: what is asked waits until it is let go."""

    def __init__(self, *, slow: bool = False) -> None:
        self.asked: list[str] = []
        self.addresses = {"kitchen": "192.0.2.7"}
        self._go = threading.Event()
        if not slow:
            self._go.set()

    def __call__(self, name: str) -> str | None:
        self.asked.append(name)
        self._go.wait(PATIENCE_S)
        return self.addresses.get(name)

    def let_go(self) -> None:
        self._go.set()


@asynccontextmanager
async def slow_resolver() -> AsyncIterator[Resolver]:
    resolver = Resolver(slow=True)
    try:
        yield resolver
    finally:
        resolver.let_go()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  # threads have no way of telling a test
            await asyncio.sleep(0)


async def test_name_is_looked_up_once_and_then_known() -> None:
    resolver = Resolver()
    hosts = HostNames(lambda: 0.0, resolver)

    found = [await hosts.resolve("kitchen", "c"), await hosts.resolve("kitchen", "d"), await hosts.resolve("nobody", "c")]

    assert found == ["192.0.2.7", "192.0.2.7", None]
    assert resolver.asked == ["kitchen", "nobody"]
    known = [hosts.known_address(name) for name in ("kitchen", "nobody", "hall")]
    assert known == [(True, "192.0.2.7"), (True, None), (False, None)]
    assert hosts.unknown == 1


@pytest.mark.parametrize(("name", "lifetime_s"), [("kitchen", KNOWN_S), ("nobody", UNKNOWN_S)])
async def test_what_was_found_is_forgotten_after_its_time(name: str, lifetime_s: float) -> None:
    now_s = 100.0
    hosts = HostNames(lambda: now_s, Resolver())
    await hosts.resolve(name, "c")

    now_s += lifetime_s - 1
    before = hosts.known_address(name)[0]
    now_s += 1

    assert (before, hosts.known_address(name)[0]) == (True, False)


@pytest.mark.parametrize("name", ["127.0.0.1", "192.0.2.255", "x" * (MAX_NAME + 1)], ids=["loopback", "address", "too-long"])
async def test_what_needs_no_look_up_gets_none(name: str) -> None:
    resolver = Resolver()

    address = await HostNames(lambda: 0.0, resolver).resolve(name, "c")

    assert (address, resolver.asked) == (name if len(name) <= MAX_NAME else None, [])


async def test_remembered_names_are_bounded_and_the_oldest_goes() -> None:
    hosts = HostNames(lambda: 0.0, Resolver())

    for number in range(HELD_HOSTS + 10):
        hosts._remember(f"h{number}", None)

    assert [hosts.known_address(f"h{number}")[0] for number in (9, 10, HELD_HOSTS + 9)] == [False, True, True]
    assert len(hosts._known) == HELD_HOSTS


async def test_many_who_ask_for_one_name_cost_one_look_up() -> None:
    async with slow_resolver() as resolver, asyncio.TaskGroup() as group:
        hosts = HostNames(lambda: 0.0, resolver)
        asking = [group.create_task(hosts.resolve("kitchen", f"c{number}")) for number in range(100)]
        await until(lambda: bool(resolver.asked))
        resolver.let_go()

    assert [task.result() for task in asking] == ["192.0.2.7"] * 100
    assert resolver.asked == ["kitchen"]


async def test_clients_at_one_address_leave_room_for_those_at_others() -> None:
    async with slow_resolver() as resolver, asyncio.TaskGroup() as group:
        hosts = HostNames(lambda: 0.0, resolver)
        hostile = [group.create_task(hosts.resolve(f"nobody{number}", "hostile")) for number in range(100)]
        await until(lambda: len(resolver.asked) == LOOKUPS_OF_ADDRESS)

        other = group.create_task(hosts.resolve("kitchen", "other"))
        await until(lambda: "kitchen" in resolver.asked)

        assert resolver.asked == [*(f"nobody{number}" for number in range(LOOKUPS_OF_ADDRESS)), "kitchen"]
        resolver.let_go()

    assert other.result() == "192.0.2.7"
    assert [task.result() for task in hostile] == [None] * 100
    assert (hosts._places_of, hosts._under_way) == ({}, {})


async def test_lookups_are_bounded_together() -> None:
    async with slow_resolver() as resolver, asyncio.TaskGroup() as group:
        hosts = HostNames(lambda: 0.0, resolver)
        asking = [group.create_task(hosts.resolve(f"nobody{number}", f"c{number}")) for number in range(3 * LOOKUPS)]
        await until(lambda: len(resolver.asked) == LOOKUPS)
        for _ in range(100):
            await asyncio.sleep(0)

        assert len(resolver.asked) == LOOKUPS
        resolver.let_go()

    assert len(asking) == len(resolver.asked)


async def test_name_that_is_not_found_in_time_has_no_address_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.host_names.PATIENCE_S", 0.01)
    async with slow_resolver() as resolver:
        hosts = HostNames(lambda: 0.0, resolver)

        in_time = await hosts.resolve("kitchen", "c")
        known = hosts.known_address("kitchen")
        resolver.let_go()
        await until(lambda: hosts.known_address("kitchen") == (True, "192.0.2.7"))

    assert (in_time, known, hosts.unknown) == (None, (True, None), 1)


async def test_waiting_for_a_place_in_vain_says_nothing_about_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.host_names.PATIENCE_S", 0.05)
    async with slow_resolver() as resolver, asyncio.TaskGroup() as group:
        hosts = HostNames(lambda: 0.0, resolver)
        for number in range(LOOKUPS_OF_ADDRESS):
            group.create_task(hosts.resolve(f"nobody{number}", "hostile"))
        await until(lambda: len(resolver.asked) == LOOKUPS_OF_ADDRESS)

        in_vain = await hosts.resolve("kitchen", "hostile")

        assert (in_vain, hosts.known_address("kitchen")) == (None, (False, None))
        assert "kitchen" not in resolver.asked


async def test_message_to_a_host_that_takes_long_keeps_no_other_message_waiting() -> None:
    async with slow_resolver() as resolver, doors(1) as [(_, door)]:
        door.hosts._ask = resolver
        slow, other = await WireClient.connect(door.port), await WireClient.connect(door.port, "127.0.0.2")
        for client, name, host in ((slow, "slow", "127.0.0.1"), (other, "other", "127.0.0.2")):
            await client.send(f"register({name})")
            assert await client.send(f"p2pmsg({name}@'{host}', {name}@'{host}', hello)") == 1
        await asyncio.get_running_loop().sock_sendall(
            slow.data, b"".join(b"p2pmsg(a@nobody%d, slow@'127.0.0.1', m)\n" % number for number in range(100))
        )
        await until(lambda: bool(resolver.asked))

        answer = await other.send("p2pmsg(slow@'127.0.0.1', other@'127.0.0.2', now)")

        assert (answer, resolver.asked) == (1, ["nobody0"])
        resolver.let_go()
        assert await slow.send_raw(b"", 100) == [1] * 100
        assert slow.delivered()[-1] == "0 p2pmsg(slow@'127.0.0.1', other@'127.0.0.2', now)"
