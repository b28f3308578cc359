"""Who is told which keys, once for all that happens while they change hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence

import pytest
from key_holders import holders, where
from peers import others, quiet, simulate

import dht
from dht.simnet import SimNet, run
from gsg import Peer, Symbol
from gsg.churn.handover import MENDING_S, SETTLING_S, Handover
from gsg.errors import PeerUnreachable, Refused
from gsg.replication.copying import EVER, SOON_S, Copying, Outcome
from gsg.storage.facts_by_key import FactsByKey
from gsg.tuples.features import Key

ON = Symbol("on")
PLACE: Key = (3, 1, ON)
OTHER: Key = (3, 0, "x")
HOLDER = dht.Contact(b"h" * 20, "10.0.0.1", 7400)


class Teller(Copying):
    """Copying without links, and what it would send."""

    def __init__(self) -> None:
        self.held = FactsByKey()
        super().__init__(None, None, self.held, self._start, self._ended)  # type: ignore[arg-type]  # nothing is sent
        self.held.enter(PLACE, ("x", ON, "y"), 1)
        self.held.enter(OTHER, ("x", ON, "y"), 1)
        self.sent: list[list[Key]] = []
        self.took_s = 0.0
        self.is_confirmed = True
        self.ended = 0
        self.tasks: list[asyncio.Task[None]] = []

    async def told(self, *keys: Key) -> Outcome:
        return await self.bring_up_to_date(HOLDER, keys)

    async def differing(self, holder: dht.Contact, keys: Sequence[Key], since: int, until: int = EVER) -> list[Key]:
        return list(keys)

    async def copy_keys(self, holder: dht.Contact, keys: Sequence[Key]) -> None:
        assert holder == HOLDER
        self.sent.append(list(keys))
        await asyncio.sleep(self.took_s)
        if not self.is_confirmed:
            raise Refused("its disk is full")

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def _ended(self) -> None:
        self.ended += 1


def in_virtual_time(work: Callable[[Teller], Coroutine[None, None, None]]) -> None:
    async def main(net: SimNet) -> None:
        teller = Teller()
        await work(teller)
        await asyncio.gather(*teller.tasks)

    run(main, seed=1)


def test_who_does_not_confirm_is_told_again() -> None:
    async def work(teller: Teller) -> None:
        teller.is_confirmed = False

        assert await teller.told(PLACE) is Outcome.FAILED
        assert await teller.told(PLACE) is Outcome.FAILED

        assert teller.sent == [[PLACE], [PLACE]]

    in_virtual_time(work)


def test_who_takes_long_is_waited_for_elsewhere_and_told_nothing_meanwhile() -> None:
    async def work(teller: Teller) -> None:
        teller.took_s = 3 * SOON_S

        assert await teller.told(PLACE) is Outcome.LATER
        assert teller.is_late
        assert await teller.told(OTHER) is Outcome.LATER
        assert teller.ended == 0
        await asyncio.sleep(2 * SOON_S)

        assert not teller.is_late
        assert (teller.sent, teller.ended) == ([[PLACE]], 1)
        teller.took_s = 0.0
        assert await teller.told(PLACE) is Outcome.CONFIRMED

    in_virtual_time(work)


def test_who_is_being_told_something_else_is_told_afterwards() -> None:
    async def work(teller: Teller) -> None:
        teller.took_s = SOON_S / 2
        first = asyncio.get_running_loop().create_task(teller.told(PLACE))
        await asyncio.sleep(0)

        assert await teller.told(OTHER) is Outcome.LATER

        assert (await first, teller.ended) == (Outcome.CONFIRMED, 1)

    in_virtual_time(work)


# --- whole peers ------------------------------------------------------------------------------------------------------------------


async def _nothing() -> None:
    """A round of repair in which nothing is compared."""


def count_copies(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, Key]]:
    """Who is sent which key from now on."""
    sent: list[tuple[bytes, Key]] = []
    copy = Copying.copy_keys

    async def counting(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
        sent.extend((holder.id, each) for each in keys)
        await copy(self, holder, keys)

    monkeypatch.setattr(Copying, "copy_keys", counting)
    return sent


def test_a_new_holder_is_sent_a_key_once_however_many_more_die(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("x", ON, "y")])
        await asyncio.sleep(2 * SETTLING_S)
        sent = count_copies(monkeypatch)
        dead = holders(peers, PLACE)[0]
        living = others(peers, dead)
        await dead.__aexit__(ConnectionError, None, None)
        for peer in living:
            peer._parts.holders.failed(dead.contact.id, PeerUnreachable("it is gone"))
        await quiet()
        assert (holders(living, PLACE)[2].contact.id, PLACE) in sent

        for number in range(5):
            for peer in living:
                peer._parts.handover.peer_died(bytes([number]) * 20)
            await quiet()

        assert len(sent) == len(set(sent))

    simulate(work, seed=91, size=6)


def test_those_keys_are_sent_that_are_not_the_same_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, other = peers
        await host.insert([("x", ON, "y"), ("z", ON, "y")])
        other._parts.rendezvous.held.drop((3, 0, "x"))
        other._parts.rendezvous.held.leave(PLACE, ("z", ON, "y"), 1)
        host._parts.rendezvous.held.enter((3, 0, "z"), ("z", ON, "new"), host._parts.clock.next_stamp())
        sent = count_copies(monkeypatch)
        keys = list(host._parts.rendezvous.all_keys())

        assert await host._parts.handover._copying.bring_up_to_date(other.contact, [], keys) is Outcome.CONFIRMED

        assert [each for _, each in sent] == [each for each in keys if each in ((3, 0, "x"), (3, 0, "z"), PLACE)]
        held = [peer._parts.rendezvous.held for peer in peers]
        assert all(held[0].digest(each) == held[1].digest(each) for each in keys)

    simulate(work, seed=97, size=2)


def test_who_was_to_send_a_key_may_be_found_dead_long_after_the_others() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("x", ON, "y")])
        await asyncio.sleep(2 * SETTLING_S)
        for peer in peers:
            peer._parts.anti_entropy.compare_with_all = _nothing  # type: ignore[method-assign]  # what hand-over leaves out is to stay so
        first, stuck, _ = holders(peers, PLACE)
        living = others(peers, first, stuck)

        async def never(holder: dht.Contact, keys: list[Key]) -> None:
            await asyncio.Event().wait()

        stuck._parts.handover._copying.copy_keys = never  # type: ignore[method-assign]  # as where it is not given the processor
        net.crash(first.contact.host, quietly=True)
        await asyncio.sleep(5 * MENDING_S)
        net.crash(stuck.contact.host, quietly=True)
        await asyncio.sleep(3 * MENDING_S)

        assert where(living, PLACE) == holders(living, PLACE)
        for peer in (first, stuck):
            await peer.__aexit__(ConnectionError, None, None)

    simulate(work, seed=92, size=8)


def test_a_holder_that_takes_long_does_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Copying.copy_keys
    stuck: list[bytes] = []

    async def sticking(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
        if holder.id in stuck:
            await asyncio.sleep(10 * MENDING_S)
        await copy(self, holder, keys)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, one, other = peers
        await host.insert([("x", ON, "y")])
        await asyncio.sleep(2 * SETTLING_S)
        for peer in peers:
            peer._parts.anti_entropy.compare_with_all = _nothing  # type: ignore[method-assign]  # what hand-over leaves out is to stay so
        for peer in (one, other):
            for key in list(host._parts.rendezvous.all_keys()):
                peer._parts.rendezvous.held.drop(key)
        sent = count_copies(monkeypatch)
        stuck.append(one.contact.id)

        host._parts.handover.holder_recovered(one.contact.id)
        await asyncio.sleep(1.0)
        host._parts.handover.holder_recovered(other.contact.id)
        await asyncio.sleep(SOON_S)

        assert {peer for peer, _ in sent} == {one.contact.id, other.contact.id}
        assert list(host._parts.handover._newcomers) == [one.contact.id]
        await asyncio.sleep(12 * MENDING_S)
        assert not host._parts.handover._newcomers
        assert not host._parts.handover._again.is_set()

    monkeypatch.setattr(Copying, "copy_keys", sticking)
    simulate(work, seed=93, size=3)


def test_a_key_that_had_moved_and_is_ours_again_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    hand_over = Handover._hand_over

    async def counting(self: Handover) -> None:
        looks.append(len(list(self._rendezvous.moved)))
        await hand_over(self)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await host.insert([("x", ON, "y")])
        await asyncio.sleep(SETTLING_S)
        monkeypatch.setattr(Handover, "_hand_over", counting)
        host._parts.rendezvous.move_keys((PLACE,))

        host._parts.handover.found_strays()
        await quiet()

        assert looks == [1, 0]

    simulate(work, seed=95, size=1)


def test_a_peer_that_many_find_gone_is_gone_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, other = peers
        gone: list[bytes] = []
        host._parts.holders._on_gone = lambda peer, lives: gone.append(peer)

        for _ in range(3):
            host._parts.holders.failed(other.contact.id, PeerUnreachable("it is gone"))

        assert gone == [other.contact.id]

    simulate(work, seed=96, size=2)
