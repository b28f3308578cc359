"""Event channels: events as sets of named fields, and subscriptions that describe them, in languages of growing expressiveness.

    channel = Channel("plant")
    ticket = channel.subscribe(print, "(and (= type 'error) (> size 3))")
    channel.publish({"type": "error", "size": 4})

After Filman and Lee, "Managing distributed systems with smart subscriptions". What it is not: a store. A channel tells its
subscribers of an event, and keeps at most the last ones.

Open channel.py first: what happens to one event, top to bottom; languages/predicate.py is what most subscriptions say, matchers/
how those are found that an event meets, and links/ how channels in several processes are one.
"""

from .channel import Channel, Consumer
from .consumers import LogFile, Stream, Table
from .events import Event
from .injector import traced
from .languages.relations import BadConstant, Relations
from .links.links import Links
from .ticket import Deliver, State, Ticket
from .values import Reference

__all__ = [
    "BadConstant",
    "Channel",
    "Consumer",
    "Deliver",
    "Event",
    "Links",
    "LogFile",
    "Reference",
    "Relations",
    "State",
    "Stream",
    "Table",
    "Ticket",
    "traced",
]
