"""What a session of the HTTP door sends of a subscription, at the pace of its client."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from gsg.http.session import ROWS_PER_MESSAGE, Session
from gsg.live import LiveSubscription
from gsg.quotas import Quotas
from gsg.rows import Row, Sign


class Door:
    """All that a session asks of its peer in these tests."""

    quotas = Quotas()


async def test_an_answer_whose_rest_came_and_went_while_the_client_was_slow_is_whole() -> None:
    async def nothing() -> None:
        return None

    session = Session(Door(), None)  # type: ignore[arg-type]  # nothing else of a peer, and no socket
    sent: list[str] = []
    begun, takes_more = asyncio.Event(), asyncio.Event()

    async def send(reply: Any) -> None:  # Any: whichever reply
        sent.append(type(reply).__name__)
        begun.set()
        await takes_more.wait()

    session._send = send  # type: ignore[method-assign]  # the client, who reads slowly
    live = LiveSubscription(("x",), rows_now=Counter, on_close=nothing, limit=ROWS_PER_MESSAGE)
    rows = [Row.of(("x",), (number,)) for number in range(5 * ROWS_PER_MESSAGE // 2)]
    live.deliver([(Sign.PLUS, row) for row in rows])
    async with asyncio.TaskGroup() as group:
        pumping = group.create_task(session._pump(1, live, live.pending))
        await begun.wait()
        for sign in (Sign.MINUS, Sign.PLUS, Sign.MINUS):
            live.deliver([(sign, row) for row in rows[ROWS_PER_MESSAGE:]])
        assert not live.pending

        takes_more.set()
        for _ in range(10):
            await asyncio.sleep(0)

        pumping.cancel()
    assert sent[-1] == "UpToDate"
