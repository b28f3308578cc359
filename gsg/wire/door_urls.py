"""Where the HTTP door of a peer is, as peers tell each other and their clients.

A door says where it listens, which is not always where others find it: bound to every address it is found at the one by which its
peer is reached, and bound to loopback by whoever is on the same machine.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ..errors import LocalError

MAX_DOOR_CHARACTERS: Final = 300
"""The longest URL of a door: a name has 253 (RFC 1035, section 2.3.4)."""

_PORTS = {"http": 80, "https": 443}


class DoorUrl(NamedTuple):
    """The URL of a door, in parts."""

    scheme: str
    host: str
    """Without brackets."""
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def read_door_url(text: str) -> DoorUrl | None:
    """The parts of a URL such as ``http://10.0.0.1:8470``, which has neither path nor password; None for what is no such one."""
    if len(text) > MAX_DOOR_CHARACTERS or not text.isprintable():
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    more = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in _PORTS or not parts.hostname or more or port == 0:
        return None
    return DoorUrl(parts.scheme, parts.hostname, port or _PORTS[parts.scheme])


def check_advertised(text: str) -> str:
    """The URL under which a door is to be told to others. Raises LocalError for what is none."""
    url = read_door_url(text)
    if url is None:
        raise LocalError(
            f"--http-advertise {text!r} is no address of a door; expected one that clients reach, such as http://peer7.example.org:8470"
        )
    return str(url)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nobody else's."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def door_as_reached(text: str, peer_host: str, own_host: str) -> str | None:
    """Where the door of another peer is found from here; None where it is not, or the text is no URL.

    ``peer_host`` is the address by which that peer is reached, and ``own_host`` that by which this one is.
    """
    url = read_door_url(text)
    if url is None:
        return None
    if _is_unspecified(url.host):
        if _is_unspecified(peer_host):
            return None
        url = url._replace(host=peer_host)
    if is_loopback(url.host) and not is_loopback(peer_host) and peer_host != own_host:
        return None  # the loopback of another machine
    return str(url)


def _is_unspecified(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
