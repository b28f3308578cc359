"""Who is responsible for a key, how to reach them, who is alive.

A Kademlia overlay (contacts and the closest peers to a key, over the ``kademlia`` package) and TCP links between peers.
It is not a store: nothing is kept here for others, and no tuple ever travels on its datagrams. It knows nothing of what keys mean.

    overlay.owners_now(key, r=3)     the r closest living peers, from memory alone; None where only asking can tell
    await overlay.owners(key, r=3)   the same, asking where it must
    overlay.closest_known(key, r=3)  the best guess without asking: exact near our own id and where owners_now answers
    overlay.neighbours()             the living peers nearest to our own id: whom we share keys with
    overlay.suspects(peer)           it may be dead: it did not answer, and will be out in some seconds unless it does
    on_suspected                     hears when that begins, and when it ends because the peer lives
    on_event                         hears of PeerDied, PeerReturned and NeighbourhoodChanged, when all of the above has changed

A peer that is only suspected is still an owner: what a few lost datagrams say moves no key. Call ``overlay.report_dead(peer)`` when
you know better.

Open next: ``links/endpoint.py`` (both sockets of a peer), then ``overlay/overlay.py`` (finding peers) and ``links/links.py``
(talking to them). What they decide is in pure modules: ``overlay/lookup.py``, ``overlay/owner_cache.py``, ``liveness/swim.py``,
``datagrams/sealed_datagrams.py``, ``links/handshake.py``. ``simnet/`` runs all of it in virtual time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .datagrams.address_blocks import PER_BLOCK
from .errors import (
    AddressInUse,
    BadAnswer,
    BadBook,
    BadContact,
    BadIdentity,
    BadMembership,
    BadSeal,
    BookUnreadable,
    DhtError,
    DialBroke,
    FrameTooLarge,
    JoinFailed,
    LinkLost,
    LocalError,
    LookupFailed,
    NoRoomForKey,
    NotOpen,
    PayloadTooLarge,
    PeerMisbehaved,
    PeerUnreachable,
    Refusal,
    RemoteError,
    WrongPeer,
)
from .identity.contacts import Contact, contact_from
from .identity.ids import ID_BITS, ID_BYTES, PeerId, common_prefix_length, distance, random_id
from .identity.membership import Membership, allowed_from, check_secret
from .links.frames import MAX_FRAME_BYTES, Framer, frame
from .liveness.neighbourhood import NEIGHBOURS, NeighbourhoodChanged
from .liveness.orders import PeerDied, PeerReturned
from .overlay.lookup import Found, K, Lookup, Send
from .overlay.owner_cache import Regions

if TYPE_CHECKING:
    from .identity.key_pair import Identity
    from .links.endpoint import Endpoint
    from .links.link import Link, LinkState
    from .links.links import Links
    from .overlay.overlay import Overlay, OverlayEvent

__all__ = [
    "ID_BITS",
    "ID_BYTES",
    "MAX_FRAME_BYTES",
    "NEIGHBOURS",
    "PER_BLOCK",
    "AddressInUse",
    "BadAnswer",
    "BadBook",
    "BadContact",
    "BadIdentity",
    "BadMembership",
    "BadSeal",
    "BookUnreadable",
    "Contact",
    "DhtError",
    "DialBroke",
    "Endpoint",
    "Found",
    "FrameTooLarge",
    "Framer",
    "Identity",
    "JoinFailed",
    "K",
    "Link",
    "LinkLost",
    "LinkState",
    "Links",
    "LocalError",
    "Lookup",
    "LookupFailed",
    "Membership",
    "NeighbourhoodChanged",
    "NoRoomForKey",
    "NotOpen",
    "Overlay",
    "OverlayEvent",
    "PayloadTooLarge",
    "PeerDied",
    "PeerId",
    "PeerMisbehaved",
    "PeerReturned",
    "PeerUnreachable",
    "Refusal",
    "Regions",
    "RemoteError",
    "Send",
    "WrongPeer",
    "allowed_from",
    "check_secret",
    "common_prefix_length",
    "contact_from",
    "distance",
    "frame",
    "random_id",
]

# Imported when first used: who decides by ids and contacts alone, as tasks of the simulation do, has neither kademlia nor
# cryptography on its machine.
_HOMES = {
    "Endpoint": "links.endpoint",
    "Identity": "identity.key_pair",
    "Link": "links.link",
    "LinkState": "links.link",
    "Links": "links.links",
    "Overlay": "overlay.overlay",
    "OverlayEvent": "overlay.overlay",
}


def __getattr__(name: str) -> Any:  # Any: whichever of these names is asked for
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dht' has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
