"""Addresses as callers give them: a pair of host and port, or one text such as ``127.0.0.1:8471``.

The command line and Python read them here, so that what works at one works at the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DoorClosed, LocalError, reason

MAX_PORT = 65_535


def read_address(text: str, *, default_host: str = "127.0.0.1") -> tuple[str, int] | None:
    """HOST:PORT, [IPV6]:PORT, :PORT or PORT; None for a text that is none of them."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        return None
    return host.removeprefix("[").removesuffix("]") or default_host, int(port)


def address_of(given: object, argument: str) -> tuple[str, int]:
    """The address that was meant by an argument of :class:`gsg.Peer`. Raises LocalError, which names the argument."""
    match given:
        case str():
            found = read_address(given)
            if found is not None:
                return found
        case [str() as host, int() as port] if not isinstance(port, bool) and 0 <= port <= MAX_PORT:
            return host, port
    raise LocalError(
        f"{argument} has {given!r}, which is no address; expected a pair of host and port such as ('127.0.0.1', 8471), "
        f"or '127.0.0.1:8471', the port at most {MAX_PORT}"
    )


def addresses_of(given: Iterable[tuple[str, int] | str], argument: str) -> tuple[tuple[str, int], ...]:
    """Several of them. Raises LocalError, also for a single one that stands where a list must."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise LocalError(f"{argument} is {given!r}; expected a list of addresses, such as [('127.0.0.1', 8471)]")
    return tuple(address_of(address, argument) for address in given)


async def host_of_this_machine(host: str, port: int) -> str:
    """The address that a peer is to listen at, and be known by, where a name was given. Raises DoorClosed."""
    # The command reads addresses before it needs the overlay.
    from dht.resolving import resolve

    try:
        found = await resolve(host, port)
    except OSError as error:
        raise DoorClosed(
            f"cannot listen on {host}:{port}: {reason(error)}; expected an address or a host name of this machine"
        ) from None
    return found[0][0]
