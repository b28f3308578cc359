"""Keys by interval: what is posted between bounds, and met there, is what single decisions say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from counting import counted, keys_of_subscription, keys_of_tuple, loads_by

from gsg.tuples.ordered_attributes import POSTED_INTERVALS
from simulations.engine.ownership import Ownership
from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, OnSpark
from simulations.load_balance.experiments import BalanceRequest, balance
from simulations.load_balance.meeting_sample import sample_meetings
from simulations.load_balance.meets_one_by_one import OneByOne, check_meetings, matching
from simulations.load_balance.peers import Peers
from simulations.load_balance.plan import Plan, kernels, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import OBJECT, Subscriptions, Synthetic, parse_mix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = Synthetic(1_200, (90, 6, 60), (0.5, 1.0, 1.2), seed=2, seconds=1_000.0)
BY_RANK = replace(TUPLES, by_rank=True)
MIX = parse_mix("??b=3,??a=1,?pb=1,?po=2,??o=1,s??=1,???=1", width=0.07)
SUBSCRIPTIONS = TUPLES.subscriptions(200, MIX, 3)
PEERS = Peers(40, 5)
ORDERED = (
    "ordered-16",
    "ordered-100",
    "ordered-200",
    "hot-split-1+ordered-16",
    "halves+ordered-16",
    "epochs-5+ordered-16+predicate",
    "random+ordered-3+virtual-3",
    "ordered-16+replicas-2",
)
OTHERS = ("rarest", "hot-split-1", "grid-1", "demand")


def looked_at(codes: tuple[int, ...], value: float, asked: tuple[int, ...], bounds: tuple[float, ...], anchor: int) -> bool:
    """Whether a peer compares a tuple with a template that is posted under a key of the tuple's at that position, or everywhere."""
    if anchor == OBJECT:
        return asked[OBJECT] == codes[OBJECT]
    return anchor >= 0 or bounds[0] <= value <= bounds[1]


def one_by_one(plan: Plan, workload: Synthetic, subscriptions: Subscriptions) -> tuple[list[int], list[int], list[int]]:
    """Copies of tuples and of subscriptions at each peer, and pairs that were compared there: by single decisions."""
    single = OneByOne(plan, workload, subscriptions)
    peers = plan.peers
    ownership = Ownership(kernels.virtual_ids(PEERS.prefixes(), plan.strategy.virtual))
    values, bounds = workload.constants[OBJECT].values, subscriptions.bounds
    assert values is not None
    assert bounds is not None

    def owner(key: bytes) -> int:
        return int(ownership.owners(np.array([int.from_bytes(key, "big")], dtype=np.uint64))[0]) % peers

    posted: dict[bytes, dict[tuple[tuple[int, ...], tuple[float, ...]], int]] = {}
    copies, tuples, work = ([0] * peers for _ in range(3))
    for number in range(len(subscriptions)):
        template = tuple(subscriptions.codes[:, number].tolist()), tuple(bounds[:, number].tolist())
        keys = keys_of_subscription(single, number)
        assert keys is not None
        for key in keys or [b""]:
            posted.setdefault(key, {})[template] = number
        for peer in map(owner, keys) if keys else range(peers):
            copies[peer] += 1
    chunk = workload.chunk(0, workload.tuples)
    for *codes, at_s in zip(*chunk.codes, chunk.at_s, strict=True):
        of_tuple = tuple(map(int, codes))
        value = float(values[of_tuple[OBJECT]])
        for position, key in enumerate(keys_of_tuple(single, of_tuple, float(at_s))):
            tuples[owner(key)] += 1
            for under in (key, b"") if position == 0 else (key,):
                for asked, limits in posted.get(under, ()):
                    anchor = -1 if all(code < 0 for code in asked) else position
                    work[owner(key)] += looked_at(of_tuple, value, asked, limits, anchor)
    return tuples, copies, work


@pytest.mark.parametrize("workload", [TUPLES, BY_RANK], ids=["scattered", "by rank"])
@pytest.mark.parametrize("name", [*(name for name in ORDERED if "replicas" not in name), "rarest", "hot-split-1"])
def test_loads_are_those_of_single_decisions(name: str, workload: Synthetic) -> None:
    subscriptions = workload.subscriptions(200, MIX, 3)
    plan = make_plan(parse(name), workload, subscriptions, len(PEERS))

    loads = counted(plan, workload, PEERS)

    tuples, copies, work = one_by_one(plan, workload, subscriptions)
    assert loads.subscriptions.tolist() == copies
    assert loads.tuples.tolist() == tuples
    assert loads.work.tolist() == work


@pytest.mark.parametrize("name", [*ORDERED, *OTHERS])
def test_every_matching_pair_meets_once(name: str) -> None:
    plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))
    single = OneByOne(plan, TUPLES, SUBSCRIPTIONS)
    chunk = TUPLES.chunk(0, 60)

    met = set()
    for number, subscription in zip(*matching(chunk, SUBSCRIPTIONS, TUPLES), strict=True):
        goes_to = keys_of_tuple(single, tuple(int(column[number]) for column in chunk.codes), float(chunk.at_s[number]))
        posted = keys_of_subscription(single, int(subscription))
        met.add(len(set(goes_to) & set(posted)) if posted else bool(goes_to))

    assert met == {1}
    assert check_meetings(plan, TUPLES, SUBSCRIPTIONS).missed == 0


def test_pairs_that_match_are_all_found() -> None:
    chunk = TUPLES.chunk(0, 50)

    found = set(zip(*(column.tolist() for column in matching(chunk, SUBSCRIPTIONS, TUPLES)), strict=True))

    values, bounds = TUPLES.constants[OBJECT].values, SUBSCRIPTIONS.bounds
    assert values is not None
    assert bounds is not None
    assert found == {
        (number, subscription)
        for number, row in enumerate(zip(*(column.tolist() for column in chunk.codes), strict=True))
        for subscription, (wanted, low, high) in enumerate(zip(SUBSCRIPTIONS.codes.T.tolist(), *bounds.tolist(), strict=True))
        if all(code in (-1, there) for code, there in zip(wanted, row, strict=True)) and low <= values[row[OBJECT]] <= high
    }


def test_a_tuple_has_three_keys_and_bounds_have_few() -> None:
    subscriptions = TUPLES.subscriptions(200, parse_mix("??b=1", width=0.05), 1)

    plain, ordered = (loads_by(name, TUPLES, subscriptions, PEERS) for name in ("rarest", "ordered-20"))

    assert plain.subscriptions.sum() == 200 * len(PEERS)
    assert 200 < ordered.subscriptions.sum() <= 200 * 3
    assert make_plan(parse("ordered-20"), TUPLES, subscriptions, len(PEERS)).everywhere == 0
    assert ordered.tuples.sum() == 3 * TUPLES.tuples


def test_bounds_alone_are_compared_as_often_wherever_they_lie() -> None:
    subscriptions = TUPLES.subscriptions(200, parse_mix("??b=1,??a=1"), 1)

    work = [loads_by(name, TUPLES, subscriptions, PEERS).work.sum() for name in ORDERED]

    assert work == [loads_by("rarest", TUPLES, subscriptions, PEERS).work.sum()] * len(ORDERED)


@pytest.mark.parametrize(
    ("peers", "intervals", "width", "everywhere"),
    [
        (1_000, 1_000, (POSTED_INTERVALS - 1) / 1_000, False),
        (1_000, 1_000, POSTED_INTERVALS / 1_000, True),
        (8, 10, 0.6, False),
        (8, 10, 0.7, True),
    ],
    ids=["the most", "more", "fewer than peers", "as many as peers"],
)
def test_bounds_with_too_many_intervals_are_posted_everywhere(peers: int, intervals: int, width: float, everywhere: bool) -> None:
    low = 0.1 + 0.5 / intervals
    asked = Subscriptions(np.full((3, 1), -1), bounds=np.array([[low], [low + width]]))

    plan = make_plan(parse(f"ordered-{intervals}"), TUPLES, asked, peers)

    assert (plan.everywhere == 1) == everywhere
    assert (counted(plan, TUPLES, Peers(peers)).subscriptions.sum() == peers) == everywhere
    assert check_meetings(plan, TUPLES, asked).missed == 0


def test_matches_between_bounds_have_a_key() -> None:
    subscriptions = TUPLES.subscriptions(200, parse_mix("??b=1"), 1)

    found = sample_meetings(parse("ordered-16"), TUPLES, subscriptions, PEERS, 1)

    assert found.matches.sum() > 0
    assert len(found.keys) <= 16


def test_spark_counts_the_same(spark: SparkSession) -> None:
    for name in ("rarest", "hot-split-1+ordered-16"):
        plan = make_plan(parse(name), TUPLES, SUBSCRIPTIONS, len(PEERS))

        counts = OnSpark(spark, partitions=3).counted(plan, TUPLES, PEERS)

        alone = InOneThread().counted(plan, TUPLES, PEERS)
        assert [column.tolist() for column in counts.columns] == [column.tolist() for column in alone.columns]


def test_what_was_asked_for_is_run_and_written(tmp_path: Path) -> None:
    request = BalanceRequest(
        peers=40, tuples=3_000, subscriptions=50, mix="??b=1", width=0.1, values="by-rank", strategies=("ordered-8",)
    )

    found = balance(request, InOneThread, tmp_path)

    written = (tmp_path / "configuration.json").read_text()
    assert '"values": "by-rank"' in written
    assert '"width": 0.1' in written
    assert found.summary()[0]["sampled_pairs_missed"] == 0
    assert found.outcomes[0].strategy.name == "ordered-8"


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ({"width": 0.1}, r"--width 0.1 lies between bounds, and the mix .* has none; say some, as in --mix"),
        ({"width": 0.1, "mix": "?po=1"}, r"--width 0.1 lies between bounds, and the mix \?po=100 has none"),
        ({"values": "ranked"}, "--values 'ranked'; expected scattered or by-rank"),
        ({"values": "by-rank", "events": "x.nt", "tuples": None}, "--values by-rank is for synthetic tuples; those of x.nt are as"),
    ],
    ids=["no bounds", "no bounds in the mix", "unknown values", "a file"],
)
def test_what_would_not_be_looked_at_is_refused(request_: dict, complaint: str, tmp_path: Path) -> None:
    usual = BalanceRequest(peers=40, tuples=3_000, subscriptions=50)

    with pytest.raises(BadParameter, match=complaint):
        balance(replace(usual, **request_), InOneThread, tmp_path)


def test_intervals_of_what_is_no_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("a,b,1\nc,d,2\n")
    request = BalanceRequest(
        peers=4, tuples=None, subscriptions=5, events=str(tmp_path / "facts.csv"), strategies=("rarest", "ordered-8")
    )

    with pytest.raises(BadParameter, match="'ordered-8' takes objects as numbers, and those of files and traces are not"):
        balance(request, InOneThread, tmp_path / "out")
    with pytest.raises(BadParameter, match=r"the mix \?\?b=100 has bounds, and the objects of files and traces are not read"):
        balance(replace(request, strategies=("rarest",), mix="??b=1"), InOneThread, tmp_path / "out")
