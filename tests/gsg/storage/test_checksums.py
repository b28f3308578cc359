"""What facts under a key sum up to: whatever was remembered meanwhile, the sum of what is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.storage.checksums
from gsg import Symbol
from gsg.storage.checksums import LARGE, Checksums
from gsg.tuples.audiences import restricted
from gsg.tuples.features import Key
from gsg.tuples.terms import Tuple

KEY: Key = (3, 1, Symbol("on"))
READERS = [frozenset([bytes([number] * 20)]) for number in (1, 2)]


def fact(number: int) -> Tuple:
    """One of many facts under the key."""
    return (f"s{number}", Symbol("on"), number)


def weight(fact: Tuple, stamp: int) -> int:
    return Checksums[Tuple]().digest((3, 0, "x"), {fact: stamp})


def test_a_fact_weighs_the_same_in_every_process() -> None:
    assert weight(fact(1), 1_700_000_000_000_000) == 5535469597247626785


def test_what_differs_in_a_term_a_kind_an_audience_or_a_stamp_weighs_otherwise() -> None:
    plain = ("a", "b")
    facts = [plain, (Symbol("a"), "b"), ("b", "a"), *(each for readers in READERS for each in restricted([plain], readers))]

    weights = {weight(each, stamp) for each in facts for stamp in (0, 1, 2**40)}

    assert len(weights) == len(facts) * 3


def test_the_order_does_not_count() -> None:
    there = {fact(number): number for number in range(2 * LARGE)}

    assert Checksums().digest(KEY, there) == Checksums().digest(KEY, dict(reversed(there.items())))


def test_nothing_sums_up_to_nothing() -> None:
    assert Checksums().digest(KEY, {}) == 0


STEPS = st.lists(st.tuples(st.sampled_from(["come", "go", "look", "some"]), st.integers(0, 9)), max_size=60)


@given(STEPS)
def test_what_is_remembered_of_many_is_their_sum(steps: list[tuple[str, int]]) -> None:
    sums, there, stamp = Checksums(), dict[Tuple, int](), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.storage.checksums, "LARGE", 4)
        for what, number in steps:
            stamp += 1
            if what == "come":
                if fact(number) in there:
                    sums.restamp(KEY, there, fact(number), stamp)
                there[fact(number)] = stamp
            elif what == "go" and fact(number) in there:
                sums.subtract(KEY, there, fact(number))
                del there[fact(number)]
            elif what == "look":
                assert sums.digest(KEY, there) == Checksums().digest(KEY, there)
            elif what == "some":
                assert sums.sum_up_some(KEY, there, 2) or len(there) > 2

        assert sums.digest(KEY, there) == Checksums().digest(KEY, there)


def test_many_are_summed_up_a_part_at_a_time() -> None:
    sums, there = Checksums(), {fact(number): number for number in range(3 * LARGE)}

    parts = [sums.sum_up_some(KEY, there, LARGE) for _ in range(3)]

    assert parts == [False, False, True]
    assert sums.large[KEY].count == len(there)
    assert sums.digest(KEY, there) == Checksums().digest(KEY, there)


def test_of_few_nothing_is_remembered_any_more() -> None:
    sums, there = Checksums(), {fact(number): number for number in range(LARGE)}
    sums.digest(KEY, there)
    sums.subtract(KEY, there, fact(0))
    del there[fact(0)]

    sums.digest(KEY, there)

    assert not sums.large
