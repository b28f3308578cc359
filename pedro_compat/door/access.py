"""Whom a door serves: clients of certain networks, and those that know a secret. Neither is asked for unless the door is told to.

A secret is said before the first command, as ``register(secret("..."))``, and answered by 1; anything else is answered by 0 and
the end of the connection. The line has this form because every Pedro server answers it by 0 and forwards it to nobody: a client
that says its secret at the wrong door has told it to no other client, and no functor is reserved.

It is a password over a bare TCP connection: whoever can read the network reads it too.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gsg.errors import LocalError

from ..dialect import PAPER
from ..errors import BadLine
from ..terms.syntax import parse
from ..terms.terms import escaped
from .handshake import FirstLine

MAX_SECRET_CHARACTERS = 256
"""So that the line that says it fits into the original's limit."""
MAX_FIRST_BYTES = 4_096
"""Longest first line; what is longer says no secret."""
NAMED_HOSTS = 1_000
"""Refused addresses that the log has named once; at the limit all are forgotten."""


class Allowed:
    """The networks whose clients are served; without any, everybody is."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [_network(text) for text in networks]

    @property
    def everybody(self) -> bool:
        """Whether no network is named."""
        return not self._networks

    def admits(self, address: str) -> bool:
        """Whether a client at this address is served."""
        if not self._networks:
            return True
        try:
            where = ip_address(address)
        except ValueError:
            return False  # a socket that was closed as it came has no address any more
        if isinstance(where, IPv6Address) and where.ipv4_mapped is not None:
            where = where.ipv4_mapped
        return any(where in network for network in self._networks)

    def __str__(self) -> str:
        return ", ".join(map(str, self._networks)) or "anywhere"


class RefusedHosts:
    """The addresses that are refused, so that the log names each of them once."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        """Limit: NAMED_HOSTS."""

    def add(self, host: str) -> bool:
        """One is refused; whether it is named now."""
        if host in self._named:
            return False
        if len(self._named) >= NAMED_HOSTS:
            self._named.clear()
        self._named.add(host)
        return True


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise LocalError(
            f"{text!r} is no network; expected an address, 192.0.2.7, or one with zeros beyond its prefix, 10.1.0.0/16"
        ) from None


def checked_secret(secret: str) -> str:
    """The secret as it is. Raises LocalError for one that cannot be said in a line."""
    if not 0 < len(secret) <= MAX_SECRET_CHARACTERS or not secret.isprintable():
        raise LocalError(
            f"a secret of {len(secret)} characters, or with some that do not print; expected 1 to {MAX_SECRET_CHARACTERS} that do"
        )
    return secret


def secret_line(secret: str) -> str:
    """What a client says first, without its newline."""
    return f'register(secret("{escaped(secret, chr(34))}"))'


class Gate:
    """The first line of a connection, which must say the secret."""

    def __init__(self, secret: str) -> None:
        self._expected = escaped(secret, '"').encode()
        self._first_line = FirstLine(MAX_FIRST_BYTES + 1)

    def feed(self, data: bytes) -> tuple[bool, bytes] | None:
        """Whether the secret was said, and the bytes after it; None while the line is not complete."""
        found = self._first_line.feed(data)
        return None if found is None else (self._says(found[0]), found[1])

    def _says(self, line: bytes) -> bool:
        if len(line) > MAX_FIRST_BYTES:
            return False
        try:
            term = parse(line.decode(), PAPER)
        except (BadLine, UnicodeDecodeError):
            return False
        match term:
            case ("register", ("secret", bytes(said))):
                # Whether it is right is not to be guessed from how long the comparison takes.
                return hmac.compare_digest(said, self._expected)
        return False
