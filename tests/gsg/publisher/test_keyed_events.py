"""Events with keys: told once, whoever asks again, and whatever fails in between."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

import gsg.publisher.keyed_events as keyed_module
from gsg import LocalError, Refused
from gsg.publisher.keyed_events import KeyedEvents
from gsg.storage.disk.event_keys_file import EventKeysFile
from gsg.storage.event_keys import EventsHash, KeyRecord, record_of


def asked(key: str, *events: int) -> KeyRecord:
    return record_of("", key, EventsHash((number,) for number in events or (1,)), None, 0)


class Teller:
    """Tells events when it may, and fails when it is to."""

    def __init__(self) -> None:
        self.told = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.failures: list[Exception] = []

    async def send(self) -> int:
        await self.may_go_on.wait()
        if self.failures:
            raise self.failures.pop()
        self.told += 1
        return 1


@pytest.fixture
async def teller() -> Teller:
    return Teller()


async def test_what_was_told_is_acknowledged_again_and_not_told(teller: Teller) -> None:
    keyed = KeyedEvents()

    counts = [await keyed.publish(asked(key), teller.send) for key in ("a", "a", "b", "a")]

    assert (counts, teller.told) == ([1, 1, 1, 1], 2)


async def test_whoever_asks_while_it_is_under_way_waits_for_that(teller: Teller) -> None:
    keyed = KeyedEvents()
    teller.may_go_on.clear()
    calls = [asyncio.create_task(keyed.publish(asked("a"), teller.send)) for _ in range(3)]
    await asyncio.sleep(0)

    teller.may_go_on.set()

    assert (await asyncio.gather(*calls), teller.told) == ([1, 1, 1], 1)


async def test_what_failed_is_told_by_whoever_asks_again(teller: Teller) -> None:
    keyed = KeyedEvents()
    teller.may_go_on.clear()
    teller.failures = [Refused("no room")]
    first, second = (asyncio.create_task(keyed.publish(asked("a"), teller.send)) for _ in range(2))
    await asyncio.sleep(0)

    teller.may_go_on.set()

    with pytest.raises(Refused, match="no room"):
        await first
    assert (await second, teller.told) == (1, 1)


async def test_what_was_given_up_is_told_by_whoever_asks_again(teller: Teller) -> None:
    keyed = KeyedEvents()
    teller.may_go_on.clear()
    first, second = (asyncio.create_task(keyed.publish(asked("a"), teller.send)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])

    teller.may_go_on.set()

    assert (await second, teller.told) == (1, 1)


async def test_other_events_under_the_same_key_are_refused(teller: Teller) -> None:
    keyed = KeyedEvents()
    await keyed.publish(asked("a", 1), teller.send)

    with pytest.raises(LocalError, match="was used for others"):
        await keyed.publish(asked("a", 2), teller.send)


async def test_a_peer_that_is_started_again_knows_what_it_has_acknowledged(teller: Teller, tmp_path: Path) -> None:
    keyed = KeyedEvents(tmp_path)
    await asyncio.gather(*(keyed.publish(asked(f"{number}"), teller.send) for number in range(20)))

    again = KeyedEvents(tmp_path)
    await asyncio.gather(*(again.publish(asked(f"{number}"), teller.send) for number in range(21)))

    assert teller.told == 21


async def test_others_have_their_turn_while_a_long_file_is_read(
    teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [KeyRecord(b"o" * 8, number.to_bytes(16), b"e" * 8, 1, 0) for number in range(120_000)]
    monkeypatch.setattr(EventKeysFile, "read", lambda _: records)
    call = asyncio.create_task(KeyedEvents(tmp_path).publish(asked("a"), teller.send))

    # Of this thread's processor: what else the machine does is not counted.
    turns_s = [time.thread_time()]
    while not call.done():
        await asyncio.sleep(0)
        turns_s.append(time.thread_time())

    assert await call == 1
    assert max(after - before for before, after in pairwise(turns_s)) < 0.1


async def test_what_was_written_for_whoever_has_gone_is_known(
    teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, begun, may_go_on = EventKeysFile.append, asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(self: EventKeysFile, records: list[bytes]) -> bool:
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait(10)
        return append(self, records)

    monkeypatch.setattr(EventKeysFile, "append", slow)
    keyed = KeyedEvents(tmp_path)
    calls = [asyncio.create_task(keyed.publish(asked(key), teller.send)) for key in ("first", "with it", "gone")]
    await begun.wait()
    may_go_on.set()
    await calls[0]
    begun.clear()
    may_go_on.clear()
    await begun.wait()
    calls[2].cancel()
    await asyncio.wait([calls[2]])
    may_go_on.set()
    await calls[1]

    assert await keyed.publish(asked("gone"), teller.send) == 1
    assert teller.told == 3


async def test_keys_that_come_together_go_to_the_disk_together(
    teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    append = EventKeysFile.append

    def counting(self: EventKeysFile, records: list[bytes]) -> bool:
        written.append(len(records))
        return append(self, records)

    monkeypatch.setattr(EventKeysFile, "append", counting)
    keyed = KeyedEvents(tmp_path)

    await asyncio.gather(*(keyed.publish(asked(f"{number}"), teller.send) for number in range(20)))

    assert sum(written) == 20
    assert len(written) < 20


async def test_a_disk_that_fails_is_said_and_the_key_is_not_known(
    teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed = KeyedEvents(tmp_path)

    def fail(_: EventKeysFile, records: list[bytes]) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(EventKeysFile, "append", fail)
        with pytest.raises(Refused, match=r"its disk failed \(no space left on device at .*\): the events were told"):
            await keyed.publish(asked("a"), teller.send)
    await keyed.publish(asked("a"), teller.send)

    assert teller.told == 2


async def test_a_file_that_cannot_be_read_is_said_before_anything_is_told(teller: Teller, tmp_path: Path) -> None:
    (tmp_path / "event_keys").mkdir()

    with pytest.raises(Refused, match=r"its disk failed \(is a directory at .*\): no events with keys are taken"):
        await KeyedEvents(tmp_path).publish(asked("a"), teller.send)
    assert teller.told == 0


async def test_a_file_that_cannot_be_read_at_the_start_is_said_and_read_when_it_can(
    teller: Teller, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await KeyedEvents(tmp_path).publish(asked("a"), teller.send)
    (tmp_path / "event_keys").rename(tmp_path / "away")
    (tmp_path / "event_keys").mkdir()
    keyed = KeyedEvents(tmp_path)

    await keyed.read()
    (tmp_path / "event_keys").rmdir()
    (tmp_path / "away").rename(tmp_path / "event_keys")

    assert "no events with keys are taken, until it can be read" in caplog.text
    assert await keyed.publish(asked("a"), teller.send) == 1
    assert teller.told == 1


async def test_a_file_that_is_long_has_what_is_known_alone(teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.storage.event_keys.KEYS_OF_ONE", 4)
    monkeypatch.setattr("gsg.storage.disk.event_keys_file.REWRITE", 8)
    keyed = KeyedEvents(tmp_path)

    for number in range(30):
        await keyed.publish(asked(f"{number}"), teller.send)

    assert len(EventKeysFile(tmp_path / "event_keys").read()) < 8
    again = KeyedEvents(tmp_path)
    for number in range(26, 30):
        await again.publish(asked(f"{number}"), teller.send)
    assert teller.told == 30


async def test_a_file_that_cannot_be_written_anew_is_logged_and_as_good(
    teller: Teller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: EventKeysFile, records: list[bytes]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gsg.storage.disk.event_keys_file.REWRITE", 2)
    monkeypatch.setattr(keyed_module.EventKeysFile, "write_anew", fail)
    keyed = KeyedEvents(tmp_path)

    for number in range(3):
        await keyed.publish(asked(f"{number}"), teller.send)

    assert "could not be written anew: no space left on device" in caplog.text
    assert len(EventKeysFile(tmp_path / "event_keys").read()) == 3
