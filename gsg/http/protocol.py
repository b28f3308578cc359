"""What clients and a peer say to each other over the WebSocket at ``/v1``: as arrays, or, where a client asks for the subprotocol
``gsg.v1+json``, as the objects of gsg/http/json/messages.py.

One message a frame: msgpack in binary frames, the same arrays as JSON in text frames; a connection is answered in the kind of
its first frame. Every request has a number of the client's choice and is answered by Done, Failed, Subscribed or what was asked
for, with that number. Requests are carried out in order; up to UNANSWERED of them are under way at once.

    client -> peer      Insert, Retract, Notify, Subscribe, Unsubscribe, AskReport, Explain, AskHoldings, AskWhy, AskDrawing,
                        AskNetwork, AskRoute, AskKeys, AskVocabulary, PublishEvents, SubscribeEvents, AskChannel, AskDoors
    peer -> client      Done, Failed, Subscribed, then Rows... UpToDate Rows... ; Dropped; OutOfDate; Ended; Report,
                        Explained, Holdings, Reasons, Drawing, Network, Route, Keys, Vocabulary; of a channel Subscribed, then
                        Events... ; ChannelReport; Doors, and again when they change

Terms are arrays of a kind and its fields, as in :mod:`gsg.tuples.terms`: ``[1, name]`` a symbol, ``[2, iri]``, ``[3, label]`` a
blank node, ``[4, lexical, datatype, language]`` a literal; strings and 64-bit integers are themselves. In a request, other
numbers, true and false may stand for the literals that they are; in rows they are literals.

A message that is no request is answered Failed, with its number where it can be read and else 0, and nothing else happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from ..explain.explanations import HeldKey, Holding, Plan, Why, WhyNot
from ..explain.network_view import NetworkView
from ..explain.tuple_route import TupleRoute
from ..languages.query import MAX_TOKENS
from ..monitoring.logs.fields import time_text
from ..subscriptions.backlog import LIMIT, Overflow
from ..tuples.features import Key
from ..tuples.terms import Term
from ..wire.status_messages import ArityCount, ConstantCount, MembershipChange, PeerStatus, SilentPeer

MAX_KEYS, MAX_KEYS_FOUND = 10_000, 16
"""Keys that may be asked about at once, and with a lookup for each; more is refused."""
UNANSWERED = 16
"""Requests of one client that are carried out at once. Beyond, the peer stops reading from that client until one is answered."""
BYTES_PER_PLACE = 2 * 1024 * 1024
"""A request that is longer counts as several of them: all that are carried out have UNANSWERED times as many bytes at most."""
TUPLES_PER_REQUEST = 1_000
"""Tuples that this package's client puts in one request."""
BYTES_PER_REQUEST = 4 * 1024 * 1024
"""Bytes of tuples after which this package's client begins another request."""
ROWS_PER_MESSAGE = 1_000
"""Rows in one message of the peer."""
BYTES_PER_MESSAGE = 256 * 1024
"""Bytes of rows in one message of the peer; only a single row may have more."""
MAX_LIMIT = 1_000_000
"""Differences that a subscription may ask the peer to keep for it unread; more is refused."""
MAX_MAX_TOKENS = 100_000_000
"""The largest cap that a subscription may ask for; more is refused."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The longest WebSocket message, both ways. A row that is longer ends its subscription, and an answer is Failed instead, with
TooLarge; a longer request ends the connection with code 1009."""

NUMBER: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""The number of a request: of 64 bits, as msgpack has them, since the answer repeats it."""
Said: TypeAlias = Term | float | bool
"""A term as a client may say it."""


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    request: NUMBER


class Publishing(_Message, frozen=True):
    """What is published. ``audience``: who alone may read it, the ids of peers in hexadecimal; None for everybody."""

    tuples: Sequence[tuple[Said, ...]]
    audience: list[str] | None = None


class Insert(Publishing, tag=1, frozen=True):
    """Make tuples true."""


class Retract(Publishing, tag=2, frozen=True):
    """Make tuples untrue: those for everybody, or those for the audience."""


class Notify(Publishing, tag=3, frozen=True):
    """Events. ``key`` names them: a request that is made again under it is acknowledged, and not told again (docs/protocol.md)."""

    key: str | None = None


class Subscribe(_Message, tag=4, frozen=True):
    """A standing query; its rows come under this request's number."""

    text: str
    language: str = "gsg"
    limit: int = LIMIT
    """Differences that the peer keeps while the client does not read; see :mod:`gsg.subscriptions.backlog`."""
    max_tokens: int = MAX_TOKENS
    """Tokens that the subscription may hold at the peer; beyond, it ends with TooManyTokens."""
    overflow: str = Overflow.RESYNC
    """What happens at ``limit``: resync, drop_oldest or error; see :mod:`gsg.subscriptions.backlog`."""
    terms: str = "plain"
    """How its terms are written: in arrays in one way, plain; in objects also as sparql has them (gsg/http/json/terms.py)."""


class Unsubscribe(_Message, tag=5, frozen=True):
    """End the subscription that was made by request ``subscription``; one that is still being made ends as soon as it is."""

    subscription: int


class AskReport(_Message, tag=6, frozen=True):
    """How are this peer and those it knows?"""


class Explain(_Message, tag=7, frozen=True):
    """How would a query be answered?"""

    text: str
    language: str = "gsg"


class AskHoldings(_Message, tag=8, frozen=True):
    """Which subscriptions are there at this peer, of any client, and what do they hold?"""


class AskWhy(_Message, tag=9, frozen=True):
    """Why does a row of a subscription hold, or with ``refused`` why does it not? Some of its names and their values will do."""

    subscription: int
    """Its number at the peer, as Subscribed and Holdings say it."""
    names: tuple[str, ...]
    values: tuple[Said, ...]
    refused: bool = False


class AskDrawing(_Message, tag=20, frozen=True):
    """A picture of the peer's network, or of the part that a subscription uses."""

    subscription: int | None = None


class AskNetwork(_Message, tag=50, frozen=True):
    """The peer's network as data, or the part that a subscription uses."""

    subscription: int | None = None


class AskRoute(_Message, tag=52, frozen=True):
    """How would a tuple travel? None stands for anything."""

    pattern: tuple[Said | None, ...]


class AskKeys(_Message, tag=23, frozen=True):
    """What lies at this peer under each of these keys, and with ``find`` who holds them?"""

    keys: list[Key]
    """Arity, position and constant of each."""
    find: bool = False


class AskVocabulary(_Message, tag=36, frozen=True):
    """Which constants have the most facts, at all peers? ``most``: so many of them; of more than 1,000 so many are told."""

    most: int = 100


class PublishEvents(_Message, tag=26, frozen=True):
    """Events for the channel of the peer (docs/channels.md): each an object of JSON, or a text of name-value pairs."""

    events: list[str]
    environment: str = "{}"
    """With what they are published, as an object of JSON."""
    readers: list[str] | None = None
    """Who alone may notice them: names of those who ask, or ids of peers in hexadecimal; None for everybody."""


class SubscribeEvents(_Message, tag=27, frozen=True):
    """A subscription of the peer's channel; its events come under this request's number. Unsubscribe ends it."""

    text: str
    language: str = "predicate"
    report: str | None = None
    signature: list[str] = []
    deliver: str = "each"
    asker: str = ""
    """Who asks, for events that name their readers; the id of the peer where nothing is said."""
    private: bool = False
    limit: int = LIMIT
    """Events that the peer keeps while the client does not read."""
    overflow: str = "error"
    """What happens then: drop_oldest, or error, which ends it."""


class AskChannel(_Message, tag=28, frozen=True):
    """How is the peer's channel, and what are its subscriptions?"""


class PublishTopic(_Message, tag=31, frozen=True):
    """Events for a topic, in order: the values of each."""

    topic: str
    events: list[tuple[Said, ...]]


class SubscribeTopic(_Message, tag=32, frozen=True):
    """Events of a topic, or of all that match a filter; they come under this request's number. Unsubscribe ends it."""

    topic: str


class AskTopics(_Message, tag=33, frozen=True):
    """Which topics does the peer know of? Of ``topic``, if it is named: how many members are there?"""

    topic: str = ""


class AskDoors(_Message, tag=40, frozen=True):
    """Which HTTP doors of other peers do you know? Answered by Doors, and again under the same number whenever that changes."""


class Done(_Message, tag=10, frozen=True):
    """Carried out; ``count`` tuples changed."""

    count: int = 0


class Failed(_Message, tag=11, frozen=True):
    """Not carried out. ``kind`` is the class of :mod:`gsg.errors`; line and column (from 1) are of a BadText or an
    Unsupported that are about a text, else 0."""

    kind: str
    problem: str
    line: int = 0
    column: int = 0
    source_line: str = ""
    lost: int = 0
    """Of an Overrun: how many events."""
    tokens: int = 0
    """Of a TooManyTokens, as is ``limit``."""
    limit: int = 0
    again_s: float = 0.0
    """Of a Refused: when it would be taken; 0 where that cannot be said."""
    what: str = ""
    """Of a BadText: what text of the request it is about."""
    unread: int = 0
    """Of an Overrun of a topic: how many of the events that were lost were not read in time."""
    missing: int = 0
    """Of an Overrun of a topic: how many of them no member has any more."""


class Subscribed(_Message, tag=12, frozen=True):
    """The query stands; rows that hold already follow, then UpToDate."""

    variables: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """What whoever wrote the query should know."""
    number: int = 0
    """By which the peer can be asked about it."""


class Rows(_Message, tag=13, frozen=True):
    """Differences, oldest first: sign (1, -1, or 0 for an event's row) and values in the order of the variables."""

    signs: list[int]
    values: list[tuple[Term | None, ...]]
    """None where a row leaves a name unbound."""


class UpToDate(_Message, tag=14, frozen=True):
    """The rows sent are the answer; what follows are its changes."""


class _Problem(_Message, frozen=True):
    why: Failed


class Ended(_Problem, tag=15, frozen=True):
    """The subscription has ended without being asked to; Failed's fields say why."""


class Dropped(_Problem, tag=17, frozen=True):
    """Events of the subscription were dropped because the client did not read them, and it goes on; ``why`` is of an Overrun."""


class OutOfDate(_Problem, tag=25, frozen=True):
    """Rows of the subscription may be out of date, and it goes on; ``why`` is of a Stale."""


class Explained(_Message, tag=18, frozen=True):
    """How a query would be answered."""

    plan: Plan


class Holdings(_Message, tag=19, frozen=True):
    """The subscriptions of the peer."""

    subscriptions: list[Holding]


class Reasons(_Message, tag=21, frozen=True):
    """Why a row holds, or why not, as was asked."""

    why: Why | None = None
    why_not: WhyNot | None = None


class Drawing(_Message, tag=22, frozen=True):
    """A picture."""

    svg: str


class Network(_Message, tag=51, frozen=True):
    """A network."""

    network: NetworkView


class Route(_Message, tag=53, frozen=True):
    """By which keys it would go, and to whom."""

    route: TupleRoute


class Keys(_Message, tag=24, frozen=True):
    """Each key that was asked about, as this peer sees it."""

    keys: list[HeldKey]


class Vocabulary(_Message, tag=37, frozen=True):
    """The constants with the most facts, how many facts and keys there are by arity, and who did not say."""

    constants: list[ConstantCount]
    totals: list[ArityCount]
    silent: list[SilentPeer] = []


class Events(_Message, tag=29, frozen=True):
    """Events of a subscription of the peer's channel: the source and the number of each, and its fields as an object of JSON."""

    events: list[tuple[str, int, str]]


class TopicEvents(_Message, tag=34, frozen=True):
    """Events of a topic: of each the id of its publisher, that one's number for it, and its values. Where a filter was subscribed
    to, ``topics`` has the topic of each."""

    events: list[tuple[bytes, int, tuple[Term, ...]]]
    topics: list[str] = []


class Topics(_Message, tag=35, frozen=True):
    """Topics that the peer knows of, and how many members each has, about; 0 where that is unknown."""

    sizes: list[tuple[str, float]]


class Doors(_Message, tag=41, frozen=True):
    """The HTTP doors of other peers, as this client may reach them: where to go when this peer is lost."""

    urls: list[str]


class ChannelReport(_Message, tag=30, frozen=True):
    """How the peer's channel is."""

    name: str
    matcher: str
    """Which one it uses, and why."""
    counts: list[tuple[str, int]]
    subscriptions: list[ChannelSubscription]


class ChannelSubscription(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One subscription of the peer's channel."""

    number: int
    text: str
    """Empty where it is private."""
    language: str
    client: str
    matched: int
    delivered: int
    failed: int


class Report(_Message, tag=16, frozen=True):
    """How the peers are, this one first; ``shares`` is the fraction of all keys that each is responsible for, and ``silent`` are
    those that did not say. The rest is what this peer has noticed of the others."""

    peers: list[PeerStatus]
    shares: list[float]
    silent: list[SilentPeer] = []
    membership: list[MembershipChange] = []
    """Who came, was suspected to be dead, was back and went of late, the oldest first."""
    suspected: list[bytes] = []
    """Those that may be dead now."""

    def as_dict(self) -> dict[str, list[Any]]:  # Any: dicts of names and values, and ids
        """For JSON: each of the fields, with the fields of what is in them by name."""
        return {
            "peers": [
                {"peer": peer.peer.hex(), "share": share, "state": "suspected" if peer.peer in self.suspected else "alive"}
                | {name: getattr(peer, name) for name in peer.__struct_fields__ if name not in ("peer", "request", "counts")}
                | {"counts": {one.name: one.count for one in peer.counts}}
                for peer, share in zip(self.peers, self.shares, strict=True)
            ],
            "silent": [{"peer": one.peer.hex(), "address": one.address, "why": one.why} for one in self.silent],
            "membership": [
                {"time": time_text(one.at_s), "peer": one.peer.hex(), "address": one.address, "what": one.what, "why": one.why}
                for one in self.membership
            ],
            "suspected": [peer.hex() for peer in self.suspected],
        }


ChannelRequest: TypeAlias = PublishEvents | SubscribeEvents | AskChannel
TopicRequest: TypeAlias = PublishTopic | SubscribeTopic | AskTopics
Request: TypeAlias = (
    Insert
    | Retract
    | Notify
    | Subscribe
    | Unsubscribe
    | AskReport
    | Explain
    | AskHoldings
    | AskWhy
    | AskDrawing
    | AskNetwork
    | AskRoute
    | AskKeys
    | AskVocabulary
    | AskDoors
    | ChannelRequest
    | TopicRequest
)
OfSubscription: TypeAlias = Rows | UpToDate | Dropped | OutOfDate | Ended | Events | TopicEvents
"""What the peer tells of a subscription that it has made."""
Answer: TypeAlias = (
    Report | Explained | Holdings | Reasons | Drawing | Network | Route | Keys | Vocabulary | ChannelReport | Topics | Doors
)
Reply: TypeAlias = Done | Failed | Subscribed | OfSubscription | Answer
