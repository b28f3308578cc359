"""Pedro's door: the terms, goals and wire protocol of the Pedro publish/subscribe server, version 1.14 and its paper.

It is pure: lines and bytes go in, decisions come out; nothing here opens a socket, reads a clock or calls ``random``. It is not a
Prolog: there are no clauses, and every evaluation is bounded. It copies nothing of the original, which is GPL; its behaviour is
known from the paper, the manual and recordings.

Read `terms.py` first, then follow a notification: `lines.py`, `commands.py`, `syntax.py`, `covers.py` with `goals.py` beneath it.
`session.py` is one connection, `handshake.py` how it begins, `dialect.py` all that differs between the paper and the server 1.14.
"""

from .commands import P2P, Bad, Command, Deregister, Notify, Register, Subscribe, Unsubscribe, decode
from .covers import CoverTest, Subscription, compile_subscription, compile_test, template
from .dialect import DIALECTS, PAPER, V1_14, Dialect
from .errors import BadLine, BadSubscription
from .handshake import FAILED, OK, FirstLine, Handshakes, information
from .lines import LineReader
from .session import Session, acknowledgement, delivery
from .syntax import parse
from .tuples import from_tuple, to_tuple
from .writing import write

__all__ = [
    "DIALECTS",
    "FAILED",
    "OK",
    "P2P",
    "PAPER",
    "V1_14",
    "Bad",
    "BadLine",
    "BadSubscription",
    "Command",
    "CoverTest",
    "Deregister",
    "Dialect",
    "FirstLine",
    "Handshakes",
    "LineReader",
    "Notify",
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
