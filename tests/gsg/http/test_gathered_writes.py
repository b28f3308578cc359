"""What is written in one turn of the event loop goes out at once, in order, and before the transport closes."""

from __future__ import annotations

import asyncio

import pytest

from gsg.http.serving.gathered_writes import GatheredWrites


class Transport:
    """Notes what it is asked to do; two bytes of what was written are never taken."""

    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def get_write_buffer_size(self) -> int:
        return 2

    def is_closing(self) -> bool:
        return "close" in self.done or "abort" in self.done

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def gathered(transport: Transport) -> GatheredWrites:
    return GatheredWrites(transport)  # type: ignore[arg-type]  # as much of one as is used


async def test_writes_of_one_turn_are_one(transport: Transport, gathered: GatheredWrites) -> None:
    gathered.write(b"a")
    gathered.write(b"")
    gathered.write(b"b")
    waiting = gathered.get_write_buffer_size()
    await asyncio.sleep(0)
    gathered.write(b"c")
    await asyncio.sleep(0)

    assert (waiting, transport.done, gathered.get_write_buffer_size()) == (4, [b"ab", b"c"], 2)


async def test_what_is_too_much_for_a_turn_is_written_at_once(
    transport: Transport, gathered: GatheredWrites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsg.http.serving.gathered_writes.WRITE_BYTES", 3)
    for data in (b"ab", b"cd", b"e"):
        gathered.write(data)
    at_once = list(transport.done)
    await asyncio.sleep(0)

    assert (at_once, transport.done) == ([b"abcd"], [b"abcd", b"e"])


async def test_what_waits_is_written_before_the_transport_closes(transport: Transport, gathered: GatheredWrites) -> None:
    gathered.write(b"a")
    gathered.close()
    gathered.write(b"b")
    await asyncio.sleep(0)

    assert transport.done == [b"a", "close"]


async def test_what_waits_is_lost_with_a_transport_that_is_aborted(transport: Transport, gathered: GatheredWrites) -> None:
    gathered.write(b"a")
    gathered.abort()
    await asyncio.sleep(0)

    assert transport.done == ["abort"]
