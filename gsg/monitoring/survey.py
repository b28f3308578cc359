"""How all peers are that one knows: each is asked at once, and one that hangs is named and keeps nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import dht

from ..errors import PeerUnreachable, RemoteError
from ..wire.exchange import Exchange, answer_of, show
from ..wire.messages import Beat
from ..wire.status_messages import AskStatus, PeerStatus, SilentPeer

WAIT_S = 1.0
"""How long a peer may take to answer anything at all. One that answers is busy with counting, and waited for."""


class Survey(NamedTuple):
    """Those that have answered, the one that asked first, and those that have not."""

    peers: list[PeerStatus]
    silent: list[SilentPeer]


async def survey(everybody: Sequence[dht.Contact], exchange: Exchange) -> Survey:
    """Ask these peers how they are."""
    answers = await asyncio.gather(*(_ask(contact, exchange) for contact in everybody))
    return Survey(
        [answer for answer in answers if isinstance(answer, PeerStatus)],
        [answer for answer in answers if isinstance(answer, SilentPeer)],
    )


async def _ask(contact: dht.Contact, exchange: Exchange) -> PeerStatus | SilentPeer:
    try:
        if contact.id == exchange.own.contact.id:
            return await exchange.ask(contact, AskStatus, PeerStatus)
        try:
            async with asyncio.timeout(WAIT_S):
                link = await exchange.link(contact)
        except TimeoutError:
            raise PeerUnreachable(f"no link to it could be made within {WAIT_S:g} s") from None
        answer = link.ask(AskStatus)
        # Whoever reads answers this at once, however long it is to count.
        reads = link.ask(lambda request: Beat(request, 0))
        await asyncio.wait([answer], timeout=WAIT_S)
        if not answer.done() and not reads.done():
            raise PeerUnreachable(f"it has not answered within {WAIT_S:g} s: it hangs, or is about to be taken for dead")
        return await answer_of(link, answer, PeerStatus)
    except RemoteError as error:
        return SilentPeer(contact.id, show(contact), str(error))
