"""How long a notification takes, by a model of links: from its publisher to the rendezvous, and on to the subscriber's peer.

A link takes a time that belongs to its two ends, the same both ways, drawn from a range, and nothing where both are one peer. A
publisher that knows who is responsible for a key sends there at once: two hops. One that uses a key for the first time looks it up
before, in as many round trips as the lookup has hops (simulations/routing/hops.py), and one more in which the closest answer
(dht/overlay/lookup.py). Where a template is fanned out there is one hop more, by a head (gsg/rendezvous/fan_out/parts.py). No peer
is ever busy, so what is told here is the shape of delays and not the seconds of a network under load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE, Anchor

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Table
from ..engine.intervals import Interval, flat, mean_of
from ..engine.kernels import Whole, scattered
from ..engine.ownership import Ownership
from ..engine.randomness import Stream, fraction_of
from ..engine.results import line_figure
from ..engine.sweep import Sweep, by_setting
from ..errors import BadParameter, check_range
from ..routing.hops import Overlay
from ..workload.workload import Mix, Workload
from .matching import TemplateIndex
from .shown import Shown
from .templates import Feeds, anchors_by_rule, feeds_of, ids_of, peers_of_subscribers, rendezvous_of, reseeded

LINK_MS = (10.0, 50.0)
SAMPLE = 20_000
"""Notifications that are looked at in a run."""
MAX_SAMPLE = 10_000_000
TUPLES = 5_000
"""Tuples whose notifications those are drawn from."""
CONTACTS = 20
"""Of a bucket, as peers have them."""
_SHARES = tuple(range(101))
"""Percent of notifications; how long each takes is kept."""
CACHED, MISSED, MIXED = "owners known", "owner looked up", "as they come"
"""The ways of a notification."""


@dataclass(frozen=True, slots=True)
class Links:
    """What is assumed of links and of heads."""

    least_ms: float = LINK_MS[0]
    most_ms: float = LINK_MS[1]
    sample: int = SAMPLE
    most_direct: int = 64
    """Subscribers that a rendezvous sends to itself."""
    heads: int = 64
    """Heads of a template with more of them, at most."""

    def __post_init__(self) -> None:
        """Raises BadParameter for what cannot be."""
        if not 0 <= self.least_ms <= self.most_ms < float("inf"):
            raise BadParameter(f"links of {self.least_ms:g} to {self.most_ms:g} ms; expected 0 or more, and the least first")
        check_range(self.sample, 1, MAX_SAMPLE, "notifications of a sample")

    def one_way_ms(self, one: Whole, other: Whole) -> NDArray[np.float64]:
        """How long a message takes between two peers, by their numbers."""
        low, high = np.minimum(one, other).astype(np.uint64), np.maximum(one, other).astype(np.uint64)
        took = self.least_ms + (self.most_ms - self.least_ms) * fraction_of(scattered(scattered(low, 0), high))
        return np.where(one == other, 0.0, took)


@dataclass(frozen=True)
class Case:
    """One run."""

    run: int


@dataclass(frozen=True)
class Arrived:
    """How long the notifications of a run took, by one way."""

    run: int
    way: str
    notifications: int
    missed: float
    """The share whose publisher had to look the owner up."""
    by_heads: float
    """The share that came by a head."""
    mean_ms: float
    us: tuple[int, ...]
    """What so many percent of them do not exceed, from 0 to 100, in microseconds."""


def sweep_of(
    workload: Workload, mix: Mix, peers: int, subscriptions: int, rule: Anchor, links: Links, seeds: Sequence[int]
) -> Sweep[Case, Arrived]:
    """One case for each run."""
    return Sweep(Arrived, [Case(run) for run in seeds], partial(play, workload, mix, peers, subscriptions, rule, links))


def play(workload: Workload, mix: Mix, peers: int, subscriptions: int, rule: Anchor, links: Links, case: Case) -> Iterator[Arrived]:
    """One run; nothing where no tuple of the sample matches anything."""
    tuples = reseeded(workload, case.run)
    wanted = tuples.subscriptions(subscriptions, mix, case.run)
    feeds = feeds_of(wanted, tuples.constants, peers_of_subscribers(subscriptions, peers, case.run))
    numbers = np.unique(np.arange(TUPLES) * tuples.tuples // TUPLES)
    drawn = _sample(tuples, feeds, numbers, links.sample, case.run)
    if drawn is None:
        return
    number, template, member = drawn
    ids = ids_of(peers, case.run)
    ownership = Ownership(ids)
    anchors = anchors_by_rule(rule, feeds.templates, tuples)
    at = rendezvous_of(feeds.templates, anchors, tuples, ownership)[template]
    codes = tuples.at(number).codes
    nowhere = at == NOWHERE
    at[nowhere] = ownership.owners(tuples.constants[0].keys[codes[0][nowhere]])
    publisher = (scattered(number.astype(np.uint64), case.run) % np.uint64(peers)).astype(np.int64)
    to_rendezvous = links.one_way_ms(publisher, at)
    onwards, by_head = _onwards(feeds, template, member, at, links)
    known = to_rendezvous + onwards
    position = np.where(nowhere, 0, anchors[template])
    facts = np.array([of.facts[column] for of, column in zip(tuples.constants, codes, strict=True)])[
        position, np.arange(len(number))
    ]
    lookup = _lookups(ids_of(peers, case.run), ids[at], publisher, links, case.run) * (publisher != at)
    missed = Stream(case.run, "missed").uniform(0, len(number)) < first_use(facts, peers)
    for way, took, share in (
        (CACHED, known, 0.0),
        (MISSED, known + lookup, 1.0),
        (MIXED, known + lookup * missed, float(missed.mean())),
    ):
        us = np.rint(np.quantile(took, np.array(_SHARES) / 100, method="higher") * 1_000).astype(np.int64)
        yield Arrived(case.run, way, len(number), share, float(by_head.mean()), float(took.mean()), tuple(us.tolist()))


def first_use(facts: Whole, peers: int) -> NDArray[np.float64]:
    """How likely a tuple is the first one by its publisher under a key of so many, whose publishers are any of so many peers."""
    some = np.maximum(facts, 1).astype(np.float64)
    if peers == 1:
        return 1.0 / some
    chance: NDArray[np.float64] = peers * -np.expm1(some * np.log1p(-1.0 / peers)) / some
    return chance


def _sample(tuples: Workload, feeds: Feeds, numbers: Whole, count: int, seed: int) -> tuple[Whole, Whole, Whole] | None:
    """Notifications of some tuples, each with the same chance: their tuples, their templates, and which of the feeds they go to."""
    index, audience = TemplateIndex(feeds.templates, tuples.constants), feeds.audience
    pairs = []
    for found in index.found(tuples.at(numbers).codes):
        there = np.flatnonzero(found >= 0)
        pairs.append((numbers[there], found[there]))
    number, template = (np.concatenate(columns) for columns in zip(*pairs, strict=True)) if pairs else (numbers[:0], numbers[:0])
    ends = np.cumsum(audience[template])
    if not len(ends):
        return None
    chosen = (Stream(seed, "notification").uniform(0, count) * ends[-1]).astype(np.int64)
    pair = np.searchsorted(ends, chosen, side="right")
    return number[pair], template[pair], chosen - (ends[pair] - audience[template[pair]])


def _onwards(
    feeds: Feeds, template: Whole, member: Whole, at: Whole, links: Links
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """From the rendezvous to the subscriber's peer, and which of them by a head: the first subscribers are heads."""
    begin = np.searchsorted(feeds.template, template)
    audience = feeds.audience[template]
    heads = np.minimum(links.heads, np.ceil(np.sqrt(audience)).astype(np.int64))
    peer = feeds.peer[begin + member]
    by_head = (audience > links.most_direct) & (member >= heads) & (peer != at)
    head = feeds.peer[begin + member % np.maximum(heads, 1)]
    directly = links.one_way_ms(at, peer)
    return np.where(by_head, links.one_way_ms(at, head) + links.one_way_ms(head, peer), directly), by_head


def _lookups(ids: NDArray[np.uint64], targets: NDArray[np.uint64], starts: Whole, links: Links, seed: int) -> NDArray[np.float64]:
    """How long it takes to find who is responsible for each target, in milliseconds."""
    overlay = Overlay(len(ids), k=CONTACTS, seed=seed) if len(ids) > 1 else None
    if overlay is None:
        return np.zeros(len(targets))
    trips = overlay.lookups(targets, starts).hops + 1
    of = np.repeat(np.arange(len(trips)), trips)
    took = links.least_ms + (links.most_ms - links.least_ms) * Stream(seed, "lookup").uniform(0, len(of))
    both_ways: NDArray[np.float64] = 2.0 * np.bincount(of, weights=took, minlength=len(trips)).astype(np.float64)
    return both_ways


@dataclass(frozen=True)
class Way:
    """All runs of one way."""

    way: str
    notifications: int
    missed: Interval
    by_heads: Interval
    mean_ms: Interval
    p50_ms: Interval
    p90_ms: Interval
    p99_ms: Interval
    most_ms: Interval


def ways_of(rows: Sequence[Arrived]) -> list[Way]:
    """In their order."""
    found = []
    for way, some in by_setting(rows, lambda row: row.way).items():

        def share(percent: int, some: Sequence[Arrived] = some) -> Interval:
            return mean_of([row.us[percent] / 1_000 for row in some])

        found.append(
            Way(
                way,
                sum(row.notifications for row in some),
                mean_of([row.missed for row in some]),
                mean_of([row.by_heads for row in some]),
                mean_of([row.mean_ms for row in some]),
                *(share(percent) for percent in (50, 90, 99, 100)),
            )
        )
    return found


def shown(rows: Sequence[Arrived], links: Links) -> Shown:
    """What the report says; nothing where nothing was told."""
    if not rows:
        return Shown()
    every = ways_of(rows)
    lines = [
        Line(way, np.mean([row.us for row in some], axis=0) / 1_000, np.array(_SHARES) / 100)
        for way, some in by_setting(rows, lambda row: row.way).items()
    ]
    return Shown(
        findings=[_finding(every)],
        figures=[
            line_figure(
                "latency",
                lines,
                x="from publication until it is there (ms)",
                y="notifications that are there by then (share)",
                caption="Latency of notifications. Left is good; what is looked up is a publisher's first use of a key.",
            )
        ],
        tables=[Table.from_rows(f"Latency, with links of {links.least_ms:g} to {links.most_ms:g} ms", _COLUMNS, every)],
        notes=_NOTES,
        summary=[{"part": "latency", **flat(vars(one))} for one in every],
        rows={"latency": rows},
    )


def _finding(every: Sequence[Way]) -> Finding:
    known, looked_up, mixed = every
    bars = tuple(Bar(one.way, one.p99_ms.value, f"{one.p99_ms.value:.0f} ms") for one in (known, looked_up))
    text = (
        f"Half of all notifications are there after {mixed.p50_ms.value:.0f} ms, and 99 in 100 after {mixed.p99_ms.value:.0f} ms: "
        f"{known.p99_ms.value:.0f} ms where publishers know the owners of keys, and {looked_up.p99_ms.value:.0f} ms where they "
        f"look them up, as {share_said(mixed.missed.value)} do."
    )
    return Finding(text, bars)


_COLUMNS: tuple[tuple[str, str, Callable[[Way], str]], ...] = (
    ("way", "", lambda one: one.way),
    ("looked up", "share", lambda one: one.missed.percent()),
    ("by heads", "share", lambda one: one.by_heads.percent()),
    ("mean", "ms; less is better", lambda one: str(one.mean_ms)),
    ("half", "ms at most", lambda one: str(one.p50_ms)),
    ("90 in 100", "ms at most", lambda one: str(one.p90_ms)),
    ("99 in 100", "ms at most", lambda one: str(one.p99_ms)),
    ("longest", "ms", lambda one: str(one.most_ms)),
)
_NOTES = """\
looked up: notifications whose publisher, any peer, has not used the key before and looks its owner up.
by heads: notifications that another subscriber's peer passes on.
Only links and lookups take time: no peer is ever busy, and what a peer tells itself takes none.
Conditions with bounds are left out."""
