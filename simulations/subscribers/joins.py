"""Subscriptions of several conditions: what their feeds bring to the subscriber's peer, what its joins keep, and what comes of it.

Each condition is posted by itself at the anchor that peers choose for it, and its facts all come to the subscriber's peer: rows are
made there. So what travels is what conditions match, whether it becomes a row or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gsg.placement.rules import Anchor

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Table
from ..engine.intervals import Interval, flat, mean_of, quantile_of, share_of
from ..engine.randomness import Stream, derived_seed
from ..engine.results import line_figure
from ..engine.sweep import Sweep, by_setting
from ..errors import BadParameter, check_range
from ..load_balance.experiments import usual_distinct
from ..load_balance.loads import Histogram, ccdf
from ..workload.workload import Subscriptions, Synthetic
from .frames import Frames
from .join_shapes import FactTable, Pattern, Shape, conditions_of, counted, in_order, subscriptions
from .shown import Shown
from .templates import anchors_by_rule

FACTS = 100_000
"""Of the workload's law, at most: each subscription looks at the facts of its predicates several times."""
SUBSCRIPTIONS = 200
"""Of each shape in each run."""
MAX_SUBSCRIPTIONS = 100_000
CONSTANT = 0.5
"""How likely the last condition has a constant."""
TOGETHER = 50
"""Subscriptions of a case: the facts are made once for them."""


@dataclass(frozen=True)
class Case:
    """Some subscriptions of one shape."""

    shape: str
    run: int
    begin: int
    count: int


@dataclass(frozen=True)
class Joined:
    """One subscription."""

    shape: str
    run: int
    number: int
    conditions: int
    templates: int
    """Distinct ones."""
    at_subject: int
    """Conditions that are posted at each position."""
    at_predicate: int
    at_object: int
    facts: int
    tokens: int
    most: int
    rows: int


@dataclass(frozen=True, slots=True)
class Joining:
    """What is assumed of subscriptions."""

    subscriptions: int = SUBSCRIPTIONS
    constant: float = CONSTANT

    def __post_init__(self) -> None:
        """Raises BadParameter for what cannot be."""
        check_range(self.subscriptions, 1, MAX_SUBSCRIPTIONS, "subscriptions of several conditions")
        if not 0 <= self.constant <= 1:
            raise BadParameter(f"a constant in a share of {self.constant:g} of subscriptions; expected 0 to 1")


def law_of(workload: Synthetic, run: int) -> Synthetic:
    """The law of a workload, for so many facts that joins can be counted, and no more constants than go with them."""
    tuples = min(workload.tuples, FACTS)
    usual = usual_distinct(tuples)
    one, two, three = (min(known, most) for known, most in zip(workload.distinct, usual, strict=True))
    return replace(workload, tuples=tuples, distinct=(one, two, three), seed=run)


def sweep_of(workload: Synthetic, rule: Anchor, joining: Joining, seeds: Sequence[int]) -> Sweep[Case, Joined]:
    """All shapes, in each run; the seed of its tuples is the run."""
    cases = [
        Case(str(shape), run, begin, min(TOGETHER, joining.subscriptions - begin))
        for shape in Shape
        for run in seeds
        for begin in range(0, joining.subscriptions, TOGETHER)
    ]
    return Sweep(Joined, cases, partial(play, workload, rule, joining))


def play(workload: Synthetic, rule: Anchor, joining: Joining, case: Case) -> Iterator[Joined]:
    """Some subscriptions."""
    law = law_of(workload, case.run)
    table = FactTable(law.chunk(0, law.tuples))
    shape, each = Shape(case.shape), conditions_of(Shape(case.shape))
    stream = Stream(case.run, "joins", case.shape)
    predicates = law.laws[1].draw(stream, case.begin * each, case.count * each)
    seed = derived_seed(case.run, "joins", case.shape, case.begin) >> 1
    for number, patterns in enumerate(subscriptions(shape, case.count, table, predicates, joining.constant, seed), case.begin):
        found = counted(in_order(patterns, table), table)
        at_subject, at_predicate, at_object = np.bincount(_anchors(patterns, table, law, rule), minlength=3).tolist()
        yield Joined(
            case.shape,
            case.run,
            number,
            conditions=each,
            templates=len({pattern.template for pattern in patterns}),
            at_subject=at_subject,
            at_predicate=at_predicate,
            at_object=at_object,
            facts=found.facts,
            tokens=found.tokens,
            most=found.most,
            rows=found.rows,
        )


def _anchors(patterns: Sequence[Pattern], table: FactTable, law: Synthetic, rule: Anchor) -> np.ndarray:  # of positions
    """Where peers would post each condition."""
    numbers = np.array([pattern.template for pattern in patterns], dtype=np.int64).T
    for place in (0, 2):
        numbers[place] = np.where(numbers[place] < 0, -1, table.codes[numbers[place]])
    return anchors_by_rule(rule, Subscriptions(numbers), law)


@dataclass(frozen=True)
class Shaped:
    """All subscriptions of one shape."""

    shape: str
    subscriptions: int
    templates: Interval
    facts: Interval
    facts_p90: Interval
    tokens: Interval
    tokens_p90: Interval
    rows: Interval
    rows_p90: Interval
    too_many: Interval
    """The share that would hold more than a peer lets it."""
    empty: Interval
    """The share that has no row."""
    anchors: str


def shaped(rows: Sequence[Joined]) -> list[Shaped]:
    """In the order of shapes. Means of such counts are made by few large ones, so what nine in ten do not exceed stands beside."""
    from gsg.languages.query import MAX_TOKENS

    found = []
    for shape, some in by_setting(rows, lambda row: row.shape).items():
        runs = list(by_setting(some, lambda row: row.run).values())

        def mean(figure: Callable[[Joined], float], runs: Sequence[Sequence[Joined]] = runs) -> Interval:
            return mean_of([float(np.mean([figure(row) for row in one])) for one in runs])

        def most(figure: Callable[[Joined], float], some: Sequence[Joined] = some) -> Interval:
            return quantile_of([figure(row) for row in some], 0.9)

        def share(figure: Callable[[Joined], bool], runs: Sequence[Sequence[Joined]] = runs) -> Interval:
            return share_of([float(np.mean([figure(row) for row in one])) for one in runs], sum(map(len, runs)))

        at = np.array([(row.at_subject, row.at_predicate, row.at_object) for row in some]).sum(axis=0)
        anchors = ", ".join(f"{share_said(part)} {name}" for part, name in zip(at / at.sum(), ("s", "p", "o"), strict=True) if part)
        found.append(
            Shaped(
                shape,
                len(some),
                templates=mean(lambda row: row.templates),
                facts=mean(lambda row: row.facts),
                facts_p90=most(lambda row: row.facts),
                tokens=mean(lambda row: row.tokens),
                tokens_p90=most(lambda row: row.tokens),
                rows=mean(lambda row: row.rows),
                rows_p90=most(lambda row: row.rows),
                too_many=share(lambda row: row.tokens + row.rows > MAX_TOKENS),
                empty=share(lambda row: not row.rows),
                anchors=anchors,
            )
        )
    return found


def shown(rows: Sequence[Joined], facts: int, frames: Frames) -> Shown:
    """What the report says; bytes are those of single changes."""
    every = shaped(rows)
    each = frames.deltas + frames.fact

    def lines(figure: Callable[[Joined], int]) -> list[Line]:
        by_shape = by_setting(rows, lambda row: row.shape)
        columns = {shape: np.array([figure(row) for row in some], dtype=np.int64) for shape, some in by_shape.items()}
        return [Line(shape, *ccdf(Histogram.of(column))) for shape, column in columns.items()]

    at_least, log = "subscriptions with at least so many (share)", {"log_x": True, "log_y": True}
    figures: list[tuple[str, Callable[[Joined], int], str, str]] = [
        ("join-facts", lambda row: row.facts, "facts that feeds bring (count)", "What feeds bring"),
        ("join-tokens", lambda row: row.tokens, "tokens between joins (count)", "What joins keep"),
        ("join-rows", lambda row: row.rows, "rows (count)", "What comes of it"),
    ]
    return Shown(
        findings=[_finding(every, each)],
        figures=[
            line_figure(name, lines(figure), x=unit, y=at_least, caption=f"{caption}. Of a subscription: left is cheap.", **log)
            for name, figure, unit, caption in figures
        ],
        tables=[Table.from_rows(f"Subscriptions of several conditions, over at most {facts:,} facts", _COLUMNS, every)],
        notes=_NOTES,
        summary=[{"part": "joins", **flat(vars(one)), "bytes": one.facts.value * each} for one in every],
        rows={"joins": rows},
    )


def _finding(every: Sequence[Shaped], each: float) -> Finding:
    worst = max(every, key=lambda one: one.facts_p90.value)
    bars = (
        Bar("facts that feeds bring", worst.facts_p90.value, f"{worst.facts_p90.value:,.0f}"),
        Bar("rows", worst.rows_p90.value, f"{worst.rows_p90.value:,.0f}"),
    )
    empty, too_many = share_said(worst.empty.value), share_said(worst.too_many.value)
    text = (
        f"Nine in ten subscriptions of a {worst.shape} are fed {worst.facts_p90.value:,.0f} facts at most "
        f"({worst.facts_p90.value * each:,.0f} bytes), and have {worst.rows_p90.value:,.0f} rows; {empty} have none, and "
        f"{too_many} would hold more than a peer lets a subscription hold."
    )
    return Finding(text, bars)


_COLUMNS: tuple[tuple[str, str, Callable[[Shaped], str]], ...] = (
    ("shape", "", lambda one: one.shape),
    ("subscriptions", "count", lambda one: f"{one.subscriptions:,}"),
    ("templates", "of each", lambda one: str(one.templates)),
    ("anchors", "of conditions", lambda one: one.anchors),
    ("facts", "mean; less is better", lambda one: str(one.facts)),
    ("facts, 90 in 100", "at most", lambda one: str(one.facts_p90)),
    ("tokens, 90 in 100", "at most; less is better", lambda one: str(one.tokens_p90)),
    ("rows, 90 in 100", "at most", lambda one: str(one.rows_p90)),
    ("no row", "of them", lambda one: one.empty.percent()),
    ("too many", "of them; 0 is right", lambda one: one.too_many.percent()),
)
_NOTES = """\
shape: conditions around one variable (star), one after the other (chain), or a star whose arms go on (snowflake).
facts: of all conditions, each posted by itself, at the subscriber's peer, which joins them in the order of its planner.
tokens: partial rows that are kept between joins. rows: those that are told.
too many: subscriptions that a peer would end, as they hold more than it allows.
Conditions that are equal are asked for once."""
