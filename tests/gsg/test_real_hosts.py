"""Five hosts in network namespaces: one far away on a bad line, one cut off for a while. Their TCP and UDP are the kernel's."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
from hosts import LACKING, PATIENCE_S, Host, hosts

from gsg import Peer, Space, Symbol
from gsg.languages.rows import Row

pytestmark = pytest.mark.waits

ON = Symbol("on")
PAIRS = "(?x, on, ?y), (?y, on, ?z)"


@pytest.fixture
async def five() -> AsyncIterator[list[Host]]:
    """Hosts that know each other; skipped where this process may not make any."""
    try:
        async with hosts(5, seed=1) as made:
            yield made
    except OSError as error:
        if error.errno not in LACKING:
            raise
        pytest.skip(f"{error.strerror}; run as root on Linux")


async def until(host: Host, holds: Callable[[Peer], bool]) -> None:
    """Ask a host's peer until it is so."""

    async def ask(peer: Peer) -> bool:
        return holds(peer)

    async with asyncio.timeout(PATIENCE_S):
        while not await host.ask(ask):  # noqa: ASYNC110  # of another thread, which tells of no such event
            await asyncio.sleep(0.05)


def knows(count: int) -> Callable[[Peer], bool]:
    """Whether a peer knows so many, itself included."""
    return lambda peer: len(peer._parts.holders.everybody()) == count


def answer(facts: set[tuple[object, ...]]) -> Counter[Row]:
    with Space() as space:
        space.insert(facts)
        with space.subscribe(PAIRS) as subscription:
            return subscription.rows()


def chain(name: str, length: int) -> set[tuple[object, ...]]:
    return {(f"{name}{number}", ON, f"{name}{number + 1}") for number in range(length)}


async def test_a_far_host_and_one_that_was_cut_off_hold_the_answer(five: list[Host]) -> None:
    near, *_, far, lonely = five
    far.loss, far.delay_s = 0.05, 0.05
    for host in five:
        await until(host, knows(5))
    readers = {host: await host.ask(lambda peer: peer.subscribe(PAIRS)) for host in five}

    async def all_hold(expected: Counter[Row], there: list[Host]) -> None:
        for host in there:
            reader = readers[host]
            await until(host, lambda peer, reader=reader: reader.rows() == expected)  # type: ignore[misc]  # bound now

    before, apart, alone = chain("before", 100), chain("apart", 100), chain("alone", 10)
    for host, part in ((near, before), (far, chain("far", 100))):
        await host.ask(lambda peer, part=part: peer.insert(part))  # type: ignore[misc]  # bound now
    await all_hold(answer(before | chain("far", 100)), five)

    lonely.is_partial = True
    for host in five:
        await until(host, knows(1 if host is lonely else 4))
    await asyncio.gather(
        near.ask(lambda peer: peer.retract(before)),
        far.ask(lambda peer: peer.insert(apart)),
        lonely.ask(lambda peer: peer.insert(alone)),
    )
    await all_hold(answer(chain("far", 100) | apart), five[:-1])

    lonely.is_partial = False
    await all_hold(answer(chain("far", 100) | apart | alone), five)
    assert far.lost > 0
