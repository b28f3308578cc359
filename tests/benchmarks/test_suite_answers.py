"""Systems of the standing query benchmark agree with the reference answers, and one that is wrong is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.suite import digests, files
from benchmarks.suite.campus import TINY
from benchmarks.suite.driver import Driver, Outcome, Pace
from benchmarks.suite.files import Change, Workload
from benchmarks.suite.ledger import Ledger
from benchmarks.suite.relations import FOREVER, Relation, counted, distinct, gaps
from benchmarks.suite.systems.in_one_space import InOneSpace
from benchmarks.suite.systems.rdfpeers import RdfPeers
from benchmarks.suite.systems.real_peers import phases
from benchmarks.suite.systems.reevaluation import Reevaluation
from benchmarks.suite.systems.system import Row, System, Tell

EXACT = Pace(exact=True, patience_s=0.0)
QUICK = Pace(batch=50, per_s=10_000.0, paced=100, patience_s=0.0)

Intervals = list[tuple[int, int]]


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("workload")
    files.generate(folder, TINY, 5)
    return Workload(folder)


def run(workload: Workload, make: Callable[[Tell], System], pace: Pace) -> Outcome:
    return asyncio.run(Driver(workload, make, pace, lambda what, done, total: None).run())


@pytest.mark.parametrize("make", [InOneSpace, Reevaluation], ids=["the matcher", "evaluating again"])
@pytest.mark.parametrize("pace", [EXACT, QUICK], ids=["change by change", "in batches"])
def test_all_answers_are_right(workload: Workload, make: Callable[[Tell], System], pace: Pace) -> None:
    outcome = run(workload, make, pace)

    assert outcome.verdict.wrong == ()
    assert (outcome.verdict.right, outcome.verdict.refused) == (TINY.subscriptions, 0)
    assert (outcome.late_rounds, outcome.disagreeing) == (0, 0)
    assert outcome.is_right


def test_as_much_is_told_as_the_workload_says(workload: Workload) -> None:
    assert run(workload, InOneSpace, EXACT).told == workload.described.told


def test_latencies_are_of_the_changes_at_a_pace(workload: Workload) -> None:
    outcome = run(workload, InOneSpace, QUICK)

    assert outcome.latencies_ms is not None
    assert 0 < outcome.timed < outcome.told


@pytest.mark.parametrize("peers", [1, 5])
def test_chains_of_conditions_are_right_and_what_is_no_chain_is_refused(workload: Workload, peers: int) -> None:
    outcome = run(workload, lambda tell: RdfPeers(tell, peers), EXACT)

    no_chains = {"no-first-aid", "unused-booking", "bookings", "crowding"}
    assert outcome.verdict.wrong == ()
    assert outcome.verdict.refused == sum(line.template in no_chains for line in workload.subscriptions())
    assert set(outcome.reasons) == {f"not answered by this system: {part}" for part in ("negated", "optional", "count")}
    assert len(outcome.measures.peers) == peers
    # With one peer nothing goes between any.
    assert (sum(peer.messages or 0 for peer in outcome.measures.peers) > 0) == (peers > 1)


def test_chains_that_were_taken_back_leave_nothing(workload: Workload) -> None:
    system = RdfPeers(lambda *_: None)

    async def subscribe_and_leave() -> None:
        lines = [line for line in workload.subscriptions() if line.template in ("project-where", "together", "band")]
        for line in lines[:10]:
            await system.subscribe(line)
        await system.change(list(workload.changes()))
        for line in lines[:10]:
            await system.unsubscribe(line.subscription)

    asyncio.run(subscribe_and_leave())

    assert [rest for peer in system._peers for by in peer.waiting.values() for rests in by.values() for rest in rests] == []


class Forgetful(InOneSpace):
    """Does not tell one row in a hundred."""

    def __init__(self, tell: Tell) -> None:
        told = 0

        def tell_most(subscription: int, sign: int, row: Row) -> None:
            nonlocal told
            told += 1
            if told % 100:
                tell(subscription, sign, row)

        super().__init__(tell_most)


class Late(InOneSpace):
    """Tells of a round's rows in the next one."""

    def __init__(self, tell: Tell) -> None:
        self._late: list[tuple[int, int, Row]] = []
        self._now = tell
        super().__init__(lambda *told: self._late.append(told))

    async def change(self, changes: Sequence[Change]) -> None:
        for told in self._late:
            self._now(*told)
        self._late.clear()
        await super().change(changes)


@pytest.mark.parametrize("make", [Forgetful, Late])
def test_a_wrong_system_is_told(workload: Workload, make: Callable[[Tell], System]) -> None:
    outcome = run(workload, make, Pace(batch=10_000, paced=0, patience_s=0.0))

    assert not outcome.is_right
    assert outcome.verdict.wrong
    assert outcome.verdict.missing + outcome.verdict.surplus > 0
    assert outcome.late_rounds > 0
    assert outcome.disagreeing > 0


def test_a_row_that_came_and_went_in_a_round_may_be_told_or_not() -> None:
    silent, talkative = Ledger(), Ledger()
    for ledger in (silent, talkative):
        ledger.open(7)
        ledger.tell(7, 1, ["<a>"])

    talkative.tell(7, 1, ["<b>", None])
    talkative.tell(7, -1, ["<b>", None])

    assert talkative.accounts[7] == silent.accounts[7]
    assert talkative.digest == silent.digest


def test_a_row_that_came_in_one_round_and_went_in_the_next_is_to_be_told() -> None:
    silent, talkative = Ledger(), Ledger()
    for ledger in (silent, talkative):
        ledger.open(7)

    talkative.tell(7, 1, ["<b>"])
    talkative.round = 1
    talkative.tell(7, -1, ["<b>"])

    assert talkative.accounts[7].held == silent.accounts[7].held
    assert talkative.accounts[7].by_round != silent.accounts[7].by_round


def test_digests_of_columns_are_those_of_rows() -> None:
    rows = [[digests.term_hash("<a>"), 0], [digests.term_hash("<b>"), digests.term_hash('"1"')]]
    columns = [np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)]

    hashes = digests.row_hashes(columns, 2)
    weights = digests.weights(digests.Weighed.POSITION, np.array([0, 12_345]))

    assert hashes.tolist() == [digests.row_hash(row) for row in rows]
    assert weights.tolist() == [digests.weight(digests.Weighed.POSITION, number) for number in (0, 12_345)]


def test_the_digest_is_the_one_of_the_page() -> None:
    # As docs/suite.md defines it, for implementations in other languages.
    assert f"{digests.term_hash('<http://example.org/campus/room3>'):016x}" == "914e633987fda06b"
    assert f"{digests.row_hash([digests.term_hash('<http://example.org/campus/room3>'), 0]):016x}" == "837f317f69e3c465"


INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda one: (one[0], one[0] + one[1])), max_size=6)
"""Within 0 to 18."""
MOMENTS = range(20)


def relation(rows: Sequence[tuple[int, Intervals]]) -> Relation:
    flat = [(value, came, went) for value, intervals in rows for came, went in intervals]
    columns = np.array(flat, dtype=np.int64).reshape(-1, 3)
    return Relation({"value": columns[:, 0]}, columns[:, 1], columns[:, 2])


def at(rows: Relation, moment: int, *names: str) -> Counter[Any]:
    there = np.flatnonzero((rows.came <= moment) & (moment < rows.went))
    return Counter(zip(*(rows.columns[name][there].tolist() for name in names), strict=True))


@given(st.lists(st.tuples(st.integers(0, 2), INTERVALS), max_size=4), st.lists(INTERVALS, min_size=3, max_size=3))
def test_gaps_are_where_none_is(rows: list[tuple[int, Intervals]], cuts: list[Intervals]) -> None:
    left, cutting = relation(rows), relation(list(enumerate(cuts)))

    found = gaps(left, left.columns["value"], cutting.columns["value"], cutting.came, cutting.went)

    for moment in MOMENTS:
        cut = at(cutting, moment, "value")
        held = at(left, moment, "value")
        assert at(found, moment, "value") == Counter({row: times for row, times in held.items() if row not in cut})


def test_gaps_of_what_does_not_end() -> None:
    left = relation([(0, [(3, FOREVER)]), (1, [(3, FOREVER)])])

    found = gaps(left, left.columns["value"], np.array([0, 1]), np.array([5, 5]), np.array([7, FOREVER]))

    times = zip(found.columns["value"].tolist(), found.came.tolist(), found.went.tolist(), strict=True)
    assert sorted(times) == [(0, 3, 5), (0, 7, FOREVER), (1, 3, 5)]


@given(st.lists(st.tuples(st.integers(0, 2), INTERVALS), max_size=5))
def test_distinct_rows_are_there_once_and_counts_count(rows: list[tuple[int, Intervals]]) -> None:
    given_rows = relation(rows)

    once, numbers = distinct(given_rows, ["value"]), counted(given_rows, ["value"], "number", 100)

    for moment in MOMENTS:
        held = at(given_rows, moment, "value")
        assert at(once, moment, "value") == Counter(dict.fromkeys(held, 1))
        assert at(numbers, moment, "value", "number") == Counter((value, 100 + times) for (value,), times in held.items())


def test_what_does_not_end_is_counted_for_ever() -> None:
    rows = relation([(1, [(3, FOREVER), (5, 9)])])

    numbers = counted(rows, ["value"], "number", 0)

    assert [*zip(numbers.columns["number"].tolist(), numbers.came.tolist(), numbers.went.tolist(), strict=True)] == [
        (1, 3, 5),
        (2, 5, 9),
        (1, 9, FOREVER),
    ]


FACTS = st.sampled_from([("a", "p", "b"), ("a", "p", "c"), ("b", "p", "c")])


@given(st.lists(st.tuples(st.sampled_from([1, -1, 0]), FACTS), max_size=12))
def test_phases_leave_the_changes_of_each_fact_in_order(changed: list[tuple[int, tuple[str, str, str]]]) -> None:
    found = [(sign, triple) for sign, triples in phases([Change(*one) for one in changed]) for triple in triples]

    assert Counter(found) == Counter(changed)
    for fact in {triple for _, triple in changed}:
        of_fact = [[sign for sign, triple in some if triple == fact and sign] for some in (found, changed)]
        assert of_fact[0] == of_fact[1]
