"""Whom a request says that it was meant for: what keeps pages of the web from speaking to a peer through their readers' browsers.

A browser lets any page speak to any address, and the name of a page may be made to mean this machine from one moment to the next
(DNS rebinding). What it always says truly is the page's own name: in Host, where the page believes that it speaks with its own
server, and in Origin where it speaks with another. So a request is served where Host has a name that is this door's, or an address,
which nobody can make to mean another one; and where it says its Origin, that has to be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from ...errors import LocalError

LOCALHOST = "localhost"
"""The one name that is let in without being told: browsers and systems answer it themselves (RFC 6761, section 6.3). Names below
it, such as ``app.localhost``, are asked of name servers by some."""

MAX_HOST_CHARACTERS = 253
"""The longest name (RFC 1035, section 2.3.4)."""
SHOWN_CHARACTERS = 100
"""How much of a stranger's words an answer or the log repeats."""

BAD_REQUEST, FORBIDDEN, MISDIRECTED = 400, 403, 421

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+(?:%[0-9a-z._~%-]+)?\]|[0-9a-z._-]+)(?::([0-9]{0,5}))?")
"""A host and perhaps a port, in lower case (RFC 9110, section 7.2): no user, no blank, no list."""
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)")
_PORTS = {"http": 80, "https": 443}


class Refusal(NamedTuple):
    """Why a request is not served: an HTTP status, and the reason in words."""

    status: int
    reason: str


class Authority(NamedTuple):
    """A host as it is compared, and the port where one is named."""

    host: str
    port: int | None
    is_address: bool


def authority_of(text: str) -> Authority | None:
    """What Host says, or None where that is no host: names in lower case and without the dot of the root, addresses as they are
    written shortest, without their zone."""
    found = _AUTHORITY.fullmatch(text.lower()) if len(text) <= MAX_HOST_CHARACTERS + 8 else None
    if found is None:
        return None
    host, digits = found.groups()
    port = int(digits) if digits else None
    if port is not None and not 0 < port < 65536:
        return None
    try:
        # A zone says by which of this machine's interfaces its browser reached the address: it is no part of it.
        address = ip_address(host[1:-1].partition("%")[0] if host.startswith("[") else host)
    except ValueError:
        name = host.removesuffix(".")
        # A label of digits alone at the end makes an address of it to browsers, in forms that are none to others.
        named = name and not host.startswith("[") and ".." not in name and not name.rpartition(".")[2].isdigit()
        return Authority(name, port, False) if named else None
    if host.startswith("[") is not isinstance(address, IPv6Address):
        return None
    return Authority(str(address), port, True)


class Hosts:
    """The names that a door answers to, besides addresses. ``bound``: where it listens; ``names``: what else it is called;
    ``origins``: the pages of other hosts that may talk to it, such as ``https://app.example.org``; ``scheme``: what it speaks, http
    or https.

    Raises LocalError for a name or an origin that is none.
    """

    def __init__(self, bound: str, names: Iterable[str] = (), origins: Iterable[str] = (), *, scheme: str = "http") -> None:
        # Somebody in front of a plain door may speak TLS for it; a page in plain text is never one of a door that speaks it itself.
        self._page_schemes = ("https",) if scheme == "https" else ("http", "https")
        self._names = {LOCALHOST}
        where = authority_of(bound)
        if where is not None:
            self._names.add(where.host)
        for name in names:
            known = authority_of(name)
            if known is None or known.port is not None:
                raise LocalError(
                    f"--http-host {name!r} is no name of a host; expected one as it stands in the URL, without a port, such as"
                    " gsg.example.org"
                )
            self._names.add(known.host)
        self.origins = frozenset(map(_checked_origin, origins))
        """The pages of others, as browsers write their origins."""

    def refusal(self, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Refusal | None:
        """Why a request to this target with these headers, their names in lower case, is not served; None where it is."""
        hosts = [value.decode("latin-1").strip() for name, value in headers if name == b"host"]
        origins = [value.decode("latin-1").strip() for name, value in headers if name == b"origin"]
        if not target.startswith(b"/"):
            # RFC 9112, section 3.2.2: it would count instead of Host. A door is no proxy, and nobody else writes a request so.
            return Refusal(
                BAD_REQUEST, f"{_shown(target.decode('latin-1'))} as the target of a request; expected a path, such as /status"
            )
        if len(hosts) != 1:
            return Refusal(BAD_REQUEST, f"{len(hosts)} Host headers in a request; expected one, the address or name of this peer")
        host = authority_of(hosts[0])
        if host is None:
            return Refusal(BAD_REQUEST, f"Host {_shown(hosts[0])} is no host; expected the address or name of this peer")
        if not host.is_address and host.host not in self._names:
            return Refusal(
                MISDIRECTED,
                f"this peer is not known as {_shown(host.host)}, which may be the name of a page that means it harm: ask it by its "
                f"address or as {LOCALHOST}, or start it with --http-host {_shown(host.host)} if the name is its own",
            )
        from_there = len(origins) == 1 and (origins[0].lower() in self.origins or _same(origins[0], host, self._page_schemes))
        if origins and not from_there:
            return Refusal(
                FORBIDDEN,
                f"a page of {_shown(', '.join(origins))} may not talk to the peer at {_shown(hosts[0])}; only a page "
                "that comes from there may, programs that are no page, and those that it is started for with --http-origin",
            )
        return None


def _checked_origin(origin: str) -> str:
    """As a browser writes it. Raises LocalError."""
    found = _ORIGIN.fullmatch(origin.lower())
    page = None if found is None else authority_of(found[2])
    if found is None or page is None:
        raise LocalError(f"--http-origin {origin!r:.200} is no origin of a page; expected one such as https://app.example.org")
    host = f"[{page.host}]" if ":" in page.host else page.host
    return f"{found[1]}://{host}" + (f":{page.port}" if page.port not in (None, _PORTS[found[1]]) else "")


def _same(origin: str, host: Authority, schemes: Sequence[str]) -> bool:
    """Whether a page's origin is the host that it speaks to, scheme and port included (RFC 6454, section 5)."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None or found[1] not in schemes:
        return False  # null, as of a file or a sandbox, is nobody's
    usual = _PORTS[found[1]]
    page = authority_of(found[2])
    return page is not None and page.host == host.host and (page.port or usual) == (host.port or usual)


def _shown(text: str) -> str:
    """A stranger's words as they may stand in an answer and in a log: printable, and not for ever."""
    printable = text.encode("ascii", "backslashreplace").decode() if text.isprintable() else ascii(text)[1:-1]
    return printable if len(printable) <= SHOWN_CHARACTERS else printable[:SHOWN_CHARACTERS] + "..."
