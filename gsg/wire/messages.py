"""What peers say to each other: frozen structs, msgpack on the wire, one per frame.

    publisher  -> rendezvous    Publish, Flash                      answered by Done or Failed
    subscriber -> rendezvous    AskLoads, InsertCondition,          answered by Loads; Done, then Snapshot...; Failed; NotHere;
                                RemoveCondition, Resume             ByHead
    rendezvous -> subscriber    Snapshot, Deltas, Happened, Gap, Missed, Moved
    subscriber -> rendezvous    AskPassed                           answered by Passed, after all that was forwarded before
    rendezvous -> head          Lead (gsg/rendezvous/fan_out/parts.py)
    subscriber -> head          InsertCondition, AskPassed ``of`` a rendezvous
    holder     -> holder        Replicate, Buried                   answered by Done or Failed
    holder     -> holder        AskRanges, AskKeys                  answered by Differ
    holder     -> holder        AskFacts                            answered by Done, after what was asked for
    anybody    -> anybody       Beat, Arrived, and Died of earlier versions, with which nothing is done
    publisher  -> rendezvous    AskInterest                         answered by Interest
    rendezvous -> publisher     Interested                          answered by Done
    peer       -> peer          of topics: topic_messages.py; of experiments: experiment_messages.py
    anybody    -> anybody       AskStatus                           answered by PeerStatus, or Vocabulary

``request`` numbers an exchange on one link; a feed's number is the subscriber's. Sequence numbers count the messages of a feed from
its snapshot on, so that a hole is noticed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, TypeAlias

import msgspec

import dht

from ..errors import PeerMisbehaved
from ..tuples.audiences import Audience, PeerId, restricted
from ..tuples.features import Template
from ..tuples.long_constants import Remains
from ..tuples.terms import Tuple
from .door_urls import MAX_DOOR_CHARACTERS
from .experiment_messages import ExperimentMessage
from .holder_messages import AskFacts, AskKeys, AskRanges, Buried, Differ, Replicate
from .interest_messages import AskInterest, Interest, Interested
from .load_messages import AskLoads, Loads
from .status_messages import AskStatus, PeerStatus, Vocabulary
from .topic_messages import NAMING, EnrolMember, Inject, Members, TopicMessage, contacts_in
from .trace_context import TraceContext

After: TypeAlias = list[tuple[bytes, int, int]]
"""Rendezvous, and for each the last number that a publisher has sent there, and the last of an event, 0 for none of late: what
comes from them up to there may belong before this. Where something only stands by (:mod:`gsg.feeds.standbys`), only events come."""

PublisherId: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=dht.ID_BYTES)]
"""A publisher where others ask about it; what stands there for none in particular is shorter."""
NOT_BY = 8
"""Heads that a subscriber says have refused it: a few are asked at most (gsg/rendezvous/fan_out/parts.py)."""
Ordinal: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
"""How many messages came before one. What is said of a feed goes on to others with one more or less, and must fit there too."""
LastOrdinal: TypeAlias = Annotated[int, msgspec.Meta(ge=-1, le=1 << 62)]
"""That of the last one that came; -1 where none did."""


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class Event(_Message, frozen=True):
    """A tuple that is true for a moment. ``text`` is the line that a Pedro client sent, for doors that forward it byte for byte."""

    number: int
    """The publisher's count, which says what came first: with its id it names the event wherever it arrives."""
    items: Tuple
    text: str | None = None
    late_s: int = 0
    """Of an event that is sent again because its rendezvous died, or that had to wait: so many seconds ago it was said, at most.
    Who subscribed since is not to hear of it, to a second or so."""


class Origin(_Message, frozen=True):
    """Which message of a publisher facts come from, and what it sent to other rendezvous before."""

    publisher: bytes
    number: int
    """Events are counted along: a message of facts has one number, an event its own."""
    after: After = []
    trace: TraceContext | None = None
    """Of the call that the facts are from, as it comes from there; None where no span is made of it."""


class Part(_Message, frozen=True):
    """The facts of one call, where those of several travel in one message: so many, which come as from a message of their own."""

    facts: int
    number: int
    after: After = []
    trace: TraceContext | None = None
    """All three as in Origin."""


class Test(_Message, frozen=True):
    """A condition beyond constants that one tuple decides: ``name`` says who understands ``source``."""

    name: str
    source: str


class Publish(_Message, tag=1, frozen=True):
    """Facts come (sign 1) or go (-1), each under the positions (bytes of ``places``) whose keys the receiver holds.

    ``forwarded``: by a peer that held those keys before. It is taken as it is, so that two peers who disagree do not pass it on.
    """

    request: int
    sign: int
    facts: list[Tuple]
    places: list[bytes]
    stamp: int
    """When the facts change, in microseconds (storage/clock.py): the same under all keys of a fact, so that whoever holds any of
    them takes the same one of two changes for the later one."""
    forwarded: bool = False
    unsure: bool = False
    """The publisher has lost or met peers of late, and may take the receiver for a holder that it is not: it is to look."""
    origin: Origin | None = None
    audience: Audience | None = None
    """Who may read the facts; None for everybody."""
    parts: list[Part] = []
    """Of several calls, in order; the number of ``origin`` is that of the last. None where all are of one."""

    @property
    def entries(self) -> Sequence[Tuple]:
        """The facts as their holders have them."""
        return self.facts if self.audience is None else restricted(self.facts, self.audience)

    def by_call(self) -> list[tuple[range, Origin | None]]:
        """The facts of each call, by number, and where they come from."""
        if not self.parts or self.origin is None:
            return [(range(len(self.facts)), self.origin)]
        ends = list(accumulate(part.facts for part in self.parts))
        return [
            (range(end - part.facts, end), Origin(self.origin.publisher, part.number, part.after, part.trace))
            for end, part in zip(ends, self.parts, strict=True)
        ]

    def parts_of(self, numbers: Sequence[int]) -> list[Part]:
        """The parts of a message that has only some of the facts, by ascending number."""
        of_each = [bisect_left(numbers, each.stop) - bisect_left(numbers, each.start) for each, _ in self.by_call()]
        return [Part(facts, part.number, part.after, part.trace) for facts, part in zip(of_each, self.parts, strict=False) if facts]


class Flash(_Message, tag=2, frozen=True):
    """Events, each under the positions whose keys the receiver holds."""

    request: int
    publisher: bytes
    events: list[Event]
    places: list[bytes]
    forwarded: bool = False
    unsure: bool = False
    """Both as in Publish."""
    after: After = []
    """Of the rendezvous that the publisher has used of late, other than the receiver; what is of the same batch included."""
    audience: Audience | None = None
    """As in Publish."""
    trace: TraceContext | None = None


class Done(_Message, tag=3, frozen=True):
    """The request was carried out."""

    request: int
    count: int = 0
    """Of a Publish: how many facts it changed under their position 0."""
    stamp: int = 0
    """Of a Publish, Replicate or Beat: the latest time that is known there."""
    behind: list[int] = []
    """Of a Publish or Replicate: the facts, by their number in it, to which the contrary has happened later: they did not change,
    and are to be sent again with a later stamp, under all of their keys."""
    unchanged: list[int] = []
    """Of a Publish: the facts, by number, that were under their position 0 as they are to be already."""


class Failed(_Message, tag=4, frozen=True):
    """The request was refused."""

    request: int
    reason: str


class InsertCondition(_Message, tag=7, frozen=True):
    """Post a template under its anchor (a position, or -1: it has no constant and is posted everywhere) and feed me its facts.

    With ``events_only`` no facts are fed; with ``exclusive`` it is refused while anybody else has the same template there.
    ``standby``: you are another holder of the key than the one that feeds me, and this is for when that one dies.
    """

    request: int
    feed: int
    template: Template
    anchor: int
    test: Test | None = None
    events_only: bool = False
    exclusive: bool = False
    standby: bool = False
    instead: int = 0
    """The feed that stands by with you until now, if there is one; it is about to end."""
    again: list[int] = []
    """Feeds in whose place this one is, as the links by which they came broke: tell me of the events that they had not brought."""
    of: PeerId | None = None
    """Of a head: the rendezvous whose feed it is to pass on."""
    came_to: LastOrdinal = -1
    """The last position of what a head has passed on for the feed in whose place this one is: tell me of the events since."""
    sequence: Ordinal = 0
    """Of a head: the number of the first Deltas that are to be told, where it knows all since then; ``came_to`` of the events."""
    not_by: Annotated[list[PeerId], msgspec.Meta(max_length=NOT_BY)] = []
    """Heads that have not taken this condition."""
    interval: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Of the anchor's position, where the template has no constant there: its facts are those of the interval's key."""


class RemoveCondition(_Message, tag=8, frozen=True):
    """End a feed; the template goes with its last feed."""

    feed: int


class Resume(_Message, tag=9, frozen=True):
    """Send the snapshot of a feed anew: after a gap, or when the subscriber saw a hole in the sequence."""

    feed: int


class Snapshot(_Message, tag=10, frozen=True):
    """Stored facts that match, one part of them; ``last`` is the end-of-stored mark, after which Deltas count from ``sequence``."""

    feed: int
    facts: list[Tuple]
    first: bool
    last: bool
    sequence: int
    stamps: list[int] = []
    """Of a template without constants, when each fact came: several peers hold it (:mod:`gsg.feeds.union`)."""
    went: list[Remains] = []
    """Of such a one, in the last part: what remains of facts that went of late, of which another holder may not have heard yet."""
    went_stamps: list[int] = []
    """When each of these went."""


class Deltas(_Message, tag=11, frozen=True):
    """Facts of a feed that came and went, in order; ``signs`` holds 1 or -1 for each. All of them are from one message."""

    feed: int
    sequence: int
    facts: list[Tuple]
    signs: list[int]
    origin: Origin | None = None
    """None for what no publisher has just said."""
    more: bool = False
    """More of the same message follows, by another feed."""
    stamps: list[int] = []
    """As in Snapshot; 0 for a fact that has not gone, but lies at the sender no more."""


class Happened(_Message, tag=12, frozen=True):
    """Events, each with the feeds whose templates it matches."""

    publisher: bytes
    events: list[Event]
    feeds: list[list[int]]
    after: After = []
    """As in Flash."""
    position: LastOrdinal = -1
    """Of what heads pass on: how many such messages there were before at its rendezvous."""
    for_readers: bool = False
    """Whether these are for named readers, and passed on to nobody."""
    trace: TraceContext | None = None


class Arrived(_Message, tag=34, frozen=True):
    """So many Happened have arrived by this link since it was made."""

    messages: int


class AskPassed(_Message, tag=30, frozen=True):
    """Tell me when everything of a publisher up to this number has passed by you.

    Number 0 has always passed: whatever stands for the publisher then, the answer says that you have nothing more for me by now.
    """

    publisher: PublisherId
    number: int
    of: PeerId | None = None
    """Of a head: the rendezvous by which it passed. Of the rendezvous itself: it is a head that asks, for those whom it feeds."""


class Passed(_Message, tag=31, frozen=True):
    """Everything of a publisher up to this number has passed by me, and what of it concerns you was sent before this.

    A number less than the one asked for says that the sender will not say more.
    """

    publisher: PublisherId
    number: int
    of: PeerId | None = None
    """As in AskPassed."""


class Gap(_Message, tag=13, frozen=True):
    """Deltas of this feed were not kept because the link could not take them: ask for a Resume when you can read again."""

    feed: int


class Missed(_Message, tag=32, frozen=True):
    """So many events that this feed matches were not kept, because the link could not take them. What comes now came after."""

    feed: int
    events: int


class NotHere(_Message, tag=16, frozen=True):
    """The condition belongs to another peer by now; ``leaves``: and this one is about to stop."""

    request: int
    peer: dht.Contact
    leaves: bool


class ByHead(_Message, tag=36, frozen=True):
    """The condition is fanned out (gsg/rendezvous/fan_out/parts.py): ask this subscriber for my feed, which is at this position."""

    request: int
    head: dht.Contact
    position: Ordinal
    sequence: Ordinal
    """The number of the next Deltas that the head gets."""


class Lead(_Message, tag=37, frozen=True):
    """Pass on what comes by this feed of yours to those who ask you for it, or, where ``leads`` is false, do so no more."""

    feed: int
    leads: bool
    position: Ordinal
    """How many messages of events were passed on before by any head: that of the next one, as Happened has it."""


class Moved(_Message, tag=17, frozen=True):
    """Another peer is the rendezvous of this feed's key now, and has its facts: post the condition there and end this feed.

    ``leaves``: the peer that says so is about to stop.
    """

    feed: int
    to: dht.Contact
    leaves: bool


NOTICED = 20
"""Peers in one notice."""


class Died(_Message, tag=27, frozen=True):
    """These peers died, all holders of some keys among them (gsg/replication/restoring.py)."""

    peers: Annotated[list[PeerId], msgspec.Meta(max_length=NOTICED)]


class Beat(_Message, tag=33, frozen=True):
    """Do you hear me? Answered by Done. ``stamp`` is the latest time that I know of (:mod:`gsg.churn.heartbeats`)."""

    request: int
    stamp: int
    door: Annotated[str, msgspec.Meta(max_length=MAX_DOOR_CHARACTERS)] | None = None
    """Where my HTTP door is; empty where I have none, and None where this beat does not say it."""


Message: TypeAlias = (
    Publish
    | Flash
    | Done
    | Failed
    | AskLoads
    | Loads
    | InsertCondition
    | RemoveCondition
    | Resume
    | Snapshot
    | Deltas
    | Happened
    | Gap
    | Missed
    | Replicate
    | Buried
    | AskRanges
    | AskKeys
    | AskFacts
    | Differ
    | NotHere
    | Moved
    | Died
    | AskInterest
    | Interest
    | Interested
    | Beat
    | AskStatus
    | PeerStatus
    | Vocabulary
    | AskPassed
    | Passed
    | Arrived
    | ByHead
    | Lead
    | TopicMessage
    | Inject
    | EnrolMember
    | Members
    | ExperimentMessage
)

encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def decode(payload: bytes) -> Message:
    """A message from a frame's payload. Raises PeerMisbehaved for anything else."""
    try:
        message = _decoder.decode(payload)
        if isinstance(message, (Moved, NotHere, ByHead)):
            contact = message.to if isinstance(message, Moved) else message.peer if isinstance(message, NotHere) else message.head
            dht.contact_from((contact.id, contact.host, contact.port))
        elif isinstance(message, NAMING):
            for contact in contacts_in(message):
                dht.contact_from((contact.id, contact.host, contact.port))
        return message
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, dht.BadAnswer) as error:
        raise PeerMisbehaved(f"a frame of {len(payload)} bytes is no message of this protocol: {error}") from None
