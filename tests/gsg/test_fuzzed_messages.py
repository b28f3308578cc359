"""Twenty thousand messages that are none, and some hundreds at a living peer: refused, counted, and nobody else is concerned."""

from __future__ import annotations

from random import Random

import pytest
from peers import quiet, simulate, stranger_of

import dht
import rete
from dht.simnet import SimNet
from gsg import Peer, PeerMisbehaved, Symbol, messages
from gsg.messages import (
    AskInterest,
    AskKeys,
    AskLoads,
    AskPassed,
    AskRanges,
    AskStatus,
    Deltas,
    Event,
    Flash,
    Gap,
    InsertCondition,
    Publish,
    RemoveCondition,
    Replicate,
    Resume,
    Snapshot,
    decode,
    encode,
)

ON = Symbol("on")
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
        before = (target._rendezvous.templates(), target._rendezvous.facts(), len(target._running))
        async with stranger_of(net) as stranger:
            for _ in range(40):
                link = await stranger.to(target.contact)
                for _ in range(5):
                    if link.state is dht.LinkState.OPEN:
                        link.send(mutated(rng, rng.choice(GOOD)))
                link.send(b"\xc1") if link.state is dht.LinkState.OPEN else None
                await link.ended()
        await quiet()

        assert target._exchange.traffic.malformed >= 20
        assert target._rendezvous.templates() == before[0]
        # What was understood was done: mutations of a good publish make facts of their own.
        assert before[1] <= target._rendezvous.facts() <= before[1] + 100
        assert len(target._running) <= before[2] + 2
        assert await peers[2].insert([("c", Symbol("steady"), "d")]) == 1
        await quiet()
        assert subscription.rows().total() == 2
        assert [each for each in target._endpoint.links.all() if each.peer.id == stranger.id] == []

    simulate(work, seed=seed + 1, size=3)


def test_the_messages_here_are_good() -> None:
    assert [encode(decode(each)) for each in GOOD] == GOOD
