"""How the events of one topic reach all of its members, each once, those of one source in order.

An event goes over the links of a tree, and other links only say what is there. Nobody plans the tree: a neighbour from which an
event comes a second time is *lazy* from then on and gets marks instead of events; where a mark speaks of an event that does not
come, the neighbour that spoke is grafted in and asked for it (Plumtree: Leitão, Pereira and Rodrigues, "Epidemic broadcast trees",
SRDS 2007). Marks are ranges of numbers by source, and not lists of ids.

    event ──> known? ──yes──> prune whom it came from
                └─no──> to eager neighbours ──> next of its source? ──yes──> told
                                                       └─no──> held, and what is missing is asked for

What is missing and nobody has any more is told as a gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from math import inf
from random import Random
from typing import Final

from dht import Contact

from ...wire.topic_messages import Graft, Mark, Marks, Payload, Prune
from ..neighbours import Send
from .arrivals import Arrivals
from .source import Source

FLUSH_S: Final = 0.4
"""The least time between marks; the first ones after a while of silence leave after QUICK_S."""
QUICK_S: Final = 0.1
MIXED_S: Final = 0.5
"""How long after events of several sources a duplicate prunes its link with the probability MIXED_P only."""
MIXED_P: Final = 0.1
"""Small, so that of the links that have duplicates of several sources one is cut at a time."""
JITTER_S: Final = 0.25
"""Where a part of the tree is cut off, one member is to be the first that asks, and not all at once."""
GAP_S: Final = 5.0
"""How long what is missing is asked for while nothing of it comes; then it is told as a gap."""
MAX_CACHED: Final = 4_096
"""Events of a topic that are kept for those that miss them, all sources together; beyond, the oldest are let go."""
CACHE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of their bodies; beyond, the oldest are let go."""
MAX_HELD: Final = 1_024
"""Events that wait for earlier ones of their source, all sources together; at one more, what its source misses is told as a gap."""
HELD_BYTES: Final = 1024 * 1024
"""Bytes of their bodies; beyond, what the source of the last one misses is told as a gap."""
MAX_SOURCES: Final = 10_000
"""Sources of a topic; beyond, the one that was silent for the longest time is forgotten."""
FORGET_S: Final = 180.0
"""How long a source may be silent before it is forgotten. It begins to count anew long before that (topics.py)."""
ASKED_S: Final = 0.5
"""For how long after it was asked for events a neighbour is not cut off for bringing them twice."""
FED_SOURCES: Final = 8
"""Sources, those that said something last, for which another neighbour is asked to feed when one goes; of others, the next event is
missed first."""
MAX_AHEAD: Final = 1_000_000
"""A number that is so much higher than the last one told is no honest one: such events and marks are passed over."""
MARKS_A_FRAME: Final = 1_000
"""Sources that one message speaks of; more end the link (checks.py)."""
MAX_AGE_MS: Final = 2**48
"""The greatest age that is told of an event, some 9,000 years: it travels in 64 bits. A greater one ends the link."""
GRAFTED_BYTES: Final = 256 * 1024
"""Of events sent for one graft; whoever misses more asks again."""


class Diffusion:
    """One member's part in a topic. ``tell(payload)`` and ``tell_gap(source, count)`` are for whoever subscribed, and publish
    nothing before they return. Clock and randomness are handed in; ``wake_at`` has :meth:`advance` called at a time."""

    def __init__(
        self,
        topic: str,
        rng: Random,
        send: Send,
        wake_at: Callable[[float], None],
        *,
        tell: Callable[[Payload], None],
        tell_gap: Callable[[bytes, int], None],
    ) -> None:
        self._topic = topic
        self._rng = rng
        self._send = send
        self._wake_at = wake_at
        self._tell = tell
        self._tell_gap = tell_gap
        self._neighbours: dict[bytes, Contact] = {}
        self._eager: dict[bytes, Contact] = {}
        """Those among them that get events. Both as :class:`Neighbours` bounds them."""
        self._cut: set[bytes] = set()
        """Neighbours that were cut off here: what they had sent by then comes all the same, and makes them no eager ones."""
        self._marks: dict[bytes, dict[bytes, Mark]] = {}
        """What each neighbour has said that it has, by source. Limit: MAX_SOURCES each."""
        self._asked: dict[bytes, tuple[bytes, float]] = {}
        """Of which source each neighbour was last asked for something, and when. Bounded by the neighbours."""
        self._sources: dict[bytes, Source] = {}
        """Limit: MAX_SOURCES; the one that was silent longest comes first."""
        self._forgotten: dict[bytes, int] = {}
        """Up to where forgotten sources were told: others forget them later, and speak of them. Limit: MAX_SOURCES; beyond, the one
        that was forgotten first goes, and what others say of it is told again."""
        self._cached: deque[tuple[bytes, int]] = deque()
        """What was told and is kept, the oldest first. Limits: MAX_CACHED, CACHE_BYTES."""
        self._cache_bytes = 0
        self._held = self._held_bytes = 0
        self._missing: dict[bytes, None] = {}
        """Sources of which something is missing."""
        self._unsaid: dict[bytes, None] = {}
        """Sources of which marks are to be sent."""
        self._flush_s = inf
        self._flushed_s = -inf
        self._arrivals = Arrivals()
        self._last_source = b""
        self._mixed_s = -inf
        """When an event came last that was of another source than the one before."""
        self.since_s = -inf
        """What was published before is not told: it may come yet, by members that are heard of later."""
        self.is_joined = False
        """Whether it is known what was there before: what a first neighbour has is not told."""
        self.received = self.duplicates = self.gaps = 0

    # --- neighbours --------------------------------------------------------

    def neighbour_came(self, contact: Contact, *, lazy: bool) -> None:
        """There is one more neighbour; a ``lazy`` one gets marks until it asks for more."""
        self._neighbours[contact.id] = contact
        if not lazy:
            self._eager[contact.id] = contact

    def neighbour_went(self, peer: bytes) -> None:
        """There is one less."""
        for known in (self._neighbours, self._eager, self._marks, self._asked):
            known.pop(peer, None)
        self._cut.discard(peer)
        self._replace_feeder(peer)

    def _replace_feeder(self, peer: bytes) -> None:
        """A neighbour went: where events came by it, another one is asked to feed now, and not when the next event is missed."""
        recent = islice(reversed(self._sources.items()), FED_SOURCES)
        fed = [source for source, state in recent if state.fed_by == peer]
        if not fed:
            return
        marks = {other: known[fed[0]].high for other, known in self._marks.items() if fed[0] in known and other in self._neighbours}
        lazy = {other: high for other, high in marks.items() if other not in self._eager}
        feeder = max(lazy or marks, key=lambda other: marks[other], default=None)
        for source in fed:
            self._sources[source].fed_by = feeder
            if feeder is not None:
                self._ask(feeder, source, self._sources[source], self._sources[source].heard_s)

    def _ask(self, peer: bytes, source: bytes, state: Source, now_s: float) -> None:
        """Ask a neighbour for what is missing, up to what is held or else as far as it has come, and for what comes from now on."""
        contact = self._eager[peer] = self._neighbours[peer]
        self._cut.discard(peer)
        self._asked[peer] = source, now_s
        last = min(state.held) - 1 if state.held else state.told + MAX_AHEAD
        self._send(contact, Graft(self._topic, source, state.told + 1, last))

    @property
    def is_fed(self) -> bool:
        """Whether events come by some neighbour, as far as is known."""
        return self.is_joined and bool(self._eager)

    def spare(self) -> bytes | None:
        """A lazy neighbour, if there is one."""
        lazy = [peer for peer in self._neighbours if peer not in self._eager]
        return self._rng.choice(lazy) if lazy else None

    def marks(self) -> list[Mark]:
        """What is here, of the sources that said something last."""
        return [self._mark(source) for source in list(self._sources)[-MARKS_A_FRAME:]]

    def _mark(self, source: bytes) -> Mark:
        state = self._sources[source]
        return Mark(source, state.low, state.told)

    # --- events ------------------------------------------------------------

    def received_payload(self, payload: Payload, sender: bytes | None, now_s: float) -> None:
        """An event has come from a neighbour, from a publisher, or (None) from this peer itself."""
        source, number = payload.source, payload.number
        state = self._sources.get(source)
        if state is None:
            is_known_from_1 = (self.is_joined or sender is None) and number <= MAX_AHEAD
            state = self._meet(source, 0 if is_known_from_1 else number - 1, now_s)
        if number <= state.told or number in state.held or number > state.told + MAX_AHEAD:
            self.duplicates += 1
            if sender in self._eager and self._may_prune(sender, source, state, now_s):
                contact = self._eager.pop(sender)
                self._cut.add(sender)
                self._send(contact, Prune(self._topic))
            return
        if source != self._last_source:
            self._last_source, self._mixed_s = source, now_s if self._last_source else -inf
        self.received += 1
        state.fed_before, state.fed_by = state.fed_by, sender
        if sender in self._neighbours and sender not in self._cut:
            self._eager[sender] = self._neighbours[sender]
        for peer, contact in list(self._eager.items()):
            if peer != sender and not self._send(contact, payload):
                self._eager.pop(peer, None)  # it reads slowly: marks say what it has missed
        self._arrivals.arrived(source, number, now_s, was_asked_for=sender in state.asked)
        if state.heard_s != now_s:
            state.heard_s = now_s
            self._sources[source] = self._sources.pop(source)
        state.born_s[number] = now_s - payload.age_ms / 1000
        if number != state.told + 1:
            self._hold(source, state, payload, now_s)
            return
        self._tell_next(source, state, payload)
        if state.missed_s != inf:
            state.gap_s = now_s + GAP_S
            # Where what was asked for has come, another hole is as old as that one, and is not waited for again.
            has_come = 0 < state.asked_to <= state.told and bool(state.held)
            self._look_for_missing(source, state, now_s, at_once=has_come)
        self._say_soon(source, now_s)

    def _was_asked_for(self, sender: bytes, source: bytes, now_s: float) -> bool:
        """Whether a neighbour was just asked for events, which have come from another one meanwhile: it feeds from now on, and to
        prune it for its answer, and the other one for what it brings first, would leave nobody that feeds."""
        asked_source, asked_s = self._asked.get(sender, (b"", 0.0))
        return asked_source == source and now_s < asked_s + ASKED_S

    def _may_prune(self, sender: bytes, source: bytes, state: Source, now_s: float) -> bool:
        """Whether a duplicate is a reason to cut the link by which it came, now. Nobody cuts whom it has its last events from: two
        neighbours that each get one first from the other would be left with nobody else. One cut opens a circle of links; where
        events of several sources are under way, each finds its duplicates elsewhere, and all would cut."""
        if sender in (state.fed_by, state.fed_before) or self._was_asked_for(sender, source, now_s):
            return False
        return now_s - self._mixed_s > MIXED_S or self._rng.random() < MIXED_P

    def _meet(self, source: bytes, told: int, now_s: float) -> Source:
        while len(self._sources) >= MAX_SOURCES:
            self._forget(next(iter(self._sources)))
        state = self._sources[source] = Source(max(told, self._forgotten.pop(source, 0)), now_s)
        return state

    def _forget(self, source: bytes) -> None:
        state = self._sources.pop(source)
        if len(self._forgotten) >= MAX_SOURCES:
            del self._forgotten[next(iter(self._forgotten))]
        self._forgotten[source] = state.told
        self._cache_bytes -= sum(len(payload.body) for payload in state.events.values())
        self._held -= len(state.held)
        self._held_bytes -= sum(len(payload.body) for payload in state.held.values())
        self._missing.pop(source, None)
        self._unsaid.pop(source, None)
        self._arrivals.forget(source)

    def _tell_next(self, source: bytes, state: Source, payload: Payload | None) -> None:
        """Tell what is next in order, and what follows it and is held."""
        while payload is not None:
            state.told += 1
            state.events[state.told] = payload
            self._cached.append((source, state.told))
            self._cache_bytes += len(payload.body)
            if state.born_s[state.told] >= self.since_s:
                self._tell(payload)
            payload = self._release(state) if state.held else None
        while len(self._cached) > MAX_CACHED or self._cache_bytes > CACHE_BYTES:
            old, number = self._cached.popleft()
            holder = self._sources.get(old)
            if holder is not None and (gone := holder.events.pop(number, None)) is not None:
                self._cache_bytes -= len(gone.body)
                del holder.born_s[number]
                holder.low = max(holder.low, number + 1)

    def _release(self, state: Source) -> Payload | None:
        payload = state.held.pop(state.told + 1, None)
        if payload is not None:
            self._held -= 1
            self._held_bytes -= len(payload.body)
        return payload

    def _hold(self, source: bytes, state: Source, payload: Payload, now_s: float) -> None:
        state.held[payload.number] = payload
        self._held += 1
        self._held_bytes += len(payload.body)
        if self._held > MAX_HELD or self._held_bytes > HELD_BYTES:
            self._give_up(source, state, now_s, to_held=True)
        else:
            self._look_for_missing(source, state, now_s)

    def _say_soon(self, source: bytes, now_s: float) -> None:
        self._unsaid[source] = None
        if self._flush_s == inf:
            self._flush_s = max(now_s + QUICK_S, self._flushed_s + FLUSH_S)
            self._wake_at(self._flush_s)

    # --- marks -------------------------------------------------------------

    def received_marks(self, sender: bytes, marks: list[Mark], now_s: float, *, is_new: bool = False) -> None:
        """A neighbour says what it has; ``is_new`` where it is one just now: what it has and we miss is asked for at once."""
        if sender not in self._neighbours:
            return
        known = self._marks.setdefault(sender, {})
        for mark in marks:
            if len(known) >= MAX_SOURCES and mark.source not in known:
                known.clear()
            known[mark.source] = mark
            state = self._sources.get(mark.source)
            if state is None and not self.is_joined:
                self._meet(mark.source, mark.high, now_s)  # what is said by then is not told
                continue
            if state is None:
                if mark.high < 1:
                    continue
                state = self._meet(mark.source, 0 if mark.high <= MAX_AHEAD else max(mark.low, mark.high - MAX_AHEAD) - 1, now_s)
            if state.told < mark.high <= state.told + MAX_AHEAD:
                self._arrivals.announced(mark.source, mark.high, now_s)
                self._look_for_missing(mark.source, state, now_s, at_once=is_new)
        self.is_joined = True

    def _look_for_missing(self, source: bytes, state: Source, now_s: float, *, at_once: bool = False) -> None:
        if self._last_missing(source, state) <= state.told:
            state.missed_s = state.graft_s = state.gap_s = inf
            state.asked.clear()
            state.asked_to = 0
            self._missing.pop(source, None)
            return
        if state.missed_s == inf:
            self._missing[source] = None
            state.missed_s, state.gap_s = now_s, now_s + GAP_S
            state.graft_s = now_s + (0.0 if at_once else self._patience_s())
        elif at_once:
            state.graft_s = now_s
        if state.graft_s <= now_s:
            self._ask_for(source, state, now_s)
        else:
            self._wake_at(state.graft_s)

    def _last_missing(self, source: bytes, state: Source) -> int:
        """The last number, as far as is known, that was not told."""
        last = max(state.held) if state.held else state.told
        for marks in self._marks.values():
            mark = marks.get(source)
            if mark is not None and last < mark.high <= state.told + MAX_AHEAD:
                last = mark.high
        return last

    def _ask_for(self, source: bytes, state: Source, now_s: float) -> None:
        """Ask a neighbour that has it for what is missing; or give it up."""
        first = state.told + 1
        have = [
            peer
            for peer, marks in self._marks.items()
            if (mark := marks.get(source)) is not None and mark.low <= first <= mark.high and peer in self._neighbours
        ]
        if now_s >= state.gap_s:
            for peer in have:
                del self._marks[peer][source]  # it was asked for all this time, and has sent nothing
            self._give_up(source, state, now_s)
            return
        candidates = [peer for peer in have if peer not in state.asked]
        if not candidates:
            state.asked.clear()
            candidates = have
        if candidates:
            peer = self._rng.choice(candidates)
            state.asked.add(peer)
            state.asked_to = min(state.held) - 1 if state.held else self._marks[peer][source].high
            self._ask(peer, source, state, now_s)
        state.graft_s = now_s + self._patience_s()
        self._wake_at(state.graft_s)

    def _patience_s(self) -> float:
        return self._arrivals.patience_s + self._rng.random() * JITTER_S

    def _give_up(self, source: bytes, state: Source, now_s: float, *, to_held: bool = False) -> None:
        """Tell of what nobody has any more as a gap, and go on behind it; ``to_held`` where too much is held."""
        self._arrivals.forget(source)
        following = list(state.held)
        if not to_held:
            following += [
                max(mark.low, state.told + 1)
                for marks in self._marks.values()
                if (mark := marks.get(source)) is not None and state.told < mark.high <= state.told + MAX_AHEAD
            ]
        if following:
            next_one = min(following)
            if next_one > state.told + 1:
                self.gaps += next_one - state.told - 1
                self._tell_gap(source, next_one - state.told - 1)
            state.told = next_one - 1
            state.low = next_one
            self._tell_next(source, state, self._release(state))
            self._say_soon(source, now_s)
        state.missed_s = state.graft_s = state.gap_s = inf
        state.asked_to = 0
        self._look_for_missing(source, state, now_s)

    # --- what neighbours ask -----------------------------------------------

    def grafted(self, sender: bytes, message: Graft, now_s: float) -> None:
        """A neighbour misses events, and wants those that come from now on."""
        contact = self._neighbours.get(sender)
        if contact is None:
            return
        self._eager[sender] = contact
        self._cut.discard(sender)
        state = self._sources.get(message.source)
        if state is None:
            return
        if message.first < state.low:
            self._send(contact, Marks(self._topic, [self._mark(message.source)]))
        sent_bytes = 0
        for number in range(max(message.first, state.low), min(message.last, state.told) + 1):
            payload = state.events[number]
            sent_bytes += len(payload.body)
            age_ms = min(MAX_AGE_MS, max(0, round((now_s - state.born_s[number]) * 1000)))
            aged = Payload(payload.topic, payload.source, number, payload.body, age_ms)
            if sent_bytes > GRAFTED_BYTES or not self._send(contact, aged):
                break

    def pruned(self, sender: bytes) -> None:
        """A neighbour has our events from others. It may have been the last one by which events come: what one that was cut off
        before had still sent, and this peer passed on, came there a second time."""
        self._eager.pop(sender, None)
        last = self._sources.get(self._last_source)
        if last is not None and last.fed_by in self._neighbours and last.fed_by not in self._eager:
            self._replace_feeder(last.fed_by)

    # --- time --------------------------------------------------------------

    def advance(self, now_s: float) -> None:
        """Do what is due."""
        for source in [source for source in self._missing if self._sources[source].graft_s <= now_s]:
            self._ask_for(source, self._sources[source], now_s)
        if self._flush_s <= now_s:
            self._flush(now_s)

    def _flush(self, now_s: float) -> None:
        self._flush_s, self._flushed_s = inf, now_s
        marks = [self._mark(source) for source in self._unsaid]
        self._unsaid.clear()
        for start in range(0, len(marks), MARKS_A_FRAME):
            message = Marks(self._topic, marks[start : start + MARKS_A_FRAME])
            for contact in list(self._neighbours.values()):
                self._send(contact, message)

    def begin_round(self, now_s: float) -> None:
        """One round of the overlay more: forget the sources that have been silent for long."""
        while self._sources:
            source = next(iter(self._sources))
            if self._sources[source].heard_s + FORGET_S > now_s:
                break
            self._forget(source)
            for marks in self._marks.values():
                marks.pop(source, None)
