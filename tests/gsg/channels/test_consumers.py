"""Log files, tables and streams."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

from gsg.channels.channel import Channel
from gsg.channels.consumers import LogFile, Stream, Table, Unread
from gsg.channels.events import Event
from gsg.errors import LocalError, Overrun


def test_a_log_file_has_a_line_for_each_event_and_rotates(tmp_path) -> None:
    channel, log = Channel(), LogFile(tmp_path / "events.log", max_bytes=200, kept=1)
    channel.subscribe(log, "true")

    for number in range(5):
        channel.publish({"text": "100 %s", "n": number})
    log.close()

    lines = [json.loads(line) for name in ("events.log.1", "events.log") for line in (tmp_path / name).read_text().splitlines()]
    assert [line["event"]["n"] for line in lines] == [line["number"] - 1 for line in lines]
    assert lines[-1]["event"] == {"text": "100 %s", "n": 4}
    assert len(lines) < 5


def test_a_table_has_each_event_once(tmp_path) -> None:
    channel, table = Channel(), Table(tmp_path / "events.db", "the table")
    channel.subscribe(table, "true")
    channel.subscribe(table, "(exists n)")

    channel.publish({"n": 1, "kind": "x"})
    table.close()

    with contextlib.closing(sqlite3.connect(tmp_path / "events.db")) as database:
        found = database.execute("""SELECT json_extract(event, '$.kind') FROM "the table" """).fetchall()
    assert found == [("x",)]


async def test_a_stream_ends_when_it_is_closed() -> None:
    channel, stream = Channel(), Stream()
    channel.subscribe(stream, "true")
    channel.publish({"n": 1})
    channel.publish({"n": 2})
    stream.close()

    assert [event.fields["n"] async for event in stream] == [1, 2]


async def test_a_stream_that_is_read_too_slowly_is_told_how_much_is_lost() -> None:
    channel, stream = Channel(), Stream(limit=2)
    channel.subscribe(stream, "true")
    for number in range(5):
        channel.publish({"n": number})
    found = []

    with pytest.raises(Overrun) as overrun:
        found += [event.fields["n"] async for event in stream]

    assert overrun.value.lost == 3


async def test_a_stream_may_drop_its_oldest() -> None:
    channel, stream = Channel(), Stream(limit=2, overflow="drop_oldest")
    channel.subscribe(stream, "true")
    for number in range(5):
        channel.publish({"n": number})
    stream.close()

    assert ([event.fields["n"] async for event in stream], stream.dropped) == ([3, 4], 3)


def test_a_stream_that_cannot_be_is_refused() -> None:
    with pytest.raises(LocalError, match="expected at least 1"):
        Stream(limit=0)


async def test_a_stream_keeps_a_bounded_number_of_characters(monkeypatch) -> None:
    monkeypatch.setattr("gsg.channels.consumers.UNREAD_CHARACTERS", 1_000)
    stream = Stream(overflow="drop_oldest")
    for number in range(5):
        stream.publish(Event({"n": number, "text": "x" * 400}))
    stream.close()

    assert [event.fields["n"] async for event in stream] == [3, 4]


def test_a_log_file_that_cannot_be_written_is_a_failure_of_its_consumer(tmp_path) -> None:
    channel, log = Channel(), LogFile(tmp_path / "events.log")
    ticket = channel.subscribe(log, "true")
    log._handler.stream.close()

    channel.publish({"n": 1})

    assert ticket.failed == 1


async def test_what_streams_hold_together_is_charged_to_the_largest() -> None:
    together = Unread(1_000)
    slow, quick = Stream(overflow="drop_oldest", together=together), Stream(together=together)
    for number in range(3):
        slow.publish(Event({"n": number, "text": "x" * 400}))
    quick.publish(Event({"n": 7, "text": "x" * 300}))
    slow.close()
    quick.close()

    assert [event.fields["n"] async for event in quick] == [7]
    assert [event.fields["n"] async for event in slow] == [2]
    assert (together.characters, together.streams) == (0, set())
