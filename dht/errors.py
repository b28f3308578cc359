"""The errors of the overlay.

    DhtError
    ├── LocalError          you called us wrongly, or this machine refused
    │   ├── AddressInUse        another program holds the port
    │   ├── BadContact          an id, host or port that cannot be one, given by the caller
    │   ├── BookUnreadable      the address book's file cannot be read
    │   ├── BadBook             the address book's file is damaged
    │   ├── BadIdentity         a key, or the file of one, that is none
    │   ├── BadMembership       a network's secret or list of peers that is none
    │   ├── NoRoomForKey        nothing to hand the key of links to OpenSSL by
    │   ├── LookupFailed        a lookup ended by a defect here
    │   ├── PayloadTooLarge     a payload longer than a frame may be
    │   └── NotOpen             an overlay, endpoint or set of links used outside its ``async with``
    └── RemoteError         another peer or the network failed
        ├── JoinFailed          nobody answered at any of the addresses
        ├── PeerUnreachable     a peer could not be dialled, or did not shake hands in time
        │   ├── DialBroke           its host answers, and the connection broke before the hello
        │   └── WrongPeer           another peer answers at that address
        ├── LinkLost            a link ended: has the reason
        └── PeerMisbehaved      a peer sent what the protocol forbids
            ├── BadAnswer           an answer to a query that is not one
            ├── BadSeal             a datagram that does not prove who sent it
            └── FrameTooLarge       a header that claims more than a frame may hold

Every message says what happened, the value, what was expected and the next step; what a program may want is an attribute.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
"""A host (name or IP literal) and a port."""


def show(host: str, port: int) -> str:
    """An address as people write it, with brackets around an IPv6 literal."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Refusal(IntEnum):
    """Why a peer is not let in. It travels as a number, but for UNLISTED."""

    OTHER_NETWORK = 1
    NOT_ALLOWED = 2
    TLS_ONLY = 3
    PLAIN_ONLY = 4
    ID_NOT_PROVED = 5
    NOT_SIGNED = 6
    SAME_ID = 7
    UNLISTED = 8
    """This side refuses the other, whom it has asked itself."""

    @property
    def sentence(self) -> str:
        """What people read, always this side's own words."""
        return _SENTENCES[self]


_SENTENCES = {
    Refusal.OTHER_NETWORK: "it belongs to another network, or to this one with another --secret-file or --ordered; check both",
    Refusal.NOT_ALLOWED: "this peer is not on its list of allowed peers; ask for its id to be added there (--allow-peers)",
    Refusal.TLS_ONLY: "its links are TLS and this peer's are plain; start this one with --link-tls on",
    Refusal.PLAIN_ONLY: "its links are plain and this peer's are TLS; start both with the same --link-tls",
    Refusal.ID_NOT_PROVED: "what was said does not prove the id that was claimed",
    Refusal.NOT_SIGNED: "it takes signed messages only",
    Refusal.SAME_ID: "another process runs with this peer's key; stop one of them, and give each peer a --data directory of its "
    "own, since a copy of one is the same peer",
    Refusal.UNLISTED: "somebody answers, and this peer's own list of allowed peers does not have it; add its id (--allow-peers)",
}


class DhtError(Exception):
    """Anything that this package raises on purpose."""


class LocalError(DhtError):
    """The caller or this machine is at fault: trying the same again will not help."""


class AddressInUse(LocalError):
    """Nobody can listen there, mostly since another program holds the port. Attributes: ``host``, ``port``."""

    def __init__(self, host: str, port: int, number: int) -> None:
        self.host = host
        self.port = port
        advice = "stop the program that holds it, choose another port, or give port 0 to take a free one"
        if number == errno.EADDRNOTAVAIL:
            advice = "expected an address of this machine, or 0.0.0.0 to listen at all of them"
        elif number == errno.EACCES:
            advice = "choose a port from 1024 on, or give port 0 to take a free one"
        super().__init__(f"cannot listen on {show(host, port)}: {os.strerror(number).lower()}; {advice}")


@contextlib.contextmanager
def telling_address_in_use(host: str, port: int) -> Iterator[None]:
    """Raise AddressInUse for the errors of the block that say so."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
            raise AddressInUse(host, port, error.errno) from None
        raise


class BadContact(LocalError):
    """An id, host or port that cannot be one."""


class BookUnreadable(LocalError):
    """The file of the address book cannot be read. Attributes: ``path``, ``problem``."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"the address book {path} cannot be read: {problem}; expected a readable file, or none to begin a new one")


class BadBook(LocalError):
    """The file of the address book is damaged. Attributes: ``line``, ``problem``."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(
            f"the address book is damaged in line {line}: {problem}; "
            'expected lines like ["10.0.0.1", 7400], and in the end their checksum, if any'
        )


class BadIdentity(LocalError):
    """A key, or the file of one, that cannot be this peer's identity."""


class BadMembership(LocalError):
    """A network's secret, or its list of peers, that cannot be one."""


class NoRoomForKey(LocalError):
    """OpenSSL reads the key of links from a file, and there is no place for one."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"no place to hand the key of links to OpenSSL by: {os.strerror(error.errno or 0).lower()}; expected a folder for "
            "temporary files that can be written to: name one by TMPDIR, or mount /proc"
        )


class LookupFailed(LocalError):
    """A lookup was ended by a defect in this process, which its log shows."""


class PayloadTooLarge(LocalError):
    """A payload is longer than a frame may be. Attributes: ``payload_bytes``, ``limit_bytes``."""

    def __init__(self, payload_bytes: int, limit_bytes: int) -> None:
        self.payload_bytes = payload_bytes
        self.limit_bytes = limit_bytes
        super().__init__(f"a payload of {payload_bytes} bytes; expected at most {limit_bytes}; send it in several frames")


class NotOpen(LocalError):
    """An object was used before ``async with`` entered it or after it was left."""


class RemoteError(DhtError):
    """Another peer or the network failed: trying again later may help."""


REFUSED = "refused: "
"""How the problem of an address begins where somebody was there, and would not talk with us."""


class JoinFailed(RemoteError):
    """Nobody let this peer in at any of the addresses.

    Attributes: ``tried``, pairs of address and what went wrong there; ``is_refused``, whether somebody was there and refused.
    """

    def __init__(self, tried: Sequence[tuple[Address, str]]) -> None:
        self.tried = tuple(tried)
        refused = [(address, problem) for address, problem in self.tried if problem.startswith(REFUSED)]
        self.is_refused = bool(refused)
        if refused and len(refused) == len(self.tried):
            # They run, and will not talk with this one: nothing else is to be checked.
            super().__init__("; ".join(f"the peer at {show(*address)} {problem}" for address, problem in refused))
            return
        where = ", ".join(f"{show(*address)} ({problem})" for address, problem in self.tried)
        super().__init__(
            f"no peer answered at {where}; expected the --listen address of a peer that runs, not that of its HTTP door: check it "
            "there, and that UDP gets through, or start without addresses to be the first peer"
        )


class PeerUnreachable(RemoteError):
    """A peer could not be dialled, or did not shake hands in time. Attributes: ``host``, ``port``, ``problem``."""

    def __init__(self, host: str, port: int, problem: str) -> None:
        self.host = host
        self.port = port
        self.problem = problem
        super().__init__(f"no link to the peer at {show(host, port)}: {problem}")


class DialBroke(PeerUnreachable):
    """A peer's host answers, and each connection there broke before the hello: it may live all the same."""


class WrongPeer(PeerUnreachable):
    """Another peer answers at that address. Attribute: ``found``, the id of the one that answers."""

    def __init__(self, host: str, port: int, expected: bytes, found: bytes) -> None:
        self.found = found
        super().__init__(host, port, f"peer {found.hex()} answers there; expected {expected.hex()}; look the key up again")


class LinkLost(RemoteError):
    """A link ended. Attribute: ``reason``."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the link to the peer at {show(host, port)} is closed: {reason}; ask for a new link")


class PeerMisbehaved(RemoteError):
    """A peer sent what the protocol forbids."""


class BadAnswer(PeerMisbehaved):
    """An answer to a query that does not have the form of one."""


class BadSeal(PeerMisbehaved):
    """A datagram does not prove who sent it. Attribute: ``refusal``, what its sender is told, if anything."""

    def __init__(self, counted: str, refusal: Refusal | None = None) -> None:
        self.refusal = refusal
        super().__init__(counted)


class FrameTooLarge(PeerMisbehaved):
    """A header claims more than a frame may hold. Attributes: ``claimed_bytes``, ``limit_bytes``."""

    def __init__(self, claimed_bytes: int, limit_bytes: int) -> None:
        self.claimed_bytes = claimed_bytes
        self.limit_bytes = limit_bytes
        super().__init__(f"a frame header claims {claimed_bytes} bytes; expected at most {limit_bytes}")
