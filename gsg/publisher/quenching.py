"""Quenching: an event is sent only to the rendezvous where somebody may want it.

A peer that publishes events asks each rendezvous under which keys something is posted there. What it was told is a lease; while it
lasts, the rendezvous tells it of each new key, and answers a subscriber only when all whom it has told have acknowledged that. So
whoever publishes after a subscription was acknowledged reaches it, and what nobody wants does not travel.

    publisher                          rendezvous
      AskInterest ───────────────────────>  told until LEASE_S from now
      <─────────────── Interest: keys in use
      ... sends only what is asked for ...
                                            <──── InsertCondition under a new key
      <─────────────── Interested: the key
      Done ──────────────────────────────>  ────> Done, to the subscriber

The rendezvous' side is :mod:`gsg.rendezvous.interest`.

Nothing is known of a peer until it has answered, nor while keys are changing hands there: it is sent all that belongs to its keys.
Nor is anything known of this very peer while it is checking whose keys are whose.

While keys may be changing hands as far as this peer knows, it is not sure whom to ask about a key. Each peer is then asked for all
that is posted or stands by there, and for the peers that it knows. Once all have answered, and nobody knows a peer that was not
asked, nothing is posted under a key that none of them named, whoever holds it. Events with a key that was named go to its
rendezvous, which passes them on to the other holders. Until all have answered, and where peers are too many to be asked, an event
goes to the rendezvous of all of its constants. They are asked as soon as a peer is suspected, so that all have mostly answered when
it is dead.

So are they where a peer is silent, which may be stopped: what is posted there stands by at other holders. As long as it is one of
fewer than REPLICAS, what these have told speaks for it, and nobody waits for it with what nobody asks for (:meth:`Interests.
nobody_asks`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf

import dht

from ..background import StartTask
from ..errors import PeerMisbehaved, PeerUnreachable
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..placement.rules import REPLICAS
from ..rendezvous.conditions import Conditions
from ..rendezvous.interest import LEASE_S, MAX_PEERS, NAMED_KEYS
from ..tuples.features import HOME, positions
from ..tuples.long_constants import Hashed, ShortTerm, short
from ..tuples.terms import MAX_ARITY, Term, Tuple, Variable
from ..wire.exchange import Exchange, PeerLink
from ..wire.interest_messages import AskInterest, Interest, Interested, KeyTold
from ..wire.messages import Done

log = logging.getLogger(__name__)

RENEW_S = 5.0
"""Age from which the lease is renewed by whoever still publishes."""

PLACES = 1_000
"""Pairs of arity and position under which one peer may ask for something; one that asks for more is sent everything."""
CONSTANTS = 16_384
"""Constants of one peer that are remembered; where more are told, everything at their positions is asked for."""

LOOK_AGAIN_S = 1.0
"""How often the leases are looked at while events are published, and how soon a peer is asked once more that could not tell all."""

SILENT_S = 0.25
"""How long a peer may owe an answer before the others are asked for what stands by for it. One that is only busy costs a question
to each of them."""

UNANSWERED = 6
"""Questions that a peer may leave unanswered on one link, which are as many LEASE_S; then it is asked no more there."""


class _Wanted:
    """What one peer asks for. It says so itself: :meth:`add_keys` raises PeerMisbehaved for positions that no tuple has."""

    __slots__ = ("_constants", "_hashes", "anything", "keys", "of_all", "until_s", "was_asked_all")

    def __init__(
        self, until_s: float, anything: bool, keys: Iterable[KeyTold], *, was_asked_all: bool = False, of_all: bool = False
    ) -> None:
        self.until_s = until_s
        self.anything = anything
        self.was_asked_all = was_asked_all
        """Whether it was asked for what stands by there as well."""
        self.of_all = of_all
        """Whether it says so, and knows no peer that this one does not."""
        self.keys: dict[tuple[int, int], set[ShortTerm] | None] = {}
        """By arity and position. Limits: PLACES; NAMED_KEYS of each, CONSTANTS of all."""
        self._constants = 0
        self._hashes = False
        """Whether hashes of long constants are among them: mostly none are, and events need not be looked at for those."""
        self.add_keys(keys)

    def add_keys(self, keys: Iterable[KeyTold]) -> None:
        """More is asked for."""
        for arity, position, constant in keys:
            place = (arity, position)
            if not 0 <= position < arity <= MAX_ARITY and place != (0, HOME):
                raise PeerMisbehaved(f"it asks for position {position} of tuples of {arity} terms; expected one that they have")
            constants = self.keys.get(place, _NOTHING)
            if constants is None:
                continue
            if place not in self.keys:
                if len(self.keys) >= PLACES:
                    self.anything = True
                    continue
                constants = self.keys[place] = set()
            if constant is not None and constant not in constants:
                constants.add(constant)
                self._hashes |= type(constant) is Hashed
                self._constants += 1
            if constant is None or len(constants) > NAMED_KEYS or self._constants > CONSTANTS:
                self._constants -= len(constants)
                self.keys[place] = None

    def asks_for(self, arity: int, position: int, constant: Term) -> bool:
        """Whether an event with this constant there may meet something."""
        constants = self.keys.get((arity, position), _NOTHING)
        return (
            constants is None
            or (short(constant) if self._hashes else constant) in constants
            or (position == HOME and (0, HOME) in self.keys)
        )


class Interests:
    """The publisher's side: what other peers ask for, as far as they have said."""

    def __init__(
        self, holders: Holders, exchange: Exchange, conditions: Conditions, responsibility: Responsibility, start_task: StartTask
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self._conditions = conditions
        self._start_task = start_task
        self._responsibility = responsibility
        self._own = exchange.own.contact.id
        self._of_peer: dict[bytes, _Wanted] = {}
        self._links: set[PeerLink] = set()
        """Those by which what is known of their peers was told: it goes with them."""
        self._asked_s: dict[bytes, float] = {}
        """When each peer that has not answered yet was asked."""
        self._unanswered: dict[PeerLink, deque[tuple[float, bool]]] = {}
        """When each question was asked to which the answer may still come, and whether for all, by link, which keeps their order: a
        lease counts from its own question. Limit: UNANSWERED of each. An answer that comes without being asked for is nothing."""
        self._sure_until_s = 0.0
        """How long the leases need not be looked at: all of them hold."""
        self._of_all = False
        """Whether those are all of what is posted or stands by anywhere, and hold whoever has which key."""
        self._arities: set[int] | None = None
        """Those of which other peers ask for something, 0 for all; None while that is to be found out."""
        self._is_sure = False
        """Whether all other peers had said what they ask for when :meth:`wanted_at` was called last."""

    def take_interest(self, link: PeerLink, interest: Interest) -> None:
        """A rendezvous says what it asks for. What it tells of later comes after this, by the same link."""
        peer = link.contact.id
        unanswered = self._unanswered.get(link)
        if unanswered:
            known = 0 < len(interest.knows) <= MAX_PEERS + 1 and all(map(self._holders.is_known, interest.knows))
            # The lease counts from the question, so that the other side's ends later.
            asked_s, was_asked_all = unanswered.popleft()
            self._of_peer[peer] = _Wanted(
                asked_s + LEASE_S, interest.anything, interest.keys, was_asked_all=was_asked_all, of_all=known
            )
            self._links.add(link)
            self._arities = None
            self._sure_until_s = 0.0
            if not unanswered:
                del self._unanswered[link]
                self._asked_s.pop(peer, None)

    def add_interest(self, link: PeerLink, interested: Interested) -> None:
        """A rendezvous has told of more, and waits for the acknowledgement."""
        wanted = self._of_peer.get(link.contact.id)
        # When its lease is over, nobody relies on it: it is asked anew.
        if wanted is not None and wanted.until_s > asyncio.get_running_loop().time():
            wanted.add_keys(interested.keys)
            self._arities = None
            if interested.anything:
                del self._of_peer[link.contact.id]  # it is asked anew: what it could not say may be known by now
            if interested.anything or wanted.anything:
                self._sure_until_s = 0.0
        link.send(Done(interested.request))

    def drop_link(self, link: PeerLink) -> None:
        """A link is gone, and with it what was told by it."""
        if self._unanswered.pop(link, None):
            self._asked_s.pop(link.contact.id, None)
        if link in self._links:
            self._links.discard(link)
            self._of_peer.pop(link.contact.id, None)
            self._arities = None
            self._sure_until_s = 0.0

    def forget_all(self) -> None:
        """Peers have come or gone."""
        self._of_peer.clear()
        self._arities = None
        self._links.clear()
        self._asked_s.clear()
        # What is answered now was asked before: it holds for no time.
        self._unanswered = {link: deque(repeat((-inf, False), len(asked))) for link, asked in self._unanswered.items()}
        self._sure_until_s = 0.0

    def forget_peer(self, peer: bytes) -> None:
        """A peer has gone. What others have told of all that is posted or stands by there holds, whoever has its keys by now."""
        self._of_peer = {other: wanted for other, wanted in self._of_peer.items() if wanted.of_all and other != peer}
        self._arities = None
        self._asked_s.clear()
        self._sure_until_s = 0.0

    @property
    def alone(self) -> bool:
        """Whether there is no other peer: all keys are here."""
        return not self._holders.others()

    def places(
        self, events: Sequence[Tuple], via: Sequence[int] | None = None, *, within: Sequence[int] | None = None
    ) -> tuple[list[bytes], bool]:
        """For each event the positions by whose rendezvous it has to go, and whether all of those are this very peer.

        ``via``: those by which it is to go at most, whatever is asked for. ``within``: those at which alone anybody asks for it.
        """
        others = self._holders.others()
        limits = within if via is None else via
        if not others:
            return [positions(items) if limits is None else bytes(limits) for items in events], True
        now = asyncio.get_running_loop().time()
        is_sure = now < self._sure_until_s and (self._of_all or not self._changes_hands)
        unknown = _NOBODY if is_sure or via is not None else self._unknown(others, now)
        by_all = via is None and unknown is _NOBODY and self._of_all
        self._is_sure = unknown is not None and not unknown and via is None
        if unknown is None:
            return [positions(items) if within is None else bytes(within) for items in events], False
        places = []
        here = True
        own, holder_of = self._own, self._holders.primary_now
        in_use: dict[int, Sequence[int]] = {}
        known: dict[tuple[int, int, Term], bytes] = {}
        """Where events go that have one candidate: a stream of them has the same constant there."""
        for items in events:
            arity = len(items)
            # One that is slow to say what it asks for does not make the others' share more, which would make them slow as well.
            candidates = via if via is not None else (within or positions(items)) if unknown else in_use.get(arity)
            if candidates is None:
                candidates = in_use[arity] = self._candidates(arity, within)
            if len(candidates) == 1:
                feature = (arity, candidates[0], items[candidates[0]])
                found = known.get(feature)
                if found is not None:
                    places.append(found)
                    continue
            there = b""
            for position in candidates:
                constant = items[position]
                if type(constant) is Variable:
                    continue
                if by_all:
                    if not self._asks_anywhere(arity, position, constant):
                        continue
                    here = False  # other holders are to have it as well, whoever the first one is
                    there += _BYTE[position]
                    continue
                holder = holder_of((arity, position, constant))
                if holder is None:
                    here = False
                elif via is None and holder.id not in unknown and not self._asks(holder.id, arity, position, constant):
                    continue
                elif holder.id != own:
                    here = False
                there += _BYTE[position]
            if len(candidates) == 1:
                known[feature] = there
            places.append(there)
        return places, here

    def wanted(self, events: Sequence[Tuple], *, within: Sequence[int] | None = None) -> list[Tuple]:
        """Those events that somebody may ask for now: the others need not be published. ``within`` as in :meth:`places`."""
        if self.alone:
            return [
                items
                for items in events
                if any(self._asks(self._own, len(items), position, items[position]) for position in within or positions(items))
            ]
        return [items for items, there in zip(events, self.places(events, within=within)[0], strict=True) if there]

    def wanted_at(self, event: Tuple, *, within: Sequence[int] | None = None) -> bytes:
        """The positions by whose rendezvous an event has to go; none where nobody asks for it now. ``within`` as in
        :meth:`places`."""
        if not self.alone:
            return self.places([event], within=within)[0][0]
        self._is_sure = True
        candidates, arity = within or positions(event), len(event)
        return bytes([position for position in candidates if self._asks(self._own, arity, position, event[position])])

    def nobody_asks(self, events: Iterable[tuple[Tuple, bytes]]) -> bool | None:
        """Whether nobody asks for events at these positions, as all others say, whose rendezvous is silent. None until they have
        said what they ask for; here they are asked."""
        if self._unknown(self._holders.others(), asyncio.get_running_loop().time()) is not _NOBODY:
            return None
        return not any(self._asks_anywhere(len(items), position, items[position]) for items, there in events for position in there)

    def is_arity_asked(self, arity: int) -> bool:
        """Whether anybody may ask for anything of events of this arity; where not, they need not even be made. To be called right
        after :meth:`wanted_at` of another event, which has looked at the leases."""
        if self._arities is None:
            self._arities = {asked for wanted in self._of_peer.values() for asked, _ in wanted.keys}
        return not self._is_sure or arity in self._arities or 0 in self._arities or self._conditions.is_in_use(arity)

    def _asks(self, holder: bytes, arity: int, position: int, constant: Term) -> bool:
        """Whether a peer that is known may ask for an event with this constant there."""
        if holder == self._own:
            return self._conditions.has_listeners((arity, position, constant))
        # A lookup may name one that is not among the others, as it is beyond the share of its address block.
        wanted = self._of_peer.get(holder)
        return wanted is None or wanted.asks_for(arity, position, constant)

    def _asks_anywhere(self, arity: int, position: int, constant: Term) -> bool:
        """Whether any peer may ask for an event with this constant there, this one or those that are known."""
        return self._asks(self._own, arity, position, constant) or any(
            wanted.asks_for(arity, position, constant) for wanted in self._of_peer.values()
        )

    @property
    def _changes_hands(self) -> bool:
        """Whether keys may be changing hands, as far as this peer knows."""
        return self._holders.unsure or self._responsibility.settling

    def _candidates(self, arity: int, within: Sequence[int] | None) -> tuple[int, ...]:
        """The positions at which somebody asks for something in tuples of this arity, of those named."""
        found = set(self._conditions.positions_in_use(arity))
        for wanted in self._of_peer.values():
            found.update(position for asked, position in wanted.keys if asked in (arity, 0))
        return tuple(sorted(found if within is None else found.intersection(within)))

    def _unknown(self, others: list[dht.Contact], now: float) -> set[bytes] | None:
        """The peers that have not said what they ask for, or said it too long ago; they are asked. _NOBODY where what the others
        have told is all that is posted or stands by anywhere. None where it is not even sure whose keys are whose, and where peers
        are too many to be asked."""
        self._of_all = False
        if len(others) > MAX_PEERS or self._holders.passes_over:
            return None
        unknown: set[bytes] = set()
        silent = {contact.id for contact in others if now - self._asked_s.get(contact.id, now) > SILENT_S}
        if len(silent) >= REPLICAS:
            silent = _NOBODY  # something may be posted at just these
        of_all = self._changes_hands or bool(silent)
        asks_all = of_all or any(self._holders.suspects(contact.id) for contact in others)
        sure_until_s = now + LOOK_AGAIN_S
        for contact in others:
            wanted = self._of_peer.get(contact.id)
            is_enough = not asks_all or (wanted is not None and wanted.of_all and not wanted.anything)
            of_all &= is_enough or contact.id in silent
            good_for_s = RENEW_S if is_enough else LOOK_AGAIN_S
            was_asked = wanted is not None and (is_enough or wanted.was_asked_all)
            if wanted is None or not was_asked or wanted.until_s - now < LEASE_S - good_for_s:
                asked_s = self._asked_s.get(contact.id)
                if asked_s is None or now - asked_s > LEASE_S:
                    self._asked_s[contact.id] = now
                    self._start_task(self._ask(contact, now, standby=asks_all))
            if wanted is None or wanted.anything or wanted.until_s <= now:
                unknown.add(contact.id)
            else:
                sure_until_s = min(sure_until_s, wanted.until_s)
        if of_all and unknown <= silent:
            self._of_all, self._sure_until_s = True, sure_until_s
            return _NOBODY
        if self._holders.unsure:
            return None
        if self._responsibility.settling:
            unknown.add(self._own)
        if not unknown:
            self._sure_until_s = sure_until_s
        return unknown

    async def _ask(self, contact: dht.Contact, now: float, *, standby: bool = False) -> None:
        try:
            link = await self._exchange.link(contact)
            unanswered = self._unanswered.setdefault(link, deque())
            if len(unanswered) < UNANSWERED:
                link.send(AskInterest(standby))
                unanswered.append((now, standby))
        except PeerUnreachable as error:
            self._asked_s.pop(contact.id, None)
            log.debug("what is asked for at %s:%d is unknown: %s", contact.host, contact.port, error)


_NOTHING: set[ShortTerm] = set()
_NOBODY: set[bytes] = set()
_BYTE = [bytes((position,)) for position in range(256)]
