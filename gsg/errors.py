"""The errors of the peer and its languages.

    GsgError
    ├── LocalError          you called us wrongly, or this machine refused
    │   ├── BadTerm             a value that is no term
    │   ├── BadText             a script, query or file that does not parse: has line, column and a caret
    │   ├── BadQuery            a query that parses and can have no meaning
    │   ├── Unsupported         understood, and refused by name: has line and column where a text asks for it
    │   ├── TooManyTokens       a subscription would hold more than it may: how many tokens, and the limit
    │   ├── TooLarge            a row, an answer or a request is longer than a message may be
    │   ├── Overrun             the reader was too slow: events were dropped, and how many
    │   ├── BadData             the data directory of a peer cannot be used: damaged, newer, in use, or not to be written to
    │   ├── BadNetwork          a network's secret or list of peers that is none
    │   ├── AccessDenied        a door asks for a token, or for a role that the token does not have
    │   └── DoorClosed          a door could not be opened, or was used after it was closed
    └── RemoteError         another peer or the network failed
        ├── Stale               a subscription's rows may be out of date: it goes on
        ├── Reconnected         a client has lost its peer and is back, here or at another: a subscription of it goes on
        ├── PeerUnreachable     nobody answers at that address
        │   ├── LinkBroke           a link broke, which says nothing of the peer (in gsg.wire.exchange, as the next two)
        │   ├── DialBroke           the peer's host answers, and connections there break
        │   └── Leaving             the peer is about to stop
        ├── Elsewhere           another peer is responsible for this by now: has its contact
        ├── Refused             a peer understood the request and said no
        └── PeerMisbehaved      a peer sent what the protocol forbids

Every message says what happened, the value, what was expected and the next step; what a program may want is an attribute.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dht import Contact


def reason(error: OSError) -> str:
    """What the system says is wrong, without the address that asyncio puts around it."""
    said = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror or str(error)
    return said.lower()


SHOWN_CHARACTERS = 2_000
"""The longest message of an error. Values in it may be texts of megabytes, and it travels, is logged and kept; of a longer one the
middle is left out, as what happened stands before the value, and what to do after it."""


def cut(message: str) -> str:
    """A message, without its middle where it is too long."""
    if len(message) <= SHOWN_CHARACTERS:
        return message
    head, tail = SHOWN_CHARACTERS // 2, SHOWN_CHARACTERS // 4
    return f"{message[:head]}... ({len(message) - head - tail} characters left out) ...{message[-tail:]}"


class GsgError(Exception):
    """Anything that this package raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(cut(message))


class LocalError(GsgError):
    """The caller or this machine is at fault: trying the same again will not help."""


class BadTerm(LocalError):
    """A value stands where a term must, and is none."""


class BadText(LocalError):
    """A text does not parse.

    Attributes: ``line`` and ``column`` (from 1), ``source_line`` (the offending line without its newline), ``what`` the text is.
    """

    def __init__(self, problem: str, *, line: int, column: int = 1, source_line: str = "", what: str = "script") -> None:
        self.problem = problem = cut(problem)
        self.line = line
        self.column = column
        self.source_line = source_line
        self.what = what
        where = f"{what} line {line}, column {column}: {problem}"
        # Tabs are kept so that the caret stands below its character on a terminal.
        margin = "".join("\t" if character == "\t" else " " for character in source_line[: column - 1])
        super().__init__(f"{where}\n    {source_line}\n    {margin}^" if source_line else where)


class BadQuery(LocalError):
    """A query that parses and can have no meaning: nothing binds a variable, or it is too large."""


class TooManyTokens(LocalError):
    """A subscription would hold more tokens than it may (rows of its answer included), or look at too many combinations of them at
    once, and has ended; others go on.

    Attributes: ``tokens`` (or steps, when it was noticed) and ``limit``.
    """

    def __init__(self, problem: str, *, tokens: int, limit: int) -> None:
        super().__init__(problem)
        self.tokens = tokens
        self.limit = limit


class TooLarge(LocalError):
    """A row, an answer or a request is longer than a message may be: of a row, the subscription has ended, and others go on."""


class Overrun(LocalError):
    """A bounded queue was full and something had to go; ``lost`` says how many, 0 where nobody knows whether there were any.

    Of events of a topic, ``unread`` of these are known to have been read too late, and ``missing`` to be at no member any more.
    """

    def __init__(self, problem: str, *, lost: int, unread: int = 0, missing: int = 0) -> None:
        super().__init__(problem)
        self.lost = lost
        self.unread = unread
        self.missing = missing

    def since(self, earlier: Overrun | None) -> Overrun:
        """This one and an earlier one of which nobody was told, as one: what was lost in all, and why at last."""
        if earlier is None:
            return self
        lost = earlier.lost + self.lost
        number, _, why = str(self).partition(" ")
        return Overrun(f"{lost} {why}" if number == str(self.lost) else str(self), lost=lost)


class Unsupported(LocalError):
    """The request is understood and this version does not do it.

    Attributes, where a text asks for it: ``line`` and ``column`` (from 1; else 0) and ``source_line``.
    """

    def __init__(self, problem: str, *, line: int = 0, column: int = 0, source_line: str = "") -> None:
        super().__init__(problem)
        self.line = line
        self.column = column
        self.source_line = source_line


class BadData(LocalError):
    """The data directory of a peer cannot be used: it is damaged, newer than this version, in use, or not to be written to."""


class BadNetwork(LocalError):
    """A network's secret, or its list of allowed peers, cannot be one."""


class AccessDenied(LocalError):
    """A door takes a token for that, or a role that the token which was shown does not have.

    Attribute: ``needs_token``, whether another token is needed, as none was shown, or one that the door does not know.
    """

    def __init__(self, problem: str, *, needs_token: bool = False) -> None:
        super().__init__(problem)
        self.needs_token = needs_token


class DoorClosed(LocalError):
    """A door could not be opened, or a closed peer, space or client was used."""


class RemoteError(GsgError):
    """Another peer or the network failed: trying again later may help."""


class PeerUnreachable(RemoteError):
    """Nobody answers at the given address."""


class Elsewhere(RemoteError):
    """Another peer is responsible by now: ``contact`` says which (a :class:`dht.Contact`)."""

    def __init__(self, problem: str, *, contact: Contact) -> None:
        super().__init__(problem)
        self.contact = contact


class Refused(RemoteError):
    """A peer understood the request and refused it.

    Attribute: ``again_s``, after how many seconds it would be taken; None where that cannot be said, or some of it was taken.
    """

    def __init__(self, problem: str, *, again_s: float | None = None) -> None:
        self.again_s = again_s
        super().__init__(problem)


class Stale(RemoteError):
    """Rows of a subscription may be out of date, since what makes them could not be had from other peers; it goes on."""


class Reconnected(RemoteError):
    """A client has lost its peer and is back, at the same one or another; a subscription of it goes on.

    Rows follow as differences to those that were told; events in between may have been missed. Attributes: ``lost_url`` and
    ``url``, the doors of the peer that was lost and of the one that serves now, and ``missed_events``, how many: None, unknown.
    """

    def __init__(self, problem: str, *, lost_url: str, url: str) -> None:
        super().__init__(problem)
        self.lost_url = lost_url
        self.url = url
        self.missed_events: int | None = None


class PeerMisbehaved(RemoteError):
    """A peer sent bytes that the protocol does not allow."""
