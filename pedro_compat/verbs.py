"""What a client says and hears, as lines: the verbs of the protocol and deliveries, without a socket (manual, section 4).

What is said is a text, taken as it is, or a term of :mod:`pedro_compat.terms` that is no atom: compounds are tuples, strings bytes.
An atom needs no form of its own, because the text of an atom is the atom.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from gsg.errors import Refused

from .dialect import PAPER, Dialect
from .extensions import Options
from .syntax import parse
from .terms import Term, atom_of
from .writing import Names, write

Said: TypeAlias = "str | Term"
"""A text or a term."""


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
    """The text of what is said. Raises Refused for a text that is more than one line."""
    text = said if isinstance(said, str) else write(said, names)
    if "\n" in text:
        raise Refused(f"{text!r} holds a newline, which ends a line; write it as \\n inside quotes")
    return text


def subscribe_line(head: Said, body: Said, rock: int, options: Options | None = None) -> str:
    """A subscription; variables of the head and the body that are one object have one name."""
    names = Names()
    asked = "" if options is None else f", {options.source()}"
    return f"subscribe({line_of(head, names)}, ({line_of(body, names)}), {rock}{asked})"


def register_line(name: str) -> str:
    """To take a name: any text, quoted where it has to be."""
    return f"register({atom_of(name)})"


def deregister_line(name: str) -> str:
    """To give a name back."""
    return f"deregister({atom_of(name)})"


def address(name: str, host: str) -> str:
    """The handle ``name@host`` of a client, which may stand in a notification."""
    return f"{atom_of(name)}@{atom_of(host)}"


def p2p_line(to: Said, sender: str, message: Said) -> str:
    """A message to an address from an address."""
    names = Names()
    return f"p2pmsg({line_of(to, names)}, {sender}, {line_of(message, names)})"
