"""The outlet of a task: refusals and lost peers are waited out, at the peer of its turn, for as long as it may."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Self

import pytest
from scripted_peer import Answer, ScriptedPeer, scripted

from gsg import AsyncClient, Symbol
from gsg.errors import AccessDenied
from gsg.http.protocol import Done, Doors, Failed, Reply, Request
from simulations.errors import NotTaken
from simulations.streams.peer_access import PeerAccess
from simulations.streams.sink.outlet import Outlet
from simulations.streams.sink.peer_failover import PeerFailover

pytestmark = pytest.mark.waits

NOBODY = "http://127.0.0.1:9"
ON = Symbol("on")


class Waiting:
    """A clock that moves with the pauses that are asked for, and keeps them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def outlet(self, *urls: str, stay_s: float = 0.0, max_wait_s: float = 60.0) -> Outlet:
        failover = PeerFailover(urls, first=0, stay_s=stay_s)
        return Outlet(PeerAccess(urls), failover, max_wait_s=max_wait_s, rng=Random(1), clock=lambda: self.now, pause=self.pause)


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


async def insert(client: AsyncClient) -> int:
    return await client.insert([("a", ON)])


def refusing(times: int, *, again_s: float = 0.0, kind: str = "Refused") -> Answer:
    """A peer that refuses so many requests, and then takes one after the other."""
    left = [times]

    def script(_: int, request: Request) -> list[Reply]:
        left[0] -= 1
        return [Done(request.request, 1) if left[0] < 0 else Failed(request.request, kind, "over quota", again_s=again_s)]

    return script


def done(_: int, request: Request) -> list[Reply]:
    return [Done(request.request, 1)]


def silent(_: int, request: Request) -> list[Reply]:
    return []


def cutting(peer: ScriptedPeer, times: int) -> Answer:
    """A peer that so often ends the connection by which it is asked."""

    def script(at: int, request: Request) -> list[Reply]:
        if at < times:
            peer.cut(at)
            return []
        return [Done(request.request, 1)]

    return script


async def test_a_quota_is_waited_out_for_as_long_as_the_peer_says_and_some_of_chance(waiting: Waiting) -> None:
    async with scripted(refusing(3, again_s=2.0)) as peer, waiting.outlet(peer.url) as outlet:
        assert await outlet.send_request(insert, "1 fact") == 1

    assert len(waiting.pauses) == len(set(waiting.pauses)) == 3
    assert all(2.0 <= pause <= 3.0 for pause in waiting.pauses)


async def test_a_refusal_that_says_no_time_is_tried_again_after_pauses_that_grow(waiting: Waiting) -> None:
    async with scripted(refusing(4)) as peer, waiting.outlet(peer.url) as outlet:
        await outlet.send_request(insert, "1 fact")

    assert all(0.05 * 2**at <= pause <= 0.1 * 2**at for at, pause in enumerate(waiting.pauses))
    assert len(waiting.pauses) == 4


async def test_a_refusal_that_lasts_fails_the_task_and_says_what_to_do(waiting: Waiting) -> None:
    async with scripted(refusing(100, again_s=2.0)) as peer, waiting.outlet(peer.url, max_wait_s=5.0) as outlet:
        with pytest.raises(
            NotTaken, match=r"^1 fact: no peer has taken them for \d\.\d s \(over quota\); the task fails, and"
        ) as told:
            await outlet.send_request(insert, "1 fact")

    assert "option maxWaitSeconds" in str(told.value)
    assert sum(waiting.pauses) <= 5.0


async def test_what_a_peer_never_takes_fails_the_task_at_once(waiting: Waiting) -> None:
    async with scripted(refusing(1, kind="BadTerm")) as peer, waiting.outlet(peer.url) as outlet:
        with pytest.raises(NotTaken, match=r"^1 fact: a peer does not take that: over quota$"):
            await outlet.send_request(insert, "1 fact")

    assert waiting.pauses == []


async def test_the_next_peer_is_asked_where_one_is_lost_before_it_answers(waiting: Waiting) -> None:
    async with scripted(silent) as first, scripted(done) as second, waiting.outlet(first.url, second.url) as outlet:
        first.script = cutting(first, 1)

        assert await outlet.send_request(insert, "1 fact") == 1
        assert (first.requests.qsize(), second.requests.qsize()) == (1, 1)


async def test_a_peer_that_is_back_in_time_is_asked_again_and_no_other(waiting: Waiting) -> None:
    async with scripted(silent) as first, scripted(done) as second, waiting.outlet(first.url, second.url, stay_s=10) as outlet:
        first.script = cutting(first, 3)

        assert await outlet.send_request(insert, "1 fact") == 1
        assert (first.requests.qsize(), second.requests.qsize()) == (4, 0)


async def test_a_peer_that_is_away_for_longer_is_given_up(waiting: Waiting) -> None:
    async with scripted(done) as second, waiting.outlet(NOBODY, second.url, stay_s=10) as outlet:
        assert await outlet.send_request(insert, "1 fact") == 1

    assert 10 <= waiting.now <= 20


async def test_requests_that_are_under_way_go_on_together_at_the_next_peer(waiting: Waiting) -> None:
    async with scripted(silent) as first, scripted(done) as second, waiting.outlet(first.url, second.url) as outlet:
        calls = [asyncio.create_task(outlet.send_request(insert, "1 fact")) for _ in range(3)]
        for _ in calls:
            await first.requests.get()
        first.cut(0)

        assert await asyncio.gather(*calls) == [1, 1, 1]
        assert (len(first.sockets), len(second.sockets)) == (1, 1)


async def test_requests_whose_client_was_closed_because_of_another_one_go_on_at_the_next_peer(waiting: Waiting) -> None:
    def unreachable_at_second(_: int, request: Request) -> list[Reply]:
        return [] if first.requests.qsize() < 2 else [Failed(request.request, "PeerUnreachable", "no holder answers")]

    async with scripted(silent) as first, scripted(done) as second, waiting.outlet(first.url, second.url) as outlet:
        first.script = unreachable_at_second

        assert await asyncio.gather(*(outlet.send_request(insert, "1 fact") for _ in range(2))) == [1, 1]
        assert (len(first.sockets), len(second.sockets)) == (1, 1)


async def test_a_peer_that_misbehaves_is_followed_by_the_next_one(waiting: Waiting) -> None:
    def no_reply(_: int, request: Request) -> list[Reply]:
        return [Doors(request.request, [])]

    async with scripted(no_reply) as first, scripted(done) as second, waiting.outlet(first.url, second.url) as outlet:
        assert await outlet.send_request(insert, "1 fact") == 1

        assert (first.requests.qsize(), second.requests.qsize()) == (1, 1)


class KeptOut(AsyncClient):
    """A client that its peer does not let in, and that says whether it was closed."""

    closed = False

    async def __aenter__(self) -> Self:
        raise AccessDenied("the peer asks for a token", needs_token=True)

    async def close(self) -> None:
        self.closed = True
        await super().close()


@dataclass(frozen=True)
class AccessOf(PeerAccess):
    """Access to one client."""

    made: KeptOut = field(default_factory=lambda: KeptOut(NOBODY))

    def client(self, url: str) -> AsyncClient:
        return self.made


async def test_a_client_that_is_not_let_in_is_closed() -> None:
    access = AccessOf((NOBODY,))
    failover = PeerFailover(access.urls, first=0, stay_s=0)
    async with Outlet(access, failover, max_wait_s=60, rng=Random(1)) as outlet:
        with pytest.raises(NotTaken, match="a peer does not take that: the peer asks for a token"):
            await outlet.send_request(insert, "1 fact")

        assert access.made.closed


async def test_nobody_at_all_fails_the_task(waiting: Waiting) -> None:
    async with waiting.outlet(NOBODY, max_wait_s=3.0) as outlet:
        with pytest.raises(NotTaken, match=r"no peer has taken them for .* s \(no peer answers at http://127\.0\.0\.1:9"):
            await outlet.send_request(insert, "1 fact")
