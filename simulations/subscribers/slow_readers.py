"""How subscribers fare who read slowly: the busiest of a run and some who are told less, under each policy and at several speeds.

A speed is in times of what comes in the mean: at 1 a reader reads as fast as it is told. What comes, and when, is that of the
workload: all tuples that match what the clients of its peer ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE
from gsg.tuples.features import HOME

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding
from ..engine.html_page import Table
from ..engine.intervals import Interval, flat, mean_of
from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.results import line_figure
from ..engine.sweep import Sweep, by_setting
from ..errors import BadParameter
from ..workload.workload import OBJECT, Subscriptions, Workload, chunks_of
from .frames import Frames, Kind
from .matching import TemplateIndex
from .queues import Limits, Pause, Policy, Times, delays_of, play
from .shown import Shown
from .templates import ids_of, reseeded

if TYPE_CHECKING:
    from .notifications import Notified

READERS = {"busiest": 1.0, "99th of 100": 0.99, "median": 0.5}
"""Whom we look at: by the share of peers that are told no more."""
SPEEDS = (0.5, 0.9, 1.1, 2.0)
PAUSE = 0.1
"""The share of the time for which a reader stands still, from the middle on."""
ASK_S, ROUND_TRIP_S = 10.0, 0.1
MAX_ARRIVALS = 1 << 20
"""Of one reader; where more come they are those of the first part of the time."""


@dataclass(frozen=True)
class Reader:
    """Whom a case is about, and what it asks for."""

    run: int
    reader: str
    templates: Subscriptions
    copies: Whole
    """Notifications of each template for a fact."""
    rendezvous: Whole
    """The peer at which each template meets its tuples, NOWHERE for the home of a tuple."""
    peers: int
    """Of the whole overlay, whose ids the run decides."""
    notifications: int


@dataclass(frozen=True)
class Read:
    """One reader under one policy, at one speed."""

    run: int
    reader: str
    policy: str
    speed: float
    came: int
    lost: int
    waiting: int
    waiting_bytes: int
    mean_s: float
    p50_s: float
    p99_s: float
    most_s: float
    messages: int
    bytes: int
    gaps: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What is assumed of all readers."""

    speeds: tuple[float, ...] = SPEEDS
    pause: float = PAUSE
    ask_s: float = ASK_S

    def __post_init__(self) -> None:
        """Raises BadParameter for what no reader does."""
        for speed in self.speeds:
            if not 0 < speed < float("inf"):
                raise BadParameter(f"a reader's speed of {speed:g}; expected a number above 0, in times of what comes in the mean")
        if not 0 <= self.pause < 1:
            raise BadParameter(f"readers stand still for {self.pause:g} of the time; expected 0 or more, and less than 1")
        if not 0 < self.ask_s < float("inf"):
            raise BadParameter(f"who pulls asks every {self.ask_s:g} s; expected more than 0")


def limits_of(kind: Kind, reading: Reading) -> Limits:
    """The limits of peers, which the driver knows: tasks have nothing of the overlay installed."""
    from dht.links.link import HIGH_WATER_BYTES, LOW_WATER_BYTES
    from gsg.rendezvous.feed import HELD_BYTES, HELD_DELTAS
    from gsg.rendezvous.slow_links import KEPT_BYTES, KEPT_EVENTS
    from gsg.rendezvous.snapshot import SNAPSHOT_FACTS

    kept = (HELD_DELTAS, HELD_BYTES) if kind is Kind.FACTS else (KEPT_EVENTS, KEPT_BYTES)
    return Limits(HIGH_WATER_BYTES, LOW_WATER_BYTES, *kept, SNAPSHOT_FACTS, reading.ask_s, ROUND_TRIP_S)


def readers_of(found: Notified, run: int) -> list[Reader]:
    """Those of one run whom we look at; none who is told nothing."""
    order = np.argsort(found.notifications, kind="stable")
    chosen = {}
    for name, share in READERS.items():
        peer = int(order[max(0, int(np.ceil(share * found.peers)) - 1)])
        mine = found.feeds.template[found.feeds.peer == peer]
        if found.notifications[peer] and peer not in chosen:
            chosen[peer] = Reader(
                run,
                name,
                found.feeds.templates.only(mine),
                copies=found.copies_of_feed[mine],
                rendezvous=found.rendezvous[mine],
                peers=found.peers,
                notifications=int(found.notifications[peer]),
            )
    return list(chosen.values())


def sweep_of(workload: Workload, readers: Sequence[Reader], kind: Kind, frames: Frames, reading: Reading) -> Sweep[Reader, Read]:
    """Each reader is a case, and the seed of its workload its run."""
    limits = limits_of(kind, reading)
    return Sweep(Read, list(readers), partial(play_reader, workload, kind, frames, reading, limits))


def play_reader(workload: Workload, kind: Kind, frames: Frames, reading: Reading, limits: Limits, case: Reader) -> Iterator[Read]:
    """One reader, under each policy and at each speed."""
    tuples = reseeded(workload, case.run)
    at_s = arrivals(tuples, case, kind)
    mean_s = float(at_s[-1] / len(at_s)) if len(at_s) else tuples.seconds
    events = kind is Kind.EVENTS
    entry = frames.happened + frames.event if events else frames.deltas + frames.fact
    whole_s = float(at_s[-1]) if len(at_s) else 0.0
    pause = Pause(whole_s / 2, reading.pause * whole_s)
    for speed in reading.speeds:
        for policy in Policy:
            told = play(policy, at_s, mean_s / speed, limits, entry, events=events, pause=pause)
            delays = delays_of(told, at_s, pause)
            mean, p50, p99, most = _figures(delays)
            yield Read(
                case.run,
                case.reader,
                str(policy),
                speed,
                came=len(at_s),
                lost=told.lost,
                waiting=told.waiting,
                waiting_bytes=round(told.waiting * entry),
                mean_s=mean,
                p50_s=p50,
                p99_s=p99,
                most_s=most,
                messages=told.messages,
                bytes=round(told.bytes(frames, events=events)),
                gaps=told.gaps,
            )


def _figures(delays: Times) -> tuple[float, float, float, float]:
    if not len(delays):
        return 0.0, 0.0, 0.0, 0.0
    p50, p99 = np.quantile(delays, [0.5, 0.99], method="higher")
    return float(delays.mean()), float(p50), float(p99), float(delays.max())


def arrivals(workload: Workload, reader: Reader, kind: Kind) -> Times:
    """When each notification comes to a reader, in order; an event comes once from each rendezvous, whatever it matches there."""
    index, bounded = TemplateIndex(reader.templates, workload.constants), np.flatnonzero(reader.templates.bounded)
    home = _homes(workload, reader) if kind is Kind.EVENTS else None
    until_s = workload.seconds * min(1.0, MAX_ARRIVALS / max(1, reader.notifications))
    found = []
    for begin, size in chunks_of(workload.tuples):
        chunk = workload.chunk(begin, size)
        met = np.array([*index.found(chunk.codes)], dtype=np.int64).reshape(-1, size)
        if home is None:
            times = np.where(met < 0, 0, reader.copies[met]).sum(axis=0)
            for number in bounded.tolist():
                times[_matches(workload, reader.templates, number, chunk.codes)] += reader.copies[number]
        else:
            at = np.where(reader.rendezvous[met] == NOWHERE, home[chunk.codes[HOME]], reader.rendezvous[met])
            at = np.sort(np.where(met < 0, _NO_PEER, at), axis=0)
            times = (at[:1] != _NO_PEER).sum(axis=0) + ((at[1:] != at[:-1]) & (at[1:] != _NO_PEER)).sum(axis=0)
        there = np.flatnonzero(times)
        at_s = np.repeat(chunk.at_s[there], times[there])
        found.append(at_s[at_s < until_s] if until_s < workload.seconds else at_s)
    return np.sort(np.concatenate(found))


_NO_PEER = np.iinfo(np.int64).max
"""Where a template that is not met would be, behind all peers."""


def _homes(workload: Workload, reader: Reader) -> Whole:
    """The peer that is the home of tuples with each first constant."""
    return Ownership(ids_of(reader.peers, reader.run)).owners(workload.constants[HOME].keys)


def _matches(
    workload: Workload, templates: Subscriptions, number: int, codes: tuple[NDArray[np.integer], ...]
) -> NDArray[np.bool_]:
    """Which tuples one template with bounds matches."""
    assert templates.bounds is not None, "it has bounds"
    values = workload.constants[OBJECT].values
    assert values is not None, "where there are bounds there are numbers"
    low, high = templates.bounds[:, number]
    value = values[codes[OBJECT]]
    fits: NDArray[np.bool_] = (low <= value) & (value <= high)
    for wanted, column in zip(templates.codes[:, number].tolist(), codes, strict=True):
        if wanted >= 0:
            fits &= column == wanted
    return fits


@dataclass(frozen=True)
class Fared:
    """All runs of one reader, policy and speed."""

    reader: str
    policy: str
    speed: float
    came: Interval
    lost: Interval
    waiting: Interval
    waiting_bytes: Interval
    mean_s: Interval
    p99_s: Interval
    most_s: Interval
    messages: Interval
    bytes: Interval
    gaps: Interval


def fared(rows: Sequence[Read]) -> list[Fared]:
    """In the order of readers, speeds and policies."""
    found = []
    for (reader, speed, policy), some in by_setting(rows, lambda row: (row.reader, row.speed, row.policy)).items():
        names = [name for name in Fared.__dataclass_fields__ if name not in ("reader", "policy", "speed")]
        means = {name: mean_of([float(getattr(row, name)) for row in some]) for name in names}
        found.append(Fared(reader, policy, speed, **means))
    return found


def shown(rows: Sequence[Read], kind: Kind) -> Shown:
    """What the report says; nothing where nobody is told anything."""
    if not rows:
        return Shown()
    every = fared(rows)
    first = every[0].reader
    busiest = [one for one in every if one.reader == first]

    def lines(figure: Callable[[Fared], float]) -> list[Line]:
        return [
            Line(policy, np.array([one.speed for one in some]), np.array([figure(one) for one in some]))
            for policy, some in by_setting(busiest, lambda one: one.policy).items()
        ]

    speed, log = "reader's speed (times of what comes in the mean)", {"log_x": True, "log_y": True}
    figures: list[tuple[str, Callable[[Fared], float], str, str]] = [
        ("queue", lambda one: one.waiting.value, "waiting at most (count)", "Queue of the busiest reader. What waits for it"),
        ("delay", lambda one: one.p99_s.value, "delay, of 99 in 100 (s)", "Its delay. From publication until it is read"),
        ("cost", lambda one: one.bytes.value, "over its link (bytes)", "What it costs. Bytes both ways"),
    ]
    return Shown(
        findings=[_finding(busiest)],
        figures=[
            line_figure(name, lines(figure), x=speed, y=unit, caption=f"{caption}: down is good.", **log)
            for name, figure, unit, caption in figures
        ],
        tables=[Table.from_rows("Readers who are slow", _COLUMNS, every)],
        notes=_NOTES + (_OF_EVENTS if kind is Kind.EVENTS else _OF_FACTS),
        summary=[{"part": "readers", **flat(vars(one))} for one in every],
        rows={"readers": rows},
    )


def _finding(busiest: Sequence[Fared]) -> Finding:
    slow = min(one.speed for one in busiest)
    by_policy = {one.policy: one for one in busiest if one.speed == slow}
    push, pull, hybrid = (by_policy[policy] for policy in Policy)
    bars = tuple(Bar(one.policy, one.waiting.value, f"{one.waiting.value:,.0f} waiting at most") for one in (hybrid, push))
    times = hybrid.bytes.value / push.bytes.value
    lost = f"loses {hybrid.lost.value:,.0f} of {hybrid.came.value:,.0f}" if hybrid.lost.value else "loses nothing"
    text = (
        f"At {slow:g} times what comes, the busiest reader has {push.waiting.value:,.0f} waiting at most if all is pushed, and "
        f"{hybrid.waiting.value:,.0f} as peers do it, which {lost} and sends {times:.3g} times the bytes; "
        f"99 in 100 are read within {_seconds(hybrid.p99_s.value)}, beside {_seconds(push.p99_s.value)} by push and "
        f"{_seconds(pull.p99_s.value)} by pull."
    )
    return Finding(text, bars)


def _seconds(seconds: float) -> str:
    for unit, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.2g} s"


_COLUMNS: tuple[tuple[str, str, Callable[[Fared], str]], ...] = (
    ("reader", "", lambda one: one.reader),
    ("speed", "times", lambda one: f"{one.speed:g}"),
    ("policy", "", lambda one: one.policy),
    ("waiting", "at most; less is better", lambda one: str(one.waiting)),
    ("delay", "s, mean; less is better", lambda one: str(one.mean_s)),
    ("99 in 100", "s at most; less is better", lambda one: str(one.p99_s)),
    ("lost", "count; 0 is right", lambda one: f"{one.lost.value:,.0f}"),
    ("messages", "mean; less is better", lambda one: f"{one.messages.value:,.0f}"),
    ("MB", "mean; less is better", lambda one: f"{one.bytes.value / 1e6:,.1f}"),
    ("gaps", "mean", lambda one: f"{one.gaps.value:g}"),
)
_NOTES = """\
reader: by what it is told. It reads one after the other, each in the same time, and stands still for a while from the middle on;
    all that it is told comes by one link and one feed.
speed: in times of what comes in the mean. messages, MB: both ways.
push: all is sent at once, and waits on the link. pull: the reader asks every so often, and reads what there is.
hybrid: as peers do it, pushed until 1 MiB waits on the link; then the rendezvous keeps 20,000.
"""
_OF_FACTS = "gaps: what goes beyond is dropped, and the reader asks for a snapshot of all that matches and has to read it whole."
_OF_EVENTS = "gaps: what goes beyond is counted and told as missed."
