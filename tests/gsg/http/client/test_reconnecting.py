"""A client that loses its peer: what waits, what is sent again, and what its readers are told. Pauses take no time."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from math import inf
from random import Random

import pytest
from scripted_peer import ScriptedPeer, scripted

import gsg
from gsg import AsyncClient, ConnectionState, Reconnected, Row
from gsg.http.protocol import (
    Done,
    Events,
    Failed,
    Insert,
    Notify,
    Reply,
    Request,
    Rows,
    Subscribe,
    Subscribed,
    SubscribeEvents,
    SubscribeTopic,
    TopicEvents,
    Unsubscribe,
    UpToDate,
)

Told = list[tuple[ConnectionState, str]]


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


def client_of(*urls: str, told: Told | None = None, reconnect_s: float = inf) -> AsyncClient:
    seen: Told = [] if told is None else told
    return AsyncClient(
        urls, rng=Random(1), pause=no_pause, reconnect_s=reconnect_s, on_state=lambda state, why: seen.append((state, why))
    )


def free_url() -> str:
    """Where nobody is."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        return f"http://127.0.0.1:{reserved.getsockname()[1]}"


def answer(request: Request, *values: int) -> list[Reply]:
    """The whole answer to a subscription for ``?x``."""
    number = request.request
    return [Subscribed(number, ("x",)), Rows(number, [1] * len(values), [(value,) for value in values]), UpToDate(number)]


async def told_by(subscription: gsg.LiveSubscription, count: int) -> list[str]:
    """So many differences, and what was raised between them, by name."""
    told: list[str] = []
    while len(told) < count:
        try:
            told += [f"{sign}{row}" for sign, row in await asyncio.wait_for(subscription.batch(count - len(told)), 20)]
        except gsg.RemoteError as error:
            told.append(type(error).__name__)
    return told


async def until_back(client: AsyncClient) -> None:
    while client.state is not ConnectionState.CONNECTED:  # noqa: ASYNC110  # each question gives others a turn
        await asyncio.sleep(0)


async def test_the_next_peers_answer_is_told_as_the_difference_to_what_was_held_after_a_marker() -> None:
    async with scripted(lambda at, request: answer(request, 1, 2) if at == 0 else answer(request, 2, 3)) as peer:
        told: Told = []
        async with client_of(peer.url, told=told) as client:
            subscription = await client.subscribe("(?x)")
            assert await told_by(subscription, 2) == ["+?x=1", "+?x=2"]

            peer.cut(0)

            assert await told_by(subscription, 3) == ["Reconnected", "-?x=1", "+?x=3"]
            assert subscription.rows() == Counter({Row({"x": 2}): 1, Row({"x": 3}): 1})
    assert [state for state, _ in told] == [
        ConnectionState.CONNECTED,
        ConnectionState.RECONNECTING,
        ConnectionState.CONNECTED,
        ConnectionState.CLOSED,
    ]
    assert "is lost without a word" in told[1][1]


async def test_the_marker_says_from_where_to_where_and_that_events_may_have_been_missed() -> None:
    async with scripted(lambda _, request: answer(request, 1)) as first, scripted(lambda _, request: answer(request, 1)) as second:
        first.doors = [second.url]
        async with client_of(first.url) as client:
            subscription = await client.subscribe("(?x)")
            await told_by(subscription, 1)
            while not client._connection._doors._learnt:  # noqa: ASYNC110  # each turn lets it read on
                await asyncio.sleep(0)
            first.cut(0)
            with pytest.raises(Reconnected) as caught:
                await asyncio.wait_for(subscription.batch(1), 20)

    assert (caught.value.lost_url, caught.value.url, caught.value.missed_events) == (first.url, second.url, None)
    assert str(caught.value).endswith(
        f"; connected to {second.url}; rows follow as differences to those that were told, and events in between may have been "
        "missed: go on reading"
    )


async def test_what_was_not_read_before_the_loss_is_still_told_once() -> None:
    async with (
        scripted(lambda at, request: answer(request, 1, 2) if at == 0 else answer(request, 2)) as peer,
        client_of(peer.url) as client,
    ):
        subscription = await client.subscribe("(?x)")
        peer.cut(0)

        told = await told_by(subscription, 4)

    assert sorted(told) == ["+?x=1", "+?x=2", "-?x=1", "Reconnected"]
    assert told.index("+?x=1") < told.index("-?x=1")


async def test_a_peer_that_is_lost_in_the_middle_of_its_answer_is_as_if_it_had_said_nothing() -> None:
    def script(at: int, request: Request) -> list[Reply]:
        whole = answer(request, *([1, 2], [7], [3])[at])
        return whole if at != 1 else whole[:2]

    async with scripted(script) as peer, client_of(peer.url) as client:
        subscription = await client.subscribe("(?x)")
        assert await told_by(subscription, 2) == ["+?x=1", "+?x=2"]
        peer.cut(0)
        while len(peer.sockets) < 2 or peer.requests.qsize() < 2:  # noqa: ASYNC110  # nothing tells when all has come
            await asyncio.sleep(0)
        assert subscription.rows() == Counter({Row({"x": 1}): 1, Row({"x": 2}): 1})
        peer.cut(1)

        assert await told_by(subscription, 4) == ["Reconnected", "-?x=1", "-?x=2", "+?x=3"]


async def test_events_that_come_with_the_next_answer_are_told_after_the_difference() -> None:
    def script(at: int, request: Request) -> list[Reply]:
        first, rows, end = answer(request, 1)
        return [first, rows, Rows(request.request, [0], [(9,)]), end] if at else [first, rows, end]

    async with scripted(script) as peer, client_of(peer.url) as client:
        subscription = await client.subscribe("(?x)")
        await told_by(subscription, 1)
        peer.cut(0)

        assert await told_by(subscription, 2) == ["Reconnected", "!?x=9"]


async def test_a_subscription_whose_first_answer_was_cut_off_has_the_next_peers_whole_and_no_marker() -> None:
    async with (
        scripted(lambda at, request: answer(request, 1, 2)[:2] if at == 0 else answer(request, 2)) as peer,
        client_of(peer.url) as client,
    ):
        subscribing = asyncio.create_task(client.subscribe("(?x)"))
        await peer.requests.get()
        peer.cut(0)
        subscription = await asyncio.wait_for(subscribing, 20)

        assert await told_by(subscription, 1) == ["+?x=2"]
        assert subscription.pending == 0


async def test_facts_that_were_under_way_are_sent_again_in_order_and_events_are_not() -> None:
    def script(at: int, request: Request) -> list[Reply]:
        return [Done(request.request, 1)] if at else []

    async with scripted(script) as peer, client_of(peer.url) as client:
        calls = [
            asyncio.create_task(client.insert([("a",)])),
            asyncio.create_task(client.notify([("b",)])),
            asyncio.create_task(client.retract([("a",)])),
        ]
        for _ in calls:
            await peer.requests.get()
        peer.cut(0)

        assert await asyncio.gather(calls[0], calls[2]) == [1, 1]
        with pytest.raises(gsg.PeerUnreachable, match="connects again by itself, so ask again; an event may be told twice"):
            await calls[1]
        again = [(await peer.requests.get())[1] for _ in range(2)]
        assert [type(request).__name__ for request in again] == ["Insert", "Retract"]
        await client.notify([("b",)])
        assert isinstance((await peer.requests.get())[1], Notify)


async def test_events_with_a_key_that_were_under_way_are_sent_again() -> None:
    async with (
        scripted(lambda at, request: [Done(request.request, 1)] if at else []) as peer,
        client_of(peer.url) as client,
    ):
        call = asyncio.create_task(client.notify([("b",)], key="k"))
        await peer.requests.get()
        peer.cut(0)

        await call
        assert await peer.requests.get() == (1, Notify(2, [("b",)], None, "k"))


async def test_what_is_asked_while_there_is_no_peer_waits_for_one_and_gives_up_with_its_caller() -> None:
    may_go_on = asyncio.Event()

    async def pause(_: float) -> None:
        await may_go_on.wait()

    async with scripted(lambda _, request: [Done(request.request, 1)]) as peer:
        async with AsyncClient(peer.url, pause=pause, on_state=lambda *_: None) as client:
            peer.cut(0)
            while client.state is ConnectionState.CONNECTED:  # noqa: ASYNC110  # each turn lets it see that
                await asyncio.sleep(0)
            given_up = asyncio.create_task(client.insert([("a",)]))
            waiting = asyncio.create_task(client.notify([("b",)]))
            await asyncio.sleep(0)
            given_up.cancel()
            may_go_on.set()
            await asyncio.wait_for(waiting, 20)

        requests = [peer.requests.get_nowait() for _ in range(peer.requests.qsize())]
    assert [(at, type(request)) for at, request in requests] == [(1, Notify)]


@pytest.mark.parametrize("kind", ["PeerUnreachable", "Refused"])
async def test_a_subscription_that_the_next_peer_cannot_make_yet_is_asked_for_until_it_can(kind: str) -> None:
    refusals = 3

    def script(at: int, request: Request) -> list[Reply]:
        nonlocal refusals
        if at == 0:
            return answer(request, 1)
        refusals -= 1
        return [Failed(request.request, kind, "not now")] if refusals >= 0 else answer(request, 2)

    async with scripted(script) as peer, client_of(peer.url) as client:
        subscription = await client.subscribe("(?x)")
        await told_by(subscription, 1)
        peer.cut(0)

        assert await told_by(subscription, 3) == ["Reconnected", "-?x=1", "+?x=2"]


async def test_a_subscription_that_the_next_peer_will_never_make_ends_and_others_go_on() -> None:
    def script(at: int, request: Request) -> list[Reply]:
        assert isinstance(request, Subscribe)
        if at and request.text == "(?x), (?x)":
            return [Failed(request.request, "TooManyTokens", "too many", tokens=2, limit=1)]
        return answer(request, 1 + at)

    async with scripted(script) as peer, client_of(peer.url) as client:
        bad, good = await client.subscribe("(?x), (?x)"), await client.subscribe("(?x)")
        await told_by(bad, 1)
        await told_by(good, 1)
        peer.cut(0)

        assert await told_by(good, 3) == ["Reconnected", "-?x=1", "+?x=2"]
        with pytest.raises(gsg.TooManyTokens, match="too many"):
            await bad.batch(1)


async def test_a_peer_whose_rows_have_other_names_is_left() -> None:
    async with (
        scripted(lambda at, request: [Subscribed(request.request, ("xy"[at],)), UpToDate(request.request)]) as peer,
        client_of(peer.url) as client,
    ):
        subscription = await client.subscribe("(?x)")
        peer.cut(0)

        with pytest.raises(gsg.PeerMisbehaved, match="which were of"):
            await asyncio.wait_for(subscription.batch(1), 20)


async def test_a_subscription_that_was_closed_while_there_was_no_peer_is_not_made_again() -> None:
    async with scripted(lambda _, request: answer(request, 1)) as peer, client_of(peer.url) as client:
        subscription = await client.subscribe("(?x)")
        other = await client.subscribe("(?x)")
        peer.cut(0)
        while client.state is ConnectionState.CONNECTED:  # noqa: ASYNC110  # each turn lets it see that
            await asyncio.sleep(0)
        await subscription.close()
        await told_by(other, 2)

        asked = [peer.requests.get_nowait() for _ in range(peer.requests.qsize())]
        again = {request.request for at, request in asked if at == 1 and isinstance(request, Subscribe)}
        closed = {request.subscription for at, request in asked if at == 1 and isinstance(request, Unsubscribe)}
        assert len(again - closed) == 1


async def test_who_gives_up_is_told_for_how_long_it_was_tried() -> None:
    async with scripted(lambda _, request: answer(request, 1)) as peer:
        client = client_of(peer.url, reconnect_s=0.0)
        async with client:
            subscription = await client.subscribe("(?x)")
            await told_by(subscription, 1)
            peer.cut(0)
            with pytest.raises(gsg.PeerUnreachable, match=r"tried for 0\.0 s to connect again; connect and subscribe again"):
                await asyncio.wait_for(subscription.batch(1), 20)
            with pytest.raises(gsg.PeerUnreachable, match="to connect again; connect again, here or at another peer"):
                await client.insert([("a",)])


async def test_a_client_that_is_closed_while_it_has_no_peer_ends_at_once() -> None:
    async def pause(_: float) -> None:
        await asyncio.get_running_loop().create_future()

    async with scripted(lambda _, request: answer(request, 1)) as peer:
        async with AsyncClient(peer.url, pause=pause, on_state=lambda *_: None) as client:
            subscription = await client.subscribe("(?x)")
            peer.cut(0)
            while client.state is ConnectionState.CONNECTED:  # noqa: ASYNC110  # each turn lets it see that
                await asyncio.sleep(0)
            waiting = asyncio.create_task(client.insert([("a",)]))
            await asyncio.sleep(0)
        with pytest.raises(gsg.DoorClosed, match="this client is closed"):
            await waiting

    assert await told_by(subscription, 1) == ["+?x=1"]
    assert await subscription.batch(1) == []


async def test_a_mistake_in_a_callback_for_the_state_costs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        scripted(lambda _, request: [Done(request.request, 1)]) as peer,
        AsyncClient(peer.url, on_state=lambda *_: 1 // 0) as client,
    ):
        assert await client.insert([("a",)]) == 1

    assert "a callback for the state of a connection failed" in caplog.text


async def test_readers_of_topics_and_channels_are_told_that_events_may_have_been_missed_and_read_on() -> None:
    def script(at: int, request: Request) -> list[Reply]:
        number = request.request
        if isinstance(request, SubscribeTopic):
            return [Subscribed(number, ()), TopicEvents(number, [(b"p" * 20, at, (at,))])]
        assert isinstance(request, SubscribeEvents)
        return [Subscribed(number, ()), Events(number, [("s", at, f'{{"n": {at}}}')])]

    async with scripted(script) as peer, client_of(peer.url) as client:
        topic, channel = await client.topic("t").subscribe(), await client.channel.subscribe("true")
        assert (await anext(topic)).values == (0,)
        assert (await anext(channel)).fields == {"n": 0}
        of_topic, of_channel = asyncio.ensure_future(anext(topic)), asyncio.ensure_future(anext(channel))

        peer.cut(0)

        for waiting in (of_topic, of_channel):
            with pytest.raises(Reconnected, match=r"connected to .*; events in between may have been missed: go on reading"):
                await asyncio.wait_for(waiting, 20)
        assert (await anext(topic)).values == (1,)
        assert (await anext(channel)).fields == {"n": 1}


async def test_a_callback_is_called_with_the_difference_and_the_log_has_the_marker(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    news = asyncio.Event()

    def note(sign: gsg.Sign, row: Row) -> None:
        told.append(f"{sign}{row}")
        if len(told) == 3:
            news.set()

    async with scripted(lambda at, request: answer(request, 1 + at)) as peer, client_of(peer.url) as client:
        await client.subscribe("(?x)", callback=note)
        peer.cut(0)
        await asyncio.wait_for(news.wait(), 20)

    assert told == ["+?x=1", "-?x=1", "+?x=2"]
    assert "rows follow as differences" in caplog.text


@pytest.mark.parametrize("given", ["a list", "a text"])
async def test_of_several_peers_the_first_that_answers_is_used(given: str) -> None:
    async with scripted(lambda _, request: [Done(request.request, 1)]) as peer:
        urls = [free_url(), peer.url, free_url()]
        async with gsg.connect(urls if given == "a list" else ",".join(urls)) as client:
            assert await client.insert([("a",)]) == 1
            assert client.url == peer.url


async def test_where_no_peer_answers_each_is_named() -> None:
    one, other = free_url(), free_url()

    with pytest.raises(
        gsg.PeerUnreachable, match=r"^none of 2 peers answers: no peer answers at .* \| no peer answers at "
    ) as caught:
        await AsyncClient([one, other]).__aenter__()

    assert one in str(caught.value)
    assert other in str(caught.value)


async def test_a_peer_that_knows_of_no_doors_serves_a_client_all_the_same() -> None:
    class OldPeer(ScriptedPeer):
        async def say(self, number: int, reply: Reply) -> None:
            await super().say(number, Failed(reply.request, "LocalError", "not a request") if hasattr(reply, "urls") else reply)

    async with scripted(lambda _, request: [Done(request.request, 1)]) as peer:
        peer.__class__ = OldPeer
        async with client_of(peer.url) as client:
            assert await client.insert([("a",)]) == 1
            assert isinstance((await peer.requests.get())[1], Insert)
