"""What a request shows to say who has sent it: found in its headers, without judging it.

    Authorization: Bearer TOKEN                      RFC 6750, section 2.1
    Authorization: Basic BASE64(anything:TOKEN)      RFC 7617, for programs that know nothing else
    Sec-WebSocket-Protocol: gsg.bearer.BASE64URL     of a WebSocket, where a page can say no other header
    Cookie: gsg-PORT=LOGIN                           of a page that has logged in

A token in a URL is none: URLs are logged, kept and told to others (RFC 6750, section 5.3).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ...errors import AccessDenied

BEARER_PROTOCOL: Final = "gsg.bearer."
"""Before a token among the subprotocols that a WebSocket offers."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a request shows: a token, or the name of a login; both empty where it shows nothing."""

    token: str = field(default="", repr=False)
    login: str = field(default="", repr=False)


def shown_by(headers: Sequence[tuple[bytes, bytes]], subprotocols: Sequence[str], cookie: str) -> Shown:
    """What headers, their names in lower case, and the subprotocols of a WebSocket show; ``cookie`` is that of this door.

    A token comes before a login, which counts for the door's own pages alone: a browser sends cookies with what pages of other
    ports of this host ask for, too. Raises AccessDenied for what is neither.
    """
    said = [value.decode("latin-1").strip() for name, value in headers if name == b"authorization"]
    if len(said) > 1:
        raise AccessDenied(f"{len(said)} Authorization headers; expected one", needs_token=True)
    if said:
        return Shown(_authorized(said[0]))
    for offered in subprotocols:
        if offered.startswith(BEARER_PROTOCOL):
            return Shown(_decoded(offered.removeprefix(BEARER_PROTOCOL), "the token among the subprotocols", altchars=b"-_"))
    if not _is_own_page(headers):
        return Shown()
    return Shown(login=_cookie([value.decode("latin-1") for name, value in headers if name == b"cookie"], cookie))


def _is_own_page(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether what a browser asks comes from a page of the host that it asks (https://www.w3.org/TR/fetch-metadata/)."""
    said = {name: value.lower() for name, value in headers if name in (b"origin", b"host", b"sec-fetch-site")}
    if said.get(b"sec-fetch-site") in (b"same-site", b"cross-site"):
        return False
    origin = said.get(b"origin")
    return origin is None or origin.partition(b"://")[2] == said.get(b"host")


def _authorized(said: str) -> str:
    scheme, _, rest = said.partition(" ")
    rest = rest.strip()
    match scheme.lower():
        case "bearer" if rest:
            return rest
        case "basic":
            # Whatever the user is called: clients that know names and passwords alone give the token as the password.
            _, colon, password = _decoded(rest, "what Authorization: Basic says").partition(":")
            if colon:
                return password
    expected = "expected Bearer TOKEN, or Basic with the token as password"
    raise AccessDenied(f"what Authorization says is not understood; {expected}", needs_token=True)


def _decoded(text: str, what: str, altchars: bytes | None = None) -> str:
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        return base64.b64decode(padded, altchars=altchars, validate=True).decode()
    except (binascii.Error, ValueError):
        raise AccessDenied(f"{what} is no base64 of a text in UTF-8", needs_token=True) from None


def _cookie(headers: Sequence[str], name: str) -> str:
    # By hand: what the standard library makes of others' cookies of this host, which may be anything, may be nothing at all.
    for part in ";".join(headers).split(";"):
        said, _, value = part.strip().partition("=")
        if said == name:
            return value
    return ""
