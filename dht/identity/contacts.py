"""Contacts: a peer's id and where it listens.

One port number serves both UDP (Kademlia's queries) and TCP (links), so a contact is three fields. What comes from the network
passes :func:`contact_from` before anything else sees it.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

import msgspec

from ..errors import Address, BadAnswer, show
from .ids import ID_BYTES, PeerId


class Contact(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A peer and where it listens: ``host`` is an IP literal, ``port`` serves UDP and TCP both."""

    id: PeerId
    host: str
    port: int

    @property
    def address(self) -> Address:
        """Host and port, as sockets take them."""
        return (self.host, self.port)

    def __str__(self) -> str:
        return f"{self.id.hex()[:8]} at {show(self.host, self.port)}"


@lru_cache(maxsize=4096)
def is_reachable_literal(host: str) -> bool:
    """Whether the text is an IP literal that a peer can be reached at: not a name, not unspecified, not multicast."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_multicast)


_SEQUENCES = (list, tuple)
"""Made once: a union of types would be made at each look, of which a lookup takes hundreds."""


def contact_from(raw: object) -> Contact:
    """The contact in a decoded answer, a sequence of id, host and port.

    Raises BadAnswer when it is anything else.
    """
    if not isinstance(raw, _SEQUENCES) or len(raw) != 3:
        raise BadAnswer(f"{raw!r:.80} is no contact; expected an id, a host and a port")
    peer_id, host, port = raw
    if not isinstance(peer_id, bytes) or len(peer_id) != ID_BYTES:
        raise BadAnswer(f"{peer_id!r:.80} is no peer id; expected {ID_BYTES} bytes")
    if not isinstance(host, str) or not is_reachable_literal(host):
        raise BadAnswer(f"{host!r:.80} is no host of a contact; expected an IP literal")
    if type(port) is not int or not 1 <= port <= 65535:
        raise BadAnswer(f"{port!r:.80} is no port; expected 1 to 65535")
    return Contact(peer_id, host, port)


def contacts_from(raw: object, *, limit: int) -> list[Contact]:
    """The contacts in a decoded answer.

    Raises BadAnswer when it is no list, is longer than ``limit``, or holds anything that is no contact: a peer that lies in one
    entry is not believed in the others.
    """
    if not isinstance(raw, _SEQUENCES) or len(raw) > limit:
        raise BadAnswer(f"{raw!r:.80} is no list of contacts; expected at most {limit}")
    return [contact_from(item) for item in raw]
