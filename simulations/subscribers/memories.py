"""How alpha memories are used again as subscriptions grow: by the clients of one peer, and by the peers of one rendezvous.

A peer keeps one alpha memory for a template and asks once, however many of its clients want it; a rendezvous keeps a template
once, however many peers ask for it (gsg/feeds/alpha_memories.py, gsg/rendezvous/conditions.py). Both are counted exactly, for ten
million subscriptions as for a thousand: subscriptions are drawn in chunks, and a case looks at its part of all templates and of all
peers only, so that what it keeps does not grow with their number. Where peers are fewer than parts, it keeps all of one peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, part_said, share_said
from ..engine.html_page import Table
from ..engine.intervals import Interval, flat, mean_of, share_of
from ..engine.kernels import Whole
from ..engine.randomness import Words, derived_seed
from ..engine.results import line_figure
from ..engine.sweep import Sweep, by_setting
from ..workload.workload import Mix, Subscriptions, Workload
from .shown import Shown
from .templates import peers_of_subscribers, words_of

DRAWN = 1 << 19
"""Subscriptions that are drawn together; the same ones whatever parts they are looked at in."""
KEPT = 1 << 21
"""Subscriptions whose words a case keeps, about; of more there are so many parts."""


@dataclass(frozen=True)
class Case:
    """A part of the templates, and of the peers, of so many subscriptions."""

    subscriptions: int
    run: int
    part: int
    parts: int


@dataclass(frozen=True)
class Kept(Case):
    """What is kept of one part."""

    templates: int
    """Distinct ones, each at its rendezvous."""
    memories: int
    """Distinct ones of each peer, of all peers of the part."""
    most_memories: int
    """Of a peer."""
    wanted_matches: float
    """Matches that are expected of all subscriptions of the part's peers together."""
    told_matches: float
    """Those of their memories: what is sent to them."""
    met_matches: float
    """Those of the part's templates: what rendezvous meet."""


@dataclass(frozen=True)
class Reuse:
    """All runs of one number of subscriptions."""

    subscriptions: int
    runs: int
    templates: Interval
    """Distinct ones of a subscription, as are memories: 1 where no two are alike."""
    memories: Interval
    memories_of_peer: Interval
    most_memories: Interval
    told: Interval
    """Of what would be sent if each subscription asked by itself, the share that is."""
    met: Interval
    """The same of what rendezvous would meet."""


def sweep_of(workload: Workload, mix: Mix, peers: int, sizes: Sequence[int], runs: int, seed: int) -> Sweep[Case, Kept]:
    """Each number of subscriptions, so many times; the large ones first."""
    cases = [
        Case(size, run, part, parts)
        for size in sorted(sizes, reverse=True)
        for run in range(runs)
        for parts in (-(-size // KEPT),)
        for part in range(parts)
    ]
    return Sweep(Kept, cases, partial(play, workload, mix, peers, seed))


def play(workload: Workload, mix: Mix, peers: int, seed: int, case: Case) -> Iterator[Kept]:
    """One part."""
    parts = np.uint64(case.parts)
    words: list[Words] = []
    expected: list[NDArray[np.float64]] = []
    own: list[tuple[Words, Whole, NDArray[np.float64]]] = []
    for number, begin in enumerate(range(0, case.subscriptions, DRAWN)):
        drawn = derived_seed(seed, "memories", case.run, number) >> 1
        some = workload.subscriptions(min(DRAWN, case.subscriptions - begin), mix, drawn)
        word, matches = words_of(some, workload.constants), expected_matches(some, workload)
        peer = peers_of_subscribers(len(some), peers, drawn)
        # By other bits than those that order words.
        mine = word % parts == case.part
        words.append(word[mine])
        expected.append(matches[mine])
        here = peer % case.parts == case.part
        own.append((word[here], peer[here], matches[here]))
    _, first = np.unique(np.concatenate(words), return_index=True)
    word, peer, matches = (np.concatenate(columns) for columns in zip(*own, strict=True))
    order = np.lexsort((word, peer))
    word, peer, matches_in_order = word[order], peer[order], matches[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (word[1:] != word[:-1]) | (peer[1:] != peer[:-1])
    yield Kept(
        **vars(case),
        templates=len(first),
        memories=int(is_first.sum()),
        most_memories=int(np.unique(peer[is_first], return_counts=True)[1].max(initial=0)),
        wanted_matches=float(matches.sum()),
        told_matches=float(matches_in_order[is_first].sum()),
        met_matches=float(np.concatenate(expected)[first].sum()),
    )


def expected_matches(subscriptions: Subscriptions, workload: Workload) -> NDArray[np.float64]:
    """The tuples that each subscription is expected to match, if the constants of a tuple do not depend on each other.

    Bounds are not looked at: they make less of it for equal templates alike.
    """
    matches = np.full(len(subscriptions), float(workload.tuples))
    for given, codes, known in zip(subscriptions.given, subscriptions.codes, workload.constants, strict=True):
        matches[given] *= known.facts[codes[given]] / workload.tuples
    return matches


def reuse_of(rows: Sequence[Kept], peers: int) -> list[Reuse]:
    """All runs of each number of subscriptions, the small ones first."""
    found = []
    for size, some in sorted(by_setting(rows, lambda row: row.subscriptions).items()):
        runs = list(by_setting(some, lambda row: row.run).values())

        def mean(figure: Callable[[Sequence[Kept]], float], runs: Sequence[Sequence[Kept]] = runs) -> Interval:
            return mean_of([figure(parts) for parts in runs])

        def share(figure: Callable[[Kept], float], runs: Sequence[Sequence[Kept]] = runs, size: int = size) -> Interval:
            of_all = [(sum(map(figure, parts)), sum(row.wanted_matches for row in parts) or 1.0) for parts in runs]
            return share_of([min(1.0, some / every) for some, every in of_all], size * len(runs))

        found.append(
            Reuse(
                size,
                len(runs),
                templates=mean(lambda parts: sum(row.templates for row in parts) / parts[0].subscriptions),
                memories=mean(lambda parts: sum(row.memories for row in parts) / parts[0].subscriptions),
                memories_of_peer=mean(lambda parts: sum(row.memories for row in parts) / peers),
                most_memories=mean(lambda parts: max(row.most_memories for row in parts)),
                told=share(lambda row: row.told_matches),
                met=share(lambda row: row.met_matches),
            )
        )
    return found


def shown(peers: int, rows: Sequence[Kept]) -> Shown:
    """What the report says."""
    every = reuse_of(rows, peers)
    sizes = np.array([one.subscriptions for one in every], dtype=np.float64)

    def line(name: str, figure: Callable[[Reuse], Interval]) -> Line:
        return Line(name, sizes, np.array([figure(one).value for one in every]))

    kept = [line("templates at rendezvous", lambda one: one.templates), line("memories at peers", lambda one: one.memories)]
    saved = [line("sent to peers", lambda one: one.told), line("met at rendezvous", lambda one: one.met)]
    log = {"log_x": True, "log_y": True}
    return Shown(
        findings=[_finding(every, peers)],
        figures=[
            line_figure(
                "memories",
                kept,
                x="subscriptions (count)",
                y="of a subscription (count)",
                caption="Alpha memories of a subscription. Down is good: more subscriptions use again what is there.",
                **log,
            ),
            line_figure(
                "reuse",
                saved,
                x="subscriptions (count)",
                y="of what it would be without (share)",
                caption="What is left to do. Matches that are sent and met, beside those if each subscription asked by itself.",
                **log,
            ),
        ],
        tables=[Table.from_rows(f"Alpha memories of subscriptions at {peers:,} peers", _COLUMNS, every)],
        notes=_NOTES,
        summary=[{"part": "memories", "peers": peers, **flat(vars(one))} for one in every],
        rows={"memories": rows},
    )


def _finding(every: Sequence[Reuse], peers: int) -> Finding:
    few, many = every[0], every[-1]
    bars = tuple(
        Bar(f"{one.subscriptions:,} subscriptions", one.templates.value, f"{one.templates.value:.3g} each") for one in (many, few)
    )
    part = part_said(min(many.templates.value, few.templates.value), few.templates.value)
    text = (
        f"Of {many.subscriptions:,} subscriptions at {peers:,} peers rendezvous keep {many.templates.value:.3g} templates each, "
        f"{part} what it is of {few.subscriptions:,}; a peer keeps {many.memories_of_peer.value:,.0f} alpha memories, and is sent "
        f"{share_said(many.told.value)} of what its clients would be if each asked by itself."
    )
    return Finding(text, bars)


_COLUMNS: tuple[tuple[str, str, Callable[[Reuse], str]], ...] = (
    ("subscriptions", "count", lambda one: f"{one.subscriptions:,}"),
    ("templates", "per subscription; less is better", lambda one: str(one.templates)),
    ("memories", "per subscription; less is better", lambda one: str(one.memories)),
    ("of a peer", "mean", lambda one: str(one.memories_of_peer)),
    ("at most", "of a peer", lambda one: str(one.most_memories)),
    ("sent", "share left; less is better", lambda one: one.told.percent()),
    ("met", "share left; less is better", lambda one: one.met.percent()),
)
_NOTES = """\
alpha memory: a template that a peer asks for, for all of its clients together.
templates: those that rendezvous keep, each once for all peers that ask for it. memories: alpha memories of all peers.
sent, met: matches that are sent to peers, and met at rendezvous, beside those if each subscription asked by itself; as
    expected of constants that do not depend on each other."""
