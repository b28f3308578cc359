"""One client of the HTTP door: its requests in order, its subscriptions, its pace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from dht.log_rate import LogRate

from ...errors import GsgError, LocalError, RemoteError
from ...languages.rows import Row
from ...peer import Peer
from ...quotas import Allowance
from ...subscriptions.backlog import Pool, check_limit
from ...subscriptions.live import LiveSubscription
from ...tuples.terms import term
from ...wire.known_doors import KnownDoors
from ..access.principals import Principal
from ..access.roles import check_may_ask
from ..failures import failed
from ..protocol import (
    BYTES_PER_PLACE,
    MAX_KEYS,
    MAX_KEYS_FOUND,
    MAX_LIMIT,
    ROWS_PER_MESSAGE,
    UNANSWERED,
    AskChannel,
    AskDoors,
    AskDrawing,
    AskHoldings,
    AskKeys,
    AskNetwork,
    AskReport,
    AskRoute,
    AskTopics,
    AskVocabulary,
    AskWhy,
    Done,
    Doors,
    Drawing,
    Ended,
    Explain,
    Explained,
    Holdings,
    Insert,
    Keys,
    Network,
    Notify,
    PublishEvents,
    Publishing,
    PublishTopic,
    Reasons,
    Reply,
    Report,
    Request,
    Retract,
    Route,
    Subscribe,
    Subscribed,
    SubscribeEvents,
    SubscribeTopic,
    Topics,
    Unsubscribe,
    UpToDate,
    Vocabulary,
)
from ..serving.clients import Place
from ..subscribing import check_length, check_subscribe, subscribe
from .channel_subscription import ChannelClientSubscription, PeerChannel
from .decoding import NotARequest
from .forms import PLAIN, Form
from .sending import Sender
from .topic_subscription import TopicClientSubscription

log = logging.getLogger(__name__)
_no_requests = LogRate(log)
Made = TypeVar("Made", LiveSubscription, ChannelClientSubscription, TopicClientSubscription)

UNREAD_BYTES = 64 * 1024 * 1024
"""Bytes of rows that wait for one client, of all its subscriptions: beyond, its longest backlogs make room (``Pool``)."""

LEAVE_S = 1.0
"""How long a client that has to leave may take to read what was sent to it."""
MAX_REASON_BYTES = 120
"""Of a close frame, 123 at most (RFC 6455, section 5.5)."""

_QUESTIONS = (
    AskReport,
    Explain,
    AskHoldings,
    AskWhy,
    AskDrawing,
    AskNetwork,
    AskRoute,
    AskKeys,
    AskVocabulary,
    AskChannel,
    AskTopics,
)
"""Requests whose answers may be long: of one client, one is answered at a time."""


class Session:
    """Serves one WebSocket until its client leaves."""

    def __init__(
        self,
        peer: Peer,
        socket: WebSocket,
        client: str = "",
        *,
        channel: PeerChannel,
        unread: Pool | None = None,
        form: Form | None = None,
        principal: Principal,
        allowance: Allowance | None = None,
        place: Place | None = None,
    ) -> None:
        """``unread``: what it shares with other clients for the rows that wait; ``form``: how messages are written, if not as
        arrays; ``principal``: who it is; ``allowance``: what it shares with others of its identity; ``place``: its place among the
        clients of the door, which tells when it has to leave."""
        self._peer = peer
        self._channel = channel
        self._calls = peer.caller()
        self._socket = socket
        self._sender = Sender(socket, client, form)
        self._client = client
        """Its address, for those who ask who subscribes to what."""
        self.lost = False
        """Whether its connection ended without a goodbye: it died, the network broke, or it did not answer and was cut off."""
        self._subscriptions: dict[int, LiveSubscription | ChannelClientSubscription | TopicClientSubscription | None] = {}
        """By the number of the request; None while one is being made."""
        self._unwanted: set[int] = set()
        """Those that the client has ended before they were made."""
        self._principal = principal
        self._allowance = peer.quotas.of_client(client) if allowance is None else allowance
        self._place = place
        self._unread = Pool(UNREAD_BYTES, unread)
        # Each request under way holds a place, or several; the reader waits for them, which is what slows the client down.
        self._places = asyncio.Semaphore(UNANSWERED)
        self._asking = asyncio.Lock()
        """Held while one of _QUESTIONS is answered."""
        self._telling_doors: asyncio.Task[None] | None = None
        """Where the client has asked for them."""
        self._size_bytes = 0
        """Of the last message; in text, its characters."""

    async def serve(self) -> None:
        """Read requests until the client leaves."""
        try:
            await self._socket.accept(self._sender.form.subprotocol)
        except (WebSocketDisconnect, RuntimeError) as error:
            log.info("a client was gone before it was served: %s", error)
            return
        try:
            async with asyncio.TaskGroup() as tasks:
                leaving = None if self._place is None else tasks.create_task(self._leave(self._place))
                try:
                    while (request := await self._receive()) is not None:
                        places = min(UNANSWERED, 1 + self._size_bytes // BYTES_PER_PLACE)
                        for _ in range(places):
                            await self._places.acquire()
                        tasks.create_task(self._carry_out(request, self._size_bytes, places, tasks))
                finally:
                    self._sender.left = True
                    for task in (self._telling_doors, leaving):
                        if task is not None:
                            task.cancel()
                    for subscription in list(self._subscriptions.values()):
                        if subscription is not None:
                            await subscription.close()
        except* WebSocketDisconnect:
            pass
        finally:
            self._unread.close()
            self._allowance.unsubscribe(len(self._subscriptions))

    async def _leave(self, place: Place) -> None:
        """Close the connection when its client has to leave."""
        why = str(await place.leaves())[:MAX_REASON_BYTES]
        with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):  # it does not read, or is gone
            async with asyncio.timeout(LEAVE_S):
                # 1008: a policy does not allow it (RFC 6455, section 7.4.1).
                await self._socket.close(1008, why)
        # What is under way for it is not carried out any further, and the door cuts it off.
        raise WebSocketDisconnect(1008, why)

    async def _receive(self) -> Request | None:
        """The next request; None when the client has left. What is no request is answered so."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                # 1006: no close frame has come (RFC 6455, section 7.1.5). Uvicorn may say 1005 then, without even an empty reason.
                code = message.get("code")
                self.lost = code == 1006 or (code == 1005 and "reason" not in message)
                if self.lost:
                    why = "it died, or did not answer and was cut off"
                    log.info("a client at %s is gone without a word: %s", self._client, why, extra={"client": self._client})
                return None
            text = message.get("text")
            said: bytes | str = message["bytes"] if text is None else text
            self._size_bytes = len(said)
            try:
                return self._sender.form.decode(said)
            except NotARequest as error:
                client, why = self._client, ascii(str(error))[1:-1]
                _no_requests.warning("a client at %s sent what is no request: %s", client, why, client=client)
                await self._sender.send(failed(error.request, error.told()))

    async def _carry_out(self, request: Request, size_bytes: int, places: int, tasks: asyncio.TaskGroup) -> None:
        try:
            async with self._asking if isinstance(request, _QUESTIONS) else nullcontext():
                await self._reply(request, size_bytes, tasks)
        finally:
            for _ in range(places):
                self._places.release()

    async def _reply(self, request: Request, size_bytes: int, tasks: asyncio.TaskGroup) -> None:
        try:
            reply = await self._answer(request, size_bytes, tasks)
        except GsgError as error:
            reply = failed(request.request, error)
        except Exception:
            # A defect of ours: it costs this request, and none of what else the client has.
            log.exception("a request of a client at %s failed", self._client, extra={"client": self._client})
            reply = failed(
                request.request, RemoteError("this peer failed at the request, and its log says how: please report that")
            )
        if reply is not None:
            await self._sender.send(reply)

    async def _answer(self, request: Request, size_bytes: int, tasks: asyncio.TaskGroup) -> Reply | None:
        number = request.request
        if self._place is not None:
            self._place.check()
        check_may_ask(self._principal, request)
        if isinstance(request, Publishing):
            audience = self._principal.audience_for(request.audience)
            self._allowance.publish(len(request.tuples), size_bytes, asyncio.get_running_loop().time())
        match request:
            case Insert():
                return Done(number, await self._calls.facts(1, request.tuples, audience))
            case Retract():
                return Done(number, await self._calls.facts(-1, request.tuples, audience))
            case Notify(key=key):
                owner = self._principal.name
                return Done(number, await self._calls.events(request.tuples, audience, key=key, owner=owner))
            case Subscribe():
                await self._subscribe(request, tasks)
                return None
            case Unsubscribe():
                await self._unsubscribe(request.subscription)
                return Done(number)
            case AskReport():
                return await report(number, self._peer)
            case Explain():
                check_length(request.text)
                return Explained(number, await self._peer.inside.explain(request.text, request.language))
            case AskHoldings():
                await self._peer.inside.until_free()
                return Holdings(number, self._peer.inside.subscriptions())
            case AskWhy():
                if len(request.names) != len(request.values):
                    raise LocalError(f"{len(request.names)} names for {len(request.values)} values; expected one for each")
                row, inside = Row.of(request.names, tuple(map(term, request.values))), self._peer.inside
                if request.refused:
                    return Reasons(number, why_not=await inside.why_not_beside(request.subscription, row))
                return Reasons(number, why=await inside.why_beside(request.subscription, row))
            case AskDrawing():
                await self._peer.inside.until_free()
                return Drawing(number, self._peer.inside.drawing(request.subscription))
            case AskNetwork():
                await self._peer.inside.until_free()
                return Network(number, self._peer.inside.network(request.subscription))
            case AskRoute():
                if len(request.pattern) > MAX_KEYS_FOUND:
                    raise LocalError(f"a pattern of {len(request.pattern)} terms; expected at most {MAX_KEYS_FOUND}")
                pattern = [None if item is None else term(item) for item in request.pattern]
                return Route(number, await self._peer.inside.route(pattern))
            case AskKeys():
                most = MAX_KEYS_FOUND if request.find else MAX_KEYS
                if len(request.keys) > most:
                    raise LocalError(f"{len(request.keys)} keys asked about at once; expected at most {most}")
                return Keys(number, await self._peer.inside.keys(request.keys, find=request.find))
            case AskVocabulary():
                return Vocabulary(number, *await self._peer.inside.vocabulary(request.most))
            case AskDoors():
                if self._telling_doors is not None:
                    raise LocalError("this client is told of other peers' doors already; expected AskDoors once on a connection")
                self._telling_doors = tasks.create_task(self._tell_doors(number, self._peer.known_doors))
                return None
            case PublishEvents():
                self._allowance.publish(len(request.events), size_bytes, asyncio.get_running_loop().time())
                return Done(number, await self._channel.publish(request))
            case SubscribeEvents():
                await self._subscribe_events(request, tasks)
                return None
            case AskChannel():
                return await self._channel.report(number)
            case PublishTopic():
                self._allowance.publish(len(request.events), size_bytes, asyncio.get_running_loop().time())
                await self._peer.topic(request.topic).publish_all(request.events)
                return Done(number, len(request.events))
            case SubscribeTopic():
                await self._subscribe_topic(request, tasks)
                return None
            case AskTopics():
                if request.topic:
                    return Topics(number, [(request.topic, await self._peer.topic(request.topic).size())])
                return Topics(number, sorted(self._peer.topics().items()))

    async def _subscribe(self, request: Subscribe, tasks: asyncio.TaskGroup) -> None:
        self._check_number(request.request)
        check_subscribe(request)
        if request.terms not in self._sender.form.terms:
            raise LocalError(f"terms={request.terms!r}; expected {' or '.join(self._sender.form.terms)}")
        subscription = await self._made(request.request, subscribe(self._peer, request, self._client))
        subscription.join_pool(self._unread)
        await self._sender.send(Subscribed(request.request, subscription.variables, subscription.warnings, subscription.number))
        tasks.create_task(self._pump(request.request, subscription, subscription.pending, request.terms))

    async def _subscribe_events(self, request: SubscribeEvents, tasks: asyncio.TaskGroup) -> None:
        self._check_number(request.request)
        check_length(request.text)
        check_limit(request.limit, MAX_LIMIT)
        subscription = await self._made(request.request, self._channel.subscribe(request, self._client))
        await self._sender.send(Subscribed(request.request, (), (), subscription.ticket.number))
        tasks.create_task(self._tell_events(request.request, subscription))

    async def _subscribe_topic(self, request: SubscribeTopic, tasks: asyncio.TaskGroup) -> None:
        self._check_number(request.request)
        making = TopicClientSubscription.make(request.request, self._peer.topic(request.topic))
        subscription = await self._made(request.request, making)
        await self._sender.send(Subscribed(request.request, ()))
        tasks.create_task(self._tell_events(request.request, subscription))

    async def _tell_events(self, number: int, subscription: ChannelClientSubscription | TopicClientSubscription) -> None:
        await subscription.send_to(self._sender)
        self._forget(number)

    async def _tell_doors(self, number: int, known: KnownDoors) -> None:
        host, told = self._client.rpartition(":")[0], None
        with known.watch() as changed:
            while True:
                changed.clear()
                if (urls := known.told_to(host)) != told:
                    await self._sender.send(Doors(number, urls))
                    told = urls
                await changed.wait()

    def _check_number(self, number: int) -> None:
        if number in self._subscriptions:
            raise LocalError(f"request {number} has made a subscription already; expected a new number")

    async def _made(self, number: int, making: Coroutine[Any, Any, Made]) -> Made:  # Any: what a coroutine yields to the loop
        """The subscription of a request, when it is made. Raises what making it raises; LocalError where it was ended before."""
        # The number is taken before anything is awaited: other requests are carried out meanwhile.
        try:
            self._allowance.subscribe()
        except BaseException:
            making.close()
            raise
        self._subscriptions[number] = None
        try:
            subscription = await making
            if self._sender.left or number in self._unwanted:
                await subscription.close()
                raise LocalError(f"the subscription of request {number} was ended before it was made")
        except BaseException:
            self._forget(number)
            self._unwanted.discard(number)
            raise
        self._subscriptions[number] = subscription
        return subscription

    async def _unsubscribe(self, number: int) -> None:
        if number not in self._subscriptions or number in self._unwanted:
            raise LocalError(f"no subscription was made by request {number}; it may have ended")
        subscription = self._subscriptions[number]
        if subscription is None:
            self._unwanted.add(number)
            return
        self._forget(number)
        await subscription.close()

    def _forget(self, number: int) -> None:
        """A subscription has ended."""
        if number in self._subscriptions:
            del self._subscriptions[number]
            self._allowance.unsubscribe()

    async def _pump(self, number: int, subscription: LiveSubscription, stored: int, terms: str = PLAIN) -> None:
        """Send a subscription's rows at the client's pace; what it does not take waits in the subscription's bounded backlog."""
        up_to_date = False
        try:
            while True:
                # What came and went again while the client was slow is not pending any more.
                stored = min(stored, subscription.pending)
                if not up_to_date and not stored:
                    up_to_date = True
                    await self._sender.send(UpToDate(number))
                await subscription.wait()
                most = min(stored or ROWS_PER_MESSAGE, ROWS_PER_MESSAGE)
                sent = await self._sender.send_rows(number, subscription, most, terms)
                if not sent and subscription.has_ended:
                    return
                stored = max(0, stored - sent)
        except GsgError as error:
            self._forget(number)
            await subscription.close()
            await self._sender.send(Ended(number, failed(number, error)))


async def report(number: int, peer: Peer) -> Report:
    """How a peer and those it knows are doing."""
    peers, silent = await peer.survey()
    shares, vitals = peer.shares(), peer.vitals
    each = [shares.get(status.peer, 0.0) for status in peers]
    return Report(number, peers, each, silent, vitals.membership(), vitals.suspected())
