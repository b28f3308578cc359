"""Events while keys change hands: whoever has none of them does not stand for whoever may have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace

import pytest

import dht
import gsg.spreading
from gsg.messages import Done, Event, Failed, Flash, Message
from gsg.spreading import Spreading

OWN, B, C = (dht.Contact(name * 20, f"10.0.0.{number}", 1) for number, name in enumerate((b"a", b"b", b"c"), 1))
FLASH = Flash(7, b"publisher", [Event(1, ("rang", 1))], [b"\0"])


class Link:
    """A link to another holder, which answers, or takes nothing."""

    def __init__(self, contact: dht.Contact, *, congested: bool) -> None:
        self.contact = contact
        self.congested = congested
        self.frame_bytes = 100
        self.sent: list[Message] = []
        self.answered = asyncio.Event()

    async def drained(self) -> None:
        await asyncio.get_running_loop().create_future()

    def ask(self, make: Callable[[int], Message]) -> asyncio.Future[Message]:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        answer.set_result(Done(make(1).request))  # type: ignore[attr-defined]  # a Flash
        return answer

    def send(self, message: Message) -> None:
        self.sent.append(message)
        self.answered.set()


async def said(monkeypatch: pytest.MonkeyPatch, *, congested: tuple[dht.Contact, ...]) -> Message:
    """What a peer that has come of late, and where nothing is posted, answers when the other holders are B and C."""
    monkeypatch.setattr(gsg.spreading, "FULL_S", 0.01)
    links = {holder: Link(holder, congested=holder in congested) for holder in (B, C)}

    async def channel(holder: dht.Contact) -> Link:
        return links[holder]

    publisher = Link(OWN, congested=False)
    async with asyncio.TaskGroup() as group:

        def start_task(work: Coroutine[None, None, None]) -> None:
            group.create_task(work)

        spreading = Spreading(
            SimpleNamespace(holders=lambda key: (B, OWN, C), is_new=True),  # type: ignore[arg-type]  # as far as they are asked
            SimpleNamespace(failed=lambda peer, why: None),  # type: ignore[arg-type]  # likewise
            SimpleNamespace(own=SimpleNamespace(contact=OWN), channel=channel),  # type: ignore[arg-type]  # likewise
            SimpleNamespace(has_listeners=lambda key: False, flash=lambda *_: None),  # type: ignore[arg-type]  # likewise
            start_task,
            flush=lambda: None,
        )
        assert spreading.flash(publisher, FLASH) is None  # type: ignore[arg-type]  # a link
        await publisher.answered.wait()
    (answer,) = publisher.sent
    return answer


async def test_events_that_a_holder_took_are_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await said(monkeypatch, congested=(B,)) == Done(7)


async def test_events_that_no_holder_took_are_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = await said(monkeypatch, congested=(B, C))

    assert isinstance(answer, Failed)
    assert answer.reason == (
        "10.0.0.2:1, 10.0.0.3:1 did not take events while keys change hands, and nobody else has them; publish them again"
    )
