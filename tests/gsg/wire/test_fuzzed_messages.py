"""Twenty thousand messages that are none, and some thousands at living peers: refused, counted, and nobody else is concerned."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from lives import Lives, slow_disks
from peers import quiet, simulate, stranger_of, unread
from wild import Wild

import dht
import rete
from dht.simnet import SimNet, run
from gsg import Peer, PeerMisbehaved, PeerUnreachable, Refused, RemoteError, Symbol
from gsg.placement.holders import UNSURE_S
from gsg.replication.anti_entropy import COMPARE_S
from gsg.tuples.features import Key
from gsg.wire import messages
from gsg.wire.holder_messages import AskKeys, AskRanges, Replicate
from gsg.wire.interest_messages import AskInterest
from gsg.wire.load_messages import AskLoads
from gsg.wire.messages import (
    AskPassed,
    AskStatus,
    Beat,
    Deltas,
    Event,
    Flash,
    Gap,
    InsertCondition,
    Publish,
    RemoveCondition,
    Resume,
    Snapshot,
    decode,
    encode,
)
from gsg.wire.status_messages import ArityCount, ConstantCount, Vocabulary

ON, STEADY = Symbol("on"), Symbol("steady")
TEMPLATE: rete.Template[object] = rete.Template((None, ON, None))
GOOD = [
    encode(message)
    for message in (
        Publish(1, 1, [("a", ON, "b"), (1, "x")], [b"\x00", b"\x01"], 7),
        Publish(1, -1, [("a", ON, "b")], [b"\x00\x01"], 7, audience=frozenset((b"p" * 20,))),
        Flash(2, b"p" * 20, [Event(1, ("a", ON))], [b"\x00"]),
        Flash(2, b"p" * 20, [Event(1, ("a", ON))], [b"\x00"], audience=frozenset((b"p" * 20,))),
        Replicate(2, [1, -1], [("a", ON), ("b", ON)], [b"\x00", b"\x01"], [7, 8], [None, frozenset((b"q" * 20,))]),
        InsertCondition(3, 1, TEMPLATE, 1, messages.Test("filter", "x")),
        InsertCondition(4, 2, TEMPLATE, 1),
        RemoveCondition(1),
        Resume(1),
        AskLoads(5, TEMPLATE, [0, 1]),
        AskStatus(6),
        AskStatus(6, 100),
        Vocabulary(6, [ConstantCount(3, 1, ON, 2, 1)], [ArityCount(3, 2, 7)]),
        Beat(6, 7, "http://10.0.0.1:8470"),
        AskInterest(),
        AskPassed(b"p" * 20, 1),
        AskRanges(7, [1, 2, 3]),
        AskKeys(8, [(3, 1, ON)], [1]),
        Snapshot(1, [("a", ON, "b")], True, True, 0),
        Deltas(1, 0, [("a", ON, "b")], [1]),
        Gap(1),
    )
]


def mutated(rng: Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(4):
            case 0:
                made[at : at + 1] = rng.randbytes(1)
            case 1:
                del made[at : at + rng.randint(1, 8)]
            case 2:
                made[at:at] = made[at : at + rng.randint(1, 20)]
            case _:
                made[at : at + 1] = bytes((rng.choice((0, 0x7F, 0x80, 0x90, 0x9F, 0xC0, 0xC1, 0xCF, 0xD3, 0xDC, 0xDD, 0xFF)),))
    return bytes(made)


def test_what_is_no_message_is_refused_in_one_way() -> None:
    rng = Random(1)
    refused = 0
    for number in range(20_000):
        data = mutated(rng, rng.choice(GOOD)) if number % 4 else rng.randbytes(rng.randrange(200))
        try:
            decode(data)
        except PeerMisbehaved:
            refused += 1

    assert refused > 8_000


@pytest.mark.parametrize("seed", range(3))
def test_a_peer_outlives_members_that_say_what_they_like(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        target = peers[0]
        subscription = await peers[1].subscribe("(?x, steady, ?y)")
        await peers[2].insert([("a", Symbol("steady"), "b")])
        await quiet()
        rng = Random(seed)
        before = (target._parts.rendezvous.conditions.templates(), target._parts.rendezvous.held.distinct(), len(target._running))
        async with stranger_of(net) as stranger:
            for _ in range(40):
                link = await stranger.connect(target.contact)
                for _ in range(5):
                    if link.state is dht.LinkState.OPEN:
                        link.send(mutated(rng, rng.choice(GOOD)))
                link.send(b"\xc1") if link.state is dht.LinkState.OPEN else None
                await link.ended()
        await quiet()

        assert target._parts.exchange.traffic.malformed >= 20
        assert target._parts.rendezvous.conditions.templates() == before[0]
        # What was understood was done: mutations of a good publish make facts of their own.
        assert before[1] <= target._parts.rendezvous.held.distinct() <= before[1] + 100
        assert len(target._running) <= before[2] + 2
        assert await peers[2].insert([("c", Symbol("steady"), "d")]) == 1
        await quiet()
        assert subscription.rows().total() == 2
        assert [each for each in target._endpoint.links.open_links() if each.peer.id == stranger.id] == []

    simulate(work, seed=seed + 1, size=3)


def test_the_messages_here_are_good() -> None:
    assert [encode(decode(each)) for each in GOOD] == GOOD


async def rave(rng: Random, mad: Peer, target: Peer, peers: Sequence[Peer], count: int) -> None:
    """A member with all that it has, its place among the holders and its links, says whatever its types allow."""
    wild = Wild(rng, [peer.contact for peer in peers])
    for number in range(count):
        with contextlib.suppress(PeerUnreachable, Refused):
            (await mad._parts.exchange.link(target.contact)).send(wild.message())
        if number % 5 == 0:
            await asyncio.sleep(0.02)


async def mends(poor: Peer, place: Key) -> bool:
    """Whether others give a peer back what it has lost without knowing."""
    poor._parts.rendezvous.held._facts.pop(place)
    assert poor._parts.rendezvous.held.changed is not None
    poor._parts.rendezvous.held.changed[place] = None
    await asyncio.sleep(4 * COMPARE_S)
    return place in poor._parts.rendezvous.held


@pytest.mark.parametrize("seed", range(2))
def test_a_peer_does_all_that_it_did_after_a_member_went_mad(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(4)
        target, other, third, mad = (lives.peers[number] for number in range(4))
        await target.subscribe("(?x, ?p, ?y)")
        await target.subscribe("(?x, ^steady, ?y)")
        await other.insert([(number, STEADY, "b") for number in range(20)])
        # Until what each asks for is known to the others, and relied on.
        await asyncio.sleep(UNSURE_S)
        for _ in range(5):
            with contextlib.suppress(RemoteError):  # the mad one may hold a key of this, and refuse it
                await target.notify([("said", STEADY, "before")])
            await asyncio.sleep(1)
            await rave(net.rng(), mad, target, [target, other, third, mad], 300)
            with contextlib.suppress(RemoteError):  # as above
                await target.notify([("said", STEADY, "meanwhile")])
        await lives.kill(3, lose_disk=True)
        await asyncio.sleep(60)

        # It publishes, and hears.
        heard = await target.subscribe("(?x, ^steady, ?y)")
        assert heard.rows().total() == 20
        assert await target.insert([("a", STEADY, "b")]) == 1
        assert await other.insert([("c", STEADY, "d")]) == 1
        await other.notify([("an", STEADY, "event")])
        await quiet()
        assert heard.rows().total() == 22
        assert (await unread(heard))[-1] == '!?x="an" ?y="event"'
        # It repairs others, and is repaired.
        assert await mends(other, (3, 1, STEADY))
        assert await mends(target, (3, 1, STEADY))
        # It says how it is.
        assert {one.peer for one in await other.status()} == {peer.contact.id for peer in (target, other, third)}
        # It starts again from its disk.
        await lives.kill(0)
        target = await lives.start(0)
        await asyncio.sleep(30)
        assert target.resumed_facts >= 22
        assert (await target.subscribe("(?x, ^steady, ?y)")).rows().total() == 22
        await lives.end()

    slow_disks(monkeypatch, seed, most_s=0.01)
    run(main, seed=100 + seed)
    assert not [record.getMessage() for record in caplog.records if record.exc_info or record.levelno > logging.WARNING]
