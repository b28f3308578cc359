"""Event channels: events as sets of named fields, and subscriptions that describe them, in languages of growing expressiveness.

    channel = Channel("plant")
    ticket = channel.subscribe(print, "(and (= type 'error) (> size 3))")
    channel.publish({"type": "error", "size": 4})

After Filman and Lee, "Managing distributed systems with smart subscriptions". What it is not: a store. A channel tells its
subscribers of an event, and keeps at most the last ones.

Open channel.py first: what happens to one event, top to bottom; languages/predicate.py is what most subscriptions say, matchers/
how those are found that an event meets, links/ how channels in several processes are one, and overlay/ how those at peers find each
other.
"""

from typing import TYPE_CHECKING, Any

from .asked import Deliver
from .channel import Channel
from .consumers import LogFile, Stream, Table
from .events import Event
from .injector import traced
from .languages.relations import BadConstant, Relations
from .links.links import Links
from .overlay.horizon import horizon
from .ticket import Consumer, State, Ticket
from .values import Reference

if TYPE_CHECKING:
    from .overlay.overlay import Overlay

__all__ = [
    "BadConstant",
    "Channel",
    "Consumer",
    "Deliver",
    "Event",
    "Links",
    "LogFile",
    "Overlay",
    "Reference",
    "Relations",
    "State",
    "Stream",
    "Table",
    "Ticket",
    "horizon",
    "traced",
]


def __getattr__(name: str) -> Any:  # Any: the one name below
    # A channel that is at no peer does not wait for all that a peer is made of.
    if name != "Overlay":
        raise AttributeError(f"module 'gsg.channels' has no attribute {name!r}")
    from .overlay.overlay import Overlay

    return Overlay
