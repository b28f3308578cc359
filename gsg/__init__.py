"""The Global Semantic Graph router: publish/subscribe by content, without a server in the middle.

What it is: a tuple space of peers, in one process (:class:`Space`), over many (:class:`Peer`), or from outside (:func:`connect`,
and :class:`Client` without ``async``).
Applications make facts true and untrue and notify of events; a subscription is a standing query whose rows come and go.
What it is not: a database (no updates by query), a message queue (nothing waits for those who are not there).

Open next: space.py for the verbs, peer.py for what happens to one published tuple, top to bottom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    AccessDenied,
    BadData,
    BadNetwork,
    BadQuery,
    BadTerm,
    BadText,
    DoorClosed,
    GsgError,
    LocalError,
    Overrun,
    PeerMisbehaved,
    PeerUnreachable,
    Reconnected,
    Refused,
    RemoteError,
    Stale,
    TooLarge,
    TooManyTokens,
    Unsupported,
)
from .monitoring.version import __version__ as __version__

if TYPE_CHECKING:
    from .http.client import AsyncClient, Client, ConnectionState, connect
    from .interleaving import shorten_collections
    from .languages.files import load
    from .languages.rows import Row, Sign
    from .network import Network
    from .peer import Peer
    from .space import Space
    from .subscriptions.live import LiveSubscription
    from .subscriptions.subscription import Subscription
    from .tuples.terms import IRI, BlankNode, Literal, Symbol, n3

__all__ = [
    "IRI",
    "AccessDenied",
    "AsyncClient",
    "BadData",
    "BadNetwork",
    "BadQuery",
    "BadTerm",
    "BadText",
    "BlankNode",
    "Client",
    "ConnectionState",
    "DoorClosed",
    "GsgError",
    "Literal",
    "LiveSubscription",
    "LocalError",
    "Network",
    "Overrun",
    "Peer",
    "PeerMisbehaved",
    "PeerUnreachable",
    "Reconnected",
    "Refused",
    "RemoteError",
    "Row",
    "Sign",
    "Space",
    "Stale",
    "Subscription",
    "Symbol",
    "TooLarge",
    "TooManyTokens",
    "Unsupported",
    "connect",
    "load",
    "n3",
    "shorten_collections",
]

# Imported when first used: the command's --help, and a program that only embeds a space, do not wait for the rest.
_HOMES = {
    "IRI": "tuples.terms",
    "AsyncClient": "http.client",
    "BlankNode": "tuples.terms",
    "Client": "http.client",
    "ConnectionState": "http.client",
    "Literal": "tuples.terms",
    "LiveSubscription": "subscriptions.live",
    "Network": "network",
    "Peer": "peer",
    "Row": "languages.rows",
    "Sign": "languages.rows",
    "Space": "space",
    "Subscription": "subscriptions.subscription",
    "Symbol": "tuples.terms",
    "connect": "http.client",
    "load": "languages.files",
    "n3": "tuples.terms",
    "shorten_collections": "interleaving",
}


def __getattr__(name: str) -> Any:  # Any: whichever of the public names is asked for
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gsg' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
