"""Events that come to a peer before it knows who holds their keys, as when it was just started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest
from line import Line
from lives import Lives, slow_disks
from peers import PORT, quiet, rendezvous

import dht
import gsg.churn.unknown_holders
import gsg.wire.waiting
import rete
from dht.simnet import run
from gsg.churn.unknown_holders import UnknownHolders
from gsg.errors import PeerUnreachable, Refused
from gsg.placement.holders import UNSURE_S
from gsg.tuples.features import Key
from gsg.tuples.terms import Symbol, Term
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Event, Flash, Message, Publish
from gsg.wire.waiting import WaitingLines

ANOTHER = dht.Contact(b"b" * 20, "10.0.0.2", PORT)


def rang(request: int, **options: Any) -> Flash:  # Any: as Flash takes them
    return Flash(request, b"publisher", [Event(request, ("rang", request))], [b"\0"], **options)


class Served:
    """One peer's events, and who finds holders for them; ``known`` are the keys whose holders it knows, and a lookup ends when it
    is let go on."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.known: set[Key] = set()
        self.alone = False
        self.leaving, self.settling = False, True
        self.found = asyncio.Event()
        self.problem = ""
        self.defect: Exception | None = None
        self.met: list[dht.Contact] = []
        self.carried_out: list[Message] = []
        self.refused: list[str] = []
        self.own, self.link = Line("own"), Line("another")
        self.link.contact, self.link.frame_bytes = ANOTHER, 100
        self.lines = WaitingLines(self._delivered, lambda: 0.0)
        self.unplaced = UnknownHolders(
            self,  # type: ignore[arg-type]  # all that is asked of Holders
            self.own,
            self,  # type: ignore[arg-type]  # all that is asked of Responsibility
            lambda work: self._start(group, work),
            self.lines,
            refuse=lambda link, message, why: self.refused.append(why),
            flush=lambda: None,
        )

    def _start(self, group: asyncio.TaskGroup, work: Coroutine[None, None, None]) -> None:
        group.create_task(work)

    def _delivered(self, link: PeerLink, message: Message) -> None:
        self.brought(message)

    def holders_of_each(self, keys: Iterable[Key]) -> list[tuple[dht.Contact, ...]]:
        return [(ANOTHER,) if key in self.known else () for key in keys]

    async def look_up(self, keys: Iterable[Key]) -> None:
        await self.found.wait()
        if self.defect is not None:
            raise self.defect
        if self.problem:
            raise PeerUnreachable(self.problem)
        self.known.update(keys)

    async def wait_to_meet(self, contact: dht.Contact) -> None:
        self.met.append(contact)
        self.alone = False

    async def find_anew(self, key: Key) -> None:
        self.known.add(key)

    def brought(self, message: Message) -> bool:
        """The link brings this; whether it waits."""
        waits = self.lines.hold_back(self.link, message) or self.unplaced.hold_back(self.link, message)
        if not waits:
            self.carried_out.append(message)
        return waits


def publish(request: int) -> Publish:
    return Publish(request, 1, [("fact", request)], [b"\0"], 1)


async def test_events_wait_until_their_holders_are_known_and_what_comes_behind_them_for_these() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.known.add((2, 0, "rang"))
        assert not served.brought(rang(1))
        served.known.clear()

        waited = [served.brought(rang(2)), served.brought(publish(3)), served.brought(rang(4))]
        served.found.set()

    assert waited == [True, True, True]
    assert served.carried_out == [rang(1), rang(2), publish(3), rang(4)]


async def test_what_another_holder_has_passed_on_is_taken_as_it_is() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)

        assert not served.brought(rang(1, forwarded=True))


async def test_nobody_looks_where_all_is_settled_unless_the_publisher_is_unsure() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.settling = False

        waited = [served.brought(rang(1)), served.brought(rang(2, unsure=True))]
        served.found.set()

    assert waited == [False, True]


async def test_who_takes_itself_for_alone_meets_whoever_speaks_to_it_first() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.alone, served.settling = True, False

        assert served.brought(rang(1))

    assert served.met == [ANOTHER]
    assert served.carried_out == [rang(1)]


async def test_where_the_overlay_cannot_say_who_holds_them_all_that_waits_is_refused() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.problem = "nobody answers"
        served.brought(rang(1))
        served.brought(publish(2))
        served.found.set()

    assert served.carried_out == []
    assert served.refused == ["the holders of its keys are not known: nobody answers; publish it again"] * 2


async def test_a_defect_in_looking_keeps_nothing_of_a_link_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.defect = ZeroDivisionError("a defect")
        served.brought(rang(1))
        served.brought(publish(2))
        served.found.set()

    assert (
        served.refused == ["the holders of its keys are not known: this peer failed on it; its log says more; publish it again"] * 2
    )
    assert "a defect" in caplog.text
    served.known.add((2, 0, "rang"))
    assert not served.brought(rang(3))


async def test_they_are_not_looked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.churn.unknown_holders, "FINDING_S", 0.01)
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.brought(rang(1))

    assert served.refused == ["the holders of its keys are not known: not found within 0.01 s; publish it again"]


async def test_nothing_comes_of_a_link_that_is_gone() -> None:
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.brought(rang(1))
        served.lines.drop_link(served.link)
        served.found.set()

    assert (served.carried_out, served.refused) == ([], [])


async def test_who_does_not_wait_for_answers_is_refused_when_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.waiting, "WAITING_BYTES", 2_500)
    async with asyncio.TaskGroup() as group:
        served = Served(group)
        served.brought(rang(1))
        served.brought(rang(2))
        with pytest.raises(Refused, match="2 messages wait for events before them, whose holders are looked up; wait for answers"):
            served.brought(rang(3))
        served.found.set()


# --- peers that are started again --------------------------------------------------------------------------------------------


def restarted(
    folder: Path, work: Callable[[Lives, int, Term, list[Term]], Coroutine[Any, Any, None]], *, seed: int, settled_s: float
) -> None:
    """Six peers, the second of which hears of events whose rendezvous is not the publisher, 0; what it has heard is listed."""

    async def main(net: Any) -> None:  # Any: a SimNet
        lives = Lives(net, folder)
        await lives.begin(6)
        peers = list(lives.peers.values())
        name = next(
            name for name in (Symbol(f"f{number}") for number in range(1_000)) if rendezvous(peers, 2, 0, name) is lives.peers[3]
        )
        heard: list[Term] = []
        await lives.peers[1].listen(rete.Template((name, None)), lambda event, _: heard.append(event.items[1]), anchor=0)
        await asyncio.sleep(settled_s)
        for peer in peers:
            await peer.notify([("nobody", "asks")])  # so that each has heard what is asked for
        await quiet()
        await work(lives, 3, name, heard)
        await lives.end()

    run(main, seed=seed)


def test_who_is_just_entering_does_not_say_that_nothing_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(lives: Lives, asked: int, name: Term, heard: list[Term]) -> None:
        await lives.kill(asked)
        slow_disks(monkeypatch, seed=1, least_s=0.3, most_s=0.3)
        starting = asyncio.ensure_future(lives.start(asked))
        said = 0
        while not starting.done():
            said += 1
            await lives.peers[0].notify([(name, said)])
            await asyncio.sleep(0.01)
        await starting
        await quiet()

        assert heard == list(range(1, said + 1))

    slow_disks(monkeypatch, seed=1, most_s=0.0)
    restarted(tmp_path, work, seed=1, settled_s=UNSURE_S + 5)


@pytest.mark.parametrize(("seed", "settled_s", "down_s"), [(1, UNSURE_S + 5, 0.3), (6, 20.0, 2.0)], ids=["settled", "unsure"])
def test_events_are_told_though_two_holders_crash_and_one_is_back_at_once(
    seed: int, settled_s: float, down_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(lives: Lives, asked: int, name: Term, heard: list[Term]) -> None:
        acknowledged = []

        async def go_on_publishing() -> None:
            for number in range(1, 250):
                await lives.peers[0].notify([(name, number)])
                acknowledged.append(number)
                await asyncio.sleep(0.01)

        publishing = asyncio.ensure_future(go_on_publishing())
        await asyncio.sleep(1.0)
        for number in (asked, 5):
            await lives.kill(number)
        await asyncio.sleep(down_s)
        await lives.start(asked)
        await publishing
        await quiet()

        assert heard == acknowledged == list(range(1, 250))

    slow_disks(monkeypatch, seed=1, least_s=0.02, most_s=0.02)
    restarted(tmp_path, work, seed=seed, settled_s=settled_s)


def test_who_goes_on_alone_tells_nobody_that_all_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(lives: Lives, asked: int, name: Term, heard: list[Term]) -> None:
        host = lives.peers[asked].contact.host
        await lives.kill(asked)
        lives.net.partition([[host], [peer.contact.host for peer in lives.peers.values()]])
        back = await lives.start(asked)
        lives.net.heal()
        assert back._parts.holders.alone

        for number in range(60):
            await lives.peers[0].notify([(name, number)])
            await asyncio.sleep(0.05)
        await quiet()

        assert heard == list(range(60))

    slow_disks(monkeypatch, seed=1, least_s=0.01, most_s=0.01)
    restarted(tmp_path, work, seed=3, settled_s=UNSURE_S + 35)
