"""What a session of the HTTP door sends of a subscription, at the pace of its client."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from doors import DECODE

from gsg.errors import TooLarge
from gsg.http.access.principals import ANYBODY
from gsg.http.protocol import BYTES_PER_MESSAGE, MAX_MESSAGE_BYTES, Drawing, Ended, Failed, Reply, Rows, UpToDate
from gsg.http.websocket.channel_subscription import PeerChannel
from gsg.http.websocket.sending import Sender
from gsg.http.websocket.session import ROWS_PER_MESSAGE, Session
from gsg.languages.rows import Row, Sign
from gsg.quotas import Quotas
from gsg.subscriptions.live import LiveSubscription


class Door:
    """All that a session asks of its peer in these tests."""

    quotas = Quotas()

    def caller(self) -> None:
        """No facts are told to it."""


class SlowClient:
    """A WebSocket whose client reads no more than one message before it is told to."""

    def __init__(self) -> None:
        self.sent: list[Reply] = []
        self.begun = asyncio.Event()
        self.takes_more = asyncio.Event()

    async def send_bytes(self, message: bytes) -> None:
        self.sent.append(DECODE(message))
        self.begun.set()
        await self.takes_more.wait()


class NoRows:
    """The source of a subscription that the test feeds by itself."""

    def rows_now(self) -> Counter[Row]:
        return Counter()

    async def close(self) -> None:
        pass

    def end_unread(self) -> None:
        pass


def subscription(*names: str) -> LiveSubscription:
    """One that somebody else feeds."""
    return LiveSubscription(names, NoRows(), limit=ROWS_PER_MESSAGE)


async def test_an_answer_whose_rest_came_and_went_while_the_client_was_slow_is_whole() -> None:
    client: Any = SlowClient()
    session = Session(Door(), client, channel=PeerChannel(Door()), principal=ANYBODY)  # type: ignore[arg-type]  # nothing else of a peer
    live = subscription("x")
    rows = [Row.of(("x",), (number,)) for number in range(5 * ROWS_PER_MESSAGE // 2)]
    live.deliver([(Sign.PLUS, row) for row in rows])
    async with asyncio.TaskGroup() as group:
        pumping = group.create_task(session._pump(1, live, live.pending))
        await client.begun.wait()
        for sign in (Sign.MINUS, Sign.PLUS, Sign.MINUS):
            live.deliver([(sign, row) for row in rows[ROWS_PER_MESSAGE:]])
        assert not live.pending

        client.takes_more.set()
        for _ in range(10):
            await asyncio.sleep(0)

        pumping.cancel()
    assert client.sent[-1] == UpToDate(1)


async def test_rows_that_a_client_does_not_read_stay_in_their_bounded_backlogs() -> None:
    client: Any = SlowClient()
    session = Session(Door(), client, channel=PeerChannel(Door()), principal=ANYBODY)  # type: ignore[arg-type]  # nothing else of a peer
    lives = [subscription("x") for _ in range(10)]
    async with asyncio.TaskGroup() as group:
        pumping = [group.create_task(session._pump(number, live, 0)) for number, live in enumerate(lives)]
        await client.begun.wait()
        for live in lives:
            live.deliver([(Sign.EVENT, Row.of(("x",), (f"{number}" + "x" * (BYTES_PER_MESSAGE // 4),))) for number in range(10)])
        for _ in range(10):
            await asyncio.sleep(0)

        assert [live.pending for live in lives] == [10] * 10

        client.takes_more.set()
        for _ in range(300):
            await asyncio.sleep(0)
        for task in pumping:
            task.cancel()
    told = [message for message in client.sent if isinstance(message, Rows)]
    assert sum(len(message.signs) for message in told) == 100
    assert max(len(message.signs) for message in told) == 3


async def test_a_row_that_fits_into_no_message_ends_its_subscription_after_those_before_it() -> None:
    client: Any = SlowClient()
    client.takes_more.set()
    session = Session(Door(), client, channel=PeerChannel(Door()), principal=ANYBODY)  # type: ignore[arg-type]  # nothing else of a peer
    live = subscription("x", "y")
    live.deliver([(Sign.PLUS, Row.of(("x", "y"), ("short", 1))), (Sign.PLUS, Row.of(("x", "y"), ("l" * MAX_MESSAGE_BYTES, 1)))])

    await session._pump(3, live, live.pending)

    *rows, ended = client.sent
    assert rows == [Rows(3, [1], [("short", 1)])]
    assert isinstance(ended, Ended)
    assert ended.why.kind == "TooLarge"
    assert ended.why.problem == (
        "the subscription has ended because of a row of 16,777,223 bytes in 2 values; expected at most 16,776,192, what a message "
        "may have: subscribe to fewer of its names, or publish references to what is long"
    )
    assert live.has_ended


async def test_an_answer_that_fits_into_no_message_fails_and_says_how_long_it_is() -> None:
    client: Any = SlowClient()
    client.takes_more.set()
    await Sender(client).send(Drawing(5, "s" * MAX_MESSAGE_BYTES))

    (failed,) = client.sent
    assert isinstance(failed, Failed)
    assert (failed.request, failed.kind) == (5, TooLarge.__name__)
    assert failed.problem == "the answer has 16,777,224 bytes; expected at most 16,777,216: ask for less of it"
