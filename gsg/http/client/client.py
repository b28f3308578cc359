"""A client of a peer's HTTP door, with the verbs of :class:`gsg.Peer`; its connection is that of peer_connection.py.

For programs without ``async``, blocking.py has the same verbs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from math import inf
from random import Random, SystemRandom
from ssl import SSLContext
from types import TracebackType
from typing import Self, TypeAlias

from ...errors import LocalError, PeerMisbehaved, Refused
from ...explain.explanations import HeldKey, Holding, Plan, Why, WhyNot
from ...explain.network_view import NetworkView
from ...explain.tuple_route import TupleRoute
from ...languages import blocks, parse_script
from ...languages.query import MAX_TOKENS
from ...languages.rows import Row
from ...subscriptions.backlog import LIMIT, Overflow, check_limit, overflow_of
from ...subscriptions.live import LiveSubscription
from ...subscriptions.subscription import Callback
from ...topics.names import topic_name
from ...tuples import terms as model
from ...tuples.audiences import audience_of
from ...tuples.event_key import check_key
from ...tuples.features import Key
from ...tuples.terms import Tuple
from ..protocol import (
    BYTES_PER_REQUEST,
    MAX_LIMIT,
    TUPLES_PER_REQUEST,
    AskDrawing,
    AskHoldings,
    AskKeys,
    AskNetwork,
    AskReport,
    AskRoute,
    AskVocabulary,
    AskWhy,
    Done,
    Drawing,
    Explain,
    Explained,
    Holdings,
    Insert,
    Keys,
    Network,
    Notify,
    Reasons,
    Report,
    Request,
    Retract,
    Route,
    Subscribe,
    Subscribed,
    Vocabulary,
)
from .channel import ClientChannel
from .door_choice import DoorChoice, urls_of
from .opening import DEFAULT_URL
from .peer_connection import ConnectionState, PeerConnection, Token
from .request_parts import cut_into_requests
from .row_stream import ClientRowStream, RowReader
from .subscription import ClientSubscription
from .topic import ClientTopic, known_topics

OnState: TypeAlias = Callable[[ConnectionState, str], object]
"""Called when the state of a connection changes, with what has happened, in words."""
MakeRequest: TypeAlias = Callable[[int, list[Tuple], "list[str] | None"], Request]


class AsyncClient:
    """A connection to a peer, and where that is lost to the next one; an async context manager. Made by :func:`connect`, which says
    what the arguments mean.

    ``rng`` and ``pause``, which waits for so many seconds, are handed in by tests. Raises LocalError for too many doors, or none.
    """

    def __init__(
        self,
        url: str | Sequence[str] = DEFAULT_URL,
        *,
        wait_for_quota: bool = False,
        reconnect: bool = True,
        reconnect_s: float = inf,
        on_state: OnState | None = None,
        tls: SSLContext | None = None,
        token: Token | None = None,
        rng: Random | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._waits_for_quota = wait_for_quota
        rng = SystemRandom() if rng is None else rng
        doors = DoorChoice(urls_of(url), rng, reconnect_s=reconnect_s)
        self._connection = PeerConnection(
            doors, reconnects=reconnect, on_state=on_state, pause=pause, rng=rng, tls=tls, token=token
        )
        self.channel = ClientChannel(self._connection)
        """The channel of the peer (docs/channels.md)."""

    @property
    def url(self) -> str:
        """The door of the peer that it is connected to, or was at last; empty before."""
        return self._connection.url

    @property
    def state(self) -> ConnectionState:
        """Where its connection stands."""
        return self._connection.state

    async def __aenter__(self) -> Self:
        """Connect to the first peer that answers. Raises PeerUnreachable, or LocalError for a URL that is none."""
        await self._connection.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave; every subscription ends. Closing twice is allowed."""
        await self._connection.close()

    async def insert(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples true; see :meth:`gsg.Peer.insert`. The readers are peers: whoever is at a door of theirs reads along.

        Where the peer refuses more from a client for now (docs/delivery.md, Quotas), a call that has been taken in part waits and
        goes on, at the rate that it may; one of which nothing was taken raises Refused, with ``again_s``.
        Where the peer is lost before it answers, the next one is asked, and what the lost one has done already is not counted.
        """
        return await self._publish(tuples, Insert, audience)

    async def retract(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples untrue; see :meth:`gsg.Peer.retract`."""
        return await self._publish(tuples, Retract, audience)

    async def notify(
        self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None, key: str | None = None
    ) -> None:
        """Events; see :meth:`gsg.Peer.notify`. Raises PeerUnreachable also where the peer is lost before it answers: some may have
        been told, and are not told again by themselves.

        ``key`` names these events, of one request at most: a peer that has told them does not when they come again under it
        (docs/delivery.md, Events with keys). Where the peer is lost before it answers, the next one is asked, which may tell them
        twice. Raises LocalError for what can be no key, and for more than 1,000 events, or 4 MiB, with one.
        """

        if key is not None:
            check_key(key)

        def request(number: int, part: list[Tuple], named: list[str] | None) -> Request:
            return Notify(number, part, named, key)

        await self._publish(tuples, request, audience, with_key=key is not None)

    async def run(self, script: str) -> list[LiveSubscription]:
        """Run a GSG script; see :meth:`gsg.Peer.run`. The whole script is checked before any of it is sent."""
        made, verbs = [], {blocks.Insert: self.insert, blocks.Delete: self.retract}
        for block in parse_script(script):
            if isinstance(block, blocks.Subscribe):
                made.append(await self.subscribe(block.text))
            elif isinstance(block, blocks.Notify):
                await self.notify(block.tuples)
            else:
                await verbs[type(block)](block.tuples)
        return made

    async def subscribe(
        self,
        text: str,
        language: str = "gsg",
        callback: Callback | None = None,
        *,
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: str = Overflow.RESYNC,
    ) -> LiveSubscription:
        """A standing query; returns when its first answer is complete. See :meth:`gsg.Peer.subscribe`.

        Where the peer is lost, and the next one has told its answer, reading raises Reconnected once, and goes on with the
        difference to the rows that were told; until then rows() stays as it was. Raises LocalError for a ``limit`` above a million.
        """
        choice = overflow_of(overflow)
        check_limit(limit, MAX_LIMIT)
        # The oldest go here, where they were counted into rows() before; a peer that dropped rows would leave it wrong for good.
        at_peer = Overflow.RESYNC if choice is Overflow.DROP_OLDEST else choice
        connection, number = self._connection, self._connection.next_number()
        request = Subscribe(number, text, language, limit, max_tokens, at_peer)
        made = ClientSubscription(connection, request, callback, limit, choice)
        connection.subscriptions[number] = made
        try:
            await connection.ask(request, Subscribed)
            await made.complete
        except BaseException as error:
            connection.subscriptions.pop(number, None)
            if isinstance(error, asyncio.CancelledError):
                connection.start_task(made.close())
            raise
        return made.live

    async def stream(
        self, text: str, reader: RowReader, language: str = "gsg", *, limit: int = LIMIT, max_tokens: int = MAX_TOKENS
    ) -> ClientRowStream:
        """A standing query whose rows go to ``reader`` as messages bring them, for who keeps the answer elsewhere; returns when the
        peer has taken it. Where the peer is lost, the reader is told the whole answer of the next one (row_stream.py)."""
        made = ClientRowStream(self._connection, reader, text, language, check_limit(limit, MAX_LIMIT), max_tokens)
        await made.open()
        return made

    def topic(self, name: str) -> ClientTopic:
        """A topic, to publish to and to subscribe to, or a filter such as ``house/+/temp``, to subscribe to (docs/topics.md).
        Raises LocalError for what is neither."""
        return ClientTopic(topic_name(name), self._connection)

    async def topics(self) -> dict[str, float]:
        """The topics that the peer knows of, and how many members each has, about; 0 where that is unknown."""
        return await known_topics(self._connection)

    async def report(self) -> Report:
        """How the peer and those it knows are doing."""
        return await self._connection.ask(AskReport(self._connection.next_number()), Report)

    async def explain(self, text: str, language: str = "gsg") -> Plan:
        """How the peer would answer a query; see :meth:`gsg.monitoring.inspection.Inspection.explain`."""
        return (await self._connection.ask(Explain(self._connection.next_number(), text, language), Explained)).plan

    async def subscriptions(self) -> list[Holding]:
        """The subscriptions of the peer, of whatever client, and what each holds."""
        return (await self._connection.ask(AskHoldings(self._connection.next_number()), Holdings)).subscriptions

    async def keys(self, keys: Sequence[Key], *, find: bool = False) -> list[HeldKey]:
        """What lies at the peer under each key, and who holds it; see :meth:`gsg.monitoring.inspection.Inspection.keys`.

        Raises LocalError for more than 10,000 keys, or 16 with ``find``.
        """
        return (await self._connection.ask(AskKeys(self._connection.next_number(), list(keys), find), Keys)).keys

    async def vocabulary(self, most: int = 100) -> Vocabulary:
        """The constants with the most facts at all peers; see :meth:`gsg.monitoring.inspection.Inspection.vocabulary`."""
        return await self._connection.ask(AskVocabulary(self._connection.next_number(), most), Vocabulary)

    async def why(self, subscription: int, row: Mapping[str, object]) -> Why:
        """Which tuples make a row of the subscription with this number at the peer. Some of the row's names will do."""
        reasons = await self._reasons(subscription, row, refused=False)
        if reasons.why is None:
            raise PeerMisbehaved("the peer was asked why a row holds, and did not say it")
        return reasons.why

    async def why_not(self, subscription: int, row: Mapping[str, object]) -> WhyNot:
        """Which part of a subscription's query leaves nothing of a row."""
        reasons = await self._reasons(subscription, row, refused=True)
        if reasons.why_not is None:
            raise PeerMisbehaved("the peer was asked why a row does not hold, and did not say it")
        return reasons.why_not

    async def drawing(self, subscription: int | None = None) -> str:
        """The network of the peer, or the part of it that a subscription uses, as SVG."""
        return (await self._connection.ask(AskDrawing(self._connection.next_number(), subscription), Drawing)).svg

    async def network(self, subscription: int | None = None) -> NetworkView:
        """The same as data."""
        return (await self._connection.ask(AskNetwork(self._connection.next_number(), subscription), Network)).network

    async def route(self, pattern: Sequence[object]) -> TupleRoute:
        """How a tuple would travel that is published at the peer; see :meth:`gsg.monitoring.inspection.Inspection.route`."""
        items = tuple(None if item is None else model.term(item) for item in pattern)
        return (await self._connection.ask(AskRoute(self._connection.next_number(), items), Route)).route

    async def _reasons(self, subscription: int, row: Mapping[str, object], *, refused: bool) -> Reasons:
        bound = row if isinstance(row, Row) else Row(row)
        return await self._connection.ask(
            AskWhy(self._connection.next_number(), subscription, tuple(bound), bound.terms, refused), Reasons
        )

    async def _publish(
        self,
        tuples: Iterable[Iterable[object]],
        make: MakeRequest,
        audience: Iterable[bytes | str] | None,
        *,
        with_key: bool = False,
    ) -> int:
        changed = 0
        readers = audience_of(audience)
        named = None if readers is None else sorted(reader.hex() for reader in readers)
        # All parts are checked before the first is sent.
        requests = list(cut_into_requests([model.fact(items) for items in tuples]))
        if with_key and len(requests) > 1:
            raise LocalError(
                f"a key for {sum(map(len, requests)):,} events, which make {len(requests)} requests; expected at most "
                f"{TUPLES_PER_REQUEST:,} events and {BYTES_PER_REQUEST:,} bytes: cut them, each part with a key of its own"
            )
        for number, part in enumerate(requests):
            while True:
                try:
                    changed += (await self._connection.ask(make(self._connection.next_number(), part, named), Done)).count
                    break
                except Refused as error:
                    # Whoever was taken in part and came again with all of it would pay for that part each time.
                    if error.again_s is None or not (number or self._waits_for_quota):
                        raise
                    again_s = error.again_s
                await asyncio.sleep(again_s)
        return changed


@asynccontextmanager
async def connect(
    url: str | Sequence[str] = DEFAULT_URL,
    *,
    wait_for_quota: bool = False,
    reconnect: bool = True,
    reconnect_s: float = inf,
    on_state: OnState | None = None,
    tls: SSLContext | None = None,
    token: Token | None = None,
) -> AsyncIterator[AsyncClient]:
    """A client of the peer at ``url``: ``async with gsg.connect() as client``. Raises PeerUnreachable where nobody answers.

    ``url``: one, several with commas between them, or a list; they are tried in random order. ``wait_for_quota``: what it publishes
    waits until the peer takes more from it, instead of raising Refused. ``reconnect``: a peer that is lost is followed by the next
    one that answers, of those given and those that peers have told of, tried for ``reconnect_s`` (docs/delivery.md, When the peer
    of a client is lost). ``on_state`` is called when the state of the connection changes. ``tls``: whom to trust at URLs of https,
    such as ``ssl.create_default_context(cafile="ca.pem")``; without it, the CAs that the system trusts. ``token``: one of the
    peers' token files (docs/security.md, Tokens), or a function that returns one each time; it is shown to these doors alone, and
    not to others that peers tell of. Raises AccessDenied where a peer asks for a token, or does not know this one.
    """
    async with AsyncClient(
        url, wait_for_quota=wait_for_quota, reconnect=reconnect, reconnect_s=reconnect_s, on_state=on_state, tls=tls, token=token
    ) as client:
        yield client
