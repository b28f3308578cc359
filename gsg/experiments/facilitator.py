"""The facilitator of an experiment: what it tells its participants to do, and what it takes from their logs.

    GATHERING ──all have come──> SETTLING ──time──> SUBSCRIBING ──all have──> GROWING ──time──> SPREADING ─┐
                                                        ^                                                  │
                                                        └──────────────── one topic more ──────────────────┤
                                                                  REMOVING <──to be removed────────────────┤
                                                                      └──────────watched───────> OVER <────┘

No sockets; clock and randomness are handed in. It never speaks first: orders are answers to reports, so a participant that says
nothing is told nothing, and counts as gone after GONE_US. Whoever may speak to this peer may take part: a network with a secret, or
a list of peers, keeps strangers out; what they could write is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from random import Random
from typing import Final

from dht import Contact

from ..errors import Refused
from ..topics.names import MAX_NAME
from ..topics.view import VIEW
from ..wire.experiment_messages import Act, ActKind, Orders, Row, RowKind, TakePart
from . import log
from .log import Entry
from .participant import ROWS_A_REPORT
from .plan import LARGEST, LEAD_US, MAX_PARTICIPANTS, PREFIX, SECOND_US, Due, Plan, acts_of_topic, topic_of

GONE_US: Final = 10 * SECOND_US
"""A participant that has said nothing for so long is gone, unless it says something later."""
PATIENCE_US: Final = 60 * SECOND_US
"""How long it is waited for those that are to subscribe."""
LOG_BYTES: Final = 2**30
"""Of the log, before it is compressed; beyond, rows are lost, which is counted and told."""
SHARE_BYTES: Final = LOG_BYTES // 16
"""Of one participant: no one takes the room of all others."""
ACTS_A_REPORT: Final = 200
"""The rest goes with the next answers."""
MAX_VIEW: Final = 255
"""Peers in the view that a row tells; a row with more is lost."""
ID_BYTES: Final = 20
"""A peer's id; a row with a longer one is lost."""
MAX_ROW: Final = 2**40
"""A participant's rows have lower numbers: so many that are missing of each of MAX_PARTICIPANTS can be counted in 64 bits."""


class Stage(Enum):
    """What is going on."""

    GATHERING = auto()
    SETTLING = auto()
    SUBSCRIBING = auto()
    GROWING = auto()
    SPREADING = auto()
    REMOVING = auto()
    OVER = auto()


class _Member:
    """A participant, as the facilitator knows it."""

    def __init__(self, contact: Contact, now_us: int) -> None:
        self.contact = contact
        self.heard_us = now_us
        self.is_gone = False
        self.acts: list[Act] = []
        """What it is to do and has not acknowledged. Limit: those of a plan, for one topic."""
        self.last_act = 0
        self.last_row = 0
        self.bytes = 0
        self.neighbours: list[Contact] = []
        """Whom it is still to be told of. Limit: VIEW."""
        self.is_removed = False


class Facilitator:
    """The facilitator of one experiment. ``write`` takes a row of the log; a change of the stage is told to ``on_stage``."""

    def __init__(
        self,
        plan: Plan,
        rng: Random,
        write: Callable[[Entry], None],
        now_us: int,
        on_stage: Callable[[str], None] = lambda said: None,
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._write = write
        self._on_stage = on_stage
        self._members: dict[bytes, _Member] = {}
        """Limit: MAX_PARTICIPANTS."""
        self._shares = list(plan.subscribers)
        self._topic = PREFIX
        self._asked: set[bytes] = set()
        """Those that were told to subscribe to the topic, and have not said that they did."""
        self._subscribed: list[bytes] = []
        self.stage = Stage.GATHERING
        self._until_us = 0
        self._bytes = 0
        self.lost = 0
        """Rows that were not written: as the log was full, as they did not come, or as they say what cannot be."""
        write(Entry(now_us, 0, log.EXPERIMENT, number=plan.events))

    # --- what participants say ---------------------------------------------

    def report(self, contact: Contact, report: TakePart, now_us: int) -> Orders:
        """Take a report in; returns what to tell the participant. Raises Refused for one more participant than there can be."""
        member = self._members.get(contact.id)
        if member is None:
            if len(self._members) >= MAX_PARTICIPANTS:
                raise Refused(
                    f"this experiment has {MAX_PARTICIPANTS:,} participants, and may have no more; take part in another one"
                )
            member = self._members[contact.id] = _Member(contact, now_us)
            self._write(Entry(now_us, 0, log.JOINED, contact.id.hex()))
            if self.stage is not Stage.GATHERING:
                member.neighbours = self._sample(self._contacts(), without=contact.id)
        member.heard_us, member.is_gone = now_us, False
        if self.stage is Stage.OVER:
            return Orders(report.request, now_us, is_over=True)
        self._take_rows(member, report, now_us)
        member.acts = [act for act in member.acts if act.number > report.done]
        neighbours, member.neighbours = member.neighbours, []
        return Orders(report.request, now_us, member.acts[:ACTS_A_REPORT], neighbours)

    def _take_rows(self, member: _Member, report: TakePart, now_us: int) -> None:
        if not (0 < report.first < MAX_ROW and abs(report.offset_us) < LARGEST and 0 <= report.error_us < LARGEST):
            raise Refused(
                f"a report from row {report.first}, its clock {report.offset_us} µs behind, give or take {report.error_us}; "
                f"expected a row from 1 to {MAX_ROW - 1:,}, and microseconds below {LARGEST:,}"
            )
        for number, row in enumerate(report.rows[:ROWS_A_REPORT], report.first):
            if number <= member.last_row:
                continue
            self.lost += number - member.last_row - 1
            member.last_row = number
            # Whoever reads the log looks at the views round by round until its last row.
            is_future = row.at_us + report.offset_us > now_us + GONE_US
            if is_future or not _is_sound(row):
                self.lost += 1
                continue
            if row.what is RowKind.SUBSCRIBED and row.topic == self._topic and member.contact.id in self._asked:
                self._asked.discard(member.contact.id)
                self._subscribed.append(member.contact.id)
            entry = _entry(member.contact.id, row, report.offset_us, report.error_us)
            size = entry.size_bytes()
            if self._bytes + size > LOG_BYTES or member.bytes + size > SHARE_BYTES:
                self.lost += 1
                continue
            self._bytes += size
            member.bytes += size
            self._write(entry)

    # --- stages ------------------------------------------------------------

    def advance(self, now_us: int) -> None:
        """Do what is due."""
        for member in self._members.values():
            if not member.is_gone and member.heard_us + GONE_US <= now_us:
                member.is_gone, member.acts = True, []
                self._asked.discard(member.contact.id)
                if not member.is_removed:
                    self._write(Entry(member.heard_us, GONE_US, log.GONE, member.contact.id.hex()))
        match self.stage:
            case Stage.GATHERING:
                if len(self._living()) >= self._plan.participants:
                    contacts = self._contacts()
                    for member in self._members.values():
                        member.neighbours = self._sample(contacts, without=member.contact.id)
                    self._enter(
                        Stage.SETTLING,
                        now_us + self._settle_us,
                        f"all {self._plan.participants} have come, and settle for {self._plan.settle_s:g} s",
                    )
            case Stage.SUBSCRIBING:
                if not self._asked or self._until_us <= now_us:
                    said = f"{len(self._subscribed)} have subscribed to {self._topic}, and settle for {self._plan.settle_s:g} s"
                    self._enter(Stage.GROWING, now_us + self._settle_us, said)
            case Stage.SETTLING | Stage.SPREADING | Stage.GROWING if self._until_us <= now_us:
                if self.stage is Stage.GROWING and self._subscribed:
                    self._spread(now_us)
                elif self._shares:
                    self._let_subscribe(self._shares.pop(0), now_us)
                elif self._plan.removed:
                    self._remove(now_us)
                else:
                    self._end(now_us)
            case Stage.REMOVING if self._until_us <= now_us:
                self._end(now_us)

    @property
    def _settle_us(self) -> int:
        return round(self._plan.settle_s * SECOND_US)

    def _enter(self, stage: Stage, until_us: int, said: str) -> None:
        self.stage, self._until_us = stage, until_us
        self._on_stage(said)

    def _living(self) -> list[bytes]:
        return [peer for peer, member in self._members.items() if not (member.is_gone or member.is_removed)]

    def _contacts(self) -> list[Contact]:
        return [member.contact for member in self._members.values() if not member.is_gone]

    def _sample(self, contacts: list[Contact], *, without: bytes) -> list[Contact]:
        """Some of all participants at random, VIEW at most, for one of them to begin its view with."""
        chosen = self._rng.sample(contacts, min(VIEW + 1, len(contacts)))
        return [contact for contact in chosen if contact.id != without][:VIEW]

    def _let_subscribe(self, share: float, now_us: int) -> None:
        living = self._living()
        chosen = self._rng.sample(living, min(len(living), round(share * self._plan.participants)))
        self._topic, self._asked, self._subscribed = topic_of(share), set(chosen), []
        self._write(Entry(now_us, 0, log.TOPIC, topic=self._topic, number=len(chosen)))
        self._tell_all([Due(who, now_us, ActKind.SUBSCRIBE) for who in chosen])
        self._enter(
            Stage.SUBSCRIBING,
            now_us + PATIENCE_US,
            f"{len(chosen)} are to subscribe to {self._topic}, within {PATIENCE_US // SECOND_US} s",
        )

    def _spread(self, now_us: int) -> None:
        living = set(self._living())
        members = [who for who in self._subscribed if who in living]
        if not members:
            self._enter(Stage.SPREADING, now_us, f"nobody is left in {self._topic}")
            return
        outside = sorted(living.difference(members))
        acts, over_us = acts_of_topic(self._plan, members, outside, now_us + LEAD_US, self._rng)
        self._tell_all(acts)
        takes_s = (over_us + LEAD_US - now_us) / SECOND_US
        self._enter(Stage.SPREADING, over_us + LEAD_US, f"events of {self._topic} spread among {len(members)} for {takes_s:.0f} s")

    def _remove(self, now_us: int) -> None:
        chosen = self._rng.sample(living := self._living(), min(len(living), round(self._plan.removed * len(living))))
        at_us = now_us + LEAD_US
        self._tell_all([Due(who, at_us, ActKind.END) for who in chosen])
        for who in chosen:
            self._members[who].is_removed = True
            self._write(Entry(at_us, 0, log.REMOVED, who.hex()))
        watch_us = round(self._plan.watch_s * SECOND_US)
        said = f"{len(chosen)} of {len(living)} end as if they were killed"
        watched = f"views of the others are logged for {self._plan.watch_s:g} s"
        self._enter(Stage.REMOVING, at_us + watch_us, f"{said}; {watched}")

    def _end(self, now_us: int) -> None:
        self._write(Entry(now_us, 0, log.OVER, number=self.lost))
        self._enter(Stage.OVER, now_us, "the experiment is over; peers go on, and Ctrl-C ends each")

    def _tell_all(self, acts: Iterable[Due]) -> None:
        for due in acts:
            member = self._members[due.participant]
            member.last_act += 1
            member.acts.append(Act(member.last_act, due.at_us, due.do, self._topic, due.event))


def _is_sound(row: Row) -> bool:
    """Whether a row can be written: what it says is up to its participant, and how much that is, is not."""
    numbers = (row.at_us, row.number, row.payloads, row.small)
    return (
        all(0 <= number < LARGEST for number in numbers)
        and len(row.topic) <= MAX_NAME
        and len(row.publisher) <= ID_BYTES
        and len(row.view) <= MAX_VIEW
        and all(len(peer) <= ID_BYTES for peer in row.view)
    )


def _entry(peer: bytes, row: Row, offset_us: int, error_us: int) -> Entry:
    is_count = row.what is RowKind.COUNTED
    return Entry(
        row.at_us + offset_us,
        error_us,
        row.what.name.lower(),
        peer.hex(),
        row.topic or None,
        row.publisher.hex() or None,
        row.number or None,
        row.payloads if is_count else None,
        row.small if is_count else None,
        [known.hex() for known in row.view] if row.what is RowKind.VIEW else None,
    )
