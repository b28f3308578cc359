"""Eighty thousand datagrams, streams and handshakes of strangers and of members gone mad: nothing raises, and no table grows.

tests/gsg/wire/test_fuzzed_messages.py has twenty thousand messages on links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import msgspec
import pytest

from dht import Framer, FrameTooLarge, Identity, Membership, Overlay, frame, random_id
from dht.datagrams.datagrams import MAX_GIVEN_UP
from dht.datagrams.sealed_datagrams import INTRODUCTION, MAX_INTRODUCED, REFUSED, SEALED, SealedDatagrams
from dht.links.handshake import HandshakeFailed, ProvedHandshake
from dht.simnet import SimNet, run

PORT = 7400


def mutated(rng: Random, data: bytes) -> bytes:
    """The data with some bytes changed, left out, repeated or added."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(5):
            case 0:
                made[at : at + 1] = rng.randbytes(1)
            case 1:
                del made[at : at + rng.randint(1, 8)]
            case 2:
                made[at:at] = rng.randbytes(rng.randint(1, 8))
            case 3:
                made[at:at] = made[at : at + rng.randint(1, 40)]
            case _:
                made[at : at + 1] = bytes((rng.choice((0, 1, 0x7F, 0x80, 0x90, 0x9F, 0xC0, 0xC4, 0xDC, 0xDD, 0xFF)),))
    # Some of these do nothing at the end.
    return bytes(made) if made != data else bytes(made) + b"!"


def garbage(rng: Random) -> bytes:
    """Bytes that begin like something."""
    return rng.choice((b"", b"\0", b"\1", INTRODUCTION, SEALED, REFUSED)) + rng.randbytes(rng.choice((0, 1, 20, 40, 200, 1400)))


QUERIES: list[Callable[[Random, bytes], object]] = [
    lambda rng, me: ("ping", [me]),
    lambda rng, me: ("closest", [me, rng.randbytes(20)]),
    lambda rng, me: ("find_node", [me, rng.randbytes(20)]),
    lambda rng, me: ("probe", [me, rng.getrandbits(40), [[1, rng.randbytes(20), 3]] * rng.randint(0, 9)]),
    lambda rng, me: ("vouch", [me, 1, [], [rng.randbytes(20), "10.0.0.9", 7400]]),
    lambda rng, me: ("stun", []),
    lambda rng, me: ("store", [me, rng.randbytes(20), b"x"]),
    lambda rng, me: (rng.choice(("__init__", "", "find_value", "x" * 300)), [me]),
]


def sizes(overlay: Overlay) -> dict[str, int]:
    queries = overlay._datagrams
    return {
        "contacts": len(overlay.contacts()),
        "sessions": len(overlay._sealing),  # type: ignore[arg-type]  # SealedDatagrams, as there is a membership
        "records": len(overlay._detector.swim),
        "regions": len(overlay.regions),
        "book": len(overlay._joining.book),
        "pending": len(queries._pending),
        "rumours": len(overlay._detector.swim._gossip),
    }


def test_datagrams_of_strangers_and_of_a_mad_member_change_nothing() -> None:
    async def main(net: SimNet) -> None:
        identities = [Identity(net.rng().randbytes(32)) for _ in range(3)]
        peers = [
            Overlay(each.id, net.host(), PORT, rng=net.rng(), membership=Membership(each), incarnation=1) for each in identities
        ]
        mad = Identity(b"m" * 32)
        sealing = SealedDatagrams(Membership(mad), life=1, rng=net.rng())
        here = (net.host(), PORT)
        sealing.set_own_address(here)
        rng = Random(net.seed)
        async with peers[0] as target, peers[1], peers[2]:
            for peer in peers[1:]:
                await peer.join([target.contact.address])
            await asyncio.sleep(30)
            queries = target._datagrams
            before = sizes(target)

            # What a recorded exchange becomes when it is changed, and what never was one.
            recorded = [sealing.seal(msgspec.msgpack.encode(("ping", [mad.id])), target.contact.address) for _ in range(20)]
            for _ in range(20_000):
                queries.datagram_received(mutated(rng, rng.choice(recorded)), here)
            for _ in range(20_000):
                queries.datagram_received(garbage(rng), (here[0], rng.randrange(1, 65536)))
            assert sizes(target) == before

            # Sealed as they should be, by a member that says what it likes; nobody answers where it claims to live.
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=here)
            queries.datagram_received(recorded[0], here)
            answer = target._sealing.seal(b"\1", here)
            sealing.open(answer, target.contact.address, 0.0)
            sealing._sessions[target.contact.id].mutual = True
            for number in range(20_000):
                body = msgspec.msgpack.encode(rng.choice(QUERIES)(rng, mad.id))
                said = rng.choice((b"\0", b"\1")) + rng.randbytes(20) + body
                if number % 4:
                    said = mutated(rng, said)
                queries.datagram_received(sealing.seal(said, target.contact.address), here)
                if number % 100 == 0:
                    await asyncio.sleep(0.05)
            transport.close()
            await asyncio.sleep(120)

            after = sizes(target)
            assert after.pop("sessions") == before.pop("sessions") + 1
            assert after == before
            assert queries.counts["datagrams malformed"] > 1_000
            assert len(queries.counts) < 40
            assert len(queries._given_up) <= MAX_GIVEN_UP
            assert len(target._sealing._introduced) <= MAX_INTRODUCED  # type: ignore[attr-defined]  # SealedDatagrams
            assert set(await target.owners(random_id(rng), r=3)) == {each.contact for each in peers}

    run(main, seed=11)


@pytest.mark.parametrize("seed", range(2))
def test_streams_of_rubbish_are_cut_into_frames_or_refused(seed: int) -> None:
    rng = Random(seed)
    good = b"".join(frame(rng.randbytes(rng.randrange(200))) for _ in range(5))
    for _ in range(5_000):
        framer = Framer(limit_bytes=1000)
        said = mutated(rng, good)
        try:
            while said:
                step = rng.randint(1, 400)
                for payload in framer.feed(said[:step]):
                    assert len(payload) <= 1000
                said = said[step:]
        except FrameTooLarge:
            continue
        assert framer._held <= 1004 + 400


@pytest.mark.parametrize("listens", [True, False])
def test_handshakes_of_rubbish_end_in_one_way(listens: bool) -> None:
    rng = Random(listens)
    a, b = Membership(Identity(b"a" * 32)), Membership(Identity(b"b" * 32))
    dialler = ProvedHandshake(a, PORT, 1, dialled=b.id, tls=False, nonce=rng.randbytes)
    hello = dialler.begin()
    answer = ProvedHandshake(b, PORT, 1, dialled=None, tls=False, nonce=rng.randbytes).received(hello)
    proved = 0
    for _ in range(5_000):
        side = ProvedHandshake(b if listens else a, PORT, 1, dialled=None if listens else b.id, tls=False, nonce=rng.randbytes)
        if not listens:
            side.begin()
        said = rng.choice((mutated(rng, hello if listens else answer), garbage(rng)))
        try:
            while said:
                side.received(said[:50])
                said = said[50:]
        except HandshakeFailed:
            continue
        proved += side.done

    assert proved == 0
