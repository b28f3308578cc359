"""What a client says and hears, as lines: the verbs of the protocol and deliveries, without a socket (manual, section 4).

What is said is a text or a term. A text, which is a ``str`` by itself, is Pedro and taken as it is. A term is a tuple or a list, a
string or a number (:mod:`pedro_compat.terms.python_terms`); whatever is inside of it stands for itself, and is quoted where it has
to be.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gsg.errors import BadTerm, Refused

from ..dialect import PAPER, Dialect
from ..door.extensions import Options
from ..errors import SHOWN_CHARACTERS, BadLine
from ..goals.covers import COMMANDS
from ..lines import DEFAULT_SIZE
from ..terms.python_terms import Said, term_of
from ..terms.syntax import MAX_TOKENS, has_too_many_tokens, parse
from ..terms.terms import Term, atom_of
from ..terms.writing import Names, write

_COMMAND = re.compile("|".join(sorted(COMMANDS)))
_COMMAND_FIRST = re.compile(rf"[ \t('\"]*+(?:{_COMMAND.pattern})\b")


class Delivery(NamedTuple):
    """A notification or message, as it was sent, with the rock of the subscription that covers it (0 for a message)."""

    rock: int
    line: str

    def term(self, dialect: Dialect = PAPER) -> Term:
        """What the line says. Raises BadLine where it is no term of the dialect."""
        return parse(self.line, dialect)


def delivery_of(line: bytes) -> Delivery:
    """A line of the data socket, its newline included. Raises ValueError for what is no delivery."""
    rock, _, said = line.decode().removesuffix("\n").partition(" ")
    return Delivery(int(rock), said)


def line_of(said: Said, names: Names | None = None) -> str:
    """The text of what is said. Raises BadTerm for what is no term, Refused for a text that is more than one line."""
    text = said if isinstance(said, str) else write(term_of(said), names)
    if "\n" in text:
        raise Refused(f"{_shown(text)} holds a newline, which ends a line; write it as \\n inside quotes")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadTerm(
            f"{_shown(text)} has no form in UTF-8, which Pedro's lines are in; expected text without surrogates"
        ) from None
    return text


def notification_line(said: Said) -> str:
    """A notification. Raises what :func:`line_of` raises, and Refused for a command."""
    line = line_of(said)
    # Most lines do not hold one of these words, and need not be read to know that they are none.
    if _COMMAND.search(line) is not None:
        command = _command(line)
        if command is not None:
            raise Refused(
                f"{_shown(line)} is a command to the door, no notification; use the client's method "
                f"{_METHODS.get(command, command)}(), or send() for a line as it is"
            )
    return line


_METHODS = {"p2pmsg": "p2p"}


def _command(line: str) -> str | None:
    """The command that a line is, in whatever form; None for a notification, and for what no door reads."""
    term: Term | None
    try:
        term = None if has_too_many_tokens(line) else parse(line)
    except BadLine:
        term = None
    if term is None:
        # Another server may read what PAPER does not.
        found = _COMMAND_FIRST.match(line)
        return None if found is None else found[0].lstrip(" \t('\"")
    return str(term[0]) if type(term) is tuple and term[0] in COMMANDS else None


def refusal(line: str) -> str:
    """Why a door may have answered a line by 0, as far as the line tells it."""
    return f"the pedro door refused {_shown(line)}: {_fault(line)}"


def _fault(line: str) -> str:
    size = len(line.encode()) + 1
    if size >= DEFAULT_SIZE:
        return (
            f"it has {size} bytes with its newline, and a door takes lines shorter than its --pedro-size, "
            f"{DEFAULT_SIZE} unless told; say it in several, or start the door with a larger one"
        )
    if has_too_many_tokens(line):
        return f"it has more than {MAX_TOKENS} tokens and escaped characters; say it in several"
    try:
        term = parse(line)
    except BadLine as error:
        return str(error)
    match term:
        case ("register", _):
            return "another client of this host has the name, or this client has one already, or the door asks for a secret first"
        case ("deregister", _):
            return "it is not this client's name, or that of the admin, who keeps it"
        case ("subscribe", _, _, _):
            return "head, body or rock is none that the door's dialect knows, or it asks for a secret first"
        case ("subscribe", _, _, _, _):
            return "the door has no extensions, or does not remember notifications, or the head, body or rock is none that it knows"
        case ("p2pmsg", _, _, _):
            return "expected the address Name@Host of the receiver, and that under which this client is registered as sender"
        case ("unsubscribe", _):
            return "the door knows no such subscription of this client"
        case (str(), *_) | str():
            return "the door's dialect does not take it as a notification, or the door asks for a secret first"
    return "it is no notification: expected an atom or a compound, not a number, a string or a variable"


def _shown(text: str) -> str:
    """A text for a message: as much of it as helps."""
    return repr(text) if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]!r}... ({len(text)} characters)"


def subscribe_line(head: Said, body: Said, rock: int, options: Options | None = None) -> str:
    """A subscription; variables of the head and the body that are one object have one name. Raises what :func:`line_of` raises."""
    if type(rock) is not int:
        raise BadTerm(f"{rock!r:.80} is no rock; expected an integer, which comes back with each delivery")
    names = Names()
    asked = "" if options is None else f", {options.source()}"
    return f"subscribe({line_of(head, names)}, ({line_of(body, names)}), {rock}{asked})"


def register_line(name: str, verb: str = "register") -> str:
    """To take a name: any text, quoted where it has to be. Raises BadTerm for what is no text."""
    if not isinstance(name, str):
        raise BadTerm(f"{name!r:.80} is no name; expected a str")
    return line_of((verb, name))


def deregister_line(name: str) -> str:
    """To give a name back."""
    return register_line(name, "deregister")


def address(name: str, host: str) -> str:
    """The handle ``name@host`` of a client, which may stand in a notification."""
    return f"{atom_of(name)}@{atom_of(host)}"


def p2p_line(to: Said, sender: str, message: Said) -> str:
    """A message to an address from an address."""
    names = Names()
    return f"p2pmsg({line_of(to, names)}, {sender}, {line_of(message, names)})"
