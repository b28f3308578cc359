"""What a line asks for, as far as the line alone decides it (paper 3.1 to 3.4).

Each command carries ``ack``: the answer to send once it has been carried out. What depends on the connection is in :mod:`.session`.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

import msgspec

from gsg.tuples.terms import MAX_ARITY, Tuple

from ..dialect import Dialect
from ..errors import BadLine, BadSubscription
from ..goals.covers import COMMANDS, Subscription, compile_subscription, remember_line
from ..terms import plain_lines as flat
from ..terms.syntax import MAX_TOKENS, has_too_many_tokens, parse
from ..terms.terms import Compound, Frozen, Term, Var, is_cons, text_of
from ..terms.tuples import to_tuple
from .extensions import Options, options_of


class Notify(msgspec.Struct, frozen=True):
    """A notification, to be matched and forwarded as ``line``."""

    term: Term
    items: Tuple
    line: str
    ack: int = 1


class Subscribe(msgspec.Struct, frozen=True):
    """A valid subscription; its ``id`` is given by the connection, and is its answer."""

    subscription: Subscription
    rock: int
    id: int = 0
    options: Options | None = None
    """What it asks for beyond Pedro."""

    @property
    def ack(self) -> int:
        return self.id


class Unsubscribe(msgspec.Struct, frozen=True):
    """The end of a subscription of this connection."""

    id: int
    ack: int = 1
    kept: object = None
    """What the connection's owner kept of the subscription."""


class Register(msgspec.Struct, frozen=True):
    """A name for this connection; the answer is 0 instead of ``ack`` where another one of its host has it."""

    name: str
    ack: int = 1


class Deregister(msgspec.Struct, frozen=True):
    """The end of this connection's name."""

    name: str
    ack: int = 1


class P2P(msgspec.Struct, frozen=True):
    """A message to registered connections: ``None`` for a name or host addresses all of them.

    ``from_host`` is as written: whoever can resolve names asks :meth:`pedro_compat.door.session.Session.is_sender`.
    """

    to_name: str | None
    to_host: str | None
    from_name: str
    from_host: str
    line: str
    ack: int = 1


class Bad(msgspec.Struct, frozen=True):
    """A line that is answered by 0. ``uses_id``: a subscription that parsed and was refused takes a number all the same [R]."""

    reason: str
    uses_id: bool = False
    ack: int = 0


Command: TypeAlias = Notify | Subscribe | Unsubscribe | Register | Deregister | P2P | Bad


def decode(line: str | None, dialect: Dialect) -> Command:
    """The command of a line from a :class:`pedro_compat.lines.LineReader`."""
    if line is None:
        return Bad("a line that is too long, blank, or holds NUL, CR or bytes that are no UTF-8")
    if has_too_many_tokens(line):
        return Bad(f"a line of more than {MAX_TOKENS} tokens and escaped characters; say it in several")
    if line.startswith(SUBSCRIPTION):
        return _read(line, dialect)
    plain = plain_notification(line, dialect)
    if plain is not None:
        return Notify(*plain, line)
    if line.startswith("p2pmsg"):
        known = _plain_message(line, dialect)
        if known is not None:
            return known
    return _read(line, dialect)


def plain_notification(line: str, dialect: Dialect) -> tuple[Term, Tuple] | None:
    """The term and the tuple of a notification that is plain, as most are, in one pass; None for what takes :func:`decode`."""
    plain = None if len(line) > MAX_TOKENS and has_too_many_tokens(line) else flat.compound(line)
    if plain is None or plain[0][0] in COMMANDS or len(plain[1]) > MAX_ARITY:
        return None
    remember_line(line, plain[0], dialect)
    return plain


def decode_extended(line: str, dialect: Dialect) -> Command | None:
    """The command of a line that :func:`decode` refuses, at a door with extensions; None where it is none there either."""
    if has_too_many_tokens(line):
        return None
    try:
        term = parse(line, dialect)
    except BadLine:
        return None
    return _subscribe(term, dialect) if type(term) is tuple and term[0] == "subscribe" and len(term) == 5 else None


_messages: dict[tuple[str, str], Command] = {}
"""Dialect's name and the beginning of a message, up to what is said -> the command, but for its line: clients write to the same
others again and again. At REMEMBERED_ADDRESSES all are forgotten; longer ones than ADDRESSES_CHARACTERS are not remembered."""
REMEMBERED_ADDRESSES = 4_096
ADDRESSES_CHARACTERS = 256


def _plain_message(line: str, dialect: Dialect) -> Command | None:
    beginning = flat.message_addresses(line)
    if beginning is None:
        return None
    known = _messages.get((dialect.name, beginning))
    if known is None:
        known = _read(f"{beginning} x)", dialect)
        if len(beginning) <= ADDRESSES_CHARACTERS:
            if len(_messages) >= REMEMBERED_ADDRESSES:
                _messages.clear()
            _messages[dialect.name, beginning] = known
    if type(known) is not P2P:
        return known
    return P2P(known.to_name, known.to_host, known.from_name, known.from_host, line)


SUBSCRIPTION = "subscribe("
"""How nearly all lines begin that subscribe. One that does may be something else, as ``subscribe(a) + b`` is; and blanks may stand
elsewhere."""


def _read(line: str, dialect: Dialect) -> Command:
    # In a subscription variables are variables in every dialect.
    binds = dialect.notification_variables_bind or line.startswith(SUBSCRIPTION)
    try:
        term = parse(line, dialect, frozen=not binds)
    except BadLine as error:
        return Bad(str(error))
    if type(term) is tuple and term[0] == "subscribe" and len(term) == 4:
        return _subscribe(term if binds else parse(line, dialect), dialect)  # type: ignore[arg-type]  # as before, a compound
    if binds and not dialect.notification_variables_bind:
        term = parse(line, dialect, frozen=True)
    if type(term) is tuple:
        functor = term[0]
        if functor in COMMANDS:
            return _command(term, line, dialect)
        if is_cons(term) and not dialect.lists_are_notifications:
            return Bad(f"a list is no notification in Pedro {dialect.name}; put it inside a compound")
    elif type(term) is not str:
        return Bad("a notification is an atom or a compound, not a number, a string or a variable")
    remember_line(line, term, dialect)
    return Notify(term, to_tuple(term), line)


def _command(term: Compound, line: str, dialect: Dialect) -> Command:
    match term:
        case ("unsubscribe", int(number)):
            return Unsubscribe(number)
        case ("register", str(name)):
            return Register(text_of(name))
        case ("deregister", str(name)):
            return Deregister(text_of(name))
        case ("p2pmsg", to, sender, _):
            return _p2p(to, sender, line, dialect)
    return Bad(f"{term[0]!s} with these {len(term) - 1} arguments is no command and no notification")


def _subscribe(term: Compound, dialect: Dialect) -> Command:
    _, head, body, rock, *asked = term
    if type(rock) is not int:
        return Bad("the rock of a subscription is an integer", uses_id=True)
    try:
        options = options_of(asked[0]) if asked else None
        return Subscribe(compile_subscription(head, body, dialect), rock, options=options)
    except BadSubscription as error:
        return Bad(str(error), uses_id=True)


def _p2p(to: Term, sender: Term, line: str, dialect: Dialect) -> Command:
    source = _address(sender, dialect)
    if source is None or type(source[0]) is not str or type(source[1]) is not str:
        return Bad("the sender of a p2pmsg is Name@Host or Thread:Name@Host, of atoms")
    if type(to) is Var or type(to) is Frozen:
        name = host = None
    else:
        target = _address(to, dialect)
        if target is None:
            return Bad("the receiver of a p2pmsg is Name@Host, of atoms or variables, or a variable")
        name, host = (text_of(part) if type(part) is str else None for part in target)
    return P2P(name, host, text_of(source[0]), text_of(source[1]), line)


def _address(term: Term, dialect: Dialect) -> tuple[Term, Term] | None:
    """The name and host of an address, each an atom or a variable; a thread before the name is ignored (paper 3.4)."""
    if not _is_pair(term) or dialect.address_functor not in (None, term[0]):
        return None
    name, host = term[1], term[2]
    if _is_pair(name):
        name = name[2]
    if all(type(part) in (str, Var, Frozen) for part in (name, host)):
        return name, host
    return None


def _is_pair(term: Term) -> TypeGuard[Compound]:
    return type(term) is tuple and len(term) == 3 and not is_cons(term)
