"""What is right: the rows of each subscription over all of time, from relations of intervals, and their digests.

All subscriptions of a template are answered together: its parameters are variables like others, and in the end each row is given to
whoever asked for these values. What is the same query is answered once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulations.engine.randomness import Words

from .campus import Campus
from .changes import Changes
from .digests import Codes, Weighed, row_hashes, term_hash, weight, weights
from .queries import NUMBERS, TEMPLATES, Pattern, Template
from .relations import FOREVER, MAX_ROWS, UNBOUND, History, Relation, TooManyRows, counted, distinct, gaps, groups
from .users import Subscriptions

QUERY = "query"
"""The column that says whose row it is."""
AT_ONCE = 20_000
"""Queries that are answered together, unless they turn out to be too many."""


class Answer(NamedTuple):
    """What is right for a subscription."""

    rows: int
    """Rows that hold when it ends, or at the end."""
    events: int
    """Rows of events that it is told of."""
    held: int
    """Digest of the rows that hold then."""
    by_round: int
    """Digest of what has changed from the end of each round to that of the next one, and of events by round."""
    by_position: int
    """Digest of what changed, and of events, each by its position."""


class Told(NamedTuple):
    """One difference of an answer: at a position ``+`` 1, ``-`` -1, or 0 for an event, and the row's terms as codes."""

    position: int
    sign: int
    row: tuple[int, ...]


@dataclass(frozen=True)
class Reference:
    """The answers of all subscriptions, in their order."""

    answers: list[Answer]
    rounds: list[int]
    """For each round, the digest of all rows that subscriptions hold at its end: a sum of theirs, each with a weight of its own."""
    rows: list[int]
    """How many these are."""
    told: int
    """Differences and events of all subscriptions together, where each change is told by itself."""
    histories: dict[int, list[Told]]
    """Of some subscriptions, what changed."""


class _Sums:
    """Per query and round: digests of what holds, what changed by position, and of events."""

    def __init__(self, queries: int, changes: Changes) -> None:
        self._ends = changes.ends
        shape = (queries, len(changes.ends) + 1)  # the last column is for what comes after the end
        self.held, self.changed, self.events, self.events_at = (np.zeros(shape, dtype=np.uint64) for _ in range(4))
        self.rows, self.told, self.noted = (np.zeros(shape, dtype=np.int64) for _ in range(3))

    def add(self, query: Codes, hashes: Words, came: Codes, went: Codes) -> None:
        """Rows that came and went."""
        event = came == went
        at = np.searchsorted(self._ends, came, "left")
        if event.any():
            here = query[event], at[event]
            np.add.at(self.events, here, hashes[event])
            np.add.at(self.events_at, here, hashes[event] * weights(Weighed.EVENT_AT_POSITION, came[event]))
            np.add.at(self.noted, here, 1)
        query, at, hashes, came, went = (column[~event] for column in (query, at, hashes, came, went))
        until = np.searchsorted(self._ends, went, "left")
        np.add.at(self.held, (query, at), hashes)
        np.subtract.at(self.held, (query, until), hashes)
        np.add.at(self.changed, (query, at), hashes * weights(Weighed.POSITION, came))
        np.subtract.at(self.changed, (query, until), hashes * weights(Weighed.POSITION, went))
        np.add.at(self.rows, (query, at), 1)
        np.subtract.at(self.rows, (query, until), 1)
        np.add.at(self.told, (query, at), 1)
        np.add.at(self.told, (query, until), 1)

    def close(self) -> None:
        """No more rows come: what holds at the end of each round is what came and did not go until then."""
        np.cumsum(self.held, axis=1, out=self.held)
        np.cumsum(self.rows, axis=1, out=self.rows)


def refer(
    campus: Campus,
    changes: Changes,
    subscriptions: Subscriptions,
    *,
    sampled: int = 1_000,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Reference:
    """Answer all of them; of ``sampled`` at most, spread over all, with the history."""
    history = History(campus, changes)
    distinct_queries, query_of = np.unique(
        np.column_stack((subscriptions.template, subscriptions.parameters)), axis=0, return_inverse=True
    )
    query_of = query_of.reshape(-1)
    step = max(1, -(-len(subscriptions) // sampled))
    chosen = np.arange(0, len(subscriptions), step)
    wanted = np.zeros(len(distinct_queries), dtype=bool)
    wanted[query_of[chosen]] = True
    sums = _Sums(len(distinct_queries), changes)
    hashes = _TermHashes(campus)
    kept: dict[int, list[Told]] = {int(query): [] for query in np.flatnonzero(wanted)}
    done = 0
    for number, template in enumerate(TEMPLATES):
        mine = np.flatnonzero(distinct_queries[:, 0] == number)
        for queries, rows in _answered(history, campus, template, mine, distinct_queries[:, 1:]):
            columns = [rows.columns[name] for name in template.asked.select]
            sums.add(rows.columns[QUERY], row_hashes([hashes.of(column) for column in columns], len(rows)), rows.came, rows.went)
            _keep(rows, columns, wanted, kept)
            done += len(queries)
            progress(done, len(distinct_queries))
    sums.close()
    return _gathered(sums, changes, subscriptions, query_of, {int(each): kept[int(query_of[each])] for each in chosen})


def _answered(
    history: History, campus: Campus, template: Template, queries: Codes, parameters: NDArray[np.int64]
) -> Iterator[tuple[Codes, Relation]]:
    """The rows of some queries of a template, so many at once as can be."""
    # Those that begin at the same constant are answered together, and what they share is joined once.
    seed = _in_order(history, template.asked.where)[0][1]
    place = template.parameters.index(seed) if seed else 0
    queries = queries[np.argsort(parameters[queries, place], kind="stable")]
    waiting = [queries[begin : begin + AT_ONCE] for begin in range(0, len(queries), AT_ONCE)][::-1]
    while waiting:
        some = waiting.pop()
        given = {
            f"${name}": parameters[some, place] + (campus.first_integer if name in NUMBERS else 0)
            for place, name in enumerate(template.parameters)
        }
        asked = Relation({QUERY: some, **given}, np.zeros(len(some), dtype=np.int64), np.full(len(some), FOREVER))
        try:
            yield some, _rows(history, campus, template, asked, MAX_ROWS if len(some) > 1 else None)
        except TooManyRows:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]


def _rows(history: History, campus: Campus, template: Template, queries: Relation, limit: int | None) -> Relation:
    """The rows of a template for all queries, whose parameters are columns."""
    asked = template.asked
    found = _arm(history, template, asked.where, queries, limit)
    if asked.negated:
        found = _cut(history, found, template, asked.negated, limit)
    if asked.optional:
        more = _joined(history, found, template, asked.optional, limit)
        found = _union(more, _cut(history, found, template, asked.optional, limit))
    if asked.or_else:
        found = _union(found, _arm(history, template, asked.or_else, queries, limit))
    names = (QUERY, *asked.select)
    if asked.count:
        return counted(found, names[:-1], names[-1], campus.first_integer)
    return distinct(found, names) if asked.distinct else found


def _arm(history: History, template: Template, patterns: tuple[Pattern, ...], queries: Relation, limit: int | None) -> Relation:
    """Patterns for all queries. Parameters are variables, but for the first, and who asks for which values is joined in the end;
    bounds are numbers of each query, which is joined in the beginning."""
    ordered = _in_order(history, patterns)
    if template.asked.bounds:
        return _joined(history, queries, template, tuple(pattern for pattern, _ in ordered), limit)
    name = f"${ordered[0][1]}"
    seeds = np.unique(queries.columns[name])
    begin = Relation({name: seeds}, np.zeros(len(seeds), dtype=np.int64), np.full(len(seeds), FOREVER))
    found = _joined(history, begin, template, tuple(pattern for pattern, _ in ordered), limit)
    return history.matched(found, queries, [name for name in queries.columns if name != QUERY], limit=limit)


def _in_order(history: History, patterns: tuple[Pattern, ...]) -> list[tuple[Pattern, str]]:
    """Patterns in the order in which each finds the fewest facts for what is known then, each with its first parameter, or ""."""
    ordered: list[tuple[Pattern, str]] = []
    known: set[str] = set()
    left = list(patterns)
    while left:
        if ordered:
            best = min((one for one in left if known & {one[0], one[2]}), key=lambda one: history.found_by(one, known))
        else:
            # It begins at a parameter, or where there is none but bounds, at all facts.
            best = min(left, key=lambda one: history.found_by(one, {item for item in one if item[0] == "$"}))
        left.remove(best)
        known |= {best[0], best[2]}
        ordered.append((best, next((item[1:] for item in best if item[0] == "$"), "")))
    return ordered


def _joined(history: History, left: Relation, template: Template, patterns: tuple[Pattern, ...], limit: int | None) -> Relation:
    bounds = template.asked.bounds
    for subject, predicate, object in patterns:
        # A name that is constant in all queries is a column of one value.
        pattern = _name(subject), predicate.removeprefix("?"), _name(object)
        given = _with_constants(history, left, pattern)
        on_this = [(_name(name), operator, number) for name, operator, number in bounds if name == object]
        left = history.joined(given, pattern, on_this, limit=limit)
        for name, operator, number in on_this:
            value, least = left.columns[name], left.columns[number]
            passed = {"<": value < least, ">": value > least, ">=": value >= least}[operator]
            left = left.rows(np.flatnonzero(passed))
    return left


def _name(item: str) -> str:
    """A column's name: a variable without its mark, all else as it is."""
    return item.removeprefix("?")


def _with_constants(history: History, left: Relation, pattern: Pattern) -> Relation:
    columns = dict(left.columns)
    for item in (pattern[0], pattern[2]):
        code = history.constant(item)
        if code is not None:
            columns[item] = np.full(len(left), code, dtype=np.int64)
    return Relation(columns, left.came, left.went)


def _cut(history: History, left: Relation, template: Template, patterns: tuple[Pattern, ...], limit: int | None) -> Relation:
    """Rows of ``left`` while patterns have no solution: found once for all that agree in what the patterns ask about."""
    shared = list(dict.fromkeys(_name(item) for pattern in patterns for item in pattern if _name(item) in left.columns))
    first, own = groups(left, shared)
    demand = {name: left.columns[name][first] for name in shared}
    always = np.zeros(len(first), dtype=np.int64), np.full(len(first), FOREVER)
    found = _joined(history, Relation({**demand, "own": np.arange(len(first))}, *always), template, patterns, limit)
    return gaps(left, own, found.columns["own"], found.came, found.went)


def _union(one: Relation, other: Relation) -> Relation:
    names = dict.fromkeys((*one.columns, *other.columns))
    return _stacked([_filled(one, list(names)), _filled(other, list(names))])


def _filled(rows: Relation, names: list[str]) -> Relation:
    unbound = np.full(len(rows), UNBOUND, dtype=np.int64)
    return Relation({name: rows.columns.get(name, unbound) for name in names}, rows.came, rows.went)


def _stacked(parts: list[Relation]) -> Relation:
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Relation(columns, np.concatenate([part.came for part in parts]), np.concatenate([part.went for part in parts]))


class _TermHashes:
    """Hashes of terms by code, each computed when it is first asked for."""

    def __init__(self, campus: Campus) -> None:
        self._campus = campus
        self._hashes = np.zeros(campus.terms, dtype=np.uint64)
        self._known = np.zeros(campus.terms, dtype=bool)

    def of(self, codes: Codes) -> Words:
        """Of each code; 0 for UNBOUND."""
        bound = codes[codes != UNBOUND]
        for code in np.unique(bound[~self._known[bound]]).tolist():
            self._hashes[code] = term_hash(self._campus.text(code))
            self._known[code] = True
        return np.where(codes == UNBOUND, np.uint64(0), self._hashes[codes])


def _keep(rows: Relation, columns: list[Codes], wanted: NDArray[np.bool_], kept: dict[int, list[Told]]) -> None:
    here = np.flatnonzero(wanted[rows.columns[QUERY]])
    texts = zip(*(column[here].tolist() for column in columns), strict=True)
    times = zip(rows.columns[QUERY][here].tolist(), rows.came[here].tolist(), rows.went[here].tolist(), texts, strict=True)
    for query, came, went, row in times:
        kept[query].append(Told(came, 0 if came == went else 1, row))
        if came < went < FOREVER:
            kept[query].append(Told(went, -1, row))


def _gathered(
    sums: _Sums, changes: Changes, subscriptions: Subscriptions, query_of: Codes, histories: dict[int, list[Told]]
) -> Reference:
    """From sums by query and round to answers by subscription, whose lives are from one round to another."""
    rounds = len(changes.ends)
    of_round = [np.uint64(weight(Weighed.ROUND, each)) for each in range(rounds)]
    of_events = [np.uint64(weight(Weighed.EVENT_OF_ROUND, each)) for each in range(rounds)]
    starts = np.concatenate(([0], changes.ends[:-1]))
    count = len(subscriptions)
    by_round, by_position = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.uint64)
    events, all_rows, digests, told = np.zeros(count, dtype=np.int64), [], [], 0
    own = weights(Weighed.SUBSCRIPTION, np.arange(count))
    for number in range(rounds):
        lives = np.flatnonzero((subscriptions.begins <= number) & (number <= subscriptions.ends))
        queries = query_of[lives]
        is_first = subscriptions.begins[lives] == number
        before = sums.held[queries, number - 1] if number else np.zeros(len(lives), dtype=np.uint64)
        known = np.where(is_first, np.uint64(0), before)
        by_round[lives] += (sums.held[queries, number] - known) * of_round[number] + sums.events[queries, number] * of_events[
            number
        ]
        snapshot = before * np.uint64(weight(Weighed.POSITION, int(starts[number])))
        by_position[lives] += (
            np.where(is_first, snapshot, np.uint64(0)) + sums.changed[queries, number] + sums.events_at[queries, number]
        )
        events[lives] += sums.noted[queries, number]
        digests.append(int((own[lives] * sums.held[queries, number]).sum()))
        all_rows.append(int(sums.rows[queries, number].sum()))
        if number:
            told += int(sums.rows[queries[is_first], number - 1].sum())
        told += int(sums.told[queries, number].sum() + sums.noted[queries, number].sum())
    held = sums.held[query_of, subscriptions.ends]
    rows = sums.rows[query_of, subscriptions.ends]
    columns = (rows.tolist(), events.tolist(), held.tolist(), by_round.tolist(), by_position.tolist())
    answers = [Answer(*each) for each in zip(*columns, strict=True)]
    lived = {number: _lived(known, number, subscriptions, starts, changes.ends) for number, known in histories.items()}
    return Reference(answers, digests, all_rows, told, lived)


def _lived(known: list[Told], number: int, subscriptions: Subscriptions, starts: Codes, ends: Codes) -> list[Told]:
    """The part of a query's history that a subscription sees: what holds when it begins comes at that position."""
    begins, until = int(starts[subscriptions.begins[number]]), int(ends[subscriptions.ends[number]])
    held: dict[tuple[int, ...], int] = {}
    for position, sign, row in known:
        if position <= begins and sign:
            held[row] = held.get(row, 0) + sign
    first = [Told(begins, 1, row) for row, times in held.items() for _ in range(times)]
    return sorted(first + [told for told in known if begins < told.position <= until])
