"""Names that no name server answers for: they hold up nobody, and nobody waits for them in the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from random import Random
from threading import BoundedSemaphore, Event
from typing import Any

import pytest

from dht import JoinFailed, Overlay, random_id, resolving
from dht.overlay import joining
from dht.resolving import resolve

SILENT = "seed.example.org"


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The system's resolver, which says nothing of names; those that were asked for."""
    over, asked, ask = Event(), list[str](), socket.getaddrinfo

    def getaddrinfo(host: str, port: int, **how: Any) -> Any:  # Any: as the socket module has it
        if how.get("flags") == socket.AI_NUMERICHOST or host != SILENT:
            return ask(host, port, **how)
        asked.append(host)
        over.wait()
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield asked
    over.set()


def overlay(seed: int) -> Overlay:
    rng = Random(seed)
    return Overlay(random_id(rng), "127.0.0.1", 0, rng=rng)


async def test_a_literal_is_its_own_address_and_a_name_has_the_ones_that_the_system_knows() -> None:
    assert await resolve("127.0.0.1", 7400) == [("127.0.0.1", 7400)]
    assert await resolve("::1", 7400) == [("::1", 7400)]
    assert ("127.0.0.1", 7400) in await resolve("localhost", 7400, family=socket.AF_INET)


async def test_a_name_that_there_is_not_or_that_cannot_be_one_is_told() -> None:
    with pytest.raises(OSError, match=r"."):
        await resolve("nowhere.invalid", 7400)
    with pytest.raises(OSError, match="no name of a host"):
        await resolve("a" * 64 + ".example", 7400)


async def test_who_joins_by_a_silent_name_and_a_peer_is_in_by_the_peer(silent: list[str]) -> None:
    async with overlay(1) as first, overlay(2) as second:
        await second.join([(SILENT, 7400), first.contact.address])

        assert silent == [SILENT]
        assert second.contacts() == [first.contact]
        # It is called at later.
        assert (SILENT, 7400) in second._joining.book.addresses()


async def test_a_silent_name_alone_is_waited_for_as_long_as_a_silent_peer(
    silent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "PATIENCE_S", 0.05)
    async with overlay(2) as second:
        with pytest.raises(JoinFailed, match=rf"{SILENT}:7400 \(the name server does not answer\)"):
            await second.join([(SILENT, 7400)])


async def test_so_many_names_are_looked_up_at_once_and_one_more_fails_at_once(
    silent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "_places", BoundedSemaphore(1))
    first = asyncio.create_task(resolve(SILENT, 1))
    await asyncio.sleep(0)

    with pytest.raises(OSError, match="other names are being looked up"):
        await resolve(SILENT, 2)

    first.cancel()


def test_the_loop_ends_while_a_name_is_looked_up(silent: list[str]) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await resolve(SILENT, 7400)

    # It would wait for its executor's threads, and so for ever here.
    asyncio.run(main())

    assert silent == [SILENT]
