"""Pedro's door: the terms, goals and wire protocol of the Pedro publish/subscribe server, version 1.14 and its paper.

Terms, goals and what a line asks for are pure: lines and bytes go in, decisions come out, without a socket, a clock or ``random``.
`door/door.py` and `door/connection.py` put them behind sockets in front of a peer, `client/client.py` talks to such a door; all
three are loaded when asked for.
It is not a Prolog: there are no clauses, and every evaluation is bounded. It copies nothing of the original, which is GPL; its
behaviour is known from the paper, the manual and recordings.

Read `terms/terms.py` first, then follow a notification: `lines.py`, `door/commands.py`, `terms/plain_lines.py` or
`terms/syntax.py`, `goals/covers.py` with `goals/goals.py` beneath it; `goals/demands.py` is how a subscription is found before it
is tested.
`door/session.py` is one connection, `door/handshake.py` how it begins, `door/client_postings.py` what it has posted with the peer;
`dialect.py` is all that differs between the paper and the server 1.14.
What goes beyond Pedro is in `door/extensions.py`, `arrival_stamps.py`, `option_listeners.py` and `access.py`; `door/admin.py` is
the original's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .dialect import DIALECTS, PAPER, V1_14, Dialect
from .door.commands import P2P, Bad, Command, Deregister, Notify, Register, Subscribe, Unsubscribe, decode
from .door.extensions import Options
from .door.handshake import FAILED, OK, FirstLine, Handshakes, information
from .door.session import Session, acknowledgement, delivery
from .errors import BadLine, BadSubscription
from .goals.covers import CoverTest, Subscription, compile_subscription, compile_test, template
from .lines import LineReader
from .terms.syntax import parse
from .terms.tuples import from_tuple, to_tuple
from .terms.writing import write

if TYPE_CHECKING:
    from .client.blocking import Client
    from .client.client import AsyncClient
    from .door.door import PedroDoor

__all__ = [
    "DIALECTS",
    "FAILED",
    "OK",
    "P2P",
    "PAPER",
    "V1_14",
    "AsyncClient",
    "Bad",
    "BadLine",
    "BadSubscription",
    "Client",
    "Command",
    "CoverTest",
    "Deregister",
    "Dialect",
    "FirstLine",
    "Handshakes",
    "LineReader",
    "Notify",
    "Options",
    "PedroDoor",
    "Register",
    "Session",
    "Subscribe",
    "Subscription",
    "Unsubscribe",
    "acknowledgement",
    "compile_subscription",
    "compile_test",
    "decode",
    "delivery",
    "from_tuple",
    "information",
    "parse",
    "template",
    "to_tuple",
    "write",
]

# What opens sockets needs asyncio, and the door a peer; the rest does not.
_HOMES = {"AsyncClient": "client.client", "Client": "client.blocking", "PedroDoor": "door.door"}


def __getattr__(name: str) -> Any:  # Any: whichever of the two is asked for
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pedro_compat' has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
