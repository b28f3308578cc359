"""An answer that is asked for once stays as it was told, whatever the client meets while it is closed."""

from __future__ import annotations

import asyncio

from gsg.errors import Reconnected
from simulations.streams.answer import _SnapshotReader
from simulations.streams.row_schema import segment_schema

COLUMNS = [("x", "string")]


async def answered_and_begun_again() -> list[str]:
    reader = _SnapshotReader(COLUMNS, "plain", segment_schema(COLUMNS))
    reader.begin(("x",), None)
    reader.receive_rows([1, 1], [("a",), ("b",)])
    reader.complete()
    reader.begin(("x",), Reconnected("another peer", lost_url="http://a", url="http://b"))
    reader.receive_rows([1], [("c",)])
    await reader.answered
    return [text for batch in reader.batches for text in batch.column(0).to_pylist()]


def test_another_peer_that_begins_to_tell_takes_nothing_of_a_complete_answer() -> None:
    assert asyncio.run(answered_and_begun_again()) == ["a", "b"]
