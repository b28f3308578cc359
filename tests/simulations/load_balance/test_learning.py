"""What it takes to learn, in messages: by plain counts, and against rules of peers."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from counting import counted

from gsg.publisher import quenching
from simulations.engine.randomness import Stream
from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, run
from simulations.load_balance.learning import RENEW_S, Learning, interest_messages, split_messages
from simulations.load_balance.meets_one_by_one import check_meetings
from simulations.load_balance.peers import Peers
from simulations.load_balance.plan import bearable_loads, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic

TUPLES = Synthetic(1_500, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
SUBSCRIPTIONS = TUPLES.subscriptions(250, COMMON_MIX, 3)
PEERS = Peers(40, 5)


def versions(parts: int, cells_of_part: int, bearable: int, peers: int) -> int:
    """What it takes to tell one key's, version by version."""
    total, before = 0, 1
    while before < parts:
        users = round(peers * (1 - (1 - 1 / peers) ** (bearable * before)))
        total += 2 * (before * cells_of_part + users)
        before *= 2
    return total


def test_each_version_is_told_to_all_cells_and_to_all_that_use_the_key() -> None:
    rows, columns = np.array([1, 2, 3, 9, 40]), np.array([4, 1, 2, 5, 1])

    told = split_messages(rows, columns, (7, 3), 40)

    expected = sum(
        versions(row, column, 7, 40) + versions(column, 1, 3, 40)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    )
    assert told == expected
    assert split_messages(np.array([1]), np.array([1]), (7, 3), 40) == 0
    assert split_messages(np.array([2]), np.array([1]), (7, 3), 1) == 2 * (1 + 1)


@pytest.mark.parametrize("name", ["hot-split-1", "grid-1", "hot-split-1+ordered-8"])
def test_splits_of_a_plan_are_those_of_its_keys(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))

    facts, templates = bearable_loads(plan.strategy, plan.mean)
    keys = {}
    for place in plan.places:
        for code, key in enumerate(place.keys.tolist()):
            rows, columns = (1 if parts is None else int(parts[code]) for parts in (place.rows, place.columns))
            keys[key] = versions(rows, columns, facts, len(PEERS)) + versions(columns, 1, templates, len(PEERS))
    assert plan.split_messages == sum(keys.values()) > 0


def test_publishers_ask_all_others_as_often_as_a_walk_through_time_does() -> None:
    peers, tuples, seconds = 6, 3_000, 4_000.0
    publisher = Stream(1, "publisher").below(peers, 0, tuples)
    at_s = np.sort(Stream(1, "time").uniform(0, tuples)) * seconds

    asked = 0
    for peer in range(peers):
        told_s = -np.inf
        for now in at_s[publisher == peer]:
            if now - told_s >= RENEW_S:
                asked, told_s = asked + peers - 1, now

    assert interest_messages(peers, tuples, seconds) == pytest.approx(2 * asked, rel=0.03)
    assert interest_messages(1, tuples, seconds) == 0


def test_the_lease_is_that_of_peers() -> None:
    assert RENEW_S == quenching.RENEW_S


@pytest.mark.parametrize("name", ["rarest", "demand", "hot-split-1", "choices-2", "bounded-1.25"])
def test_messages_are_copies_and_what_is_learnt(name: str) -> None:
    outcome = run(parse(name), TUPLES, SUBSCRIPTIONS, PEERS, InOneThread())

    learning = outcome.learning
    assert learning.loads == 2 * int(SUBSCRIPTIONS.given.sum())
    assert (learning.interest > 0) == (name == "demand")
    assert (learning.splits > 0) == (name == "hot-split-1")
    assert (learning.assigning > 0) == (name == "choices-2")
    assert (learning.finding > 0) == (name in ("choices-2", "bounded-1.25"))
    assert learning.total == sum((learning.loads, learning.assigning, learning.finding, learning.interest, learning.splits))
    assert outcome.messages == outcome.tuples.total + outcome.subscriptions.total + learning.total
    assert Learning().total == 0


def test_choices_ask_each_candidate_once_and_point_from_all_but_one() -> None:
    outcome = run(parse("choices-2"), TUPLES, SUBSCRIPTIONS, PEERS, InOneThread())

    loads = counted(make_plan(parse("choices-2"), TUPLES, SUBSCRIPTIONS, len(PEERS)), TUPLES, PEERS)
    keys, pointers = int(loads.assigned.sum()), int(loads.pointers.sum())
    # Where both hashes have one owner it is asked once, and nobody points to it.
    assert 0 < pointers < keys
    assert outcome.learning.assigning == 2 * (keys + pointers) + pointers
    assert outcome.learning.finding == 2 * loads.probes.sum()
    assert outcome.pointers is not None
    assert (outcome.summary()["pointers"], outcome.summary()["most_pointers"]) == (pointers, loads.pointers.max())


def test_what_is_known_early_splits_by_what_came_first() -> None:
    drifting = Synthetic(4_000, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=10 * 3600.0, drift=1.0)
    asked = drifting.subscriptions(250, COMMON_MIX, 3)

    early, late = (make_plan(parse(name), drifting, asked, 40) for name in ("hot-split-1+early-10", "hot-split-1"))

    bearable = bearable_loads(early.strategy, early.mean)[0]
    first = drifting.facts_by(0.1)
    for plan, facts in ((early, first), (late, drifting.facts_by(1.0))):
        assert [place.rows.tolist() for place in plan.places if place.rows is not None] == [
            [min(40, max(1, ceil(count / bearable))) for count in column.tolist()] for column in facts
        ]
    assert check_meetings(early, drifting, asked).missed == 0
    hottest = [run(plan.strategy, drifting, asked, PEERS, InOneThread()).tuples.largest for plan in (early, late)]
    assert hottest[0] > hottest[1]


def test_early_facts_of_what_does_not_count_them_are_refused() -> None:
    class Elsewhere:
        tuples, seconds, constants = TUPLES.tuples, TUPLES.seconds, TUPLES.constants

    with pytest.raises(BadParameter, match="'early-10' knows the facts of the beginning, which are not counted of these tuples"):
        make_plan(parse("early-10"), Elsewhere(), SUBSCRIPTIONS, 40)  # type: ignore[arg-type]  # what it lacks is not asked for
