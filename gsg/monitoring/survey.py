"""How all peers are that one knows: each is asked at once, and one that hangs is named and keeps nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import dht

from ..errors import PeerUnreachable, RemoteError
from ..wire.exchange import Answer, Exchange, PeerLink, answer_of, show
from ..wire.messages import Beat, Message
from ..wire.status_messages import AskStatus, PeerStatus, SilentPeer, Vocabulary

WAIT_S = 1.0
"""How long a peer may take to answer anything at all. One that answers is busy with counting, and waited for."""

Wanted = TypeVar("Wanted", PeerStatus, Vocabulary)


class Survey(NamedTuple):
    """Those that have answered, the one that asked first, and those that have not."""

    peers: list[PeerStatus]
    silent: list[SilentPeer]


async def survey(everybody: Sequence[dht.Contact], exchange: Exchange) -> Survey:
    """Ask these peers how they are."""
    answers = await asyncio.gather(*(ask_for(PeerStatus, contact, exchange, AskStatus) for contact in everybody))
    return Survey(
        [answer for answer in answers if isinstance(answer, PeerStatus)],
        [answer for answer in answers if isinstance(answer, SilentPeer)],
    )


async def ask_for(
    wanted: type[Wanted], contact: dht.Contact, exchange: Exchange, question: Callable[[int], Message]
) -> Wanted | SilentPeer:
    """What a peer answers, or that it is silent, and why."""
    try:
        if contact.id == exchange.own.contact.id:
            return await exchange.ask(contact, question, wanted)
        try:
            async with asyncio.timeout(WAIT_S):
                link = await exchange.link(contact)
        except TimeoutError:
            raise PeerUnreachable(f"no link to it could be made within {WAIT_S:g} s") from None
        answer = link.ask(question)
        # Whoever reads answers this at once, however long it is to count.
        reads = link.ask(lambda request: Beat(request, 0))
        await asyncio.wait([answer], timeout=WAIT_S)
        if not answer.done() and not reads.done():
            raise PeerUnreachable(f"it has not answered within {WAIT_S:g} s: it hangs, or is about to be taken for dead")
        return await _answer_of(link, answer, wanted)
    except RemoteError as error:
        return SilentPeer(contact.id, show(contact), str(error))


async def _answer_of(link: PeerLink, asked: asyncio.Future[Answer], wanted: type[Wanted]) -> Wanted:
    try:
        return await answer_of(link, asked, wanted)
    except RemoteError:
        if asked.done() and asked.exception() is None and isinstance(told := asked.result(), PeerStatus):
            version = told.version or "an unknown one"
            raise RemoteError(
                f"it is of version {version} and does not know this question: start it anew with that of this peer"
            ) from None
        raise
