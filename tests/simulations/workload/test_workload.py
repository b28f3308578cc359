"""Synthetic workloads, and mixes of patterns."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from simulations.errors import BadParameter
from simulations.workload.workload import CHUNK, COMMON_MIX, OBJECT, Recorded, Synthetic, chunks_of, parse_mix

if TYPE_CHECKING:
    pass

SMALL = Synthetic(5_000, (300, 7, 200), (0.5, 1.0, 1.2), seed=4, seconds=100.0)


@pytest.mark.parametrize(("tuples", "parts"), [(1, 1), (1_000_000, 1), (1_000_000, 8), (3_000_001, 2), (10, 16), (1 << 22, 3)])
def test_chunks_are_all_tuples_once_and_as_many_for_each_part(tuples: int, parts: int) -> None:
    chunks = list(chunks_of(tuples, parts=parts))

    sizes = [size for _, size in chunks]
    assert [begin for begin, _ in chunks] == [sum(sizes[:number]) for number in range(len(sizes))]
    assert sum(sizes) == tuples
    assert max(sizes) <= CHUNK
    assert max(sizes) - min(sizes) <= 1
    assert len(chunks) % parts == 0 or len(chunks) == tuples < parts


def test_tuples_are_the_same_however_they_are_cut() -> None:
    whole = SMALL.chunk(0, 5_000)

    parts = [SMALL.chunk(begin, size) for begin, size in chunks_of(5_000, parts=7)]

    for position in range(3):
        assert np.concatenate([part.codes[position] for part in parts]).tolist() == whole.codes[position].tolist()
    assert np.concatenate([part.at_s for part in parts]).tolist() == whole.at_s.tolist()
    assert sum(map(len, parts)) == len(whole) == 5_000


@pytest.mark.parametrize(
    "workload",
    [SMALL, Synthetic(5_000, (9, 3, 9), (0.0, 1.0, 0.5)), Recorded((np.arange(5_000, dtype=np.int32),) * 3, (), seconds=7.0)],
    ids=["by laws", "evenly", "recorded"],
)
def test_tuples_are_the_same_by_their_numbers(workload: Synthetic | Recorded) -> None:
    numbers = np.array([4_999, 0, 17, 17, 2_500])

    some, whole = workload.at(numbers), workload.chunk(0, 5_000)

    assert [column.tolist() for column in some.codes] == [column[numbers].tolist() for column in whole.codes]
    assert some.at_s.tolist() == whole.at_s[numbers].tolist()


def test_a_copy_makes_the_same_tuples() -> None:
    copy = pickle.loads(pickle.dumps(SMALL))

    assert copy == SMALL
    assert copy.chunk(10, 5).codes[2].tolist() == SMALL.chunk(10, 5).codes[2].tolist()


def test_another_seed_makes_others() -> None:
    other = Synthetic(5_000, SMALL.distinct, SMALL.exponents, seed=5)

    assert other.chunk(0, 50).codes[0].tolist() != SMALL.chunk(0, 50).codes[0].tolist()


def test_expected_facts_are_what_comes() -> None:
    many = Synthetic(200_000, (50, 5, 50), (0.5, 1.0, 1.0))

    seen = np.bincount(many.chunk(0, many.tuples).codes[1], minlength=5)

    assert np.allclose(seen, many.constants[1].facts, rtol=0.05)


def test_times_fill_the_day() -> None:
    times = SMALL.chunk(0, 5_000).at_s

    assert 0 <= times.min() < 1
    assert 99 < times.max() < 100


def test_no_two_constants_share_a_key() -> None:
    keys = np.concatenate([known.keys for known in SMALL.constants])

    assert len(np.unique(keys)) == len(keys)


def test_subscriptions_have_constants_where_the_mix_says() -> None:
    subscriptions = SMALL.subscriptions(2_000, parse_mix("?po=3,s??=1"), 1)

    shapes = [tuple(row) for row in subscriptions.given.T.tolist()]
    assert set(shapes) == {(False, True, True), (True, False, False)}
    assert abs(shapes.count((False, True, True)) / 2_000 - 0.75) < 0.05
    assert (subscriptions.codes.max(axis=1) < SMALL.distinct).all()


@pytest.mark.parametrize("by_rank", [False, True])
def test_bounds_hold_a_common_number_and_are_so_far_apart(by_rank: bool) -> None:
    workload = replace(SMALL, by_rank=by_rank)

    subscriptions = workload.subscriptions(3_000, parse_mix("??b=1,?pa=1,??o=1", width=0.25), 1)

    assert subscriptions.bounds is not None
    low, high = subscriptions.bounds
    values = workload.constants[OBJECT].values
    assert values is not None
    above, two = np.isinf(high) & subscriptions.bounded, np.isfinite(high)
    assert two.sum() > 900
    assert np.allclose((high - low)[two], 0.25)
    assert low[two].min() >= 0
    assert high[two].max() <= 1
    assert set(low[above]) <= set(values)
    assert subscriptions.given[1].tolist() == above.tolist()
    assert subscriptions.given[OBJECT].tolist() == (~subscriptions.bounded).tolist()


def test_values_are_by_rank_or_have_nothing_to_do_with_it() -> None:
    ranked, scattered = (replace(SMALL, by_rank=by_rank).constants[OBJECT].values for by_rank in (True, False))

    assert ranked is not None
    assert scattered is not None
    assert ranked.tolist() == [rank / 200 for rank in range(200)]
    assert 0.4 < np.sort(scattered)[100] < 0.6
    assert abs(np.corrcoef(ranked, scattered)[0, 1]) < 0.2


def test_what_has_equal_bounds_is_one_template() -> None:
    subscriptions = SMALL.subscriptions(2_000, parse_mix("??b=1,??a=1"), 1)

    firsts = subscriptions.firsts(np.zeros(2_000, dtype=np.uint64), np.zeros(2_000, dtype=np.int64))

    assert subscriptions.bounds is not None
    assert len(firsts) == len(set(zip(*subscriptions.bounds.tolist(), strict=True))) < 400


def test_bounds_on_what_is_not_read_as_numbers_are_refused() -> None:
    recorded = Recorded((np.arange(10, dtype=np.int32),) * 3, ())

    with pytest.raises(BadParameter, match=r"the mix \?\?b=100 has bounds, and the objects of files and traces are not"):
        recorded.subscriptions(5, parse_mix("??b=1"), 1)


@pytest.mark.parametrize("width", [0.0, 1.0, -1.0, float("nan")])
def test_an_impossible_width_is_refused(width: float) -> None:
    with pytest.raises(BadParameter, match=f"a width of {width:g} between bounds; expected a share of the range of values"):
        parse_mix("??b=1", width=width)


def test_a_mix_is_written_as_it_is_read() -> None:
    assert parse_mix(str(COMMON_MIX)) == COMMON_MIX


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("?po", "weight '' of '\\?po'"),
        ("pso=1", "pattern 'pso' of the mix 'pso=1': expected three signs"),
        ("sp=1", "pattern 'sp'"),
        ("?po=0", "weight '0' of '\\?po'.*: expected a number above 0"),
        ("?po=1,?po=2", "'\\?po' is twice"),
        ("?po=nan", "weight 'nan'"),
        ("?bo=1", "pattern '\\?bo'"),
        ("??c=1", "pattern '\\?\\?c' of the mix .*: expected three signs such as \\?po, s\\?\\?, spo or \\?\\?b"),
    ],
)
def test_a_mix_that_says_nothing_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadParameter, match=complaint):
        parse_mix(text)


@pytest.mark.parametrize("tuples", [0, -1, 1 << 41])
def test_impossible_numbers_of_tuples_are_refused(tuples: int) -> None:
    with pytest.raises(BadParameter, match=f"{tuples} tuples; expected 1 to"):
        Synthetic(tuples)


def test_impossible_times_and_subscriptions_are_refused() -> None:
    with pytest.raises(BadParameter, match="tuples within 0 s"):
        Synthetic(1, seconds=0)
    with pytest.raises(BadParameter, match="0 subscriptions; expected 1 to"):
        SMALL.subscriptions(0, COMMON_MIX, 1)
