"""What goes on to other holders: in order to each, behind no other, and called once where it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import dht
import gsg.onward
from gsg.errors import PeerUnreachable, Refused
from gsg.handover import Handover
from gsg.messages import Done, Message
from gsg.onward import Onward
from gsg.replication import Held

A, B = dht.Contact(b"a" * 20, "10.0.0.1", 1), dht.Contact(b"b" * 20, "10.0.0.2", 1)


class Way:
    """A way to a peer, which writes down what is asked."""

    congested = False

    def __init__(self) -> None:
        self.asked: list[int] = []

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
        self.ways: dict[dht.Contact, Way] = {A: Way(), B: Way()}

    async def channel(self, contact: dht.Contact) -> Way:
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


def onward(links: Links) -> Onward:
    return Onward(links, links)  # type: ignore[arg-type]  # as far as they are asked


def number(what: int) -> Any:  # Any: instead of a message
    return lambda request: what


async def test_a_holder_that_is_gone_is_called_once_for_all_that_waits_for_it() -> None:
    links = Links(gone=(A,))
    some = onward(links)

    results = await asyncio.gather(*(some.send(A, number(each), 0) for each in range(20)), return_exceptions=True)

    assert {str(result) for result in results} == {"no hello within 5 s"}
    assert (links.called, links.failed_ids) == ([A], [A.id])
    with pytest.raises(PeerUnreachable):
        await some.send(A, number(20), 0)
    assert links.called == [A, A]


async def test_what_goes_to_one_holder_goes_in_order_and_waits_for_no_other() -> None:
    links = Links(slow=(B,))
    some = onward(links)
    to_b = asyncio.gather(*(some.send(B, number(each), 0) for each in range(3)))
    await asyncio.gather(*(some.send(A, number(each), 0) for each in range(3)))
    assert (links.ways[A].asked, links.ways[B].asked) == ([0, 1, 2], [])

    links.found.set()
    await to_b

    assert links.ways[B].asked == [0, 1, 2]


async def test_more_than_may_wait_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.onward, "WAITING_BYTES", 5_000)
    some = onward(Links())
    some.check(4_000)
    each = some.admit(4_000, 2)

    with pytest.raises(Refused, match=r"5000 bytes wait to go on to the holders of their keys.*at most 5000 may"):
        some.check(1)
    some.check(0)  # of this peer's own

    await asyncio.gather(some.send(A, number(1), each), some.send(B, number(2), each))
    some.check(4_000)


class Publisher:
    """The end of a link by which answers go."""

    def __init__(self) -> None:
        self.answers: list[Message] = []

    def send(self, message: Message) -> None:
        self.answers.append(message)


async def test_messages_for_a_newcomer_that_is_gone_again_are_carried_out_here_after_one_call() -> None:
    links, publisher = Links(gone=(A,)), Publisher()
    handover = Handover.__new__(Handover)
    handover._holders, handover._onward, handover._flush = links, onward(links), lambda: None  # type: ignore[assignment]  # likewise

    async def instead(numbers: list[int], theirs: list[bytes]) -> Done:
        assert links.failed_ids
        return Done(0, 1)

    def forward(request: int) -> Any:  # Any: a coroutine
        parcels = {A: ([0], [b"\0"])}
        return handover._forward(publisher, request, parcels, 0, Held(0, 0, []), lambda *_: number(0), instead)  # type: ignore[arg-type]  # likewise

    await asyncio.gather(*map(forward, range(20)))

    assert publisher.answers == [Done(request, 1) for request in range(20)]
    assert (links.called, links.failed_ids) == ([A], [A.id])
