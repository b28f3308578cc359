"""Requests, their answers, and links that break."""

from __future__ import annotations

import asyncio

import pytest

import dht
import gsg.wire.exchange
from dht.simnet import SimNet, run
from gsg.errors import Elsewhere, PeerMisbehaved, PeerUnreachable, Refused
from gsg.wire.exchange import ANSWER_TIMEOUT_S, Exchange, PeerLink, answer_of
from gsg.wire.load_messages import Loads
from gsg.wire.messages import Done, Failed, Gap, Message, NotHere
from gsg.wire.status_messages import AskStatus

PORT = 7400


class End:
    """An exchange over links of its own, that answers with whatever is prepared."""

    def __init__(self, net: SimNet) -> None:
        self.heard: list[Message] = []
        self.batches = 0
        self.broken: asyncio.Queue[str] = asyncio.Queue()
        self.answers: list[Message] = []
        self.contact = dht.Contact(dht.random_id(net.rng()), net.host(), PORT)
        self.exchange = Exchange(
            self.contact,
            on_message=self._message,
            on_batch=self._batch,
            on_broken=lambda link, reason: self.broken.put_nowait(reason),
        )
        self.links = dht.Links(
            self.contact.id,
            self.contact.host,
            PORT,
            rng=net.rng(),
            on_frames=self.exchange.receive_frames,
            on_lost=self.exchange.drop_link,
        )
        self.exchange.attach(self.links)

    def _message(self, link: PeerLink, message: Message) -> None:
        self.heard.append(message)
        if self.answers:
            link.send(self.answers.pop(0))

    def _batch(self) -> None:
        self.batches += 1


def test_an_answer_comes_to_its_request() -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        other.answers = [Done(1, 7), Done(2, 8)]
        async with one.links, other.links:
            link = await one.exchange.link(other.contact)
            first, second = link.ask(AskStatus), link.ask(AskStatus)

            assert (await answer_of(link, second, Done)).count == 8
            assert (await answer_of(link, first, Done)).count == 7
        assert other.heard == [AskStatus(1), AskStatus(2)]
        assert (one.exchange.traffic.messages, one.exchange.link_count) == (2, 0)

    run(main, seed=1)


@pytest.mark.parametrize(
    ("answer", "error", "problem"),
    [
        (Failed(1, "no room"), Refused, r"10\.0\.0\.2:7400 refused: no room"),
        (
            NotHere(1, dht.Contact(bytes(20), "10.9.9.9", 1), leaves=False),
            Elsewhere,
            r"10\.0\.0\.2:7400 says that 10\.9\.9\.9:1 is responsible",
        ),
        (Loads(1, []), PeerMisbehaved, r"10\.0\.0\.2:7400 answered with Loads; expected Done"),
        (Done(2), PeerUnreachable, r"10\.0\.0\.2:7400 did not answer within 30 s"),
    ],
    ids=["refused", "elsewhere", "of another kind", "to another question"],
)
def test_answers_that_are_none_are_errors(answer: Message, error: type[Exception], problem: str) -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        other.answers = [answer]
        async with one.links, other.links:
            with pytest.raises(error, match=problem):
                await one.exchange.ask(other.contact, AskStatus, Done)

    run(main, seed=2)


def test_silence_ends_a_request_and_a_late_answer_is_nothing() -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            began_s = net.loop.time()
            with pytest.raises(PeerUnreachable, match="did not answer within 30 s"):
                await one.exchange.ask(other.contact, AskStatus, Done)
            assert net.loop.time() - began_s == pytest.approx(ANSWER_TIMEOUT_S, abs=1)

            other.answers = [Done(1), Done(2)]
            link = await one.exchange.link(other.contact)
            link.send(Gap(1))
            assert await one.exchange.ask(other.contact, AskStatus, Done) == Done(2)

    run(main, seed=3)


def test_a_link_that_breaks_fails_what_waits_for_answers() -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            link = await one.exchange.link(other.contact)
            waiting, abandoned = link.ask(AskStatus), link.ask(AskStatus)
            abandoned.cancel()
            net.cut(one.contact.host, other.contact.host)

            with pytest.raises(PeerUnreachable, match=r"the link to 10\.0\.0\.2:7400 broke before it answered: "):
                await answer_of(link, waiting, Done)
            with pytest.raises(PeerUnreachable):
                await link.ask(AskStatus)
            with pytest.raises(PeerUnreachable):
                link.send(Gap(1))
            with pytest.raises(PeerUnreachable):
                await link.drained()
            assert "broke" in await one.broken.get()
            assert link.pending == {}

    run(main, seed=4)


def test_nobody_at_the_address_is_told() -> None:
    async def main(net: SimNet) -> None:
        one = End(net)
        async with one.links:
            with pytest.raises(PeerUnreachable, match=r"10\.9\.9\.9"):
                await one.exchange.link(dht.Contact(bytes(20), "10.9.9.9", PORT))

    run(main, seed=5)


def test_the_way_to_oneself_is_a_link_like_others() -> None:
    async def main(net: SimNet) -> None:
        one = End(net)
        one.answers = [Done(1, 7)]
        async with one.links:
            assert await one.exchange.link(one.contact) is one.exchange.own
            assert (await one.exchange.ask(one.contact, AskStatus, Done)).count == 7
            await one.exchange.own.drained()
        assert one.exchange.own.congested is False
        assert one.exchange.traffic.messages == 0

    run(main, seed=6)


def test_messages_of_one_read_are_one_batch() -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            link = await one.exchange.link(other.contact)
            for number in range(5):
                link.send(Gap(number))
            assert link.congested is False
            await asyncio.sleep(1)
            assert other.heard == [Gap(number) for number in range(5)]
            assert other.batches == 1

    run(main, seed=7)


def test_a_frame_that_is_no_message_ends_its_link(caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            await one.exchange.link(other.contact)
            link = one.links.link_to(other.contact.id)
            assert link is not None
            link.send(b"\xc1")
            await one.broken.get()
            assert other.exchange.traffic.malformed == 1
            assert other.heard == []
            assert await one.exchange.link(other.contact) is not None

    run(main, seed=8)
    assert "a frame of 1 bytes is no message of this protocol" in caplog.text


def test_requests_that_their_askers_gave_up_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.exchange, "FORGET_AT", 10)

    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            link = await one.exchange.link(other.contact)
            waiting = [link.ask(AskStatus) for _ in range(5)]
            for _ in range(100):
                link.ask(AskStatus).cancel()
            assert len(link.pending) <= 10

            link.take_answer(Done(1, 7))
            assert (await answer_of(link, waiting[0], Done)).count == 7

    run(main, seed=21)


def test_a_link_whose_peer_answers_nothing_is_ended_when_too_much_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.exchange, "FORGET_AT", 10)
    monkeypatch.setattr(PeerLink, "max_pending", 20)

    async def main(net: SimNet) -> None:
        one, other = End(net), End(net)
        async with one.links, other.links:
            link = await one.exchange.link(other.contact)
            waiting = [link.ask(AskStatus) for _ in range(50)]

            assert await one.broken.get() == "it has left 20 requests unanswered"
            assert all(isinstance(answer.exception(), PeerUnreachable) for answer in waiting)
            assert not link.pending
            own = [one.exchange.own.ask(AskStatus) for _ in range(50)]
            assert not any(answer.done() for answer in own)

    run(main, seed=22)
