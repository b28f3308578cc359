"""A peer's two sockets on one port number: the overlay's UDP and the links' TCP.

async with Endpoint(id, "127.0.0.1", 0, rng=rng, on_frames=...) as endpoint:
    await endpoint.overlay.join([("seed.example.org", 7400)])
    link = await endpoint.links.connect((await endpoint.overlay.owners(key))[0])
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from ..datagrams.address_blocks import PER_BLOCK
from ..errors import AddressInUse
from ..identity.contacts import Contact
from ..identity.ids import PeerId
from ..identity.membership import Membership
from ..overlay.overlay import Overlay
from .link import Link
from .links import Links

FREE_PORT_TRIES = 20
"""How many free TCP ports to try for one whose UDP twin is free too."""


class Endpoint:
    """Opens ``links`` and ``overlay`` on the same port, and closes both.

    The arguments are those of :class:`~dht.links.links.Links` and :class:`~dht.overlay.overlay.Overlay`. Whoever has a link to
    this peer is watched as a neighbour is, and the links of a peer that died are ended.
    """

    def __init__(
        self,
        id: PeerId,
        host: str,
        port: int,
        *,
        rng: Random,
        on_frames: Callable[[Link, list[bytes]], None],
        on_lost_link: Callable[[Link, str], None] | None = None,
        on_discovered: Callable[[Contact], None] | None = None,
        on_lost_peer: Callable[[Contact], None] | None = None,
        on_suspected: Callable[[Contact, bool], None] | None = None,
        book: Path | None = None,
        incarnation: int = 0,
        probe_s: float = 1.0,
        membership: Membership | None = None,
        link_tls: bool = False,
        links_wait: bool = False,
        per_block: int = PER_BLOCK,
    ) -> None:
        self._make_links = partial(
            Links,
            id,
            host,
            port,
            rng=rng,
            on_frames=on_frames,
            on_lost=on_lost_link,
            membership=membership,
            tls=link_tls,
            waits=links_wait,
        )
        self._make_overlay = partial(
            Overlay,
            id,
            host,
            rng=rng,
            probe_s=probe_s,
            on_discovered=on_discovered,
            on_lost=self._end_links,
            on_suspected=on_suspected,
            heard_s=lambda peer: self.links.heard_s(peer),
            depends_on=lambda: dict.fromkeys(link.peer.id for link in self.links.open_links()),
            book=book,
            incarnation=incarnation,
            membership=membership,
            link_tls=link_tls,
            per_block=per_block,
        )
        self._on_lost_peer = on_lost_peer
        self._tries = 1 if port else FREE_PORT_TRIES
        self._open = AsyncExitStack()
        self.links: Links
        self.overlay: Overlay

    def _end_links(self, contact: Contact) -> None:
        """End the links to a dead peer, whose machine may have vanished without closing them. The caller is told first."""
        try:
            if self._on_lost_peer is not None:
                self._on_lost_peer(contact)
        finally:
            for link in self.links.links_to(contact.id):
                link.abort("the peer does not answer any more")

    @property
    def contact(self) -> Contact:
        """How others reach this peer."""
        return self.overlay.contact

    async def __aenter__(self) -> Self:
        """Open both sockets. Raises AddressInUse."""
        for tried in range(1, self._tries + 1):
            async with AsyncExitStack() as opening:
                links = self._make_links()
                await opening.enter_async_context(links)
                overlay = self._make_overlay(port=links.port)
                try:
                    await opening.enter_async_context(overlay)
                except AddressInUse:
                    # The free TCP port that the kernel gave is taken for UDP: try another.
                    if tried == self._tries:
                        raise
                    continue
                self.links, self.overlay = links, overlay
                self._open = opening.pop_all()
                break
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close both."""
        await self._open.__aexit__(kind, error, trace)
