"""What goes on to other holders: in order to each, behind no other, and called once where it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import dht
import gsg.churn.forward_queue
from gsg.churn.forward_facts import FactForwarding
from gsg.churn.forward_queue import ForwardQueue
from gsg.errors import PeerUnreachable, Refused
from gsg.replication.changes import Held
from gsg.wire.messages import Done, Message, Publish

A, B, C = (dht.Contact(name * 20, f"10.0.0.{number}", 1) for number, name in enumerate((b"a", b"b", b"c"), 1))


class Way:
    """A way to a peer, which writes down what is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.congested = False
        self.waited = 0
        """How often it was waited for until it takes more."""

    async def drained(self) -> None:
        self.waited += 1
        await asyncio.get_running_loop().create_future()

    def ask(self, make: Callable[[int], int]) -> None:
        self.asked.append(make(0))


class Links:
    """The ways to other peers; one that is slow is found when :attr:`found` is set."""

    def __init__(self, *, gone: tuple[dht.Contact, ...] = (), slow: tuple[dht.Contact, ...] = ()) -> None:
        self.gone = gone
        self.slow = slow
        self.found = asyncio.Event()
        self.called: list[dht.Contact] = []
        self.failed_ids: list[bytes] = []
        self.ways: dict[dht.Contact, Way] = {A: Way(), B: Way(), C: Way()}

    async def link(self, contact: dht.Contact) -> Way:
        self.called.append(contact)
        # As a call does, also where it takes no time.
        await asyncio.sleep(0)
        if contact in self.slow:
            await self.found.wait()
        if contact in self.gone:
            raise PeerUnreachable("no hello within 5 s")
        return self.ways[contact]

    def failed(self, peer: bytes, why: PeerUnreachable) -> None:
        self.failed_ids.append(peer)


def queue(links: Links, *, full_s: float | None = None) -> ForwardQueue:
    return ForwardQueue(links, links, full_s=full_s)  # type: ignore[arg-type]  # as far as they are asked


def number(what: int) -> Any:  # Any: instead of a message
    return lambda request: what


async def send(some: ForwardQueue, holder: dht.Contact, what: int) -> None:
    """Something of this peer's own."""
    [admitted] = some.enqueue(0, [holder])
    await some.send(admitted, number(what))


async def test_a_holder_that_is_gone_is_called_once_for_all_that_waits_for_it() -> None:
    links = Links(gone=(A,))
    some = queue(links)

    results = await asyncio.gather(*(send(some, A, each) for each in range(20)), return_exceptions=True)

    assert {str(result) for result in results} == {"no hello within 5 s"}
    assert (links.called, links.failed_ids) == ([A], [A.id])
    with pytest.raises(PeerUnreachable):
        await send(some, A, 20)
    assert links.called == [A, A]


async def test_what_goes_to_one_holder_goes_in_order_and_waits_for_no_other() -> None:
    links = Links(slow=(B,))
    some = queue(links)
    to_b = asyncio.gather(*(send(some, B, each) for each in range(3)))
    await asyncio.gather(*(send(some, A, each) for each in range(3)))
    assert (links.ways[A].asked, links.ways[B].asked) == ([0, 1, 2], [])

    links.found.set()
    await to_b

    assert links.ways[B].asked == [0, 1, 2]


async def test_more_than_may_wait_for_one_holder_is_refused_by_name_and_for_others_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gsg.churn.forward_queue, "WAITING_BYTES", 3_000)
    some = queue(Links())
    some.check_room(4_000, [A, B])
    admitted = some.enqueue(4_000, [A, B])

    with pytest.raises(Refused, match=r"3000 bytes wait to go on to 10\.0\.0\.1:1, .*at most 3000 may"):
        some.check_room(1, [A])
    some.check_room(1, [C])
    some.check_room(0, [A])  # of this peer's own

    await asyncio.gather(*(some.send(one, number(1)) for one in admitted))
    some.check_room(4_000, [A, B])


async def test_more_than_may_wait_for_all_holders_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.churn.forward_queue, "ALL_BYTES", 6_000)
    some = queue(Links())
    admitted = some.enqueue(4_000, [A, B])

    with pytest.raises(Refused, match=r"6000 bytes wait to go on to the holders of their keys, .*at most 6000 may"):
        some.check_room(1, [C])

    await asyncio.gather(*(some.send(one, number(1)) for one in admitted))
    some.check_room(1, [C])


async def test_a_holder_that_reads_nothing_is_waited_for_once_for_all_that_waits_for_it() -> None:
    links = Links()
    links.ways[A].congested = True
    some = queue(links, full_s=0.01)

    results = await asyncio.gather(*(send(some, A, each) for each in range(20)), return_exceptions=True)

    assert {type(result) for result in results} == {TimeoutError}
    assert (links.ways[A].waited, links.ways[A].asked, links.failed_ids) == (1, [], [])
    links.ways[A].congested = False
    await send(some, A, 20)
    assert links.ways[A].asked == [20]


class Publisher:
    """The end of a link by which answers go."""

    def __init__(self) -> None:
        self.answers: list[Message] = []

    def send(self, message: Message) -> None:
        self.answers.append(message)


async def test_messages_for_a_newcomer_that_is_gone_again_are_carried_out_here_after_one_call() -> None:
    links, publisher = Links(gone=(A,)), Publisher()
    forwarding = FactForwarding.__new__(FactForwarding)
    forwarding._holders, forwarding._queue, forwarding._flush = links, queue(links), lambda: None  # type: ignore[assignment]  # likewise

    def make(*change: object) -> Held:
        assert links.failed_ids
        return Held(1, 0, [])

    def forward(request: int) -> Any:  # Any: a coroutine
        shares = {A: ([0], [b"\0"])}
        admitted = forwarding._queue.enqueue(0, shares)
        return forwarding._forward(publisher, Publish(request, 1, [("x",)], [b"\0"], 1), shares, admitted, Held(0, 0, []))  # type: ignore[arg-type]  # likewise

    forwarding._replication = SimpleNamespace(make=make)  # type: ignore[assignment]  # likewise
    await asyncio.gather(*map(forward, range(20)))

    assert publisher.answers == [Done(request, 1) for request in range(20)]
    assert (links.called, links.failed_ids) == ([A], [A.id])
