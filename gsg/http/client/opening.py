"""How a client opens its WebSocket to a peer, and what it says where that fails or the connection ends."""

from __future__ import annotations

import asyncio
import re
from ssl import SSLContext, SSLError
from urllib.parse import SplitResult, urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

from dht.resolving import resolve

from ...doors.refusals import hint_of_silence, why_no_tls
from ...errors import AccessDenied, LocalError, PeerUnreachable, reason
from ..protocol import MAX_MESSAGE_BYTES

DEFAULT_URL = "http://127.0.0.1:8470"
_PLACE = re.compile(r"[\w.-]+:[0-9]{1,5}")
OPEN_TIMEOUT_S = 5.0
PROBLEM = "application/problem+json"
"""What a peer says who it does not know; of a proxy before it nothing is known."""
SHOWN_BYTES = 1_000
"""How much is repeated of what a server says that lets a client not in."""


def check_url(url: str) -> SplitResult:
    """The parts of the URL of a peer. Raises LocalError for what is none."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits:
        example = f"http://{url}" if _PLACE.fullmatch(url) else DEFAULT_URL
        raise LocalError(f"{url!r} is no address of a peer; expected one like {example}")
    return parts


async def open_websocket(url: str, tls: SSLContext | None = None, token: str | None = None) -> ClientConnection:
    """A WebSocket to the peer at a URL; ``tls`` says whom to trust where it is one of https, without it the CAs of the system are
    trusted; ``token`` is shown to the peer.

    Raises PeerUnreachable; AccessDenied where the peer asks for a token, or does not know this one; LocalError for a URL that is
    none.
    """
    parts = check_url(url)
    if not isinstance(tls, SSLContext | None):
        raise LocalError(
            f"tls={tls!r:.80} is no SSLContext; expected one such as ssl.create_default_context(cafile='ca.pem'), or None"
        )
    target = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}/v1"
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            if parts.scheme == "http":
                return await _connected(target, str(parts.hostname), parts.port or 80, None, token)
            return await _connected(target, str(parts.hostname), parts.port or 443, tls or True, token)
    except TimeoutError:
        problem = (
            f"nobody answers at {url} within {OPEN_TIMEOUT_S:g} s, and nothing refuses the connection either: "
            "a peer there is stopped or hangs (continue it or start it again), or something on the way drops what is sent; "
            "name another with --peer URL or GSG_PEER"
        )
    except InvalidMessage as error:
        problem = (
            f"what answers at {url} is no HTTP door: {error}; expected the address that `gsg peer` prints after "
            "`http door at` (its --http), not that of --listen or --pedro; name it with --peer URL or GSG_PEER; "
            f"{hint_of_silence(url)}"
        )
    except InvalidStatus as error:
        status, body = error.response.status_code, bytes(error.response.body or b"")[:SHOWN_BYTES].decode("utf-8", "replace")
        said = " ".join(_detail(body).split()) or error.response.reason_phrase
        if status in (401, 403) and error.response.headers.get("content-type") == PROBLEM:
            raise AccessDenied(f"the peer at {url} does not let this client in: {said}", needs_token=status == 401) from None
        problem = f"what answers at {url} lets this client not in (HTTP {status}): {said if said.isprintable() else ascii(said)}"
    except SSLError as error:
        problem = why_no_tls(url, error)
    except (OSError, InvalidHandshake, InvalidURI, EOFError, UnicodeError) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        problem = (
            f"no peer answers at {url}: {said or 'no answer'}; start one with `gsg peer`, "
            "or name another with --peer URL or GSG_PEER"
        )
    raise PeerUnreachable(problem)


def check_token(token: object) -> str:
    """A token, if it can be one. Raises LocalError, which does not repeat it."""
    if not isinstance(token, str):
        raise LocalError(f"a token that is of the type {type(token).__name__}; expected a str")
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise LocalError("the token is empty, or has blanks or signs that are none of ASCII; expected one of the peer's token file")
    return token


def _detail(body: str) -> str:
    """What a problem says, or the body where it is none (RFC 9457)."""
    try:
        return str(msgspec.json.decode(body)["detail"])
    except (msgspec.DecodeError, TypeError, KeyError):
        return body


async def _connected(target: str, host: str, port: int, tls: SSLContext | bool | None, token: str | None) -> ClientConnection:
    """A WebSocket to the first address of the host that takes one. Raises what websockets raises, and OSError."""
    failed = OSError("the host has no address")
    # Looked up here, and not by the loop, which would wait for a silent name server as it ends.
    for address, at in dict.fromkeys(await resolve(host, port)):
        try:
            return await websocket_connect(
                target,
                host=address,
                port=at,
                max_size=MAX_MESSAGE_BYTES,
                compression=None,
                open_timeout=None,
                proxy=None,
                ssl=tls,
                additional_headers=None if token is None else {"Authorization": f"Bearer {token}"},
            )
        except (TimeoutError, SSLError):
            raise
        except OSError as error:
            failed = error
    raise failed


def why_closed(error: ConnectionClosed) -> str:
    """What became of a peer whose connection is closed."""
    code, why = (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else (0, "")
    # 1001 and 1012: the peer goes away, or is started anew (RFC 6455, section 7.4.1, and the registry of its codes).
    if code in (1001, 1012):
        return "has stopped"
    if code == 1011 and "ping" in why:
        return (
            "has cut this client off, which did not answer for 20 s or more; let nothing keep its event loop waiting so long "
            f"({error})"
        )
    if code == 1008:
        return f"does not let this client stay: {why}"
    if error.rcvd is None and error.sent is None:
        return "is lost without a word: it died, the connection broke, or it cut this client off for not reading"
    if error.rcvd is None and error.sent is not None and error.sent.code == 1011:
        return "has not answered for 20 s or more: it hangs, or the connection is broken"
    return f"is lost: {error}"
