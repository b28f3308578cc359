"""How links begin: who is believed, decided without a network."""

from __future__ import annotations

from random import Random

import pytest

from dht import Identity, Membership
from dht.errors import Refusal
from dht.links.frames import frame
from dht.links.handshake import MAX_HANDSHAKE_BYTES, HandshakeFailed, HandshakeFrames, ProvedHandshake, refusal_frame

A, B, C = (Identity(name * 32) for name in (b"a", b"b", b"c"))
SECRET = b"the network's secret"


def handshake(
    own: Identity, dialled: Identity | None = None, *, tls: bool = False, port: int = 7400, seed: int = 0, **options: object
) -> ProvedHandshake:
    membership = Membership(own, **options)  # type: ignore[arg-type]  # as Membership takes them
    nonce = Random(own.id + bytes([seed])).randbytes
    return ProvedHandshake(membership, port, 77, dialled=dialled.id if dialled else None, tls=tls, nonce=nonce)


def test_two_sides_know_each_other_after_three_messages_and_what_follows_is_kept() -> None:
    dialler, listener = handshake(A, B), handshake(B)

    proof = dialler.received(listener.received(dialler.begin()))
    assert listener.received(proof + b"first frame") == b""

    assert (dialler.done, dialler.peer, dialler.port, dialler.start_number) == (True, B.id, 7400, 77)
    assert (listener.done, listener.peer, listener.rest) == (True, A.id, b"first frame")


def test_a_handshake_in_single_bytes_is_the_same() -> None:
    dialler, listener = handshake(A, B), handshake(B)

    answer = b"".join(listener.received(bytes([byte])) for byte in dialler.begin())
    proof = b"".join(dialler.received(bytes([byte])) for byte in answer)
    for byte in proof:
        listener.received(bytes([byte]))

    assert dialler.done
    assert listener.done


def test_no_byte_of_it_can_be_changed() -> None:
    hello = handshake(A, B).begin()
    answer = handshake(B).received(hello)
    dialler = handshake(A, B)
    dialler.begin()
    proof = dialler.received(answer)

    def changed(said: bytes) -> list[bytes]:
        return [said[:at] + bytes([said[at] ^ 1]) + said[at + 1 :] for at in range(4, len(said))]

    for each in changed(hello):
        with pytest.raises(HandshakeFailed):
            handshake(B).received(each)
    for each in changed(answer):
        dialler = handshake(A, B)
        dialler.begin()
        with pytest.raises(HandshakeFailed):
            dialler.received(each)
    for each in changed(proof):
        listener = handshake(B)
        listener.received(hello)
        with pytest.raises(HandshakeFailed):
            listener.received(each)


def test_a_proof_holds_for_one_link_alone() -> None:
    dialler, listener = handshake(A, B), handshake(B)
    hello = dialler.begin()
    proof = dialler.received(listener.received(hello))

    again = handshake(B, seed=1)
    again.received(hello)

    with pytest.raises(HandshakeFailed, match="does not prove its id") as told:
        again.received(proof)
    assert told.value.refusal is Refusal.ID_NOT_PROVED


def test_a_proof_that_is_passed_on_to_a_third_peer_is_not_taken_there() -> None:
    """B, whom A dialled, carries A's words to C, to pass for A there."""
    dialler, third = handshake(A, B), handshake(C)
    answer = third.received(dialler.begin())

    with pytest.raises(HandshakeFailed, match="another peer answers at that address"):
        dialler.received(answer)
    assert dialler.peer == C.id
    with pytest.raises(HandshakeFailed):
        third.received(frame(b"GSGP" + A.public + A.sign(b"whatever")))


def test_whoever_does_not_wait_for_the_answer_is_no_dialler() -> None:
    with pytest.raises(HandshakeFailed, match="does not speak this protocol"):
        handshake(B).received(handshake(A, B).begin() + b"x")


REFUSED = {
    "another secret": ({"secret": SECRET + b"!"}, {"secret": SECRET}, "is of another network", Refusal.OTHER_NETWORK),
    "no secret": ({}, {"secret": SECRET}, "is of another network", Refusal.OTHER_NETWORK),
    "a secret where there is none": ({"secret": SECRET}, {}, "is of another network", Refusal.OTHER_NETWORK),
    "not on the list": ({}, {"allowed": [C.id]}, "the other side is not allowed", Refusal.NOT_ALLOWED),
    "plain, and the listener has TLS": ({}, {"tls": True}, "one side of the link has TLS", Refusal.TLS_ONLY),
    "TLS, and the listener has none": ({"tls": True}, {}, "one side of the link has TLS", Refusal.PLAIN_ONLY),
    "no port": ({"port": 0}, {}, "names no port in its hello", None),
}


@pytest.mark.parametrize(("dialler", "listener", "reason", "refusal"), REFUSED.values(), ids=REFUSED)
def test_who_is_not_let_in_is_told_why(
    dialler: dict[str, object], listener: dict[str, object], reason: str, refusal: Refusal | None
) -> None:
    with pytest.raises(HandshakeFailed, match=reason) as told:
        handshake(B, **listener).received(handshake(A, B, **dialler).begin())  # type: ignore[arg-type]  # as handshake takes them

    assert told.value.refusal is refusal


@pytest.mark.parametrize("refusal", Refusal)
def test_a_refusal_is_read_by_the_other_side(refusal: Refusal) -> None:
    dialler = handshake(A, B)
    dialler.begin()

    with pytest.raises(HandshakeFailed) as told:
        dialler.received(refusal_frame(refusal))
    with pytest.raises(HandshakeFailed) as also:
        HandshakeFrames().cut(refusal_frame(refusal))

    assert str(told.value) == str(also.value) == f"refused: {refusal.sentence}"


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1", b"\xff", b"\0\0\xff\xff", frame(b"GSG9" + bytes(100)), frame(b""), frame(b"GSG3"), frame(bytes(600))],
    ids=["a browser", "a byte", "a length", "another version", "nothing", "a magic alone", f"more than {MAX_HANDSHAKE_BYTES}"],
)
def test_what_is_no_handshake_is_found_out_at_once(said: bytes) -> None:
    for side in (handshake(B), handshake(A, B)):
        with pytest.raises(HandshakeFailed, match="does not speak this protocol"):
            side.received(said)


def test_a_refusal_of_a_later_version_is_a_refusal() -> None:
    for said in (frame(b"GSG!\xff"), frame(b"GSG!")):
        with pytest.raises(HandshakeFailed, match="refused, for a reason that this version does not know"):
            handshake(B).received(said)


def test_a_peer_does_not_link_with_itself() -> None:
    with pytest.raises(HandshakeFailed, match="this peer dialled itself"):
        handshake(A, seed=1).received(handshake(A, A).begin())
