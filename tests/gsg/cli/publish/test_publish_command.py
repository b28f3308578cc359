"""What `gsg publish` does with requests that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gsg.cli.publish import BATCH, _in_order
from gsg.cli.publish.pipes import Batch
from gsg.cli.publish.progress import PublishProgress
from gsg.tuples.terms import Tuple


async def test_ctrl_c_while_the_last_answers_are_awaited_leaves_no_request_behind() -> None:
    all_sent = asyncio.Event()
    requests: list[asyncio.Task[object] | None] = []

    async def batches() -> AsyncIterator[Batch]:
        for number in range(3):
            yield Batch("insert", [(number,)] * BATCH)
        all_sent.set()

    async def send(batch: list[Tuple]) -> None:
        requests.append(asyncio.current_task())
        await asyncio.Event().wait()

    publishing = asyncio.create_task(_in_order(batches(), {"insert": send}, PublishProgress(["f"], quiet=True)))
    await all_sent.wait()
    await asyncio.sleep(0)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing

    assert [request is not None and request.cancelled() for request in requests] == [True] * 3
