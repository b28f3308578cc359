"""The client for programs without ``async``, against a real peer in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import gsg
from gsg import Client, ConnectionState, Row, Sign, Symbol
from gsg.http.door import HttpDoor

PATIENCE_S = 20.0


class Served:
    """Doors of one peer, in a thread."""

    def __init__(self) -> None:
        self.url = ""
        self.others: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doors: list[HttpDoor] = []
        self._stop: asyncio.Event | None = None

    async def serve(self, started: Future[None]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with gsg.Peer() as peer, HttpDoor(peer, port=0) as door, HttpDoor(peer, port=0) as other:
            self._doors, self.url, self.others = [door, other], door.url, [other.url]
            started.set_result(None)
            await self._stop.wait()

    def close_door(self) -> None:
        """As if the peer at the first door were lost."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._doors[0].__aexit__(None, None, None), self._loop).result(PATIENCE_S)

    def end(self) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)


@pytest.fixture
def served() -> Iterator[Served]:
    made, started = Served(), Future[None]()
    thread = threading.Thread(target=lambda: asyncio.run(made.serve(started)))
    thread.start()
    started.result(PATIENCE_S)
    yield made
    made.end()
    thread.join()


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(served.url) as made:
        yield made


def test_it_has_the_verbs_of_the_other_one(client: Client) -> None:
    assert client.insert([("lamp", Symbol("is"), "on"), ("door", Symbol("is"), "shut")]) == 2
    assert client.retract([("door", Symbol("is"), "shut")]) == 1
    client.notify([("bell", Symbol("rang"))])
    [subscription] = client.run("SUBSCRIBE { (?what, is, ?how) }")

    assert subscription.rows() == Counter({Row({"what": "lamp", "how": "on"}): 1})
    assert subscription.variables == ("what", "how")
    assert client.explain("(?what, is, ?how)").steps
    assert [holding.number for holding in client.subscriptions()] == [subscription.number]
    assert "lamp" in str(client.why(subscription.number, {"what": "lamp"}))
    assert client.report().peers[0].published
    assert client.state is ConnectionState.CONNECTED
    assert client.url.startswith("http://127.0.0.1:")


def test_rows_are_iterated_over_until_the_subscription_is_closed(client: Client) -> None:
    client.insert([("a",), ("b",)])
    with client.subscribe("(?x)") as subscription:
        iterated = iter(subscription)
        assert {next(iterated)[1]["x"], next(iterated)[1]["x"]} == {"a", "b"}
        client.retract([("a",)])
        assert next(iterated) == (Sign.MINUS, Row({"x": "a"}))
        assert subscription.pending == 0

    assert list(subscription) == []


def test_a_batch_that_does_not_come_in_time_raises_and_loses_nothing(client: Client) -> None:
    subscription = client.subscribe("(?x)")

    with pytest.raises(TimeoutError):
        subscription.batch(10, timeout_s=0.01)
    client.insert([("a",)])

    assert subscription.batch(10, PATIENCE_S) == [(Sign.PLUS, Row({"x": "a"}))]


def test_a_callback_may_call_verbs_itself(client: Client) -> None:
    heard = threading.Event()
    threads: set[str] = set()

    def answer(sign: Sign, row: Row) -> None:
        threads.add(threading.current_thread().name)
        if row["x"] == "ask":
            client.insert([("answer",)])
        else:
            heard.set()

    client.subscribe("(?x)", callback=answer)
    client.insert([("ask",)])

    assert heard.wait(PATIENCE_S)
    assert threads == {"gsg callbacks_0"}


def test_a_callback_that_raises_is_counted_and_the_next_row_comes(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    heard = threading.Event()

    def callback(sign: Sign, row: Row) -> None:
        if row["x"] == "bad":
            raise ValueError("no")
        heard.set()

    subscription = client.subscribe("(?x)", callback=callback)
    client.insert([("bad",)])
    client.insert([("good",)])

    assert heard.wait(PATIENCE_S)
    client.close()
    assert subscription.failures == 1
    assert "callback of a subscription" in caplog.text


def test_a_callback_may_close_the_client(served: Served) -> None:
    closed = threading.Event()
    client = Client(served.url).open()

    def callback(sign: Sign, row: Row) -> None:
        client.close()
        closed.set()

    client.subscribe("(?x)", callback=callback)
    with Client(served.url) as other:
        other.insert([("a",)])

    assert closed.wait(PATIENCE_S)
    with pytest.raises(gsg.DoorClosed, match="this client is closed"):
        client.insert([("b",)])


def test_closing_ends_whoever_waits_in_another_thread(served: Served) -> None:
    client = Client(served.url).open()
    subscription, topic = client.subscribe("(?x)"), client.topic("t").subscribe()
    begun = threading.Barrier(3)

    def read(what: object) -> list[object]:
        begun.wait(PATIENCE_S)
        return list(what)  # type: ignore[call-overload,no-any-return]  # either of them

    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read, what) for what in (subscription, topic)]
        begun.wait(PATIENCE_S)
        client.close()

        assert [each.result(PATIENCE_S) for each in reading] == [[], []]
    client.close()
    subscription.close()
    topic.close()


def test_many_threads_share_one_client(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda number: client.insert([("n", number)]), range(200))) == 200

    assert len(client.subscribe('("n", ?x)').rows()) == 200


def test_topics_and_channels_are_read_without_async(client: Client) -> None:
    with client.topic("house/temp").subscribe() as events:
        client.topic("house/temp").publish(21)
        event = events.next(PATIENCE_S)
        assert event is not None
        assert event.values == (21,)
        with pytest.raises(TimeoutError):
            events.next(0.01)
    with client.channel.subscribe("(= type 'error)") as errors:
        client.channel.publish({"type": "error"})
        assert next(errors).fields == {"type": "error"}
    assert client.topic("house/temp").size() >= 0
    assert client.channel.report().counts


async def test_it_works_where_a_loop_runs_already(served: Served) -> None:
    del served.others[:]

    with Client(served.url) as client:
        assert client.insert([("in a notebook",)]) == 1


def test_it_comes_back_at_another_door_and_its_readers_are_told(served: Served) -> None:
    with Client([served.url, *served.others]) as client:
        while client.url != served.url:  # it begins at either
            client.close()
            client = Client([served.url, *served.others]).open()
        client.insert([("a",)])
        subscription = client.subscribe("(?x)")
        assert subscription.batch(1, PATIENCE_S)
        served.close_door()
        with pytest.raises(gsg.Reconnected):
            subscription.batch(1, PATIENCE_S)
        client.insert([("b",)])

        assert next(subscription) == (Sign.PLUS, Row({"x": "b"}))
        assert client.url == served.others[0]
        client.close()


def test_nobody_at_the_address_is_told_at_once_and_nothing_is_left(served: Served) -> None:
    before = threading.active_count()

    with pytest.raises(gsg.PeerUnreachable, match="no peer answers at"):
        Client("http://127.0.0.1:9").open()
    with pytest.raises(gsg.LocalError, match="is no address of a peer"):
        Client("").open()

    assert threading.active_count() == before


def test_a_client_that_was_never_connected_says_so() -> None:
    client = Client()

    with pytest.raises(gsg.DoorClosed, match="this client is not connected; use it inside `with gsg"):
        client.insert([("a",)])
    client.close()
    assert client.state is ConnectionState.NEW
    assert client.url == ""


def test_the_clients_own_thread_is_not_to_wait_for_itself(served: Served) -> None:
    problems: list[Exception] = []

    def on_state(state: ConnectionState, _: str) -> None:
        if state is ConnectionState.RECONNECTING:
            try:
                client.insert([("a",)])
            except gsg.LocalError as error:
                problems.append(error)

    with Client(served.url, on_state=on_state, reconnect_s=0.0) as client:
        subscription = client.subscribe("(?x)")
        served.close_door()
        with pytest.raises(gsg.PeerUnreachable):
            subscription.batch(1, PATIENCE_S)

    assert "the client's own thread cannot wait for an answer" in str(problems[0])


async def test_rows_are_a_table_of_a_notebook_there_too(door: HttpDoor) -> None:
    await door._peer.insert([("kitchen", 21), ("hall", 19)])

    def shown() -> tuple[str, int, str]:
        with gsg.Client(door.url) as client:
            rows = client.subscribe("(?room, ?t)")
            return repr(rows), rows.to_arrow().num_rows, rows._repr_html_()

    said, count, page = await asyncio.to_thread(shown)

    assert "BlockingSubscription" in said
    assert count == 2
    assert "kitchen" in page
