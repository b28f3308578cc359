"""By which way a message between registered clients goes, once the addresses of the hosts that it names are known."""

from __future__ import annotations

from typing import TypeAlias

from gsg.tuples.terms import Tuple

from .addresses import message
from .commands import P2P
from .host_names import Hosts
from .session import Session

Said: TypeAlias = tuple[Tuple, "str | None"]
Via: TypeAlias = "tuple[int] | None"
"""The position by whose rendezvous a message goes; None for a notification."""


class MessageHosts:
    """The hosts of one client's messages. What is looked up for a message is kept for it, because what the door remembers may be
    gone when it is the message's turn."""

    def __init__(self, session: Session, hosts: Hosts) -> None:
        self._session = session
        self._hosts = hosts
        self._found: dict[str, str | None] = {}
        """Addresses that were looked up for one message, which names at most two hosts."""

    def way_of(self, command: P2P) -> tuple[Said, Via] | None:
        """A message and the way that it goes; None where a host is to be looked up, or the message is refused."""
        host = command.to_host
        known, sender = self._address(command.from_host)
        if not known or not self._session.is_sender(command, sender):
            return None
        if host is not None:
            known, address = self._address(host)
            if not known:
                return None
            host = address or host
        self._found.clear()
        items, position = message(command.to_name, host)
        return (items, command.line), (position,)

    def unknown(self, command: P2P) -> list[str]:
        """The hosts of a message whose addresses are to be looked up; none where the message is refused."""
        hosts = [host for host in (command.from_host, command.to_host) if host is not None and not self._address(host)[0]]
        if not hosts:
            self._found.clear()
        return hosts

    async def look_up(self, hosts: list[str]) -> None:
        """Find addresses for the message that names these hosts."""
        for host in hosts:
            self._found[host] = await self._hosts.resolve(host, self._session.host)

    def _address(self, host: str) -> tuple[bool, str | None]:
        return (True, self._found[host]) if host in self._found else self._hosts.address(host)
