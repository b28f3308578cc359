"""Who is responsible for a key, how to reach them, who is alive.

A Kademlia overlay (contacts and the closest peers to a key, over the ``kademlia`` package) and TCP links between peers.
It is not a store: nothing is kept here for others, and no tuple ever travels on its datagrams. It knows nothing of what keys mean.

Open next: ``endpoint.py`` (both sockets of a peer), then ``overlay.py`` (finding peers) and ``links.py`` (talking to them). What
they decide is in pure modules: ``lookup.py``, ``regions.py``, ``frames.py``. ``simnet.py`` runs all of it in virtual time.
"""

from .contacts import Contact, contact_from
from .endpoint import Endpoint
from .errors import (
    AddressInUse,
    BadAnswer,
    BadContact,
    DhtError,
    FrameTooLarge,
    JoinFailed,
    LinkLost,
    LocalError,
    NotOpen,
    PayloadTooLarge,
    PeerMisbehaved,
    PeerUnreachable,
    RemoteError,
    WrongPeer,
)
from .frames import MAX_FRAME_BYTES, Framer, frame
from .identity import ID_BITS, ID_BYTES, PeerId, common_prefix_length, distance, random_id
from .link import Link, LinkState
from .links import Links
from .lookup import Found, K, Lookup, Send
from .overlay import Overlay
from .regions import Regions

__all__ = [
    "ID_BITS",
    "ID_BYTES",
    "MAX_FRAME_BYTES",
    "AddressInUse",
    "BadAnswer",
    "BadContact",
    "Contact",
    "DhtError",
    "Endpoint",
    "Found",
    "FrameTooLarge",
    "Framer",
    "JoinFailed",
    "K",
    "Link",
    "LinkLost",
    "LinkState",
    "Links",
    "LocalError",
    "Lookup",
    "NotOpen",
    "Overlay",
    "PayloadTooLarge",
    "PeerId",
    "PeerMisbehaved",
    "PeerUnreachable",
    "Regions",
    "RemoteError",
    "Send",
    "WrongPeer",
    "common_prefix_length",
    "contact_from",
    "distance",
    "frame",
    "random_id",
]
