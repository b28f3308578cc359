"""Random histories and queries, and what a live space answers that is told them change by change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from hypothesis import strategies as st

import gsg
from gsg.tuples.terms import Symbol, Tuple
from simulations.replay.history import Change
from simulations.replay.intervals import FOREVER, Stay

TERMS = st.sampled_from([Symbol("a"), Symbol("b"), 1, 2])
PREDICATES = st.sampled_from([Symbol("p"), Symbol("q")])
FACTS = st.one_of(st.tuples(TERMS, PREDICATES, TERMS), st.tuples(PREDICATES, TERMS))
CHANGES = st.tuples(st.integers(0, 6), st.sampled_from([1, 1, -1]), FACTS)


@st.composite
def histories(draw: st.DrawFn, *, most: int = 14) -> list[Change]:
    """Changes in the order of lines, which need not be that of their times."""
    made = draw(st.lists(CHANGES, min_size=most // 2, max_size=most))
    return [Change(order, float(time), sign, fact) for order, (time, sign, fact) in enumerate(made)]


NAMES = st.sampled_from(["?x", "?y", "?z"])
CONDITIONS = st.one_of(
    st.tuples(NAMES, st.sampled_from(["p", "q", "?y"]), st.one_of(NAMES, st.sampled_from(["*", "b", "1"]))),
    st.tuples(st.sampled_from(["p", "q", "*"]), NAMES),
)
TESTS = ("{0} = {1}", "{0} != {1}", "{0} < {1}", "{0} >= 1", "isNumeric({1})", "({0} = a || {1} = 2)")


@st.composite
def bodies(draw: st.DrawFn, given: frozenset[str] = frozenset(), depth: int = 2) -> tuple[str, list[str]]:
    """Conditions, FILTERs and NOT groups inside braces, and the names that they bind."""
    conditions = draw(st.lists(CONDITIONS, min_size=1, max_size=2))
    names = sorted({item for condition in conditions for item in condition if item.startswith("?")})
    parts = [f"({', '.join(condition)})" for condition in conditions]
    read = st.sampled_from(sorted({*names, *given}))
    for test in draw(st.lists(st.sampled_from(TESTS), max_size=1)):
        parts.append(f"FILTER {test.format(draw(read), draw(read))}")
    for _ in range(draw(st.integers(0, 2)) if depth else 0):
        inner, _ = draw(bodies(given.union(names), depth - 1))
        parts.append(f"NOT {{ {inner} }}")
    return ", ".join(parts), names


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Texts of subscriptions in GSG script."""
    body, names = draw(bodies())
    shown = draw(st.lists(st.sampled_from(names), unique=True))
    distinct = "DISTINCT " if shown and draw(st.booleans()) else ""
    return f"SUBSCRIBE {distinct}{', '.join(shown)} {{ {body} }}"


def live(text: str, changes: Iterable[Change], language: str = "gsg") -> Counter[Stay]:
    """What a subscriber of a space saw come and go, asked after each moment; of equal rows the first that came goes first."""
    stays: Counter[Stay] = Counter()
    there: dict[Tuple, list[float]] = {}
    with gsg.Space() as space, space.subscribe(text, language) as subscription:
        moments = groupby(sorted(changes, key=lambda change: (change.time, change.order)), key=lambda change: change.time)
        for time, together in ((-FOREVER, iter(())), *((time, iter(list(group))) for time, group in moments)):
            for change in together:
                (space.insert if change.sign > 0 else space.retract)([change.fact])
            now = Counter({row.terms: count for row, count in subscription.rows().items()})
            for row in {*now, *there}:
                cames = there.setdefault(row, [])
                while len(cames) > now[row]:
                    stays[Stay(row, cames.pop(0), time)] += 1
                cames += [time] * (now[row] - len(cames))
    stays.update(Stay(row, came, FOREVER) for row, cames in there.items() for came in cames)
    return stays
