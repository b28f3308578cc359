"""Messages over links: requests, their answers, and what goes without one.

A :class:`PeerLink` is a link of :mod:`dht` that speaks :mod:`gsg.wire.messages`. The peer itself has one too, a queue: every
code path is the same whether a rendezvous is this peer or another.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from math import inf
from typing import TypeAlias, TypeVar

import dht
from dht.liveness.late_timers import Timer, late_s

from ..errors import Elsewhere, PeerMisbehaved, PeerUnreachable, Refused, RemoteError
from .experiment_messages import Orders
from .holder_messages import Differ
from .load_messages import Loads
from .messages import ByHead, Done, Failed, Message, NotHere, decode, encode
from .status_messages import PeerStatus, Vocabulary
from .topic_messages import Members

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
"""How long an answer may take before its peer counts as unreachable: for peers that hang, since a broken link tells at once."""

OWN_SLICE_S = 0.005
"""For how long messages of this peer to itself are delivered at a stretch, about: one more is begun before that is over."""
FORGET_AT = 1_000
MAX_PENDING = 128_000
"""Requests that a link may leave unanswered; it is ended when there are so many, or at most twice as many, and they go again."""

Answer: TypeAlias = Done | Failed | Loads | NotHere | ByHead | Differ | PeerStatus | Vocabulary | Members | Orders
_ANSWERS = (Done, Failed, Loads, NotHere, ByHead, Differ, PeerStatus, Vocabulary, Members, Orders)
Wanted = TypeVar("Wanted", bound=Answer)
OnMessage: TypeAlias = "Callable[[PeerLink, Message], None]"


class LinkBroke(PeerUnreachable):
    """The link to a peer broke, which says nothing of the peer: it is dialled again before anybody takes its place."""


class DialBroke(PeerUnreachable):
    """The host of a peer answers, and the connection broke before the two had greeted: it may live, and is not to be had now."""


class Leaving(PeerUnreachable):
    """The peer is about to stop: it is not asked any more, and its links stand until it has handed over what it holds."""


class FannedOut(RemoteError):
    """What a peer feeds is passed on by another one: ``by`` says who."""

    def __init__(self, problem: str, by: ByHead) -> None:
        super().__init__(problem)
        self.by = by


class PeerLink(ABC):
    """One way to a peer. ``pending`` has the requests that wait for an answer; whoever asks bounds how many they are, and gives up
    in the end. Those that were given up are forgotten when FORGET_AT wait, or twice as many as were left the last time."""

    max_pending: float = MAX_PENDING
    is_remote = True
    """Whether it leads to another peer, and may break."""

    def __init__(self, contact: dht.Contact) -> None:
        self.contact = contact
        self.pending: dict[int, asyncio.Future[Answer]] = {}
        self._forget_at = FORGET_AT
        self.frame_bytes = 0
        """The length of the message that is being delivered; 0 of our own."""
        self.sent_bytes = 0
        """The length of the last message sent; 0 to ourselves."""
        self._requests = 0

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send without waiting. Raises PeerUnreachable when the link is gone, Refused for what is too long for a frame."""

    @property
    @abstractmethod
    def congested(self) -> bool:
        """Whether more is queued than the link takes at once: whoever produces should stop, and await :meth:`drained`."""

    @property
    def queued(self) -> bool:
        """Whether messages wait here that the other side may not have seen."""
        return True

    @property
    def heard_s(self) -> float:
        """When something came last, by the loop's clock."""
        return inf

    @abstractmethod
    async def drained(self, limit_s: float | None = None) -> None:
        """Wait until the link takes more. Raises PeerUnreachable when it breaks, or after ``limit_s``."""

    def ask(self, make: Callable[[int], Message]) -> asyncio.Future[Answer]:
        """Send ``make(request number)``; the future is the answer, or PeerUnreachable when the link breaks."""
        self._requests += 1
        number = self._requests
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if len(self.pending) >= self._forget_at:
            self._forget_given_up()
        self.pending[number] = future
        try:
            self.send(make(number))
        except (PeerUnreachable, Refused) as error:
            del self.pending[number]
            future.set_exception(error)
            future.exception()  # as in fail_requests(): whoever asks several may give up at the first that fails
        return future

    def _forget_given_up(self) -> None:
        self.pending = {number: future for number, future in self.pending.items() if not future.done()}
        if len(self.pending) >= self.max_pending:
            self.abort(f"it has left {len(self.pending)} requests unanswered")
        self._forget_at = max(FORGET_AT, 2 * len(self.pending))

    @abstractmethod
    def pause_reading(self) -> None:
        """Take no more messages for now, where they come by a link: the other side is slowed down in time."""

    @abstractmethod
    def resume_reading(self) -> None:
        """Take messages again."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """End the link: the peer has said what the protocol forbids, or is dead."""

    def take_answer(self, answer: Answer) -> None:
        """An answer has come; one to nothing (its asker gave up) is nothing."""
        future = self.pending.pop(answer.request, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def fail_requests(self, reason: str) -> None:
        """The link is gone, and with it every answer that was to come."""
        pending, self.pending = self.pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(LinkBroke(f"the link to {show(self.contact)} broke before it answered: {reason}"))
                # Whoever asked may have been cancelled meanwhile: an exception that nobody fetches is no news then.
                future.exception()


def show(contact: dht.Contact) -> str:
    """A peer as people write it."""
    return f"{contact.host}:{contact.port}"


def named(contact: dht.Contact) -> str:
    """A peer with the beginning of its id, as ``gsg status`` shows it, for those who read of it long after."""
    return f"peer {contact.id.hex()[:12]} at {show(contact)}"


class _RemoteLink(PeerLink):
    def __init__(self, dht_link: dht.Link, traffic: Traffic) -> None:
        super().__init__(dht_link.peer)
        self._dht_link = dht_link
        self._traffic = traffic

    def send(self, message: Message) -> None:
        payload = encode(message)
        self.sent_bytes = len(payload)
        self._traffic.messages += 1
        self._traffic.bytes += len(payload)
        try:
            self._dht_link.send(payload)
        except dht.RemoteError as error:
            raise LinkBroke(str(error)) from None
        except dht.LocalError as error:
            raise Refused(f"a {type(message).__name__} cannot be sent: {error}") from None

    @property
    def congested(self) -> bool:
        return self._dht_link.congested

    @property
    def heard_s(self) -> float:
        return self._dht_link.heard_s

    async def drained(self, limit_s: float | None = None) -> None:
        while True:
            due_s = asyncio.get_running_loop().time() + (limit_s or 0.0)
            try:
                async with asyncio.timeout(limit_s):
                    await self._dht_link.drained()
                return
            except dht.DhtError as error:
                raise LinkBroke(str(error)) from None
            except TimeoutError:
                if not late_s(due_s):
                    raise PeerUnreachable(f"{show(self.contact)} has read nothing for {limit_s:.0f} s") from None

    def pause_reading(self) -> None:
        self._dht_link.pause_reading()

    def resume_reading(self) -> None:
        self._dht_link.resume_reading()

    def abort(self, reason: str) -> None:
        self._dht_link.abort(reason)


class _OwnLink(PeerLink):
    """The way to ourselves. Unbounded by itself: what is queued here was produced by a caller who awaits its answer."""

    max_pending = inf
    is_remote = False

    def __init__(self, contact: dht.Contact, deliver: Callable[[PeerLink, Iterable[Message]], None]) -> None:
        super().__init__(contact)
        self._deliver = deliver
        self._queue: deque[Message] = deque()
        self._due = False
        """Whether :meth:`_drain` is about to be called."""

    def send(self, message: Message) -> None:
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._drain)
        self._queue.append(message)

    @property
    def congested(self) -> bool:
        return False

    @property
    def queued(self) -> bool:
        return bool(self._queue)

    async def drained(self, limit_s: float | None = None) -> None:
        return None

    def pause_reading(self) -> None:
        """Whoever asks this peer itself waits for its answer."""

    def resume_reading(self) -> None:
        """As above."""

    def abort(self, reason: str) -> None:
        raise AssertionError(f"this peer misbehaved to itself: {reason}")

    def _drain(self) -> None:
        """Deliver what is queued, as much as a slice has time for; the rest when others have had their turn."""
        self._due = False
        try:
            self._deliver(self, self._slice() if len(self._queue) > 1 else (self._queue.popleft(),))
        finally:
            if self._queue and not self._due:
                self._due = True
                asyncio.get_running_loop().call_soon(self._drain)

    def _slice(self) -> Iterator[Message]:
        clock = asyncio.get_running_loop().time
        ends_s = clock() + OWN_SLICE_S
        # What the messages of this slice cause comes in the next one.
        for _ in range(len(self._queue)):
            yield self._queue.popleft()
            if clock() >= ends_s:
                return


class Traffic:
    """What was sent to other peers, since the start."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.malformed = 0
        """Frames that were no message: each ended its link."""


class Exchange:
    """The links of a peer.

    ``on_message(link, message)`` gets everything that is no answer; ``on_batch()`` is called after the messages of one read, so
    that what they caused goes out together; ``on_broken(link, reason)`` when a link is gone.
    """

    def __init__(
        self,
        own: dht.Contact,
        *,
        on_message: OnMessage,
        on_batch: Callable[[], None],
        on_broken: Callable[[PeerLink, str], None],
    ) -> None:
        self.traffic = Traffic()
        self.own: PeerLink = _OwnLink(own, self._deliver)
        self._own_id = own.id
        self._on_message = on_message
        self._on_batch = on_batch
        self._on_broken = on_broken
        self._links: dict[dht.Link, PeerLink] = {}
        self._dht_links: dht.Links | None = None

    def attach(self, dht_links: dht.Links) -> None:
        """Use these links from now on; give them :meth:`receive_frames` and :meth:`drop_link` as callbacks."""
        self._dht_links = dht_links

    async def link(self, contact: dht.Contact) -> PeerLink:
        """The way to a peer, dialled if need be. Raises PeerUnreachable."""
        if contact.id == self._own_id:
            return self.own
        assert self._dht_links is not None, "attach() comes first"
        try:
            found = await self._dht_links.connect(contact)
        except dht.DialBroke as error:
            raise DialBroke(str(error)) from None
        except dht.DhtError as error:
            raise PeerUnreachable(str(error)) from None
        return self._link_of(found)

    def link_now(self, contact: dht.Contact) -> PeerLink | None:
        """The way to a peer, if there is one already."""
        if contact.id == self._own_id:
            return self.own
        found = None if self._dht_links is None else self._dht_links.link_to(contact.id)
        return None if found is None else self._link_of(found)

    def links(self) -> list[PeerLink]:
        """All ways to other peers that there are."""
        return list(self._links.values())

    def links_of(self, peer: bytes) -> list[PeerLink]:
        """All ways to another peer that there are."""
        found = [] if self._dht_links is None else self._dht_links.links_to(peer)
        return [self._links[one] for one in found if one in self._links]

    async def ask(self, contact: dht.Contact, make: Callable[[int], Message], wanted: type[Wanted]) -> Wanted:
        """Ask a peer and wait. Raises PeerUnreachable, or Refused with its reason."""
        link = await self.link(contact)
        return await answer_of(link, link.ask(make), wanted)

    @property
    def link_count(self) -> int:
        """How many links to other peers have spoken or been spoken to."""
        return len(self._links)

    def receive_frames(self, dht_link: dht.Link, payloads: list[bytes]) -> None:
        """Everything complete that one read brought."""
        link = self._link_of(dht_link)
        try:
            messages = [decode(payload) for payload in payloads]
        except PeerMisbehaved as error:
            self.traffic.malformed += 1
            log.warning("link to %s ended: %s", show(dht_link.peer), error, extra={"peer": dht_link.peer.id.hex()})
            dht_link.abort(str(error))
            return
        self._deliver(link, messages, map(len, payloads))

    def drop_link(self, dht_link: dht.Link, reason: str) -> None:
        """The link is gone."""
        link = self._links.pop(dht_link, None)
        if link is not None:
            link.fail_requests(reason)
            self._on_broken(link, reason)

    def _link_of(self, dht_link: dht.Link) -> PeerLink:
        link = self._links.get(dht_link)
        if link is None:
            link = self._links[dht_link] = _RemoteLink(dht_link, self.traffic)
        return link

    def _deliver(self, link: PeerLink, messages: Iterable[Message], sizes: Iterable[int] = repeat(0)) -> None:
        try:
            for message, size_bytes in zip(messages, sizes, strict=False):
                link.frame_bytes = size_bytes
                if isinstance(message, _ANSWERS):
                    link.take_answer(message)
                else:
                    self._on_message(link, message)
        except PeerMisbehaved as error:
            self.traffic.malformed += 1
            log.warning("link to %s ended: %s", show(link.contact), error, extra={"peer": link.contact.id.hex()})
            link.abort(str(error))
        finally:
            self._on_batch()

    def abort(self, peer: bytes, reason: str) -> None:
        """End every link to a peer."""
        for link in [link for link in self._links.values() if link.contact.id == peer]:
            link.abort(reason)


async def answer_of(link: PeerLink, future: asyncio.Future[Answer], wanted: type[Wanted], *, shared: bool = False) -> Wanted:
    """Wait for an answer of one kind. It is ``shared`` where others want it as well, whatever becomes of whoever waits here.

    Raises PeerUnreachable after ANSWER_TIMEOUT_S, Refused with the peer's reason, Elsewhere when it names another peer, FannedOut
    when one passes it on, and PeerMisbehaved for an answer of another kind.
    """
    if shared and not future.done():
        future = _copy_of(future)
    timer = Timer(ANSWER_TIMEOUT_S, partial(_did_not_come, future, link.contact))
    try:
        answer = await future
    finally:
        timer.cancel()
    if isinstance(answer, Failed):
        raise Refused(f"{show(link.contact)} refused: {answer.reason}")
    if isinstance(answer, NotHere):
        if answer.leaves:
            raise Leaving(f"{show(link.contact)} is about to stop")
        raise Elsewhere(f"{show(link.contact)} says that {show(answer.peer)} is responsible", contact=answer.peer)
    if isinstance(answer, ByHead):
        raise FannedOut(f"{show(link.contact)} says that {show(answer.head)} passes it on", answer)
    if not isinstance(answer, wanted):
        raise PeerMisbehaved(f"{show(link.contact)} answered with {type(answer).__name__}; expected {wanted.__name__}")
    return answer


def _did_not_come(answer: asyncio.Future[Answer], contact: dht.Contact) -> None:
    if not answer.done():
        answer.set_exception(PeerUnreachable(f"{show(contact)} did not answer within {ANSWER_TIMEOUT_S:.0f} s"))


def _copy_of(answer: asyncio.Future[Answer]) -> asyncio.Future[Answer]:
    """The same answer, for somebody who may give up waiting for it alone."""
    copy: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def tell(answer: asyncio.Future[Answer]) -> None:
        if copy.done():
            return
        if answer.cancelled():
            copy.cancel()
        elif (error := answer.exception()) is not None:
            copy.set_exception(error)
        else:
            copy.set_result(answer.result())

    answer.add_done_callback(tell)
    return copy
