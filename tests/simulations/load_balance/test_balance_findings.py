"""What the report of a comparison says first, and how its lines look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulations.drawing.marks import DASH_DOTTED, DASHED, DOTTED
from simulations.engine.findings import Finding
from simulations.load_balance.balance import Outcome
from simulations.load_balance.learning import Learning
from simulations.load_balance.loads import Histogram
from simulations.load_balance.meets_one_by_one import MeetingCheck
from simulations.load_balance.strategies import STANDARD, parse
from simulations.load_balance.verdict import findings, groups_said, looks


def outcome(
    strategy: str, *, tuples: tuple[int, ...] = (500, 100), work: int = 10, lost: int = 0, missed: int = 0, questions: int = 0
) -> Outcome:
    """Two peers, of which the first is the busiest, and 1,000 tuples."""
    nothing = Histogram.of(np.zeros(2, dtype=np.int64))
    return Outcome(
        strategy=parse(strategy),
        peers=2,
        tuples=Histogram.of(np.array(tuples)),
        work=Histogram.of(np.array([work, 0])),
        first_epoch=nothing,
        subscriptions=nothing,
        templates=nothing,
        published=1_000,
        subscribed=10,
        lost=lost,
        questions=questions,
        meetings=MeetingCheck(10, 10 - missed, 0),
        learning=Learning(loads=2 * questions),
    )


def said(*outcomes: Outcome) -> list[str]:
    return [finding.text for finding in findings(outcomes)]


def bars(finding: Finding) -> list[tuple[str, float]]:
    return [(bar.name, bar.value) for bar in finding.bars]


def test_a_better_strategy_that_is_dear_is_told_with_its_price() -> None:
    found = findings([outcome("rarest", work=340), outcome("hot-split-10+demand", work=85, questions=2_700)])

    assert found[0].text == (
        "Only for 10.0 times the messages does hot-split-10+demand give the busiest peer a quarter of the match work of rarest: "
        "85 beside 340 pairs."
    )
    assert bars(found[0]) == [("hot-split-10+demand", 85.0), ("rarest", 340.0)]


def test_the_best_strategy_is_set_beside_the_worst_one_with_both_figures() -> None:
    found = findings([outcome("predicate", work=11_900), outcome("random", work=6_000), outcome("rarest", work=12)])

    assert found[0].text == (
        "rarest gives the busiest peer a thousandth of the match work of predicate with as many messages: 12 beside 11,900 pairs."
    )
    assert bars(found[0]) == [("rarest", 12.0), ("predicate", 11_900.0)]
    assert found[1].text == "By all strategies the busiest peer gets about the same of the tuples: 50% of all tuples."
    assert bars(found[1]) == [("predicate", 0.5)]


def test_tuples_have_a_sentence_of_their_own() -> None:
    texts = said(outcome("rarest"), outcome("hot-split-10", tuples=(150, 450)))

    assert (
        texts[1]
        == "hot-split-10 gives the busiest peer 90% of the tuples of rarest with as many messages: 45% beside 50% of all tuples."
    )


def test_of_strategies_that_save_nearly_as_much_the_first_is_named() -> None:
    texts = said(outcome("predicate", work=1_000), outcome("rarest", work=60), outcome("hot-split-10", work=20))

    assert texts[0].startswith("rarest gives")


def test_a_strategy_that_costs_far_more_is_not_named_and_one_that_costs_more_says_so() -> None:
    texts = said(
        outcome("predicate", work=1_000), outcome("rarest", work=500, questions=90), outcome("epochs-24", work=1, questions=400)
    )

    assert texts[0].startswith("rarest gives the busiest peer half of the match work of predicate with 1.3 times the messages:")


@pytest.mark.parametrize("fault", [{"lost": 3}, {"missed": 1}])
def test_a_strategy_that_loses_more_than_others_is_not_named(fault: dict[str, int]) -> None:
    texts = said(outcome("predicate", work=1_000), outcome("rarest", work=500), outcome("popular-20", work=1, **fault))

    assert texts[0].startswith("rarest gives")


def test_where_all_miss_something_they_are_compared_all_the_same() -> None:
    assert said(outcome("predicate", work=900, missed=1), outcome("rarest", work=9, missed=1))[0].startswith("rarest gives")


def test_epochs_do_not_relieve_the_busiest_peer_of_their_time() -> None:
    epochs = replace(outcome("epochs-24", tuples=(100, 100)), first_epoch=Histogram.of(np.array([100, 0])))

    found = said(outcome("predicate"), epochs, outcome("popular-1000", tuples=(250, 250)))

    assert found[1].startswith("popular-1000 gives the busiest peer half of the tuples of predicate")


def test_one_strategy_is_set_beside_the_mean_of_peers() -> None:
    found = findings([outcome("rarest")])

    assert [one.text for one in found] == [
        "By rarest the busiest peer gets 1.7 times what a peer gets in the mean: 500 beside 300.0 copies of tuples."
    ]
    assert bars(found[0]) == [("busiest peer", 500.0), ("mean of peers", 300.0)]


def test_match_work_of_nothing_is_said() -> None:
    assert said(outcome("predicate", work=0), outcome("rarest", work=0))[0] == (
        "By all strategies the busiest peer gets about the same of the match work: 0 pairs."
    )


def test_lines_of_a_group_have_the_same_dashes_and_no_two_look_alike() -> None:
    found = looks([parse(name) for name in STANDARD])

    assert len(set(found)) == len(STANDARD)
    groups = {name: look - look % DASHED for name, look in zip(STANDARD, found, strict=True)}
    assert {groups[name] for name in ("predicate", "random", "rarest", "demand")} == {0}
    assert {groups[name] for name in ("popular-1000", "halves", "composite", "epochs-24")} == {DASHED}
    assert {groups[name] for name in ("hot-split-10", "grid-10+demand")} == {DOTTED}
    assert {groups[name] for name in ("virtual-8", "hot-split-10+demand+virtual-8")} == {DASH_DOTTED}


def test_dashes_are_said_where_there_are_several_kinds() -> None:
    assert groups_said([parse("rarest"), parse("random")]) == ""
    assert (
        groups_said([parse("rarest"), parse("grid-10")]) == " Whole lines have a key for each constant; dotted ones split hot keys."
    )


def test_a_result_without_a_strategy_that_loses_least_is_told_by_all() -> None:
    alone = replace(outcome("rarest"), lost=2)

    assert said(alone) == said(outcome("rarest"))
