"""Which network a peer belongs to: who may be in it, and how its links are.

What is defended by it, and what is not: docs/security.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dht

from .errors import BadNetwork, LocalError
from .languages.files.encoding import MARK
from .tuples.ordered_attributes import OrderedAttribute, OrderedAttributes, attribute_from
from .wire.status_messages import Count


@dataclass(frozen=True, slots=True)
class Network:
    """What all peers of a network are to be told alike; :class:`gsg.Peer` takes one.

    ``secret`` (16 to 1,024 bytes, without space or line ends around a text) keeps those who do not know it out; ``allowed`` are
    the ids of peers to talk with, None for all; ``link_tls`` whether links are ciphered. None: they are, except in a simulated
    network, where nobody listens. Of one public address block ``peers_per_block`` count among the closest to a key, 0 for as many
    as there are. ``ordered`` are the positions whose numbers lie in their order (:mod:`gsg.tuples.ordered_attributes`), which may
    be given as texts such as ``_,_,0..100/50``; peers that declare others are of another network. Raises BadNetwork.
    """

    secret: bytes | None = None
    allowed: frozenset[bytes] | None = None
    link_tls: bool | None = None
    peers_per_block: int = dht.PER_BLOCK
    ordered: Sequence[OrderedAttribute | str] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be, and read what is written."""
        try:
            given = (self.ordered,) if isinstance(self.ordered, str) else self.ordered
            read = [attribute_from(one) if isinstance(one, str) else one for one in given]
            object.__setattr__(self, "ordered", tuple(OrderedAttributes(read).by_place.values()))
        except LocalError as error:
            raise BadNetwork(str(error)) from None
        if self.secret is None:
            return
        if not isinstance(self.secret, bytes):
            raise BadNetwork(
                f"a network secret that is a {type(self.secret).__name__}; expected bytes: give secret=text.encode(), "
                "or what open(file, 'rb').read() returns"
            )
        object.__setattr__(self, "secret", _without_margins(self.secret))

    @property
    def attributes(self) -> OrderedAttributes:
        """Those that are ordered."""
        return OrderedAttributes(one for one in self.ordered if isinstance(one, OrderedAttribute))

    def check(self) -> None:
        """Raise BadNetwork for a secret that is none."""
        try:
            if self.secret is not None:
                dht.check_secret(self.secret)
        except dht.BadMembership as error:
            raise BadNetwork(str(error)) from None

    def membership(self, identity: dht.Identity) -> dht.Membership:
        """A peer's part in it. Raises BadNetwork."""
        try:
            agreed = str(self.attributes).encode()
            return dht.Membership(identity, secret=self.secret, allowed=self.allowed, agreed=agreed)
        except dht.BadMembership as error:
            raise BadNetwork(str(error)) from None

    def ciphers_links(self) -> bool:
        """Whether links are to be TLS, on the loop that runs."""
        if self.link_tls is None:
            return not getattr(asyncio.get_running_loop(), "is_simulated", False)
        return self.link_tls


def _without_margins(secret: bytes) -> bytes:
    """Editors put a byte order mark before a text and a newline behind it, as shells do: however it came, it is the same secret."""
    try:
        return secret.decode().removeprefix(MARK).strip().encode()
    except UnicodeDecodeError:
        return secret  # random bytes: each of them counts


EVERYBODY = Network()
"""Without a secret and without a list: whoever speaks this protocol."""


def allowed_from(text: str) -> frozenset[bytes]:
    """The ids in a list of allowed peers, one a line in hexadecimal; # begins a comment. Raises BadNetwork with the line."""
    try:
        return dht.allowed_from(text.removeprefix(MARK))
    except dht.BadMembership as error:
        raise BadNetwork(str(error)) from None


def counts_of_refused(membership: dht.Membership) -> Iterable[Count]:
    """For ``gsg status``: messages and links that were refused, by what was wrong with them."""
    return [Count(f"refused_{refusal.name.lower()}", count) for refusal, count in membership.counts.items()]
