"""Readers are told when rows may be out of date, as a feed that makes them cannot be set up anew."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
from peers import guest_of, others, rendezvous, simulate, unread

import dht
import rete
from dht.simnet import SimNet
from gsg import LiveSubscription, Peer, Refused, Stale, Symbol
from gsg.errors import Elsewhere
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.feeds.staleness import ATTEMPTS, REMINDED, RETRY_S, Staleness
from gsg.quotas import PEER, Quotas

ON = Symbol("on")
FROM = dht.Contact(b"f" * 20, "10.0.0.1", 7400)
TO = dht.Contact(b"t" * 20, "10.0.0.2", 7400)


async def told(subscription: LiveSubscription) -> str:
    """Why rows may be out of date, as soon as the reader is told."""
    async with asyncio.timeout(60):
        with pytest.raises(Stale) as caught:
            await subscription.batch(1)
    return str(caught.value)


def stale_feeds(peer: Peer) -> int:
    return {count.name: count.count for count in peer._parts.subscriptions.counts()}["feeds_stale"]


def test_readers_are_told_once_of_a_feed_that_is_refused_and_rows_are_right_when_it_is_taken() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        dying = rendezvous(peers, 3, 1, ON)
        next_one = rendezvous(others(peers, dying), 3, 1, ON)
        reader = others(peers, dying, next_one)[0]
        subscription = await reader.subscribe("(?x, ^on, ?y)")
        next_one.quotas.of_peer(reader.contact.id).quota = replace(PEER, templates=0)

        net.crash(dying.contact.host)
        await dying.__aexit__(ConnectionError, None, None)

        assert await told(subscription) == (
            "rows may be out of date: no feed of (*, on, *) could be set up in the place of the one from "
            f"{dying.contact.host}:7400 in 5 attempts: {next_one.contact.host}:7400 refused: over quota: one peer may have 0 "
            "templates here, and this one has 0; end some, or ask the operator of this peer for more (--peer-templates); this peer "
            "tries on every 5 s, and rows are right again when it has worked: see to what is said there, or subscribe at another "
            "peer"
        )
        assert not subscription.has_ended
        assert stale_feeds(reader) == 1
        await next_one.insert([("a", ON, "b")])
        await asyncio.sleep(10 * RETRY_S[-1])
        assert await unread(subscription) == []
        next_one.quotas.of_peer(reader.contact.id).quota = PEER
        await asyncio.sleep(2 * RETRY_S[-1])
        assert await unread(subscription) == ['+?x="a" ?y="b"']
        assert stale_feeds(reader) == 0

    simulate(work, seed=61, size=4)


def test_who_subscribes_to_what_may_be_out_of_date_is_told_too() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        dying = rendezvous(peers, 3, 1, ON)
        next_one = rendezvous(others(peers, dying), 3, 1, ON)
        reader = others(peers, dying, next_one)[0]
        earlier = await reader.subscribe("(?x, ^on, ?y)")
        next_one.quotas.of_peer(reader.contact.id).quota = replace(PEER, templates=0)
        net.crash(dying.contact.host)
        await dying.__aexit__(ConnectionError, None, None)
        await told(earlier)

        later = await reader.subscribe("(?a, ^on, ?b)")

        assert "no feed of (*, on, *)" in await told(later)
        await earlier.close()
        await later.close()
        await asyncio.sleep(2 * RETRY_S[-1])
        assert stale_feeds(reader) == 0

    simulate(work, seed=62, size=4)


def test_readers_are_told_of_a_peer_that_takes_no_template_without_constants() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[0].subscribe("(?x)")
        async with guest_of(net, peers, quotas=Quotas(replace(PEER, templates=0))) as guest:
            assert f"no feed of (*) could be set up at {guest.contact.host}:7400 in 5 attempts" in await told(subscription)
            assert stale_feeds(peers[0]) == 1
        await asyncio.sleep(10 * RETRY_S[-1])
        assert stale_feeds(peers[0]) == 0

    simulate(work, seed=63, size=3)


class Failing:
    """A staleness of one memory, and what was told of it."""

    def __init__(self) -> None:
        self.memory = AlphaMemory(rete.AlphaSpec(rete.Template((None, ON, None))), 1, anchor=1)
        self.whys: list[str] = []
        self.staleness = Staleness(lambda memory, why: self.whys.append(str(why)))

    def fail(self, attempts: int) -> None:
        for attempt in range(attempts):
            self.staleness.note_failure(self.memory, FROM, attempt, Refused("no"))


def test_attempts_that_may_yet_succeed_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing()

    with caplog.at_level(logging.WARNING):
        failing.fail(ATTEMPTS - 1)

    assert not failing.whys
    assert not caplog.records
    assert failing.staleness.reason_for(failing.memory) is None


def test_what_goes_on_failing_is_told_once_and_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing()

    with caplog.at_level(logging.WARNING):
        failing.fail(ATTEMPTS + REMINDED)

    assert len(failing.whys) == 1
    first, again = caplog.messages
    assert f"in {ATTEMPTS} attempts" in first
    assert f"in {ATTEMPTS + REMINDED} attempts" in again
    assert len(failing.staleness) == 1


def test_what_fails_anew_is_told_anew() -> None:
    failing = Failing()
    failing.fail(ATTEMPTS)

    failing.staleness.note_success(failing.memory, FROM)
    failing.fail(ATTEMPTS)

    assert len(failing.whys) == 2


def test_of_peers_that_name_each_other_it_is_said_that_they_do_not_agree() -> None:
    failing = Failing()

    failing.staleness.note_failure(failing.memory, FROM, ATTEMPTS - 1, Elsewhere("one says the other", contact=TO))

    assert "no peer takes (*, on, *): one says the other; peers do not agree on who holds it" in failing.whys[0]
