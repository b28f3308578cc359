"""Subscriptions of one client that come together are posted together: answered in order, and what follows finds them all."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from pedro_doors import doors, until_served
from pedro_wire import WireClient

import gsg
from gsg.errors import Refused
from pedro_compat.door.connection import SUBSCRIPTIONS_UNDER_WAY
from pedro_compat.door.fair_turns import TURN_S, FairTurns


def subscribing(*numbers: int) -> bytes:
    return b"".join(b"subscribe(f(X),(X > %d),%d)\n" % (number, number) for number in numbers)


def let_wait(peer: gsg.Peer, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], asyncio.Event]:
    """The rocks of the subscriptions that are begun, which stand when the event is set."""
    begun, may_end, listen = list[int](), asyncio.Event(), peer.listen

    async def listen_late(*arguments: Any, **options: Any) -> Any:
        begun.append(options["note"])
        await may_end.wait()
        return await listen(*arguments, **options)

    monkeypatch.setattr(peer, "listen", listen_late)
    return begun, may_end


async def test_subscriptions_that_come_together_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(peer, door)]:
        client, (begun, may_end) = await WireClient.connect(door.port), let_wait(peer, monkeypatch)
        door.turns = FairTurns(lambda: 0.0)
        most = 2 * SUBSCRIPTIONS_UNDER_WAY
        answers = asyncio.ensure_future(client.send_raw(subscribing(*range(most)), most))
        async with asyncio.timeout(10):
            while len(begun) < SUBSCRIPTIONS_UNDER_WAY:  # noqa: ASYNC110  # the door has no business telling tests
                await asyncio.sleep(0)
        at_once = list(begun)
        may_end.set()

        assert at_once == list(range(SUBSCRIPTIONS_UNDER_WAY))
        assert await answers == list(range(1, most + 1))


async def test_what_takes_longer_than_a_turn_to_read_waits_for_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(peer, door)]:
        client, (begun, may_end) = await WireClient.connect(door.port), let_wait(peer, monkeypatch)
        door.turns = FairTurns(count(0.0, 0.4 * TURN_S).__next__)
        answers = asyncio.ensure_future(client.send_raw(subscribing(*range(9)), 9))
        async with asyncio.timeout(10):
            while not begun:  # noqa: ASYNC110  # the door has no business telling tests
                await asyncio.sleep(0)
        at_once = list(begun)
        may_end.set()

        assert at_once == [0, 1, 2]
        assert await answers == list(range(1, 10))


async def test_one_that_fails_is_answered_in_its_place_and_the_others_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(peer, door)]:
        client = await WireClient.connect(door.port)
        listen = peer.listen

        async def listen_but_for_one(*arguments: Any, **options: Any) -> Any:
            if options["note"] == 2:
                await asyncio.sleep(0)
                raise Refused("not this one")
            return await listen(*arguments, **options)

        monkeypatch.setattr(peer, "listen", listen_but_for_one)
        said = subscribing(1, 2, 3) + b"subscribe(f(X),nonsense(X),4)\n" + subscribing(5) + b"f(7)\n"

        assert await client.send_raw(said, 6) == [1, 0, 3, 0, 5, 1]
        assert client.delivered() == ["5 f(7)", "3 f(7)", "1 f(7)"]


async def test_what_follows_subscriptions_finds_all_of_them() -> None:
    async with doors(1) as [(_, door)]:
        client = await WireClient.connect(door.port)
        said = subscribing(1, 2, 3) + b"f(9)\nunsubscribe(2)\nunsubscribe(2)\nsubscribe(g(_),true,7)\nf(8)\ng(1)\nregister(me)\n"

        assert await client.send_raw(said, 10) == [1, 2, 3, 1, 1, 0, 4, 1, 1, 1]
        assert client.delivered() == ["3 f(9)", "2 f(9)", "1 f(9)", "3 f(8)", "1 f(8)", "7 g(1)"]


async def test_of_several_that_come_together_those_are_refused_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pedro_compat.door.client_postings.MAX_SUBSCRIPTIONS", 3)
    async with doors(1) as [(_, door)]:
        client = await WireClient.connect(door.port)

        assert await client.send_raw(subscribing(*range(5)) + b"unsubscribe(1)\n" + subscribing(5), 7) == [1, 2, 3, 0, 0, 1, 6]


async def test_whoever_leaves_while_they_are_under_way_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async with doors(1) as [(peer, door)]:
        client, begun = await WireClient.connect(door.port), asyncio.Event()
        may_end, ended, listen = asyncio.Event(), [], peer.listen

        async def listen_late(*arguments: Any, **options: Any) -> Any:
            begun.set()
            await may_end.wait()
            try:
                return await listen(*arguments, **options)
            finally:
                ended.append(options["note"])

        monkeypatch.setattr(peer, "listen", listen_late)
        client.data.sendall(subscribing(1, 2, 3))
        await begun.wait()
        client.close()
        await until_served(door, 0)
        may_end.set()
        async with asyncio.timeout(10):
            while len(ended) < 3 or peer._parts.rendezvous.conditions.templates():  # noqa: ASYNC110  # as above
                await asyncio.sleep(0)
