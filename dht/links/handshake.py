"""How a link begins, without I/O: who is at the other end, and whether that is proved.

    dialler ── hello ──> listener           GSG3, TLS or not, to, id, port, start number, nonce, check
    dialler <── hello, proof ── listener    the same of the other side; its public key, its signature over both hellos
    dialler ── proof ──> listener           its public key, its signature over both hellos
    either side ── refusal ──> the other    GSG!, why

Frames all of them. A proof holds for this link alone, since each side's nonce is in it, and for these two peers alone: whoever
passes one on to a third is found out by ``to``. Inside TLS it proves who dialled; who listens the certificate has proved before
(:mod:`dht.links.tls`). A simulated network carries the same exchange without the ciphers.

:class:`ClaimedHandshake` is the shorter handshake of networks where ids are claims: one hello each way, ``GSG1``.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from ..errors import Refusal
from ..identity.ids import ID_BYTES, PeerId
from ..identity.key_pair import PUBLIC_BYTES, SIGNATURE_BYTES, id_of, verified
from ..identity.membership import CHECK_BYTES, Membership
from .frames import HEADER_BYTES, frame

NONCE_BYTES = 16
MAX_HANDSHAKE_BYTES = 512
"""The longest frame of a handshake, far above what any has."""

_CLAIM, _HELLO, _PROOF, _REFUSAL = b"GSG1", b"GSG3", b"GSGP", b"GSG!"
_claim = Struct(f">4s{ID_BYTES}sHQ")
_hello = Struct(f">4sB{ID_BYTES}s{ID_BYTES}sHQ{NONCE_BYTES}s")
_HELLO_BYTES = _hello.size + CHECK_BYTES
_PROOF_BYTES = PUBLIC_BYTES + SIGNATURE_BYTES
_SIGNED_AS = {True: b"gsg link 1 dialler", False: b"gsg link 1 listener"}

OTHER_PROTOCOL = "the other side does not speak this protocol"
WRONG_PEER = "another peer answers at that address"


class HandshakeFailed(Exception):
    """This link is not to be; ``refusal`` says why in a word, if there is one, and ``is_told`` whether the other side hears it."""

    def __init__(self, reason: str, refusal: Refusal | None = None, *, is_told: bool = True) -> None:
        self.refusal = refusal
        self.is_told = is_told
        super().__init__(reason)


def refusal_frame(refusal: Refusal) -> bytes:
    """The frame that tells the other side why there will be no link."""
    return frame(_REFUSAL + bytes((refusal,)))


class HandshakeFrames:
    """Cuts the frames of a handshake out of a stream. They begin with one of ``magics``; without any, only a refusal may come."""

    def __init__(self, *magics: bytes) -> None:
        self._magics = magics
        self._held = b""

    def cut(self, data: bytes) -> bytes | None:
        """The next frame's payload; None when it is not complete. Raises HandshakeFailed as soon as it can be none."""
        self._held += data
        size = int.from_bytes(self._held[:HEADER_BYTES], "big")
        # Compare what is there, so that a stranger is not waited for.
        said = self._held[HEADER_BYTES : HEADER_BYTES + 4]
        if len(self._held) >= HEADER_BYTES and size > MAX_HANDSHAKE_BYTES:
            raise HandshakeFailed(OTHER_PROTOCOL)
        if self._held[:2].strip(b"\0") or not any(magic.startswith(said) for magic in (*self._magics, _REFUSAL)):
            raise HandshakeFailed(OTHER_PROTOCOL)
        if len(self._held) < HEADER_BYTES + size or size < len(_REFUSAL):
            if len(self._held) >= HEADER_BYTES and size < len(_REFUSAL):
                raise HandshakeFailed(OTHER_PROTOCOL)
            return None
        payload, self._held = self._held[HEADER_BYTES : HEADER_BYTES + size], self._held[HEADER_BYTES + size :]
        if payload.startswith(_REFUSAL):
            raise HandshakeFailed(_refusal_text(payload))
        return payload

    def rest(self) -> bytes:
        """What came after the last frame that was cut."""
        rest, self._held = self._held, b""
        return rest


def _refusal_text(payload: bytes) -> str:
    try:
        return f"refused: {Refusal(payload[len(_REFUSAL)]).sentence}"
    except (ValueError, IndexError):
        return "refused, for a reason that this version does not know"


class Handshake:
    """One side's part in the beginning of one link, to the peer that it ``dialled``, or as the listener where that is None."""

    def __init__(self, own: PeerId, dialled: PeerId | None, *magics: bytes) -> None:
        self.peer: PeerId = bytes(ID_BYTES)
        """Who is at the other end: right once ``done``, or when WRONG_PEER was the reason."""
        self.port = self.start_number = 0
        self.done = False
        """Whether both sides know all they need."""
        self.rest = b""
        """What came after the handshake."""
        self._own = own
        self._dialled = dialled
        self._frames = HandshakeFrames(*magics)

    def begin(self) -> bytes:
        """What the dialler says first."""
        raise NotImplementedError

    def received(self, data: bytes) -> bytes:
        """Bytes came: what to send. Raises HandshakeFailed."""
        raise NotImplementedError

    def _check_peer(self) -> None:
        if self.port == 0:
            raise HandshakeFailed("the other side names no port in its hello")
        if self.peer == self._own:
            raise HandshakeFailed("this peer dialled itself")
        if self._dialled is not None and self.peer != self._dialled:
            raise HandshakeFailed(WRONG_PEER)

    def _finish(self) -> None:
        self.done = True
        self.rest = self._frames.rest()


class ClaimedHandshake(Handshake):
    """The handshake of a network where ids are claims."""

    def __init__(self, own: PeerId, port: int, start_number: int, *, dialled: PeerId | None) -> None:
        super().__init__(own, dialled, _CLAIM)
        self._mine = make_claim(own, port, start_number)

    def begin(self) -> bytes:
        """Our hello."""
        return self._mine

    def received(self, data: bytes) -> bytes:
        """As in Handshake."""
        payload = self._frames.cut(data)
        if payload is None:
            return b""
        if len(payload) != _claim.size:
            raise HandshakeFailed(OTHER_PROTOCOL)
        _, self.peer, self.port, self.start_number = _claim.unpack(payload)
        self._check_peer()
        self._finish()
        return b"" if self._dialled is not None else self._mine


class ProvedHandshake(Handshake):
    """The handshake of a network where ids are proved. ``tls`` says whether the link is inside TLS, ``nonce`` draws bytes."""

    def __init__(
        self,
        membership: Membership,
        port: int,
        start_number: int,
        *,
        dialled: PeerId | None,
        tls: bool,
        nonce: Callable[[int], bytes],
    ) -> None:
        super().__init__(membership.id, dialled, _HELLO, _PROOF)
        self._membership = membership
        self._tls = tls
        self._said = (port, start_number, nonce(NONCE_BYTES))
        self._mine = self._theirs = b""
        self._misdirected = False

    def begin(self) -> bytes:
        """Our hello."""
        assert self._dialled is not None, "the dialler begins"
        self._mine = self._hello(self._dialled)
        return frame(self._mine)

    def received(self, data: bytes) -> bytes:
        """As in Handshake."""
        payload = self._frames.cut(data)
        if payload is None:
            return b""
        if self._dialled is not None:
            return self._answer_listener(payload)
        if not self._theirs:
            answer = self._answer_dialler(payload)
            # The dialler waits for our answer before it goes on; who does not is no dialler.
            if self._frames.rest():
                raise HandshakeFailed(OTHER_PROTOCOL)
            return answer
        # A dialler takes frames from here on, among which a refusal would be one more.
        self._check_proof(payload, _SIGNED_AS[True] + self._theirs + self._mine, is_told=False)
        if self._misdirected:
            raise HandshakeFailed("the other side dialled another peer")
        self._finish()
        return b""

    def _hello(self, to: PeerId) -> bytes:
        hello = _hello.pack(_HELLO, self._tls, to, self._membership.id, *self._said)
        return hello + self._membership.check(hello)

    def _read_hello(self, payload: bytes) -> PeerId:
        """Whom it is for. Raises HandshakeFailed."""
        if len(payload) < _HELLO_BYTES or not payload.startswith(_HELLO):
            raise HandshakeFailed(OTHER_PROTOCOL)
        hello = payload[: _hello.size]
        if not self._membership.is_checked(payload[_hello.size : _HELLO_BYTES], hello):
            raise HandshakeFailed("the other side is of another network", Refusal.OTHER_NETWORK)
        to: PeerId
        _, tls, to, self.peer, self.port, self.start_number, _ = _hello.unpack(hello)
        if tls != self._tls:
            raise HandshakeFailed(
                "one side of the link has TLS and the other has not", Refusal.TLS_ONLY if self._tls else Refusal.PLAIN_ONLY
            )
        if not self._membership.admits(self.peer):
            raise HandshakeFailed("the other side is not allowed", Refusal.NOT_ALLOWED)
        self._theirs = payload[:_HELLO_BYTES]
        return to

    def _answer_dialler(self, payload: bytes) -> bytes:
        """The dialler's hello: ours, with our proof."""
        if len(payload) != _HELLO_BYTES:
            raise HandshakeFailed(OTHER_PROTOCOL)
        # A dialler that looks for another peer is told who we are, and refused once it has proved who it is.
        self._misdirected = self._read_hello(payload) != self._own
        self._check_peer()
        self._mine = self._hello(self.peer)
        return frame(self._mine + self._proof(_SIGNED_AS[False] + self._theirs + self._mine))

    def _answer_listener(self, payload: bytes) -> bytes:
        """The listener's hello and proof: our proof."""
        if self._read_hello(payload) != self._own:
            raise HandshakeFailed("the answer is for another peer", Refusal.ID_NOT_PROVED)
        self._check_proof(_PROOF + payload[_HELLO_BYTES:], _SIGNED_AS[False] + self._mine + self._theirs)
        self._check_peer()
        self._finish()
        return frame(_PROOF + self._proof(_SIGNED_AS[True] + self._mine + self._theirs))

    def _proof(self, signed: bytes) -> bytes:
        identity = self._membership.identity
        return identity.public + identity.sign(signed)

    def _check_proof(self, payload: bytes, signed: bytes, *, is_told: bool = True) -> None:
        proof = payload[len(_PROOF) :]
        if len(proof) != _PROOF_BYTES or not payload.startswith(_PROOF):
            raise HandshakeFailed(OTHER_PROTOCOL)
        public, signature = proof[:PUBLIC_BYTES], proof[PUBLIC_BYTES:]
        if id_of(public) != self.peer or not verified(public, signature, signed):
            raise HandshakeFailed("the other side does not prove its id", Refusal.ID_NOT_PROVED, is_told=is_told)


def make_claim(own: PeerId, port: int, start_number: int) -> bytes:
    """The first frame of either side where ids are claims: who we are, where we listen and which of our lives this is."""
    return frame(_claim.pack(_CLAIM, own, port, start_number))
