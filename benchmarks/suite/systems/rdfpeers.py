"""Like RDFPeers: triples at three keys, and a query of several conditions that goes from peer to peer along them.

After Cai and Frank, "RDFPeers: A Scalable Distributed RDF Repository based on a Structured Peer-to-Peer Network" (WWW 2004): each
triple is stored at the peers of its subject, its predicate and its object; a subscription is routed to the peer of a constant of
its first condition. For conditions that share variables it is the query chain of Liarou, Idreos and Koubarakis,
"Publish/Subscribe with RDF Data over Large Structured Overlay Networks" (DBISP2P 2005/2006): where a triple matches a condition,
the rest of the query, with the values that it now has, goes to the peer of a constant of the next condition, waits there for
triples, and so on to the last one, which tells the subscriber's peer.

What is simulated: peers are objects of one process, a message goes straight to the one that is responsible and arrives before the
next change is made, and nobody dies. So there are no lookups, no hops on the way, and no races, all of which flatter it. Ours,
which neither paper says: a retraction follows the same chain and takes back what waits there; bounds are tested as soon as their
variable has a value; DISTINCT and UNION are added up at the subscriber. Absences, OPTIONAL and counts are refused: they are no
chains. RDFPeers also stores nothing under constants that are too popular, which is left out since it loses rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import NamedTuple, Self, TypeAlias

import msgspec

from ..files import Change
from ..queries import Asked, Pattern
from ..users import Line
from .system import Measures, PeerMeasures, Row, Tell, refuse

PEERS = 8
Triple: TypeAlias = tuple[str, str, str]
Key: TypeAlias = tuple[int, str]
"""A position and the constant there."""

_EVENT, _SILENT = 0, 2
"""Beside the signs 1 and -1: passes through and leaves nothing; takes back what waits without telling anybody."""


class _Rest(NamedTuple):
    """What is left of a query after some of its conditions, with the values that its variables have."""

    subscription: int
    home: int
    """The subscriber's peer."""
    patterns: tuple[Pattern, ...]
    """The conditions that are left, values filled in."""
    bounds: tuple[tuple[str, str, str], ...]
    row: tuple[str | None, ...]
    """The selected names: their values, or ``?name`` where there is none yet."""


class _Put(NamedTuple):
    """To the holder of a key: a triple."""

    key: Key
    sign: int
    triple: Triple


class _Post(NamedTuple):
    """To the holder of a key: what is left of a query."""

    key: Key
    sign: int
    rest: _Rest


class _Answer(NamedTuple):
    """To the subscriber's peer: a row."""

    sign: int
    subscription: int
    row: tuple[str | None, ...]


@dataclass
class _Peer:
    triples: dict[Key, dict[str, set[Triple]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """By key and predicate."""
    waiting: dict[Key, dict[str, dict[_Rest, None]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(dict)))
    """By key and the predicate that their next condition asks for, in the order in which they came; "?" for any."""
    sent: int = 0
    bytes: int = 0
    received: int = 0


class RdfPeers:
    """The system."""

    name = "rdfpeers"

    def __init__(self, tell: Tell, peers: int = PEERS) -> None:
        self._tell = tell
        self._peers = [_Peer() for _ in range(peers)]
        # A ring of hashes, each peer responsible for those up to its own from the one before it, as in Chord.
        ring = sorted((_hash(f"peer {number}"), number) for number in range(peers))
        self._ring, self._at = [place for place, _ in ring], [number for _, number in ring]
        self._holders: dict[Key, int] = {}
        self._queue: deque[tuple[int, _Put | _Post | _Answer]] = deque()
        self._subscriptions: dict[int, tuple[Line, Counter[tuple[str | None, ...]]]] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._subscriptions.clear()

    async def subscribe(self, subscription: Line) -> None:
        refuse(subscription.query, "negated", "optional", "count")
        self._subscriptions[subscription.subscription] = subscription, Counter()
        self._post_query(subscription, 1)

    async def unsubscribe(self, subscription: int) -> None:
        line, _ = self._subscriptions.pop(subscription)
        self._post_query(line, _SILENT)

    async def change(self, changes: Sequence[Change]) -> None:
        for sign, triple in changes:
            publisher = self._holder((0, triple[0]))
            for key in enumerate(triple):
                self._send(publisher, self._holder(key), _Put(key, sign, triple))
            self._deliver()

    async def settle(self) -> None:
        """Everything has arrived before a call returns."""

    async def answers(self, subscription: int) -> list[Row] | None:
        line, rows = self._subscriptions[subscription]
        return list(rows) if line.query.distinct else list(rows.elements())

    async def measures(self) -> Measures:
        return Measures([PeerMeasures(peer.sent, peer.bytes, peer.received) for peer in self._peers])

    def _post_query(self, line: Line, sign: int) -> None:
        asked, home = line.query, self._holder((0, line.user))
        names = tuple(f"?{name}" for name in asked.select)
        for arm in (asked.where, asked.or_else):
            if arm:
                self._post(home, sign, _Rest(line.subscription, home, arm, asked.bounds, _selected(asked, arm, names)))
        self._deliver()

    def _holder(self, key: Key) -> int:
        found = self._holders.get(key)
        if found is None:
            place = bisect_left(self._ring, _hash(f"{key[0]} {key[1]}"))
            found = self._holders[key] = self._at[place % len(self._ring)]
        return found

    def _send(self, sender: int, receiver: int, message: _Put | _Post | _Answer) -> None:
        if sender != receiver:
            peer = self._peers[sender]
            peer.sent += 1
            peer.bytes += len(self._encode(message))
        self._queue.append((receiver, message))

    def _deliver(self) -> None:
        while self._queue:
            at, message = self._queue.popleft()
            self._peers[at].received += 1
            match message:
                case _Put():
                    self._put(at, message)
                case _Post():
                    self._wait(at, message)
                case _Answer():
                    self._answer(message)

    def _put(self, at: int, message: _Put) -> None:
        key, sign, triple = message
        peer = self._peers[at]
        stored = peer.triples[key][triple[1]]
        if (triple in stored) == (sign == 1) and sign != _EVENT:
            return  # facts are a set
        if sign == 1:
            stored.add(triple)
        elif sign == -1:
            stored.remove(triple)
        waiting = peer.waiting.get(key)
        if waiting is not None:
            for predicate in (triple[1], "?"):
                for rest in list(waiting.get(predicate, ())):
                    self._go_on(at, sign, rest, triple)

    def _wait(self, at: int, message: _Post) -> None:
        key, sign, rest = message
        peer = self._peers[at]
        predicate = _asked(rest.patterns[0])
        waiting = peer.waiting[key][predicate]
        if sign == 1:
            waiting[rest] = None
        elif sign != _EVENT:
            waiting.pop(rest, None)
        stored = peer.triples.get(key, {})
        some = stored.values() if predicate == "?" else [stored.get(predicate, set())]
        for triple in [triple for triples in some for triple in triples]:
            self._go_on(at, sign, rest, triple)

    def _go_on(self, at: int, sign: int, rest: _Rest, triple: Triple) -> None:
        """A triple and the next condition of a query: where they match, to the one after it, or to the subscriber."""
        values: dict[str, str] = {}
        for item, term in zip(rest.patterns[0], triple, strict=True):
            if item[0] != "?":
                if item != term:
                    return
            elif values.setdefault(item, term) != term:
                return
        bounds = []
        for bound in rest.bounds:
            if bound[0] not in values:
                bounds.append(bound)
            elif not _within(values[bound[0]], bound[1], bound[2]):
                return
        row = tuple(values.get(item, item) if item is not None else None for item in rest.row)
        patterns = tuple(
            (values.get(subject, subject), values.get(predicate, predicate), values.get(object, object))
            for subject, predicate, object in rest.patterns[1:]
        )
        if patterns:
            self._post(at, sign, rest._replace(patterns=patterns, bounds=tuple(bounds), row=row))
        elif sign != _SILENT:
            self._send(at, rest.home, _Answer(sign, rest.subscription, row))

    def _post(self, sender: int, sign: int, rest: _Rest) -> None:
        key = next(_keys(rest.patterns[0]))
        self._send(sender, self._holder(key), _Post(key, sign, rest))

    def _answer(self, message: _Answer) -> None:
        sign, subscription, row = message
        line, rows = self._subscriptions[subscription]
        before = rows[row] > 0
        rows[row] += sign
        if not line.query.distinct or sign == _EVENT or (rows[row] > 0) != before:
            self._tell(subscription, sign, row)
        if not rows[row]:
            del rows[row]


def _hash(text: str) -> int:
    return int.from_bytes(sha1(text.encode(), usedforsecurity=False).digest(), "big")


def _selected(asked: Asked, arm: tuple[Pattern, ...], names: tuple[str, ...]) -> tuple[str | None, ...]:
    """What a row of one arm has: None for a name that nothing in it binds."""
    bound = {item for pattern in arm for item in pattern}
    return tuple(name if name in bound else None for name in names)


def _keys(pattern: Pattern) -> Iterator[Key]:
    """Where a condition may be posted, the best place first: the predicate is the most common of its constants."""
    return ((position, pattern[position]) for position in (0, 2, 1) if pattern[position][0] != "?")


def _asked(pattern: Pattern) -> str:
    return pattern[1] if pattern[1][0] != "?" else "?"


def _within(value: str, operator: str, bound: str) -> bool:
    number, limit = (int(text[1 : text.index('"', 1)]) for text in (value, bound))
    return {"<": number < limit, ">": number > limit, ">=": number >= limit}[operator]
