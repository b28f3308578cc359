"""What an experiment of real peers came to, from its facilitator's log (:mod:`gsg.experiments.log`), in the rows of the simulation.

A folder may have the logs of several experiments: each is a run. A participant that went while a topic was under way counts in none
of the topic's figures; what was removed, or went before, counts as dead where views are looked at.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from gsg.experiments.log import COLUMNS, EXPERIMENT, GONE, JOINED, OVER, REMOVED, TOPIC
from gsg.experiments.plan import FIRST_EVENT, FIRST_STEADY, Count
from gsg.monitoring.trace import PART
from gsg.topics.topics import ROUND_S
from gsg.topics.view import SHUFFLED, VIEW

from ..errors import BadWorkload
from .cases import DisseminationRequest, Measured, Round, Spread
from .spreading import percentiles

if TYPE_CHECKING:
    import pyarrow

ROUND_US = round(ROUND_S * 1_000_000)
SLICES = 25
"""Into how many slices the time of the slowest first event is cut, about."""

Line = dict[str, Any]  # Any: a row of the log, by the names of its columns


def read_log(folder: str | Path) -> Measured:
    """All experiments in a folder. Raises BadWorkload where there is none that came to anything."""
    experiments = [_Experiment(lines) for lines in _runs(Path(folder))]
    lates = [(each, *_late_ms(each, topic)) for each in experiments for topic in each.topics]
    slowest_ms = max((max(late_ms, default=0.0) for _, _, late_ms in lates), default=0.0)
    slice_ms = float(max(1, ceil(slowest_ms / SLICES)))
    spreads, left_out = [], []
    for run, each in enumerate(experiments):
        for topic in each.topics:
            spread = _spread(each, topic, run, slice_ms)
            if spread is None:
                left_out.append(topic.name)
            else:
                spreads.append(spread)
    rounds = [one for run, each in enumerate(experiments) for one in _rounds(each, run)]
    if not spreads and not rounds:
        raise BadWorkload(f"{folder} has no experiment that came to anything; expected the folder of `gsg peer --facilitator DIR`")
    error_ms = max(each.error_us for each in experiments) / 1_000
    lost = sum(each.lost for each in experiments)
    return Measured(
        DisseminationRequest(
            agents=tuple(sorted({one.agents for one in spreads} | {one.agents for one in rounds})),
            views=tuple(sorted({one.view for one in rounds})) or (min(VIEW, min(one.agents for one in spreads) - 1),),
            exchanged=SHUFFLED,
            removed=tuple(sorted({one.removed for one in rounds})),
            subscribers=tuple(sorted({one.subscribers for one in spreads})),
            settle=max((each.settled for each in experiments if each.removed), default=0),
            rounds=max((one.round for one in rounds), default=1) or 1,
            round_s=ROUND_S,
            events=max(each.events for each in experiments),
            runs=len({one.run for one in spreads} | {one.run for one in rounds}),
        ),
        rounds,
        spreads,
        f"Of the real peers: a time is wrong by {error_ms:.2g} ms at most, by the round trips that compared clocks; "
        f"{lost:,} {'row' if lost == 1 else 'rows'} of the log {'is' if lost == 1 else 'are'} missing."
        + _unfinished(sum(not each.is_over for each in experiments), left_out),
    )


def _unfinished(count: int, left_out: Sequence[str]) -> str:
    """Sentences on experiments that were not finished, and on topics of which nothing can be told; empty where there are none."""
    said = ""
    if count:
        said = f" {count} {'experiment was' if count == 1 else 'experiments were'} not finished: - is what was not measured."
    if left_out:
        said += f" Left out, as nothing was measured of its first event: {', '.join(left_out)}."
    return said


def _runs(folder: Path) -> list[list[Line]]:
    """The rows of each experiment, in their order."""
    from pyarrow import ArrowException, parquet

    parts = sorted(folder.glob(f"*{PART}"))
    if not parts:
        raise BadWorkload(f"{folder} has no log; expected the folder of `gsg peer --facilitator DIR`, with files *{PART}")
    runs: dict[tuple[int, str], list[Line]] = defaultdict(list)
    for part in parts:
        try:
            table: pyarrow.Table = parquet.read_table(part, columns=list(COLUMNS))
            missing = set(COLUMNS).difference(table.column_names)
            if missing:
                raise BadWorkload(f"{part} is no log of an experiment: it has no column {min(missing)!r}")
        except (OSError, ArrowException) as error:
            raise BadWorkload(f"{part} cannot be read: {error}") from None
        for line in table.to_pylist():
            runs[line["run_us"], line["facilitator"]].append(line)
    return [sorted(lines, key=lambda line: int(line["row"])) for _, lines in sorted(runs.items())]


@dataclass(slots=True)
class _TopicLog:
    """What happened to one topic."""

    name: str
    begun_us: int
    members: set[str] = field(default_factory=set)
    published_us: dict[int, int] = field(default_factory=dict)
    told_us: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    counted: dict[str, dict[int, tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))
    """Payloads and small frames of each participant, by the number of the count."""


class _Experiment:
    """The rows of one experiment, sorted out."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.events = 0
        self.joined_us: dict[str, int] = {}
        self.dead_us: dict[str, int] = {}
        self.removed: list[str] = []
        self.views: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
        self.topics: list[_TopicLog] = []
        self.error_us = 0
        self.ended_us = 0
        self.is_over = False
        self.lost = max(0, lines[-1]["row"] - len(lines))
        by_name: dict[str, _TopicLog] = {}
        for line in lines:
            at_us, peer, number = line["at_us"], line["peer"], line["number"]
            match line["what"]:
                case what if what == EXPERIMENT:
                    self.events = number or 0
                case what if what == JOINED:
                    self.joined_us.setdefault(peer, at_us)
                case what if what in (GONE, REMOVED):
                    self.dead_us.setdefault(peer, at_us)
                    if what == REMOVED:
                        self.removed.append(peer)
                case what if what == TOPIC:
                    self.topics.append(by_name.setdefault(line["topic"], _TopicLog(line["topic"], at_us)))
                case what if what == OVER:
                    self.is_over = True
                    self.lost += number or 0
                case "view":
                    self.views[peer].append((at_us, line["view"] or []))
                case what if line["topic"] in by_name:
                    self._heard(by_name[line["topic"]], what, line)
            if line["error_us"] < 2**31 - 1:
                self.error_us = max(self.error_us, line["error_us"])
            self.ended_us = max(self.ended_us, at_us)

    def _heard(self, topic: _TopicLog, what: str, line: Line) -> None:
        at_us, peer, number = line["at_us"], line["peer"], line["number"]
        match what:
            case "subscribed":
                topic.members.add(peer)
            case "published":
                topic.published_us[number] = at_us
            case "told":
                topic.told_us[number].setdefault(peer, at_us)
            case "counted":
                topic.counted[peer][number] = line["payloads"], line["small"]

    def living(self, from_us: int, until_us: int) -> set[str]:
        """Who was there all of a time."""
        return {
            peer
            for peer, joined_us in self.joined_us.items()
            if joined_us <= from_us and self.dead_us.get(peer, until_us + 1) > until_us
        }

    @property
    def removed_us(self) -> int:
        """When some were removed; 0 where none were."""
        return max((self.dead_us[peer] for peer in self.removed), default=0)

    @property
    def settled(self) -> int:
        """Rounds before the removal."""
        return max(0, self.removed_us - max(self.joined_us.values(), default=0)) // ROUND_US


def _living(experiment: _Experiment, topic: _TopicLog) -> set[str]:
    over_us = max(topic.published_us.values(), default=topic.begun_us)
    return experiment.living(topic.begun_us, over_us)


def _late_ms(experiment: _Experiment, topic: _TopicLog, *events: int) -> tuple[int, list[float]]:
    """How many times some events, by default the first one, were to be told, and how late they were."""
    members = topic.members & _living(experiment, topic)
    published = [event for event in events or (FIRST_EVENT,) if event in topic.published_us]
    return len(members) * len(published), [
        max(0, at_us - topic.published_us[event]) / 1_000
        for event in published
        for peer, at_us in topic.told_us[event].items()
        if peer in members
    ]


def _spread(experiment: _Experiment, topic: _TopicLog, run: int, slice_ms: float) -> Spread | None:
    """How the events of a topic spread; None where nobody was there for them, or the experiment was cut short before the first one
    was counted. A later phase that was not counted to its end is not measured."""
    living = _living(experiment, topic)
    members = topic.members & living
    if not members or FIRST_EVENT not in topic.published_us:
        return None
    steady = range(FIRST_STEADY, FIRST_STEADY + experiment.events)
    changing = range(steady.stop, steady.stop + experiment.events)
    late_ms = sorted(_late_ms(experiment, topic)[1])
    expected_steady, steady_ms = _late_ms(experiment, topic, *steady)
    expected_changing, changing_ms = _late_ms(experiment, topic, *changing)
    heard = Counter(int(late / slice_ms) for late in late_ms)
    cuts = percentiles(late_ms)

    def between(first: int, last: int, which: int, peers: Iterable[str] = living) -> Iterator[int]:
        """What each participant counted more at one count than at another."""
        for peer in peers:
            counts = topic.counted[peer]
            if first in counts and last in counts:
                yield counts[last][which] - counts[first][which]

    def is_measured(first: int, last: int, peers: Iterable[str] = members) -> bool:
        """Whether these peers counted at both: where the experiment was cut short, rows of some may have come and not of others."""
        counted = [first in topic.counted[peer] and last in topic.counted[peer] for peer in peers]
        return any(counted) if experiment.is_over else bool(counted) and all(counted)

    payloads, small = 0, 1
    outside = living - members
    is_steady = is_measured(Count.STEADY, Count.CHANGING)
    is_changing = is_measured(Count.CHANGING, Count.ENDED)
    if not is_measured(Count.BEGUN, Count.FIRST):
        return None
    return Spread(
        agents=len(living),
        subscribers=float(topic.name.rpartition("/")[2]),
        run=run,
        subscribed=len(members),
        reached=len(late_ms),
        median_ms=cuts[49],
        p99_ms=cuts[98],
        last_ms=max(late_ms, default=None),
        first_payloads=sum(between(Count.BEGUN, Count.FIRST, payloads)) / len(members),
        steady_payloads=sum(between(Count.STEADY, Count.CHANGING, payloads)) / max(1, expected_steady) if is_steady else None,
        steady_small=sum(between(Count.STEADY, Count.STEADY_SENT, small)) / max(1, expected_steady) if is_steady else None,
        steady_last_ms=max(steady_ms, default=None) if is_steady else None,
        changing_payloads=sum(between(Count.CHANGING, Count.ENDED, payloads)) / max(1, expected_changing) if is_changing else None,
        changing_small=sum(between(Count.CHANGING, Count.CHANGING_SENT, small)) / max(1, expected_changing)
        if is_changing
        else None,
        changing_last_ms=max(changing_ms, default=None) if is_changing else None,
        missed=expected_steady - len(steady_ms) + expected_changing - len(changing_ms) if is_steady and is_changing else None,
        carriers=sum(count > 0 for count in between(Count.BEGUN, Count.ENDED, payloads, outside))
        if not outside or is_measured(Count.BEGUN, Count.ENDED, outside)
        else None,
        slice_ms=slice_ms,
        heard=tuple(heard[number] for number in range(max(heard, default=-1) + 1)),
    )


def _rounds(experiment: _Experiment, run: int) -> Iterator[Round]:
    """The overlay of all, in rounds from the removal on: each participant's view as it was told last;
    until the experiment has ended, or nobody is left."""
    removed_us = experiment.removed_us
    if not removed_us:
        return
    before = experiment.living(removed_us, removed_us - 1)
    known = Counter(peer for one in before for peer in _view(experiment.views[one], removed_us) or ())
    known_by = Counter(known[peer] for peer in before)
    for number in range((experiment.ended_us - removed_us) // ROUND_US + 1):
        at_us = removed_us + number * ROUND_US
        living = experiment.living(removed_us, at_us)
        if not living:
            return
        dead = before - living
        views = [view for peer in living if (view := _view(experiment.views[peer], at_us)) is not None]
        known = Counter(peer for view in views for peer in view)
        degrees = [known[peer] for peer in living]
        references = [sum(peer in dead for peer in view) for view in views]
        yield Round(
            agents=len(before),
            view=min(VIEW, len(before) - 1),
            removed=round(len(experiment.removed) / len(before), 4),
            run=run,
            round=number,
            in_degree_mean=fmean(degrees),
            in_degree_std=pstdev(degrees),
            dead_references=sum(references),
            dead_share=sum(references) / max(1, sum(map(len, views))),
            dead_known=sum(peer in known for peer in dead),
            clear=references.count(0),
            in_degrees=() if number else tuple(known_by[degree] for degree in range(max(known_by) + 1)),
        )


def _view(told: Sequence[tuple[int, list[str]]], at_us: int) -> list[str] | None:
    """The last view that was told by then."""
    place = bisect.bisect_right(told, at_us, key=lambda each: each[0])
    return told[place - 1][1] if place else None
