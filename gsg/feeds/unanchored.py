"""What a template without constants does: it is posted at every peer, and its memory is the union of what they hold.

    a peer is known ──posted──> feeds ──its link broke──> posted again ──whole, or the peer is gone──> the old feed ends

A fact lies at several peers, and each feeds it in its own time. So a fact that no feed has any more, though nobody said that it
went, is *left over*: its peer may be gone, or have handed it over, while what others have said of it is unread. All that feed the
template are asked whether that is all, and what they had said until then is awaited.

    left over ──everybody heard out──> gone, unless another feed has it by now
        └──somebody says that it went──> gone
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field

import dht

from ..background import StartTask
from ..errors import GsgError, PeerMisbehaved, PeerUnreachable, Refused
from ..placement.holders import Holders
from ..tuples.terms import Tuple
from ..wire.exchange import ANSWER_TIMEOUT_S, DialBroke, LinkBroke
from .alpha_memory import AlphaMemory, Source
from .feed import Differences
from .resync import Resync
from .staleness import Staleness
from .union import Union

log = logging.getLogger(__name__)

WIDENING = 64
"""Peers that rendezvous have named at once as others at which a template without constants is to be posted."""
HEARD_OUT_S = ANSWER_TIMEOUT_S
"""How long peers are heard out, once for all that is left over by then: who is silent for so long keeps nobody from knowing that a
fact is lost. Where it has the fact all the same, that comes back when it is heard of."""


class _Posting:
    """One memory's template at all peers."""

    __slots__ = ("is_hearing_out", "times", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[bytes, asyncio.Future[None]] = {}
        """The peers at which it is just being posted; each is done in the end, whatever comes of it. Bounded by the peers there
        are, and WIDENING that others have named."""
        self.times = 0
        """How often everybody was heard out: what is left over now waits for the next time."""
        self.is_hearing_out = False
        """Whether that is under way."""


@dataclass(eq=False)
class UnanchoredTemplates:
    """The templates without constants of one peer."""

    holders: Holders
    resync: Resync
    staleness: Staleness
    start_task: StartTask
    feed_from: Callable[[AlphaMemory, dht.Contact], Coroutine[None, None, None]]
    """Sets up one more feed."""
    end_feed: Callable[[Source], None]
    tell: Callable[[AlphaMemory, Differences], None]
    """Hears of what changes."""
    postings: dict[AlphaMemory, _Posting] = field(default_factory=dict)
    """Bounded by the memories."""

    # --- where it is posted -----------------------------------------------------------------------------------------------

    async def post_template(self, memory: AlphaMemory) -> None:
        """Post a template at everybody, as far as that was not done. Raises Refused while it is set up."""
        self.postings.setdefault(memory, _Posting())
        if memory.union is None and not memory.events_only:
            memory.union = Union()
        await asyncio.gather(*(self._post_once(memory, contact) for contact in self.holders.everybody()))

    def remove_template(self, memory: AlphaMemory) -> None:
        """Nobody uses a memory any more: its feeds are about to end."""
        self.postings.pop(memory, None)
        if memory.union is not None:
            self._settle(memory, memory.union, memory.union.give_up())

    def post_all_at(self, contact: dht.Contact) -> None:
        """A peer has come: all templates are posted there too."""
        for memory in self.postings:
            self.start_task(self._post_once(memory, contact))

    def post_at_named(self, memory: AlphaMemory, contact: dht.Contact) -> None:
        """A rendezvous says who else is to be asked; whoever is named beyond the limit is, once it is discovered."""
        posting = self.postings.get(memory)
        if posting is not None and contact.id not in posting.under_way and len(posting.under_way) < WIDENING:
            self.start_task(self._post_at(memory, posting, contact, _begun(posting, contact.id), is_met=False))

    def replace_feed(self, source: Source) -> Coroutine[None, None, None]:
        """Post a template again where a feed is of no use any more, and then end that; it is under way from now on."""
        posting = self.postings.get(source.memory) or _Posting()
        return self._replace_feed(source, posting, _begun(posting, source.holder.id))

    async def _replace_feed(self, source: Source, posting: _Posting, done: asyncio.Future[None]) -> None:
        try:
            await self._until_fed(source.memory, source.holder, is_fed=True)
        finally:
            self.end_feed(source)
            _ended(posting, source.holder.id, done)

    async def _post_once(self, memory: AlphaMemory, contact: dht.Contact) -> None:
        """Post it at one more peer, unless that is being done."""
        posting = self.postings.get(memory)
        if posting is not None and contact.id not in posting.under_way:
            await self._post_at(memory, posting, contact, _begun(posting, contact.id))

    async def _post_at(
        self, memory: AlphaMemory, posting: _Posting, contact: dht.Contact, done: asyncio.Future[None], *, is_met: bool = True
    ) -> None:
        """Post it there, once the peer is known; one that cannot be reached has nothing to say."""
        try:
            if not is_met:
                await self.holders.wait_to_meet(contact)
            if not any(source.holder.id == contact.id for source in memory.sources):
                await self._until_fed(memory, contact)
        finally:
            _ended(posting, contact.id, done)

    async def _until_fed(self, memory: AlphaMemory, contact: dht.Contact, *, is_fed: bool = False) -> None:
        """Set up a feed from one peer; a link that breaks is dialled again. ``is_fed``: in the place of one that stands."""

        async def set_up(attempt: int) -> GsgError | None:
            nonlocal contact
            try:
                await self.feed_from(memory, contact)
            except LinkBroke as error:
                return error
            except (PeerUnreachable, PeerMisbehaved) as error:
                log.info("template without constants not posted: %s", error)
                if is_fed and isinstance(error, DialBroke):
                    # Where links break again and again it may live all the same: what it holds is not to go and come back.
                    await self.holders.wait_to_meet(contact)
                known = self.holders.contact_of(contact.id)
                if not is_fed or known is None or isinstance(error, PeerMisbehaved):
                    raise
                # It may be at another address by now.
                contact = known
                return error
            except Refused as error:
                if memory.ready is not True:
                    raise  # whoever subscribes is told
                return error
            return None

        # The facts of a peer that is given up are unknown until it is heard of again (post_all_at).
        with contextlib.suppress(PeerUnreachable, PeerMisbehaved):
            await self.staleness.until_set_up(memory, contact, set_up, lambda: bool(memory.users))

    # --- what they hold together ------------------------------------------------------------------------------------------

    def apply_changes(self, memory: AlphaMemory, facts: Iterable[Tuple], had: Mapping[Tuple, int]) -> None:
        """Facts have come or gone in a feed of a memory; those that it ``had``, by their stamps, are not in it any more."""
        union = memory.union
        assert union is not None, "its feeds bring facts"
        posting = self.postings.get(memory) if had else None
        if posting is not None and union.keep_left_over(had, _feeds(memory), posting.times) and not posting.is_hearing_out:
            posting.is_hearing_out = True
            self.start_task(self._hear_out(memory, union, posting))
        self._settle(memory, union, facts)

    def _settle(self, memory: AlphaMemory, union: Union, facts: Iterable[Tuple]) -> None:
        differences = union.settle(facts, _feeds(memory))
        if differences:
            self.tell(memory, differences)

    async def _hear_out(self, memory: AlphaMemory, union: Union, posting: _Posting) -> None:
        """Hear everybody out, and then believe that what is left over has gone; again for what was left over meanwhile."""
        try:
            while union.has_left_over and self.postings.get(memory) is posting:
                now = posting.times
                posting.times += 1
                peers = dict.fromkeys([*(source.holder.id for source in memory.sources), *posting.under_way])
                try:
                    async with asyncio.timeout(HEARD_OUT_S):
                        await asyncio.gather(*(self._hear_out_one(memory, posting, peer) for peer in peers))
                except TimeoutError:
                    log.info(
                        "some peers have not said within %g s what they hold: what no other has is taken to be gone", HEARD_OUT_S
                    )
                if self.postings.get(memory) is posting:
                    self._settle(memory, union, union.give_up(now))
        finally:
            posting.is_hearing_out = False

    async def _hear_out_one(self, memory: AlphaMemory, posting: _Posting, peer: bytes) -> None:
        """Wait until all is told that one peer has to say by now, or it is gone."""
        while self.postings.get(memory) is posting:
            waits = posting.under_way.get(peer)
            source = next((source for source in memory.sources if source.holder.id == peer), None)
            if waits is not None:
                await asyncio.wait([waits])
            elif source is None or await self.resync.hear_out(source):
                return


def _feeds(memory: AlphaMemory) -> Collection[Mapping[Tuple, int]]:
    return [source.facts for source in memory.sources]


def _begun(posting: _Posting, peer: bytes) -> asyncio.Future[None]:
    done = posting.under_way[peer] = asyncio.get_running_loop().create_future()
    return done


def _ended(posting: _Posting, peer: bytes, done: asyncio.Future[None]) -> None:
    if posting.under_way.get(peer) is done:
        del posting.under_way[peer]
    done.set_result(None)
