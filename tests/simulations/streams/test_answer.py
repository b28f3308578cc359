"""Who reads rows as messages bring them: an answer that is asked for once, and changes that wait for a disk."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from scripted_peer import scripted

from gsg.errors import PeerUnreachable, Reconnected
from gsg.http.protocol import Reply, Request, Subscribed
from simulations.streams import answer, receiver
from simulations.streams.answer import _SnapshotReader, answer_of
from simulations.streams.receiver import _Inbox
from simulations.streams.row_schema import segment_schema
from simulations.streams.source_options import source_options

COLUMNS = [("x", "string")]
SCHEMA = segment_schema(COLUMNS)


async def answered_and_begun_again() -> list[str]:
    reader = _SnapshotReader(COLUMNS, "plain", SCHEMA)
    reader.begin(("x",), None)
    reader.receive_rows([1, 1], [("a",), ("b",)])
    reader.complete()
    reader.begin(("x",), Reconnected("another peer", lost_url="http://a", url="http://b"))
    reader.receive_rows([1], [("c",)])
    await reader.answered
    return [text for batch in reader.batches for text in batch.column(0).to_pylist()]


def test_another_peer_that_begins_to_tell_takes_nothing_of_a_complete_answer() -> None:
    assert asyncio.run(answered_and_begun_again()) == ["a", "b"]


async def test_a_peer_that_is_lost_before_its_answer_is_complete_is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer, "RECONNECT_S", 0.0)

    def lost(at: int, request: Request) -> list[Reply]:
        asyncio.get_running_loop().call_soon(peer.cut, at)
        return [Subscribed(request.request, ("x",))]

    async with scripted(lost) as peer:
        options = source_options({"peers": peer.url, "query": "(?x, ^on)"}, stream=False)

        with pytest.raises(PeerUnreachable, match=r"is lost .*; tried for \d"):
            await asyncio.to_thread(answer_of, options, COLUMNS, SCHEMA)


def test_changes_of_one_row_that_wait_are_bounded_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "WAITING_BYTES", 10 * receiver.BATCH_BYTES)
    overflows: list[str] = []
    inbox = _Inbox(COLUMNS, "plain", SCHEMA, lambda: datetime.now(UTC), lambda: overflows.append("overflow"))
    inbox.begin(("x",), None)
    inbox.complete()

    for _ in range(11):
        inbox.receive_rows([1], [("a",)])

    assert inbox.overflowed
    assert overflows == ["overflow"]


def test_what_was_taken_makes_room_for_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "WAITING_BYTES", 2 * receiver.BATCH_BYTES)
    inbox = _Inbox(COLUMNS, "plain", SCHEMA, lambda: datetime.now(UTC), lambda: None)
    inbox.begin(("x",), None)

    for _ in range(20):
        inbox.receive_rows([1], [("a",)])
        inbox.complete()
        while inbox.take_next() is not None:
            pass

    assert not inbox.overflowed
